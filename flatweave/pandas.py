"""The accessor `df.fw` of pandas: `import flatweave.pandas` registers it.

    df.fw["price"]                                    the column as an array of Flatweave
    df.fw.map(lambda price, n: price * n, "price", "n")     a Series with the index of df
    df.fw.group_by("article", total=("price", "sum"))       a DataFrame, the keys as its index
    series.fw.apply(fw.softmax)                       a function of the whole column
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import flatweave as fw
from flatweave.base import pretty
from flatweave.frontend.values.datetimes import Times
from flatweave.library_columns import Accessor, TableAccessor, installed, taken

with installed(__name__):
    import pandas as pd


def indexed(value: Any, index: pd.Index, name: Any = None) -> pd.Series:
    """A value of ours as a Series with an index of as many elements; a number for each of them."""
    found = given(value)
    count = len(found) if getattr(found, "ndim", 1) else len(index)
    if count != len(index):
        raise fw.ArgumentError.here(
            f"the result has {pretty.counted(count, 'element')}, and its index would have"
            f" {len(index)}: that of the data.",
            'Call the function of the column itself: f(df.fw["x"]), f(series.fw.array).',
        )
    return pd.Series(found, index, name=name)


def given(value: Any) -> Any:
    """A value of ours as an array of pandas: numbers and times as NumPy has them, others as Arrow
    has."""
    if isinstance(value, fw.Array | Times):
        return value.to_numpy()
    if isinstance(value, pd.Series):
        return value.array
    with installed(__name__):
        import pyarrow  # optional dependency

    return pd.arrays.ArrowExtensionArray(pyarrow.array(value))


@pd.api.extensions.register_series_accessor("fw")
class SeriesAccessor(Accessor):
    """`series.fw`; results have the index of the Series."""

    @property
    def array(self) -> Any:
        """The elements: an Array, Strings, a Nullable or a Ragged; numbers are not copied."""
        return taken(self._of)

    def apply(self, f: Callable[..., Any]) -> pd.Series:
        """`f` of all elements, which gives as many."""
        return indexed(f(self.array), self._of.index, self._of.name)


@pd.api.extensions.register_dataframe_accessor("fw")
class FrameAccessor(TableAccessor):
    """`df.fw`; results have the index of the DataFrame, groups their keys."""

    def _column(self, value: Any) -> pd.Series:
        return indexed(value, self._of.index)

    def _table(
        self, columns: Mapping[str, Any], keys: Mapping[str, Any] | None = None
    ) -> pd.DataFrame:
        index = self._of.index
        if keys is not None:
            levels = [pd.Index(given(key), name=name) for name, key in keys.items()]
            index = levels[0] if len(levels) == 1 else pd.MultiIndex.from_arrays(levels)
        return pd.DataFrame({name: indexed(x, index) for name, x in columns.items()}, index)
