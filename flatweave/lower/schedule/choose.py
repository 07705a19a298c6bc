"""From what a sweep is, what the machine can do and what is wished for: the plan."""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.base.records import replace
from flatweave.base.schedule import Schedule
from flatweave.lower.machine.machine import Machine
from flatweave.lower.schedule.arrangement import arrange_lanes
from flatweave.lower.schedule.division import (
    BALANCED,
    FILLED_ROW,
    LONG_ROW,
    PERMUTING,
    ROW_AT_ONCE,
    Division,
    along_on_device,
    division_of,
    folds_at_once,
    is_filled,
)
from flatweave.lower.schedule.facts import SweepFacts
from flatweave.lower.schedule.in_registers import elements_each
from flatweave.lower.schedule.packing import packing_of_scans
from flatweave.lower.schedule.panels import choose_panel, taller
from flatweave.lower.schedule.plan import (
    NO_SHARED_TILE,
    NO_TILE,
    Aggregation,
    Along,
    Carry,
    Evaluation,
    How,
    Lanes,
    Level,
    RegisterTile,
    ScatterChoice,
    SharedTile,
    SweepPlan,
    Tiling,
    Traversal,
    Variant,
)
from flatweave.lower.schedule.register_tile import (
    FEWEST,
    LEAST_STEPS,
    LEAST_WORK,
    NARROWEST,
    choose_register_tile,
)
from flatweave.lower.schedule.scan_levels import ScanRecord
from flatweave.lower.schedule.short_rows import extent_of_short, is_short
from flatweave.lower.schedule.stencil import choose_shared_tile
from flatweave.lower.schedule.tiling import blocks_of, choose_tiling, element_dtypes
from flatweave.ops import Fold, Locate, Store
from flatweave.ops.rows import scalar_type
from flatweave.passes.cost import cost_of_body
from flatweave.passes.operators import is_commutative
from flatweave.terms.syntax import Atom, Lambda, Var
from flatweave.terms.traverse import needed_for, walk_lets

LARGEST_TILE = 800
"""The greatest cost of a body written out once for each column of a tile."""
WIDEST_RUN = 16
"""Lanes of the blocked layout: a square tile of so many columns stays in registers."""
PLAIN = Variant("plain")
FILL = Variant("fill", along=Along.FILL)
TILED = Variant("tiled", tiled=True, work=LEAST_WORK, narrowest=NARROWEST)
IN_PLACE = replace(TILED, steps=LEAST_STEPS)
SHARED = Variant("shared", shared=True)


def plan_sweep(
    facts: SweepFacts, machine: Machine, wishes: Schedule,
    scatter: tuple[ScatterChoice, ...] = (), *, in_order: bool = False,
) -> SweepPlan:  # fmt: skip
    """The plan of a sweep, by the variants that are wished for.

    How it writes to computed places is planned already, and whether its elements are visited
    `in_order` there.
    """
    extent = _short_rows(facts, machine, scatter)
    if is_short(extent, machine):
        return _plan(facts, machine, wishes, scatter, in_order=in_order, short=True)
    plan = _plan(facts, machine, wishes, scatter, in_order=in_order)
    ones = _ones(facts, machine, wishes, plan.traversal)
    if not isinstance(extent, Var):
        return replace(plan, ones=ones)
    short = _plan(facts, machine, wishes, scatter, in_order=in_order, short=True)
    variants = tuple(variant for variant in short.variants if not variant.tiled)
    return replace(plan, ones=ones, short=(replace(short, variants=variants, tile=NO_TILE),))


def _short_rows(
    facts: SweepFacts, machine: Machine, scatter: tuple[ScatterChoice, ...]
) -> Atom | None:
    """How long the rows are, where short ones have another plan."""
    if not machine.threads_are_long or scatter:
        return None
    return extent_of_short(facts.op, arrange_lanes(machine, facts.op, facts.known, 1).lanes)


def _plan(
    facts: SweepFacts, machine: Machine, wishes: Schedule, scatter: tuple[ScatterChoice, ...], *,
    in_order: bool, short: bool = False,
) -> SweepPlan:  # fmt: skip
    op = facts.op
    flagged = facts.heads is not None and not machine.simt
    tiling = _tiling(facts, machine, flagged=flagged, in_order=in_order or facts.scans.depth > 0)
    division = BALANCED if facts.located is None else division_of(wishes.expand, op, machine)
    along = division.along
    if machine.simt and facts.located is not None and along is Along.EITHER:
        along = along_on_device(op)
    tile = choose_register_tile(facts.contraction, machine)
    lanes = arrange_lanes(machine, op, facts.known, tiling.width, short=short)
    panel = choose_panel(facts, machine, lanes)
    tiling = taller(tiling) if panel else tiling
    tiling = tiling if wishes.seq_factor is None else blocks_of(wishes.seq_factor, tiling, machine)
    traversal = replace(lanes, along=along, flagged=flagged, panel=panel, mixed=division.mixed)
    tiling = replace(tiling, folds=_divides_folds(facts, machine, division))
    overlaps = _overlaps(facts, machine, lanes)
    masked = overlaps and any(isinstance(let.op, Fold) for let in op.body.lets)
    traversal = replace(traversal, overlaps=overlaps, masked=masked)
    each = elements_each(facts, machine) if lanes.lanes is Lanes.FLAT else 0
    if each:
        tiling = blocks_of(wishes.seq_factor or each, tiling, machine)
    reduces = not facts.scans.depth and all(sink.reduction() is not None for sink in op.sinks)
    variants = _variants(facts, machine, traversal, division, wishes)
    if tile != NO_TILE:
        variants = (_tiled(facts, tile), *variants)
    stencil = _shared_tile(facts, machine, lanes, scatter)
    if stencil.pays or (stencil != NO_SHARED_TILE and wishes.stencil == "tiles"):
        variants = (SHARED, *variants)
    return SweepPlan(
        tiling,
        traversal,
        _levels(facts, machine, traversal),
        tuple(sink.name for sink in op.sinks),
        _wished(variants, wishes),
        _aggregation(facts, machine, traversal, facts.combines, pure=reduces),
        division.sources,
        Evaluation.KEPT if each else _evaluation(facts, machine, traversal, division, wishes),
        _folds_rows(facts, machine, traversal),
        machine.simt,
        scatter,
        tile,
        stencil,
    )


def _tiled(facts: SweepFacts, tile: RegisterTile) -> Variant:
    """The variant in register tiles; blocks of a divided fold may have fewer rows and lanes."""
    found = facts.contraction
    if found is None or not tile.in_place:
        return TILED
    divided = found.longest is not found.op.extent
    return replace(IN_PLACE, narrowest=FEWEST if divided else NARROWEST)


def _shared_tile(
    facts: SweepFacts, machine: Machine, lanes: Traversal, scatter: tuple[ScatterChoice, ...]
) -> SharedTile:
    """The tile of a stencil; none where it is a part of something else."""
    if scatter or lanes.lanes is not Lanes.FLAT or machine.one_block:
        return NO_SHARED_TILE
    return choose_shared_tile(facts.stencil, len(facts.op.shape), machine)


def _ones(
    facts: SweepFacts, machine: Machine, wishes: Schedule, traversal: Traversal
) -> tuple[SweepPlan, ...]:
    """Rows of one element are a map, where lanes would lie along each row, or a sweep over all axes
    but the last."""
    ones = facts.of_one(traversal.lanes)
    if ones is None or machine.one_block:
        return ()
    found = plan_sweep(SweepFacts.of(ones.op), machine, wishes)
    if ones is facts.column:
        return (replace(found, ones=(), short=()),)
    return (found,) if found.traversal.width else ()  # a branch may have folds of its own


def _tiling(
    facts: SweepFacts, machine: Machine, *, flagged: bool, in_order: bool
) -> Tiling:
    """Along rows whose heads are flagged, elements cost what they cost without the rows; of those
    that are filled only what is stored moves for each element."""
    op, heads = facts.op, facts.heads if flagged else None
    along_rows = facts.located is not None and (heads is None or heads.needs_rows)
    work = heads.lean(op) if heads else op
    filled = facts.located is not None and is_filled(op, facts.located)
    streams = [scalar_type(result) for result in op.body.results] if filled else None
    return choose_tiling(
        machine, work, in_order=in_order, along_rows=along_rows, streams=streams
    )


def _divides_folds(facts: SweepFacts, machine: Machine, division: Division) -> bool:
    """Whether the length of folds counts for blocks: not where these combine elements, as results
    are what sizes of blocks make them; threads divide folds by themselves."""
    stored = all(isinstance(sink, Store) for sink in facts.op.sinks)
    plain = not (machine.simt or facts.scans.depth or division.sources)
    return plain and stored and bool(facts.even_folds)


def _overlaps(facts: SweepFacts, machine: Machine, lanes: Traversal) -> bool:
    """Whether rows are visited one by one, and an element may be visited twice: all are stored."""
    stored = all(isinstance(sink, Store) for sink in facts.op.sinks)
    by_row = lanes.lanes is Lanes.ROW_BY_ROW and lanes.width > 1 and not machine.one_block
    return by_row and stored and not facts.scans.depth


def _levels(facts: SweepFacts, machine: Machine, traversal: Traversal) -> tuple[Level, ...]:
    levels = []
    for number, records in enumerate(facts.scans.levels):
        carry = _carry(machine, records)
        first = number == 0
        heads = [r for r in records if first and _is_found_by_heads(facts, machine, r)]
        groups = [[r for r in records if r not in heads]]
        for flag in dict.fromkeys(r.args[0] for r in heads):
            groups.append([r.inner for r in heads if r.inner and r.args[0] == flag])
        made = tuple(_aggregation(facts, machine, traversal, g, pure=first) for g in groups)
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
    facts: SweepFacts, machine: Machine, traversal: Traversal, records: Sequence[ScanRecord], *,
    pure: bool,
) -> Aggregation:  # fmt: skip
    """How one pass combines a block; a `pure` one does nothing else.

    An operator that does not commute accumulates in lanes only if each has a run of its own, which
    a pass that does nothing but reduce can arrange.
    """
    hows = tuple(_how(facts, machine, traversal, record) for record in records)
    is_flat = traversal.lanes is Lanes.FLAT and traversal.width > 1 and facts.located is None
    combined = all(how in (How.LANEWISE, How.ORDERED) for how in hows)
    turns = machine.tiles and not facts.op.reverse
    if not (pure and is_flat and combined and turns and How.ORDERED in hows):
        return Aggregation(hows)
    op = facts.op
    cost = cost_of_body(op.body) + sum(cost_of_body(record.fn) for record in records)
    width = min(WIDEST_RUN, machine.lanes(element_dtypes(op)))
    return Aggregation((How.BLOCKED,) * len(hows), width, heavy=cost * width > LARGEST_TILE)


def _how(
    facts: SweepFacts, machine: Machine, traversal: Traversal, record: ScanRecord
) -> How:
    """Bits are saved of steps that go along positions, where a warp goes its own way."""
    if record.compact is None:
        return How.LANEWISE if is_commutative(record.fn) else How.ORDERED
    saves = record.closing and facts.located is None and machine.threads_are_long
    in_steps = traversal.lanes is Lanes.FLAT and traversal.width > 1
    return How.SAVED if saves and in_steps else How.COUNTED


def _evaluation(
    facts: SweepFacts, machine: Machine, traversal: Traversal, division: Division,
    wishes: Schedule,
) -> Evaluation:  # fmt: skip
    """Once where all that blocks pass on is how many elements they kept."""
    counts = all(record.compact is not None for record in facts.scans.records)
    plain = all(sink.early for sink in facts.op.sinks)
    one_warp = machine.forward_progress and machine.warps == 1
    lanes = traversal.lanes is Lanes.FLAT and traversal.width > 1
    fits = facts.scans.depth == 1 and counts and plain and one_warp and lanes
    once = wishes.filter != "twice" and not machine.one_block
    return Evaluation.ONCE if fits and once and not division.sources else Evaluation.TWICE


def _folds_rows(facts: SweepFacts, machine: Machine, traversal: Traversal) -> bool:
    """Whether all that a sweep does is to combine the rows that it goes along."""
    op, located = facts.op, facts.located
    if located is None or machine.simt or facts.scans.depth:
        return False
    rows = [let.vars[0] for let in op.body.lets if let.op == located]
    return traversal.along is not Along.POSITIONS and all(
        sink.row(taken) in rows
        for sink, taken in zip(op.sinks, op.portions(), strict=True)
    )


def _variants(
    facts: SweepFacts, machine: Machine, traversal: Traversal, division: Division,
    wishes: Schedule,
) -> tuple[Variant, ...]:  # fmt: skip
    """Every combination of where stores go and of what lanes go along, the plainest last."""
    stores = _streaming(facts, machine, traversal, division)
    by_rows = facts.located is not None and traversal.along is Along.EITHER and traversal.width > 0
    heads = facts.heads if traversal.flagged else None
    if heads is not None and not (heads.needs_rows or _folds_rows(facts, machine, traversal)):
        by_rows = False
    if not by_rows:
        return *stores, PLAIN
    free = wishes.rows is None and wishes.store != "streaming"
    if free and facts.located is not None and is_filled(facts.op, facts.located):
        return _runs(machine, stores)
    rows = Variant("rows", row_length=_least_row(facts, machine, traversal), along=Along.ROW)
    found = []
    for variant in stores:
        found.append(
            replace(variant, name=f"{variant.name}-rows", row_length=LONG_ROW, along=Along.ROW)
        )
        found.append(replace(variant, along=Along.POSITIONS))
    return *found, rows, replace(PLAIN, along=Along.POSITIONS)


def _least_row(facts: SweepFacts, machine: Machine, traversal: Traversal) -> int:
    """The mean length from which on lanes go along each row."""
    if facts.located is None or not _folds_rows(facts, machine, traversal):
        return LONG_ROW
    return ROW_AT_ONCE if folds_at_once(facts.op, facts.located) else LONG_ROW


def _runs(machine: Machine, stores: tuple[Variant, ...]) -> tuple[Variant, ...]:
    """Runs are filled; but where the lanes of a step are permuted at once, results that go around
    the caches are faster by position, and so are those of rows most of which are empty."""
    if machine.vector_bytes < PERMUTING:
        return (FILL,)
    around = [replace(v, row_length=FILLED_ROW, along=Along.POSITIONS) for v in stores]
    return *around, replace(FILL, row_length=1), replace(PLAIN, along=Along.POSITIONS)


def _wished(variants: tuple[Variant, ...], wishes: Schedule) -> tuple[Variant, ...]:
    """The variants that wishes leave, without the conditions that they decide."""
    left = list(variants)
    if wishes.store == "plain":
        left = [v for v in left if not v.streaming]
    elif wishes.store == "streaming":
        left = [replace(v, least=0) if v.streaming else v for v in left]
    if wishes.rows == "positions":
        left = [v for v in left if not v.row_length]
    elif wishes.rows == "rows":
        left = [replace(v, row_length=0) for v in left if v.row_length] or left
    if wishes.contraction == "lanes":
        left = [v for v in left if not v.tiled]
    elif wishes.contraction == "tiles":
        left = [replace(v, work=0, narrowest=0, steps=0) if v.tiled else v for v in left]
    if wishes.stencil == "caches":
        left = [v for v in left if not v.shared]
    elif wishes.stencil == "tiles":
        left = [replace(v, wished=True) if v.shared else v for v in left]
    always = next(k for k, v in enumerate(left) if v.always)
    return tuple(left[: always + 1])  # what stands behind that never runs


def _streaming(
    facts: SweepFacts, machine: Machine, traversal: Traversal, division: Division
) -> tuple[Variant, ...]:
    """Stores that fill the caches go around them, where blocks begin on whole cache lines."""
    op, least = facts.op, machine.streaming_from
    anywhere = facts.located is not None and division.sources
    if least is None or op.reverse or traversal.width < 2 or anywhere:
        return ()
    stored: list[Atom] = []
    for sink, taken in zip(op.sinks, op.portions(), strict=True):
        stored.extend(sink.consecutive(taken))
    if not stored:
        return ()
    least //= sum(scalar_type(atom).bytes for atom in stored)
    multiple = traversal.width if traversal.lanes is Lanes.ROW_BY_ROW else 1
    return (Variant("streaming", least, multiple, streaming=True),)
