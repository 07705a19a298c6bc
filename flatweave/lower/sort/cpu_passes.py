"""What CPUs' passes of a sort have separately: fewer of them, and lines that collect their stores.

    sample    of the numbers of 64 elements, any two that differ: the longest prefix they share
    bits      that prefix, and a bit more whenever there are twice as many elements
    passes    over these bits alone
    mend      an element goes back past the greater ones before it; they are alike in those bits

    key   7|3  2|9  7|1  2|4     passes   2|9  2|4  7|3  7|1     mend   2|4  2|9  7|1  7|3

Passes and mend are stable, so that there is only one result, whatever a sample finds. If elements
would have to go far, mend gives up, and passes over all bits follow.

    put d x:   stage[ends[d]] = x;  ends[d] += 1
               line full:  target[bases[d] ..] = the line, around the caches;  begin it anew

Stored one by one, elements whose targets differ by a power of two would compete for a few sets of
the caches. Each line of the target would also be read before it is written. The lines stay in the
first two levels of the cache (Satish and others 2010). The first and the last line of a digit are
shared with other runs; of those, a run writes only the elements that it owns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from flatweave.base.dtypes import DType, i64, u32, u64
from flatweave.kernel_ir.hierarchy import in_lanes, store_each
from flatweave.kernel_ir.host import Free, Role
from flatweave.kernel_ir.syntax import BlockIndex, Lane, Lanes, Load, Shared, Store
from flatweave.kernel_ir.warp_ops import ReduceLanes
from flatweave.lower.context import Declared, Own
from flatweave.lower.kernel_builder import KernelBuilder, spread
from flatweave.lower.machine import CACHE_LINE, WIDEST
from flatweave.lower.sort.digits import Keyed
from flatweave.terms.build import Builder, index, lambda_of
from flatweave.terms.operators import comes_before
from flatweave.terms.syntax import Atom, BufferType, Const, Let, Var, constant

LEAST = 1 << 10
"""Elements of which a sort may leave out bits; its kernels are not worth their making for fewer."""
SHARED = (WIDEST * WIDEST // 2 - 1).bit_length()
"""Bits that two of WIDEST random keys share: there are 2^11 pairs of them."""
SPARE = 3
"""Bits beyond those that number the elements: one of 16 stands before a smaller one, then."""
STEPS = 4
"""Places that elements may go back, on the average, before mend gives up."""
MAXIMUM = lambda_of("maximum", i64)


class Mend:
    """The last part of a sort whose passes leave out the trailing bits of its keys."""

    def __init__(self, let: Let, blocks: Atom, size: Atom, total: Atom) -> None:
        self.let = let
        self.blocks, self.size, self.total = blocks, size, total

    def _later(
        self, keyed: Keyed, suffix: str, needs: Sequence[Atom],
        write: Callable[[KernelBuilder, Var], None],
    ) -> Declared:  # fmt: skip
        """A kernel that is made when a sort first leaves out bits; it is given a buffer of i64."""
        lowering = keyed.lowering
        needs = [*lowering.reads(keyed.op.fn), *keyed.source, self.total, *needs]
        own: Own = [("cells", BufferType(i64))]
        return lowering.later(self.let, suffix, needs, lambda kb, own: write(kb, own[0]), own)

    # -- the sample -------------------------------------------------------------------------------

    def fewest_bits(self, host: Builder) -> Atom:
        """How many bits distinguish most elements if all bits of their keys are random."""
        return host.sub(index(64 + SPARE), host.cast(host.apply("clz", self.total), i64))

    def leading(self, keyed: Keyed, fewest: Atom) -> Atom:
        """How many of the bits that vary distinguish most elements, by a sample."""
        lowering, host = keyed.lowering, keyed.lowering.host
        cell = lowering.alloc(i64, index(1))
        word = index(keyed.bits.dtype.bits)
        rest: Atom = index(0)
        if keyed.bits.rest:
            rest = host.apply("maximum", host.sub(keyed.bits.end, word), rest)
        needs = [rest, *keyed.bits.needs]
        kernel = self._later(keyed, "_sample", needs, partial(self._write_sample, keyed, rest))
        lowering.launch(kernel, index(1), Role.SAMPLE, own=[cell])
        same = host.emit(Load(cell, index(0)))[0]
        host.emit(Free(cell))
        random = host.sub(host.add(word, index(SHARED)), host.sub(keyed.bits.end, rest))
        more = host.apply("maximum", host.sub(same, random), index(0))
        return host.add(fewest, more)

    def _write_sample(self, keyed: Keyed, rest: Atom, kernel: KernelBuilder, cell: Var) -> None:
        """result[0] = the longest prefix that two words share which are not equal; words have the
        numbers' first bits, the `rest` of them is left out."""
        b = kernel.body
        dtype = keyed.bits.dtype
        words, total = b.emit(Shared(dtype, WIDEST))[0], kernel.capture(self.total)
        with in_lanes(b, WIDEST) as region:
            lane = region.emit(Lane(index(0)))[0]
            anywhere = spread(region, region.cast(lane, u64))
            at = region.cast(region.apply("mod", anywhere, region.cast(total, u64)), i64)
            keys = keyed.keys_at(region, kernel, at)
            word = keyed.word(region, kernel, keys, kernel.capture(rest))
            region.emit(Store(words, lane, word))
        pairs = b.inner()
        mine = pairs.emit(Load(words, pairs.emit(Lane(index(0)))[0]))[0]
        inside, k, (most,) = pairs.iteration("k", [index(0)])
        other = inside.apply("xor", mine, inside.emit(Load(words, k))[0])
        same = inside.cast(inside.apply("clz", other), i64)
        differs = inside.apply("ne", other, constant(0, dtype))
        longer = inside.apply("maximum", most, inside.apply("select", differs, same, index(0)))
        found = inside.close_loop(index(0), index(WIDEST), [index(0)], [longer])
        (longest,) = b.emit(
            Lanes(WIDEST, pairs.close([], pairs.emit(ReduceLanes(MAXIMUM, found))))
        )
        b.emit(Store(cell, index(0), longest))

    # -- mend -------------------------------------------------------------------------------------

    def emit(self, keyed: Keyed) -> Atom:
        """Mend elements that are sorted by these bits of their keys; whether it was given up.

        Each block has the elements of its run, but for those alike the last one before it, and
        those alike its own last one.
        """
        lowering, host = keyed.lowering, keyed.lowering.host
        behind = host.add(self.blocks, index(1))
        cells = lowering.alloc(i64, host.add(behind, index(1)))
        host.emit(Store(cells, behind, index(0)))

        needs = [self.size, keyed.bits.least, *keyed.bits.needs]
        begins = self._later(keyed, "_begins", needs, partial(self._write_begins, keyed))
        lowering.launch(begins, behind, Role.COUNT, own=[cells])
        needs = [self.size, behind]
        mending = self._later(keyed, "_mend", needs, partial(self._write_mend, keyed, behind))
        lowering.launch(mending, self.blocks, Role.VARIANT, own=[cells])
        gave_up = host.emit(Load(cells, behind))[0]
        host.emit(Free(cells))
        return host.apply("ne", gave_up, index(0))

    def _write_begins(self, keyed: Keyed, kernel: KernelBuilder, firsts: Var) -> None:
        """firsts[k] = where block k begins; for the block after the last, where all end."""
        b = kernel.body
        block = b.emit(BlockIndex())[0]
        run = b.mul(block, kernel.capture(self.size))
        place = b.apply("minimum", run, kernel.capture(self.total))
        b.emit(Store(firsts, block, self._group(b, keyed, kernel, place)))

    def _write_mend(
        self, keyed: Keyed, gave_up: Atom, kernel: KernelBuilder, firsts: Var
    ) -> None:
        """Puts a block's elements in order, one by one; firsts[gave_up] = 1 if they go too far."""
        b, size = kernel.body, kernel.capture(self.size)
        block = b.emit(BlockIndex())[0]
        first = b.emit(Load(firsts, block))[0]
        last = b.emit(Load(firsts, b.add(block, index(1))))[0]
        begin, budget = b.add(first, index(1)), b.mul(size, index(STEPS))
        inside, at, (left,) = b.iteration("i", [budget])
        keys = keyed.keys_at(inside, kernel, at)
        before = keyed.keys_at(inside, kernel, inside.sub(at, index(1)))
        moved = inside.choose(
            comes_before(inside, keys, before),
            lambda c: [self._go_back(c, keyed, kernel, at, first, keys, left)], lambda _: [left],
        )  # fmt: skip
        (rest,) = inside.close_loop(begin, last, [budget], moved)
        with b.when(b.apply("le", rest, index(0))) as over:
            over.emit(Store(firsts, kernel.capture(gave_up), index(1)))

    def _group(self, b: Builder, keyed: Keyed, kernel: KernelBuilder, at: Atom) -> Atom:
        """Where the first elements begin, from `at` on, that are not alike the one before them."""
        total = kernel.capture(self.total)

        def is_alike(c: Builder, known: tuple[Atom, ...]) -> Atom:
            (i,) = known
            here = c.apply("minimum", i, c.sub(total, index(1)))
            before = c.apply("maximum", c.sub(i, index(1)), index(0))
            least = kernel.capture(keyed.bits.least)
            leading = [
                keyed.word(c, kernel, keyed.keys_at(c, kernel, place), least)
                for place in (here, before)
            ]
            inner = c.apply("and", c.apply("gt", i, index(0)), c.apply("lt", i, total))
            return c.apply("and", inner, c.apply("eq", *leading))

        return b.repeat(
            (at,), is_alike, lambda c, known: (c.add(known[0], index(1)),), "i", through_memory=True
        )[0]

    def _go_back(
        self, b: Builder, keyed: Keyed, kernel: KernelBuilder, at: Atom, first: Atom,
        keys: Sequence[Atom], left: Atom,
    ) -> Atom:  # fmt: skip
        """An element goes back past those of greater keys; how many steps are left then."""
        buffers = [kernel.buffer(buffer) for buffer in keyed.source]
        element = [b.emit(Load(buffer, at))[0] for buffer in buffers]

        def goes_on(c: Builder, known: tuple[Atom, ...]) -> Atom:
            i, rest = known
            before = c.apply("maximum", c.sub(i, index(1)), first)
            greater = comes_before(c, keys, keyed.keys_at(c, kernel, before))
            inner = c.apply("and", c.apply("gt", i, first), c.apply("gt", rest, index(0)))
            return c.apply("and", inner, greater)

        def step(c: Builder, known: tuple[Atom, ...]) -> tuple[Atom, ...]:
            i, rest = known
            previous = c.sub(i, index(1))
            for buffer in buffers:
                c.emit(Store(buffer, i, c.emit(Load(buffer, previous))[0]))
            return previous, c.sub(rest, index(1))

        place, after = b.repeat((at, left), goes_on, step, "i left", through_memory=True)
        store_each(b, buffers, place, element)
        return after


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
