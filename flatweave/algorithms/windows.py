"""Windows of a chain of slots, of which a lane each looks at one: where the nearest prefix is.

    slot          7         8        9         10       11       12       block 12 looks from 12 on
    lane          5         4        3         2        1       0
    state         PREFIX    AGGR     PREFIX    AGGR     AGGR    AGGR
    prefixes      lanes 3 and 5; below the lowest of them no lane sees NOTHING, so all is known
"""

from __future__ import annotations

from collections.abc import Callable

from flatweave.algorithms.lanes import EMPTY, FIRST
from flatweave.algorithms.words import NOTHING, PREFIX
from flatweave.kernel_ir.arrays import Values, repeat, when
from flatweave.kernel_ir.syntax import Backoff, Lane
from flatweave.kernel_ir.warp_ops import Ballot
from flatweave.terms.build import Builder, index
from flatweave.terms.syntax import Atom

Look = Callable[[Builder, Atom], Values]
"""Looks at the window whose last slot it is given: what `tell` says of it."""


def slot_of_lane(b: Builder, first: Atom) -> Atom:
    """The slot that a lane looks at: slot 0, a prefix from the beginning, for those below it."""
    return b.apply("maximum", b.emit(Lane(first, reverse=True))[0], index(0))


def tell(b: Builder, state: Atom) -> Values:
    """Which lanes see a prefix, and which of those before the first one see nothing."""
    prefixes = b.emit(Ballot(b.apply("eq", state, PREFIX)))[0]
    nothing = b.emit(Ballot(b.apply("eq", state, NOTHING)))[0]
    below = b.apply("and", b.apply("not", prefixes), b.apply("sub", prefixes, FIRST))
    return prefixes, b.apply("and", nothing, below)


def find_prefix(b: Builder, look: Look, block: Atom, width: int) -> tuple[Atom, Atom]:
    """The last slot of the window with the nearest prefix up to slot `block`, all aggregates behind
    it known too; and which of its lanes see prefixes."""

    def goes_on(c: Builder, state: Values) -> Atom:
        _, prefixes, unknown, _ = state
        return c.apply("or", c.apply("ne", unknown, EMPTY), c.apply("eq", prefixes, EMPTY))

    def turn(c: Builder, state: Values) -> Values:
        first, _, unknown, attempt = state
        waits = c.apply("ne", unknown, EMPTY)
        when(c, waits, lambda d: _pause(d, attempt))
        here = c.apply("select", waits, first, c.sub(first, index(width)))
        again = c.apply("select", waits, c.add(attempt, index(1)), index(0))
        return (here, *look(c, here), again)

    start = (block, *look(b, block), index(0))
    first, prefixes, _, _ = repeat(b, start, goes_on, turn)
    return first, prefixes


def _pause(b: Builder, attempt: Atom) -> None:
    b.emit(Backoff(attempt))
