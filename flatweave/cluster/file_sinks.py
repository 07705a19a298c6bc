"""What an array in chunks is written to: .npy, Parquet and Arrow, Zarr.

Each process writes the chunks that it has. A sink says how a file begins, takes rows, and ends.
"""

from __future__ import annotations

import errno
import io
import math
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import pairwise
from typing import Any, NamedTuple, Protocol

import numpy as np

from flatweave.base import pretty
from flatweave.base.errors import ArgumentError, DeviceError
from flatweave.base.records import record
from flatweave.cluster.arrow_columns import pyarrow
from flatweave.cluster.files import filesystem
from flatweave.cluster.formats import library
from flatweave.frontend.ragged.ragged import Ragged
from flatweave.frontend.values.chunked import Values

# What is written to disks, which may be full.


FULL = (errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC))
"""What a system says where a disk has no room, or where somebody may have no more of it."""


def written(file: Any, values: np.ndarray[Any, np.dtype[Any]]) -> None:
    """Write an array's elements; unlike `tofile`, with the system's own error."""
    file.write(np.ascontiguousarray(values).reshape(-1).view(np.uint8).data)


def removed(paths: Iterable[str]) -> None:
    """Remove files, those that are there."""
    for path in paths:
        system = filesystem(path) if "://" in path else os
        with suppress(FileNotFoundError):
            system.remove(path)


@contextmanager
def told_if_full(where: str, size: int, remedy: str) -> Iterator[None]:
    """The user's error if a disk is full while `size` bytes are written there."""
    try:
        yield
    except OSError as failure:
        if failure.errno not in FULL:
            raise
        raise DeviceError(
            f"there is no room left for {where}, of which {pretty.size(size)} were to be written.",
            remedy=remedy,
        ) from None


# What a format of files says of how arrays are written.


class Columns(NamedTuple):
    """Arrays of as many rows, by name: what is to be written; where their chunks end."""

    kinds: Mapping[str, tuple[np.dtype[Any], tuple[int, ...]]]
    ends: Sequence[int]

    @property
    def rows(self) -> int:
        """How many each of them has."""
        return self.ends[-1] if self.ends else 0


class Sink(Protocol):
    """Files that are being written; it goes to other processes as it is. Whatever it writes twice
    is the same, so that a task can be run again."""

    @property
    def ends(self) -> Sequence[int]:
        """Where the rows end that are written together."""

    def write(self, number: int, begin: int, *columns: Any) -> None:
        """Some rows of all columns, the first of which is row `begin`: arrays, or in tables a
        Ragged where they differ in length."""

    def finish(self) -> None:
        """Everything has been written."""

    def abandon(self) -> None:
        """Remove what has been written, as something went wrong."""


# An .npy file, of which every process writes its rows where they belong; bytes have no header.


@record
class NpyFile:
    """Rows from some byte of a file on; the file gets its name when it is complete."""

    path: str
    ends: Sequence[int]
    start: int
    width: int

    def write(self, number: int, begin: int, *columns: Values) -> None:
        """Some rows."""
        with open(partial(self.path), "r+b") as file:
            file.seek(self.start + begin * self.width)
            written(file, columns[0])

    def finish(self) -> None:
        """It replaces what had this name."""
        os.replace(partial(self.path), self.path)

    def abandon(self) -> None:
        """What has this name stays."""
        removed([partial(self.path)])


def npy_file(path: str, columns: Columns) -> NpyFile:
    """A file with its header, and nothing in it yet."""
    dtype, row = _only(path, columns)

    def header() -> bytes:
        file = io.BytesIO()
        facts = np.lib.format.header_data_from_array_1_0(np.empty((0, *row), dtype))
        facts["shape"] = (columns.rows, *row)
        np.lib.format.write_array_header_1_0(file, facts)
        return file.getvalue()

    return _begun(path, columns, math.prod(row) * dtype.itemsize, header())


def bytes_file(path: str, columns: Columns) -> NpyFile:
    """A file of nothing but the elements."""
    dtype, row = _only(path, columns)
    return _begun(path, columns, math.prod(row) * dtype.itemsize, b"")


def partial(path: str) -> str:
    """The name of a file that is not complete."""
    return f"{path}.partial"


def _begun(path: str, columns: Columns, width: int, header: bytes) -> NpyFile:
    made = NpyFile(path, columns.ends, len(header), width)
    try:
        with open(partial(path), "wb") as file:
            file.write(header)
            file.truncate(len(header) + columns.rows * width)
    except OSError:
        made.abandon()
        raise
    return made


def _only(path: str, columns: Columns) -> tuple[np.dtype[Any], tuple[int, ...]]:
    """The one array of which the file consists."""
    if len(columns.kinds) != 1 or "://" in path:
        reason = "on a disk, where every process writes its part" if "://" in path else "one array"
        raise ArgumentError(
            f"{path} is {reason}.", remedy="Save it as Parquet or Zarr: a name that ends so."
        )
    ((dtype, row),) = columns.kinds.values()
    return dtype, row


# Parquet and Arrow: a folder with a file for each chunk, which libraries take for one table.


@record
class Tables:
    """A folder; `kind` is how the names of its files end."""

    path: str
    ends: Sequence[int]
    names: tuple[str, ...]
    kind: str

    def write(self, number: int, begin: int, *columns: Values | Ragged) -> None:
        """A separate file: row group or record batch, whole or not at all."""
        pa = pyarrow(self.path)
        table = pa.table(
            {key: _column(pa, xs) for key, xs in zip(self.names, columns, strict=True)}
        )
        path = self._name(number)
        if "://" in path:
            with filesystem(path).open(path, "wb") as file:
                self._written(pa, table, file)
            return
        own = partial(f"{path}.{os.getpid()}")  # a task may run twice, at the same time
        try:
            self._written(pa, table, own)
            os.replace(own, path)
        except BaseException:
            removed([own])
            raise

    def finish(self) -> None:
        """Every file is complete."""

    def abandon(self) -> None:
        """The files, and the folder, if nothing else is in it."""
        removed(map(self._name, range(len(self.ends))))
        if "://" not in self.path:
            with suppress(OSError):
                os.rmdir(self.path)

    def _name(self, number: int) -> str:
        return f"{self.path}/part-{number:05}.{self.kind}"

    def _written(self, pa: Any, table: Any, where: Any) -> None:
        if self.kind == "parquet":
            pa.parquet.write_table(table, where, row_group_size=max(len(table), 1))
            return
        with pa.ipc.new_file(where, table.schema) as writer:
            writer.write_table(table)


def parquet_folder(path: str, columns: Columns) -> Tables:
    """A folder of Parquet files."""
    return _folder(path, columns, "parquet")


def arrow_folder(path: str, columns: Columns) -> Tables:
    """A folder of Arrow files."""
    return _folder(path, columns, "arrow")


def _folder(path: str, columns: Columns, kind: str) -> Tables:
    pyarrow(path)
    if "://" in path:
        filesystem(path).makedirs(path, exist_ok=True)
    else:
        os.makedirs(path, exist_ok=True)
    return Tables(path, columns.ends, tuple(columns.kinds), kind)


def _column(pa: Any, values: Values | Ragged) -> Any:
    """A Ragged as a column of lists, an array as one of numbers: axes after the first are lists of
    a fixed size."""
    if isinstance(values, Ragged):
        return values.to_arrow()
    found = pa.array(values.reshape(-1))
    for extent in values.shape[:0:-1]:
        found = pa.FixedSizeListArray.from_arrays(found, extent)
    return found


# Zarr: an array, or a group of them; processes write whole chunks of Zarr, so none is shared.


CHUNK_BYTES = 16 << 20
"""A chunk of Zarr: what whoever reads a few rows must read."""


@record
class ZarrArrays:
    """An array, or one for each name."""

    path: str
    ends: Sequence[int]
    names: tuple[str, ...]

    def write(self, number: int, begin: int, *columns: Values) -> None:
        """Rows that are whole chunks of Zarr."""
        root: Any = library(self.path).open(self.path, mode="r+")
        for name, values in zip(self.names, columns, strict=True):
            array = root[name] if name else root
            array[begin : begin + len(values)] = values

    def finish(self) -> None:
        """Every chunk is complete."""

    def abandon(self) -> None:
        """The whole folder, which was empty."""
        if "://" in self.path:
            filesystem(self.path).rm(self.path, recursive=True)
        else:
            shutil.rmtree(self.path, ignore_errors=True)


def zarr_arrays(path: str, columns: Columns) -> ZarrArrays:
    """Arrays without elements yet."""
    zarr = library(path)
    width = max(dtype.itemsize * math.prod(row) for dtype, row in columns.kinds.values())
    longest = max((b - a for a, b in pairwise([0, *columns.ends])), default=1)
    step = max(min(longest, CHUNK_BYTES // max(width, 1)), 1)
    each = max(longest // step, 1) * step
    if tuple(columns.kinds) != ("",):
        zarr.open_group(path, mode="w")
    for name, (dtype, row) in columns.kinds.items():
        shape, chunks = (columns.rows, *row), (step, *(max(extent, 1) for extent in row))
        where = f"{path.rstrip('/')}/{name}" if name else path
        zarr.open_array(where, mode="w", shape=shape, chunks=chunks, dtype=dtype)
    ends = [*range(each, columns.rows, each), columns.rows] if columns.rows else []
    return ZarrArrays(path, ends, tuple(columns.kinds))
