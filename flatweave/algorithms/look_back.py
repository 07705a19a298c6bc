"""Look back: a scan over the blocks of a grid while they run, in a chain or one a lane."""

from __future__ import annotations

from collections.abc import Callable

from flatweave.algorithms.block_scans import AGGREGATE, NOTHING, PREFIX, Slots, Words
from flatweave.algorithms.lanes import EMPTY, FIRST, reduce_in_lanes
from flatweave.algorithms.operator import Combine, Operator, select
from flatweave.base.dtypes import i32, i64, u32, u64
from flatweave.base.records import record
from flatweave.kernel_ir.hierarchy import (
    Pull,
    Values,
    allocate,
    dtypes_of,
    fold,
    in_lanes,
    read,
    store_each,
)
from flatweave.kernel_ir.memory_ops import AcquireLanes, LoadWhole, StoreWhole
from flatweave.kernel_ir.syntax import Backoff, Lane, Lanes, Sync
from flatweave.kernel_ir.warp_ops import Ballot
from flatweave.terms.build import Builder, index
from flatweave.terms.syntax import Atom, Const, Var, constant

# -- look back ------------------------------------------------------------------------------------
#
# Look back: a scan over the blocks of a grid while they run (Merrill, Garland 2016).

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
    """The last slot up to `block` whose prefix is known, with all later aggregates known."""

    def goes_on(c: Builder, known: Values) -> Atom:
        return c.apply("ne", known[1], PREFIX)

    def turn(c: Builder, known: Values) -> Values:
        t, state, attempt = known
        unknown = c.apply("eq", state, NOTHING)
        with c.when(unknown) as waiting:
            waiting.emit(Backoff(attempt))
        back = c.apply("select", unknown, t, c.sub(t, index(1)))
        again = c.apply("select", unknown, c.add(attempt, index(1)), index(0))
        return back, slots.state(c, back), again

    start = (block, slots.state(b, block), index(0))
    return b.repeat(start, goes_on, turn, "t state attempt")[0]


# -- Windows of a chain of slots, of which a lane each looks at one: where the nearest prefix is ---
#
#    slot          7         8        9         10       11       12       block 12 looks from 12 on
#     lane          5         4        3         2        1       0
#     state         PREFIX    AGGR     PREFIX    AGGR     AGGR    AGGR
#     prefixes      lanes 3 and 5; below the lowest of them no lane sees NOTHING, so all is known


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
    """The last slot of the window with the nearest prefix up to slot `block`, and which of its
    lanes see prefixes. All aggregates after that prefix are known, too."""

    def goes_on(c: Builder, state: Values) -> Atom:
        _, prefixes, unknown, _ = state
        return c.apply("or", c.apply("ne", unknown, EMPTY), c.apply("eq", prefixes, EMPTY))

    def turn(c: Builder, state: Values) -> Values:
        first, _, unknown, attempt = state
        waits = c.apply("ne", unknown, EMPTY)
        with c.when(waits) as waiting:
            waiting.emit(Backoff(attempt))
        here = c.apply("select", waits, first, c.sub(first, index(width)))
        again = c.apply("select", waits, c.add(attempt, index(1)), index(0))
        return (here, *look(c, here), again)

    start = (block, *look(b, block), index(0))
    first, prefixes, _, _ = b.repeat(start, goes_on, turn)
    return first, prefixes


# -- Looking back by the lanes of a warp where slots are words: looking at a slot loads it ---------
#
#     slot       7     8     9     10    11    12      block 12: a window of words, in the room,
#     room       P     A     P     A     A     A       folded from its nearest prefix on
#     result                ((9 fn 10) fn 11) fn 12
#
# One look is enough where a window has a prefix. Else the windows between that one and the block
# are looked at once more, from left to right. If a slot's prefix is known by then, it has replaced
# the aggregate, and the fold continues from it. So the result's bits do not depend on how far a
# block looked, nor when.


@record
class WordWindow:
    """The chain, the lanes that look at it, and room in the memory of the block for their words."""

    words: Words
    width: int
    room: tuple[Var, ...]
    exact: bool


def look_at_words(
    b: Builder, words: Words, block: Atom, operator: Operator, width: int, *, exact: bool
) -> Before:
    """What finds all elements of the blocks before this one. Made in code of the block, before its
    first warp calls it."""
    room = allocate(b, [i64] * words.packing.count, width)
    window = WordWindow(words, width, room, exact)
    return lambda c: _look_back_in_words(c, window, block, operator)


def _look_back_in_words(b: Builder, window: WordWindow, block: Atom, operator: Operator) -> Values:
    """All elements of the blocks before this one, combined."""
    size = index(window.width)
    last, prefixes = find_prefix(b, lambda c, k: _look_at_words(c, window, k), block, window.width)
    first = _fold(b, window, operator, operator.neutral, prefixes)
    turn, end, before = b.iteration("w", first)
    seen, _ = _look_at_words(turn, window, end)
    after = _fold(turn, window, operator, before, seen)
    start, stop = b.add(last, size), b.add(block, index(1))
    return turn.close_loop(start, stop, first, after, size)


def _look_at_words(b: Builder, window: WordWindow, last: Atom) -> Values:
    """The words up to slot `last` in the room, in the order of slots; which lanes see a prefix, and
    which of those before the first one see nothing."""
    b.emit(Sync("warp"))  # the room has been read
    region = b.inner()
    words = window.words.load(region, slot_of_lane(region, last))
    at = region.emit(Lane(index(window.width - 1), reverse=True))[0]
    store_each(region, window.room, at, words)
    looked = tell(region, window.words.packing.state(region, words))
    found: Values = b.emit(Lanes(window.width, region.close([], looked)))
    b.emit(Sync("warp"))
    return found


def _fold(
    b: Builder, window: WordWindow, operator: Operator, before: Values, prefixes: Atom
) -> Values:
    """The value before the window combined with its words: from the nearest prefix on, if any."""
    packing, size = window.words.packing, index(window.width)
    found = b.apply("ne", prefixes, EMPTY)
    behind = b.apply("minimum", b.cast(b.apply("ctz", prefixes), i64), size)
    start = b.sub(size, behind)
    nearest = b.apply("maximum", b.sub(start, index(1)), index(0))

    def element(c: Builder, k: Atom) -> Values:
        return packing.unpack(c, read(window.room, size).at(c, k))

    first = select(b, found, element(b, nearest), before)
    if window.exact:
        rest = Pull(behind, lambda c, k: element(c, c.add(start, k)))
        in_tree = reduce_in_lanes(b, operator, rest, window.width, in_any_order=True)
        return operator.combine(b, first, in_tree)
    return fold(
        b, start, size, first, lambda c, k, known: operator.combine(c, known, element(c, k)),
        hint="t",
    )  # fmt: skip


# --------------------------------------------------------------------------------------------------
# Looking back by the lanes of a warp: each looks at, and loads, a different slot of a chain.
#
#     slot          7         8        9         10       11      12       what block 12 asks for
#     state         PREFIX    AGGR     PREFIX    AGGR     AGGR    AGGR
#     lane          5         4        3         2        1       0        each looks at one
#     prefixes      lanes 3 and 5: 9 is the nearest; below lane 3 nobody is NOTHING, so all is known
#     aggregates    10 11 12, by lanes, into the memory of the block
#     result        ((prefix 9 fn 10) fn 11) fn 12
#
# Where no lane finds a prefix, the warp moves on to the slots before these. The result has the bits
# of one thread: it is folded from left to right from the nearest prefix, whichever that is. An
# operator that is exact in any grouping is combined in a tree by the lanes. Where slots are words,
# lanes have got their aggregates with the states.
#
# Code of a block's first warp, outside of `for_all`, on machines whose warps meet alone.


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
    """The elements of `xs` folded in order; each load takes one element for each lane."""
    size = index(window.width)
    turn, start, known = b.iteration("c", first)
    many = turn.apply("minimum", size, turn.sub(xs.extent, start))
    _load(turn, xs, start, many, window)
    turn.emit(Sync("warp"))
    loaded = read(window.room, many)

    def step(c: Builder, k: Atom, before: Values) -> Values:
        return operator.combine(c, before, loaded.at(c, k))

    after = fold(turn, index(0), many, known, step, hint="t")
    turn.emit(Sync("warp"))  # the next ones are loaded over these
    return turn.close_loop(index(0), xs.extent, first, after, size)


def _load(b: Builder, xs: Pull, start: Atom, many: Atom, window: Window) -> None:
    """The elements from `start` on, one by each lane, into the memory of the block."""
    with in_lanes(b, window.width) as region:
        lane = region.emit(Lane(index(0)))[0]
        with region.when(region.apply("lt", lane, many)) as c:
            store_each(c, window.room, lane, xs.at(c, c.add(start, lane)))


def _look(b: Builder, slots: Slots, first: Atom, width: int) -> Values:
    """Which lanes see a prefix, and which of those before the first one see nothing."""
    region = b.inner()
    state = region.emit(AcquireLanes(slots.states, slot_of_lane(region, first)))[0]
    return b.emit(Lanes(width, region.close([], tell(region, state))))


# -- look back by lane ----------------------------------------------------------------------------
#
# Looking back by the lanes of a block, each in a separate chain: sums of many counts at once.
#
#     chain          0      1      2      3      ..     one for each lane of the block
#     block 0        P 3    P 0    P 9    P 4           a word for each block and chain
#     block 1        A 2    P 5    A 1    P 8
#     block 2        A 7    A 0    A 2    -
#     block 3        12     5      12     waits         what the blocks before it have of each
#
# The words are stored block by block, so that adjacent lanes read adjacent words. Sums are exact,
# so a lane adds the counts on its way back to the nearest prefix, and loads the words of several
# blocks at once. A word also holds the launch number, `turn`: words of an earlier launch are
# ignored, so clearing once suffices for all launches.
#
# Code inside the lanes of a warp, all of which run; on machines where a block may wait for an
# earlier one.


AT_ONCE = 4
"""Words that a lane loads at once. A block starts every 20 to 60 ns on an H100, and what it has
published reaches others after some 600 ns: so the nearest prefix is 10 to 30 blocks away."""
ZERO, ONE = constant(0, i32), constant(1, i32)
STATE_BITS, TAG_BITS = 2, 10
"""A word's lowest bits are its state, above it the launch number: one test of 32 bits for both."""


@record
class Chains:
    """The words of `count` chains, from word `first` of a buffer on, in launch number `turn`."""

    words: Var
    first: int
    count: int
    turn: Atom

    def publish(self, b: Builder, block: Atom, chain: Atom, value: Atom, state: Const) -> None:
        """Publish a count for the later blocks: that of block 0 is a prefix."""
        is_first = b.apply("eq", block, index(0))
        tag = b.apply("select", is_first, self._tag(b, PREFIX), self._tag(b, state))
        count = b.apply("shl", b.cast(value, u64), constant(TAG_BITS, u64))
        word = b.cast(b.apply("or", count, b.cast(tag, u64)), i64)
        b.emit(StoreWhole(self.words, self._slot(b, block, chain), (word,)))

    def _tag(self, b: Builder, state: Const) -> Atom:
        """The lowest bits of a word of this launch."""
        turn = b.apply("shl", b.cast(self.turn, u32), constant(STATE_BITS, u32))
        return b.apply("or", turn, constant(int(state.value), u32))

    def before(self, b: Builder, block: Atom, chain: Atom) -> Atom:
        """What the blocks before this one have together, of a chain for each lane."""
        ends = b.apply("eq", block, index(0))
        going = b.emit(Ballot(b.apply("not", ends)))[0]
        nearest = b.cast(b.apply("maximum", b.sub(block, index(1)), index(0)), i32)

        def goes_on(c: Builder, state: Values) -> Atom:
            return c.apply("ne", state[3], EMPTY)

        def step(c: Builder, state: Values) -> Values:
            t, total, ended, _, attempt = state
            goes, back = c.apply("not", ended), t
            for words in self._words(c, t, chain):
                count, known, whole = self._told(c, words)
                adds = c.apply("and", goes, known)
                total = c.add(total, c.apply("select", adds, count, index(0)))
                goes = c.apply("and", adds, c.apply("not", whole))
                ended = c.apply("or", ended, c.apply("and", adds, whole))
                back = c.apply("select", goes, c.sub(back, ONE), back)
            waits = c.apply("not", c.apply("or", ended, goes))
            waiting = c.apply("ne", c.emit(Ballot(waits))[0], EMPTY)
            with c.when(waiting) as d:
                d.emit(Backoff(attempt))
            again = c.apply("select", waiting, c.add(attempt, index(1)), index(0))
            left = c.emit(Ballot(c.apply("not", ended)))[0]
            return back, total, ended, left, again

        return b.repeat((nearest, index(0), ends, going, index(0)), goes_on, step)[1]

    def _words(self, b: Builder, block: Atom, chain: Atom) -> list[Atom]:
        """The words of a block and of those before it; of block 0 if there are none."""
        numbers = [
            b.apply("maximum", b.sub(block, constant(k, i32)), ZERO) for k in range(AT_ONCE)
        ]
        slots = [self._slot(b, b.cast(number, i64), chain) for number in numbers]
        return [b.emit(LoadWhole(self.words, slot))[0] for slot in slots]

    def _told(self, b: Builder, word: Atom) -> tuple[Atom, Atom, Atom]:
        """The count in a word, whether it is of this launch, and whether it is a prefix."""
        mask = constant((1 << TAG_BITS) - 1, u32)
        tag = b.apply("and", b.cast(word, u32), mask)
        whole = b.apply("eq", tag, self._tag(b, PREFIX))
        known = b.apply("or", whole, b.apply("eq", tag, self._tag(b, AGGREGATE)))
        count = b.apply("shr", b.cast(word, u64), constant(TAG_BITS, u64))
        return b.cast(count, i64), known, whole

    def _slot(self, b: Builder, block: Atom, chain: Atom) -> Atom:
        return b.add(index(self.first), b.add(b.mul(block, index(self.count)), chain))
