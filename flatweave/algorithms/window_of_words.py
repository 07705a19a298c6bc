"""Looking back by the lanes of a warp where slots are words: what a lane looks at, it has.

    slot       7     8     9     10    11    12      block 12: a window of words lies in the room,
    room       P     A     P     A     A     A       folded from its nearest prefix on
    result                ((9 fn 10) fn 11) fn 12

One look is enough where a window has a prefix. Else the windows between that one and the block
are looked at once more, from left to right: a slot whose prefix is known by then, which stands
where its aggregate stood, is what the fold goes on from. So bits do not tell how far a block
looked, nor when.
"""

from __future__ import annotations

from flatweave.algorithms.lanes import EMPTY, reduce_in_lanes
from flatweave.algorithms.look_back import Before
from flatweave.algorithms.operator import Operator, select
from flatweave.algorithms.windows import find_prefix, slot_of_lane, tell
from flatweave.algorithms.words import Words
from flatweave.base.dtypes import i64
from flatweave.base.records import record
from flatweave.kernel_ir.arrays import Pull, Values, allocate, fold, read
from flatweave.kernel_ir.syntax import Lane, Lanes, Store, Sync
from flatweave.terms.build import Builder, index
from flatweave.terms.control import For
from flatweave.terms.syntax import Atom, Var


@record
class Window:
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
    window = Window(words, width, room, exact)
    return lambda c: _look_back(c, window, block, operator)


def _look_back(b: Builder, window: Window, block: Atom, operator: Operator) -> Values:
    """All elements of the blocks before this one, combined."""
    size = index(window.width)
    last, prefixes = find_prefix(b, lambda c, k: _look(c, window, k), block, window.width)
    first = _fold(b, window, operator, operator.neutral, prefixes)
    turn = b.inner()
    end = turn.param("w", i64)
    before = tuple(turn.param("s", atom.type) for atom in first)
    seen, _ = _look(turn, window, end)
    after = _fold(turn, window, operator, before, seen)
    start, stop = b.add(last, size), b.add(block, index(1))
    return b.emit(For(start, stop, size, turn.close([end, *before], after), first))


def _look(b: Builder, window: Window, last: Atom) -> Values:
    """The words up to slot `last` in the room, in the order of slots; which lanes see a prefix, and
    which of those before the first one see nothing."""
    b.emit(Sync("warp"))  # what lies in the room has been read
    region = b.inner()
    words = window.words.load(region, slot_of_lane(region, last))
    at = region.emit(Lane(index(window.width - 1), reverse=True))[0]
    for buffer, word in zip(window.room, words, strict=True):
        region.emit(Store(buffer, at, word))
    told = tell(region, window.words.packing.state(region, words))
    found: Values = b.emit(Lanes(window.width, region.close([], told)))
    b.emit(Sync("warp"))
    return found


def _fold(
    b: Builder, window: Window, operator: Operator, before: Values, prefixes: Atom
) -> Values:
    """What lies before the window and its words combined: from the nearest prefix on, if it has
    one."""
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
