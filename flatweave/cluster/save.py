"""Chunked.save: an array in chunks becomes files, each chunk written by the process that has it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from typing import Any

from flatweave.base.errors import ArgumentError, UserError
from flatweave.base.source import user_location
from flatweave.cluster.here import here
from flatweave.cluster.place import Chunk, Job, Rows
from flatweave.cluster.sinks.npy import bytes_file, npy_file
from flatweave.cluster.sinks.sink import Columns, Sink
from flatweave.cluster.sinks.tables import arrow_folder, parquet_folder
from flatweave.cluster.sinks.zarr import zarr_arrays
from flatweave.cluster.sources.paths import filesystem
from flatweave.frontend.call.on import PLACE
from flatweave.frontend.values.chunked import Chunked

FORMATS: dict[str, tuple[Callable[[str, Columns], Sink], tuple[str, ...]]] = {
    "npy": (npy_file, (".npy",)),
    "parquet": (parquet_folder, (".parquet", ".pq")),
    "arrow": (arrow_folder, (".arrow", ".feather", ".ipc")),
    "zarr": (zarr_arrays, (".zarr",)),
    "bytes": (bytes_file, ()),
}
TABLES = ("parquet", "arrow")
VALUES = "values"
"""The column of a table of one array that nobody named."""


def save(
    xs: Chunked, path: Any, format: str | None, column: str | None, beside: Mapping[str, Chunked]
) -> None:
    """Write an array, and those beside it; raises the user's error."""
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
    arrays = {(column or VALUES) if named else "": xs, **beside}
    for name, array in beside.items():
        if len(array) != len(xs):
            raise ArgumentError(
                f"{name!r} has {len(array)} rows beside {len(xs)}.",
                remedy="A table's columns have as many rows: save others by themselves.",
            )
    path = path if "://" in path else os.path.abspath(path)
    if how not in ("npy", "bytes") and _has_files(path):
        raise ArgumentError(
            f"{path} is there already, and has files in it.",
            remedy="Remove it first, or give another name.",
        )
    kinds = {name: (array.dtype, array.row) for name, array in arrays.items()}
    ends = [end for begin, end in pairwise(xs.bounds) if begin < end]
    sink = FORMATS[how][0](path, Columns(kinds, ends))
    place = PLACE.get() or here()
    place.done(sink.write, list(_rows(sink, list(arrays.values()))))
    sink.finish()


def _rows(sink: Sink, arrays: list[Chunked]) -> Iterator[Job]:
    """What is written together, and the arguments of `Sink.write`."""
    for number, (begin, end) in enumerate(pairwise([0, *(sink.ends or [0])])):
        rows = [Rows.of(array, (begin, end)) for array in arrays]
        yield Job(Chunk(number, begin, end), [number, begin, *rows])


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
