"""The artifact cache never gives a wrong answer and never raises."""

import errno
import logging
import os
import subprocess
import sys
import textwrap
from unittest.mock import Mock

import pytest

from flatweave.base.config import config
from flatweave.runtime.cache import NO_CACHE, DiskCache, process_cache, seal, unseal


@pytest.fixture
def cache(tmp_path) -> DiskCache:
    """A cache in a folder that does not exist yet."""
    return DiskCache(tmp_path / "deep" / "flatweave")


def test_what_is_put_is_got(cache):
    """Any bytes, none included; the last put wins."""
    assert cache.get("a") is None
    cache.put("a", b"")
    cache.put("b", bytes(range(256)) * 1000)
    cache.put("a", b"later")

    assert cache.get("a") == b"later"
    assert cache.get("b") == bytes(range(256)) * 1000


@pytest.mark.parametrize("damage", ["truncate", "flip", "empty", "other"])
def test_damaged_files_are_dropped(cache, damage):
    """A checksum stands before the payload; the file goes, so that it is written anew."""
    cache.put("a", b"payload" * 100)
    (path,) = cache.folder.iterdir()
    content = path.read_bytes()
    path.write_bytes(
        {
            "truncate": content[:-1],
            "flip": content[:-1] + bytes([content[-1] ^ 1]),
            "empty": b"",
            "other": b"something else entirely, long enough to have room for a header" * 2,
        }[damage]
    )

    assert cache.get("a") is None
    assert not path.exists()
    cache.put("a", b"again")
    assert cache.get("a") == b"again"


def test_seal_and_unseal():
    """unseal undoes seal and refuses everything else, what is sealed for another key included."""
    assert unseal("k", seal("k", b"x")) == b"x"
    assert unseal("k", b"x") is None
    assert unseal("l", seal("k", b"x")) is None


def test_an_artifact_under_another_name_is_dropped(cache):
    """Whole and sealed, but somebody else's: the seal covers the key."""
    cache.put("a", b"payload of a")
    os.rename(cache.folder / "a.fwc", cache.folder / "b.fwc")

    assert cache.get("b") is None
    assert not list(cache.folder.iterdir())


def test_a_full_disk(cache, monkeypatch):
    """Nothing is left of a file that could not be written to its end, and nothing is raised."""
    cache.put("a", b"kept")
    monkeypatch.setattr(os, "replace", Mock(side_effect=OSError(errno.ENOSPC, "disk is full")))
    cache.put("b", b"lost")

    assert cache.get("a") == b"kept"
    assert [path.name for path in cache.folder.iterdir()] == ["a.fwc"]


def test_a_write_that_is_interrupted(cache, monkeypatch):
    """What a signal handler raises comes out, and no part of a file is left."""
    monkeypatch.setattr(os, "replace", Mock(side_effect=KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        cache.put("a", b"x")

    assert not list(cache.folder.iterdir())


def test_a_folder_that_cannot_be_written(tmp_path, caplog):
    """Said once in the log, then everything goes on without the cache."""
    file = tmp_path / "file"
    file.write_text("not a folder")
    cache = DiskCache(file / "flatweave")
    with caplog.at_level(logging.DEBUG):
        cache.put("a", b"x")
        cache.put("b", b"x")

    assert cache.get("a") is None
    assert len(caplog.records) == 1


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_read_only_folder_still_serves(cache):
    """What is there is used, and nothing is added."""
    cache.put("a", b"x")
    cache.folder.chmod(0o500)
    try:
        cache.put("b", b"x")
        assert cache.get("a") == b"x"
        assert cache.get("b") is None
    finally:
        cache.folder.chmod(0o700)


def test_the_oldest_go_first(tmp_path):
    """Use counts, not age: what was read lately stays."""
    cache = DiskCache(tmp_path, limit=10_000)
    for number in range(8):
        cache.put(f"{number}", bytes(1000))
        os.utime(tmp_path / f"{number}.fwc", (number, number))
    assert cache.get("0") is not None
    cache.put("big", bytes(4000))
    cache.evict()
    left = {path.stem for path in tmp_path.iterdir()}

    assert {"0", "big", "7"} <= left
    assert not {"1", "2"} & left
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) <= 7500


def test_the_bound_holds_without_being_asked(tmp_path):
    """Puts look at the size of the folder now and then."""
    cache = DiskCache(tmp_path, limit=64_000)
    for number in range(300):
        cache.put(f"{number}", bytes(1000))

    assert sum(path.stat().st_size for path in tmp_path.iterdir()) < 2 * 64_000


def test_processes_share_a_folder(cache):
    """Written aside and renamed: a reader sees a whole artifact or none."""
    script = """
        import sys
        from pathlib import Path
        from flatweave.runtime.cache import DiskCache
        cache = DiskCache(Path(sys.argv[1]))
        for k in range(80):
            cache.put("shared", bytes([k % 251]) * 50_000)
            found = cache.get("shared")
            assert found is not None and len(set(found)) == 1 and len(found) == 50_000
    """
    command = [sys.executable, "-c", textwrap.dedent(script), str(cache.folder)]
    processes = [subprocess.Popen(command) for _ in range(3)]

    assert [process.wait() for process in processes] == [0, 0, 0]
    assert [path.stem for path in cache.folder.iterdir()] == ["shared"]


def test_the_switch_turns_it_off():
    """Under no_cache nothing is read or written."""
    with config.scoped(no_cache=True):
        assert process_cache() is NO_CACHE
        process_cache().put("a", b"x")
        assert process_cache().get("a") is None
