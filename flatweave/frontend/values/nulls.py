"""What is missing in the columns and tables of pandas, polars and Arrow, which is no number.

    nulls_in(polars.Series([1, None]))       1
    nulls_in(pandas.Series([1, None]))       0: its elements are floats, and one of them is NaN
    filled(polars.Series([1, None]))         [1.0, nan]

These libraries keep beside a column where nothing is, and make it NaN, or an object, without a word
when NumPy asks for the values. They are known by what they offer, not by name: `null_count` (Arrow,
polars) or `isna` together with a dtype that is not NumPy's (pandas).
"""

from __future__ import annotations

from typing import Any

import numpy as np

Values = np.ndarray[Any, np.dtype[Any]]


def nulls_in(value: Any) -> int:
    """How many elements of another library's column or table are missing."""
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
    found = np.asarray(value)
    if found.dtype.kind != "O":
        return found
    if hasattr(value, "isna"):
        return np.asarray(value.to_numpy(dtype=np.float64, na_value=np.nan))
    return found.astype(np.float64)
