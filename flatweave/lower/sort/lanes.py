"""The passes of a sort where lanes are threads: each lane has a run of its own.

    tally[d, t] += 1            t: the thread's number in its block; nobody else touches column t
    places[d, t]: where the next element of thread t with digit d goes

So order is kept with neither atomics nor barriers (Satish and others 2009); digits are as narrow as
the columns need.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from flatweave.base.dtypes import DType, i64, u32
from flatweave.kernel_ir.syntax import BlockIndex, Lane, Lanes, Load, Shared, Store
from flatweave.lower.host.context import Lowering
from flatweave.lower.kernel.builder import KernelBuilder
from flatweave.lower.sort.digit_pass import DigitPass
from flatweave.lower.traverse.warp_share import warp_index
from flatweave.terms.build import Builder, index
from flatweave.terms.control import For
from flatweave.terms.syntax import Atom, Const, Var

BITS = 4
LEAST = 16
"""Elements of a lane's run at least."""
MOST_RUNS = 1 << 14
"""Runs up to which the scan of their counts, by one warp, is short."""
ZERO, ONE = Const(0, u32), Const(1, u32)

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
        self.size = host.apply("maximum", least, index(LEAST))
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
        source = [kernel.buffer(buffer) for buffer in digits.source]
        target = [kernel.buffer(buffer) for buffer in digits.target]

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
            inside = region.inner()
            k = inside.param("k", i64)
            act(inside, k)
            region.emit(For(start, stop, index(1), inside.close([k], []), ()))
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
