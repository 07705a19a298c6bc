"""Long folds go by blocks, so that rounding errors of sums do not grow with their length.

    end = lo + (hi - lo) // 64 * 64
    total = neutral
    for q in lo, lo + 64, .. < end:
        block = neutral
        for k in q, q + 1, .. < q + 64:     block = step block k
        total = fn total block
    for k in end, end + 1, .. < hi:         total = step total k

Blocks are grouped the same way: 64 make a block of blocks, and 64 of these a block of the third
kind. A sequential sum of n floats is wrong by up to n roundings. Here no element takes part in
more than 4 * 64 + n / 2^18 additions, each of which all lanes of a loop do at once. This is for
every operator that adds floats; the others have no such error, or one that no grouping changes, as
products have.

Folds of less than 64 iterations are the last loop alone. As this and the blocks are short, they run
without a look at whether the call is cancelled.

The step stands twice in that code, and a fold in it four times, one in that eight times. So a step
that loops itself is written once, in a nest of loops whose last blocks are shorter and go on from
the total before them:

    for q in lo, lo + 64, .. < hi:
        whole = q + 64 <= hi
        found = neutral if whole else total
        for k in q, q + 1, .. < min(q + 64, hi):     found = step found k
        total = fn total found if whole else found
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from flatweave.base.dtypes import DType
from flatweave.terms.build import FALSE, Builder, index
from flatweave.terms.control import Apply, For, If, While
from flatweave.terms.syntax import Atom, Const, Lambda
from flatweave.terms.traverse import walk_lets

BLOCK = 64
"""Iterations of a block, blocks of a block of blocks, and so on."""
LEVELS = 3
"""How often blocks make a larger one."""
Join = Callable[[Builder, Sequence[Atom]], Sequence[Atom]]
"""What emits the operator on a left and a right operand."""


def adds_floats(fn: Lambda) -> bool:
    """Whether an operator adds floats, which rounds."""
    return any(
        isinstance(let.op, Apply) and let.op.fn in ("add", "sub") and _is_float(let.vars[0].type)
        for let in walk_lets(fn)
    )


def _is_float(type_: object) -> bool:
    return isinstance(type_, DType) and type_.numpy.kind == "f"


def long_fold(
    b: Builder, lo: Atom, hi: Atom, step: int, body: Lambda, neutral: Sequence[Atom], fn: Lambda,
    join: Join,
) -> tuple[Atom, ...]:  # fmt: skip
    """A loop from lo to hi whose `body` takes a position and the state, and gives the next state;
    `join` emits `fn`, the operator on states. The state may concatenate those of several folds."""
    start = tuple(neutral)
    if not adds_floats(fn) or _is_short(lo, hi, step):
        return b.emit(For(lo, hi, index(step), body, start))
    joined = partial(_joined, fn, join)
    if any(isinstance(let.op, For | While) for let in walk_lets(body)):
        return _written_once(b, (lo, hi), step, body, start, start, joined, LEVELS)
    size = index(BLOCK * step)
    end = b.add(lo, b.round_down(b.sub(hi, lo), size))

    def blocks(c: Builder, first: Atom, last: Atom, level: int) -> tuple[Atom, ...]:
        each = index(BLOCK**level * step)
        inside, p, state = c.iteration("p", start)
        after = inside.add(p, each)
        if level > 1:
            found = blocks(inside, p, inside.apply("minimum", after, last), level - 1)
        else:
            found = inside.emit(For(p, after, index(step), inside.copy(body), start))
        return inside.close_loop(first, last, start, joined(inside, [*state, *found]), each)

    return b.emit(For(end, hi, index(step), body, blocks(b, lo, end, LEVELS)))


def _written_once(
    b: Builder, bounds: tuple[Atom, Atom], step: int, body: Lambda, start: Sequence[Atom],
    neutral: Sequence[Atom], join: Join, level: int,
) -> tuple[Atom, ...]:  # fmt: skip
    """The loop from `start` on in blocks of `level` kinds, the body in the innermost alone."""
    first, last = bounds
    if level == 0:
        return b.emit(For(first, last, index(step), body, tuple(start)))
    each = index(BLOCK**level * step)
    inside, p, state = b.iteration("p", start)
    after = inside.add(p, each)
    whole = inside.apply("le", after, last)

    def either(full: Sequence[Atom], rest: Sequence[Atom]) -> list[Atom]:
        pairs = zip(full, rest, strict=True)
        return [inside.apply("select", whole, one, other) for one, other in pairs]

    block = p, inside.apply("minimum", after, last)
    begin = either(neutral, state)
    found = _written_once(inside, block, step, body, begin, neutral, join, level - 1)
    ended = either(join(inside, [*state, *found]), found)
    return inside.close_loop(first, last, start, ended, each)


def chunk(
    b: Builder, steps: tuple[Atom, Atom], size: int, body: Lambda, neutral: Sequence[Atom],
    load: Callable[[Builder], Sequence[Atom]], store: Callable[[Builder, Sequence[Atom]], None],
    fn: Lambda, join: Join,
) -> None:  # fmt: skip
    """Up to `size` iterations of folds whose states are in memory between them, from the first at 0
    on. As many as that are a block, whose results are joined to the state."""
    first = b.apply("eq", steps[0], index(0))
    joins = adds_floats(fn)
    full = b.apply("eq", b.sub(steps[1], steps[0]), index(size)) if joins else FALSE
    anew, on = b.inner(), b.inner()
    fresh = b.apply("or", first, full)
    begin = If(fresh, anew.close([], neutral), on.close([], load(on)))
    found: tuple[Atom, ...] = b.emit(For(*steps, index(1), body, b.emit(begin)))
    if not joins:
        return store(b, found)
    whole = b.apply("and", full, b.apply("not", first))
    # loaded here, not before the loop, where they would take registers
    with b.branches(whole) as (block, rest):
        store(block, _joined(fn, join, block, [*load(block), *found]))
        store(rest, found)


def _joined(fn: Lambda, join: Join, b: Builder, operands: Sequence[Atom]) -> list[Atom]:
    """The states of some folds, all of the left ones first, joined one by one."""
    each, half, joined = len(fn.results), len(operands) // 2, list[Atom]()
    for k in range(0, half, each):
        joined += join(b, [*operands[k : k + each], *operands[half + k : half + k + each]])
    return joined


def _is_short(lo: Atom, hi: Atom, step: int) -> bool:
    """Whether a loop is known to be one block at most."""
    if not isinstance(lo, Const) or not isinstance(hi, Const):
        return False
    return int(hi.value) - int(lo.value) <= BLOCK * step
