"""Files and their rows: files by name, memory for what is read, rows as pieces of a `Chunked`."""

from __future__ import annotations

import glob
import mmap
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from flatweave.base import pretty
from flatweave.base.errors import ArgumentError, Unsupported, UserError
from flatweave.frontend.values.chunked import Values

# Memory for what is read: a mapping, which goes back to the system with the array. The C library
# keeps what it was given back, up to 64 MiB for each thread that ever asked, and threads read.


MAPPED = 1 << 17
"""Bytes from which on an array is a mapping."""
HUGE = 1 << 23
"""Bytes from which on it is one of large pages."""


def room(count: int) -> Values:
    """So many bytes, which somebody will write."""
    if count < MAPPED:
        return np.empty(count, np.uint8)
    memory = _mapping(count)
    if count >= HUGE and hasattr(mmap, "MADV_HUGEPAGE"):
        memory.madvise(mmap.MADV_HUGEPAGE)  # a page of 4 KiB at a time takes as long as reading
    return np.frombuffer(memory, np.uint8)


def _mapping(count: int) -> mmap.mmap:
    """Pages of this process alone: the system makes none large that could be shared."""
    if os.name == "nt":
        return mmap.mmap(-1, count)
    return mmap.mmap(-1, count, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)


def one(arrays: Sequence[Values]) -> Values:
    """Arrays concatenated."""
    if len(arrays) == 1:
        return arrays[0]
    first = arrays[0]
    shape: Any = (sum(map(len, arrays)), *first.shape[1:])
    whole = room(sum(each.nbytes for each in arrays)).view(first.dtype).reshape(shape)
    return np.concatenate(arrays, out=whole)


# Files by name: a path, a list of them, a folder, a pattern with `*`; with `://`, by fsspec.
#
# names_of("logs/*.csv")          the files, by name; a folder that is an array is one of these
# opened("s3://bucket/a.npy")     a file to read, wherever it is


FOLDERS = ("zarr.json", ".zarray", ".zgroup")
"""What is in a folder that is one array, or one group of arrays."""


def names_of(path: Any) -> list[str]:
    """The names of all files that are meant, in the order of the array; raises ArgumentError."""
    if isinstance(path, str | os.PathLike):
        found = _expanded(os.fspath(path))
    elif isinstance(path, Iterable) and not isinstance(path, bytes):
        found = [name for each in path for name in _expanded(os.fspath(each))]
    else:
        raise ArgumentError(
            f"Chunked.open takes a path or a list of paths, got {type(path).__name__}.",
            remedy="An array in memory is cut by fw.Chunked.cut(xs, rows).",
        )
    if not found:
        raise ArgumentError(
            f"Chunked.open found no file for {path!r}.",
            remedy="A folder, or a pattern such as ticks/*.parquet, must have files in it.",
        )
    return found


def opened(name: str) -> Any:
    """A file, to read bytes of it."""
    return filesystem(name).open(name, "rb") if "://" in name else open(name, "rb", buffering=0)


def read_bytes(name: str, begin: int, count: int) -> Values:
    """Bytes of a file from `begin` on, fewer where it ends."""
    with opened(name) as file:
        file.seek(begin)
        found, done = room(count), 0
        while done < count and (more := file.readinto(found[done:])):
            done += more
    return found[:done]


def read_at(name: str, places: Values, count: int) -> Values:
    """`count` bytes of a file from each of some offsets on, concatenated. The system learns all
    offsets first, so that it reads several at a time from a disk."""
    found = room(len(places) * count)
    with opened(name) as file:
        if "://" not in name and hasattr(os, "posix_fadvise"):
            for place in places.tolist():
                os.posix_fadvise(file.fileno(), place, count, os.POSIX_FADV_WILLNEED)
        for k, place in enumerate(places.tolist()):
            file.seek(place)
            if file.readinto(found[k * count : (k + 1) * count]) < count:
                raise ArgumentError(
                    f"{name} ends before byte {place + count}, which existed when it was opened.",
                    remedy="Open it again with fw.Chunked.open.",
                )
    return found


def is_folder(name: str) -> bool:
    """Whether a name is that of a folder."""
    return bool(filesystem(name).isdir(name)) if "://" in name else os.path.isdir(name)


def stamp(name: str) -> tuple[Any, ...]:
    """What differs once a file has been written anew, as far as its system tells."""
    if "://" in name:
        known = filesystem(name).info(name)
        return tuple(str(known.get(key)) for key in ("size", "mtime", "LastModified", "etag"))
    status = os.stat(name)
    return (status.st_size, status.st_mtime_ns)


def missing(what: str, package: str, failure: ImportError, extra: str = "files") -> UserError:
    """The error for a library that is not there."""
    return Unsupported(
        f"{what} needs {package}: {failure}.",
        remedy=f"Install it with pip install 'flatweave[{extra}]'.",
    )


def _expanded(name: str) -> list[str]:
    """The files of one name; hidden files and those that begin with _ are not part of a folder."""
    if "://" in name:
        return _expanded_by_fsspec(name)
    name = os.path.abspath(name)
    if "*" in name and not os.path.exists(name):
        return sorted(glob.glob(name, recursive=True))
    if not os.path.isdir(name) or _is_array(name, os.listdir(name)):
        return [name]
    inside = [os.path.join(name, each) for each in sorted(os.listdir(name)) if each[0] not in "._"]
    return [found for each in inside for found in _expanded(each)]


def _expanded_by_fsspec(name: str) -> list[str]:
    system = filesystem(name)
    if "*" in name:
        return [system.unstrip_protocol(each) for each in sorted(system.glob(name))]
    if not system.isdir(name):
        return [name]
    inside = sorted(system.ls(name, detail=False))
    if _is_array(name, [each.rsplit("/", 1)[-1] for each in inside]):
        return [name]
    shown = [each for each in inside if each.rsplit("/", 1)[-1][0] not in "._"]
    return [found for each in shown for found in _expanded(system.unstrip_protocol(each))]


def _is_array(name: str, inside: Iterable[str]) -> bool:
    return name.rstrip("/").endswith(".zarr") or any(each in FOLDERS for each in inside)


def filesystem(name: str) -> Any:
    """What fsspec has for a name with ://."""
    try:
        import fsspec  # optional dependency
    except ImportError as failure:
        raise missing(name, "fsspec", failure) from None
    try:
        return fsspec.core.url_to_fs(name)[0]
    except ValueError as failure:
        raise ArgumentError.here(
            f"{name} is no file: {failure}.", "Look at fsspec.available_protocols()."
        ) from None


# Rows of files as pieces of a `Chunked`: they know where they are, and are read when they must
# be.
#
# read([(a, 0, 4), (b, 0, 4)])      rows of two columns of one file: one reading


def _columns(region: Region, columns: Sequence[str]) -> list[Any]:
    """Columns of a region of a file; the code that decodes them may raise anything."""
    file, begin, end = region
    try:
        return file.read(columns, begin, end)
    except (UserError, FileNotFoundError, MemoryError):
        raise
    except Exception as failure:
        named = pretty.listed([repr(column) for column in columns if column])
        what, why = f"{named} of {file.path}" if named else file.path, str(failure).strip(" .\n")
        raise ArgumentError(
            f"rows {begin} to {end - 1} of {what} cannot be read: {why}.",
            remedy="The file may be damaged: write it anew, or leave it out.",
        ) from None


def extremes(values: Values) -> tuple[int, int]:
    """The least and the greatest of some integers."""
    return int(values.min()), int(values.max())


class File(Protocol):
    """A file of rows, or of several columns; it can be pickled and hashed, and equals another one
    that reads the same file."""

    @property
    def path(self) -> str:
        """Where it is."""

    def read(self, columns: Sequence[str], begin: int, end: int) -> list[Any]:
        """Some rows of some columns: an array of each; of lists, the arrays of a Ragged."""


class Opened(NamedTuple):
    """The properties of a file: its rows, each column's kind, a function that gives the cuts of
    the file into pieces of some number of rows, and one that estimates the bytes of a column's row
    where rows differ in length. A column's dtype and the shape of a row, or `Lists`."""

    file: File
    rows: int
    columns: Mapping[str, Any]
    ends: Callable[[int], Sequence[int]]
    width: Callable[[str], int] = lambda column: 0


class Region(NamedTuple):
    """Rows of one file."""

    file: File
    begin: int
    end: int


class Files:
    """What brings rows of files."""

    def rows(self, parts: Sequence[tuple[Any, int, int]]) -> list[Values]:
        """Rows of pieces; those of several columns are read at once."""
        return read(parts)


class Stored:
    """Rows of one column, in consecutive files."""

    __slots__ = ("column", "regions")
    place = Files()

    def __init__(self, regions: Sequence[Region], column: str = "") -> None:
        self.regions = tuple(regions)
        self.column = column

    @property
    def rows(self) -> int:
        """How many there are."""
        return sum(end - begin for _, begin, end in self.regions)

    def load(self, begin: int, end: int) -> Values:
        """Some of them, read from the files."""
        return read([(self, begin, end)])[0]

    def picked(self, places: Values) -> Values:
        """Rows at ascending indices; of files that cannot seek, all rows between them are read."""
        found = []
        for file, begin, end in self.regions:
            here, places = places[places < end - begin] + begin, places[places >= end - begin]
            if hasattr(file, "picked"):
                found.append(file.picked(self.column, here))
            elif len(here):
                (rows,) = file.read((self.column,), begin, end)
                found.append(rows[here - begin])
            places = places - (end - begin)
        return one(found)

    def within(self, begin: int, end: int) -> list[Region]:
        """The regions of some of them."""
        found, first = [], 0
        for file, low, high in self.regions:
            last = first + high - low
            if begin < last and first < end:
                begins, ends = max(begin, first), min(end, last)
                found.append(Region(file, low + begins - first, low + ends - first))
            first = last
        return found or [Region(file, low, low) for file, low, _ in self.regions[:1]]

    def part(self, found: Sequence[Any], begin: int, end: int) -> Values:
        """Some of them, of what was read of each region within which they are."""
        return one(found)


def picked(parts: Iterable[tuple[Any, int, int]], at: Values) -> Values:
    """Rows at ascending indices of consecutive pieces, or arrays."""
    found = []
    for piece, begin, end in parts:
        places, at = at[at < end - begin] + begin, at[at >= end - begin] - (end - begin)
        if isinstance(piece, np.ndarray):
            found.append(piece[places])
        elif isinstance(piece, Stored):
            found.append(piece.picked(places))
        elif len(places):
            found.append(piece.load(begin, end)[places - begin])
    return np.concatenate(found)


def read(parts: Iterable[tuple[Any, int, int]]) -> list[Values]:
    """Rows of pieces, or of arrays; columns of the same rows of a file are read in one go."""
    wanted: dict[Region, dict[str, None]] = {}
    parts = list(parts)
    places = [piece.within(a, b) if isinstance(piece, Stored) else [] for piece, a, b in parts]
    for (piece, _, _), regions in zip(parts, places, strict=True):
        for region in regions:
            wanted.setdefault(region, {})[piece.column] = None
    found_of = {
        region: dict(zip(columns, _columns(region, tuple(columns)), strict=True))
        for region, columns in wanted.items()
    }
    found = []
    for (piece, begin, end), regions in zip(parts, places, strict=True):
        if isinstance(piece, np.ndarray):
            found.append(piece[begin:end])
        elif regions:
            there = [found_of[region][piece.column] for region in regions]
            found.append(piece.part(there, begin, end))
        else:
            found.append(piece.load(begin, end))
        if len(found[-1]) != end - begin:
            raise ArgumentError(
                f"an array in chunks has {pretty.counted(len(found[-1]), 'row')} where it was said"
                f" to have {end - begin}.",
                remedy="Make it anew of what is there now.",
            )
    return found
