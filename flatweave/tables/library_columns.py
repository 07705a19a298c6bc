"""Columns of other libraries' tables as values of ours, and groups of them.

    taken(polars.Series([1, None]))           Nullable([1, None])
    taken(pandas.Series(["a", "b"]))          Strings(["a", "b"])
    grouped(table.get, "k", {"total": ("v", "sum")})     {"k": keys}, {"total": sums}

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


def columns_of(value: Any, name: str) -> dict[str, Any]:
    """What a function gave, as columns: a dict by its keys, anything else by this name."""
    return dict(value) if isinstance(value, Mapping) else {name: value}


def grouped(
    column: Callable[[str], Any], by: str | Sequence[str], functions: Mapping[str, Aggregation]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The key columns of groups, and an aggregate of each for every function."""
    names = [by] if isinstance(by, str) else list(by)
    read = {name: column(name) for name in names}
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
        found |= fw.group_by(keys, *map(column, of)).agg(**each)
    parts = groups.keys if len(names) > 1 else (groups.keys,)
    return dict(zip(names, parts, strict=True)), {name: found[name] for name in functions}
