"""What says by itself where its rows are: lists of rows, matrices, other libraries' columns.

    rows_given([[1, 2], []], None)            rows one by one (nested.py)
    rows_given(np.ones((2, 3)), None)         two rows of three elements
    rows_given(pyarrow.array([[1], []]), ..)  a column of lists (arrow.py, awkward.py)
    rows_given(scipy.sparse.eye_array(3), ..) rows of pairs: a number and its column
    rows_given(np.ones(6), None)              None: flat values
"""

from __future__ import annotations

from collections.abc import Iterator, Set
from typing import Any

import numpy as np

from flatweave.base.errors import ArgumentError
from flatweave.base.source import user_location
from flatweave.frontend.ragged.arrow import of_arrow
from flatweave.frontend.ragged.awkward import is_awkward, of_awkward
from flatweave.frontend.ragged.host import on_host
from flatweave.frontend.ragged.nested import kinds_of, of_matrix, of_rows, retyped
from flatweave.frontend.ragged.ragged import Ragged
from flatweave.frontend.values.array import Array, kind_of
from flatweave.frontend.values.arrow_columns import is_arrow
from flatweave.frontend.values.asarray import is_compressed, is_sparse, no_array


def rows_given(values: Any, dtype: Any) -> Ragged | None:
    """The Ragged that values are without offsets; None for an array or a tree of arrays."""
    if isinstance(values, Ragged):
        return retyped(values, dtype)
    if isinstance(values, list):
        return None if values and kinds_of(values).keys() == {"number"} else of_rows(values, dtype)
    if isinstance(values, np.ndarray) and values.dtype == object and values.ndim == 1:
        return of_rows(list(values), dtype)
    if isinstance(values, np.ndarray | Array):
        return retyped(of_matrix(values), dtype) if values.ndim > 1 else None
    found = _foreign(values)
    if found is not None:
        return retyped(found, dtype)
    if isinstance(values, Iterator | Set):
        raise ArgumentError(
            f"ragged got {kind_of(values)}, which has no order or can be read once only.",
            where=user_location(), remedy="Make a list of rows first: fw.ragged(list(rows)).",
        )  # fmt: skip
    return None


def _foreign(values: Any) -> Ragged | None:
    """The rows of another library's column of lists."""
    if is_awkward(values):
        return of_awkward(values)
    if hasattr(values, "iloc"):  # pandas
        column: Any = getattr(values, "array", None)
        if getattr(values, "dtype", None) == np.dtype(object):
            return of_rows(list(column))
        if hasattr(column, "__arrow_array__"):
            return of_arrow(column.__arrow_array__())
    if is_compressed(values):
        return on_host((values.data, values.indices), offsets=values.indptr)
    if is_sparse(values):
        raise no_array(values)
    return of_arrow(values) if is_arrow(values) else None
