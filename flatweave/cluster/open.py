"""Where chunks come from: files by name (Chunked.open), blocks of Dask collections."""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import numpy as np

from flatweave.base import pretty
from flatweave.base.errors import ArgumentError, UserError
from flatweave.base.source import user_location
from flatweave.cluster.arrow_columns import Lists, in_chunks
from flatweave.cluster.files import Opened, Region, Stored, is_folder, missing, names_of
from flatweave.cluster.formats import (
    opened_bytes,
    opened_ipc,
    opened_npy,
    opened_parquet,
    opened_text,
    opened_zarr,
)
from flatweave.frontend.call.options import PLACE
from flatweave.frontend.values.array import kind_of
from flatweave.frontend.values.asarray import rows_of
from flatweave.frontend.values.chunked import ROWS_BYTES, Chunked, Values
from flatweave.frontend.values.foreign_arrays import is_lazy

# -- open -----------------------------------------------------------------------------------------
#
# Chunked.open: which files, what of them, and where they are cut.


FORMATS: dict[str, tuple[Callable[[str], Opened], tuple[str, ...]]] = {
    "npy": (opened_npy, (".npy",)),
    "parquet": (opened_parquet, (".parquet", ".pq")),
    "arrow": (opened_ipc, (".arrow", ".feather", ".ipc")),
    "zarr": (opened_zarr, (".zarr",)),
    "text": (opened_text, (".txt", ".csv", ".tsv", ".log", ".json", ".jsonl", ".md")),
    "bytes": (opened_bytes, ()),
}
OPENING = 16
"""Files whose headers are read at once: they may be far away."""


def opened(
    path: Any, rows: int | None, column: str | Sequence[str] | None, format: str | None
) -> Chunked | dict[str, Chunked]:
    """The array of files, or several columns of the same chunks; raises the user's error."""
    try:
        return _array(path, rows, column, format)
    except UserError as error:  # most of it happens in threads, which know no line of the user
        error.where = user_location()
        raise


def _array(
    path: Any, rows: int | None, column: str | Sequence[str] | None, format: str | None
) -> Chunked | dict[str, Chunked]:
    names = names_of(path)
    how = _format(names, format)
    with ThreadPoolExecutor(OPENING, "flatweave-opener") as threads:
        files = list(threads.map(lambda name: _opened(how, name), names))
    columns = _columns(files[0], names[0], column)
    kinds = {each: _kind(files, names, each) for each in columns}
    width = sum(_width(files, *each) for each in kinds.items())
    most = max(ROWS_BYTES // max(width, 1), 1) if rows is None else rows
    regions = list(_joined(_regions(files, most), most))
    found = {name: _in_chunks(regions, name, kind) for name, kind in kinds.items()}
    return found[columns[0]] if column is None or isinstance(column, str) else found


def _in_chunks(regions: Sequence[Sequence[Region]], column: str, kind: Any) -> Chunked:
    if isinstance(kind, Lists):
        return in_chunks(regions, column, kind)
    return Chunked.of([Stored(each, column) for each in regions], *kind)


def _width(files: Sequence[Opened], column: str, kind: Any) -> int:
    """The bytes of a row, of rows that differ in length those of a file whose rows are long."""
    if isinstance(kind, Lists):
        return max(file.width(column) for file in files)
    dtype, row = kind
    return int(dtype.itemsize * math.prod(row))


def _format(names: Sequence[str], format: str | None) -> str:
    """What all files are: as said, or as the name of the first one ends."""
    if format is None:
        first = names[0].rstrip("/").lower()
        ended = (key for key, (_, ends) in FORMATS.items() if ends and first.endswith(ends))
        format = next(ended, None) or ("zarr" if is_folder(names[0]) else None)
    if format not in FORMATS:
        known = ", ".join(FORMATS)
        raise ArgumentError(
            f"Chunked.open does not know what {names[0] if format is None else repr(format)} is.",
            remedy=f"Say format=, one of {known}.",
        )
    return format


def _opened(how: str, name: str) -> Opened:
    try:
        return FORMATS[how][0](name)
    except (UserError, FileNotFoundError, MemoryError):
        raise
    except Exception as failure:  # of the code that decodes it
        raise ArgumentError(
            f"{name} cannot be read as {how}: {str(failure).rstrip('.')}.",
            remedy="Say format=, if it is something else.",
        ) from None


def _columns(first: Opened, name: str, column: str | Sequence[str] | None) -> list[str]:
    """The columns that are wanted."""
    there = list(first.columns)
    if column is None:
        if len(there) == 1:
            return there
        problem = f"{name} has {pretty.counted(len(there), 'column')}, and none was named"
    else:
        wanted: list[Any] = list(column) if isinstance(column, list | tuple) else [column]
        absent = [each for each in wanted if each not in there]
        if wanted and not absent:
            return wanted
        missed = pretty.listed(map(repr, absent)) or "columns, for none was named"
        problem = f"{name} has no {missed}"
    shown = pretty.listed([repr(each) for each in there if each]) or "one array without a name"
    raise ArgumentError(f"{problem}.", remedy=f"Say column=: there is {shown}.")


def _kind(files: Sequence[Opened], names: Sequence[str], column: str) -> Any:
    """What a column holds in all files: a dtype and the shape of a row, or lists."""
    first = None
    for file, name in zip(files, names, strict=True):
        found = file.columns.get(column)
        first = first or found
        if found != first:
            raise ArgumentError(
                f"{names[0]} and {name} do not go together: {_shown(first)} and {_shown(found)}.",
                remedy="Open files of one dtype whose rows have one shape; open others separately.",
            )
    assert first is not None
    return first


def _shown(kind: Any) -> str:
    if kind is None:
        return "no such column"
    if isinstance(kind, Lists):
        return str(kind)
    dtype, row = kind
    return f"{np.dtype(dtype)}{['n', *row]}".replace("'", "")


def _regions(files: Sequence[Opened], rows: int) -> Iterator[Region]:
    """The files, cut where they can be."""
    for file in files:
        begin = 0
        for end in file.ends(rows):
            if end > begin:
                yield Region(file.file, begin, end)
            begin = end


def _joined(regions: Iterator[Region], most: int) -> Iterator[list[Region]]:
    """Regions grouped, with at most `most` rows in a group."""
    found: list[Region] = []
    count = 0
    for region in regions:
        rows = region.end - region.begin
        if found and count + rows > most:
            yield found
            found, count = [], 0
        if found and found[-1].file == region.file and found[-1].end == region.begin:
            found[-1] = Region(region.file, found[-1].begin, region.end)
        else:
            found.append(region)
        count += rows
    if found:
        yield found


# -- dask blocks ----------------------------------------------------------------------------------
#
# Blocks of Dask collections as pieces of a `Chunked`: Dask computes them when they are needed.
#
#   from_dask(dask.array.arange(10, chunks=4))      chunks of 4, 4 and 2 rows
#   from_dask(frame["price"])                       a chunk for each partition; how many rows these
#                                                   have is asked for once, when it must be known
#   from_dask([future, future])                     arrays that a client computes
#
# On the client's own workers a block is the object that the worker has. Without a client, Dask
# computes a block for each step that reads it, as files are read.


class Blocks:
    """The blocks of one array: what Dask knows them by, and what is in them."""

    def __init__(
        self, blocks: Sequence[Any], dtype: Any, row: tuple[int, ...], lengths: Sequence[int] | None
    ) -> None:
        self.blocks = blocks
        self.dtype = dtype
        self.row = row
        self._lengths = lengths
        self._on = weakref.WeakKeyDictionary[Any, list[Any]]()

    @property
    def lengths(self) -> Sequence[int]:
        """The rows of each block; if they are unknown, all blocks are computed to count them."""
        if self._lengths is None:
            client = getattr(PLACE.get(), "client", None)
            if client is not None:
                futures = self.futures(client)
                with _at_the_call():
                    self._lengths = client.gather(client.map(len, futures, pure=False))
            else:
                self._lengths = dask().compute(*(dask().delayed(len)(x) for x in self.blocks))
        return self._lengths

    def futures(self, client: Any) -> list[Any]:
        """The blocks as futures of a client, which has all of them computed; they are kept as long
        as the array is."""
        if client not in self._on:
            computed = client.compute([each for each in self.blocks if _is_delayed(each)])
            rest = iter(computed)
            there = [next(rest) if _is_delayed(each) else each for each in self.blocks]
            lengths: Sequence[int | None] = self._lengths or [None] * len(there)
            self._on[client] = client.map(
                rows_in, there, lengths, dtype=self.dtype, row=self.row, pure=False
            )
        return self._on[client]

    def computed(self, number: int) -> Values:
        """One block in this process."""
        (found,) = dask().compute(self.blocks[number])
        block = found.result() if hasattr(found, "result") else found
        rows = None if self._lengths is None else int(self._lengths[number])
        return rows_in(block, rows, self.dtype, self.row)


class Block:
    """The rows of one block."""

    __slots__ = ("__weakref__", "blocks", "number")
    is_counted = False

    def __init__(self, blocks: Blocks, number: int) -> None:
        self.blocks = blocks
        self.number = number

    @property
    def rows(self) -> int:
        """How many there are."""
        return int(self.blocks.lengths[self.number])

    def load(self, begin: int, end: int) -> Values:
        """Some of them."""
        return self.blocks.computed(self.number)[begin:end]


def from_dask(collection: Any) -> Chunked:
    """A Dask array, a column of a Dask data frame, futures or delayed arrays; raises the user's
    error for anything else."""
    if isinstance(collection, list | tuple) and collection:
        return _of_parts(list(collection))
    if is_lazy(collection) and not hasattr(collection, "to_delayed"):
        collection = collection.data  # of an array of xarray
    if not hasattr(collection, "__dask_graph__") or not hasattr(collection, "to_delayed"):
        raise ArgumentError.here(
            f"from_dask takes a Dask array, a column of a Dask data frame, or a list of futures,"
            f" got {kind_of(collection) if collection != [] else 'an empty one'}.",
            "Arrays in memory: fw.Chunked(arrays).",
        )
    if hasattr(collection, "numblocks"):
        return _of_array(collection)
    if getattr(collection, "ndim", 1) != 1:
        raise ArgumentError.here(
            "from_dask takes one column of a data frame.",
            "Take them one by one: fw.Chunked.from_dask(df.x).",
        )
    return _of_column(collection)


def rows_in(block: Any, rows: int | None, dtype: Any, row: Sequence[int]) -> Values:
    """A block as an array, which it is already if its collection describes it: of `rows` rows,
    if that is known."""
    values = _held(block)
    if rows is not None and values.ndim and len(values) != rows:
        raise ArgumentError(
            f"a block of a Dask collection has {pretty.counted(len(values), 'row')}, where the"
            f" collection says {rows}.",
            remedy="Let Dask count them, xs.compute_chunk_sizes(), or say so where the collection"
            " is made.",
        )
    if values.dtype != dtype or values.shape[1:] != tuple(row):
        raise ArgumentError(
            f"a block of a Dask collection is {values.dtype}{list(values.shape)}, where the"
            f" collection says {dtype}{['n', *row]}.".replace("'", ""),
            remedy="Convert the collection with astype; fill what is missing in it.",
        )
    return values


def _of_array(array: Any) -> Chunked:
    """A block for each chunk of the first axis; the other axes are not cut."""
    if array.ndim == 0:
        raise ArgumentError.here(
            "from_dask takes an array with at least one axis, got a scalar.",
            "Compute it: x.compute().",
        )
    if math.prod(array.numblocks[1:]) > 1:
        array = array.rechunk(dict.fromkeys(range(1, array.ndim), -1))
    lengths = None if any(map(math.isnan, array.chunks[0])) else array.chunks[0]
    blocks = list(array.to_delayed().ravel())
    return _chunked(blocks, array.dtype, tuple(map(int, array.shape[1:])), lengths)


def _of_column(column: Any) -> Chunked:
    """A block for each partition, of as many rows as it happens to have."""
    kind = getattr(column.dtype, "numpy_dtype", column.dtype)  # that of pandas' own dtypes
    try:
        dtype = np.dtype(kind)
    except TypeError:
        dtype = np.dtype(object)
    return _chunked(list(column.to_delayed()), dtype, (), None)


def _of_parts(parts: list[Any]) -> Chunked:
    """Futures or delayed arrays, the first of which says what they are."""
    for each in parts:
        if not _is_delayed(each) and not hasattr(each, "key"):
            raise ArgumentError.here(
                f"from_dask takes futures or delayed arrays in a list, got {kind_of(each)}.",
                "Arrays in memory: fw.Chunked(arrays).",
            )
    with _at_the_call():
        dtype, row = dask().delayed(_described)(parts[0]).compute()
    return _chunked(parts, dtype, row, None)


def _chunked(
    blocks: Sequence[Any], dtype: Any, row: tuple[int, ...], lengths: Sequence[int] | None
) -> Chunked:
    found = Blocks(blocks, np.dtype(dtype), row, lengths)
    return Chunked.of([Block(found, k) for k in range(len(blocks))], dtype, row)


def _described(block: Any) -> tuple[Any, tuple[int, ...]]:
    values = _held(block)
    return values.dtype, values.shape[1:]


def _held(block: Any) -> Values:
    """The rows of a block; errors have no line yet: threads and workers know none of the user."""
    try:
        return rows_of(block, "a block of a Dask collection")
    except UserError as error:
        error.where = None
        raise


@contextmanager
def _at_the_call() -> Iterator[None]:
    """Errors of blocks have the user's line."""
    try:
        yield
    except UserError as error:
        error.where = error.where or user_location()
        raise


def _is_delayed(block: Any) -> bool:
    return hasattr(block, "dask")


def dask() -> Any:
    """The library; raises Unsupported where it is not."""
    try:
        import dask  # optional dependency
    except ImportError as failure:
        raise missing("a Dask collection", "dask", failure, "cluster") from None
    return dask
