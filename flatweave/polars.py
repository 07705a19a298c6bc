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

from collections.abc import Callable, Mapping
from typing import Any

import flatweave as fw
from flatweave.frontend.values.array import kind_of
from flatweave.library_columns import Accessor, TableAccessor, installed, taken

with installed(__name__):
    import polars as pl


def given(value: Any, name: str = "") -> pl.Series:
    """A value of ours as a Series."""
    found = pl.Series(value.to_numpy() if isinstance(value, fw.Array) else value)
    return found.alias(name)


@pl.api.register_expr_namespace("fw")
class ExprNamespace(Accessor):
    """`expr.fw`"""

    def apply(self, f: Callable[..., Any], return_dtype: Any = None) -> pl.Expr:
        """`f` of all elements, which gives as many; the fields of a struct are arguments."""

        def call(series: pl.Series) -> pl.Series:
            is_struct = isinstance(series.dtype, pl.Struct)
            columns = series.struct.unnest().get_columns() if is_struct else [series]
            return given(f(*map(taken, columns)), series.name)

        return self._of.map_batches(call, return_dtype)


@pl.api.register_dataframe_namespace("fw")
class FrameNamespace(TableAccessor):
    """`df.fw`"""

    def _column(self, value: Any) -> pl.Series:
        return given(value)

    def _table(
        self, columns: Mapping[str, Any], keys: Mapping[str, Any] | None = None
    ) -> pl.DataFrame:
        named = [*(keys or {}).items(), *columns.items()]
        return pl.DataFrame([given(value, name) for name, value in named])


@pl.api.register_lazyframe_namespace("fw")
class LazyNamespace(Accessor):
    """`lazy.fw`"""

    def apply(self, f: Callable[[dict[str, Any]], Any], schema: Any = None) -> pl.LazyFrame:
        """`f` of a dict of all columns, which gives a dict of columns; `schema` is theirs."""

        def call(frame: pl.DataFrame) -> pl.DataFrame:
            found = f(FrameNamespace(frame).arrays())
            if not isinstance(found, Mapping):
                raise fw.ArgumentError.here(
                    f"apply of a lazy frame needs a dict of columns, and f gives"
                    f" {kind_of(found)}.",
                    'Give each column a name: return {"y": y}.',
                )
            return pl.DataFrame({name: given(x) for name, x in found.items()})

        return self._of.map_batches(call, schema=schema)
