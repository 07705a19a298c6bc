"""One reader a format: .npy, text and bytes, Zarr, Arrow's own files, Parquet."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from flatweave.base.dtypes import native
from flatweave.base.errors import ArgumentError
from flatweave.base.records import record
from flatweave.cluster.arrow_columns import Kinds, bytes_of, columns_of, ends_of, pyarrow, reached
from flatweave.cluster.files import Opened, missing, opened, read_at, read_bytes, stamp
from flatweave.frontend.values.chunked import Values

# Arrays in .npy files: rows are where the header says, and only they are read.


@record(eq=True)
class Npy:
    """An array's numbers, row by row from some byte of a file on."""

    path: str
    dtype: Any
    row: tuple[int, ...]
    start: int

    def read(self, columns: Sequence[str], begin: int, end: int) -> list[Values]:
        """Rows of the array, in this machine's order of bytes."""
        dtype, size = np.dtype(self.dtype), math.prod(self.row)
        first, count = self.start + begin * size * dtype.itemsize, (end - begin) * size
        raw = read_bytes(self.path, first, count * dtype.itemsize)
        if raw.size != count * dtype.itemsize:
            raise ArgumentError(
                f"{self.path} ends before row {end - 1}, which existed when it was opened.",
                remedy="Open it again with fw.Chunked.open.",
            )
        native = raw.view(dtype).astype(dtype.newbyteorder("="), copy=False)
        return [native.reshape(end - begin, *self.row)] * len(columns)

    def picked(self, column: str, places: Values) -> Values:
        """Rows at some indices, each read separately; the system learns all of them first."""
        dtype = np.dtype(self.dtype)
        size = math.prod(self.row) * dtype.itemsize
        raw = read_at(self.path, self.start + places * size, size)
        native: Values = raw.view(dtype).astype(dtype.newbyteorder("="), copy=False)
        return native.reshape(len(places), *self.row)


def opened_npy(name: str) -> Opened:
    """The array of a file, from its header."""
    with opened(name) as file:
        version = np.lib.format.read_magic(file)
        header = np.lib.format.read_array_header_1_0 if version == (1, 0) else (
            np.lib.format.read_array_header_2_0
        )  # fmt: skip
        shape, by_column, dtype = header(file)
        start = file.tell()
    if not shape or (by_column and len(shape) > 1):
        raise ArgumentError(
            f"{name} has no contiguous rows: {dtype}{list(shape)}"
            f"{', column by column' if shape else ''}.",
            remedy="Save np.ascontiguousarray(xs).",
        )
    return opened_rows(Npy(name, dtype, shape[1:], start), shape[0])


def opened_rows(file: Npy, rows: int) -> Opened:
    """So many rows of a file."""
    kind: Any = np.dtype(file.dtype).newbyteorder("=")
    return Opened(file, rows, {"": (kind, file.row)}, lambda each: [*range(each, rows, each), rows])


# Bytes of files. Of text, pieces end where lines end, as far as lines are shorter than they are;
# a file whose last line does not end gets the end of it, so that it is not joined with the next
# file's first.


NEWLINE = b"\n"
BLOCK = 1 << 16
"""Bytes that are read at once to find the end of a line."""


@record(eq=True)
class Bytes:
    """So many bytes of a file; what is beyond them is an end of line."""

    path: str
    size: int

    def read(self, columns: Sequence[str], begin: int, end: int) -> list[Values]:
        """Some bytes."""
        last = min(end, self.size)
        found = read_bytes(self.path, begin, last - begin)
        if len(found) != last - begin:
            raise ArgumentError(
                f"{self.path} ends before byte {last - 1}, which existed when it was opened.",
                remedy="Open it again with fw.Chunked.open.",
            )
        if end > last:
            found = np.concatenate([found, np.frombuffer(NEWLINE, np.uint8)])
        return [found] * len(columns)


def opened_bytes(name: str) -> Opened:
    """The bytes of a file, cut anywhere."""
    size = _size(name)
    return _opened(name, size, size, lambda rows: [*range(rows, size, rows), size])


def opened_text(name: str) -> Opened:
    """The bytes of a text."""
    size = _size(name)
    with opened(name) as file:
        file.seek(max(size - 1, 0))
        whole = size == 0 or file.read(1) == NEWLINE
    rows = size if whole else size + 1
    return _opened(name, size, rows, lambda each: _line_ends(name, each, rows))


def _opened(name: str, size: int, rows: int, ends: object) -> Opened:
    return Opened(Bytes(name, size), rows, {"": (np.dtype(np.uint8), ())}, ends)  # type: ignore[arg-type]


def _size(name: str) -> int:
    with opened(name) as file:
        return int(file.seek(0, 2))


def _line_ends(name: str, each: int, size: int) -> list[int]:
    """The first end of a line after every multiple of `each` bytes."""
    found: list[int] = []
    with opened(name) as file:
        at = each
        while at < size:
            file.seek(at - 1)
            end = _next_line(file, at - 1)
            if end is None:
                break
            found.append(end)
            at = max(at + each, end + each)
    return [*(end for end in found if end < size), size]


def _next_line(file: object, at: int) -> int | None:
    """The position after the next end of a line."""
    while block := file.read(BLOCK):  # type: ignore[attr-defined]
        k = block.find(NEWLINE)
        if k >= 0:
            return at + int(k) + 1
        at += len(block)
    return None


# Zarr arrays, and groups of them: Zarr's chunks are read whole, so pieces end where they do.


@record(eq=True)
class Zarr:
    """An array, or a group whose arrays are columns."""

    path: str

    def read(self, columns: Sequence[str], begin: int, end: int) -> list[Values]:
        """Rows of some columns."""
        root = library(self.path).open(self.path, mode="r")
        arrays = [root[name] if name else root for name in columns]
        return [np.ascontiguousarray(each[begin:end]) for each in arrays]


def opened_zarr(name: str) -> Opened:
    """The array, or the arrays of one length that are in a group."""
    root = library(name).open(name, mode="r")
    arrays = {"": root} if hasattr(root, "shape") else dict(root.arrays())
    columns = {
        key: (native(each.dtype), tuple(each.shape[1:]))
        for key, each in arrays.items() if each.shape
    }  # fmt: skip
    lengths = {arrays[key].shape[0] for key in columns}
    if len(lengths) != 1:
        raise ArgumentError(
            f"{name} has no arrays of one length: {sorted(lengths) or 'none'}.",
            remedy="Open one array of it, by its own path.",
        )
    (rows,) = lengths
    step = max(_step(arrays[key]) for key in columns)

    def ends(each: int) -> list[int]:
        size = max(each // step, 1) * step
        return [*range(size, rows, size), rows]

    return Opened(Zarr(name), rows, columns, ends)


def _step(array: Any) -> int:
    """The rows that are stored together."""
    return int((getattr(array, "shards", None) or array.chunks)[0])


def library(path: str) -> Any:
    """Zarr; raises Unsupported where it is not."""
    try:
        import zarr  # optional dependency
    except ImportError as failure:
        raise missing(path, "zarr", failure) from None
    return zarr


# Columns of Arrow's own files (`.arrow`, `.feather`): record batches are read, of them the
# columns that are needed.


@record(eq=True)
class ArrowFile:
    """A file of record batches as it was when it was opened."""

    path: str
    stamp: tuple[Any, ...]

    def read(self, columns: Sequence[str], begin: int, end: int) -> list[Any]:
        """Rows of some columns; of a record batch every row is read."""
        schema, ends = _batches(self)
        batches, first = reached(ends, begin, end)
        pa = pyarrow(self.path)
        wanted = sorted(schema.get_field_index(name) for name in columns)
        options = pa.ipc.IpcReadOptions(included_fields=wanted)
        with (
            bytes_of(self.path) as source,
            pa.ipc.open_file(source, options=options) as reader,
        ):
            found = [reader.get_batch(k) for k in batches]
            table = pa.Table.from_batches(found, schema=pa.schema([schema[k] for k in wanted]))
        return columns_of(table.slice(begin - first, end - begin), columns, self.path, begin)


def opened_ipc(name: str) -> Opened:
    """The columns of a file; pieces end where record batches do."""
    file = ArrowFile(name, stamp(name))
    schema, ends = _batches(file)
    rows = ends[-1] if ends else 0
    with bytes_of(name) as source:
        width = source.size() // max(rows, 1)
    return Opened(file, rows, Kinds(schema, name), lambda each: ends, lambda column: width)


@functools.lru_cache(maxsize=1024)
def _batches(file: ArrowFile) -> tuple[Any, tuple[int, ...]]:
    """A file's schema, and where its record batches end; nothing of any column is read."""
    pa = pyarrow(file.path)
    with bytes_of(file.path) as source, pa.ipc.open_file(source) as whole:
        schema = whole.schema
    options = pa.ipc.IpcReadOptions(included_fields=[0])
    with bytes_of(file.path) as source, pa.ipc.open_file(source, options=options) as reader:
        lengths = [reader.get_batch(k).num_rows for k in range(reader.num_record_batches)]
    return schema, ends_of(lengths)


# Columns of Parquet files: whole row groups are read, of them the columns that are needed.


FOOTERS = 1024
"""Footers that are kept; each is read once, not for every chunk."""


@record(eq=True)
class Parquet:
    """A Parquet file as it was when it was opened."""

    path: str
    stamp: tuple[Any, ...]

    def read(self, columns: Sequence[str], begin: int, end: int) -> list[Any]:
        """Rows of some columns; of a row group every row is decoded."""
        footer, ends = _footer(self)
        groups, first = reached(ends, begin, end)
        with (
            bytes_of(self.path) as source,
            pyarrow(self.path).parquet.ParquetFile(source, metadata=footer) as file,
        ):
            table = file.read_row_groups(list(groups), columns=list(columns), use_threads=True)
        return columns_of(table.slice(begin - first, end - begin), columns, self.path, begin)


def opened_parquet(name: str) -> Opened:
    """The columns of a file, from its footer; pieces end where row groups do."""
    file = Parquet(name, stamp(name))
    footer, ends = _footer(file)
    kinds = Kinds(footer.schema.to_arrow_schema(), name)

    def width(column: str) -> int:
        groups = map(footer.row_group, range(footer.num_row_groups))
        parts = [group.column(k) for group in groups for k in range(group.num_columns)]
        own = [each for each in parts if each.path_in_schema.split(".")[0] == column]
        return int(sum(each.total_uncompressed_size for each in own) // max(footer.num_rows, 1))

    return Opened(file, footer.num_rows, kinds, lambda rows: ends, width)


@functools.lru_cache(maxsize=FOOTERS)
def _footer(file: Parquet) -> tuple[Any, tuple[int, ...]]:
    """A file's metadata, and where its row groups end."""
    with bytes_of(file.path) as source:
        footer = pyarrow(file.path).parquet.read_metadata(source)
    return footer, ends_of(footer.row_group(k).num_rows for k in range(footer.num_row_groups))
