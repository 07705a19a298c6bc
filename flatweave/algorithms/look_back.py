"""Look back: a scan over the blocks of a grid while they run (Merrill, Garland 2016).

    slot         0       1        2        3        4          what is known of the first t blocks
    state        PREFIX  PREFIX   AGGR     AGGR     NOTHING
    aggregate            a        b        c                   of block t - 1 alone
    prefix       z       z a                                   of all of them
    block 3                                ((z a) b) c         back to the nearest prefix

Slot 0 is what the scan begins with, set by the host. A block folds the aggregates behind the
nearest prefix from left to right, so the result never depends on timing: it is always
((z fn aggregate 1) fn aggregate 2) fn ..

A slot is a word or two (`words.py`), or a place in each of several arrays (`slots.py`). Where a
warp has many lanes, they look at as many slots at once (`window.py`).

For machines on which a block may wait for an earlier one. Code of a block, outside of `for_all`: of
several warps, the first one alone.
"""

from __future__ import annotations

from collections.abc import Callable

from flatweave.algorithms.operator import Combine
from flatweave.algorithms.slots import Slots
from flatweave.algorithms.words import AGGREGATE, NOTHING, PREFIX, Words
from flatweave.base.dtypes import i64
from flatweave.kernel_ir.arrays import Values, fold
from flatweave.kernel_ir.syntax import Backoff
from flatweave.terms.build import Builder, index
from flatweave.terms.control import NO_BODY, If, While
from flatweave.terms.syntax import Atom

Before = Callable[[Builder], Values]


def look_back(b: Builder, slots: Slots | Words, block: Atom, combine: Combine) -> Values:
    """All elements of the blocks before this one, combined."""
    nearest = _nearest_prefix(b, slots, block)
    prefix = slots.prefix(b, nearest)

    def join(c: Builder, slot: Atom, before: Values) -> Values:
        return slots.join(c, slot, before, combine)

    start, stop = b.add(nearest, index(1)), b.add(block, index(1))
    return fold(b, start, stop, prefix, join, hint="t")


def go_on(
    b: Builder, slots: Slots | Words, block: Atom, aggregate: Values, combine: Combine,
    before: Before | None = None,
) -> tuple[Values, Values]:  # fmt: skip
    """Publish the block's aggregate and prefix; where its elements start and end.

    `before` is what finds all elements of the blocks before, if it is not `look_back`.
    """
    mine = b.add(block, index(1))
    slots.publish(b, mine, aggregate, AGGREGATE)
    prefix = before(b) if before else look_back(b, slots, block, combine)
    end = combine(b, prefix, aggregate)
    slots.publish(b, mine, end, PREFIX)
    return prefix, end


def _nearest_prefix(b: Builder, slots: Slots | Words, block: Atom) -> Atom:
    """The last slot up to `block` whose prefix is known, all aggregates behind it known too."""
    known = slots.state(b, block)
    test = b.inner()
    t, state, attempt = (test.param(name, i64) for name in ("t", "state", "attempt"))
    holds = test.close([t, state, attempt], [test.apply("ne", state, PREFIX)])
    turn = b.inner()
    t, state, attempt = (turn.param(name, i64) for name in ("t", "state", "attempt"))
    unknown = turn.apply("eq", state, NOTHING)
    pause = turn.inner()
    pause.emit(Backoff(attempt))
    turn.emit(If(unknown, pause.close([], []), NO_BODY))
    back = turn.apply("select", unknown, t, turn.sub(t, index(1)))
    again = turn.apply("select", unknown, turn.add(attempt, index(1)), index(0))
    body = turn.close([t, state, attempt], [back, slots.state(turn, back), again])
    return b.emit(While(holds, body, (block, known, index(0))))[0]
