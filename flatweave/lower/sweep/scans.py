"""The scans of a sweep: one step of its body, and the aggregates of a block."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from flatweave.algorithms import look_back
from flatweave.algorithms.lanes import EMPTY, reduce_step, scan_step, segmented_scan_step
from flatweave.algorithms.operator import Operator, by_first_warp, meet, select
from flatweave.base.dtypes import i64
from flatweave.base.records import replace
from flatweave.kernel_ir.hierarchy import dtypes_of
from flatweave.kernel_ir.syntax import Lane, Lanes
from flatweave.kernel_ir.warp_ops import Ballot
from flatweave.lower.element_functions import Elements
from flatweave.lower.kernel_builder import called
from flatweave.lower.schedule.scan_levels import ScanRecord, record_of
from flatweave.lower.schedule.steps import How, RFactor
from flatweave.lower.sweep import chains
from flatweave.lower.sweep.scans_in_registers import KeptScans
from flatweave.lower.sweep.writer import KernelWriter
from flatweave.lower.traverse.blocked_argmax import UntilAbsorbed
from flatweave.lower.traverse.steps import Position, State, count_lanes, slot_of_warp, while_active
from flatweave.lower.traverse.traversal import StepAt, Traversal, Traverses
from flatweave.passes.operators import is_exact
from flatweave.terms.build import FALSE, Builder, index
from flatweave.terms.control import Apply
from flatweave.terms.operators import absorbing, cast_each
from flatweave.terms.syntax import Atom, Let, types_of
from flatweave.terms.traverse import needed_for

if TYPE_CHECKING:
    from flatweave.algorithms.block_scans import Slots, Words

# -- Prefixes that restart at flags: the aggregate of a block's elements ---------------------------
#
# It combines the elements from the block's last start on. So the pass before the last walks back
# from the block's end by the flags only, and reduces only the elements that follow: nearly none
# where rows are short, and a plain reduction where one row fills the block.


FlagAt = Callable[[Builder, Position], Atom]
ValueAt = Callable[[Builder, Position, Atom], Atom]
Reduce = Callable[[Sequence[ScanRecord], Atom], dict[ScanRecord, State]]


def reduce_from_last_head(
    b: Builder, walk: Traversal, records: Sequence[ScanRecord], lo: Atom, hi: Atom,
    value_at: ValueAt, reduce: Reduce,
) -> dict[ScanRecord, State]:  # fmt: skip
    """Whether a segment starts among lo to hi, and the elements from the last start on.

    `reduce` combines, for records of elements alone, those from a position to hi.
    """
    found: dict[ScanRecord, State] = {}
    for flag in dict.fromkeys(scan.args[0] for scan in records):
        inner = {k: k.inner for k in records if k.inner is not None and k.args[0] == flag}

        def flag_at(c: Builder, position: Position, flag: Atom = flag) -> Atom:
            return value_at(c, position, flag)

        first, seen = last_head(b, walk, lo, hi, flag_at)
        combined = reduce(list(inner.values()), first)
        found.update({scan: (seen, *combined[alone]) for scan, alone in inner.items()})
    return found


def last_head(
    b: Builder, walk: Traversal, lo: Atom, hi: Atom, flag: FlagAt
) -> tuple[Atom, Atom]:
    """The last running position in lo to hi where a segment starts, and True; else lo and False."""
    if walk.has_rows:
        return _row_by_row(b, walk, lo, hi, flag)
    return _in_span(b, walk.width, lo, hi, walk.whole_step, flag)


def _row_by_row(
    b: Builder, walk: Traversal, lo: Atom, hi: Atom, flag: FlagAt
) -> tuple[Atom, Atom]:
    """From the last row back."""

    def row(c: Builder, known: State) -> State:
        stop = known[0]
        start, at = walk.row_before(c, c.sub(stop, index(1)))
        return _in_span(c, walk.width, c.apply("maximum", start, lo), stop, at, flag)

    return _until_seen(b, lo, (hi, FALSE), row)


def _in_span(
    b: Builder, width: int, lo: Atom, hi: Atom, at: StepAt, flag: FlagAt
) -> tuple[Atom, Atom]:
    """In whole steps from the end, then one by one."""
    steps = _in_steps(b, width, lo, hi, at, flag) if width > 1 else (hi, FALSE)

    def one(c: Builder, known: State) -> State:
        here = c.sub(known[0], index(1))
        return here, flag(c, at(c, here, 1))

    return _until_seen(b, lo, steps, one)


def _in_steps(
    b: Builder, width: int, lo: Atom, hi: Atom, at: StepAt, flag: FlagAt
) -> tuple[Atom, Atom]:
    """The last start that whole steps from `hi` back find; or where they end, and False."""
    region = b.inner()

    def goes_on(c: Builder, known: State) -> Atom:
        none = c.apply("eq", known[1], EMPTY)
        return c.apply("and", none, c.apply("le", c.add(lo, index(width)), known[0]))

    def turn(c: Builder, known: State) -> State:
        here = c.sub(known[0], index(width))
        return here, c.emit(Ballot(flag(c, at(c, here, width))))[0]

    out = region.repeat((hi, EMPTY), goes_on, turn, "p starts")
    p, starts = b.emit(Lanes(width, region.close([], out)))
    seen = b.apply("ne", starts, EMPTY)
    highest = b.sub(index(63), b.cast(b.apply("clz", starts), i64))
    return b.apply("select", seen, b.add(p, highest), p), seen


def _until_seen(
    b: Builder, lo: Atom, start: State, back: Callable[[Builder, State], State]
) -> tuple[Atom, Atom]:
    """Goes `back` until a start is seen, or nothing is left from `lo` on."""

    def goes_on(c: Builder, known: State) -> Atom:
        return c.apply("and", c.apply("not", known[1]), c.apply("lt", lo, known[0]))

    p, seen = b.repeat(start, goes_on, back, "p seen")
    return p, seen


# --------------------------------------------------------------------------------------------------
# The body of a sweep with its scans: one step's prefixes, and the carries to the next step.


def closes(b: Builder, start: Atom, position: Position) -> Atom:
    """Whether an element closes the segment before it: a start that has something before it."""
    behind = b.apply("and", start, b.apply("ne", position.flat, index(0)))
    return while_active(b, (behind,), (FALSE,), position)[0]


def _begins_row(b: Builder, start: Atom, position: Position) -> Atom | None:
    """Whether a step begins its row, where `start` says that an element is the first of its row: no
    lane but the step's first can be that, so that the step is an ordinary scan from nothing on."""
    made, along = b.definition(start), position.indices[-1]
    if not (isinstance(made, Apply) and made.fn == "eq" and made.args == (along, index(0))):
        return None
    lanes = b.definition(along)
    if not isinstance(lanes, Lane) or lanes.reverse:
        return None
    return b.apply("eq", lanes.base, index(0))


class ScannedBody:
    """One step of a sweep's body, its scans continued from the carries."""

    def __init__(self, writer: KernelWriter) -> None:
        self.writer = writer

    def emit(
        self, b: Builder, elements: Elements, lets: Sequence[Let], levels: int,
        position: Position, carries: State,
    ) -> State:  # fmt: skip
        """Emit lets of the body, scanning the records of the first `levels` chains; new carries."""
        known = [scan for records in self.writer.scans.levels[:levels] for scan in records]
        after = list(carries)
        for let in lets:
            scan, slot = record_of(known, let)
            if scan is None:
                elements.emit(b, (let,))
                continue
            part = carries[slot : slot + len(scan.neutral)]
            values, last = self._scan(b, elements, scan, part, position)
            elements.env.update(zip(let.vars, values, strict=True))
            after[slot : slot + len(scan.neutral)] = last
        return tuple(after)

    def _scan(
        self, b: Builder, elements: Elements, scan: ScanRecord, carry: State, position: Position
    ) -> tuple[State, State]:
        """The prefixes of one step's elements, continued from `carry`, and the carry after them."""
        writer = self.writer
        assert scan.prefix is not None
        exclusive: bool = scan.prefix.op.exclusive  # type: ignore[attr-defined]
        operator = writer.operator_of(scan)
        values = while_active(b, elements.atoms(scan.args), operator.neutral, position)
        if scan.inner is None:
            return scan_step(b, operator, carry, values, position.width, exclusive=exclusive)
        alone = writer.operator_of(scan.inner)
        branches = writer.lowering.machine.warps == 1
        first = _begins_row(b, values[0], position) if branches else None
        if first is not None:
            before = select(b, first, alone.carry(b, alone.neutral), carry[1:])
            results, last = scan_step(
                b, alone, before, values[1:], position.width, exclusive=exclusive
            )
        else:
            results, last = segmented_scan_step(
                b, alone, carry[1:], values[0], values[1:], position.width,
                exclusive=exclusive, branches=branches,
            )  # fmt: skip
        return results, (carry[0], *last)

    def flag(
        self, b: Builder, elements: Elements, scan: ScanRecord, position: Position
    ) -> Atom:
        """Whether an element counts for a record that counts."""
        (flag,) = elements.atoms(scan.args)
        if scan.closing:
            return closes(b, flag, position)
        return while_active(b, (flag,), (FALSE,), position)[0]


# --------------------------------------------------------------------------------------------------
# The aggregates of a block: the first passes over it, before its prefix is known.


class Aggregates:
    """The passes over one block that do nothing but combine its elements."""

    def __init__(self, writer: KernelWriter) -> None:
        self.writer = writer
        self.body = ScannedBody(writer)

    def reduce_level(
        self, level: int, records: Sequence[ScanRecord], lo: Atom, hi: Atom, carried: State
    ) -> State:
        """The aggregate of the block for one chain; the chains before it are known."""
        writer = self.writer
        plan = writer.plan.levels[level]
        how, *others = plan.factors
        by_heads = [records[k] for k in plan.from_heads]
        rest = [k for k in records if k not in by_heads]
        found = self._reduce(level, rest, how, lo, hi, carried) if rest else {}
        left = iter(others)

        def reduce(inner: Sequence[ScanRecord], first: Atom) -> dict[ScanRecord, State]:
            return self._reduce(0, inner, next(left), first, hi, ())

        b, walk, value_at = writer.b, writer.traverse(()), writer.value_at
        found.update(reduce_from_last_head(b, walk, by_heads, lo, hi, value_at, reduce))
        return tuple(atom for scan in records for atom in found[scan])

    def _reduce(
        self, level: int, records: Sequence[ScanRecord], how: RFactor, lo: Atom, hi: Atom,
        carried: State,
    ) -> dict[ScanRecord, State]:  # fmt: skip
        """The aggregates of the elements lo to hi for some records of one chain."""
        writer = self.writer
        lanewise, ordered, walk = self.arrange(records, how)
        lets = needed_for(writer.op.body.lets, [a for k in records for a in k.args])

        def step(b: Builder, position: Position, state: State) -> State:
            elements = writer.elements(position)
            start = sum(len(k.neutral) for k in (*lanewise, *ordered))
            known = self.body.emit(b, elements, lets, level, position, state[start:])
            out: list[Atom] = []
            for scan in (*lanewise, *ordered):
                part = state[len(out) : len(out) + len(scan.neutral)]
                out.extend(self.fold_step(b, elements, scan, part, position, scan in ordered))
            return (*out, *known)

        first = [
            atom for k in (*lanewise, *ordered) for atom in writer.scalars(k.carried.neutral)
        ]
        results = walk.block(writer.b, lo, hi, (*first, *carried), step)
        by_link: dict[ScanRecord, State] = {}
        start = 0
        for scan in (*lanewise, *ordered):
            by_link[scan] = results[start : start + len(scan.neutral)]
            start += len(scan.neutral)
        return by_link

    def arrange(
        self, records: Sequence[ScanRecord], plan: RFactor
    ) -> tuple[list[ScanRecord], list[ScanRecord], Traverses]:
        """The records accumulated by each lane, those combined at each step, and the traversal; it
        ends early where nothing changes the results any more."""
        writer = self.writer
        pairs = list(zip(records, plan.hows, strict=True))
        lanewise = [k for k, how in pairs if how in (How.LANEWISE, How.BLOCKED)]
        ordered = [k for k, how in pairs if k not in lanewise]
        walk = writer.traverse([writer.operator_on_carries(k) for k in lanewise], plan)
        ends = [absorbing(k.fn) for k in lanewise]
        if not (self._may_end_early() and ends and all(ends)) or ordered:
            return lanewise, ordered, walk
        values = tuple(value for each in ends for value in each)
        return lanewise, ordered, UntilAbsorbed(walk, values, writer.lowering.machine.staged)

    def _may_end_early(self) -> bool:
        """Whether elements are only combined, by threads that take many, and none can fail."""
        writer, facts = self.writer, self.writer.facts
        pure = facts.op.only_reduces and not (facts.scans.depth or facts.can_fail or writer.heads)
        return pure and writer.lowering.machine.threads_are_long

    def fold_step(
        self, b: Builder, elements: Elements, scan: ScanRecord, state: State, position: Position,
        ordered: bool,
    ) -> State:  # fmt: skip
        """One step's elements folded into the state of a record or reduction."""
        writer = self.writer
        if scan.counts:
            flag = self.body.flag(b, elements, scan, position)
            return (b.add(state[0], count_lanes(b, flag, position.width)),)
        operator = writer.operator_on_carries(scan)
        values = elements.atoms(scan.args)
        if scan.wide is not None:
            values = cast_each(b, values, types_of(scan.wide.neutral))
        values = while_active(b, values, operator.neutral, position)
        return reduce_step(b, operator, state, values, position.width if ordered else 1)


# -- The elements before a block and a warp, combined: by look-back, or from earlier launches ------


class Prefixes:
    """How this warp learns where its elements start and end in each scan."""

    def __init__(self, writer: KernelWriter, kept: KeptScans | None) -> None:
        self.writer = writer
        self.aggregates = Aggregates(writer)
        self.kept = kept

    def find(self, block: Atom, lo: Atom, hi: Atom) -> State:
        """For each chain, all elements before those of this warp combined."""
        writer = self.writer
        carried: State = ()
        for level, chain in enumerate(writer.chains):
            records = writer.scans.levels[level]
            if isinstance(chain, chains.KnownPrefixes):
                slot = slot_of_warp(writer.b, writer.lowering.machine, block)
                prefix = chains.load_prefix(writer.b, writer.kernel, chain, slot)
                after = writer.b.add(slot, index(1))
                end = chains.load_prefix(writer.b, writer.kernel, chain, after)
            elif isinstance(chain, chains.OnlyBlock):
                prefix = chain.inside(writer.kernel)
                end = tuple(writer.total for _ in prefix)  # more than this it cannot keep
            else:
                if self.kept is not None:
                    mine = self.kept.aggregate(level, lo, hi, carried)
                else:
                    mine = self.aggregates.reduce_level(level, records, lo, hi, carried)
                prefix, end = self.go_on(chain, block, records, mine)
            carried = (*carried, *prefix)
            writer.ends.extend(end)
        return carried

    def go_on(
        self, chain: chains.Chain | chains.WordChain, block: Atom,
        records: Sequence[ScanRecord], mine: State,
    ) -> tuple[State, State]:
        """Where this warp's elements start and end in the single-pass scan."""
        writer = self.writer
        warps, operator = writer.lowering.machine.warps, writer.joint_operator(records)
        types = dtypes_of(writer.b, mine)

        join = called(writer.b, [scan.carried.fn for scan in records], types, operator.combine)
        slots = chain.inside(writer.kernel)
        if warps == 1:
            return look_back.go_on(writer.b, slots, block, mine, join)
        before, whole = meet(writer.b, operator, mine, warps)
        look = self._by_lanes(records, slots, block, replace(operator, combine=join))
        of_block = by_first_warp(
            writer.b, types, lambda b: look_back.go_on(b, slots, block, whole, join, look)[0]
        )
        prefix = operator.combine(writer.b, of_block, before)
        return prefix, operator.combine(writer.b, prefix, mine)

    def _by_lanes(
        self, records: Sequence[ScanRecord], slots: Slots | Words, block: Atom,
        operator: Operator,
    ) -> look_back.Before | None:  # fmt: skip
        """Look-back by all lanes of a warp, where these may synchronize without other warps."""
        machine = self.writer.lowering.machine
        if not machine.warps_meet_alone:
            return None
        exact, width = all(is_exact(scan.carried.fn) for scan in records), machine.lanes([i64])
        return look_back.lanes_look_back(self.writer.b, slots, block, operator, width, exact=exact)
