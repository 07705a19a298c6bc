"""From what a sweep is, what the machine can do and what is wished for: the plan."""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.base.dtypes import DType
from flatweave.base.records import replace
from flatweave.base.schedule import Schedule
from flatweave.lower.machine import WIDEST_SQUARE, Machine
from flatweave.lower.schedule.arrangement import (
    arrange_lanes,
    choose_tail,
    elements_of_step,
    lanes_of_rows,
)
from flatweave.lower.schedule.contraction import Length, first_long, is_short, length_of_short
from flatweave.lower.schedule.division import (
    BALANCED,
    Division,
    along_on_device,
    division_of,
    reads_of_runs,
)
from flatweave.lower.schedule.facts import SweepFacts
from flatweave.lower.schedule.plan import Carry, Level, ScatterChoice, SweepPlan
from flatweave.lower.schedule.scan_levels import ScanRecord, packing_of_scans
from flatweave.lower.schedule.steps import (
    BY_PANELS,
    NO_ROWS,
    Along,
    Axis,
    Bind,
    Cache,
    How,
    Memory,
    RFactor,
    Rows,
    Split,
    Step,
    Vectorize,
    Version,
)
from flatweave.lower.schedule.tiling import (
    blocks_of,
    choose_blocks,
    choose_panel,
    element_dtypes,
    elements_each,
    taller,
    tiled_versions,
    turned_versions,
)
from flatweave.lower.schedule.versions import versions_of, wished
from flatweave.ops import Locate
from flatweave.passes.cost import LONG, cost_of_body
from flatweave.passes.operators import is_commutative
from flatweave.terms.syntax import ArrayType, Const, Lambda, array_type, scalar_type
from flatweave.terms.traverse import free_vars, needed_for, walk_lets


def plan_sweep(
    facts: SweepFacts, machine: Machine, wishes: Schedule,
    scatter: tuple[ScatterChoice, ...] = (), *, in_order: bool = False,
) -> SweepPlan:  # fmt: skip
    """The plan of a sweep, by the variants that are wished for.

    `scatter` is planned already, and so is whether a scatter visits its elements `in_order`.
    Versions for short rows follow those for rows of any length.
    """
    length = _short_rows(facts, machine, scatter)
    plan = _plan(facts, machine, wishes, scatter, in_order=in_order)
    below = first_long(machine, plan.plain.lanes.tail)
    if is_short(length, below):
        return _plan(facts, machine, wishes, scatter, in_order=in_order, short=True)
    special, found = _of_one(facts, machine, wishes, plan.plain.lanes), tuple[Version, ...]()
    if length is not None and not isinstance(length.elements, Const):
        found = _plan(facts, machine, wishes, scatter, in_order=in_order, short=True).versions
        special += [
            replace(version, guard=replace(version.guard, below=below))
            for version in found if version not in plan.versions
        ]  # fmt: skip
    first = [version for version in plan.versions if version.is_tiled or version in found]
    others = [version for version in plan.versions if version not in first]
    return replace(plan, versions=(*first, *special, *others))


def _short_rows(
    facts: SweepFacts, machine: Machine, scatter: tuple[ScatterChoice, ...]
) -> Length | None:
    """The length of the rows, where short ones have other versions."""
    if machine.one_block or scatter:
        return None
    axis = arrange_lanes(machine, facts.op, facts.known, 1).axis
    return length_of_short(facts.op, axis, facts.known)


def _plan(
    facts: SweepFacts, machine: Machine, wishes: Schedule, scatter: tuple[ScatterChoice, ...], *,
    in_order: bool, short: bool = False,
) -> SweepPlan:  # fmt: skip
    op = facts.op
    division = BALANCED if facts.located is None else division_of(wishes.expand, op, machine)
    rows = _rows(facts, machine, division)
    in_order = in_order or facts.scans.depth > 0
    width, bind = _blocks(facts, machine, flagged=rows.flagged, in_order=in_order)
    lanes = arrange_lanes(machine, op, facts.known, width, short=short)
    step = elements_of_step(machine, lanes)
    bind = Bind(bind.least // width * step, bind.most // width * step)
    panel = choose_panel(facts, machine, lanes)
    bind = taller(bind) if panel else bind
    bind = bind if wishes.seq_factor is None else blocks_of(wishes.seq_factor, width, machine)
    folds = _divides_folds(facts, machine, division)
    each = elements_each(facts, machine) if lanes.axis is Axis.SPACE else 0
    if each:
        bind = blocks_of(wishes.seq_factor or each, width, machine)
    steps: list[Step] = [Split(Axis.LAST, panel), BY_PANELS] if panel else []
    reduces = not facts.scans.depth and op.only_reduces
    combines = _aggregation(facts, machine, lanes, facts.combines_on(machine), pure=reduces)
    lanes = replace(lanes, tail=choose_tail(op, machine, lanes, combines))
    steps += [lanes, *([combines] if combines.hows else []), *([rows] if rows != NO_ROWS else [])]

    def version(lanes: Vectorize) -> Version:
        memory = Memory.REGISTERS if each else _memory(facts, machine, lanes, division, wishes)
        cache = [Cache(memory)] if memory else []
        return Version("plain", steps=(*steps, *cache)).but(lanes)

    plain = by_row = version(lanes)
    if facts.located is not None:
        of_rows, _ = choose_blocks(machine, op, in_order=in_order)
        by_row = version(lanes_of_rows(op, lanes, of_rows))
    versions = (*tiled_versions(facts.contraction, machine),
                *(() if short else turned_versions(facts, machine)),
                *versions_of(facts, machine, plain, by_row, division, wishes))  # fmt: skip
    return SweepPlan(
        replace(bind, folds=folds, rows=division.sources),
        _levels(facts, machine, lanes),
        wished(versions, wishes),
        scatter,
    )


def _rows(facts: SweepFacts, machine: Machine, division: Division) -> Rows:
    """The strategy for rows that are data."""
    along, flagged = division.along, facts.heads is not None and not machine.simt
    folded = _folds_rows(facts, machine, along)
    if machine.simt and facts.located is not None and along is Along.EITHER:
        along = Along.GROUPS if folded else along_on_device(facts.op)
    return Rows(along, flagged, division.mixed, folded)


def _of_one(
    facts: SweepFacts, machine: Machine, wishes: Schedule, lanes: Vectorize
) -> list[Version]:
    """The versions for rows of one element, if lanes would run along each row: a map, or a sweep
    over all axes but the last."""
    ones = facts.of_one(lanes.axis)
    if ones is None or machine.one_block:
        return []
    found = plan_sweep(SweepFacts(ones.op), machine, wishes)
    if not found.plain.width and (lanes.axis is Axis.FOLD or facts.scans.depth):
        return []  # a branch may contain folds
    return [
        replace(version, guard=replace(version.guard, one=True))
        for version in found.versions if not version.guard.of_short_rows
    ]  # fmt: skip


def _blocks(
    facts: SweepFacts, machine: Machine, *, flagged: bool, in_order: bool
) -> tuple[int, Bind]:
    """Lanes of a step, and blocks. Along rows whose heads are flagged, elements cost what they cost
    without the rows; of those that are filled only what is stored moves for each element. Where
    threads combine rows there are few blocks, as one block joins what all warps carry out."""
    op, heads = facts.op, facts.heads if flagged else None
    along_rows = facts.located is not None and (heads is None or heads.needs_rows)
    work = heads.lean(op) if heads else op
    reads = None if facts.located is None else reads_of_runs(op, facts.located)
    moved = [scalar_type(result) for result in op.body.results]
    streams = None if reads is None else moved + [array_type(read.xs).dtype for read in reads]
    width, bind = choose_blocks(
        machine, work, in_order=in_order, along_rows=along_rows, streams=streams
    )
    if machine.simt and not facts.scans.depth and any(sink.by_row for sink in op.sinks):
        bind = replace(bind, most=bind.most * machine.blocks_wanted)
    return width, bind


def _divides_folds(facts: SweepFacts, machine: Machine, division: Division) -> bool:
    """Whether the length of folds counts for blocks: not where these combine elements, as results
    are what sizes of blocks make them; threads divide folds by themselves."""
    stored = facts.op.only_stores
    plain = not (machine.simt or facts.scans.depth or division.sources)
    return plain and stored and bool(facts.even_folds)


def _levels(facts: SweepFacts, machine: Machine, lanes: Vectorize) -> tuple[Level, ...]:
    levels = []
    for number, records in enumerate(facts.scans.levels):
        carry = _carry(machine, records)
        first = number == 0
        heads = [r for r in records if first and _is_found_by_heads(facts, machine, r)]
        groups = [[r for r in records if r not in heads]]
        for flag in dict.fromkeys(r.args[0] for r in heads):
            groups.append([r.inner for r in heads if r.inner and r.args[0] == flag])
        made = tuple(_aggregation(facts, machine, lanes, g, pure=first) for g in groups)
        numbers = tuple(k for k, record in enumerate(records) if record in heads)
        levels.append(Level(carry, made, numbers))
    return tuple(levels)


def _carry(machine: Machine, records: Sequence[ScanRecord]) -> Carry:
    """A look-back goes over words where elements fit into them."""
    if machine.one_block:
        return Carry.ONE_BLOCK
    if not machine.forward_progress:
        return Carry.TWO_PASS
    return Carry.LOOK_BACK if packing_of_scans(records, machine) is None else Carry.WORDS


def _is_found_by_heads(facts: SweepFacts, machine: Machine, record: ScanRecord) -> bool:
    """Whether the flags alone tell where a scan's last segment in a block starts."""
    if record.inner is None or machine.simt:
        return False
    lets = Lambda((), needed_for(facts.op.body.lets, record.args[:1]), ())
    located = [let.op for let in walk_lets(lets) if isinstance(let.op, Locate)]
    return all(op == facts.located for op in located)


def _aggregation(
    facts: SweepFacts, machine: Machine, lanes: Vectorize, records: Sequence[ScanRecord], *,
    pure: bool,
) -> RFactor:  # fmt: skip
    """How one pass combines a block; a `pure` one does nothing else.

    An operator that does not commute accumulates in lanes only if each lane has a separate run.
    Only a pure reduction can arrange that. One that only counts flags has the lanes that fill a
    register with what it reads, if these are more than the last pass has.
    """
    hows = tuple(map(_how, records))
    is_flat = lanes.axis is Axis.SPACE and lanes.width > 1 and facts.located is None
    combined = all(how in (How.LANEWISE, How.ORDERED) for how in hows)
    turns = machine.tiles and not facts.op.reverse
    if pure and is_flat and set(hows) == {How.COUNTED}:
        wide = machine.lanes(_read_for(facts, records))
        return RFactor(hows, wide if wide > lanes.width else 0)
    if not (pure and is_flat and combined and turns and How.ORDERED in hows):
        return RFactor(hows)
    op = facts.op
    cost = cost_of_body(op.body) + sum(cost_of_body(record.fn) for record in records)
    width = min(WIDEST_SQUARE, machine.lanes(element_dtypes(op)))
    return RFactor((How.BLOCKED,) * len(hows), width, heavy=cost * width > LONG)


def _read_for(facts: SweepFacts, records: Sequence[ScanRecord]) -> list[DType]:
    """The dtypes of the arrays that are read for the elements of some scans."""
    lets = needed_for(facts.op.body.lets, [atom for k in records for atom in k.args])
    read = {var for let in lets for var in free_vars(let.op)}
    return [var.type.dtype for var in read if isinstance(var.type, ArrayType)]


def _how(record: ScanRecord) -> How:
    if record.counts:
        return How.COUNTED
    return How.LANEWISE if is_commutative(record.fn) else How.ORDERED


def _memory(
    facts: SweepFacts, machine: Machine, lanes: Vectorize, division: Division, wishes: Schedule
) -> Memory | None:
    """Where elements that are evaluated once are stored, if blocks pass on only how many elements
    they kept."""
    counts = all(record.compact is not None for record in facts.scans.records)
    plain = all(sink.early for sink in facts.op.sinks)
    one_warp = machine.forward_progress and machine.warps == 1
    by_position = lanes.axis is Axis.SPACE and lanes.width > 1
    fits = facts.scans.depth == 1 and counts and plain and one_warp and by_position
    once = wishes.filter != "twice" and not machine.one_block
    return Memory.SCRATCH if fits and once and not division.sources else None


def _scans_start_with_rows(facts: SweepFacts, machine: Machine) -> bool:
    """Whether each scan, if there are any, starts anew where a row begins."""
    heads, records = facts.heads, facts.scans.records
    if not records:
        return True
    if heads is None or machine.simt or machine.one_block or facts.op.reverse:
        return False
    return all(k.inner is not None and k.args[0] in heads.flags for k in records)


def _folds_rows(facts: SweepFacts, machine: Machine, along: Along) -> bool:
    """Whether a sweep only combines the rows that it walks along. Warps of threads each go their
    own way through their rows, so a barrier must concern no other warp."""
    op, located = facts.op, facts.located
    if located is None or not _scans_start_with_rows(facts, machine):
        return False
    if machine.simt and not (machine.warps_meet_alone and along is Along.EITHER):
        return False
    rows = [let.vars[0] for let in op.body.lets if let.op == located]
    return along is not Along.POSITIONS and all(
        sink.row(taken) in rows
        for sink, taken in zip(op.sinks, op.portions(), strict=True)
    )
