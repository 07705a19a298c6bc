"""An array in chunks as files (`Chunked.save`) or as a Dask array (`Chunked.to_dask`)."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from flatweave.base.errors import ArgumentError, UserError
from flatweave.base.source import user_location
from flatweave.cluster.executor import Chunk, Executor, Job, Rows
from flatweave.cluster.file_sinks import (
    Columns,
    Sink,
    arrow_folder,
    bytes_file,
    npy_file,
    parquet_folder,
    told_if_full,
    zarr_arrays,
)
from flatweave.cluster.files import filesystem, missing
from flatweave.cluster.in_process import in_process
from flatweave.cluster.open import Block, dask
from flatweave.frontend.call.options import PLACE
from flatweave.frontend.ragged.chunked import ChunkedRows, arrays_in, offsets_in
from flatweave.frontend.values.array import host_array
from flatweave.frontend.values.chunked import Chunked, Held, Piece, Several, Values
from flatweave.frontend.values.tree import LEAF, Tree, flatten, unflatten

# Chunked.save: an array in chunks becomes files, each chunk written by the process that has it.


FORMATS: dict[str, tuple[Callable[[str, Columns], Sink], tuple[str, ...]]] = {
    "npy": (npy_file, (".npy",)),
    "parquet": (parquet_folder, (".parquet", ".pq")),
    "arrow": (arrow_folder, (".arrow", ".feather", ".ipc")),
    "zarr": (zarr_arrays, (".zarr",)),
    "bytes": (bytes_file, ()),
}
TABLES = ("parquet", "arrow")
REMEDY = "Make room there, or save it on another disk; what was written of it is removed."
VALUES = "values"
"""The column of a table of one array that nobody named."""


def save(
    xs: Chunked, path: Any, format: str | None, column: str | None, beside: Mapping[str, Chunked]
) -> None:
    """Write an array, and other columns; raises the user's error."""
    try:
        _save(xs, os.fspath(path), format, column, beside)
    except UserError as error:
        error.where = error.where or user_location()
        raise


def _save(
    xs: Chunked, path: str, format: str | None, column: str | None, beside: Mapping[str, Chunked]
) -> None:
    how = _format(path, format)
    named = column is not None or bool(beside) or how in TABLES
    pairs = [((column or VALUES) if named else "", xs), *beside.items()]
    for name, array in beside.items():
        if len(array) != len(xs):
            raise ArgumentError(
                f"{name!r} has {len(array)} rows, the first column {len(xs)}.",
                remedy="A table's columns have one length: save others separately.",
            )
    if how in TABLES:
        pairs = [part for pair in pairs for part in _numbers(*pair)]
    arrays = dict(pairs)
    if len(arrays) < len(pairs):
        twice = next(name for name in arrays if [each for each, _ in pairs].count(name) > 1)
        raise ArgumentError(
            f"save got two columns {twice!r}.", remedy="Name one of them otherwise, by column=."
        )
    path = path if "://" in path else os.path.abspath(path)
    if how not in ("npy", "bytes") and _has_files(path):
        raise ArgumentError(
            f"{path} is there already, and has files in it.",
            remedy="Remove it first, or give another name.",
        )
    if how not in TABLES and any(isinstance(array, ChunkedRows) for array in arrays.values()):
        raise ArgumentError(
            f"save as {how} takes arrays, and rows that differ in length are two of them.",
            remedy="Save them as Parquet or Arrow; or xs.values and xs.offsets by themselves, which"
            " Chunked.ragged puts together again.",
        )
    if how in TABLES:
        _check_columns(how, arrays)
    kinds = {name: (array.dtype, array.row) for name, array in arrays.items()}
    ends = [end for begin, end in pairwise(xs.bounds) if begin < end]
    with told_if_full(path, sum(array.nbytes for array in arrays.values()), REMEDY):
        sink = FORMATS[how][0](path, Columns(kinds, ends))
    place = PLACE.get() or in_process()
    trees = [
        flatten(array)[1] if isinstance(array, ChunkedRows) else LEAF for array in arrays.values()
    ]
    try:
        place.done(
            functools.partial(_written, path, sink, trees),
            list(_jobs(place, [0, *(sink.ends or [0])], list(arrays.values()))),
        )
        sink.finish()
    except BaseException:
        sink.abandon()
        raise


def _numbers(name: str, xs: Chunked) -> Iterator[tuple[str, Chunked]]:
    """The columns of a table for an array: parts of complex numbers, and fields of records, are a
    column each."""
    if not isinstance(xs, ChunkedRows) and xs.dtype.kind == "c":
        part = f"f{xs.dtype.itemsize // 2}"
        xs = xs.viewed([("real", part), ("imag", part)], xs.row)
    if isinstance(xs, ChunkedRows) or xs.dtype.names is None:
        yield name, xs
        return
    for field in xs.dtype.names:
        yield from _numbers(f"{name}.{field}", xs[field])


def _check_columns(how: str, arrays: Mapping[str, Chunked]) -> None:
    """Raise the user's error for elements that tables have no numbers for."""
    for name, array in arrays.items():
        dtype = array.dtype
        if isinstance(array, ChunkedRows) or (dtype.kind in "biuf" and all(array.row)):
            continue
        said, remedy = f"elements of {dtype}", "convert it first, with astype in a jitted function"
        if not all(array.row):
            said, remedy = "rows without elements", "save another column, which has as many rows"
        raise ArgumentError(
            f"save as {how} has no {said}, which {name!r} has.",
            remedy=f"Of {name!r} {remedy}; or save it separately as .npy, which has every dtype.",
        )


def _jobs(place: Executor, cuts: Sequence[int], arrays: Sequence[Chunked]) -> Iterator[Job]:
    """What is written together, and the arguments of `_written`."""
    parts = [rows for array in arrays for rows in _parts(place, array, cuts)]
    for number, (begin, end) in enumerate(pairwise(cuts)):
        yield Job(Chunk(number, begin, end), [number, begin, *(each[number] for each in parts)])


def _parts(place: Executor, xs: Chunked, cuts: Sequence[int]) -> list[list[Rows]]:
    """The rows between two cuts each; of a Ragged those of its values, then its offsets."""
    if not isinstance(xs, ChunkedRows):
        return [[Rows.of(xs, ends) for ends in pairwise(cuts)]]
    at = [part for cut in cuts for part in xs.offsets.between(cut, cut + 1)]
    inner = [int(found[0]) for found in place.rows(at)]
    own = [Rows.of(xs.offsets, (begin, end + 1)) for begin, end in pairwise(cuts)]
    return [*(part for each in arrays_in(xs.values) for part in _parts(place, each, inner)), own]


def _written(
    path: str, sink: Sink, trees: Sequence[Tree], number: int, begin: int, *arrays: Values
) -> None:
    """Write some rows of columns, of which those of a Ragged are several arrays."""
    found = iter(arrays)
    columns = [_column(tree, [next(found) for _ in range(tree.size)]) for tree in trees]
    with told_if_full(path, sum(each.nbytes for each in arrays), REMEDY):
        sink.write(number, begin, *columns)


def _column(tree: Tree, arrays: Sequence[Values]) -> Any:
    """An array, or a Ragged, whose offsets count from its own first row."""
    if tree == LEAF:
        return arrays[0]
    offsets = offsets_in(tree)
    own = [x - x[0] if k in offsets else x[:] for k, x in enumerate(arrays)]
    return unflatten(tree, map(host_array, own))


def _format(path: str, format: str | None) -> str:
    if format is None:
        name = path.rstrip("/").lower()
        ended = (key for key, (_, ends) in FORMATS.items() if ends and name.endswith(ends))
        format = next(ended, None)
    if format not in FORMATS:
        raise ArgumentError(
            f"save does not know what to make of {path if format is None else repr(format)}.",
            remedy=f"Say format=, one of {', '.join(FORMATS)}.",
        )
    return format


def _has_files(path: str) -> bool:
    """Whether a name is taken by what would be mixed with what is written."""
    if "://" in path:
        system = filesystem(path)
        return bool(system.exists(path) and (system.isfile(path) or system.ls(path)))
    return os.path.isfile(path) or (os.path.isdir(path) and bool(os.listdir(path)))


# An array in chunks as a Dask array: its chunks are Dask's, wherever they are.


def to_dask(xs: Chunked) -> Any:
    """What is on workers stays there, what is in files is read by whoever computes."""
    try:
        import dask.array as arrays  # optional dependency
    except ImportError as failure:
        raise missing("a Dask array", "dask", failure, "cluster") from None
    blocks = [
        arrays.from_delayed(_delayed(piece), (piece.rows, *xs.row), xs.dtype) for piece in xs.pieces
    ]
    empty = arrays.from_array(np.empty((0, *xs.row), xs.dtype))
    return arrays.concatenate(blocks) if blocks else empty


def _delayed(piece: Piece) -> Any:
    """The rows of a piece, as Dask computes them later."""
    delayed = dask().delayed
    match piece:
        case Block(blocks=blocks, number=number):
            return delayed(blocks.blocks[number])
        case Held(values=values):
            return delayed(values)
        case Several(parts=parts):
            found = [delayed(_rows)(_delayed(part), *ends) for part, *ends in parts]
            return delayed(np.concatenate)(found)
        case _ if hasattr(piece, "delayed"):
            return piece.delayed(delayed)
        case _:
            return delayed(_loaded)(piece)


def _rows(values: Values, begin: int, end: int) -> Values:
    return values[begin:end]


def _loaded(piece: Piece) -> Values:
    return piece.load(0, piece.rows)
