"""The passes of a sort on a CPU: the elements of a block are a run, read one by one, in order.

    for a chunk of the run:
        lanes:   digits[k] = digit of source[lo + k]       the key's work, on all lanes
        for k:   tally[digits[k]] += 1                     or: element k into its line

Keys are computed again in every pass, so nothing but the elements is ever moved.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from flatweave.base.dtypes import DType, bool_, i64, u16, u32
from flatweave.kernel_ir.host import Threads
from flatweave.kernel_ir.syntax import BlockIndex, Lane, Lanes, Load, Shared, Store
from flatweave.lower.context import Lowering
from flatweave.lower.kernel import KernelBuilder
from flatweave.lower.order_lines import Lines, scalar_loop
from flatweave.lower.order_pass import DigitPass
from flatweave.lower.walk import Position, State, Walk
from flatweave.terms.build import Builder, index
from flatweave.terms.control import For
from flatweave.terms.syntax import Atom, Const, Var

CHUNK = 1024
UNROLLED = 4
RUNS_OF_A_THREAD = 4
LEAST = 1 << 14
"""Elements that make a run worth its tables."""
MANY = 1 << 18
"""Elements of a run from which on wide digits, each of them rare, still fill their lines."""
FEW_BITS, MANY_BITS = 8, 11
NARROW = 8
"""Bytes of an element up to which the lines of all wide digits stay in second-level cache."""
ONE = Const(1, u32)

OnChunk = Callable[[Builder, Var, Atom, Atom], None]


class BlockRuns:
    """One run for each block, a few blocks for each thread."""

    def __init__(self, low: Lowering, total: Atom, dtypes: Sequence[DType]) -> None:
        host = low.host
        self.low = low
        self.total = total
        self.dtypes = dtypes
        most = host.mul(host.emit(Threads())[0], index(RUNS_OF_A_THREAD))
        wanted = host.apply("minimum", host.apply("floordiv", total, index(LEAST)), most)
        self.count = self.blocks = host.apply("maximum", wanted, index(1))
        ahead = host.sub(self.count, index(1))
        self.size = host.apply("floordiv", host.add(total, ahead), self.count)
        element = sum(dtype.bytes for dtype in dtypes)
        self.widest = MANY_BITS if element <= NARROW else FEW_BITS
        is_long = host.apply("ge", self.size, index(MANY))
        self.most_bits = host.apply("select", is_long, index(self.widest), index(FEW_BITS))
        self.streams: Atom = Const(False, bool_)
        if low.machine.streaming_from is not None:
            self.streams = host.apply("ge", total, index(low.machine.streaming_from // element))

    def write_count(self, digits: DigitPass, kernel: KernelBuilder, counts: Var) -> None:
        """Two tallies in turn, so that equal neighbours need not wait for each other."""
        b = kernel.body
        block = b.emit(BlockIndex())[0]
        room = 1 << self.widest
        count, runs = kernel.capture(digits.count), kernel.capture(self.count)
        tally = b.emit(Shared(u32, 2 * room))[0]
        for start in (0, room):
            _clear(b, tally, start, count)

        def on_chunk(c: Builder, staged: Var, at: Atom, length: Atom) -> None:
            def one(inside: Builder, k: Atom, turn: int = 0) -> None:
                digit = inside.cast(inside.emit(Load(staged, k))[0], i64)
                place = inside.add(digit, index(turn % 2 * room))
                known = inside.emit(Load(tally, place))[0]
                inside.emit(Store(tally, place, inside.add(known, ONE)))

            def several(inside: Builder, k: Atom) -> None:
                for turn in range(UNROLLED):
                    one(inside, inside.add(k, index(turn)), turn)

            whole = c.apply("and", length, index(-UNROLLED))
            scalar_loop(c, index(0), whole, several, UNROLLED)
            scalar_loop(c, whole, length, one)

        self._chunks(digits, kernel, block, on_chunk)
        target = kernel.buffer(counts)

        def leave(inside: Builder, digit: Atom) -> None:
            first = inside.emit(Load(tally, digit))[0]
            second = inside.emit(Load(tally, inside.add(digit, index(room))))[0]
            place = inside.add(inside.mul(digit, runs), block)
            inside.emit(Store(target, place, inside.cast(inside.add(first, second), i64)))

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

        def begin(inside: Builder, digit: Atom) -> None:
            place = inside.add(inside.mul(digit, runs), block)
            lines.begin(inside, digit, inside.emit(Load(first, place))[0])

        def on_chunk(c: Builder, staged: Var, at: Atom, length: Atom) -> None:
            def one(inside: Builder, k: Atom) -> None:
                digit = inside.cast(inside.emit(Load(staged, k))[0], i64)
                place = inside.add(at, k)
                values = [inside.emit(Load(buffer, place))[0] for buffer in source]
                lines.put(inside, digit, values)

            scalar_loop(c, index(0), length, one)

        scalar_loop(b, index(0), count, begin)
        self._chunks(digits, kernel, block, on_chunk)
        scalar_loop(b, index(0), count, lines.end)

    def _chunks(
        self, digits: DigitPass, kernel: KernelBuilder, block: Atom, on_chunk: OnChunk
    ) -> None:
        """The run of a block, chunk by chunk, the digits of each computed before it is read."""
        b, machine = kernel.body, self.low.machine
        size, total = kernel.capture(self.size), kernel.capture(self.total)
        lo = b.mul(block, size)
        hi = b.apply("minimum", b.add(lo, size), total)
        staged = b.emit(Shared(u16, CHUNK))[0]
        inside = b.inner()
        at = inside.param("c", i64)
        stop = inside.apply("minimum", inside.add(at, index(CHUNK)), hi)

        def step(c: Builder, position: Position, state: State) -> State:
            digit = c.cast(digits.digit(c, kernel, position.flat), u16)
            c.emit(Store(staged, c.sub(position.flat, at), digit))
            return state

        width = 2 * machine.lanes([*self.dtypes])
        walk = Walk(machine, (total,), total, width, False, False, ())
        walk.block(inside, at, stop, (), step)
        on_chunk(inside, staged, at, inside.sub(stop, at))
        b.emit(For(lo, hi, index(CHUNK), inside.close([at], []), ()))


def _clear(b: Builder, tally: Var, start: int, count: Atom) -> None:
    """tally[start ..] = 0, for `count` places and up to a step more."""
    width = 16
    region = b.inner()
    inside = region.inner()
    k = inside.param("k", i64)
    at = inside.add(inside.emit(Lane(k))[0], index(start))
    inside.emit(Store(tally, at, Const(0, u32)))
    region.emit(For(index(0), count, index(width), inside.close([k], []), ()))
    b.emit(Lanes(width, region.close([], [])))
