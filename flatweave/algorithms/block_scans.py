"""Reduce and scan by a block: one element for each thread, or each warp its share.

    scan_units                    a b c d    a ab bc cd    a ab abc abcd    after the step with
                                  distance d, element i holds the 2 d values that end at i

    each warp its share           a b c d e f | g h i j k l     abcdef  ghijkl
    each warp, what is before     nothing     | abcdef          one value for each warp
    each warp its share again     a ab abc .. | abcdefg ..

A block has few warps, so each folds what those before it have. A block of one warp visits elements
once. Operators need not commute.
"""

from __future__ import annotations

from flatweave.algorithms.lanes import (
    Also,
    reduce_in_lanes,
    reduce_in_runs,
    scan_in_lanes,
    scan_in_runs,
)
from flatweave.algorithms.operator import Operator
from flatweave.base.records import record
from flatweave.kernel_ir.arrays import (
    Pull,
    Put,
    Values,
    allocate,
    dtypes_of,
    fold,
    for_all,
    force,
    level_of,
    part,
    read,
    store_each,
)
from flatweave.kernel_ir.hierarchy import THREAD, WARP
from flatweave.kernel_ir.syntax import Sync
from flatweave.terms.build import Builder, index
from flatweave.terms.syntax import Atom, Const


@record(eq=True)
class Shares:
    """`extent` elements among `units` threads, `each` to every one but the last ones."""

    extent: Atom
    units: int
    each: Atom

    def of(self, b: Builder, unit: Atom) -> tuple[Atom, Atom]:
        """From where to where the elements of a thread go."""
        lo = b.apply("minimum", b.mul(unit, self.each), self.extent)
        return lo, b.apply("minimum", b.add(lo, self.each), self.extent)


def scan_units(b: Builder, operator: Operator, xs: Pull, row: int | None = None) -> Pull:
    """All prefixes of one element for each thread (Hillis and Steele); with `row`, each group of
    `row` neighbours separately."""
    if level_of(b) is THREAD:
        return xs
    assert isinstance(xs.extent, Const)
    size, distance = row or int(xs.extent.value), 1
    rows = size < xs.extent.value
    xs = force(b, xs)
    while distance < size:
        xs = force(b, _joined(operator, xs, distance, size if rows else None))
        distance *= 2
    return xs


def _joined(operator: Operator, xs: Pull, distance: int, row: int | None) -> Pull:
    """Each element with the one so far before it, where there is one in its row."""

    def at(b: Builder, i: Atom) -> Values:
        def both(c: Builder) -> Values:
            before = xs.at(c, c.sub(i, index(distance)))
            return operator.combine(c, before, xs.at(c, i))

        number = i if row is None else b.apply("mod", i, index(row))
        return b.choose(b.apply("le", index(distance), number), both, lambda c: xs.at(c, i))

    return Pull(xs.extent, at)


@record(eq=True)
class Warps:
    """The warps of a block as a machine has them: how many, of how many lanes, and whether these
    can idle (`masked`, see `lanes.py`). Where they can, a lane may take a run of `each` elements of
    a step."""

    count: int
    width: int
    masked: bool = True
    each: int = 1


def reduce_by_warps(
    b: Builder, operator: Operator, xs: Pull, warps: Warps, *, in_any_order: bool = False
) -> Values:
    """The elements of `xs` combined, in order unless any will do; every thread of the block may
    read the result."""
    if warps.count == 1:
        return reduce_in_lanes(
            b, operator, xs, warps.width, masked=warps.masked, in_any_order=in_any_order
        )
    shared = _shares(b, xs.extent, warps)
    ends = _of_warps(b, operator, xs, shared, warps, in_any_order=in_any_order)
    return _before(b, operator, ends, index(warps.count), operator.neutral)


def scan_by_warps(
    b: Builder, operator: Operator, xs: Pull, warps: Warps, put: Put,
    before: Values | None = None, *, exclusive: bool = False, also: Also | None = None,
) -> Pull:  # fmt: skip
    """Puts all prefixes of `xs`, which go on from `before`; gives one element, all of it combined.

    Elements are asked for twice, so `put` must not write what `xs` reads. They may have more
    components than the operator: with their prefix is put what `also` reads for these, which `put`
    may write.
    """
    first = operator.neutral if before is None else before
    width = warps.width
    if warps.count == 1:
        total = scan_in_lanes(
            b, operator, xs, width, first,
            lambda c, i, values: put(c, i, _with(c, operator, also, values)),
            exclusive=exclusive, masked=warps.masked,
        )  # fmt: skip
        return Pull(index(1), lambda c, i: total)
    shared = _shares(b, xs.extent, warps)
    ends = _of_warps(b, operator, xs, shared, warps)

    def share(c: Builder, warp: Atom) -> None:
        lo, hi = shared.of(c, warp)
        mine = part(xs, lo, c.sub(hi, lo))

        def put_there(d: Builder, i: Atom, values: Values) -> None:
            put(d, d.add(lo, i), values)

        def put_all(d: Builder, i: Atom, values: Values) -> None:
            put_there(d, i, _with(d, operator, also, values))

        known = _before(c, operator, ends, warp, first)
        most = shared.each
        if warps.each > 1:
            scan_in_runs(
                c, operator, mine, width, warps.each, most, known, put_there,
                exclusive=exclusive, also=also,
            )  # fmt: skip
        else:
            scan_in_lanes(c, operator, mine, width, known, put_all, most, exclusive=exclusive)

    for_all(b, WARP, warps.count, share)
    return Pull(index(1), lambda c, i: _before(c, operator, ends, index(warps.count), first))


def _with(b: Builder, operator: Operator, also: Also | None, values: Values) -> Values:
    """A prefix and what is read for the further components of its element."""
    size = len(operator.neutral)
    return (*values[:size], *also(b, values[size:])) if also else values


def _shares(b: Builder, extent: Atom, warps: Warps) -> Shares:
    """Whole steps for every warp but the last ones."""
    of_warp = warps.width * warps.each
    step = warps.count * of_warp
    steps = b.apply("floordiv", b.add(extent, index(step - 1)), index(step))
    return Shares(extent, warps.count, b.mul(steps, index(of_warp)))


def _of_warps(
    b: Builder, operator: Operator, xs: Pull, shared: Shares, warps: Warps, *,
    in_any_order: bool = False,
) -> Pull:  # fmt: skip
    """What the elements of each warp combine to, in the memory of the block."""

    memory = allocate(b, dtypes_of(b, operator.neutral), shared.units)

    def one(c: Builder, warp: Atom) -> None:
        lo, hi = shared.of(c, warp)
        mine = part(xs, lo, c.sub(hi, lo))
        if warps.each > 1:
            size = len(operator.neutral)
            combined = Pull(mine.extent, lambda d, i: mine.at(d, i)[:size])
            total = reduce_in_runs(c, operator, combined, warps.width, warps.each, shared.each)
        else:
            total = reduce_in_lanes(
                c, operator, mine, warps.width, shared.each, in_any_order=in_any_order
            )
        store_each(c, memory, warp, total)

    for_all(b, WARP, shared.units, one)
    b.emit(Sync())
    return read(memory, shared.units)


def _before(b: Builder, operator: Operator, ends: Pull, warp: Atom, first: Values) -> Values:
    """What stands first and what the warps before one have, combined."""

    def step(c: Builder, w: Atom, known: Values) -> Values:
        return operator.combine(c, known, ends.at(c, w))

    return fold(b, index(0), warp, first, step, hint="w")
