"""Reduce and scan by the lanes of one warp, in steps: neighbours read neighbours.

    step      a b c d | e f g h | i j            4 lanes; idle ones have the neutral element
    lanes     a ab abc abcd     e ef efg efgh    by a collective of the warp
    carry     nothing           abcd             what all steps before combine to

If an operator commutes, each lane may fold a separate subset, and lanes combine once:

    lanes     a b c d           ae bf cg dh

A step in which segments start, as flags say, goes on from the carry only below the first start:

    flags                       F F T F F F T F       values  a b c d e f g h      carry  z
    lanes, from their starts    a ab c cd cde cdef g gh
    found                       za zab c cd cde cdef g gh                     next carry  gh

Where lanes exchange values in registers, this needs no memory and no barrier. The number of lanes
is the warp size of the machine, which the caller knows. Where lanes exchange values through
barriers of the block, all its warps must take the same steps: those that `most` elements need, a
number on which they agree. Where lanes cannot idle (not `masked`), the elements after the last
whole step are taken sequentially.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, reduce

from flatweave.algorithms.operator import Operator, select
from flatweave.base.dtypes import u32, u64
from flatweave.kernel_ir.hierarchy import Pull, Put, Values, element_types
from flatweave.kernel_ir.syntax import Lane, Lanes
from flatweave.kernel_ir.warp_ops import Ballot, InSet, LastLane, ReduceLanes, ScanLanes, ShiftLanes
from flatweave.terms.build import Builder, index
from flatweave.terms.syntax import Atom, constant

EMPTY, FIRST = constant(0, u64), constant(1, u64)
Step = Callable[[Builder, Atom, Atom | None, Values, Values, int], Values]
"""What a step makes of its positions, of which of them there are, None if all are, of their values
and of the carry, on how many lanes: the next carry."""


def reduce_in_lanes(
    b: Builder, operator: Operator, xs: Pull, width: int, most: Atom | None = None, *,
    masked: bool = True, in_any_order: bool = False,
) -> Values:  # fmt: skip
    """The elements of `xs` combined by the `width` lanes of a warp; in order, unless any will do.
    """

    def step(
        c: Builder, i: Atom, active: Atom | None, values: Values, carry: Values, lanes: int
    ) -> Values:
        if in_any_order:
            return operator.combine(c, carry, values)
        return reduce_step(c, operator, carry, values, lanes)

    def meet(c: Builder, of_lanes: Values) -> Values:
        return c.emit(ReduceLanes(operator.function(c), of_lanes))

    return _in_steps(
        b, operator, xs, width, most, operator.neutral, step, masked,
        meet if in_any_order else None,
    )  # fmt: skip


def scan_in_lanes(
    b: Builder, operator: Operator, xs: Pull, width: int, before: Values, put: Put,
    most: Atom | None = None, *, exclusive: bool = False, masked: bool = True,
) -> Values:  # fmt: skip
    """Puts all prefixes of `xs`, which go on from `before`; gives what all combine to.

    Elements may have more components than the operator: they are put with their prefix."""
    size = len(operator.neutral)

    def step(
        c: Builder, i: Atom, active: Atom | None, values: Values, carry: Values, lanes: int
    ) -> Values:
        found, after = scan_step(c, operator, carry, values[:size], lanes, exclusive=exclusive)
        found = (*found, *values[size:])
        if active is None:
            put(c, i, found)
        else:
            with c.when(active) as d:
                put(d, i, found)
        return after

    return _in_steps(b, operator, xs, width, most, before, step, masked)


def reduce_step(
    b: Builder, operator: Operator, carry: Values, values: Values, width: int
) -> Values:
    """What all steps up to this one combine to."""
    if width > 1:
        values = b.emit(ReduceLanes(operator.function(b), values))
    return operator.combine(b, carry, values)


def scan_step(
    b: Builder, operator: Operator, carry: Values, values: Values, width: int, *, exclusive: bool
) -> tuple[Values, Values]:
    """Prefixes of one step's elements, continued from `carry`, and the next carry."""
    if width == 1:
        after = operator.after(b, carry, values)
        return operator.element(b, carry if exclusive else after), after
    found, after = _going_on(b, operator, carry, values)
    return (_shifted(b, operator, carry, found) if exclusive else found), after


def segmented_scan_step(
    b: Builder, operator: Operator, carry: Values, flag: Atom, values: Values,
    width: int, *, exclusive: bool, branches: bool,
) -> tuple[Values, Values]:  # fmt: skip
    """The same where prefixes start anew at elements whose `flag` holds.

    With `branches`, a step in which no segment starts is an ordinary scan: for machines where
    warps may branch separately.
    """
    if width == 1:
        after = select(b, flag, operator.carry(b, values), operator.after(b, carry, values))
        before = operator.element(b, carry if exclusive else after)
        return (select(b, flag, operator.neutral, before) if exclusive else before), after
    starts = b.emit(Ballot(flag))[0]
    if branches:

        def begins(c: Builder) -> Values:
            anew, last = _anew(c, operator, carry, flag, starts, values)
            return (*anew, *operator.carry(c, last))

        def goes_on(c: Builder) -> Values:
            on, after = _going_on(c, operator, carry, values)
            return (*on, *after)

        both: Values = b.choose(b.apply("ne", starts, EMPTY), begins, goes_on)
        found, after = both[: len(values)], both[len(values) :]
    else:
        found, last = _anew(b, operator, carry, flag, starts, values)
        none_starts = b.apply("eq", starts, EMPTY)
        after = select(b, none_starts, operator.after(b, carry, last), operator.carry(b, last))
    if exclusive:
        found = select(b, flag, operator.neutral, _shifted(b, operator, carry, found))
    return found, after


def _going_on(
    b: Builder, operator: Operator, carry: Values, values: Values
) -> tuple[Values, Values]:
    """Prefixes of a step in which no segment starts, and the next carry."""
    alone = b.emit(ScanLanes(operator.function(b), operator.neutral, values))
    found = operator.on(b, carry, alone)
    # not the last lane of what is found: so only this one operation waits for the last step
    return found, operator.after(b, carry, b.emit(LastLane(alone)))


def _shifted(b: Builder, operator: Operator, carry: Values, found: Values) -> Values:
    """What each lane has before its own element."""
    return b.emit(ShiftLanes(operator.element(b, carry), found))


def _anew(
    b: Builder, operator: Operator, carry: Values, flag: Atom, starts: Atom, values: Values
) -> tuple[Values, Values]:
    """Prefixes of a step, the carry in those before its first start; and the last without it."""
    alone = b.emit(ScanLanes(operator.function(b), operator.neutral, values, (flag,)))
    # the lanes below the lowest start; of no start at all, every lane
    below = b.apply("and", b.apply("not", starts), b.apply("sub", starts, FIRST))
    reached = b.emit(InSet(below))[0]
    found = select(b, reached, operator.on(b, carry, alone), alone)
    return found, b.emit(LastLane(alone))


def _in_steps(
    b: Builder, operator: Operator, xs: Pull, width: int, most: Atom | None, init: Values,
    step: Step, masked: bool, meet: Callable[[Builder, Values], Values] | None = None,
) -> Values:  # fmt: skip
    """A loop over steps of all lanes that carries values; if each lane has a separate value, lanes
    `meet` at its end. Unless lanes may idle, another loop takes the remaining elements."""
    extent = xs.extent
    if masked:
        none = _neutral(b, operator, xs)

        def some(c: Builder, i: Atom, carry: Values) -> Values:
            active = c.apply("lt", i, extent)
            values = c.choose(active, lambda d: xs.at(d, i), lambda d: none)
            return step(c, i, active, values, carry, width)

        return _region(b, width, index(0), extent if most is None else most, init, some, meet)

    def every(c: Builder, i: Atom, carry: Values, lanes: int) -> Values:
        return step(c, i, None, xs.at(c, i), carry, lanes)

    whole: Atom = index(0)
    if width > 1:
        whole = b.round_down(extent, index(width))
        init = _region(b, width, index(0), whole, init, partial(every, lanes=width), meet)
    return _region(b, 1, whole, extent, init, partial(every, lanes=1))


def _neutral(b: Builder, operator: Operator, xs: Pull) -> Values:
    """What stands for an element that is not there: further components are zero."""
    size, dtypes = len(operator.neutral), element_types(b, xs)
    return (*operator.neutral, *(constant(0, dtype) for dtype in dtypes[size:]))


def _region(
    b: Builder, width: int, lo: Atom, hi: Atom, init: Values,
    turn: Callable[[Builder, Atom, Values], Values],
    meet: Callable[[Builder, Values], Values] | None = None,
) -> Values:  # fmt: skip
    """A loop from lo to hi over steps of `width` lanes."""
    region = b.inner()
    inside, base, carry = region.iteration("base", init)
    i: Atom = inside.emit(Lane(base))[0] if width > 1 else base
    out: Values = inside.close_loop(lo, hi, init, turn(inside, i, carry), width)
    if meet is not None and width > 1:
        out = meet(region, out)
    return b.emit(Lanes(width, region.close([], out)))


# -- Runs: each lane takes `each` neighbours of a step, all loaded before any is combined ----------
#
#     step        a b c d | e f g h        2 lanes, runs of 4
#     lanes       abcd    | efgh           one collective for a step
#     found       a ab abc abcd | abcde .. prefixes of a run go on from the lanes before
#
# For machines whose lanes can idle. A loop takes as long as its loads and collectives, whatever
# they are of: so a thread has the loads of a run under way at once, and exchanges values once.


Also = Callable[[Builder, Values], Values]
"""What is read for the further components of an element."""
RunStep = Callable[[Builder, Sequence[Atom], Sequence[Atom], Sequence[Values], Values], Values]
"""What a step makes of a lane's positions, of which of them there are, of their values, and of the
carry: the next carry."""


def reduce_in_runs(
    b: Builder, operator: Operator, xs: Pull, width: int, each: int, most: Atom
) -> Values:
    """The elements of `xs` combined in order; a step takes runs of `each` elements."""

    def step(
        c: Builder, _: Sequence[Atom], __: Sequence[Atom], run: Sequence[Values], carry: Values
    ) -> Values:
        return reduce_step(c, operator, carry, _combined(c, operator, run), width)

    return _in_runs(b, operator, xs, width, each, most, operator.neutral, step)


def scan_in_runs(
    b: Builder, operator: Operator, xs: Pull, width: int, each: int, most: Atom, before: Values,
    put: Put, *, exclusive: bool, also: Also | None = None,
) -> None:  # fmt: skip
    """Puts all prefixes of `xs`, which go on from `before`, as `scan_in_lanes` does. What `also`
    reads for further components of an element is put, too; all of a run read it at once."""
    size = len(operator.neutral)

    def step(
        c: Builder, at: Sequence[Atom], there: Sequence[Atom], run: Sequence[Values],
        carry: Values,
    ) -> Values:  # fmt: skip
        mine = [values[:size] for values in run]
        others = [also(c, values[size:]) if also else values[size:] for values in run]
        whole = _combined(c, operator, mine)
        alone = c.emit(ScanLanes(operator.function(c), operator.neutral, whole))
        known = operator.on(c, carry, c.emit(ShiftLanes(operator.neutral, alone)))
        for place, active, own, other in zip(at, there, mine, others, strict=True):
            after = operator.combine(c, known, own)
            found = (*(known if exclusive else after), *other)
            with c.when(active) as d:
                put(d, place, found)
            known = after
        return operator.after(c, carry, c.emit(LastLane(alone)))

    _in_runs(b, operator, xs, width, each, most, before, step)


def _combined(b: Builder, operator: Operator, run: Sequence[Values]) -> Values:
    """The elements of a run, combined by their lane."""
    return reduce(lambda x, y: operator.combine(b, x, y), run)


def _in_runs(
    b: Builder, operator: Operator, xs: Pull, width: int, each: int, most: Atom, init: Values,
    step: RunStep,
) -> Values:  # fmt: skip
    """A loop over steps of all lanes that carries values; what is not there is neutral."""
    region = b.inner()
    own = region.mul(region.emit(Lane(index(0)))[0], index(each))
    inside, base, carry = region.iteration("base", init)
    first = inside.add(base, own)
    at = [inside.add(first, index(k)) for k in range(each)]
    there = [inside.apply("lt", place, xs.extent) for place in at]

    none = _neutral(inside, operator, xs)
    run = [
        inside.choose(active, lambda d, place=place: xs.at(d, place), lambda d: none)  # type: ignore[misc]
        for place, active in zip(at, there, strict=True)
    ]
    after = step(inside, at, there, run, carry)
    out = inside.close_loop(index(0), most, init, after, width * each)
    return b.emit(Lanes(width, region.close([], out)))


# -- Sets of lanes as u32, in warps of at most 32 of them: code inside the lanes of a warp ---------


def lanes_below(b: Builder) -> Atom:
    """For each lane the set of those before it."""
    lane = b.cast(b.emit(Lane(index(0)))[0], u32)
    return b.apply("sub", b.apply("shl", constant(1, u32), lane), constant(1, u32))


def is_empty(b: Builder, lanes: Atom) -> Atom:
    """Whether nobody is in a set of lanes."""
    return b.apply("eq", lanes, constant(0, u32))


def count_of(b: Builder, lanes: Atom) -> Atom:
    """How many lanes a set has (u32)."""
    return b.apply("popcount", lanes)
