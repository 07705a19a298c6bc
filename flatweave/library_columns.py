"""Columns of other libraries' tables as values of ours, and what `x.fw` offers for them.

    taken(polars.Series([1, None]))           Nullable([1, None])
    taken(pandas.Series(["a", "b"]))          Strings(["a", "b"])
    TableAccessor(df).group_by("k", total=("v", "sum"))     a table of keys and totals

The modules `flatweave.pandas`, `flatweave.polars`, `flatweave.duckdb` and `flatweave.awkward` are
written on this and on public names.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import flatweave as fw
from flatweave.arrow_values import of_arrow, of_times
from flatweave.frontend.values.arrow_columns import column_behind, is_arrow
from flatweave.frontend.values.datetimes import is_times

Function: TypeAlias = str | Callable[..., Any]
Aggregation: TypeAlias = tuple[str | Sequence[str], Function]
"""The column, or the columns, that a function aggregates, and the function."""


def taken(column: Any) -> Any:
    """An array of the numbers of a column, Strings of its texts, Times, a Ragged of its lists, a
    dict of the fields of its structs, in a Nullable where some are missing. Memory is shared where
    `fw.asarray` shares it."""
    refusals = list[fw.UserError]()
    is_pandas = hasattr(column, "isna")
    arrow = column_behind(column) if is_pandas else column if is_arrow(column) else None
    readers = (of_arrow,) if arrow is not None else (fw.Strings, fw.Nullable, fw.ragged)
    for take in (fw.asarray, *readers):
        try:
            found = take(column if arrow is None or take is fw.asarray else arrow)
        except fw.UserError as refused:
            refusals.append(refused)
        else:
            is_time = isinstance(found, fw.Nullable) and is_times(found.values)
            return of_times(found.values, ~found.valid.to_numpy()) if is_time else found
    raise refusals[-1 if arrow is not None else 0]


class Accessor:
    """What `x.fw` offers for a column or a table `x` of another library; `apply(f, *columns)` calls
    `f` with whole columns."""

    apply: Callable[..., Any]

    def __init__(self, of: Any) -> None:
        self._of = of

    def map(self, f: Callable[..., Any], *columns: Any, **options: Any) -> Any:
        """`fw.map(f, *columns)`, with the arguments and results of `apply`."""
        return self.apply(lambda *arrays: fw.map(f, *arrays), *columns, **options)


class TableAccessor(Accessor):
    """`df.fw`: subclasses say how a value of ours becomes a column, and how a dict of values, and
    perhaps one of keys, a table."""

    _column: Callable[[Any], Any]
    _table: Callable[..., Any]

    def __getitem__(self, name: str) -> Any:
        return taken(self._of[name])

    def arrays(self, *names: str) -> dict[str, Any]:
        """The columns of these names, or all of them, as values of Flatweave."""
        return {name: self[name] for name in names or self._of.columns}

    def apply(self, f: Callable[..., Any], *names: str) -> Any:
        """`f` of whole columns: a Series, or a DataFrame where `f` gives a dict of columns."""
        found = f(*self.arrays(*names).values())
        return self._table(found) if isinstance(found, Mapping) else self._column(found)

    def group_by(self, by: str | Sequence[str], **functions: Aggregation) -> Any:
        """A DataFrame with a row for each group, in the order of the keys, which are the index in
        pandas and columns in polars.

        `name=(column, f)`: `f` gets a row of the column's values, or of those of a tuple of
        columns, or is a name that `Groups.agg` knows. Missing keys are a group, too.
        """
        names = [by] if isinstance(by, str) else list(by)
        keys = tuple(map(self.__getitem__, names))
        together: dict[tuple[str, ...], dict[str, Function]] = {}
        for name, given in functions.items():
            if not isinstance(given, tuple) or len(given) != 2:
                raise fw.ArgumentError.here(
                    f"group_by got {given!r} for {name}.",
                    'Give a column and a function: total=("price", "sum").',
                )
            of = (given[0],) if isinstance(given[0], str) else tuple(given[0])
            together.setdefault(of, {})[name] = given[1]
        groups, found = fw.group_by(keys), dict[str, Any]()
        for of, each in together.items():
            found |= fw.group_by(keys, *map(self.__getitem__, of)).agg(**each)
        columns = {name: found[name] for name in functions}
        return self._table(columns, dict(zip(names, groups.keys, strict=True)))
