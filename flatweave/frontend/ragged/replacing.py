"""A Ragged with another row in the place of one.

    replace(rows, i, row)      concat([rows[:i], ragged([row]), rows[i + 1:]])
"""

from __future__ import annotations

from typing import Any

import numpy as np

from flatweave.base.errors import ArgumentError
from flatweave.base.source import user_location
from flatweave.frontend.arrays.reading import element
from flatweave.frontend.elements.broadcast import generated
from flatweave.frontend.elements.conversion import taken
from flatweave.frontend.elements.lambdas import shape_text
from flatweave.frontend.ragged.concat import concat_rows
from flatweave.frontend.ragged.ragged import Ragged, row_count
from flatweave.frontend.ragged.selection import chosen
from flatweave.frontend.trace import extents
from flatweave.frontend.trace.extents import ZERO
from flatweave.frontend.trace.tracers import as_tracer, as_tracers, extent_of, tracer_of
from flatweave.frontend.values.array import Array
from flatweave.frontend.values.operators import METHODS
from flatweave.frontend.values.tree import unflatten
from flatweave.terms.syntax import Atom


def with_row(rows: Ragged, key: Any, row: Any) -> Ragged:
    """The rows, one of which is another, of any length."""
    if isinstance(key, slice | tuple | list) or (isinstance(key, Array) and key.ndim):
        raise ArgumentError(
            "replace changes one row of a Ragged at a time.",
            where=user_location(),
            remedy="Put rows together with fw.concat([rows[:i], others, rows[j:]]).",
        )
    count = row_count(as_tracer(rows.offsets))
    numbers = generated((count,), tracer_of)[0]
    number = element(numbers, [extent_of(key, "the number of a row")])
    extents.known_natural(number.atom)
    before, behind = chosen(rows, slice(None, number)), chosen(rows, slice(number + 1, None))
    return concat_rows([before, _one(row, rows), behind], 0)


def _one(row: Any, rows: Ragged) -> Ragged:
    """A Ragged of one row, of the dtypes of others."""
    if isinstance(row, Ragged):
        length: Atom = row_count(as_tracer(row.offsets))
    else:
        wanted, own = as_tracers(rows.values, "the rows of replace")
        if type(row) is list and not row and len(wanted) == 1:
            row = np.zeros(0, wanted[0].dtype)
        leaves, tree = as_tracers(row, "the row of replace")
        if tree != own:
            raise ArgumentError(
                f"replace needs a row of the structure {shape_text(own, wanted)}, got"
                f" {shape_text(tree, leaves)}.",
                where=user_location(), remedy="Give it the structure of the other rows.",
            )  # fmt: skip
        pairs = zip(leaves, wanted, strict=True)
        row = unflatten(tree, [taken(mine, x.element, "the row of replace") for mine, x in pairs])
        length = extents.same_length(leaves, "a row", ["values"] * len(leaves))
    ends = METHODS["stack"]([tracer_of(ZERO), tracer_of(length)])
    return Ragged.made(row, as_tracer(ends))
