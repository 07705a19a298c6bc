"""Chunked.open: which files, what of them, and where they are cut."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from flatweave.base import pretty
from flatweave.base.errors import ArgumentError, UserError
from flatweave.base.source import user_location
from flatweave.cluster.sources.arrow_columns import Lists, in_chunks
from flatweave.cluster.sources.files import Opened, Region, Stored, is_folder, names_of
from flatweave.cluster.sources.formats import (
    opened_bytes,
    opened_ipc,
    opened_npy,
    opened_parquet,
    opened_text,
    opened_zarr,
)
from flatweave.frontend.values.chunked import ROWS_BYTES, Chunked

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
