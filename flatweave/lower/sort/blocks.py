"""The passes of a sort on a CPU: the elements of a block are a run, read one by one, in order.

    for a chunk of the run:
        lanes:   digits[k] = digit of source[c + k]        the key's work, on all lanes
        for k:   tally[digits[k]] += 1                     or: element c + k into its line

Keys are computed again in every pass, so nothing but the elements is ever moved. Digits that are
had for a shift and a mask need no chunks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from flatweave.base.dtypes import DType, bool_, i64, u16, u32
from flatweave.kernel_ir.host import Threads
from flatweave.kernel_ir.syntax import BlockIndex, Lane, Lanes, Load, Shared, Store
from flatweave.lower.host.context import Lowering
from flatweave.lower.kernel.builder import KernelBuilder
from flatweave.lower.sort.digit_pass import DigitPass
from flatweave.lower.sort.key_bits import ceil_div
from flatweave.lower.sort.lines import LINE, Lines, scalar_loop
from flatweave.lower.traverse.flat import flat
from flatweave.lower.traverse.position import Position, State
from flatweave.terms.build import Builder, index
from flatweave.terms.control import For
from flatweave.terms.syntax import Atom, Const, Var

CHUNK = 512
UNROLLED = 2
AT_ONCE = 2
"""What a key may cost to be computed where its element is read: one by one, not on all lanes."""
RUNS_OF_A_THREAD = 4
LEAST = 1 << 14
"""Elements that make a run worth its tables."""
LONGEST = 1 << 31
"""Elements of a run, or a few more, so that they can be counted in 32 bits."""
MANY = 1 << 18
"""Elements of a run from which on wide digits, each of them rare, still fill their lines."""
FEW_BITS, MANY_BITS = 10, 11
LINES = 1 << 19
"""Bytes up to which the lines of all digits stay in second-level cache."""
ONE = Const(1, u32)

OnElement = Callable[[Builder, Atom, Atom, int], None]


class BlockRuns:
    """One run for each block, a few blocks for each thread."""

    def __init__(self, lowering: Lowering, total: Atom, dtypes: Sequence[DType]) -> None:
        host = lowering.host
        self.lowering = lowering
        self.total = total
        self.dtypes = dtypes
        most = host.mul(host.emit(Threads())[0], index(RUNS_OF_A_THREAD))
        most = host.apply("maximum", most, host.apply("floordiv", total, index(LONGEST)))
        wanted = host.apply("minimum", host.apply("floordiv", total, index(LEAST)), most)
        self.count = self.blocks = host.apply("maximum", wanted, index(1))
        self.size = ceil_div(host, total, self.count)
        element = sum(dtype.bytes for dtype in dtypes)
        self.widest = min(MANY_BITS, (LINES // (LINE * element)).bit_length() - 1)
        is_long = host.apply("ge", self.size, index(MANY))
        few = index(min(FEW_BITS, self.widest))
        self.most_bits = host.apply("select", is_long, index(self.widest), few)
        self.streams: Atom = Const(False, bool_)
        if lowering.machine.streaming_from is not None:
            least = index(lowering.machine.streaming_from // element)
            self.streams = host.apply("ge", total, least)

    @property
    def needs(self) -> list[Atom]:
        """The host values of theirs that a kernel may capture."""
        return [self.total, self.size, self.count, self.streams]

    def write_count(self, digits: DigitPass, kernel: KernelBuilder, counts: Var) -> None:
        """Two tallies in turn, so that equal neighbours need not wait for each other."""
        b = kernel.body
        block = b.emit(BlockIndex())[0]
        room = 1 << self.widest
        count, runs = kernel.capture(digits.count), kernel.capture(self.count)
        tally = b.emit(Shared(u32, 2 * room))[0]
        _clear(b, tally, (0, room), count)

        def one(c: Builder, digit: Atom, at: Atom, turn: int) -> None:
            place = c.add(digit, index(turn % 2 * room))
            known = c.emit(Load(tally, place))[0]
            c.emit(Store(tally, place, c.add(known, ONE)))

        self._each(digits, kernel, block, one, UNROLLED)
        target = kernel.buffer(counts)

        def leave(c: Builder, digit: Atom) -> None:
            first = c.emit(Load(tally, digit))[0]
            second = c.emit(Load(tally, c.add(digit, index(room))))[0]
            place = c.add(c.mul(digit, runs), block)
            c.emit(Store(target, place, c.cast(c.add(first, second), i64)))

        scalar_loop(b, index(0), count, leave)

    def write_move(self, digits: DigitPass, kernel: KernelBuilder, starts: Var) -> None:
        """Elements through lines, which leave for the target when they are full."""
        b = kernel.body
        block = b.emit(BlockIndex())[0]
        count, runs = kernel.capture(digits.count), kernel.capture(self.count)
        source = [kernel.buffer(buffer) for buffer in digits.source]
        target = [kernel.buffer(buffer) for buffer in digits.target]
        first = kernel.buffer(starts)
        lines = Lines(b, self.dtypes, target, 1 << self.widest, kernel.capture(self.streams))

        def begin(c: Builder, digit: Atom) -> None:
            place = c.add(c.mul(digit, runs), block)
            lines.begin(c, digit, c.emit(Load(first, place))[0])

        def one(c: Builder, digit: Atom, at: Atom, turn: int) -> None:
            lines.put(c, digit, [c.emit(Load(buffer, at))[0] for buffer in source])

        scalar_loop(b, index(0), count, begin)
        self._each(digits, kernel, block, one)
        scalar_loop(b, index(0), count, lines.end)

    def _each(
        self, digits: DigitPass, kernel: KernelBuilder, block: Atom, one: OnElement, turns: int = 1
    ) -> None:
        """The elements of a block's run in order, each with its digit; `turns` of them a turn."""
        b = kernel.body
        size, total = kernel.capture(self.size), kernel.capture(self.total)
        lo = b.mul(block, size)
        hi = b.apply("minimum", b.add(lo, size), total)
        if digits.cost <= AT_ONCE:

            def directly(c: Builder, at: Atom) -> Atom:
                return c.cast(digits.digit(c, kernel, at), i64)

            return _in_turns(b, lo, hi, directly, one, turns)
        staged = b.emit(Shared(u16, CHUNK))[0]
        inside = b.inner()
        start = inside.param("c", i64)
        stop = inside.apply("minimum", inside.add(start, index(CHUNK)), hi)
        self._stage(inside, digits, kernel, staged, start, stop)

        def loaded(c: Builder, at: Atom) -> Atom:
            return c.cast(c.emit(Load(staged, c.sub(at, start)))[0], i64)

        _in_turns(inside, start, stop, loaded, one, turns)
        b.emit(For(lo, hi, index(CHUNK), inside.close([start], []), ()))

    def _stage(
        self, b: Builder, digits: DigitPass, kernel: KernelBuilder, staged: Var, start: Atom,
        stop: Atom,
    ) -> None:  # fmt: skip
        """The digits of a chunk, on all lanes."""
        machine, total = self.lowering.machine, kernel.capture(self.total)

        def step(c: Builder, position: Position, state: State) -> State:
            digit = c.cast(digits.digit(c, kernel, position.flat), u16)
            c.emit(Store(staged, c.sub(position.flat, start), digit))
            return state

        width = 2 * machine.lanes([*self.dtypes])
        walk = flat(machine, total, width)
        walk.block(b, start, stop, (), step)


def _in_turns(
    b: Builder, lo: Atom, hi: Atom, digit: Callable[[Builder, Atom], Atom], one: OnElement,
    turns: int,
) -> None:  # fmt: skip
    """`one` for each element from lo to hi, `turns` of them written out in the loop's body."""

    def several(c: Builder, k: Atom) -> None:
        for turn in range(turns):
            at = c.add(k, index(turn))
            one(c, digit(c, at), at, turn)

    whole = b.add(lo, b.apply("and", b.sub(hi, lo), index(-turns)))
    scalar_loop(b, lo, whole, several, turns)
    if turns > 1:
        scalar_loop(b, whole, hi, lambda c, k: one(c, digit(c, k), k, 0))


def _clear(b: Builder, tally: Var, starts: Sequence[int], count: Atom) -> None:
    """tally[start ..] = 0 for each start, for `count` places and up to a step more."""
    width = 16
    region = b.inner()
    inside = region.inner()
    k = inside.param("k", i64)
    lane = inside.emit(Lane(k))[0]
    for start in starts:
        inside.emit(Store(tally, inside.add(lane, index(start)), Const(0, u32)))
    region.emit(For(index(0), count, index(width), inside.close([k], []), ()))
    b.emit(Lanes(width, region.close([], [])))
