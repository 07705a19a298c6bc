"""Passes of a sort whose elements are divided into runs, which are counted before they move.

    counts[d, r]   how many elements with digit d the run r has            one launch
    starts         the prefixes of all counts, digit by digit               one launch
    moved          each run moves its elements, in order, from its starts   one launch

A *run* is some neighbours: a block's on a CPU, a lane's where lanes are threads and blocks must not
wait for each other. Order is kept inside a run and between runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from flatweave.base.dtypes import DType, bool_, i64, u16, u32
from flatweave.kernel_ir.hierarchy import in_lanes
from flatweave.kernel_ir.host import Free, Role, Threads
from flatweave.kernel_ir.syntax import BlockIndex, Lane, Lanes, Load, Shared, Store
from flatweave.lower.context import Declared, Lowering
from flatweave.lower.kernel_builder import KernelBuilder
from flatweave.lower.sort.cpu_passes import LINE, Lines
from flatweave.lower.sort.digits import DigitPass, Runs, ceil_div
from flatweave.lower.sweep.chains import scan_block_partials
from flatweave.lower.traverse.steps import Position, State, warp_index
from flatweave.lower.traverse.traversal import flat
from flatweave.passes.cost import READ
from flatweave.terms.build import Builder, index, lambda_of
from flatweave.terms.syntax import Atom, Const, Let, Var

ADD = lambda_of("add", i64)


class CountedRuns:
    """Three launches for a digit."""

    def __init__(self, let: Let, runs: Runs) -> None:
        self.let = let
        self.runs = runs
        self.most_bits = runs.most_bits

    def begin(self, digits: DigitPass) -> tuple[Var, ...]:
        """Room for the counts of a pass."""
        lowering, host = digits.lowering, digits.lowering.host
        entries = host.mul(digits.count, self.runs.count)
        return (lowering.alloc(i64, entries, "counts"),)

    def move(self, digits: DigitPass, shared: tuple[Var, ...]) -> None:
        """Count, scan, move."""
        lowering, runs, (counts,) = digits.lowering, self.runs, shared
        self._launch(digits, digits.of_one_key, "_count", Role.COUNT, runs.write_count, counts)
        entries, parts = lowering.host.mul(digits.count, runs.count), [(ADD, (index(0),))]
        starts = scan_block_partials(lowering, self.let, parts, [counts], entries)[0]
        self._launch(digits, digits.ways, "", Role.PASS, runs.write_move, starts)
        lowering.host.emit(Free(starts))

    def _launch(
        self, digits: DigitPass, ways: Callable[[Builder], Iterator[tuple[Atom, DigitPass]]],
        suffix: str, role: Role, write: Callable[[DigitPass, KernelBuilder, Var], None], table: Var,
    ) -> None:  # fmt: skip
        """A kernel of the pass. Of several keys a digit may have the bits of one alone, so that the
        others need not be read; arrays that nothing reads later need not be moved."""
        lowering, runs = digits.lowering, self.runs
        if not lowering.machine.shares_memory:
            kernel = lowering.kernel(self.let, suffix)
            write(digits, kernel, table)
            return lowering.launch(kernel, runs.blocks, role)
        needs = [*digits.needs, *runs.needs, table]

        def later(digits: DigitPass) -> Declared:
            return lowering.later(
                self.let, digits.name + suffix, needs,
                lambda kernel, own: write(digits, kernel, table),
            )  # fmt: skip

        variants = [(holds, later(one)) for holds, one in ways(lowering.host)]
        lowering.launch_first(variants, later(digits), runs.blocks, role)


# -- The passes of a sort on a CPU: the elements of a block are a run, read one by one, in order ---
#
#     for a chunk of the run:
#         lanes:   digits[k] = digit of source[c + k]        the key's work, on all lanes
#         for k:   tally[digits[k]] += 1                     or: element c + k into its line
#
# Keys are computed again in every pass, so nothing but the elements is ever moved. Digits that are
# had for a shift and a mask need no chunks.


RUNS_OF_A_THREAD = 4
MANY = 1 << 18
"""Elements of a run from which on wide digits, each of them rare, still fill their lines."""
FEW_BITS, MANY_BITS = 10, 11
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
        most = host.apply("maximum", most, host.apply("floordiv", total, index(1 << u32.bits - 1)))
        least = index(lowering.machine.block_of_reads)
        wanted = host.apply("minimum", host.apply("floordiv", total, least), most)
        self.count = self.blocks = host.apply("maximum", wanted, index(1))
        self.size = ceil_div(host, total, self.count)
        element, lines = sum(dtype.bytes for dtype in dtypes), lowering.machine.among_streams
        self.widest = min(MANY_BITS, (lines // (LINE * element)).bit_length() - 1)
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
        """Alternates two tallies, so that equal neighbours need not wait for each other."""
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

        self._each(digits, kernel, block, one, 2)
        target = kernel.buffer(counts)

        with b.loop(index(0), count, hint="k") as (c, digit):
            first = c.emit(Load(tally, digit))[0]
            second = c.emit(Load(tally, c.add(digit, index(room))))[0]
            place = c.add(c.mul(digit, runs), block)
            c.emit(Store(target, place, c.cast(c.add(first, second), i64)))

    def write_move(self, digits: DigitPass, kernel: KernelBuilder, starts: Var) -> None:
        """Elements through lines, which leave for the target when they are full."""
        b = kernel.body
        block = b.emit(BlockIndex())[0]
        count, runs = kernel.capture(digits.count), kernel.capture(self.count)
        source = [kernel.buffer(digits.source[k]) for k in digits.moved]
        target = [kernel.buffer(digits.target[k]) for k in digits.moved]
        dtypes = [self.dtypes[k] for k in digits.moved]
        first = kernel.buffer(starts)
        lines = Lines(b, dtypes, target, 1 << self.widest, kernel.capture(self.streams))

        def one(c: Builder, digit: Atom, at: Atom, turn: int) -> None:
            lines.put(c, digit, [c.emit(Load(buffer, at))[0] for buffer in source])

        with b.loop(index(0), count, hint="k") as (c, digit):
            place = c.add(c.mul(digit, runs), block)
            lines.begin(c, digit, c.emit(Load(first, place))[0])
        self._each(digits, kernel, block, one)
        with b.loop(index(0), count, hint="k") as (c, digit):
            lines.end(c, digit)

    def _each(
        self, digits: DigitPass, kernel: KernelBuilder, block: Atom, one: OnElement, turns: int = 1
    ) -> None:
        """Calls `one` for the elements of a block's run in order, with their digits; unrolled."""
        b = kernel.body
        size, total = kernel.capture(self.size), kernel.capture(self.total)
        lo = b.mul(block, size)
        hi = b.apply("minimum", b.add(lo, size), total)
        if digits.cost <= READ:  # one by one, not on all lanes

            def directly(c: Builder, at: Atom) -> Atom:
                return c.cast(digits.digit(c, kernel, at), i64)

            return _in_turns(b, lo, hi, directly, one, turns)
        chunk = self.lowering.machine.staged
        staged = b.emit(Shared(u16, chunk))[0]
        with b.loop(lo, hi, chunk, hint="c") as (inside, start):
            stop = inside.apply("minimum", inside.add(start, index(chunk)), hi)
            self._stage(inside, digits, kernel, staged, start, stop)

            def loaded(c: Builder, at: Atom) -> Atom:
                return c.cast(c.emit(Load(staged, c.sub(at, start)))[0], i64)

            _in_turns(inside, start, stop, loaded, one, turns)

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
    """Calls `one` for each element from lo to hi, in an unrolled loop."""

    whole = b.add(lo, b.apply("and", b.sub(hi, lo), index(-turns)))
    with b.loop(lo, whole, turns, hint="k") as (c, k):
        for turn in range(turns):
            at = c.add(k, index(turn))
            one(c, digit(c, at), at, turn)
    if turns > 1:
        with b.loop(whole, hi, hint="k") as (c, k):
            one(c, digit(c, k), k, 0)


def _clear(b: Builder, tally: Var, starts: Sequence[int], count: Atom) -> None:
    """tally[start ..] = 0 for each start, for `count` elements and up to a step more."""
    width = 16
    with in_lanes(b, width) as region, region.loop(index(0), count, width, "k") as (inside, k):
        lane = inside.emit(Lane(k))[0]
        for start in starts:
            inside.emit(Store(tally, inside.add(lane, index(start)), Const(0, u32)))


# -- The passes of a sort whose lanes are threads: each lane has a separate run --------------------
#
#     tally[d, t] += 1            t: the thread's number in its block; only thread t uses column t
#     places[d, t]: where the next element of thread t with digit d goes
#
# So order is kept with neither atomics nor barriers (Satish and others 2009); digits are as narrow
# as the columns need.


BITS = 4
MOST_RUNS = 1 << 14
"""Runs up to which the scan of their counts, by one warp, is short."""
ZERO = Const(0, u32)

Act = Callable[[Builder, Atom], None]


class LaneRuns:
    """One run for each lane of every block."""

    def __init__(self, lowering: Lowering, total: Atom, dtypes: Sequence[DType]) -> None:
        host = lowering.host
        assert lowering.machine.fixed_width is not None
        self.lowering = lowering
        self.total = total
        self.dtypes = dtypes
        self.lanes = lowering.machine.fixed_width
        self.threads = self.lanes * lowering.machine.warps
        self.most_bits: Atom = index(BITS)
        least = host.apply("floordiv", host.add(total, index(MOST_RUNS - 1)), index(MOST_RUNS))
        self.size = host.apply("maximum", least, index(1 << BITS))  # as many as it counts digits
        block = host.mul(self.size, index(self.threads))
        ahead = host.sub(block, index(1))
        self.blocks = host.apply("floordiv", host.add(total, ahead), block)
        self.count = host.mul(self.blocks, index(self.threads))

    @property
    def needs(self) -> list[Atom]:
        """The host values of theirs that a kernel may capture."""
        return [self.total, self.size, self.count]

    def write_count(self, digits: DigitPass, kernel: KernelBuilder, counts: Var) -> None:
        """A column of counts for each run."""
        b = kernel.body
        target = kernel.buffer(counts)
        tally = _Column(self, b, kernel, u32)

        def begin(c: Builder, digit: Atom) -> None:
            tally.set(c, digit, ZERO)

        def one(c: Builder, at: Atom) -> None:
            digit = c.cast(digits.digit(c, kernel, at), i64)
            tally.set(c, digit, c.add(tally.get(c, digit), ONE))

        def leave(c: Builder, digit: Atom) -> None:
            counted = c.cast(tally.get(c, digit), i64)
            c.emit(Store(target, tally.slot(c, digit), counted))

        self._write(digits, kernel, tally, (begin, one, leave))

    def write_move(self, digits: DigitPass, kernel: KernelBuilder, starts: Var) -> None:
        """Each lane goes through its run once more."""
        b = kernel.body
        first = kernel.buffer(starts)
        places = _Column(self, b, kernel, i64)
        source = [kernel.buffer(digits.source[k]) for k in digits.moved]
        target = [kernel.buffer(digits.target[k]) for k in digits.moved]

        def begin(c: Builder, digit: Atom) -> None:
            start = c.emit(Load(first, places.slot(c, digit)))[0]
            places.set(c, digit, start)

        def one(c: Builder, at: Atom) -> None:
            digit = c.cast(digits.digit(c, kernel, at), i64)
            place = places.get(c, digit)
            for old, new in zip(source, target, strict=True):
                c.emit(Store(new, place, c.emit(Load(old, at))[0]))
            places.set(c, digit, c.add(place, index(1)))

        self._write(digits, kernel, places, (begin, one))

    def _write(
        self, digits: DigitPass, kernel: KernelBuilder, column: _Column, acts: Sequence[Act]
    ) -> None:
        """In each lane: the first act for each digit, the second for each element, the third, if
        there is one, for each digit again."""
        size, total = kernel.capture(self.size), kernel.capture(self.total)
        region = column.region
        lo = region.apply("minimum", region.mul(column.run, size), total)
        hi = region.apply("minimum", region.add(lo, size), total)
        zero, count = index(0), kernel.capture(digits.count)
        for act, (start, stop) in zip(acts, ((zero, count), (lo, hi), (zero, count)), strict=False):
            with region.loop(start, stop, hint="k") as (inside, k):
                act(inside, k)
        kernel.body.emit(Lanes(self.lanes, region.close([], [])))


class _Column:
    """One value of each digit for each thread of a block."""

    def __init__(self, runs: LaneRuns, b: Builder, kernel: KernelBuilder, dtype: DType) -> None:
        self.threads = index(runs.threads)
        self.values = b.emit(Shared(dtype, runs.threads << BITS))[0]
        self.runs = kernel.capture(runs.count)
        block = b.emit(BlockIndex())[0]
        warp = b.mul(warp_index(b, runs.lowering.machine), index(runs.lanes))
        self.region = b.inner()
        self.thread: Atom = self.region.emit(Lane(warp))[0]
        self.run = self.region.add(self.thread, b.mul(block, self.threads))

    def get(self, b: Builder, digit: Atom) -> Atom:
        """This thread's value."""
        return b.emit(Load(self.values, b.add(b.mul(digit, self.threads), self.thread)))[0]

    def set(self, b: Builder, digit: Atom, value: Atom) -> None:
        """Change it."""
        b.emit(Store(self.values, b.add(b.mul(digit, self.threads), self.thread), value))

    def slot(self, b: Builder, digit: Atom) -> Atom:
        """Where the run's own value is among all runs', digit by digit."""
        return b.add(b.mul(digit, self.runs), self.run)
