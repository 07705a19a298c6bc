"""Columns of numbers of Arrow's tables: what Parquet and Arrow's own files have in common."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from flatweave.base.errors import ArgumentError
from flatweave.cluster.sources.paths import missing, opened
from flatweave.frontend.values.arrow import numbers_of
from flatweave.frontend.values.chunked import Values


def pyarrow(what: str) -> Any:
    """The library, with its Parquet part; raises Unsupported where it is not."""
    try:
        import pyarrow.parquet  # optional dependency
    except ImportError as failure:
        raise missing(what, "pyarrow", failure) from None
    return pyarrow


def bytes_of(name: str) -> Any:
    """A file as pyarrow reads it; the caller closes it."""
    pa = pyarrow(name)
    return pa.PythonFile(opened(name), mode="r") if "://" in name else pa.OSFile(name)


def kinds(schema: Any, name: str) -> dict[str, Any]:
    """What each column holds: its dtype and the shape of a row, or the error that it is."""
    return {field.name: _Kind(field, name) for field in schema}


class _Kind:
    """A column's dtype and shape, found when somebody wants it: others may hold anything."""

    def __init__(self, field: Any, name: str) -> None:
        self._field = field
        self._name = name

    def __iter__(self) -> Any:
        empty = pyarrow(self._name).array([], self._field.type)
        values = values_of(empty, self._field.name, self._name)
        return iter((values.dtype, values.shape[1:]))


def values_of(column: Any, name: str, path: str) -> Values:
    """The numbers of a column, times as counts of their unit; raises ArgumentError for nulls."""
    pa = pyarrow(path)
    type_ = column.type
    if pa.types.is_temporal(type_) and not pa.types.is_interval(type_):
        column = column.cast(pa.int32() if type_.bit_width == 32 else pa.int64())
    called = f"column {name!r} of {path}"
    values, absent = numbers_of(column, called)
    if absent is not None:
        raise ArgumentError(
            f"{called} holds {int(np.count_nonzero(absent))} nulls among {len(values)} rows, which"
            " no number stands for.",
            remedy="Fill them when the file is written, for instance with NaN.",
        )
    return values


def columns_of(table: Any, columns: Sequence[str], path: str) -> list[Values]:
    """Some columns of a table."""
    return [values_of(table.column(name), name, path) for name in columns]


def ends_of(lengths: Iterable[int]) -> tuple[int, ...]:
    """Where parts of so many rows end."""
    return tuple(int(end) for end in np.cumsum([*lengths], dtype=np.int64))


def reached(ends: Sequence[int], begin: int, end: int) -> tuple[range, int]:
    """The parts that have some rows, and the first row of these parts."""
    first = int(np.searchsorted(ends, begin, "right"))
    last = int(np.searchsorted(ends, end, "left")) + 1 if begin < end else first
    return range(first, min(last, len(ends))), ends[first - 1] if first else 0
