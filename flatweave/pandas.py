"""The accessor `df.fw` of pandas: `import flatweave.pandas` registers it.

    df.fw["price"]                                    the column as an array of Flatweave
    df.fw.map(lambda price, n: price * n, "price", "n")     a Series with the index of df
    df.fw.group_by("article", total=("price", "sum"))       a DataFrame, the keys as its index
    series.fw.apply(fw.softmax)                       a function of the whole column
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pandas as pd

import flatweave as fw
from flatweave.tables.library_columns import Aggregation, columns_of, grouped, taken


def given(value: Any) -> Any:
    """A value of ours as an array of pandas: numbers as NumPy has them, others as Arrow has."""
    if isinstance(value, fw.Array):
        return value.to_numpy()
    import pyarrow  # optional dependency

    return pd.arrays.ArrowExtensionArray(pyarrow.array(value))


@pd.api.extensions.register_series_accessor("fw")
class SeriesAccessor:
    """`series.fw`"""

    def __init__(self, series: Any) -> None:
        self._series = series

    @property
    def array(self) -> Any:
        """The elements: an Array, Strings, a Nullable or a Ragged; numbers are not copied."""
        return taken(self._series)

    def map(self, f: Callable[..., Any]) -> Any:
        """`fw.map(f, elements)`, with the index of the Series."""
        return self._like(fw.map(f, self.array))

    def apply(self, f: Callable[..., Any]) -> Any:
        """`f` of all elements, which gives as many, with the index of the Series."""
        return self._like(f(self.array))

    def _like(self, value: Any) -> Any:
        return pd.Series(given(value), self._series.index, name=self._series.name)


@pd.api.extensions.register_dataframe_accessor("fw")
class FrameAccessor:
    """`df.fw`"""

    def __init__(self, frame: Any) -> None:
        self._frame = frame

    def __getitem__(self, name: str) -> Any:
        return taken(self._frame[name])

    def arrays(self, *names: str) -> dict[str, Any]:
        """The columns of these names, or all of them, as values of Flatweave."""
        return {name: self[name] for name in names or self._frame.columns}

    def map(self, f: Callable[..., Any], *names: str) -> Any:
        """`fw.map(f, *columns)`: a Series, or a DataFrame where `f` gives a dict."""
        return self._like(fw.map(f, *self._columns(names)))

    def apply(self, f: Callable[..., Any], *names: str) -> Any:
        """`f` of whole columns: a Series, or a DataFrame where `f` gives a dict of columns."""
        return self._like(f(*self._columns(names)))

    def group_by(self, by: str | Sequence[str], **functions: Aggregation) -> Any:
        """A row for each group, with its keys as the index, as `DataFrame.groupby(by).agg(..)`.

        `name=(column, f)`: `f` gets a row of the column's values, or of those of a tuple of
        columns, or is a name that `Groups.agg` knows. Missing keys are a group, too.
        """
        keys, found = grouped(self.__getitem__, by, functions)
        arrays = [pd.Index(given(key), name=name) for name, key in keys.items()]
        index = arrays[0] if len(arrays) == 1 else pd.MultiIndex.from_arrays(arrays)
        return pd.DataFrame({name: given(x) for name, x in found.items()}, index)

    def _columns(self, names: Iterable[str]) -> Iterable[Any]:
        return self.arrays(*names).values()

    def _like(self, value: Any) -> Any:
        columns = {name: given(x) for name, x in columns_of(value, "").items()}
        found = pd.DataFrame(columns, self._frame.index)
        return found if isinstance(value, dict) else found[""].rename(None)
