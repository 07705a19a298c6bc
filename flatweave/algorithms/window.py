"""Looking back by the lanes of a warp: so many slots of a chain are looked at, and loaded, at once.

    slot          7         8        9         10       11      12       what block 12 asks for
    state         PREFIX    AGGR     PREFIX    AGGR     AGGR    AGGR
    lane          5         4        3         2        1       0        each looks at one
    prefixes      lanes 3 and 5: 9 is the nearest; below lane 3 nobody is NOTHING, so all is known
    aggregates    10 11 12, by lanes, into the memory of the block
    result        ((prefix 9 fn 10) fn 11) fn 12

Where no lane finds a prefix, the warp moves on to the slots before these. The result has the bits
of `look_back.py`: it is folded from left to right from the nearest prefix, whichever that is. An
operator that is exact in any grouping is combined in a tree by the lanes. Where slots are words,
lanes have got their aggregates with the states (`window_of_words.py`).

Code of a block's first warp, outside of `for_all`, on machines whose warps meet alone.
"""

from __future__ import annotations

from flatweave.algorithms.lanes import reduce_in_lanes
from flatweave.algorithms.look_back import Before
from flatweave.algorithms.operator import Operator
from flatweave.algorithms.slots import Slots
from flatweave.algorithms.window_of_words import look_at_words
from flatweave.algorithms.windows import find_prefix, slot_of_lane, tell
from flatweave.algorithms.words import Words
from flatweave.base.dtypes import i64
from flatweave.base.records import record
from flatweave.kernel_ir.arrays import Pull, Values, allocate, dtypes_of, fold, read, when
from flatweave.kernel_ir.memory_ops import AcquireLanes
from flatweave.kernel_ir.syntax import Lane, Lanes, Store, Sync
from flatweave.terms.build import Builder, index
from flatweave.terms.control import For
from flatweave.terms.syntax import Atom, Var


@record
class Window:
    """The lanes that look, and room in the memory of the block for what they load; none where an
    operator is exact in any grouping."""

    width: int
    room: tuple[Var, ...]


def lanes_look_back(
    b: Builder, slots: Slots | Words, block: Atom, operator: Operator, width: int, *,
    exact: bool = False,
) -> Before:  # fmt: skip
    """What finds all elements of the blocks before this one. Made in code of the block, before its
    first warp calls it."""
    if isinstance(slots, Words):
        return look_at_words(b, slots, block, operator, width, exact=exact)
    types = dtypes_of(b, operator.neutral)
    window = Window(width, () if exact else allocate(b, types, width))
    return lambda c: _look_back(c, slots, block, operator, window)


def _look_back(
    b: Builder, slots: Slots, block: Atom, operator: Operator, window: Window
) -> Values:
    """All elements of the blocks before this one, combined."""
    width = window.width
    first, prefixes = find_prefix(b, lambda c, k: _look(c, slots, k, width), block, width)
    nearest = b.sub(first, b.cast(b.apply("ctz", prefixes), i64))
    prefix = slots.prefix(b, nearest)
    first, count = b.add(nearest, index(1)), b.sub(block, nearest)
    behind = read(slots.aggregates, count, first)
    if not window.room:
        in_tree = reduce_in_lanes(b, operator, behind, width, in_any_order=True)
        return operator.combine(b, prefix, in_tree)
    return _from_left(b, operator, prefix, behind, window)


def _from_left(
    b: Builder, operator: Operator, first: Values, xs: Pull, window: Window
) -> Values:
    """The elements of `xs` folded in order, so many loaded at once as there are lanes."""
    size = index(window.width)
    turn = b.inner()
    start = turn.param("c", i64)
    known = tuple(turn.param("s", atom.type) for atom in first)
    many = turn.apply("minimum", size, turn.sub(xs.extent, start))
    _load(turn, xs, start, many, window)
    turn.emit(Sync("warp"))
    loaded = read(window.room, many)

    def step(c: Builder, k: Atom, before: Values) -> Values:
        return operator.combine(c, before, loaded.at(c, k))

    after = fold(turn, index(0), many, known, step, hint="t")
    turn.emit(Sync("warp"))  # the next ones are loaded over these
    return b.emit(For(index(0), xs.extent, size, turn.close([start, *known], after), first))


def _load(b: Builder, xs: Pull, start: Atom, many: Atom, window: Window) -> None:
    """The elements from `start` on, one by each lane, into the memory of the block."""
    region = b.inner()
    lane = region.emit(Lane(index(0)))[0]

    def one(c: Builder) -> None:
        for buffer, value in zip(window.room, xs.at(c, c.add(start, lane)), strict=True):
            c.emit(Store(buffer, lane, value))

    when(region, region.apply("lt", lane, many), one)
    b.emit(Lanes(window.width, region.close([], [])))


def _look(b: Builder, slots: Slots, first: Atom, width: int) -> Values:
    """Which lanes see a prefix, and which of those before the first one see nothing."""
    region = b.inner()
    state = region.emit(AcquireLanes(slots.states, slot_of_lane(region, first)))[0]
    return b.emit(Lanes(width, region.close([], tell(region, state))))
