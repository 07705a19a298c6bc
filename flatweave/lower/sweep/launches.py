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

from flatweave.base.dtypes import i64
from flatweave.kernel_ir.host import Free, Trim
from flatweave.kernel_ir.syntax import Load
from flatweave.lower.host.context import Lowering
from flatweave.lower.host.fill import fill
from flatweave.lower.kernel.builder import KernelBuilder
from flatweave.lower.kernel.scope import HostArray
from flatweave.lower.scan.block_partials import scan_block_partials
from flatweave.lower.scan.look_back import NOTHING, PREFIX, make_chain
from flatweave.lower.scan.two_pass import KnownPrefixes
from flatweave.lower.schedule.facts import SweepFacts
from flatweave.lower.schedule.plan import Carry, SweepPlan, Variant
from flatweave.lower.schedule.scan_levels import ScanRecord, with_slots
from flatweave.lower.sinks.carry_out import join_carry_outs, segmented
from flatweave.lower.sinks.outputs import Outputs
from flatweave.lower.sweep.fold_rows import write_rows
from flatweave.lower.sweep.passes import Passes
from flatweave.lower.sweep.writer import KernelWriter
from flatweave.lower.traverse.sources import groups
from flatweave.lower.update.atomic import placed, write_winners
from flatweave.lower.update.choose import merged
from flatweave.ops import (
    Combine,
    CombineRows,
    CombineSegments,
    Compact,
    Insert,
    Locate,
    Merge,
    Place,
)
from flatweave.ops import Store as StoreSink
from flatweave.terms.build import index
from flatweave.terms.control import For
from flatweave.terms.syntax import Atom, Let, Var


def lower_sweep(low: Lowering, let: Let, facts: SweepFacts, plan: SweepPlan) -> None:
    """Emit the launch of one sweep into the host program and bind its results."""
    SweepLowering(low, let, facts, plan).run()


class SweepLowering:
    """One sweep on its way to a kernel."""

    def __init__(
        self, low: Lowering, let: Let, facts: SweepFacts, plan: SweepPlan
    ) -> None:
        self.low = low
        self.let = let
        self.op = facts.op
        self.host = low.host
        self.facts = facts
        self.plan = plan
        self.outputs = Outputs()

    def _sources(self, located: Locate) -> Atom:
        """The number of an expansion's sources."""
        extent = self.low.scope.array(located.ends).shape[0]
        return self.host.sub(extent, index(located.skip))

    # -- the host's side --------------------------------------------------------------------------

    def run(self) -> None:
        low, host = self.low, self.host
        shape = [low.scope.scalar(extent) for extent in self.op.shape]
        total = host.product(shape)
        size, blocks = self._blocks(total)
        self._allocate(total, blocks)
        self._chain(total, size, blocks)
        self._launch(shape, total, size, blocks)
        for k, left in self.outputs.segments.items():
            sink = self.op.sinks[k]
            assert isinstance(sink, CombineRows | CombineSegments)
            join_carry_outs(self.low, self.let, sink, left, total)
        self._bind(shape, blocks)

    def _blocks(self, total: Atom) -> tuple[Atom, Atom]:
        """Elements of a block, and how many blocks: both from sizes alone."""
        host, tiling, located = self.host, self.plan.tiling, self.facts.located
        if self.plan.sources and located is not None:
            return total, groups(host, self._sources(located), self.plan.sources)
        step = tiling.width * self.low.machine.warps
        wanted = host.apply("floordiv", total, index(self.low.machine.blocks_wanted * step))
        size = host.apply("maximum", host.mul(wanted, index(step)), index(tiling.least))
        size = host.apply("minimum", size, index(tiling.most))
        blocks = host.apply("floordiv", host.add(total, host.sub(size, index(1))), size)
        if any(isinstance(sink, CombineRows) for sink in self.op.sinks):
            blocks = host.apply("maximum", blocks, index(1))  # rows without elements are filled
        return size, blocks

    def _allocate(self, total: Atom, blocks: Atom) -> None:
        groups = self.op.binders_by_sink(self.let.vars)
        for k, (sink, vars_) in enumerate(zip(self.op.sinks, groups, strict=True)):
            match sink:
                case StoreSink():
                    self.outputs.stores[k] = self.low.alloc_like(vars_[0], total)
                case Compact():
                    kept = tuple(self.low.alloc_like(var, total) for var in vars_[1:])
                    self.outputs.compacts[k] = kept
                case Combine(neutral=neutral):
                    parts = tuple(self.low.alloc_like(atom, blocks) for atom in neutral)
                    self.outputs.partials[k] = parts
                case CombineSegments():
                    self.outputs.segments[k] = segmented(self.low, sink, total, blocks)
                case CombineRows(rows=rows):
                    room = self.low.scope.scalar(rows)
                    self.outputs.segments[k] = segmented(self.low, sink, room, blocks)
                case Insert(dest=dest, offset=offset):
                    buffer = self.low.own(dest, self.let)
                    self.outputs.inserts[k] = buffer, self.low.scope.scalar(offset)
                case Merge():
                    way = self.plan.scatter[0].name
                    self.outputs.merges[k] = merged(self.low, self.let, sink, way)
                case Place():
                    taken = self.op.portions()[k]
                    self.outputs.places[k] = placed(self.low, self.let, sink, taken, total)

    def _chain(self, total: Atom, size: Atom, blocks: Atom) -> None:
        """What tells a block what came before it: chains, or prefixes known beforehand."""
        low = self.low
        for level, records in enumerate(self.facts.scans.levels):
            if self.plan.levels[level].carry is Carry.TWO_PASS:
                self._find_prefixes(level, records, total, size, blocks)
                continue
            first = [low.scope.scalar(atom) for record in records for atom in record.first]
            clear = None if low.machine.shares_memory else self._clear
            chain = make_chain(self.host, first, blocks, low.site(), clear)
            self.outputs.chains.append(chain)

    def _clear(self, states: Var, slots: Atom) -> None:
        fill(self.low, self.let, states, slots, PREFIX, NOTHING)

    def _find_prefixes(
        self, level: int, records: Sequence[ScanRecord], total: Atom, size: Atom, blocks: Atom
    ) -> None:
        """Two launches that find the prefix of every warp."""
        low, host = self.low, self.host
        slots = host.mul(blocks, index(low.machine.warps))
        parts = [(record.fn, record.neutral) for record in records]
        aggregates = [
            low.alloc_like(atom, slots) for _, neutral in parts for atom in neutral
        ]
        writer = self._writer(low.kernel(self.let, "_first"), total, size, self.plan.variants[-1])
        Passes(writer).write_aggregates(level, aggregates)
        low.launch(writer.kernel, blocks)
        first = [atom for record in records for atom in record.first]
        prefixes = scan_block_partials(low, self.let, parts, aggregates, slots, first)
        for buffer in aggregates:
            host.emit(Free(buffer))
        self.outputs.chains.append(KnownPrefixes(prefixes, slots))

    def _bind(self, shape: Sequence[Atom], blocks: Atom) -> None:
        groups = self.op.binders_by_sink(self.let.vars)
        scope = self.low.scope
        for k, vars_ in enumerate(groups):
            if k in self.outputs.stores:
                scope.bind(vars_[0], HostArray(self.outputs.stores[k], tuple(shape)))
            elif k in self.outputs.inserts:
                assert isinstance(self.op.sinks[k], Insert)
                held = scope.array(self.op.sinks[k].dest)  # type: ignore[attr-defined]
                scope.bind(vars_[0], HostArray(self.outputs.inserts[k][0], held.shape))
            elif k in self.outputs.merges or k in self.outputs.places:
                self._bind_updated(k, vars_)
            elif isinstance(sink := self.op.sinks[k], CombineRows):
                extent = scope.scalar(sink.rows)
                for var, buffer in zip(vars_, self.outputs.segments[k].results, strict=True):
                    scope.bind(var, HostArray(buffer, (extent,)))
            elif k in self.outputs.partials:
                self._bind_combined(vars_, self.op.sinks[k], self.outputs.partials[k], blocks)
            else:
                self._bind_compacted(k, vars_, self.host.product(shape))
        for chain in self.outputs.chains:
            chain.free(self.host)

    def _bind_combined(
        self, vars_: Sequence[Var], sink: object, partials: Sequence[Var], blocks: Atom
    ) -> None:
        """The partial results of the blocks, combined in order on the host."""
        assert isinstance(sink, Combine)
        host = self.host
        if not self.low.machine.shares_memory:
            return self._bind_reduced(vars_, sink, partials, blocks)
        inside = host.inner()
        block = inside.param("b", i64)
        state = [inside.param("s", atom.type) for atom in sink.neutral]
        parts = [inside.emit(Load(buffer, block))[0] for buffer in partials]
        body = inside.close([block, *state], self.low.call(inside, sink.fn, [*state, *parts]))
        neutral = tuple(self.low.scope.scalar(atom) for atom in sink.neutral)
        results = host.emit(For(index(0), blocks, index(1), body, neutral))
        for var, result in zip(vars_, results, strict=True):
            self.low.scope.bind(var, result)
        for buffer in partials:
            host.emit(Free(buffer))

    def _bind_reduced(
        self, vars_: Sequence[Var], sink: Combine, partials: Sequence[Var], blocks: Atom
    ) -> None:
        """The partial results combined by a launch, where the host has no access of its own."""
        parts = [(sink.fn, sink.neutral)]
        prefixes = scan_block_partials(self.low, self.let, parts, partials, blocks)
        for var, prefix in zip(vars_, prefixes, strict=True):
            self.low.scope.bind(var, self.host.emit(Load(prefix, blocks))[0])
        for buffer in (*partials, *prefixes):
            self.host.emit(Free(buffer))

    def _bind_updated(self, k: int, vars_: Sequence[Var]) -> None:
        """The arrays that a scattering sink wrote into."""
        sink = self.op.sinks[k]
        assert isinstance(sink, Merge | Place)
        if k in self.outputs.places:
            write_winners(self.low, self.let, self.outputs.places[k])
        else:
            self.outputs.merges[k].finish(self.low, self.let)
        dest = (self.outputs.merges.get(k) or self.outputs.places[k]).dest
        for var, buffer, array in zip(vars_, dest, sink.dest, strict=True):
            self.low.scope.bind(var, HostArray(buffer, self.low.scope.array(array).shape))

    def _bind_compacted(self, k: int, vars_: Sequence[Var], total: Atom) -> None:
        for chain, records in zip(self.outputs.chains, self.facts.scans.levels, strict=True):
            for slot, record in with_slots(records):
                if record.compact != k:
                    continue
                kept: Atom = self.host.emit(Load(chain.prefixes[slot], chain.last))[0]
                buffers = self.outputs.compacts.get(k)
                if buffers is None:  # the last segment is open at the end
                    kept = self.host.add(kept, self.host.apply("minimum", total, index(1)))
                    buffers = self.outputs.segments[k].results
                self.low.scope.bind(vars_[0], kept)
                for var, buffer in zip(vars_[1:], buffers, strict=True):
                    self.host.emit(Trim(buffer, kept))
                    self.low.scope.bind(var, HostArray(buffer, (kept,)))

    # -- the kernels ------------------------------------------------------------------------------

    def _launch(self, shape: Sequence[Atom], total: Atom, size: Atom, blocks: Atom) -> None:
        """Launch the first variant whose condition holds."""
        *others, last = self.plan.variants
        plain = self._kernel(total, size, last)
        if not others:
            self.low.launch(plain, blocks)
            return
        (variant,) = others
        fast = self._kernel(total, size, variant)
        self.low.launch_one_of(self._holds(variant, shape, total), fast, plain, blocks)

    def _holds(self, variant: Variant, shape: Sequence[Atom], total: Atom) -> Atom:
        """Whether the sizes are those that a variant is for."""
        host = self.host
        holds = host.apply("ge", total, index(variant.least))
        if variant.multiple > 1:
            rest = host.apply("mod", shape[-1], index(variant.multiple))
            holds = host.apply("and", holds, host.apply("eq", rest, index(0)))
        return holds

    def _kernel(self, total: Atom, size: Atom, variant: Variant) -> KernelBuilder:
        kernel = self.low.kernel(self.let, "_s" if variant.streaming else "")
        writer = self._writer(kernel, total, size, variant)
        if self.plan.folds_rows:
            write_rows(writer)
        else:
            Passes(writer).write()
        return kernel

    def _writer(
        self, kernel: KernelBuilder, total: Atom, size: Atom, variant: Variant
    ) -> KernelWriter:
        return KernelWriter(
            self.low, self.facts, self.plan, variant, self.outputs, kernel, total, size
        )
