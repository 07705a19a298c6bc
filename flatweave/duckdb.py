"""Functions of Flatweave in SQL of DuckDB, through Arrow.

    register(con, "area", f, ["DOUBLE", "DOUBLE"], "DOUBLE")
    con.sql("SELECT area(width, height) FROM boards")       f of a block of rows at a time
    columns(con.sql("SELECT * FROM boards"))                {"width": Array, "height": Array}
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from inspect import Parameter, Signature
from typing import Any

import flatweave as fw
from flatweave.frontend.values.array import kind_of
from flatweave.library_columns import installed, taken

with installed(__name__):
    import duckdb
    import pyarrow


def register(
    connection: Any, name: str, f: Callable[..., Any], parameters: Sequence[Any], result: Any,
    *, elements: bool = True,
) -> None:  # fmt: skip
    """Let SQL call `f` by this name: `f` of the elements of its arguments, as `fw.map` calls it, or
    of whole columns unless `elements`.

    `parameters` and `result` are types of DuckDB or their names. DuckDB calls it for some thousand
    rows at a time, so each result must depend on its row alone. NULL is a missing value.
    """
    if not callable(f):
        raise fw.ArgumentError.here(
            f"register needs a function, got {kind_of(f)}.",
            'Give a name, then the function: register(con, "area", f, ["DOUBLE"], "DOUBLE").',
        )
    types = [duckdb.type(each) if isinstance(each, str) else each for each in parameters]

    def call(*columns: Any) -> Any:
        arrays = [taken(x, f"argument {k} of {name}") for k, x in enumerate(columns, start=1)]
        return pyarrow.array(fw.map(f, *arrays) if elements else f(*arrays))

    names = [Parameter(f"x{k}", Parameter.POSITIONAL_ONLY) for k in range(len(types))]
    call.__signature__ = Signature(names)  # type: ignore[attr-defined]  # DuckDB counts them
    connection.create_function(
        name, call, types, result, type="arrow", null_handling="special"
    )  # fmt: skip


def columns(relation: Any) -> dict[str, Any]:
    """The columns of what a query gives, by their names."""
    if not hasattr(relation, "__arrow_c_stream__"):
        raise fw.ArgumentError.here(
            f"columns needs what a query gives, got {kind_of(relation)}.",
            'Give a relation: columns(con.sql("SELECT ..")).',
        )
    table = pyarrow.table(relation)
    return {
        name: taken(table[name].combine_chunks(), f"column {name!r}") for name in table.column_names
    }
