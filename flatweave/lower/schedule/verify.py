"""The rules that every plan keeps, and schedules of users, which are held to them."""

from __future__ import annotations

from collections.abc import Iterator

from flatweave.base.errors import ArgumentError, CompilerBug
from flatweave.base.records import replace
from flatweave.base.schedule import PERMUTES, Schedule
from flatweave.base.source import Location
from flatweave.lower.machine import WIDEST, Machine
from flatweave.lower.schedule.arrangement import (
    TAILS,
    broken_laws,
    elements_of_step,
    grouping,
    is_exact_sweep,
    is_lanewise,
)
from flatweave.lower.schedule.contraction import length_of_short
from flatweave.lower.schedule.division import name_of_division
from flatweave.lower.schedule.facts import SweepFacts
from flatweave.lower.schedule.plan import Carry, SweepPlan, When, parse_plans
from flatweave.lower.schedule.scan_levels import packing_of_scans
from flatweave.lower.schedule.steps import (
    ALWAYS,
    BY_PANELS,
    BY_STEPS,
    Along,
    Axis,
    Cache,
    How,
    Memory,
    Reorder,
    RFactor,
    Rows,
    Split,
    Step,
    Tail,
    Unroll,
    Vectorize,
    Version,
    kind_of,
)
from flatweave.lower.schedule.tiling import turned_versions

# -- verify ---------------------------------------------------------------------------------------
#
# The rules that every plan keeps; emission relies on them.


def verify_plan(plan: SweepPlan, facts: SweepFacts, machine: Machine) -> None:
    """Raise CompilerBug with every error of a plan."""
    wrong = list(wrong_in(plan, facts, machine))
    if wrong:
        raise CompilerBug("A plan breaks its rules: " + "; ".join(wrong) + ".")


def wrong_in(plan: SweepPlan, facts: SweepFacts, machine: Machine) -> Iterator[str]:
    """All that is wrong with a plan."""
    if not plan.versions:
        yield "there is no version"
        return
    yield from _versions(plan)
    yield from _scans(plan, facts, machine)
    for version in plan.versions:
        if version.step(Vectorize) is None:
            yield f"{version.name} does not say which axis its lanes follow"
            return
    for version in plan.versions:
        yield from _schedule(plan, version, facts, machine)


def _versions(plan: SweepPlan) -> Iterator[str]:
    *others, last = plan.versions
    if last.guard != ALWAYS:
        yield f"the last version, {last.name}, has a guard"
    if any(each.guard == ALWAYS for each in others):
        yield "a version with no guard precedes the last"
    names = {(each.name, each.guard.short_rows) for each in plan.versions}
    if len(names) != len(plan.versions):
        yield "two versions have one name"
    if plan.scatter and plan.scatter[-1].when is not When.ALWAYS:
        yield "no variant of scattering is left where no condition holds"


def _schedule(
    plan: SweepPlan, version: Version, facts: SweepFacts, machine: Machine
) -> Iterator[str]:
    """What is wrong with the steps of a version."""
    if len({kind_of(each) for each in version.steps}) != len(version.steps):
        yield f"two steps of one kind in {version.name}"
    own = plan.plain.lanes.axis
    if version.guard.one:
        left = facts.of_one(own)
        if left is None:
            yield "a version is for rows of one element, of a sweep that has none"
            return
        facts = SweepFacts(left.op)
    if version.guard.below and length_of_short(facts.op, own, facts.known) is None:
        yield "a version is for short rows, of a sweep that has none"
    yield from _guard(version, facts)
    yield from _aggregation(version.combines)
    yield from broken_laws(facts.op, version, scans=facts.scans.depth > 0)
    yield from _lanes(plan, version, machine)
    by_rows = version.lanes.axis is Axis.LAST and version.rows.along is not Along.ROW
    idle = version.lanes.tail is Tail.PREDICATE and not machine.simt
    if idle and not (by_rows and is_lanewise(facts.op, version.combines)):
        yield "lanes are idle where they are threads, or where each combines its elements of rows"
    if facts.located is None and version.rows.along is not Along.EITHER:
        yield "a version goes along rows that are not there"
    yield from _tiles(version, facts, machine)
    cache = version.step(Cache)
    counts = all(record.compact is not None for record in facts.scans.records)
    once = cache is not None and cache.at is Memory.SCRATCH
    if once and not (facts.scans.depth == 1 and counts and machine.warps == 1):
        yield "a block evaluates once only where all that it passes on is a number of elements"


def _guard(version: Version, facts: SweepFacts) -> Iterator[str]:
    """Conditions of what the sweep, or the schedule, has not."""
    guard = version.guard
    if guard.mean and facts.located is None:
        yield "a version asks how long rows are that are not there"
    if guard.inside is not version.is_tiled:
        yield "versions in register tiles, and no others, ask whether all reads are inside"


def _lanes(plan: SweepPlan, version: Version, machine: Machine) -> Iterator[str]:
    """Lanes, blocks, panels, and the ends of rows."""
    bind, lanes, panel = plan.bind, version.lanes, version.panel
    if not 1 <= lanes.width <= WIDEST:
        yield f"a step of {lanes.width} lanes has no word for its flags"
    elif lanes.width & (lanes.width - 1):
        yield f"a step of {lanes.width} lanes, which is no power of two"
    if not 1 <= bind.least <= bind.most:
        yield f"blocks of {bind.least} to {bind.most} elements"
    step = elements_of_step(machine, lanes)
    if version is plan.plain and bind.most % (step * machine.warps):
        yield f"a block of {bind.most} elements is not whole steps of {step}"
    by_row = lanes.axis is Axis.LAST
    if machine.simt and lanes.tail is not Tail.PREDICATE:
        yield "lanes are threads, and some are idle at the end"
    ends_like = Axis.LAST if version.rows.along is Along.ROW else lanes.axis
    if lanes.tail not in TAILS.get(ends_like, ()):
        yield f"steps along axis={lanes.axis.value} do not end by tail={lanes.tail.value}"
    if lanes.peel < 0 or panel < 0:
        yield "lengths are not negative"
    if panel and not by_row:
        yield "panels of what is not visited row by row"
    if panel % max(1, lanes.width):
        yield f"panels of {panel} columns, in steps of {lanes.width}"


def _scans(plan: SweepPlan, facts: SweepFacts, machine: Machine) -> Iterator[str]:
    if len(plan.levels) != facts.scans.depth:
        yield f"{len(plan.levels)} levels for {facts.scans.depth} levels of scans"
        return
    for number, (level, records) in enumerate(zip(plan.levels, facts.scans.levels, strict=True)):
        if level.carry in (Carry.LOOK_BACK, Carry.WORDS) and not machine.forward_progress:
            yield f"{machine.name} blocks must not wait for earlier ones"
        if level.carry is Carry.WORDS and packing_of_scans(records, machine) is None:
            yield f"level {number + 1} does not fit into words of {machine.name}"
        if (level.carry is Carry.ONE_BLOCK) is not machine.one_block:
            yield "a scan goes on from no other block where a launch is one block, and only there"
        if level.from_heads and number:
            yield "only scans of the first level are reduced from their heads"
        if sum(len(each.hows) for each in level.factors) != len(records):
            yield f"level {number + 1} does not say how each of its {len(records)} scans combines"
        for each in level.factors:
            yield from _aggregation(each)


def _aggregation(how: RFactor) -> Iterator[str]:
    hows = set(how.hows)
    if (hows == {How.BLOCKED} and not how.width) or (
        how.width and hows not in ({How.BLOCKED}, {How.COUNTED})
    ):
        yield "runs of a blocked layout have lanes; a count may have its own, and nothing else"
    if How.BLOCKED in hows and hows != {How.BLOCKED}:
        yield "in a blocked layout everything is combined run by run"


def _shared_tile(version: Version, facts: SweepFacts, machine: Machine) -> Iterator[str]:
    """What is wrong with tiles in shared memory."""
    usual = next(iter(turned_versions(facts, machine)), None)
    if usual is None or usual.steps != version.steps:
        yield "tiles in shared memory are of sweeps that read across lanes, and of one size"


def _tiles(version: Version, facts: SweepFacts, machine: Machine) -> Iterator[str]:
    """The order of loops, and what is written out of them."""
    unroll, lanes, order = version.step(Unroll), version.lanes, version.step(Reorder)
    parts = {axis: version.part(axis) for axis in (Axis.ROW, Axis.LAST, Axis.FOLD)}
    cache = version.caches(Memory.PACKED)
    if version.caches(Memory.SHARED):
        yield from _shared_tile(version, facts, machine)
        return
    if unroll is None:
        if order != (BY_PANELS if version.step(Split) else None):
            yield "loops are panels, rows and columns, in this order, or there are no panels"
        if cache:
            yield "operands are packed of what is no contraction"
        return
    if facts.contraction is None:
        yield "register tiles of what is no contraction"
        return
    rows, columns, steps = parts.values()
    is_whole = not version.step(Split) and facts.contraction.outer is None and not cache
    if is_whole and order is None:
        rows, columns, steps, order = unroll.by, lanes.width, 1, BY_STEPS
    if order != BY_STEPS:
        yield "the fold goes around the rows and lanes of a register tile, and its parts around all"
    if not (lanes.width > 0 and unroll.by > 0 and rows > 0 and columns > 0 and steps > 0):
        yield f"tiles of {rows} x {columns} of {lanes.width} lanes, in parts of {steps} steps"
    elif rows % unroll.by or columns % lanes.width:
        yield f"tiles of {rows} x {columns} are not whole register tiles"
    elif (unroll.axis, lanes.axis) != (Axis.ROW, Axis.LAST):
        yield "rows are written out, and lanes follow the last axis"
    packed = cache.axes if cache else ()
    if Axis.LAST not in packed and not facts.contraction.reads_along_lanes:
        yield "lanes that are not adjacent in memory are packed"
    square = cache.square if cache else 0
    if square and (lanes.width % square or steps % square):
        yield f"squares of {square} lanes do not fill register tiles"
    if square and not facts.contraction.reads_along_fold:
        yield "squares of lanes that are not adjacent along the fold"


# -- forced ---------------------------------------------------------------------------------------
#
# Schedules that users write: held to the dependence test, and to what emission can do.
#
#     with fw.schedule(text): ..        text: the plan of a sweep as `stages` prints it, changed
#
# A text may change blocks, lanes, tails, peels, panels, tiles and the rows that are written out,
# whether operands are packed, stores around the caches, and the sizes for which versions run;
# versions may be left out. It may set everything that the keywords of a schedule abbreviate: how
# scatters and expansions are divided, how many elements a thread takes, whether a filter evaluates
# once. The rest of a plan follows from the sweep and the machine.


REMEDY = "Begin with the plan that `stages(..).text['plan']` prints, and change some of it."
OTHER_BITS = "it groups floats otherwise, for other bits: `jit(deterministic=False)` allows that"


def read_forced(text: str) -> dict[str, SweepPlan]:
    """The plans that a user wrote; ArgumentError where the text is not one of plans."""
    try:
        return parse_plans(text)
    except (CompilerBug, ValueError, TypeError) as bug:
        said = getattr(bug, "message", str(bug))
        raise ArgumentError(
            f"this is no schedule of sweeps: {said}", remedy=REMEDY, more="schedule"
        ) from None


def check_forced(
    name: str, plan: SweepPlan, chosen: SweepPlan, facts: SweepFacts, machine: Machine, *,
    free: bool, where: Location | None,
) -> None:  # fmt: skip
    """Raise ArgumentError if a plan cannot replace the `chosen` one."""
    if wrong := why_refused(plan, chosen, facts, machine, free=free):
        raise ArgumentError(
            f"the schedule of {name} is not one for its sweep: {'; '.join(dict.fromkeys(wrong))}.",
            where=where, remedy=REMEDY, more="schedule",
        )  # fmt: skip


def as_keywords(
    plan: SweepPlan, chosen: SweepPlan, machine: Machine, wishes: Schedule
) -> Schedule:
    """The wishes with the keywords that are short for what a plan says of scatters, rows, blocks,
    filters and contractions, where these are not as `chosen`."""
    bind, usual, lanes = plan.bind, chosen.bind, plan.plain.lanes
    step = max(1, lanes.width) * machine.warps
    words: dict[str, str | int | None] = {}
    if plan.scatter and plan.scatter != chosen.scatter and plan.scatter[0].name in PERMUTES:
        words["permute"] = plan.scatter[0].name
    if (bind.rows, plan.plain.rows) != (usual.rows, chosen.plain.rows):
        words["expand"] = name_of_division(bind.rows, plan.plain.rows, machine)
    if bind.least == bind.most != usual.most and bind.most % step == 0:
        words["seq_factor"] = bind.most // step
    if chosen.plain.caches(Memory.SCRATCH) and not plan.plain.caches(Memory.SCRATCH):
        words["filter"] = "twice"
    if any(v.is_tiled for v in chosen.versions) and not any(v.is_tiled for v in plan.versions):
        words["contraction"] = "lanes"
    return replace(wishes, **words)  # type: ignore[arg-type]


def why_refused(
    plan: SweepPlan, chosen: SweepPlan, facts: SweepFacts, machine: Machine, *, free: bool
) -> list[str]:
    """Why a plan cannot replace the `chosen` one; empty if it can.

    Where it is `free`, it may group floats in other ways.
    """
    wrong = list(wrong_in(plan, facts, machine)) or list(_unlike(plan, chosen, facts, machine))
    same = (plan.bind, grouping(plan.versions)) == (chosen.bind, grouping(chosen.versions))
    if not (wrong or same or free) and not is_exact_sweep(facts.op):
        return [OTHER_BITS]
    return wrong


def _unlike(
    plan: SweepPlan, chosen: SweepPlan, facts: SweepFacts, machine: Machine
) -> Iterator[str]:
    """What only the chosen plan can say."""
    bind, usual = plan.bind, chosen.bind
    if plan.levels != chosen.levels:
        yield "how scans are carried follows from the machine"
    if plan.scatter != chosen.scatter:
        yield "where elements are scattered to is asked for by `permute=`"
    if (bind.rows, bind.folds) != (usual.rows, usual.folds):
        yield "how rows are divided among blocks is asked for by `expand=`"
    kept = chosen.plain.step(Cache)
    if kept is not None and kept.at is Memory.REGISTERS and bind != usual:
        yield "blocks have as many elements as fit into the registers of their threads"
    if bind.most > usual.most and (kept is not None or plan.levels):
        yield f"blocks of more than {usual.most} elements, stored until their scan is known"
    fixed = {step for v in chosen.versions for step in v.steps if _is_fixed(step)}
    if any(v.rows.along is Along.FILL for v in chosen.versions):
        fixed |= {replace(chosen.plain.rows, along=way) for way in (Along.ROW, Along.POSITIONS)}
    for version in plan.versions:
        if not fixed.issuperset(step for step in version.steps if _is_fixed(step)):
            yield f"{version.name} has a step that its sweep does not allow, or with other values"
        elif not any(_is_like(version, other, facts, machine) for other in chosen.versions):
            yield f"{version.name} is for other rows, or has lanes where they cannot be"
        elif version.streams and not _streams(version, plan, chosen, facts):
            yield f"{version.name} streams, and its steps do not begin at multiples of their width"


def _is_fixed(step: Step) -> bool:
    """Whether a version has a step as the chosen ones have it."""
    packs = isinstance(step, Cache) and step.at is Memory.PACKED
    return isinstance(step, RFactor | Rows | Cache) and not packs


def _is_like(version: Version, other: Version, facts: SweepFacts, machine: Machine) -> bool:
    """Whether a version may stand for one that was chosen."""
    lanes, usual = version.lanes, other.lanes
    fixed = machine.simt or facts.located is not None or facts.scans.depth > 0
    peels = lanes.axis is Axis.LAST or lanes.peel in (0, usual.peel)
    needs = (version.combines.hows, version.rows.folded, version.guard.short_rows,
             version.is_tiled)
    return (
        needs == (other.combines.hows, other.rows.folded, other.guard.short_rows,
                  other.is_tiled)
        and (peels and lanes.axis is usual.axis if fixed else peels)
        and not (machine.simt and lanes != usual)
        and not (How.BLOCKED in version.combines.hows and lanes.axis is not usual.axis)
    )


def _streams(
    version: Version, plan: SweepPlan, chosen: SweepPlan, facts: SweepFacts
) -> bool:
    """Whether each whole step begins on a cache line, as those that were chosen do."""
    lanes, least = version.lanes, plan.bind.least
    allowed = any(v.streams for v in chosen.versions) and lanes.axis is not Axis.FOLD
    allowed = allowed and not version.is_tiled
    by_extent = lanes.axis is Axis.LAST or facts.op.reverse
    rows = version.guard.multiple if by_extent else lanes.width
    return allowed and least % lanes.width == 0 and rows % lanes.width == 0
