"""All passes over a block of a sweep: find its prefix, then evaluate it once more for its sinks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from flatweave.algorithms.operator import meet_all, on_first_warp
from flatweave.base.dtypes import bool_
from flatweave.base.records import record, replace
from flatweave.kernel_ir.hierarchy import in_lanes, store_each
from flatweave.kernel_ir.syntax import Lane, Load, Shared, Store
from flatweave.lower.element_functions import Elements, rows_of
from flatweave.lower.kernel_builder import KernelBuilder
from flatweave.lower.machine import CACHE_LINE, WIDEST
from flatweave.lower.schedule.scan_levels import HeadFlags, ScanRecord, with_slots
from flatweave.lower.schedule.steps import Memory
from flatweave.lower.sweep import chains
from flatweave.lower.sweep.scans import Aggregates, Prefixes, ScannedBody
from flatweave.lower.sweep.scans_in_registers import KeptScans
from flatweave.lower.sweep.writer import KernelWriter, LoweredSink, Share, SinkStep
from flatweave.lower.traverse.blocked_argmax import InStretches, Stretches, stretches_of
from flatweave.lower.traverse.steps import (
    Position,
    State,
    Step,
    count_lanes,
    slot_of_warp,
    steps_of,
)
from flatweave.lower.traverse.traversal import Flat, Traversal, Traverses
from flatweave.passes.cost import cost_of_body
from flatweave.terms.build import FALSE, TRUE, Builder, index
from flatweave.terms.operators import cast_each
from flatweave.terms.syntax import Atom, BufferType, Lambda, Let, Var, types_of
from flatweave.terms.traverse import needed_for

if TYPE_CHECKING:
    from flatweave.lower.traverse.row_lookup import Rows

# -- Where rows begin, marked in memory before a chunk of positions is walked ----------------------
#
#     ends 2 5 5 7, a chunk of 8 positions from 0      heads  T F T F F T F T
#
# For a sweep that locates its positions among rows and combines each: it needs to know which begin
# a row, not which row that is. A flag is a store for each row, and is read from near caches.


@record
class WithHeadFlags:
    """A walk whose positions know whether a row begins at them; chunk by chunk."""

    walk: Traversal
    rows: Rows
    flags: Var
    chunk: int
    """Positions whose flags are marked at once."""

    def block(self, b: Builder, lo: Atom, hi: Atom, state: State, step: Step) -> State:
        """Steps over the positions lo to hi; the accumulators are first in the state."""
        (before,) = self.rows.search_once(b, b.apply("maximum", b.sub(lo, index(1)), index(0)))[:1]
        chunks, at, (row, *params) = b.iteration("c", (before, *state))
        stop = chunks.apply("minimum", chunks.add(at, index(self.chunk)), hi)
        after = self._mark(chunks, at, stop, row)

        def marked(c: Builder, position: Position, known: State) -> State:
            is_head = c.emit(Load(self.flags, c.sub(position.flat, at)))[0]
            return step(c, replace(position, is_head=is_head), known)

        out = self.walk.block(chunks, at, stop, tuple(params), marked)
        return chunks.close_loop(lo, hi, (before, *state), [after, *out], self.chunk)[1:]

    def _mark(self, b: Builder, at: Atom, stop: Atom, row: Atom) -> Atom:
        """Mark a chunk, going on from the row of the element before it; its last element's row."""
        self._clear(b)
        b.emit(Store(self.flags, index(0), b.apply("eq", at, index(0))))
        last = b.sub(stop, index(1))

        def mark(c: Builder, known: State) -> State:
            c.emit(Store(self.flags, c.sub(self.rows.end(c, known[0]), at), TRUE))
            return (c.add(known[0], index(1)),)

        return self.rows.walk(b, (row,), last, mark, "row")[0]

    def _clear(self, b: Builder) -> None:
        """Nothing is marked."""
        end, step = index(self.chunk), CACHE_LINE
        with in_lanes(b, step) as region, region.loop(index(0), end, step) as (loop, g):
            loop.emit(Store(self.flags, loop.emit(Lane(g))[0], FALSE))


def along_head_flags(
    walk: Traverses, found: HeadFlags | None, kernel: KernelBuilder, b: Builder
) -> Traverses:
    """The traversal, along head flags where rows are combined; rows are found if they matter."""
    if found is None or not isinstance(walk, Traversal):
        return walk
    plain = walk if found.needs_rows else walk.without_rows()
    chunk = walk.space.machine.staged
    flags = b.emit(Shared(bool_, chunk))[0]
    return WithHeadFlags(plain, rows_of(kernel, found.located), flags, chunk)


# -- The last pass over a block: evaluate its elements, continue from prefixes, feed the sinks -----


class LastPass:
    """The pass that feeds the sinks."""

    def __init__(
        self, writer: KernelWriter, sinks: Sequence[LoweredSink], kept: KeptScans | None = None
    ) -> None:
        self.kept = kept
        self.writer = writer
        self.sinks = sinks
        self.body = ScannedBody(writer)
        self.aggregates = Aggregates(writer)

    def write(self, block: Atom, lo: Atom, hi: Atom, carried: State) -> State:
        """Evaluate the block, feed its sinks, and return the carries after its last element."""
        writer, fold_step = self.writer, self.aggregates.fold_step
        combines = writer.facts.combines_on(writer.lowering.machine)
        lanewise, ordered, plain = self.aggregates.arrange(combines, writer.version.combines)
        walk = along_head_flags(plain, writer.heads, writer.kernel, writer.b)
        records = (*lanewise, *ordered)
        lets = writer.heads.lets if writer.heads else writer.op.body.lets
        entered = self._enter(block, lo, hi)

        def step(b: Builder, position: Position, state: State) -> State:
            elements = writer.elements(position)
            carries, depth = state[len(first) :], writer.scans.depth
            if self.kept is not None:
                known = self.kept.emit(b, elements, position, carries)
            else:
                known = self.body.emit(b, elements, lets, depth, position, carries)
            out: list[Atom] = []
            for scan in records:
                part = state[len(out) : len(out) + len(scan.neutral)]
                is_ordered = scan in ordered
                out.extend(fold_step(b, elements, scan, part, position, is_ordered))
            with b.when(position.active) as inside:
                fed = SinkStep(b, inside, elements, position, carries)
                for sink, start in entered:
                    part = state[len(out) : len(out) + len(start)]
                    out.extend(sink.step(writer, fed, part))
            return (*out, *self._advance(b, elements, position, known))

        combined = [atom for k in records for atom in writer.scalars(k.carried.neutral)]
        first = [*combined, *(atom for _, start in entered for atom in start)]
        state = (*first, *carried)
        alone = len(lanewise) == len(self.sinks) and len(state) == len(combined)
        if alone and isinstance(walk, Flat) and (separate := self._places(walk, lanewise)):
            results = self._separately(walk, lanewise, separate, lo, hi)
        else:
            results = walk.block(writer.b, lo, hi, state, step)
        if records:
            self._leave_partials(block, combines, records, results)
        at = len(combined)
        for sink, start in entered:
            if start:
                slot = slot_of_warp(writer.b, writer.lowering.machine, block)
                part = results[at : at + len(start)]
                sink.leave(writer, slot, carried, part, results[len(first) :])
            at += len(start)
        return results[len(first) :]

    def _places(
        self, walk: Flat, records: Sequence[ScanRecord]
    ) -> dict[ScanRecord, InStretches]:
        """The separate traversals of reductions that give the position of an element. Next to other
        reductions, an element must cost no more than the operator, as it is computed twice."""
        writer, op, found = self.writer, self.writer.op, {}
        if len(op.shape) > 1 or op.reverse or walk.width == 1 or walk.reach:
            return {}
        for number, scan in enumerate(records):
            lets = needed_for(op.body.lets, scan.args)
            cheap = cost_of_body(Lambda((), lets, ())) <= cost_of_body(scan.fn)
            stretches = stretches_of(
                writer.lowering.machine, scan.fn, writer.scalars(scan.neutral), op.body.lets,
                scan.args, op.body.params[0], writer.plan.bind.most,
            )  # fmt: skip
            if stretches is not None and (cheap or len(records) == 1):
                mine = replace(walk, accumulators=walk.accumulators[number : number + 1])
                found[scan] = self._in_stretches(mine, stretches, scan, lets)
        return found

    def _in_stretches(
        self, walk: Flat, stretches: Stretches, scan: ScanRecord, lets: Sequence[Let]
    ) -> InStretches:
        """The same traversal, only of the elements that decide."""
        writer = self.writer

        def call(b: Builder, atoms: Sequence[Atom]) -> Sequence[Atom]:
            return writer.call(b, scan.fn, atoms)

        def values(b: Builder, base: Atom, width: int) -> Sequence[Atom]:
            elements = writer.elements(walk.whole_step(b, base, width))
            elements.emit(b, lets)
            return elements.atoms(scan.args)

        return InStretches(walk, stretches, call, values)

    def _separately(
        self, walk: Flat, records: Sequence[ScanRecord], separate: Mapping[ScanRecord, InStretches],
        lo: Atom, hi: Atom,
    ) -> State:  # fmt: skip
        """The results of a block: reductions in `separate` separately, the others together."""
        others = [scan for scan in records if scan not in separate]
        numbers = [records.index(scan) for scan in others]
        rest = replace(walk, accumulators=tuple(walk.accumulators[k] for k in numbers))
        walks: list[tuple[Traverses, list[ScanRecord]]]
        walks = [(each, [scan]) for scan, each in separate.items()]
        found: dict[ScanRecord, State] = {}
        for each, together in [*walks, (rest, others)] if others else walks:
            results = self._together(each, together, lo, hi)
            for scan in together:
                size = len(scan.neutral)
                found[scan], results = results[:size], results[size:]
        return tuple(atom for scan in records for atom in found[scan])

    def _together(
        self, walk: Traverses, records: Sequence[ScanRecord], lo: Atom, hi: Atom
    ) -> State:
        """The results of some reductions of a block."""
        writer = self.writer
        lets = needed_for(writer.op.body.lets, [atom for k in records for atom in k.args])

        def step(b: Builder, position: Position, state: State) -> State:
            elements = writer.elements(position)
            self.body.emit(b, elements, lets, writer.scans.depth, position, ())
            out: list[Atom] = []
            for scan in records:
                part = state[len(out) : len(out) + len(scan.neutral)]
                out.extend(self.aggregates.fold_step(b, elements, scan, part, position, False))
            return tuple(out)

        first = [atom for k in records for atom in writer.scalars(k.carried.neutral)]
        return walk.block(writer.b, lo, hi, tuple(first), step)

    def _enter(self, block: Atom, lo: Atom, hi: Atom) -> list[tuple[LoweredSink, State]]:
        """The sinks with their initial values; those that carry values come first."""
        writer = self.writer
        b, machine = writer.b, writer.lowering.machine
        leads: Atom = FALSE
        if any(sink.carries for sink in self.sinks):
            lo, _, hi = steps_of(machine).share(b, lo, hi, writer.version.width)
            leads = b.apply("eq", slot_of_warp(b, machine, block), index(0))
        share = Share(lo, hi, writer.total, leads)
        order = sorted(self.sinks, key=lambda sink: not sink.carries)
        return [(sink, sink.enter(writer, share)) for sink in order]

    def _advance(
        self, b: Builder, elements: Elements, position: Position, carries: State
    ) -> State:
        """The carries after the last pass's sinks: the next step's selected elements' indices."""
        after = list(carries)
        for slot, scan in with_slots(self.writer.scans.records):
            if scan.compact is not None:
                flag = self.body.flag(b, elements, scan, position)
                after[slot] = b.add(carries[slot], count_lanes(b, flag, position.width))
        return tuple(after)

    def _leave_partials(
        self, block: Atom, combines: Sequence[ScanRecord], records: Sequence[ScanRecord],
        results: State,
    ) -> None:  # fmt: skip
        """The aggregate of the block's elements, warps in order."""
        writer = self.writer
        warps = writer.lowering.machine.warps
        reducing = [sink for sink in self.sinks if sink.partials]
        buffers = [
            writer.kernel.buffer(buffer)
            for scan in records
            for buffer in reducing[combines.index(scan)].partials
        ]
        values = results[: len(buffers)]

        types = [type_ for scan in records for type_ in types_of(scan.neutral)]

        def leave(b: Builder) -> None:
            store_each(b, buffers, block, cast_each(b, values, types))

        if warps == 1:
            return leave(writer.b)
        values = meet_all(writer.b, writer.joint_operator(records), values, warps)
        on_first_warp(writer.b, leave)


# -- All passes over a block of a sweep, in order --------------------------------------------------


class Passes:
    """The passes of one kernel."""

    def __init__(self, writer: KernelWriter, sinks: Sequence[LoweredSink]) -> None:
        self.writer = writer
        self.compacts = {sink.number: sink.compacted for sink in sinks if sink.compacted}
        kept = KeptScans(writer) if writer.evaluated_at is Memory.REGISTERS else None
        self.prefixes = Prefixes(writer, kept)
        self.last_pass = LastPass(writer, sinks, kept)

    def write(self) -> None:
        self.write_block(*self.writer.block())

    def write_block(self, block: Atom, lo: Atom, hi: Atom) -> None:
        """All passes over one block."""
        writer = self.writer
        if writer.evaluated_at is Memory.SCRATCH:
            return self._keep(block, lo, hi)
        carried = self.prefixes.find(block, lo, hi)
        ends = list(self.last_pass.write(block, lo, hi, carried))
        for chain in writer.chains:
            if isinstance(chain, chains.OnlyBlock):
                chain.leave(writer.kernel, ends)
                ends = ends[len(chain.first) :]

    def _keep(self, block: Atom, lo: Atom, hi: Atom) -> None:
        """The last pass runs first; its elements are moved when the prefix is known."""
        writer = self.writer
        (chain,), (records,) = writer.chains, writer.scans.levels
        assert isinstance(chain, chains.Chain | chains.WordChain)
        kept = SingleEvaluation(writer.kernel, self.compacts, writer.plan.bind.most)
        writer.scratch, writer.scratch_room = kept.buffers, kept.room
        writer.ends.extend(index(kept.room) for _ in records)
        counts = self.last_pass.write(block, lo, hi, tuple(index(0) for _ in records))
        starts, _ = self.prefixes.go_on(chain, block, records, counts)
        for slot, scan in with_slots(records):
            kept.move(writer.b, scan, starts[slot], counts[slot], writer.streaming)

    def write_aggregates(self, level: int, aggregates: Sequence[Var]) -> None:
        """The first launch of a two-pass scan: the aggregate of each warp's elements."""
        writer = self.writer
        block, lo, hi = writer.block()
        carried = self.prefixes.find(block, lo, hi)
        records = writer.scans.levels[level]
        values = self.prefixes.aggregates.reduce_level(level, records, lo, hi, carried)
        slot = slot_of_warp(writer.b, writer.lowering.machine, block)
        chains.store_aggregate(writer.b, writer.kernel, aggregates, slot, values)


# A block of a compaction with a single evaluation evaluates its elements once into scratch memory,
# and copies the selected elements when its output offset is known.
#
#     evaluate the block    scratch  x x x x x x x x x . . .    selected ones, from 0 on, in cache
#     publish how many; look back: the output offset
#     copy                  . x x | x x x x x x | x . .         whole lines around the caches
#
# Memory is read at one go, so loads prefetch a few steps ahead. Where blocks publish more than
# counts of selected elements, the elements are counted first, and evaluated again when the offset
# is known.


class SingleEvaluation:
    """The elements that a block stores for each compact sink until they are moved."""

    def __init__(
        self, kernel: KernelBuilder, compacts: dict[int, tuple[Var, ...]], most: int
    ) -> None:
        self.room = most + 2 * WIDEST
        self.targets = {k: tuple(map(kernel.buffer, found)) for k, found in compacts.items()}
        self.buffers = {
            k: tuple(self._stage(kernel.body, buffer) for buffer in found)
            for k, found in self.targets.items()
        }

    def _stage(self, b: Builder, buffer: Var) -> Var:
        assert isinstance(buffer.type, BufferType)
        return b.emit(Shared(buffer.type.dtype, self.room))[0]

    def move(
        self, b: Builder, scan: ScanRecord, start: Atom, count: Atom, streaming: bool
    ) -> None:
        """Copy the elements stored for a record's sink from `start` on, a cache line at a time."""
        assert scan.compact is not None
        k = scan.compact
        stop = b.add(start, count)
        first = b.apply("and", start, index(-CACHE_LINE))
        with b.loop(first, stop, CACHE_LINE, hint="p") as (loop, line):
            after = loop.apply("ge", line, start)
            ends = loop.apply("le", loop.add(line, index(CACHE_LINE)), stop)
            whole = loop.apply("and", after, ends)
            with loop.branches(whole) as (inside, edge):
                self._line(inside, k, line, start, stop, whole=True, streaming=streaming)
                self._line(edge, k, line, start, stop, whole=False, streaming=False)

    def _line(
        self, b: Builder, k: int, line: Atom, start: Atom, stop: Atom, *, whole: bool,
        streaming: bool,
    ) -> None:  # fmt: skip
        with in_lanes(b, CACHE_LINE) as region:
            place = region.emit(Lane(line))[0]
            mine = None
            if not whole:
                after = region.apply("ge", place, start)
                mine = region.apply("and", after, region.apply("lt", place, stop))
            with region.when(mine) as store:
                source = store.sub(place, start)
                for stage, target in zip(self.buffers[k], self.targets[k], strict=True):
                    value = store.emit(Load(stage, source))[0]
                    store.emit(Store(target, place, value, streaming))
