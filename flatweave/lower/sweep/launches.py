"""A sweep becomes one kernel: the skeleton of most of the language, written once.

    claim a block
    for each level of scans:   reduce the block's elements; publish; look back     (passes.py)
    once more over the block:  scan from the prefixes, feed the sinks              (passes.py)
    leave one partial result of each reduction; the host combines them in block order

A sweep without scans has only the last pass. Blocks depend on sizes only, so results do not
depend on the number of threads.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from flatweave.algorithms import block_scans
from flatweave.base.records import replace
from flatweave.kernel_ir.host import free
from flatweave.lower.context import Declared, Lowering, fill, held
from flatweave.lower.kernel_builder import KernelBuilder
from flatweave.lower.schedule.contraction import Ones, length_of_short
from flatweave.lower.schedule.facts import SweepFacts
from flatweave.lower.schedule.plan import Carry, SweepPlan
from flatweave.lower.schedule.scan_levels import ScanRecord, packing_of_scans
from flatweave.lower.schedule.steps import ALWAYS, Axis, Guard, Memory, Version
from flatweave.lower.schedule.versions import why_version
from flatweave.lower.sweep import chains as scan_chains
from flatweave.lower.sweep import contraction_spaces
from flatweave.lower.sweep.passes import Passes
from flatweave.lower.sweep.writer import HostSweep, KernelWriter, LoweredSink
from flatweave.lower.traverse import row_lookup
from flatweave.ops import Locate
from flatweave.passes.cost import cost_of_body
from flatweave.terms.build import TRUE, Builder, index
from flatweave.terms.operators import cast_each
from flatweave.terms.syntax import Atom, Const, Let, Var, types_of

# -- The guards of versions, as the host finds them out from sizes ---------------------------------


SUFFIXES = {
    "streaming": "_s", "rows": "_rows", "streaming-rows": "_rows_s", "fill": "_fill",
    "tiled": "_tiled", "whole": "_whole", "turned": "_turned",
}  # fmt: skip
"""What is added to the name of a sweep's kernel for a version."""


def suffix(version: Version) -> str:
    """What is added to the name of a sweep's kernel for a version."""
    rows = "_ones" if version.guard.one else "_short" if version.guard.below else ""
    width = version.guard.widest
    if width:
        return f"{rows}{SUFFIXES.get(version.name.partition('-')[0], '_tiled')}_{width}"
    return rows + SUFFIXES.get(version.name, "")


def are_short(lowering: Lowering, guard: Guard, facts: SweepFacts, axis: Axis) -> Atom:
    """Whether rows are as short as a version requires, where its sweep would otherwise run along
    `axis`."""
    host, scalar, ones = lowering.host, lowering.scope.scalar, facts.of_one(axis)
    if guard.one and ones:
        return host.apply("eq", scalar(ones.extent), index(1))
    length = length_of_short(facts.op, axis, facts.known)
    assert length is not None
    long = host.mul(scalar(length.rows), index(guard.below))
    return host.apply("lt", scalar(length.elements), long)


def holds(
    lowering: Lowering, host: Builder, version: Version, facts: SweepFacts,
    shape: Sequence[Atom], total: Atom,
) -> Atom:  # fmt: skip
    """Whether the sizes of a sweep are those that a version is for."""
    guard, conditions = version.guard, list[Atom]()
    if guard.inside:
        conditions += _is_tiled(lowering, host, guard, facts, shape, total)
    elif guard.narrowest and facts.turned is not None:
        sides = shape[facts.turned.axis], shape[-1]
        conditions += [host.apply("ge", side, index(guard.narrowest)) for side in sides]
    if guard.elements:
        conditions.append(host.apply("ge", total, index(guard.elements)))
    if guard.multiple > 1:
        rest = host.apply("mod", shape[-1], index(guard.multiple))
        conditions.append(host.apply("eq", rest, index(0)))
    if guard.mean:
        assert facts.located is not None
        least = host.mul(rows_of_host(lowering, facts.located), index(guard.mean))
        conditions.append(host.apply("ge", total, least))
    first, *others = conditions or [TRUE]
    for other in others:
        first = host.apply("and", first, other)
    return first


def _is_tiled(
    lowering: Lowering, host: Builder, guard: Guard, facts: SweepFacts,
    shape: Sequence[Atom], total: Atom,
) -> list[Atom]:  # fmt: skip
    """Whether a contraction is large enough, and everything that it reads is available."""
    found = facts.contraction
    assert found is not None
    around = [] if found.outer is None else [lowering.scope.scalar(found.outer.extent)]
    steps = lowering.scope.scalar(found.longest)
    least: Atom = index(guard.work)
    for extent in (steps, *around):  # a product of all extents might not fit
        each = host.apply("maximum", extent, index(1))
        least = host.ceil_div(least, each)
    bounds = [[lowering.scope.scalar(e) for e in pair] for pair in found.bounds]
    narrowest = index(guard.narrowest)
    sides = (*around, *shape[len(found.leading) :])
    large = [host.apply("ge", e, narrowest) for e in sides if guard.narrowest]
    if guard.widest:
        large.append(host.apply("le", shape[-1], index(guard.widest)))
    if guard.longest:
        large.append(host.apply("le", steps, index(guard.longest)))
    return [host.apply("ge", total, least), *large, *(host.apply("le", a, b) for a, b in bounds)]


def rows_of_host(lowering: Lowering, located: Locate) -> Atom:
    """How many rows there are, of those that positions are located among."""
    extent = lowering.scope.array(located.ends).shape[0]
    return lowering.host.sub(extent, index(located.skip))


# -- Blocks of fewer elements, where each of them folds over many ----------------------------------
#
#     12 means of 10^6 values: 12 blocks of one element, not one block of 12
#
# The host knows the length of a fold at run time. A block has as many elements as make up the
# smallest block's work, or more where there would otherwise be more blocks than wanted.


def fewer_with_folds(
    lowering: Lowering, facts: SweepFacts, plan: SweepPlan, total: Atom, size: Atom
) -> Atom:
    """The elements of a block: `size`, or fewer."""
    if not plan.bind.folds:
        return size
    host, machine = lowering.host, lowering.machine
    work: Atom = index(1)
    for fold, length in facts.even_folds:
        cost = index(max(1, cost_of_body(fold.body) + cost_of_body(fold.fn)))
        work = host.add(work, host.mul(lowering.scope.scalar(length), cost))
    enough = host.apply("floordiv", index(machine.block_work), work)
    share = host.ceil_div(total, index(machine.blocks_wanted))
    wanted = host.apply("maximum", host.apply("maximum", enough, share), index(1))
    step = _step(lowering, facts, plan)
    return host.apply("minimum", size, host.mul(host.ceil_div(wanted, step), step))


def _step(lowering: Lowering, facts: SweepFacts, plan: SweepPlan) -> Atom:
    """The elements that lanes take at once: a block has some times as many."""
    width = index(max(plan.plain.width, 1))
    if plan.plain.lanes.axis is not Axis.LAST:
        return width
    host = lowering.host
    row = host.apply("maximum", lowering.scope.scalar(facts.op.shape[-1]), index(1))
    return host.apply("minimum", width, row)


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
        """The elements of a block and the number of blocks: both depend only on sizes."""
        host, bind, located = self.host, self.plan.bind, self.facts.located
        if bind.rows and located is not None:
            return total, row_lookup.groups(host, rows_of_host(self.lowering, located), bind.rows)
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
        """Short rows are divided at whole steps: streaming stores begin on a cache line."""
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
        """Whether rows are as short as a version requires."""
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
            only = scan_chains.make_only_block(self.host, records, first, lowering.site())
            sweep.chains.append(only)
            return
        clear = None if lowering.machine.shares_memory else self._clear
        made = (self.host, first, sweep.blocks, lowering.site(), clear)
        if self.plan.levels[level].carry is Carry.LOOK_BACK:
            sweep.chains.append(scan_chains.make_chain(*made))
            return
        packing = packing_of_scans(records, lowering.machine)
        assert packing is not None
        sweep.chains.append(scan_chains.make_words(*made, packing))

    def _first(self, records: Sequence[ScanRecord]) -> list[Atom]:
        """The initial values before all elements, in the carried form."""
        first: list[Atom] = []
        for each in records:
            atoms = [self.lowering.scope.scalar(atom) for atom in each.first]
            first += cast_each(self.host, atoms, types_of(each.carried.neutral))
        return first

    def _clear(self, states: Var, count: Atom, first: Atom) -> None:
        fill(self.lowering, self.sweep.let, states, count, first, block_scans.NOTHING)

    def _find_prefixes(
        self, level: int, records: Sequence[ScanRecord]
    ) -> scan_chains.KnownPrefixes:
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
        prefixes = scan_chains.scan_block_partials(lowering, let, parts, aggregates, slots, first)
        free(host, *aggregates)
        return scan_chains.KnownPrefixes(prefixes, slots)

    # -- the kernels ------------------------------------------------------------------------------

    def _launch(self) -> None:
        """Launch the first version whose guard holds; a kernel of a choice, or of a branch of the
        program, is compiled lazily."""
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
        return why_version(version, self.plan.versions)

    @cached_property
    def _ones(self) -> tuple[Ones, SweepFacts] | None:
        """The sweep in its form for rows of one element."""
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
        if version.is_tiled:
            contraction_spaces.write_contracted(writer, sinks)
        elif version.caches(Memory.SHARED):
            contraction_spaces.write_turned(writer, sinks)
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
