"""Some of the rows, by their numbers: those that take a branch, those that go on in a loop."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from flatweave.base.dtypes import i64
from flatweave.ops import Filter
from flatweave.passes.nests.arrays import each
from flatweave.passes.nests.distribute import distribute
from flatweave.passes.nests.rows import Rows
from flatweave.terms.build import Builder
from flatweave.terms.syntax import Atom, Lambda
from flatweave.terms.traverse import Substitution, free_vars

Numbers = Callable[[Builder, Atom], Atom]
"""The number of a row, given its position in a subset."""


def where(b: Builder, extent: Atom, holds: Callable[[Builder, Atom], Atom]) -> tuple[Atom, Atom]:
    """How many, and which, indices below an extent a condition holds for."""
    mask = each(b, extent, holds)
    numbers = each(b, extent, lambda inside, i: i)
    count, found = b.emit(Filter(mask, (numbers,)))
    return count, found


def over_some(
    rows: Rows, b: Builder, count: Atom, number: Numbers, fn: Lambda,
    args: Callable[[Builder, Atom, Substitution], Sequence[Atom]] = lambda inside, k, renaming: (),
) -> tuple[Rows, list[Atom]]:
    """A function inside the rows' function, for `count` of the rows, distributed in `b`.

    `number` maps a position among these to a row; `args` gives the function's arguments there.
    The function does not run for other rows.
    """
    rows.settle_checks()
    inside = b.inner()
    k = inside.param("k", i64, count)
    row = inside.unravel(number(inside, k), rows.shape)
    renaming = rows.inlined(inside, row, free_vars(fn))
    results = inside.inline(fn, args(inside, k, renaming), renaming)
    return distribute(b, (count,), inside.close([k], results), optional=True)
