"""fw.ragged of rows one by one: lists, nested as deep as wished, or a list of arrays.

    of_rows([[1, 2], [], [3]])          values [1, 2, 3], offsets [0, 2, 2, 3]
    of_rows([[[1], [2, 3]], []])        a Ragged of [[1], [2, 3]], offsets [0, 2, 2]
    of_rows([xs, ys])                   values concat([xs, ys])
"""

from __future__ import annotations

from typing import Any

import numpy as np

from flatweave.base.errors import ArgumentError
from flatweave.base.source import user_location
from flatweave.frontend.ragged.host import on_host
from flatweave.frontend.ragged.ragged import Ragged
from flatweave.frontend.values.array import Array, Tracer
from flatweave.frontend.values.interop import list_values
from flatweave.frontend.values.sugar import METHODS


def is_nested(values: Any) -> bool:
    """Whether these are rows one by one rather than the values of all."""
    return isinstance(values, list) and all(_is_row(item) for item in values)


def _is_row(item: Any) -> bool:
    return isinstance(item, list) or (isinstance(item, np.ndarray | Array) and item.ndim > 0)


def of_rows(rows: list[Any]) -> Ragged:
    """A Ragged of these rows; lists in lists are rows of rows."""
    if not all(isinstance(row, list) for row in rows):
        return _of_arrays([list_values(row) if isinstance(row, list) and row else row
                           for row in rows])  # fmt: skip
    items = [item for row in rows for item in row]
    lengths = np.array([len(row) for row in rows], np.int64)
    if items and all(_is_row(item) for item in items):
        inner = of_rows(items)
        if isinstance(inner.offsets, Tracer):
            return METHODS["ragged"](inner, lengths=lengths)  # type: ignore[no-any-return]
        return on_host(inner, lengths=lengths)
    if any(_is_row(item) for item in items):
        raise ArgumentError(
            "ragged got rows that hold numbers beside rows that hold rows.",
            where=user_location(), remedy="Nest all of them equally deep, [[[1]], [[2], [3]]].",
        )  # fmt: skip
    return on_host(list_values(items) if items else np.zeros(0), lengths=lengths)


def _of_arrays(rows: list[Any]) -> Ragged:
    """A Ragged of arrays; an empty list is an empty row."""
    arrays = [row for row in rows if not isinstance(row, list)]
    lengths = [0 if isinstance(row, list) else row.shape[0] for row in rows]
    values = METHODS["concat"](arrays)
    if any(isinstance(length, Tracer) for length in lengths):
        lengths = METHODS["concat"]([METHODS["reshape"](length, 1) for length in lengths])
    return METHODS["ragged"](values, lengths=lengths)  # type: ignore[no-any-return]
