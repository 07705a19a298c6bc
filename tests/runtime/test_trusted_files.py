"""Nothing is executed that another user could have written, and a warning says what is wrong."""

import os
import warnings

import pytest

from flatweave.runtime import native
from flatweave.runtime.cache import DiskCache, seal
from flatweave.runtime.native import compile_text
from flatweave.runtime.trusted_files import private_folder
from tests.runtime.test_native import adder, call

STRANGER = 12345
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")


@pytest.fixture
def cache(tmp_path) -> DiskCache:
    """A cache that holds the artifact "a"; looking there again is a new process's first look."""
    made = DiskCache(tmp_path / "home" / "cache")
    made.put("a", b"payload")
    assert made.get("a") == b"payload"
    return made


def refused(cache: DiskCache, why: str) -> bool:
    """Whether the artifact is not read, one warning says why, and no second one does."""
    with pytest.warns(RuntimeWarning, match=f"is not used: .*{why}") as said:
        found = cache.get("a")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again = cache.get("a")
    return found is None and again is None and len(said) == 1


@pytest.mark.parametrize("mode", [0o770, 0o702, 0o777, 0o1777])
def test_a_folder_that_others_may_write(cache, mode):
    """By its group or by anybody; that it is sticky is no help."""
    cache.folder.chmod(mode)

    assert refused(cache, "cache can be written by other users")


@pytest.mark.parametrize("mode", [0o660, 0o606])
def test_a_file_that_others_may_write(cache, mode):
    """In a folder of ours; it is made anew, and then used."""
    (cache.folder / "a.fwc").chmod(mode)

    assert refused(cache, "can be written by other users")
    cache.put("a", b"ours")
    assert cache.get("a") == b"ours"


def test_a_folder_above_that_others_may_write(cache):
    """They could replace our folder by another one."""
    cache.folder.parent.chmod(0o777)
    assert refused(cache, "home can be written by other users")

    cache.folder.parent.chmod(0o1777)  # as /tmp: nobody can move what is ours
    assert DiskCache(cache.folder).get("a") == b"payload"


@needs_root
@pytest.mark.parametrize("which", ["cache", "home", "a.fwc"])
def test_what_belongs_to_another_user(cache, which):
    """Folder, folder above, or file: closed to others, but theirs."""
    path = {"cache": cache.folder, "home": cache.folder.parent}.get(which, cache.folder / which)
    os.chown(path, STRANGER, STRANGER)

    assert refused(cache, rf"{which} belongs to another user \(uid {STRANGER}\)")


@needs_root
def test_a_folder_in_a_sticky_one_that_another_user_made_first(tmp_path):
    """Nothing is written there either."""
    tmp_path.chmod(0o1777)
    (tmp_path / "flatweave").mkdir(0o700)
    os.chown(tmp_path / "flatweave", STRANGER, STRANGER)
    cache = DiskCache(tmp_path / "flatweave")
    with pytest.warns(RuntimeWarning, match="belongs to another user"):
        cache.put("a", b"x")

    assert not list(cache.folder.iterdir())


def test_a_link_of_ours_is_followed(cache, tmp_path):
    """Many keep ~/.cache on another disk; the folders that it leads through are looked at, too."""
    (tmp_path / "link").symlink_to(cache.folder.parent, target_is_directory=True)
    assert DiskCache(tmp_path / "link" / "cache").get("a") == b"payload"

    cache.folder.parent.chmod(0o777)
    assert refused(DiskCache(tmp_path / "link" / "cache"), "home can be written")


@needs_root
def test_a_link_that_another_user_put_into_a_sticky_folder(cache, tmp_path):
    """It leads to a folder of ours, but it is not we who chose that."""
    place = tmp_path / "public"
    place.mkdir()
    place.chmod(0o1777)
    (place / "link").symlink_to(cache.folder, target_is_directory=True)
    os.chown(place / "link", STRANGER, STRANGER, follow_symlinks=False)

    assert refused(DiskCache(place / "link"), "link belongs to another user")


@pytest.mark.parametrize("kind", ["link", "pipe", "folder"])
def test_what_is_no_plain_file_is_not_read(cache, tmp_path, kind):
    """A link out of the folder, a pipe that would never end, a folder: as if nothing were there."""
    path = cache.folder / "a.fwc"
    path.rename(tmp_path / "elsewhere")
    {"link": lambda: path.symlink_to(tmp_path / "elsewhere"), "pipe": lambda: os.mkfifo(path),
     "folder": path.mkdir}[kind]()  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        assert cache.get("a") is None


def test_circles_of_links_end(tmp_path):
    """They are an error of the folder, not of the program."""
    (tmp_path / "one").symlink_to(tmp_path / "two")
    (tmp_path / "two").symlink_to(tmp_path / "one")

    with pytest.raises(OSError, match="too many symbolic links"), private_folder(tmp_path / "one"):
        pass
    assert DiskCache(tmp_path / "one").get("a") is None


def test_no_descriptor_is_left_open(cache, tmp_path):
    """Whether the folder is there, refused, or not there."""
    before = len(os.listdir("/proc/self/fd"))
    cache.get("a")
    cache.get("b")
    DiskCache(tmp_path / "none").get("a")
    cache.folder.chmod(0o777)
    with pytest.warns(RuntimeWarning):
        cache.get("a")
        cache.put("a", b"x")

    assert len(os.listdir("/proc/self/fd")) == before


def test_folders_are_made_for_this_user_alone(tmp_path):
    """Whatever the umask is, which may let a group write."""
    umask = os.umask(0o002)
    try:
        DiskCache(tmp_path / "a" / "b").put("k", b"x")
    finally:
        os.umask(umask)

    assert {path.stat().st_mode & 0o777 for path in (tmp_path / "a", tmp_path / "a" / "b")} == {
        0o700
    }
    assert (tmp_path / "a" / "b" / "k.fwc").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("wrong", ["garbage", "empty", "other functions", "unresolved", "cut"])
def test_an_artifact_that_does_not_fit_is_made_anew(monkeypatch, tmp_path, wrong):
    """Sealed for the right key, but not what its text becomes: said by nobody, mended for good."""
    cache = DiskCache(tmp_path / "cache")
    monkeypatch.setattr(native, "process_cache", lambda: cache)
    good = native.compile_object(adder(91))
    unresolved = "declare i64 @nobody(i64)\n" + adder(91).replace(
        "@once(i64 %x)\n          %z", "@nobody(i64 %x)\n          %z"
    )
    text = adder(91) + f"; {wrong}\n"
    name = native.cache_key(text)
    cache.put(name, {
        "garbage": b"this is not an object file" * 9, "empty": b"", "cut": good[: len(good) // 2],
        "other functions": native.compile_object(adder(91).replace("@once", "@else")),
        "unresolved": native.compile_object(unresolved),
    }[wrong])  # fmt: skip

    assert call(compile_text(text), "once", 1) == 92
    stored = (tmp_path / "cache" / f"{name}.fwc").read_bytes()
    assert stored == seal(name, native.compile_object(text))
