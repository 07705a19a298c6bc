"""How each kind of sink of the array language is lowered, with the short lowerings."""

from __future__ import annotations

from collections.abc import Mapping

from flatweave import ops
from flatweave.algorithms.loops import adds_floats
from flatweave.base.dtypes import u64
from flatweave.kernel_ir.hierarchy import store_each
from flatweave.kernel_ir.host import Trim, free
from flatweave.kernel_ir.memory_ops import StoreInTurn
from flatweave.kernel_ir.syntax import Load, Store, StoreCompact
from flatweave.kernel_ir.warp_ops import Ballot
from flatweave.lower import atomic
from flatweave.lower.in_place import room_in
from flatweave.lower.kernel_builder import HostArray
from flatweave.lower.sweep import chains
from flatweave.lower.sweep.combine_rows import CombineRowsSink
from flatweave.lower.sweep.segments import CombineSegmentsSink
from flatweave.lower.sweep.writer import HostSweep, KernelWriter, LoweredSink, SinkStep
from flatweave.lower.traverse.steps import State, steps_of, while_active
from flatweave.ops import Sweep
from flatweave.ops.arrays import WORD
from flatweave.terms.build import FALSE, Builder, index
from flatweave.terms.syntax import Atom, Let, Var, constant

# -- The array of all results: each element at its position ----------------------------------------


class StoreSink(LoweredSink):
    """Stores around the caches where the variant streams, in whole steps that are aligned."""

    buffer: Var
    is_given = False

    def allocate(self, sweep: HostSweep) -> None:
        given = room_in(
            sweep.lowering, sweep.let, sweep.facts, sweep.plan, self.vars[0], sweep.total
        )
        self.is_given = given is not None
        self.buffer = given or sweep.lowering.alloc_like(self.vars[0], sweep.total)

    def step(self, writer: KernelWriter, step: SinkStep, state: State) -> State:
        position, (value,) = step.position, step.elements.atoms(self.taken)
        aligned = position.aligned and not self.is_given  # which may begin anywhere
        streaming = writer.streaming and position.width > 1 and aligned
        buffer = writer.kernel.buffer(self.buffer)
        step.inside.emit(Store(buffer, position.flat, value, streaming))
        return state

    def bind(self, sweep: HostSweep) -> None:
        sweep.lowering.scope.bind(self.vars[0], HostArray(self.buffer, sweep.shape))


# -- The results of each element side by side: weave -----------------------------------------------


class InTurnSink(LoweredSink):
    """The buffer has room for all results, also where the array that is bound to it has fewer."""

    buffer: Var

    def allocate(self, sweep: HostSweep) -> None:
        room = sweep.lowering.host.mul(sweep.total, index(self.sink.count))
        self.buffer = sweep.lowering.alloc_like(self.vars[0], room)

    def step(self, writer: KernelWriter, step: SinkStep, state: State) -> State:
        position, values = step.position, step.elements.atoms(self.taken)
        streaming = writer.streaming and position.width > 1 and position.aligned
        buffer = writer.kernel.buffer(self.buffer)
        step.inside.emit(StoreInTurn(buffer, position.flat, tuple(values), streaming))
        return state

    def bind(self, sweep: HostSweep) -> None:
        shape = tuple(sweep.lowering.scope.scalar(extent) for extent in self.sink.shape)
        sweep.lowering.scope.bind(self.vars[0], HostArray(self.buffer, shape))


# -- Elements written into an existing array, consecutively from an offset: concat -----------------


class InsertSink(LoweredSink):
    """Writes into the array itself where nothing else needs it."""

    buffer: Var
    offset: Atom

    def allocate(self, sweep: HostSweep) -> None:
        self.buffer = sweep.lowering.own(self.sink.dest, sweep.let)
        self.offset = sweep.lowering.scope.scalar(self.sink.offset)

    def step(self, writer: KernelWriter, step: SinkStep, state: State) -> State:
        place = step.inside.add(writer.kernel.capture(self.offset), step.position.flat)
        buffer = writer.kernel.buffer(self.buffer)
        step.inside.emit(Store(buffer, place, step.elements.atoms(self.taken)[0]))
        return state

    def bind(self, sweep: HostSweep) -> None:
        shape = sweep.lowering.scope.array(self.sink.dest).shape
        sweep.lowering.scope.bind(self.vars[0], HostArray(self.buffer, shape))


# -- The elements whose flag holds, contiguous: a scan counts them and so gives their indices ------


class CompactSink(LoweredSink):
    """Into the result, or into scratch memory on its way there."""

    def allocate(self, sweep: HostSweep) -> None:
        self.compacted = tuple(sweep.lowering.alloc_like(var, sweep.total) for var in self.vars[1:])

    def step(self, writer: KernelWriter, step: SinkStep, state: State) -> State:
        b, slot = step.b, writer.scans.slot_of_count(self.number)
        place, limit = step.carries[slot], writer.ends[slot]
        flag, *values = step.elements.atoms(self.taken)
        keep = while_active(b, (flag,), (FALSE,), step.position)[0]
        if writer.scratch:
            buffers = writer.scratch[self.number]
            limit = index(writer.scratch_room)
        else:
            buffers = tuple(writer.kernel.buffer(buffer) for buffer in self.compacted)
        if step.position.width > 1:
            b.emit(StoreCompact(buffers, place, limit, keep, tuple(values)))
            return state
        with b.when(keep) as inside:
            store_each(inside, buffers, place, values)
        return state

    def bind(self, sweep: HostSweep) -> None:
        scope, kept = sweep.lowering.scope, sweep.counted(self.number)
        scope.bind(self.vars[0], kept)
        for var, buffer in zip(self.vars[1:], self.compacted, strict=True):
            sweep.lowering.host.emit(Trim(buffer, kept))
            scope.bind(var, HostArray(buffer, (kept,)))


# -- The flags of all elements, as bits of words ---------------------------------------------------
#
# Blocks are whole words, and a thread visits its positions in order. So it begins a word where it
# stores bit 0, and adds bits to it where it goes on. Steps of warps are whole words.


class BitsSink(LoweredSink):
    """A step's flags are one word, or two; along rows, parts of two."""

    buffer: Var

    def allocate(self, sweep: HostSweep) -> None:
        extent = sweep.lowering.scope.scalar(self.sink.extent)
        self.buffer = sweep.lowering.alloc_like(self.vars[0], extent)

    def step(self, writer: KernelWriter, step: SinkStep, state: State) -> State:
        b, position = step.b, step.position
        flag = while_active(b, step.elements.atoms(self.taken), (FALSE,), position)[0]
        buffer = writer.kernel.buffer(self.buffer)
        base = position.flat if position.width == 1 else position.base
        assert base is not None
        flags = b.emit(Ballot(flag))[0] if position.width > 1 else b.cast(flag, u64)
        if not (position.aligned and position.width >= WORD.bits):
            for first in range(0, position.width, WORD.bits):
                part = b.apply("shr", flags, constant(first, u64)) if first else flags
                at, count = b.add(base, index(first)), min(position.width, WORD.bits)
                self._add(b, buffer, at, part, count)
            return state
        word = b.apply("floordiv", base, index(WORD.bits))

        def store(c: Builder) -> None:
            for number in range(position.width // WORD.bits):
                part = c.apply("shr", flags, constant(number * WORD.bits, u64))
                c.emit(Store(buffer, c.add(word, index(number)), c.cast(part, WORD)))

        steps_of(writer.lowering.machine).once(b, position, store)
        return state

    def _add(self, b: Builder, buffer: Var, at: Atom, flags: Atom, count: int) -> None:
        """The flags of `count` positions from `at` on, after those of all positions before."""
        word = b.apply("floordiv", at, index(WORD.bits))
        used = b.sub(at, b.mul(word, index(WORD.bits)))
        placed = b.apply("shl", flags, b.cast(used, u64))

        def joined(c: Builder) -> list[Atom]:
            before = c.emit(Load(buffer, word))[0]
            return [c.apply("or", before, c.cast(placed, WORD))]

        is_new = b.apply("eq", used, index(0))
        (found,) = b.choose(is_new, lambda c: [c.cast(placed, WORD)], joined)
        b.emit(Store(buffer, word, found))
        if count > 1:
            spills = b.apply("gt", b.add(used, index(count)), index(WORD.bits))
            with b.when(spills) as more:
                rest = more.cast(more.apply("shr", placed, constant(WORD.bits, u64)), WORD)
                more.emit(Store(buffer, more.add(word, index(1)), rest))

    def bind(self, sweep: HostSweep) -> None:
        extent = sweep.lowering.scope.scalar(self.sink.extent)
        sweep.lowering.scope.bind(self.vars[0], HostArray(self.buffer, (extent,)))


# -- A reduction over all elements: each block leaves a partial result, joined in order of blocks --


GROUP = 64
"""Partial results that are joined to each other before they are joined to those before them."""


class CombineSink(LoweredSink):
    """The last pass does its part for all reductions of the sweep together."""

    def allocate(self, sweep: HostSweep) -> None:
        lowering, blocks = sweep.lowering, sweep.blocks
        self.partials = tuple(lowering.alloc_like(atom, blocks) for atom in self.sink.neutral)

    def bind(self, sweep: HostSweep) -> None:
        if sweep.lowering.machine.shares_memory:
            self._join_on_host(sweep)
        else:
            self._join_by_launch(sweep)

    def _join_on_host(self, sweep: HostSweep) -> None:
        lowering, host = sweep.lowering, sweep.lowering.host
        inside, block, state = host.iteration("b", self.sink.neutral)
        parts = [inside.emit(Load(buffer, block))[0] for buffer in self.partials]
        neutral = tuple(lowering.scope.scalar(atom) for atom in self.sink.neutral)
        fn, after = self.sink.fn, lowering.call(inside, self.sink.fn, [*state, *parts])
        if adds_floats(fn):  # no float takes part in many additions: see algorithms/loops.py
            total = [inside.param("s", atom.type) for atom in neutral]
            full = inside.apply("eq", inside.apply("mod", block, index(GROUP)), index(GROUP - 1))
            joined = lowering.call(inside, fn, [*total, *after])
            pairs = zip([*neutral, *joined], [*after, *total], strict=True)
            chosen = [inside.apply("select", full, *pair) for pair in pairs]
            found = inside.close_loop(index(0), sweep.blocks, neutral * 2, chosen)
            results = lowering.call(host, fn, [*found[len(neutral) :], *found[: len(neutral)]])
        else:
            results = inside.close_loop(index(0), sweep.blocks, neutral, after)
        for var, result in zip(self.vars, results, strict=True):
            lowering.scope.bind(var, result)
        free(host, *self.partials)

    def _join_by_launch(self, sweep: HostSweep) -> None:
        """Where the host has no access to memory at no cost."""
        lowering, part = sweep.lowering, (self.sink.fn, self.sink.neutral)
        results = chains.reduce_block_partials(
            lowering, sweep.let, part, self.partials, sweep.blocks
        )
        for var, result in zip(self.vars, results, strict=True):
            lowering.scope.bind(var, lowering.host.emit(Load(result, index(0)))[0])
        free(lowering.host, *self.partials, *results)


# -- Elements written to computed indices by threads that may collide: the last one wins -----------
#
# Where blocks divide the destination instead, `lower/scatter/` has the launches.


class ScatterSink(LoweredSink):
    """The last element in the order of the sweep claims each index of the destination."""

    claims: atomic.Claims

    def allocate(self, sweep: HostSweep) -> None:
        self.claims = atomic.make_claims(
            sweep.lowering, sweep.let, self.sink, self.taken, sweep.total
        )

    def step(self, writer: KernelWriter, step: SinkStep, state: State) -> State:
        inside, order = step.inside, step.position.flat
        if writer.op.reverse:
            order = inside.sub(inside.sub(writer.total, index(1)), order)
        values = step.elements.atoms(self.taken)
        atomic.claim_element(inside, writer.kernel, self.claims, values, order)
        return state

    def bind(self, sweep: HostSweep) -> None:
        atomic.write_winners(sweep.lowering, sweep.let, self.claims)
        scope = sweep.lowering.scope
        for var, buffer, array in zip(self.vars, self.claims.dest, self.sink.dest, strict=True):
            scope.bind(var, HostArray(buffer, scope.array(array).shape))


# -- Elements combined into computed indices by threads that may collide: `atomic.py` --------------


class ScatterReduceSink(LoweredSink):
    """In any order, so that the operator must commute."""

    updates: atomic.Updates

    def allocate(self, sweep: HostSweep) -> None:
        way = sweep.plan.scatter[0].name
        self.updates = atomic.choose_updates(sweep.lowering, sweep.let, self.sink, way)

    def step(self, writer: KernelWriter, step: SinkStep, state: State) -> State:
        values = step.elements.atoms(self.taken)
        atomic.scatter_reduce_element(step.inside, step.elements, self.updates, values)
        return state

    def bind(self, sweep: HostSweep) -> None:
        self.updates.finish(sweep.lowering, sweep.let)
        scope = sweep.lowering.scope
        for var, buffer, array in zip(self.vars, self.updates.dest, self.sink.dest, strict=True):
            scope.bind(var, HostArray(buffer, scope.array(array).shape))


# -- The sinks of the array language, and their lowerings ------------------------------------------


SINKS: Mapping[type[ops.Sink], type[LoweredSink]] = {
    ops.Store: StoreSink,
    ops.InTurn: InTurnSink,
    ops.Insert: InsertSink,
    ops.Compact: CompactSink,
    ops.StoreBits: BitsSink,
    ops.Combine: CombineSink,
    ops.CombineSegments: CombineSegmentsSink,
    ops.CombineRows: CombineRowsSink,
    ops.ScatterStore: ScatterSink,
    ops.ScatterReduce: ScatterReduceSink,
}


def lowered_sinks(op: Sweep, let: Let) -> list[LoweredSink]:
    """The sinks of a sweep on their way to its kernels."""
    groups = zip(op.sinks, op.portions(), op.binders_by_sink(let.vars), strict=True)
    return [
        SINKS[type(sink)](sink, number, taken, vars_)
        for number, (sink, taken, vars_) in enumerate(groups)
    ]
