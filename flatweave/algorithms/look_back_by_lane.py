"""Looking back by the lanes of a block, each in a separate chain: sums of many counts at once.

    chain          0      1      2      3      ..     one for each lane of the block
    block 0        P 3    P 0    P 9    P 4           a word for each block and chain
    block 1        A 2    P 5    A 1    P 8
    block 2        A 7    A 0    A 2    -
    block 3        12     5      12     waits         what the blocks before it have of each

The words are stored block by block, so that adjacent lanes read adjacent words. Sums are exact, so
a lane adds the counts on its way back to the nearest prefix, and loads the words of several blocks
at once. A word also holds the launch number, `turn`: words of an earlier launch are ignored, so
clearing once suffices for all launches.

Code inside the lanes of a warp, all of which run; on machines where a block may wait for an earlier
one.
"""

from __future__ import annotations

from flatweave.algorithms.lanes import EMPTY
from flatweave.algorithms.words import AGGREGATE, PREFIX
from flatweave.base.dtypes import i32, i64, u32, u64
from flatweave.base.records import record
from flatweave.kernel_ir.arrays import Values
from flatweave.kernel_ir.memory_ops import LoadWhole, StoreWhole
from flatweave.kernel_ir.syntax import Backoff
from flatweave.kernel_ir.warp_ops import Ballot
from flatweave.terms.build import Builder, index
from flatweave.terms.syntax import Atom, Const, Var, constant

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
