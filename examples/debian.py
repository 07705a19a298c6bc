"""The dependencies of all Debian packages as a graph, parsed from text on all cores.

    python examples/debian.py                     what `apt-cache dumpavail` says on this machine
    python examples/debian.py FILE                a saved one, or one compressed by xz

    Package: gimp                                 package 0, gimp:     row 0 = [1, 2]
    Depends: libc6 (>= 2.36), libgimp2.0          package 1, libc6:    row 1 = []
                                                  package 2, ..
    Package: libc6
    Installed-Size: 13000                         its size, in KiB

Where a field begins does not depend on what stands before it but for one byte, so a filter finds
all of them. Fields that list dependencies are expanded into their bytes, a scan tells each byte
what it follows, and a filter keeps where names begin: one pass, no list is stored. A name becomes
a number by binary search among the sorted hashes of all packages; that no two packages share a
hash, and that the found name has the same letters, is checked, so the search is exact.

examples/data/debian.txt.xz, used where there is no apt, has the packages of Debian 12
for games, graphics, sound, video, GNOME and KDE, and their dependencies.
"""

from __future__ import annotations

import lzma
import re
import shutil
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from functools import reduce
from operator import and_, or_
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import flatweave as fw

SAMPLE = Path(__file__).parent / "data" / "debian.txt.xz"
PACKAGE, SIZE, DEPENDS = "Package:", "Installed-Size:", "Depends:"
PRE_DEPENDS = "Pre-Depends:"
FIELDS = (PACKAGE, SIZE, DEPENDS, PRE_DEPENDS)
PADDING = 16  # line ends after the text: a field is looked for without asking whether it fits
SPACE, NEWLINE = ord(" "), ord("\n")
FNV_OFFSET, FNV_PRIME = np.uint64(0xCBF29CE484222325), np.uint64(0x100000001B3)


class Name(NamedTuple):
    """A name in the text; `hash` is FNV-1a's, of 64 bits."""

    start: Any
    end: Any
    hash: Any


class Entries(NamedTuple):
    """What the text says, before names are numbers."""

    names: Name  # of the packages
    sizes: Any  # of the packages, in KiB
    needed: Name  # of the dependencies
    owners: Any  # of the dependencies: the packages that have them


class Packages(NamedTuple):
    """Packages in the order of the text, and the numbers of those that each one depends on."""

    text: np.ndarray
    names: Name
    sizes: fw.Array
    graph: fw.Ragged
    unknown: int  # dependencies on names that are no package's: virtual ones, for the most part

    def name(self, number: int) -> str:
        """The name of a package."""
        start, end = int(self.names.start[number]), int(self.names.end[number])
        return self.text[start:end].tobytes().decode()

    def number(self, name: str) -> int:
        """The number of a package. Raises ValueError for a name that no package has."""
        found = numbers_of(self.text, self.names, np.frombuffer(name.encode(), np.uint8))
        if not found.size:
            raise ValueError(f"no package is called {name}")
        return int(found[0])


def one_of(byte: Any, letters: bytes) -> Any:
    """Whether a byte is one of these."""
    return reduce(or_, (byte == letter for letter in letters))


def is_blank(byte: Any) -> Any:
    """Whether a byte is white space; a list continues after a line end followed by a blank."""
    return one_of(byte, b" \t\n")


def in_name(byte: Any) -> Any:
    """Whether a byte can be part of a package's name."""
    small = byte | 0x20
    letter = (small >= ord("a")) & (small <= ord("z"))
    digit = (byte >= ord("0")) & (byte <= ord("9"))
    return letter | digit | one_of(byte, b"+-.")


def says(text: Any, at: Any, word: str) -> Any:
    """Whether the text has a word at an index."""
    return reduce(and_, (text[at + k] == byte for k, byte in enumerate(word.encode())))


def begins_field(text: Any, at: Any) -> Any:
    """Whether a line begins here that does not go on with the one before."""
    starts_line = (at == 0) | (text[at - 1] == NEWLINE)
    return starts_line & ~one_of(text[at], b" \t")


def value(text: Any, field: Any) -> Any:
    """Where the value of a field begins."""
    colon = fw.while_loop(lambda k: text[k] != ord(":"), lambda k: k + 1, field)
    return fw.while_loop(lambda k: text[k] == SPACE, lambda k: k + 1, colon + 1)


def name_at(text: Any, start: Any) -> Name:
    """The name that begins here."""

    def step(state: Any) -> Any:
        end, found = state
        return end + 1, (found ^ text[end]) * FNV_PRIME

    end, found = fw.while_loop(lambda state: in_name(text[state[0]]), step, (start, FNV_OFFSET))
    return Name(start, end, found)


def number_at(text: Any, start: Any) -> Any:
    """The decimal number that begins here; 0 if there is no digit."""

    def step(state: Any) -> Any:
        at, number = state
        return at + 1, 10 * number + (text[at].astype(fw.i64) - ord("0"))

    def is_digit(state: Any) -> Any:
        return (text[state[0]] >= ord("0")) & (text[state[0]] <= ord("9"))

    return fw.while_loop(is_digit, step, (start, 0))[1]


@fw.jit
def entries(text: Any) -> Entries:
    """The packages and dependencies in padded text."""
    extent = text.shape[0] - PADDING
    fields = fw.filter(lambda at: begins_field(text, at), fw.iota(extent))
    count = fields.shape[0]
    ends = fw.generate(
        count, lambda i: fw.where(i + 1 < count, fields[fw.minimum(i + 1, count - 1)], extent)
    )
    owners = fw.cumsum(fw.map(lambda at: says(text, at, PACKAGE), fields)) - 1

    packages = fw.filter(lambda at: says(text, at, PACKAGE), fields)
    names = fw.map(lambda at: name_at(text, value(text, at)), packages)

    sized, whose = fw.filter(lambda field: says(text, field[0], SIZE), (fields, owners))
    kib = fw.map(lambda at: number_at(text, value(text, at)), sized)
    sizes = fw.scatter(fw.full(packages.shape[0], 0), whose, kib)

    lists, stops, holders = fw.filter(
        lambda field: says(text, field[0], DEPENDS) | says(text, field[0], PRE_DEPENDS),
        (fields, ends, owners),
    )
    needed, needers = dependencies(text, fw.map(lambda at: value(text, at), lists), stops, holders)
    return Entries(names, sizes, needed, needers)


def dependencies(text: Any, starts: Any, stops: Any, owners: Any) -> tuple[Name, Any]:
    """The names in lists of dependencies, and whose list each is in.

    A name is at a list's beginning and after each comma or bar:
        libc6 (>= 2.36), debconf (>= 0.5) | debconf-2.0
    """

    def byte_of(owned: Any, i: Any) -> Any:
        start, _, owner = owned
        return start + i, text[start + i], i == 0, owner

    at, byte, is_first, owner = fw.expand(
        lambda owned: owned[1] - owned[0], byte_of, (starts, stops, owners)
    )
    # the last byte before each that is not blank
    before = fw.scan(
        lambda a, b: fw.where(is_blank(b), a, b), np.uint8(SPACE), byte, exclusive=True
    )
    begins = in_name(byte) & (is_first | one_of(before, b",|"))
    found, owner, _ = fw.filter(lambda place: place[2], (at, owner, begins))
    return fw.map(lambda start: name_at(text, start), found), owner


def part(names: Name, i: Any) -> Name:
    """One of several names, or several of them."""
    return Name(*(field[i] for field in names))


def same(text: Any, a: Name, b: Name) -> Any:
    """Whether two names have the same letters."""
    extent = a.end - a.start
    fits = extent == b.end - b.start
    extent = fw.where(fits, extent, 0)
    return fits & fw.all(fw.generate(extent, lambda k: text[a.start + k] == text[b.start + k]))


def lower_bound(xs: Any, x: Any) -> Any:
    """How many of the ascending `xs` are below x."""

    def halve(state: Any) -> Any:
        low, high = state
        middle = (low + high) // 2
        below = xs[middle] < x
        return fw.where(below, middle + 1, low), fw.where(below, high, middle)

    return fw.while_loop(lambda state: state[0] < state[1], halve, (0, xs.shape[0]))[0]


@fw.jit
def link(text: Any, found: Entries) -> Any:
    """The graph; how many dependencies are on no package; whether two packages share a hash."""
    names, count = found.names, found.names.start.shape[0]
    order = fw.argsort(names.hash)
    hashes = names.hash[order]

    def number(name: Name) -> Any:
        number = order[fw.minimum(lower_bound(hashes, name.hash), count - 1)]
        known = (names.hash[number] == name.hash) & same(text, part(names, number), name)
        return fw.where(known, number, -1)

    numbers = fw.map(number, found.needed)
    targets, owners = fw.filter(
        lambda edge: (edge[0] >= 0) & (edge[1] >= 0), (numbers, found.owners)
    )
    graph = fw.ragged(targets.astype(fw.i32), lengths=fw.histogram(count, owners))

    def clashes(i: Any) -> Any:
        a, b = part(names, order[i]), part(names, order[i - 1])
        return (i > 0) & (a.hash == b.hash) & ~same(text, a, b)

    clash = fw.any(fw.generate(count, clashes))
    return graph, numbers.shape[0] - targets.shape[0], clash


def complete(data: bytes, source: str) -> bytes:
    """The entries that are whole; a warning says when the last one is not."""
    end = data.rfind(b"\n\n") + 2 if b"\n\n" in data else 0
    if data[end:].strip():
        begun = data[end : end + 200].decode(errors="replace").partition("\n")[0]
        warnings.warn(
            f"{source} is cut short: no empty line ends its last entry, '{begun}', at byte {end}."
            " That entry is left out.",
            stacklevel=2,
        )
    return data[:end]


def packages(data: bytes, source: str = "the text") -> Packages:
    """The packages of a text such as `apt-cache dumpavail` prints.

    Raises ValueError for no entries. The last entry of a text that is cut short is left out,
    with a warning.
    """
    whole = complete(data, source)
    text = np.frombuffer(whole + PADDING * b"\n", np.uint8)
    found = entries(text)
    if not found.names.start.size:
        raise ValueError(
            f"{source} has no entry of a package: no line of it begins with '{PACKAGE}', or no"
            " empty line follows. Is it what apt-cache dumpavail prints?"
        )
    graph, unknown, clash = link(text, found)
    if clash:
        raise ValueError(f"{source}: two of its packages share a hash; take another FNV_OFFSET.")
    return Packages(text, found.names, found.sizes, graph, int(unknown))


@fw.jit
def numbers_of(text: Any, names: Name, wanted: Any) -> Any:
    """The packages that have this name."""

    def fits(i: Any) -> Any:
        start, extent = names.start[i], names.end[i] - names.start[i]
        alike = extent == wanted.shape[0]
        letters = fw.generate(fw.where(alike, extent, 0), lambda k: text[start + k] == wanted[k])
        return alike & fw.all(letters)

    return fw.filter(fits, fw.iota(names.start.shape[0]))


def read(path: Path) -> bytes:
    """A saved text, compressed by xz or not. Raises ValueError where xz finds damage."""
    data = path.read_bytes()
    if not data.startswith(b"\xfd7zXZ"):
        return data
    unpack = lzma.LZMADecompressor()
    try:
        data = unpack.decompress(data)
    except lzma.LZMAError as error:
        raise ValueError(f"{path} is damaged: {error}.") from error
    if not unpack.eof:
        warnings.warn(f"{path} is cut short: its compressed data has no end.", stacklevel=2)
    return data


def available() -> tuple[bytes, str]:
    """What apt knows on this machine, and what that is called; the sample if it knows nothing."""
    command = shutil.which("apt-cache")
    if command is not None:
        done = subprocess.run([command, "dumpavail"], capture_output=True, check=False)
        if done.returncode == 0 and done.stdout:
            return done.stdout, "apt-cache dumpavail"
    return read(SAMPLE), SAMPLE.name


def python_rows(data: bytes) -> list[list[int]]:
    """The rows of the graph as one gets them in Python, line by line."""
    names: list[str] = []
    lists: list[list[str]] = []
    for line in re.sub(r"\n[ \t]+", " ", data.decode()).splitlines():
        field, _, said = line.partition(":")
        if field == "Package":
            names.append(said.strip())
            lists.append([])
        elif field in ("Depends", "Pre-Depends") and lists:
            lists[-1] += re.findall(r"(?:^|[,|])\s*([A-Za-z0-9+.-]+)", said)
    numbers = {name: number for number, name in reversed(list(enumerate(names)))}
    return [[numbers[name] for name in row if name in numbers] for row in lists]


def agrees(found: Packages, rows: list[list[int]]) -> bool:
    """Whether a graph has these rows."""
    flat = [number for row in rows for number in row]
    lengths = [len(row) for row in rows]
    lengths_agree = np.array_equal(np.asarray(found.graph.lengths), lengths)
    return lengths_agree and np.array_equal(np.asarray(found.graph.values), flat)


def main(argv: list[str]) -> int:
    """Parse, compare with Python, tell what is needed most: 0 when they agree."""
    packages(read(SAMPLE))  # compile
    try:
        data, source = (read(Path(argv[0])), argv[0]) if argv else available()
        data = complete(data, source)
        start = time.perf_counter()
        found = packages(data, source)
        seconds = time.perf_counter() - start
    except (OSError, ValueError) as problem:
        print(problem, file=sys.stderr)
        return 1
    start = time.perf_counter()
    rows = python_rows(data)
    python_seconds = time.perf_counter() - start
    count = len(found.graph)
    print(f"{source}: {count} packages, {found.graph.values.size} dependencies on one another")
    print(f"{found.unknown} more are on names that no package has")
    print(f"flatweave: {seconds:.3f} s, {len(data) / seconds / 1e9:.2f} GB/s")
    print(f"Python:    {python_seconds:.3f} s")
    needed = np.asarray(fw.histogram(count, found.graph.values))
    for number in np.argsort(-needed)[:5]:
        print(f"{needed[number]:7} need {found.name(number)}")
    return 0 if agrees(found, rows) else 1


def cases(quick: bool = False) -> Iterator[tuple[str, str, Callable, Callable, Callable]]:
    """For the demo: program, input, the job here, the same in Python, whether they agree."""
    data, _ = (read(SAMPLE), "") if quick else available()
    yield (
        "Debian's packages (next to Python)",
        f"{len(data) / 1e6:.0f} MB of text",
        lambda: packages(data),
        lambda: python_rows(data),
        agrees,
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
