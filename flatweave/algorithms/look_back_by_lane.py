"""Looking back by the lanes of a block, each in a separate chain: sums of many counts at once.

    chain          0      1      2      3      ..     one for each lane of the block
    block 0        P 3    P 0    P 9    P 4           a word for each block and chain
    block 1        A 2    P 5    A 1    P 8
    block 2        A 7    A 0    A 2    -
    block 3        12     5      12     waits         what the blocks before it have of each

The words are stored block by block, so that adjacent lanes read adjacent words. Sums are exact, so
a lane adds the counts on its way back to the nearest prefix. A word also holds the launch number,
`turn`: words of an earlier launch are ignored, so clearing once suffices for all launches.

Code inside the lanes of a warp, all of which run; on machines where a block may wait for an earlier
one.
"""

from __future__ import annotations

from flatweave.algorithms.lanes import EMPTY, is_empty
from flatweave.algorithms.look_back import pause
from flatweave.algorithms.words import NOTHING, PREFIX, packing_of
from flatweave.base.dtypes import i64, u8
from flatweave.base.records import record
from flatweave.kernel_ir.arrays import Values, repeat, when
from flatweave.kernel_ir.memory_ops import LoadWhole, StoreWhole
from flatweave.kernel_ir.warp_ops import Ballot
from flatweave.terms.build import Builder, index
from flatweave.terms.syntax import Atom, Var

_packing = packing_of([(i64, 54), (u8, 8)], 1)
assert _packing is not None
PACKING = _packing
"""A count and a launch number."""


@record
class Chains:
    """The words of `count` chains, from word `first` of a buffer on, in launch number `turn`."""

    words: Var
    first: int
    count: int
    turn: Atom

    def publish(self, b: Builder, block: Atom, chain: Atom, value: Atom, state: Atom) -> None:
        """Publish a count for the later blocks."""
        turn = b.cast(self.turn, u8)
        word = PACKING.pack(b, (value, turn), state)
        b.emit(StoreWhole(self.words, self._slot(b, block, chain), word))

    def before(self, b: Builder, block: Atom, chain: Atom) -> Atom:
        """What the blocks before this one have together, of a chain for each lane."""
        ends = b.apply("eq", block, index(0))
        going = b.emit(Ballot(b.apply("not", ends)))[0]
        nearest = b.apply("maximum", b.sub(block, index(1)), index(0))

        def goes_on(c: Builder, state: Values) -> Atom:
            return c.apply("not", is_empty(c, state[3]))

        def step(c: Builder, state: Values) -> Values:
            t, total, ended, _, attempt = state
            count, known, whole = self._look(c, t, chain)
            adds = c.apply("and", known, c.apply("not", ended))
            first = c.apply("or", whole, c.apply("eq", t, index(0)))
            after = c.apply("or", ended, c.apply("and", known, first))
            total = c.add(total, c.apply("select", adds, count, index(0)))
            goes = c.apply("not", after)
            back = c.apply("select", c.apply("and", known, goes), c.sub(t, index(1)), t)
            waits = c.apply("and", goes, c.apply("not", known))
            waiting = c.apply("ne", c.emit(Ballot(waits))[0], EMPTY)
            when(c, waiting, lambda d: pause(d, attempt))
            again = c.apply("select", waiting, c.add(attempt, index(1)), index(0))
            return back, total, after, c.emit(Ballot(goes))[0], again

        return repeat(b, (nearest, index(0), ends, going, index(0)), goes_on, step)[1]

    def _look(self, b: Builder, block: Atom, chain: Atom) -> tuple[Atom, Atom, Atom]:
        """The count in a word, whether it is of this launch, and whether it is a prefix."""
        words = b.emit(LoadWhole(self.words, self._slot(b, block, chain)))
        count, turn = PACKING.unpack(b, words)
        state = PACKING.state(b, words)
        is_new = b.apply("eq", turn, b.cast(self.turn, u8))
        known = b.apply("and", is_new, b.apply("ne", state, NOTHING))
        return count, known, b.apply("eq", state, PREFIX)

    def _slot(self, b: Builder, block: Atom, chain: Atom) -> Atom:
        return b.add(index(self.first), b.add(b.mul(block, index(self.count)), chain))
