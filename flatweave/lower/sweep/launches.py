"""A sweep becomes one kernel: the skeleton of most of the language, written once.

    claim a block
    for each level of scans:   reduce the block's elements; publish; look back     (prefixes.py)
    once more over the block:  scan from the prefixes, feed the sinks              (last_pass.py)
    leave one partial result of each reduction; the host combines them in block order

A sweep without scans has the last pass alone. Blocks depend on sizes only, so results do not
depend on the number of threads.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from flatweave.algorithms.words import NOTHING
from flatweave.base.records import replace
from flatweave.kernel_ir.host import Free
from flatweave.lower.host.context import Declared, Lowering
from flatweave.lower.host.fill import fill
from flatweave.lower.host.held import held
from flatweave.lower.kernel.builder import KernelBuilder
from flatweave.lower.scan.block_partials import scan_block_partials
from flatweave.lower.scan.look_back import make_chain, make_words
from flatweave.lower.scan.one_block import make_only_block
from flatweave.lower.scan.two_pass import KnownPrefixes
from flatweave.lower.schedule.choose import shared_tile_of
from flatweave.lower.schedule.facts import SweepFacts
from flatweave.lower.schedule.packing import packing_of_scans
from flatweave.lower.schedule.plan import Carry, SweepPlan
from flatweave.lower.schedule.scan_levels import ScanRecord
from flatweave.lower.schedule.short_rows import Ones
from flatweave.lower.schedule.words import why_version
from flatweave.lower.sweep.conditions import are_short, holds, rows_of_host, suffix
from flatweave.lower.sweep.contracted import write_contracted
from flatweave.lower.sweep.fold_work import fewer_with_folds
from flatweave.lower.sweep.in_tiles import write_in_tiles
from flatweave.lower.sweep.passes import Passes
from flatweave.lower.sweep.sink import HostSweep, LoweredSink
from flatweave.lower.sweep.writer import KernelWriter
from flatweave.lower.traverse.sources import groups
from flatweave.nest.schedule import ALWAYS, Guard, RegisterTile, SharedTile, Version
from flatweave.terms.build import index
from flatweave.terms.operators import cast_each
from flatweave.terms.syntax import Atom, Const, Let, Var, types_of


def lower_sweep(
    lowering: Lowering, let: Let, facts: SweepFacts, plan: SweepPlan, sinks: Sequence[LoweredSink]
) -> None:
    """Emit the launch of one sweep into the host program and bind its results."""
    SweepLowering(lowering, let, facts, plan, sinks).run()


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
        host, bind, located = self.host, self.plan.bind, self.facts.located
        if bind.rows and located is not None:
            return total, groups(host, rows_of_host(self.lowering, located), bind.rows)
        least = max((sink.least_blocks for sink in self.sinks), default=0)
        if self.lowering.machine.one_block:
            return total, index(1) if least else host.apply("minimum", total, index(1))
        step = self.plan.plain.lanes.width * self.lowering.machine.warps
        wanted = host.apply("floordiv", total, index(self.lowering.machine.blocks_wanted * step))
        size = host.apply("maximum", host.mul(wanted, index(step)), index(bind.least))
        size = host.apply("minimum", size, index(bind.most))
        size = fewer_with_folds(self.lowering, self.facts, self.plan, total, size)
        size = self._whole_steps_of_short(size)
        blocks = host.ceil_div(total, size)
        return size, host.apply("maximum", blocks, index(least)) if least else blocks

    def _whole_steps_of_short(self, size: Atom) -> Atom:
        """Short rows are divided at whole steps: what streams begins on a cache line."""
        guards = {version.guard.short_rows: version for version in reversed(self.plan.versions)}
        for guard, version in reversed(guards.items()):
            if guard == ALWAYS:
                continue
            there, width = self._are_short(guard), max(version.width, 1)
            if not isinstance(size, Const) or size.value % width:
                steps = self.host.ceil_div(size, index(width))
                whole = self.host.mul(steps, index(width))
                size = self.host.apply("select", there, whole, size)
        return size

    def _are_short(self, guard: Guard) -> Atom:
        """Whether rows are as short as a version asks for."""
        return are_short(self.lowering, guard, self.facts, self.plan.plain.lanes.axis)

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
        first = self._first(records)
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

    def _first(self, records: Sequence[ScanRecord]) -> list[Atom]:
        """What comes before all elements, as it is carried."""
        first: list[Atom] = []
        for each in records:
            atoms = [self.lowering.scope.scalar(atom) for atom in each.first]
            first += cast_each(self.host, atoms, types_of(each.carried.neutral))
        return first

    def _clear(self, states: Var, count: Atom, first: Atom) -> None:
        fill(self.lowering, self.sweep.let, states, count, first, NOTHING)

    def _find_prefixes(self, level: int, records: Sequence[ScanRecord]) -> KnownPrefixes:
        """Two launches that find the prefix of every warp."""
        lowering, host, let, blocks = self.lowering, self.host, self.sweep.let, self.sweep.blocks
        slots = host.mul(blocks, index(lowering.machine.warps))
        parts = [(record.carried.fn, record.carried.neutral) for record in records]
        aggregates = [
            lowering.alloc_like(atom, slots) for _, neutral in parts for atom in neutral
        ]
        writer = self._writer(lowering.kernel(let, "_first"), self.plan.plain)
        Passes(writer, self.sinks).write_aggregates(level, aggregates)
        lowering.launch(writer.kernel, blocks)
        first = self._first(records)
        prefixes = scan_block_partials(lowering, let, parts, aggregates, slots, first)
        for buffer in aggregates:
            host.emit(Free(buffer))
        return KnownPrefixes(prefixes, slots)

    # -- the kernels ------------------------------------------------------------------------------

    def _launch(self) -> None:
        """Launch the first version whose guard holds; a kernel of a choice, or of a branch of the
        program, is written when somebody asks for it."""
        *others, last = self.plan.versions
        in_branch = self.lowering.may_not_run and self.lowering.machine.shares_memory
        if not others and not in_branch:
            if said := self._why(last):
                self.lowering.note(said)
            kernel = self.lowering.kernel(self.sweep.let)
            self._write(kernel, last)
            self.lowering.launch(kernel, self.sweep.blocks)
            return
        plain = self._later(last)
        versions = {
            version: (self._holds(version), self._later(version))
            for version in sorted(others, key=lambda each: each.guard.of_short_rows)
        }
        chosen = [versions[version] for version in others]
        self.lowering.launch_first(chosen, plain, self.sweep.blocks)

    def _why(self, version: Version) -> str:
        plan, machine = self.plan, self.lowering.machine
        stencil = shared_tile_of(self.facts, machine, plan.plain.lanes, plan.scatter)
        return why_version(version, plan.versions, stencil)

    @cached_property
    def _ones(self) -> tuple[Ones, SweepFacts] | None:
        """What the sweep is over rows of one element."""
        ones = self.facts.of_one(self.plan.plain.lanes.axis)
        return (ones, SweepFacts(ones.op)) if ones else None

    def _holds(self, version: Version) -> Atom:
        lowering, guard, facts = self.lowering, version.guard, self.facts
        if guard.one and self._ones:
            facts = self._ones[1]
        shape = [lowering.scope.scalar(extent) for extent in facts.op.shape]
        if not guard.of_short_rows:
            return holds(lowering, self.host, version, facts, shape, self.sweep.total)
        there = self._are_short(guard)
        large = holds(lowering, self.host, version, facts, shape, self.sweep.total)
        return self.host.apply("and", there, large)

    def _later(self, version: Version) -> Declared:
        return self.lowering.later(
            self.sweep.let, suffix(version), self._needs(),
            lambda kernel, own: self._write(kernel, version), why=self._why(version),
        )  # fmt: skip

    def _needs(self) -> list[Atom]:
        """The host values that a kernel of the sweep may capture."""
        sweep = self.sweep
        of_sweep = held((sweep.chains, sweep.total, sweep.size))
        needs = [*self.lowering.reads(self.facts.op), *of_sweep]
        for sink in self.sinks:
            needs.extend(sink.needs())
        return needs

    def _write(self, kernel: KernelBuilder, version: Version) -> None:
        writer, sinks = self._writer(kernel, version), self.sinks
        if version.guard.one:
            portions = writer.op.portions()
            sinks = [sink.fed(taken) for sink, taken in zip(sinks, portions, strict=True)]
        if version.step(RegisterTile):
            write_contracted(writer, sinks)
        elif version.step(SharedTile):
            write_in_tiles(writer, sinks)
        elif version.rows.folded:
            sinks[0].write_alone(writer, sinks)
        else:
            Passes(writer, sinks).write()

    def _writer(self, kernel: KernelBuilder, version: Version) -> KernelWriter:
        sweep, facts, plan, chains = self.sweep, self.facts, self.plan, self.sweep.chains
        if version.guard.one and self._ones:
            ones, facts = self._ones
            kernel.know(self.lowering.scope.scalar(ones.extent), index(1))
            plan, chains = replace(plan, levels=()), []
        return KernelWriter(
            self.lowering, facts, plan, version, chains, kernel, sweep.total, sweep.size
        )
