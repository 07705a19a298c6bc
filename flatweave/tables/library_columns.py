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

Function: TypeAlias = str | Callable[..., Any]
Aggregation: TypeAlias = tuple[str | Sequence[str], Function]
"""The column, or the columns, that a function aggregates, and the function."""


def taken(column: Any) -> Any:
    """An array of the numbers of a column, Strings of its texts, a Ragged of its lists, in a
    Nullable where some are missing; memory is shared where `fw.asarray` shares it."""
    first: fw.UserError | None = None
    for take in (fw.asarray, fw.Strings, fw.Nullable, fw.ragged):
        try:
            return take(column)
        except fw.UserError as refused:
            first = first or refused
    assert first is not None
    raise first


class Accessor:
    """What `x.fw` offers for a column or a table `x` of another library."""

    def __init__(self, of: Any) -> None:
        self._of = of

    def apply(self, f: Callable[..., Any], *columns: Any) -> Any:
        """`f` of whole columns."""
        raise NotImplementedError

    def map(self, f: Callable[..., Any], *columns: Any, **options: Any) -> Any:
        """`fw.map(f, *columns)`, with the arguments and results of `apply`."""
        return self.apply(lambda *arrays: fw.map(f, *arrays), *columns, **options)


class TableAccessor(Accessor):
    """`df.fw`: subclasses say how values of ours become a column and a table of the library."""

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
        read = {name: self[name] for name in names}
        keys = tuple(read.values()) if len(names) > 1 else read[names[0]]
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
        parts = groups.keys if len(names) > 1 else (groups.keys,)
        return self._table(
            {name: found[name] for name in functions}, dict(zip(names, parts, strict=True))
        )

    def _column(self, value: Any) -> Any:
        raise NotImplementedError

    def _table(self, columns: Mapping[str, Any], keys: Mapping[str, Any] | None = None) -> Any:
        raise NotImplementedError
