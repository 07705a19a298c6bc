"""examples/debian.py reads what apt-cache dumpavail prints, whole or cut short."""

import lzma
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples.graphs import rows_of
from tests.structure.counted import expansions, opened, stored_types

TEXT = b"""\
Package: gimp
Version: 2.10.34-1
Installed-Size: 18923
Depends: libc6 (>= 2.36), libgimp2.0 (<= 2.10.34-z), python3:any | perl [amd64 !i386], mta
Description: an image editor, Depends: on nothing
Suggests: gimp-help-en | gimp-help, libc6

Package:libc6
Pre-Depends:perl
Depends:libgimp2.0,gimp|perl
Installed-Size: 12986

Package: libgimp2.0
Depends: libc6,
 perl (>= 1:5.8),
\tgimp
Homepage: https://www.gimp.org/
 Depends: perl

Package: perl
Installed-Size:

"""
NAMES = ["gimp", "libc6", "libgimp2.0", "perl"]
ROWS = [[1, 2, 3], [3, 2, 0, 3], [1, 3, 0], []]

names = st.sampled_from(["a", "a+", "libx-1.2", "b0", "b0-dev", "C"])
versions = st.sampled_from(["", " (>= 1:2.0-1)", ":any", " [amd64 !i386]", " <!nocheck>"])
ands, ors = st.sampled_from([", ", ",", " ,\n "]), st.sampled_from([" | ", "|"])
other_lines = st.sampled_from(
    ["", "Installed-Size: 12\n", "Tag: a, b\n c | a\n", "X: Package: b\n"]
)


@st.composite
def entries(draw):
    """One package, with what it depends on."""
    alternatives = st.lists(st.tuples(names, versions).map("".join), min_size=1, max_size=3)
    text = f"Package: {draw(names)}\n{draw(other_lines)}"
    for field in draw(st.sampled_from([[], ["Depends"], ["Pre-Depends", "Depends"]])):
        groups = [draw(ors).join(draw(alternatives)) for _ in range(draw(st.integers(1, 4)))]
        text += f"{field}: {draw(ands).join(groups)}\n{draw(other_lines)}"
    return text + "\n"


def found_in(debian, text):
    """The names and rows of a text."""
    found = debian.packages(text)
    return [found.name(k) for k in range(len(found.graph))], rows_of(found.graph)


def test_every_kind_of_list(example, target):
    """Versions, alternatives, architectures, folded lines, no blanks; other fields are not read."""
    debian = example("debian")
    found = debian.packages(TEXT)

    assert found_in(debian, TEXT) == (NAMES, ROWS)
    assert np.asarray(found.sizes).tolist() == [18923, 12986, 0, 0]
    assert found.unknown == 2  # python3 and mta
    assert [found.number(name) for name in NAMES] == [0, 1, 2, 3]


def test_what_python_reads_is_read(example, target):
    """Random entries; of two packages of one name, others need the first."""
    debian = example("debian")

    @given(st.lists(entries(), min_size=1, max_size=6).map("".join).map(str.encode))
    def check(text):
        assert debian.agrees(debian.packages(text), debian.python_rows(text))

    check()


@pytest.mark.sampled
def test_the_sample_on_any_number_of_threads(example, threads):
    """A text of many blocks: lists and names are cut everywhere."""
    debian = example("debian")
    sample = debian.read(debian.SAMPLE)
    found = debian.packages(sample)

    assert debian.agrees(found, debian.python_rows(sample))
    assert found.name(found.number("libc6")) == "libc6"
    assert int(found.sizes[found.number("0ad-data")]) == 3218736


def test_a_name_that_no_package_has_is_refused(example):
    """A part of one is not enough."""
    found = example("debian").packages(TEXT)

    for name in ("libc", "libc66", ""):
        with pytest.raises(ValueError, match="no package is called"):
            found.number(name)


def test_a_text_cut_anywhere_gives_its_whole_entries(example):
    """With a warning; or an error that says what is missing."""
    debian = example("debian")
    ends = [k for k in range(len(TEXT) + 1) if TEXT[:k].endswith(b"\n\n")]
    for cut in range(0, len(TEXT) + 1, 7):
        whole = sum(end <= cut for end in ends)
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            if whole:
                assert found_in(debian, TEXT[:cut])[0] == NAMES[:whole]
            else:
                with pytest.raises(ValueError, match="no entry of a package"):
                    debian.packages(TEXT[:cut])
        last = TEXT[ends[whole - 1] if whole else 0 : cut].strip()
        assert len(said) == bool(last)
        assert all("is cut short" in str(warning.message) for warning in said)


@pytest.mark.parametrize("text", [b"", b"\n\n", b"one\n\ntwo\n\n", b"\0\xff" * 50 + b"\n\n"])
def test_a_text_without_packages_is_refused(example, target, text):
    """And the message has the name of the file."""
    with pytest.raises(ValueError, match="some.txt has no entry of a package"):
        example("debian").packages(text, "some.txt")


def test_lists_before_any_package_are_nobodys(example, target):
    """A text whose beginning is missing."""
    text = b"Depends: a\nInstalled-Size: 5\n\nPackage: a\nDepends: a\n\n"

    assert found_in(example("debian"), text) == (["a"], [[0]])


def test_a_compressed_file_cut_short(example, tmp_path):
    """What can be unpacked is read; damage is an error."""
    debian = example("debian")
    packed = debian.SAMPLE.read_bytes()
    cut, damaged = tmp_path / "cut.xz", tmp_path / "damaged.xz"
    cut.write_bytes(packed[:30_000])
    damaged.write_bytes(packed[:5000] + bytes(500) + packed[5500:])

    with pytest.warns(UserWarning, match="cut.xz is cut short"):
        assert debian.read(debian.SAMPLE).startswith(debian.read(cut))
    with pytest.raises(ValueError, match="damaged.xz is damaged"):
        debian.read(damaged)


def test_equal_hashes_are_told_apart_by_letters(example, target):
    """Two packages that share a hash are an error, a dependency that does is on neither."""
    debian = example("debian")
    text = np.frombuffer(b"Package: a\nDepends: b, a\n\n" + debian.PADDING * b"\n", np.uint8)
    found = debian.entries(text)
    zeros = found.needed._replace(hash=np.zeros(2, np.uint64))
    one = found._replace(names=found.names._replace(hash=np.zeros(1, np.uint64)), needed=zeros)
    graph, unknown, clash = debian.link(text, one)
    assert (rows_of(graph), int(unknown), bool(clash)) == ([[0]], 1, False)

    text = np.frombuffer(b"Package: a\n\nPackage: b\n\n" + debian.PADDING * b"\n", np.uint8)
    found = debian.entries(text)
    two = found._replace(names=found.names._replace(hash=np.zeros(2, np.uint64)))
    assert bool(debian.link(text, two)[2])
    assert not bool(debian.link(text, found)[2])


def test_lists_are_not_stored_byte_by_byte(example):
    """The bytes of all lists are read from the text at the indices where names begin."""
    stages = opened(example("debian").entries, np.zeros(20, np.uint8))
    (listed,) = expansions(stages)

    assert not any(f"[{listed}]" in text for text in stored_types(stages))


def test_the_sample_stands_in_for_apt(example, monkeypatch):
    """Where there is no apt, or it has no lists."""
    debian = example("debian")
    monkeypatch.setattr(debian.shutil, "which", lambda command: None)
    data, source = debian.available()

    assert (source, data) == ("debian.txt.xz", lzma.decompress(debian.SAMPLE.read_bytes()))


def test_the_program_tells_what_is_needed_most(example, tmp_path, capsys):
    """`python examples/debian.py FILE` ends with 0 where it agrees with Python, else with 1."""
    debian = example("debian")
    file = tmp_path / "avail.txt"
    file.write_bytes(TEXT)

    assert debian.main([str(file)]) == 0
    assert "4 need perl" in capsys.readouterr().out
    file.write_bytes(b"nothing\n\n")
    assert debian.main([str(file)]) == 1
    assert debian.main([str(tmp_path / "missing.txt")]) == 1
    assert "no entry of a package" in capsys.readouterr().err
