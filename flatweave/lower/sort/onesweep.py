"""Passes of a sort by blocks that look back: one launch for a digit (Adinets, Merrill 2022).

    counts[t, d]    how many elements have d as digit number t, of all digits     one launch
    starts          the prefixes of all counts                                      one launch
    for each digit:
        words[b, d] what block b has of d, then what all up to b have              in the
        moved       each block moves its elements                                   same launch

Elements are read once for all counts, and once for each digit. All passes use the same words: each
word carries the number of its digit, which tells it from those of earlier passes. So one launch
clears them, and the counts before them. See `onesweep_kernel.py` for what a block does.
"""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.base.dtypes import DType, bool_, i64, u32
from flatweave.kernel_ir.host import Role
from flatweave.kernel_ir.memory_ops import Atomic
from flatweave.kernel_ir.syntax import BlockIndex, Load, Shared, Store, Sync
from flatweave.lower.context import Lowering, fill
from flatweave.lower.kernel_builder import KernelBuilder
from flatweave.lower.schedule.plan import digit_bits
from flatweave.lower.sort.counted_runs import ADD
from flatweave.lower.sort.digits import DigitPass, ceil_div
from flatweave.lower.sort.onesweep_kernel import Held, SweepKernel, by_threads
from flatweave.lower.sweep.chains import scan_block_partials
from flatweave.terms.build import Builder, index
from flatweave.terms.syntax import Atom, Let, Var, constant, scalar_type

TILES = 16
"""A block that counts takes at least this many tiles, each with the elements that one block moves.
It adds each of its counts to the global ones only once."""


class Sweeps:
    """One launch for a digit, after one that counts all of them."""

    def __init__(
        self, lowering: Lowering, let: Let, total: Atom, dtypes: Sequence[DType], each: int
    ) -> None:
        host, machine = lowering.host, lowering.machine
        self.lowering, self.let, self.total, self.each = lowering, let, total, each
        self.bits = digit_bits(machine)
        self.most_bits: Atom = index(self.bits)
        self.size = each << self.bits
        self.blocks = ceil_div(host, total, index(self.size))

    def begin(self, digits: DigitPass) -> tuple[Var, ...]:
        """The words of all passes, and where each digit's elements begin."""
        lowering, host = self.lowering, self.lowering.host
        entries = index(self._entries(digits))
        words_of_blocks = host.mul(self.blocks, index(1 << self.bits))
        count = host.add(entries, words_of_blocks)
        words = lowering.alloc(i64, count, "words")
        fill(lowering, self.let, words, count, index(0), index(0))
        self._count(digits, words)
        parts = [(ADD, (index(0),))]
        return words, *scan_block_partials(lowering, self.let, parts, [words], entries)

    def _entries(self, digits: DigitPass) -> int:
        """Counts of as many digits as the keys may have."""
        bits = sum(scalar_type(field.varying).bits for field in digits.bits.fields)
        return -(-bits // self.bits) << self.bits

    def move(self, digits: DigitPass, shared: tuple[Var, ...]) -> None:
        """One launch."""
        kernel = digits.lowering.kernel(self.let)
        words, starts = (kernel.buffer(buffer) for buffer in shared)
        held = Held(
            kernel, self.lowering.machine, self.each, digits.source, range(len(digits.source))
        )
        SweepKernel(
            digits, kernel, held, self.bits, kernel.capture(self.total), words,
            self._entries(digits), starts,
        ).write()  # fmt: skip
        digits.lowering.launch(kernel, self.blocks)

    # -- what is counted before -------------------------------------------------------------------

    def _count(self, digits: DigitPass, words: Var) -> None:
        """Launch the blocks that count every digit of every element."""
        lowering, host = self.lowering, self.lowering.host
        wanted = ceil_div(host, self.blocks, index(TILES))
        blocks = host.apply("minimum", wanted, index(lowering.machine.blocks_wanted))
        some = host.apply("gt", digits.key.many, index(0))
        blocks = host.apply("select", some, blocks, index(0))
        kernel = lowering.kernel(self.let, "_count")
        tiles = ceil_div(host, self.blocks, host.apply("maximum", blocks, index(1)))
        self._write_count(digits, kernel, kernel.buffer(words), kernel.capture(tiles))
        lowering.launch(kernel, blocks, Role.COUNT)

    def _write_count(
        self, digits: DigitPass, kernel: KernelBuilder, words: Var, tiles: Atom
    ) -> None:
        """Tallies in shared memory, added to those of all at the end."""
        b, places = kernel.body, self._entries(digits)
        held = Held(kernel, self.lowering.machine, self.each, digits.source, digits.read)
        tally = b.emit(Shared(u32, places))[0]
        by_threads(b, self.lowering.machine, places, lambda c, at: _clear(c, tally, at))
        b.emit(Sync())
        total, block = kernel.capture(self.total), b.emit(BlockIndex())[0]
        lo = b.mul(b.mul(block, tiles), held.size)
        hi = b.apply("minimum", b.add(lo, b.mul(tiles, held.size)), total)
        with b.loop(lo, hi, held.size, hint="first") as (inside, first):
            count = inside.apply("minimum", held.size, inside.sub(hi, first))
            held.load(inside, first, count)
            self._tally(inside, digits, kernel, held, count, tally)
        b.emit(Sync())

        def leave(c: Builder, at: Atom) -> None:
            counted = c.emit(Load(tally, at))[0]
            with c.when(c.apply("gt", counted, constant(0, u32))) as some:
                some.emit(Atomic("add", words, at, some.cast(counted, i64)))

        by_threads(b, self.lowering.machine, places, leave)

    def _tally(
        self, b: Builder, digits: DigitPass, kernel: KernelBuilder, held: Held, count: Atom,
        tally: Var,
    ) -> None:  # fmt: skip
        """Count every digit of the elements that threads hold."""
        many, width = kernel.capture(digits.key.many), digits.key.width
        least = kernel.capture(digits.bits.least)

        def act(c: Builder, k: Atom, at: Atom, active: Atom | None) -> None:
            there = constant(True, bool_) if active is None else active
            with c.when(there) as d:
                keys = digits.keys_of(d, kernel, held.component(k))
                with d.loop(index(0), many, hint="t") as (e, t):
                    shift = e.add(least, e.mul(t, kernel.capture(width)))
                    digit = e.cast(digits.digit_of(e, kernel, keys, shift), i64)
                    place = e.add(e.mul(t, index(1 << self.bits)), digit)
                    e.emit(Atomic("add", tally, place, constant(1, u32)))

        held.turns(b, count, act)


def _clear(b: Builder, tally: Var, at: Atom) -> None:
    b.emit(Store(tally, at, constant(0, u32)))
