"""Write combining: elements that go to many parts of an array at once are collected in lines.

    put d x:   stage[ends[d]] = x;  ends[d] += 1
               line full:  target[bases[d] ..] = the line, around the caches;  begin it anew

Stored one by one, elements whose targets differ by a power of two would compete for a few sets of
the caches. Each line of the target would also be read before it is written. The lines stay in the
first two levels of the cache (Satish and others 2010). The first and the last line of a digit are
shared with other runs; of those, a run writes only the elements that it owns.
"""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.base.dtypes import DType, i64, u32
from flatweave.kernel_ir.hierarchy import in_lanes, store_each
from flatweave.kernel_ir.syntax import Lane, Load, Shared, Store
from flatweave.lower.machine import CACHE_LINE
from flatweave.terms.build import Builder, index
from flatweave.terms.syntax import Atom, Const, Var

LINE = 32
"""Elements of a line; the branch that asks whether it is full is mistaken once for each line."""
ONE = Const(1, u32)


class Lines:
    """One line for each digit and array; `streams` says whether full lines leave for good."""

    def __init__(
        self, b: Builder, dtypes: Sequence[DType], target: Sequence[Var], digits: int, streams: Atom
    ) -> None:
        self.buffers = [b.emit(Shared(dtype, digits * LINE))[0] for dtype in dtypes]
        self.target = target
        self.streams = streams
        self.firsts = b.emit(Shared(i64, digits))[0]
        self.bases = b.emit(Shared(i64, digits))[0]
        self.ends = b.emit(Shared(u32, digits))[0]
        self.bypasses = [dtype.bytes * LINE >= CACHE_LINE for dtype in dtypes]

    def begin(self, b: Builder, digit: Atom, first: Atom) -> None:
        """The elements of a digit go to `first`, `first` + 1, .."""
        b.emit(Store(self.firsts, digit, first))
        b.emit(Store(self.bases, digit, b.apply("and", first, index(-LINE))))
        held = b.apply("and", first, index(LINE - 1))
        end = b.add(b.mul(digit, index(LINE)), held)
        b.emit(Store(self.ends, digit, b.cast(end, u32)))

    def put(self, b: Builder, digit: Atom, values: Sequence[Atom]) -> None:
        """The next element of a digit."""
        end = b.emit(Load(self.ends, digit))[0]
        at = b.cast(end, i64)
        store_each(b, self.buffers, at, values)
        after = b.add(end, ONE)
        b.emit(Store(self.ends, digit, after))
        rest = b.apply("and", after, Const(LINE - 1, u32))
        with b.when(b.apply("eq", rest, Const(0, u32))) as full:
            self._leave(full, digit)

    def _leave(self, b: Builder, digit: Atom) -> None:
        """A full line goes to the target."""
        base = b.emit(Load(self.bases, digit))[0]
        first = b.emit(Load(self.firsts, digit))[0]
        start = b.mul(digit, index(LINE))
        with b.branches(b.apply("ge", base, first)) as (whole, part):
            with whole.branches(self.streams) as (streaming, plain):
                self._line(streaming, start, base, streaming=True)
                self._line(plain, start, base, streaming=False)
            self._part(part, start, base, first, index(LINE))
        b.emit(Store(self.bases, digit, b.add(base, index(LINE))))
        b.emit(Store(self.ends, digit, b.cast(start, u32)))

    def end(self, b: Builder, digit: Atom) -> None:
        """What is left in a line goes to the target."""
        start = b.mul(digit, index(LINE))
        held = b.sub(b.cast(b.emit(Load(self.ends, digit))[0], i64), start)
        base = b.emit(Load(self.bases, digit))[0]
        first = b.emit(Load(self.firsts, digit))[0]
        with b.when(b.apply("gt", held, index(0))) as some:
            self._part(some, start, base, first, held)

    def _line(self, b: Builder, start: Atom, base: Atom, *, streaming: bool) -> None:
        with in_lanes(b, LINE) as region:
            lane, place = region.emit(Lane(start))[0], region.emit(Lane(base))[0]
            for stage, target, bypass in zip(self.buffers, self.target, self.bypasses, strict=True):
                value = region.emit(Load(stage, lane))[0]
                region.emit(Store(target, place, value, streaming and bypass))

    def _part(self, b: Builder, start: Atom, base: Atom, first: Atom, held: Atom) -> None:
        """The first `held` elements of a line but for those before `first`."""
        with in_lanes(b, LINE) as region:
            lane = region.emit(Lane(index(0)))[0]
            place = region.add(lane, base)
            mine = region.apply("and", region.apply("ge", place, first),
                                region.apply("lt", lane, held))  # fmt: skip
            with region.when(mine) as own:
                for stage, target in zip(self.buffers, self.target, strict=True):
                    value = own.emit(Load(stage, own.add(lane, start)))[0]
                    own.emit(Store(target, place, value))
