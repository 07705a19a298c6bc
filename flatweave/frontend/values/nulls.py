"""What is missing in the columns and tables of pandas, polars and Arrow, which is no number.

    nulls_in(polars.Series([1, None]))       1
    nulls_in(pandas.Series([1, None]))       0: its elements are floats, and one of them is NaN
    filled(polars.Series([1, None]))         [1.0, nan]
    parted(polars.Series([1, None]))         [1, ?], [False, True]

These libraries keep beside a column where nothing is, and make it NaN, or an object, without a word
when NumPy asks for the values. They are known by what they offer, not by name: `null_count` (Arrow,
polars) or `isna` together with a dtype that is not NumPy's (pandas).
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from flatweave.frontend.values.arrow import column_behind, is_arrow, numbers_of

Values = np.ndarray[Any, np.dtype[Any]]


def nulls_in(value: Any) -> int:
    """How many elements of another library's column or table are missing."""
    if is_masked(value):
        return int(np.sum(value.mask))
    if not hasattr(value, "__array__") and is_arrow(value):
        missing = numbers_of(value, "the value of asarray")[1]
        return 0 if missing is None else int(missing.sum())
    if hasattr(value, "isna"):
        return _nulls_of_pandas(value)
    if hasattr(value, "itercolumns"):  # a table of Arrow
        return sum(nulls_in(column) for column in value.itercolumns())
    count = getattr(value, "null_count", 0)  # of a table of polars, one number for each column
    return int(np.sum(np.asarray(count() if callable(count) else count)))


def _nulls_of_pandas(value: Any) -> int:
    if hasattr(value, "columns"):
        return sum(nulls_in(column) for _, column in value.items())
    dtype = getattr(value, "dtype", None)
    if isinstance(dtype, np.dtype) or isinstance(getattr(dtype, "na_value", None), float):
        return 0  # NaN is the only sign for what is missing, and a number like any other
    return int(np.sum(np.asarray(value.isna())))


def filled(value: Any) -> Values:
    """The values with NaN for what is missing; ValueError or TypeError for what are no numbers."""
    if is_masked(value):
        floats = value if value.dtype.kind == "f" else value.astype(np.float64)
        return np.asarray(floats.filled(np.nan))
    if not hasattr(value, "__array__"):
        values, missing = numbers_of(value, "the value of asarray")
        return values if missing is None else np.where(missing, np.nan, values)
    found = np.asarray(value)
    if found.dtype.kind != "O":
        return found
    if hasattr(value, "isna"):
        return np.asarray(value.to_numpy(dtype=np.float64, na_value=np.nan))
    return found.astype(np.float64)


def parted(value: Any) -> tuple[Values, Values | None]:
    """The values, with anything for what is missing, and where it is; None where all are there.

    Raises TypeError for what does not say which numbers it holds.
    """
    if is_masked(value):
        return value.data, np.ma.getmaskarray(value)
    column = column_behind(value)
    if column is not None:
        return numbers_of(column, "the value of asarray")
    dtype: Any = getattr(value, "dtype", None)
    if hasattr(value, "isna"):
        if not hasattr(dtype, "numpy_dtype"):
            raise TypeError("its columns are no numbers, or several")
        found = value.to_numpy(dtype=dtype.numpy_dtype, na_value=dtype.numpy_dtype.type(0))
        return np.asarray(found), np.asarray(value.isna())
    return numbers_of(value, "the value of asarray")


def is_masked(value: Any) -> bool:
    """Whether an array is masked; numpy.ma is slow to load, and without it there is none."""
    masked = sys.modules.get("numpy.ma")
    cls = getattr(masked, "MaskedArray", None)  # also none while another thread loads the module
    return cls is not None and isinstance(value, cls)
