"""Which row, or which source of an expansion, a position of the flat result belongs to.

    locate(ends, 4, p)     ends = [2, 5, 6, 7], p = 3   ==>   row 1, which begins at 2

A binary search whose turns are the same for every position, so that all go on together.
"""

from __future__ import annotations

from collections.abc import Callable

from flatweave.base.dtypes import i64
from flatweave.frontend import extents
from flatweave.frontend.extents import ONE, ZERO, add, known_natural, least, sub
from flatweave.frontend.scope import Scope, current, entered
from flatweave.terms.build import index
from flatweave.terms.control import For
from flatweave.terms.syntax import Atom, Lambda


def locate(end: Callable[[Atom], Atom], rows: Atom, p: Atom) -> tuple[Atom, Atom]:
    """The row of position `p`, and where that row begins; `end(i)` is where row i ends.

    Ends do not decrease, and `p` is below the last one: the row is the first one to end behind p.
    """
    turns = sub(index(64), current().apply("clz", rows))
    init = (ZERO, ZERO)
    found = current().emit(For(ZERO, turns, ONE, _turn(end, rows, p, turns), init), "s")
    known_natural(found[0])
    known_natural(found[1])
    current().trace.bounds[found[0]] = rows
    return found[0], found[1]


def _turn(end: Callable[[Atom], Atom], rows: Atom, p: Atom, turns: Atom) -> Lambda:
    """One halving: of the first rows, `row` are known to end at or before p, the last at `start`.

    The turn with number t tries 2^(turns - 1 - t) rows more.
    """

    def body(inside: Scope, t: Atom, row: Atom, start: Atom) -> list[Atom]:
        step = inside.apply("shl", ONE, sub(sub(turns, ONE), t))
        tried = add(row, step)
        last = end(sub(least(tried, rows), ONE))
        is_before = inside.apply(
            "and", inside.apply("le", tried, rows), inside.apply("le", last, p)
        )
        return [extents.select(is_before, tried, row), extents.select(is_before, last, start)]

    inside = current().inner()
    params = tuple(inside.bind(hint, i64) for hint in ("t", "row", "start"))
    with entered(inside):
        results = body(inside, *params)
    inside.closed = True
    return inside.builder.close(params, results)
