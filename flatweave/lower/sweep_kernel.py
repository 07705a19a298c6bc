"""The body of a sweep's kernel: the passes over a block, its scans, its sinks."""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.kernel_ir.syntax import (
    BlockIndex,
    LastLane,
    ReduceLanes,
    ScanLanes,
    ShiftLanes,
    Store,
)
from flatweave.lower.called import called
from flatweave.lower.chain import Chain, Operator, go_on
from flatweave.lower.context import Lowering
from flatweave.lower.division import LONG_ROW, division_of, find_located
from flatweave.lower.element import Elements, rows_of
from flatweave.lower.kept import Kept, evaluates_once
from flatweave.lower.kernel import KernelBuilder
from flatweave.lower.locate import Rows
from flatweave.lower.marks import along_marks, find_beginnings
from flatweave.lower.noted import Notes, notes_for
from flatweave.lower.outputs import Outputs
from flatweave.lower.rows import Strategy
from flatweave.lower.runs import Runs, runs_for
from flatweave.lower.segment_rows import Share
from flatweave.lower.segment_sinks import SegmentWriters
from flatweave.lower.segments import SegmentWriter, closes
from flatweave.lower.sinks import FALSE, SinkWriter, count_lanes, slot_of_compact, while_active
from flatweave.lower.stages import Link, Stages, link_of, with_slots
from flatweave.lower.staging import Staging
from flatweave.lower.starts import reduce_searched, scan_step
from flatweave.lower.two_pass import KnownPrefixes, load_prefix, slot_of_warp, store_aggregate
from flatweave.lower.walk import Accumulator, Position, State, Walk, warp_share
from flatweave.lower.warps import by_first_warp, meet, on_first_warp
from flatweave.ops import Combine, Locate, Sweep
from flatweave.passes.operators import is_commutative
from flatweave.terms.build import Builder, index
from flatweave.terms.syntax import Atom, Lambda, Let, Var
from flatweave.terms.traverse import needed_for, walk_lets


def call_operator(
    low: Lowering, kernel: KernelBuilder, b: Builder, fn: Lambda, args: Sequence[Atom]
) -> tuple[Atom, ...]:
    """An operator of the program on kernel atoms."""
    return Elements(kernel, low.sites, index(0), low.checks).call(b, fn, args)


class KernelWriter:
    """Writes the body of a sweep's kernel."""

    def __init__(
        self, low: Lowering, op: Sweep, stages: Stages, strategy: Strategy, outputs: Outputs,
        kernel: KernelBuilder, total: Atom, size: Atom, streaming: bool,
    ) -> None:  # fmt: skip
        self.low = low
        self.op = op
        self.stages = stages
        self.strategy = strategy
        self.outputs = outputs
        self.kernel = kernel
        self.streaming = streaming
        self.b = kernel.body
        self.ends: list[Atom] = []
        self.notes: dict[Link, Notes] = {}
        self.total = kernel.capture(total)
        self.size = kernel.capture(size)
        self.shape = tuple(kernel.scalar(extent) for extent in self.op.shape)
        self.located = find_located(op)
        self.beginnings = find_beginnings(low.machine, op, self.located)
        self.division = division_of(low.schedule.expand, op, low.machine)

    def write(self) -> None:
        self.write_block(*self.block())

    def write_block(self, block: Atom, lo: Atom, hi: Atom) -> None:
        """All passes over one block."""
        bounded = self.located is None or self.division.sources is None
        if bounded and evaluates_once(self.low.machine, self.op, self.stages, self.strategy):
            return self._keep(block, lo, hi)
        for link in self.stages.links:
            if link.closing and self.located is None:
                noted = notes_for(self.b, self.low.machine, self.op, self.strategy, lo)
                self.notes.update({link: noted} if noted else {})
        carried = self._prefixes(block, lo, hi)
        self._last_pass(block, lo, hi, carried, self._staging(carried))

    def _keep(self, block: Atom, lo: Atom, hi: Atom) -> None:
        """The last pass comes first; what it kept is moved when what came before is known."""
        (chain,), (links,) = self.outputs.chains, self.stages.levels
        assert isinstance(chain, Chain)
        kept = Kept(self.kernel, self.outputs.compacts, self.low.machine, self.op)
        self.ends.extend(index(kept.room) for _ in links)
        counts = self._last_pass(block, lo, hi, tuple(index(0) for _ in links), kept)
        starts, _ = self._go_on(chain, block, links, counts)
        for slot, link in with_slots(links):
            kept.move(self.b, link, starts[slot], counts[slot], self.streaming)

    def write_aggregates(self, level: int, aggregates: Sequence[Var]) -> None:
        """The first launch of a two-pass scan: what each warp's elements combine to."""
        block, lo, hi = self.block()
        carried = self._prefixes(block, lo, hi)
        values = self._reduce_level(level, self.stages.levels[level], lo, hi, carried)
        slot = slot_of_warp(self.b, self.low.machine, block)
        store_aggregate(self.b, self.kernel, aggregates, slot, values)

    def block(self) -> tuple[Atom, Atom, Atom]:
        """This block's number, and where its elements start and stop."""
        block = self.b.emit(BlockIndex())[0]
        if self.located is not None and self.division.sources is not None:
            rows = rows_of(self.kernel, self.located)
            blocks = self.division.blocks(self.b, rows.count)
            return block, *self.division.share(self.b, rows, self.total, block, blocks)
        lo = self.b.mul(block, self.size)
        return block, lo, self.b.apply("minimum", self.b.add(lo, self.size), self.total)

    def share(self, b: Builder, block: Atom, blocks: Atom) -> tuple[Atom, Atom]:
        """Where the elements of one of `blocks` equal parts start and stop."""
        if self.located is not None and self.division.sources is not None:
            rows = rows_of(self.kernel, self.located)
            return self.division.share(b, rows, self.total, block, blocks)
        lo = b.apply("floordiv", b.mul(block, self.total), blocks)
        return lo, b.apply("floordiv", b.mul(b.add(block, index(1)), self.total), blocks)

    # -- what came before this block and warp -----------------------------------------------------

    def _prefixes(self, block: Atom, lo: Atom, hi: Atom) -> State:
        """For each chain, all elements before those of this warp combined; notes `ends`."""
        carried: State = ()
        for level, chain in enumerate(self.outputs.chains):
            links = self.stages.levels[level]
            if isinstance(chain, KnownPrefixes):
                slot = slot_of_warp(self.b, self.low.machine, block)
                prefix = load_prefix(self.b, self.kernel, chain, slot)
                end = load_prefix(self.b, self.kernel, chain, self.b.add(slot, index(1)))
            else:
                mine = self._reduce_level(level, links, lo, hi, carried)
                prefix, end = self._go_on(chain, block, links, mine)
            carried = (*carried, *prefix)
            self.ends.extend(end)
        return carried

    def _go_on(
        self, chain: Chain, block: Atom, links: Sequence[Link], mine: State
    ) -> tuple[State, State]:
        """Where this warp's elements start and end in the single-pass scan."""
        warps, fn = self.low.machine.warps, self._operator(links)
        types = [atom.type for atom in mine]
        join = called(self.b, [link.fn for link in links], types, fn)
        if warps == 1:
            return go_on(self.b, self.kernel, chain, block, mine, join)
        neutral = self._neutral([atom for link in links for atom in link.neutral])
        before, whole = meet(self.b, warps, fn, neutral, mine)
        of_block = by_first_warp(
            self.b, types, lambda b: go_on(b, self.kernel, chain, block, whole, join)[0]
        )
        prefix = fn(self.b, [*of_block, *before])
        return prefix, fn(self.b, [*prefix, *mine])

    def _operator(self, links: Sequence[Link]) -> Operator:
        """All links of a level as one operator on tuples."""

        def fn(b: Builder, args: Sequence[Atom]) -> tuple[Atom, ...]:
            half = len(args) // 2
            out: list[Atom] = []
            start = 0
            for link in links:
                stop = start + len(link.neutral)
                pair = [*args[start:stop], *args[half + start : half + stop]]
                out.extend(self.call(b, link.fn, pair))
                start = stop
            return tuple(out)

        return fn

    def call(self, b: Builder, fn: Lambda, args: Sequence[Atom]) -> tuple[Atom, ...]:
        return call_operator(self.low, self.kernel, b, fn, args)

    def _lambda(self, b: Builder, fn: Lambda) -> Lambda:
        elements = Elements(self.kernel, self.low.sites, index(0), self.low.checks)
        return elements.function(b, fn)

    def _neutral(self, atoms: Sequence[Atom]) -> tuple[Atom, ...]:
        return tuple(self.kernel.scalar(atom) for atom in atoms)

    def _accumulator(self, fn: Lambda, neutral: Sequence[Atom]) -> Accumulator:
        return Accumulator(
            lambda b, args: self.call(b, fn, args),
            lambda b: self._lambda(b, fn),
            self._neutral(neutral),
        )

    def _arrange(
        self, links: Sequence[Link], *, pure: bool
    ) -> tuple[list[Link], list[Link], Walk]:
        """What each lane accumulates, what is combined across lanes at each step, and the walk.

        An operator that does not commute accumulates in lanes only if each has a run of its own,
        which a pass that does nothing but reduce can arrange.
        """
        lanewise = [k for k in links if k.compact is None and is_commutative(k.fn)]
        ordered = [k for k in links if k not in lanewise]
        runs = None
        if pure and ordered:
            runs = runs_for(self.low.machine, self.op, [k.fn for k in links])
        counts = any(k.compact is not None for k in links)
        if self.strategy.rows or self.strategy.width < 2 or counts or self.located:
            runs = None
        if runs is not None:
            lanewise, ordered = list(links), []
        walk = self.walk([self._accumulator(k.fn, k.neutral) for k in lanewise], runs=runs)
        return lanewise, ordered, walk

    def walk(
        self, accumulators: Sequence[Accumulator], width: int | None = None,
        runs: Runs | None = None,
    ) -> Walk:  # fmt: skip
        """How this sweep visits the positions of a block."""
        lanes = runs.width if runs else self.strategy.width if width is None else width
        located, by_row = self.rows()
        return Walk(
            self.low.machine, self.shape, self.total, lanes, self.strategy.rows,
            self.op.reverse, tuple(accumulators), runs, 0 if runs else self.strategy.reach,
            located, self.division.along, by_row,
        )  # fmt: skip

    def rows(self) -> tuple[Rows | None, Atom | None]:
        """The rows that positions are located among, and whether they had better be walked one
        by one."""
        if self.located is None:
            return None, None
        rows = rows_of(self.kernel, self.located)
        if self.low.machine.masked_tail:
            return rows, None
        least = self.b.mul(rows.count, index(LONG_ROW))
        return rows, self.b.apply("ge", self.total, least)

    def elements(self, position: Position) -> Elements:
        fold_width = self.strategy.fold_width if position.alone else 1
        elements = Elements(
            self.kernel, self.low.sites, position.flat, self.low.checks, fold_width
        )
        elements.env.update(zip(self.op.body.params, position.indices, strict=True))
        elements.own, elements.shape, elements.tile = position.indices, self.shape, position.tile
        elements.located, elements.row = self.located, position.row
        if position.begins is not None and self.beginnings is not None:
            elements.env.update(dict.fromkeys(self.beginnings.flags, position.begins))
        return elements

    # -- passes over the block --------------------------------------------------------------------

    def _reduce_level(
        self, level: int, links: Sequence[Link], lo: Atom, hi: Atom, carried: State
    ) -> State:
        """The aggregate of the block for one chain; the chains before it are known."""
        searched = [k for k in links if level == 0 and self._is_searched(k)]
        rest = [k for k in links if k not in searched]
        found = self._reduce_links(level, rest, lo, hi, carried) if rest else {}

        def reduce(inner: Sequence[Link], first: Atom) -> dict[Link, State]:
            return self._reduce_links(0, inner, first, hi, ())

        walk = self.walk(())
        found.update(reduce_searched(self.b, walk, searched, lo, hi, self._value_at, reduce))
        return tuple(atom for link in links for atom in found[link])

    def _is_searched(self, link: Link) -> bool:
        """Whether the flags alone tell where a link's last segment in a block starts."""
        if link.inner is None or self.low.machine.masked_tail:
            return False
        lets = Lambda((), needed_for(self.op.body.lets, link.args[:1]), ())
        located = [let.op for let in walk_lets(lets) if isinstance(let.op, Locate)]
        return all(op == self.located for op in located)

    def _value_at(self, b: Builder, position: Position, atom: Atom) -> Atom:
        """What the body computes at a position, from nothing but its elements."""
        elements = self.elements(position)
        elements.emit(b, needed_for(self.op.body.lets, [atom]))
        return elements.atom(atom)

    def _reduce_links(
        self, level: int, links: Sequence[Link], lo: Atom, hi: Atom, carried: State
    ) -> dict[Link, State]:
        """What the elements lo to hi combine to for some links of one chain."""
        lanewise, ordered, walk = self._arrange(links, pure=level == 0)
        lets = needed_for(self.op.body.lets, [a for k in links for a in k.args])

        def step(b: Builder, position: Position, state: State) -> State:
            elements = self.elements(position)
            start = sum(len(k.neutral) for k in (*lanewise, *ordered))
            known = self.emit_body(b, elements, lets, level, position, state[start:])
            out: list[Atom] = []
            for link in (*lanewise, *ordered):
                part = state[len(out) : len(out) + len(link.neutral)]
                out.extend(self._fold_step(b, elements, link, part, position, link in ordered))
            return (*out, *known)

        first = [atom for k in (*lanewise, *ordered) for atom in self._neutral(k.neutral)]
        results = walk.block(self.b, lo, hi, (*first, *carried), step)
        by_link: dict[Link, State] = {}
        start = 0
        for link in (*lanewise, *ordered):
            by_link[link] = results[start : start + len(link.neutral)]
            start += len(link.neutral)
        return by_link

    def _flag(
        self, b: Builder, elements: Elements, link: Link, position: Position, *, last: bool
    ) -> Atom:
        """Whether an element counts for a link that counts, as it was noted or as it is."""
        noted = self.notes[link].recall(b, position) if link in self.notes and last else None
        if noted is not None:
            return noted
        (flag,) = elements.atoms(link.args)
        if link.closing:
            return closes(b, flag, position)
        return while_active(b, (flag,), (FALSE,), position)[0]

    def _fold_step(
        self, b: Builder, elements: Elements, link: Link, state: State, position: Position,
        ordered: bool,
    ) -> State:  # fmt: skip
        """One step's elements folded into the state of a link or reduction."""
        if link.compact is not None:
            flag = self._flag(b, elements, link, position, last=False)
            if link in self.notes:
                self.notes[link].note(b, position, flag)
            return (b.add(state[0], count_lanes(b, flag, position.width)),)
        neutral = self._neutral(link.neutral)
        values = while_active(b, elements.atoms(link.args), neutral, position)
        if ordered and position.width > 1:
            values = b.emit(ReduceLanes(self._lambda(b, link.fn), values))
        return self.call(b, link.fn, [*state, *values])

    def emit_body(
        self, b: Builder, elements: Elements, lets: Sequence[Let], levels: int,
        position: Position, carries: State,
    ) -> State:  # fmt: skip
        """Emit lets of the body, scanning the links of the first `levels` chains; new carries."""
        known = [link for links in self.stages.levels[:levels] for link in links]
        after = list(carries)
        for let in lets:
            link, slot = link_of(known, let)
            if link is None:
                elements.emit(b, (let,))
                continue
            part = carries[slot : slot + len(link.neutral)]
            values, last = self._scan_step(b, elements, link, part, position)
            elements.env.update(zip(let.vars, values, strict=True))
            after[slot : slot + len(link.neutral)] = last
        return tuple(after)

    def _advance(
        self, b: Builder, elements: Elements, position: Position, carries: State
    ) -> State:
        """The carries after the last pass's sinks: where the next step's kept elements go."""
        after = list(carries)
        for slot, link in with_slots(self.stages.links):
            if link.compact is not None:
                flag = self._flag(b, elements, link, position, last=True)
                after[slot] = b.add(carries[slot], count_lanes(b, flag, position.width))
        return tuple(after)

    def _scan_step(
        self, b: Builder, elements: Elements, link: Link, carry: State, position: Position
    ) -> tuple[State, State]:
        """Prefixes of one step's elements, going on from `carry`; and the carry behind them."""
        assert link.prefix is not None
        op = link.prefix.op
        neutral = self._neutral(link.neutral)
        values = while_active(b, elements.atoms(link.args), neutral, position)
        if link.inner is not None:
            operator = self._accumulator(link.inner.fn, link.inner.neutral)
            results, last = scan_step(
                b, operator, carry[1:], values[0], values[1:], position.width,
                exclusive=op.exclusive,  # type: ignore[attr-defined]
                branches=self.low.machine.warps == 1,
            )  # fmt: skip
            return results, (carry[0], *last)
        if position.width > 1:
            values = b.emit(ScanLanes(self._lambda(b, link.fn), neutral, values))
        results = self.call(b, link.fn, [*carry, *values])
        if position.width == 1:
            return (carry if op.exclusive else results), results  # type: ignore[attr-defined]
        # not the last lane of the results: so only this one operation waits for the last step
        last = self.call(b, link.fn, [*carry, *b.emit(LastLane(values))])
        if op.exclusive:  # type: ignore[attr-defined]
            results = b.emit(ShiftLanes(carry, results))
        return results, last

    # -- the last pass ----------------------------------------------------------------------------

    def _last_pass(
        self, block: Atom, lo: Atom, hi: Atom, carried: State, staging: Staging | Kept | None
    ) -> State:
        """Evaluate the block and feed its sinks; the carries behind its last element."""
        combines = [
            Link(sink.fn, sink.neutral, taken)
            for sink, taken in zip(self.op.sinks, self.op.portions(), strict=True)
            if isinstance(sink, Combine)
        ]
        pure = self.stages.depth == 0 and len(combines) == len(self.op.sinks)
        lanewise, ordered, plain = self._arrange(combines, pure=pure)
        walk = along_marks(plain, self.beginnings, self.kernel, self.b)
        links = (*lanewise, *ordered)
        segments = self._segments(block, lo, hi)
        lets = self.beginnings.lets if self.beginnings else self.op.body.lets
        sinks = SinkWriter(
            self.op, self.stages, self.outputs, self.kernel, self.total, self.streaming,
            self.ends, staging,
        )  # fmt: skip

        def step(b: Builder, position: Position, state: State) -> State:
            elements = self.elements(position)
            carries, depth = state[len(first) :], self.stages.depth
            known = self.emit_body(b, elements, lets, depth, position, carries)
            out: list[Atom] = []
            for link in links:
                part = state[len(out) : len(out) + len(link.neutral)]
                out.extend(self._fold_step(b, elements, link, part, position, link in ordered))
            for writer in segments:
                part = state[len(out) : len(out) + writer.size]
                close = self._closing(b, elements, position, writer.start)
                out.extend(writer.step(b, elements, position, close, part, carries))
            sinks.write(b, elements, position, carries)
            return (*out, *self._advance(b, elements, position, known))

        combined = [atom for k in links for atom in self._neutral(k.neutral)]
        first = [*combined, *(atom for writer in segments for atom in writer.enter())]
        if staging is None:
            results = walk.block(self.b, lo, hi, (*first, *carried), step)
        else:
            results = staging.block(
                self.b, walk, lo, hi, (*first, *carried), step, carries=len(first)
            )
        if links:
            self._leave_partials(block, combines, links, results)
        start = len(combined)
        for writer in segments:
            slot = slot_of_warp(self.b, self.low.machine, block)
            part = results[start : start + writer.size]
            writer.leave(self.b, slot, carried, part, results[len(first) :])
            start += writer.size
        return results[len(first) :]

    def _closing(
        self, b: Builder, elements: Elements, position: Position, start: Atom
    ) -> Atom:
        """Which elements close a segment before them, given what says that they start one."""
        links = (k for k in self.stages.links if k.closing and k.args == (start,))
        for link in links:
            return self._flag(b, elements, link, position, last=True)
        return closes(b, elements.atom(start), position)

    def _segments(self, block: Atom, lo: Atom, hi: Atom) -> list[SegmentWriter]:
        """The writers of the sinks that combine segments."""
        if not self.outputs.segments:
            return []
        b, machine = self.b, self.low.machine
        if machine.masked_tail:
            lo, _, hi = warp_share(b, machine, lo, hi, self.strategy.width)
        leads = b.apply("eq", slot_of_warp(b, machine, block), index(0))
        share, outputs = Share(lo, hi, self.total, leads), self.outputs.segments
        maker = SegmentWriters(self.low, self.op, self.kernel, self.elements, share)
        return maker.make(b, outputs, self.stages, self.ends, self.beginnings)

    def _staging(self, carried: State) -> Staging | None:
        """Stages for kept elements where they go around the caches."""
        compacts = self.outputs.compacts
        if not (self.streaming and compacts) or self.strategy.rows or self.strategy.width < 2:
            return None
        slots = {k: slot_of_compact(self.stages, k) for k in compacts}
        return Staging(self.kernel, compacts, slots, carried)

    def _leave_partials(
        self, block: Atom, combines: Sequence[Link], links: Sequence[Link], results: State
    ) -> None:
        """What the block's elements combine to, warps in order."""
        warps = self.low.machine.warps
        of_sink = [k for k, sink in enumerate(self.op.sinks) if isinstance(sink, Combine)]
        buffers = [
            self.kernel.buffer(buffer)
            for link in links
            for buffer in self.outputs.partials[of_sink[combines.index(link)]]
        ]
        values = results[: len(buffers)]

        def leave(b: Builder) -> None:
            for buffer, value in zip(buffers, values, strict=True):
                b.emit(Store(buffer, block, value))

        if warps == 1:
            return leave(self.b)
        neutral = self._neutral([atom for link in links for atom in link.neutral])
        values = meet(self.b, warps, self._operator(links), neutral, values)[1]
        on_first_warp(self.b, leave)
