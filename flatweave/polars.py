"""The namespace `fw` of polars: `import flatweave.polars` registers it.

    df.fw["price"]                                    the column as an array of Flatweave
    df.fw.group_by("article", total=("price", "sum"))       a DataFrame of keys and totals
    pl.col("price").fw.map(lambda x: x * x)           in expressions
    pl.struct("price", "n").fw.apply(f)               f(price, n), of whole columns
    lazy.fw.apply(f, schema={"total": pl.Float64})    f of a dict of columns gives another dict

Columns go through Arrow's interface. An expression is called with what polars has of a column at
once, which may be a part of it in streams.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import polars as pl

import flatweave as fw
from flatweave.tables.library_columns import Aggregation, columns_of, grouped, taken


def given(value: Any, name: str = "") -> pl.Series:
    """A value of ours as a Series."""
    found = pl.Series(value.to_numpy() if isinstance(value, fw.Array) else value)
    return found.alias(name)


@pl.api.register_expr_namespace("fw")
class ExprNamespace:
    """`expr.fw`"""

    def __init__(self, expr: pl.Expr) -> None:
        self._expr = expr

    def map(self, f: Callable[..., Any], return_dtype: Any = None) -> pl.Expr:
        """`fw.map(f, elements)`; the fields of a struct are arguments."""
        return self.apply(lambda *columns: fw.map(f, *columns), return_dtype)

    def apply(self, f: Callable[..., Any], return_dtype: Any = None) -> pl.Expr:
        """`f` of all elements, which gives as many; the fields of a struct are arguments."""

        def call(series: pl.Series) -> pl.Series:
            is_struct = isinstance(series.dtype, pl.Struct)
            columns = series.struct.unnest().get_columns() if is_struct else [series]
            return given(f(*map(taken, columns)), series.name)

        return self._expr.map_batches(call, return_dtype)


@pl.api.register_dataframe_namespace("fw")
class FrameNamespace:
    """`df.fw`"""

    def __init__(self, frame: pl.DataFrame) -> None:
        self._frame = frame

    def __getitem__(self, name: str) -> Any:
        return taken(self._frame[name])

    def arrays(self, *names: str) -> dict[str, Any]:
        """The columns of these names, or all of them, as values of Flatweave."""
        return {name: self[name] for name in names or self._frame.columns}

    def map(self, f: Callable[..., Any], *names: str) -> Any:
        """`fw.map(f, *columns)`: a Series, or a DataFrame where `f` gives a dict."""
        return _like(fw.map(f, *self._columns(names)))

    def apply(self, f: Callable[..., Any], *names: str) -> Any:
        """`f` of whole columns: a Series, or a DataFrame where `f` gives a dict of columns."""
        return _like(f(*self._columns(names)))

    def group_by(self, by: str | Sequence[str], **functions: Aggregation) -> pl.DataFrame:
        """A row for each group, in the order of the keys: `name=(column, f)`, where `f` gets a row
        of the column's values, or of those of a tuple of columns, or is a name that `Groups.agg`
        knows."""
        keys, found = grouped(self.__getitem__, by, functions)
        return pl.DataFrame([given(x, name) for name, x in (keys | found).items()])

    def _columns(self, names: Iterable[str]) -> Iterable[Any]:
        return self.arrays(*names).values()


@pl.api.register_lazyframe_namespace("fw")
class LazyNamespace:
    """`lazy.fw`"""

    def __init__(self, frame: pl.LazyFrame) -> None:
        self._frame = frame

    def apply(self, f: Callable[[dict[str, Any]], Any], schema: Any = None) -> pl.LazyFrame:
        """`f` of a dict of all columns, which gives a dict of columns; `schema` is theirs."""

        def call(frame: pl.DataFrame) -> pl.DataFrame:
            found = f({name: taken(frame[name]) for name in frame.columns})
            return pl.DataFrame([given(x, name) for name, x in columns_of(found, "").items()])

        return self._frame.map_batches(call, schema=schema)


def _like(value: Any) -> Any:
    if not isinstance(value, Mapping):
        return given(value)
    return pl.DataFrame([given(x, name) for name, x in value.items()])
