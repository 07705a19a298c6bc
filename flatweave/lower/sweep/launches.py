"""A sweep becomes one kernel: the skeleton of most of the language, written once.

    claim a block
    for each level of scans:   reduce the block's elements; publish; look back     (prefixes.py)
    once more over the block:  scan from the prefixes, feed the sinks              (last_pass.py)
    leave one partial result of each reduction; the host combines them in block order

A sweep without scans has the last pass alone. Blocks depend on sizes only, so results do not
depend on the number of threads.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from flatweave.algorithms.words import NOTHING
from flatweave.base.records import record
from flatweave.kernel_ir.host import Free
from flatweave.lower.host.context import Declared, Lowering
from flatweave.lower.host.fill import fill
from flatweave.lower.host.held import held
from flatweave.lower.kernel.builder import KernelBuilder
from flatweave.lower.scan.block_partials import scan_block_partials
from flatweave.lower.scan.look_back import make_chain, make_words
from flatweave.lower.scan.one_block import make_only_block
from flatweave.lower.scan.two_pass import KnownPrefixes
from flatweave.lower.schedule.facts import SweepFacts
from flatweave.lower.schedule.packing import packing_of_scans
from flatweave.lower.schedule.plan import Carry, SweepPlan, Variant
from flatweave.lower.schedule.scan_levels import ScanRecord
from flatweave.lower.schedule.short_rows import extent_of_short, first_long
from flatweave.lower.schedule.words import WHY_ONES, WHY_SHORT, why_variant
from flatweave.lower.sweep.conditions import SUFFIXES, holds, rows_of_host
from flatweave.lower.sweep.contracted import write_contracted
from flatweave.lower.sweep.fold_work import ceil_div, fewer_with_folds
from flatweave.lower.sweep.in_tiles import write_in_tiles
from flatweave.lower.sweep.passes import Passes
from flatweave.lower.sweep.sink import HostSweep, LoweredSink
from flatweave.lower.sweep.writer import KernelWriter
from flatweave.lower.traverse.sources import groups
from flatweave.terms.build import index
from flatweave.terms.syntax import Atom, Const, Let, Var


def lower_sweep(
    lowering: Lowering, let: Let, facts: SweepFacts, plan: SweepPlan, sinks: Sequence[LoweredSink]
) -> None:
    """Emit the launch of one sweep into the host program and bind its results."""
    SweepLowering(lowering, let, facts, plan, sinks).run()


@record
class _ShortRows:
    """Rows that have a plan of their own: when they are there, the plan, the sweep that it is of,
    the end of its kernels' names, the reason to tell; and the extent that is 1."""

    there: Atom
    plan: SweepPlan
    facts: SweepFacts
    suffix: str
    why: str
    extent: Atom | None = None


class SweepLowering:
    """One sweep on its way to a kernel."""

    def __init__(
        self, lowering: Lowering, let: Let, facts: SweepFacts, plan: SweepPlan,
        sinks: Sequence[LoweredSink],
    ) -> None:  # fmt: skip
        self.lowering = lowering
        self.host = lowering.host
        self.facts = facts
        self.plan = plan
        self.sinks = sinks
        shape = tuple(lowering.scope.scalar(extent) for extent in facts.op.shape)
        total = lowering.host.product(shape)
        self.sweep = HostSweep(lowering, let, facts, plan, shape, total, *self._blocks(total), [])

    def _blocks(self, total: Atom) -> tuple[Atom, Atom]:
        """Elements of a block, and how many blocks: both from sizes alone."""
        host, tiling, located = self.host, self.plan.tiling, self.facts.located
        if self.plan.sources and located is not None:
            return total, groups(host, rows_of_host(self.lowering, located), self.plan.sources)
        least = max((sink.least_blocks for sink in self.sinks), default=0)
        if self.lowering.machine.one_block:
            return total, index(1) if least else host.apply("minimum", total, index(1))
        step = tiling.width * self.lowering.machine.warps
        wanted = host.apply("floordiv", total, index(self.lowering.machine.blocks_wanted * step))
        size = host.apply("maximum", host.mul(wanted, index(step)), index(tiling.least))
        size = host.apply("minimum", size, index(tiling.most))
        size = fewer_with_folds(self.lowering, self.facts, self.plan, total, size)
        size = self._whole_steps_of_short(size)
        blocks = host.apply("floordiv", host.add(total, host.sub(size, index(1))), size)
        return size, host.apply("maximum", blocks, index(least)) if least else blocks

    def _whole_steps_of_short(self, size: Atom) -> Atom:
        """Short rows are divided at whole steps: what streams begins on a cache line."""
        for rows in self._short_rows():
            width = max(rows.plan.traversal.width, 1)
            if not isinstance(size, Const) or size.value % width:
                steps = ceil_div(self.host, size, index(width))
                whole = self.host.mul(steps, index(width))
                size = self.host.apply("select", rows.there, whole, size)
        return size

    def _short_rows(self) -> Iterator[_ShortRows]:
        """Rows of one element, and other short ones, where they have a plan."""
        facts, scalar = self.facts, self.lowering.scope.scalar
        for plan in self.plan.ones:
            ones = facts.of_one(self.plan.traversal.lanes)
            assert ones is not None
            extent = scalar(ones.extent)
            there = self.host.apply("eq", extent, index(1))
            yield _ShortRows(there, plan, SweepFacts.of(ones.op), "_ones", WHY_ONES, extent)
        for plan in self.plan.short:
            rows = extent_of_short(facts.op, self.plan.traversal.lanes)
            assert rows is not None
            there = self.host.apply("lt", scalar(rows), index(first_long(self.lowering.machine)))
            yield _ShortRows(there, plan, facts, "_short", WHY_SHORT)

    def run(self) -> None:
        for sink in self.sinks:
            sink.allocate(self.sweep)
        for level in range(self.facts.scans.depth):
            self._scan(level)
        self._launch()
        for sink in self.sinks:
            sink.finish(self.sweep)
        for sink in self.sinks:
            sink.bind(self.sweep)
        for chain in self.sweep.chains:
            chain.free(self.host)

    # -- what tells a block what came before it ---------------------------------------------------

    def _scan(self, level: int) -> None:
        """A chain of blocks, or prefixes known beforehand."""
        lowering, sweep, records = self.lowering, self.sweep, self.facts.scans.levels[level]
        if self.plan.levels[level].carry is Carry.TWO_PASS:
            sweep.chains.append(self._find_prefixes(level, records))
            return
        first = [lowering.scope.scalar(atom) for record in records for atom in record.first]
        if self.plan.levels[level].carry is Carry.ONE_BLOCK:
            sweep.chains.append(make_only_block(self.host, records, first, lowering.site()))
            return
        clear = None if lowering.machine.shares_memory else self._clear
        made = (self.host, first, sweep.blocks, lowering.site(), clear)
        if self.plan.levels[level].carry is Carry.LOOK_BACK:
            sweep.chains.append(make_chain(*made))
            return
        packing = packing_of_scans(records, lowering.machine)
        assert packing is not None
        sweep.chains.append(make_words(*made, packing))

    def _clear(self, states: Var, count: Atom, first: Atom) -> None:
        fill(self.lowering, self.sweep.let, states, count, first, NOTHING)

    def _find_prefixes(self, level: int, records: Sequence[ScanRecord]) -> KnownPrefixes:
        """Two launches that find the prefix of every warp."""
        lowering, host, let, blocks = self.lowering, self.host, self.sweep.let, self.sweep.blocks
        slots = host.mul(blocks, index(lowering.machine.warps))
        parts = [(record.fn, record.neutral) for record in records]
        aggregates = [
            lowering.alloc_like(atom, slots) for _, neutral in parts for atom in neutral
        ]
        writer = self._writer(lowering.kernel(let, "_first"), self.plan.variants[-1])
        Passes(writer, self.sinks).write_aggregates(level, aggregates)
        lowering.launch(writer.kernel, blocks)
        first = [atom for record in records for atom in record.first]
        prefixes = scan_block_partials(lowering, let, parts, aggregates, slots, first)
        for buffer in aggregates:
            host.emit(Free(buffer))
        return KnownPrefixes(prefixes, slots)

    # -- the kernels ------------------------------------------------------------------------------

    def _launch(self) -> None:
        """Launch the first variant whose condition holds; a kernel of a choice, or of a branch of
        the program, is written when somebody asks for it."""
        *others, last = self.plan.variants
        in_branch = self.lowering.may_not_run and self.lowering.machine.shares_memory
        if not others and not in_branch and not (self.plan.ones or self.plan.short):
            said = why_variant(last, self.plan.variants, self.plan.stencil)
            if said:
                self.lowering.note(said)
            kernel = self.lowering.kernel(self.sweep.let)
            self._write(kernel, last)
            self.lowering.launch(kernel, self.sweep.blocks)
            return
        plain = self._later(last)
        tiled = sum(variant.tiled for variant in others)
        variants = [(self._holds(variant, self.facts), self._later(variant)) for variant in others]
        variants[tiled:tiled] = self._of_short()
        self.lowering.launch_first(variants, plain, self.sweep.blocks)

    def _of_short(self) -> Iterator[tuple[Atom, Declared]]:
        """The variants for short rows."""
        for rows in self._short_rows():
            for variant in rows.plan.variants:
                large = self._holds(variant, rows.facts)
                condition = self.host.apply("and", rows.there, large)
                yield condition, self._later_of_short(rows, variant)

    def _holds(self, variant: Variant, facts: SweepFacts) -> Atom:
        shape = [self.lowering.scope.scalar(extent) for extent in facts.op.shape]
        total, stencil = self.sweep.total, self.plan.stencil
        return holds(self.lowering, self.host, variant, facts, shape, total, stencil)

    def _later(self, variant: Variant) -> Declared:
        return self.lowering.later(
            self.sweep.let, SUFFIXES.get(variant.name, ""), self._needs(),
            lambda kernel, own: self._write(kernel, variant),
            why=why_variant(variant, self.plan.variants, self.plan.stencil),
        )

    def _later_of_short(self, rows: _ShortRows, variant: Variant) -> Declared:
        sweep = self.sweep

        def write(kernel: KernelBuilder, own: Sequence[Var]) -> None:
            if rows.extent is not None:
                kernel.know(rows.extent, index(1))
            sinks = [sink.fed(taken) for sink, taken in zip(
                self.sinks, rows.facts.op.portions(), strict=True)]  # fmt: skip
            writer = KernelWriter(
                self.lowering, rows.facts, rows.plan, variant, (), kernel, sweep.total, sweep.size
            )
            Passes(writer, sinks).write()

        reasons = (rows.why, why_variant(variant, rows.plan.variants))
        return self.lowering.later(
            sweep.let, rows.suffix + SUFFIXES.get(variant.name, ""), self._needs(), write,
            why="; ".join(filter(None, reasons)),
        )

    def _needs(self) -> list[Atom]:
        """The host values that a kernel of the sweep may capture."""
        sweep = self.sweep
        of_sweep = held((sweep.chains, sweep.total, sweep.size))
        needs = [*self.lowering.reads(self.facts.op), *of_sweep]
        for sink in self.sinks:
            needs.extend(sink.needs())
        return needs

    def _write(self, kernel: KernelBuilder, variant: Variant) -> None:
        writer = self._writer(kernel, variant)
        if variant.tiled:
            write_contracted(writer, self.sinks)
        elif variant.shared:
            write_in_tiles(writer, self.sinks)
        elif self.plan.folds_rows:
            self.sinks[0].write_alone(writer, self.sinks)
        else:
            Passes(writer, self.sinks).write()

    def _writer(self, kernel: KernelBuilder, variant: Variant) -> KernelWriter:
        sweep = self.sweep
        return KernelWriter(
            self.lowering, self.facts, self.plan, variant, sweep.chains, kernel, sweep.total,
            sweep.size,
        )
