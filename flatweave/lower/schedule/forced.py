"""Schedules that users write: held to the dependence test, and to what emission can do.

    with fw.schedule(text): ..        text: the plan of a sweep as `stages` prints it, changed

A text may change blocks, lanes, tails, peels, panels, tiles and the rows that are written out,
whether operands are packed, stores around the caches, and the sizes for which versions run;
versions may be left out. It may set everything that the keywords of a schedule abbreviate: how
scatters and expansions are divided, how many elements a thread takes, whether a filter evaluates
once. The rest of a plan follows from the sweep and the machine.
"""

from __future__ import annotations

from collections.abc import Iterator

from flatweave.base.errors import ArgumentError, CompilerBug
from flatweave.base.records import replace
from flatweave.base.schedule import PERMUTES, Schedule
from flatweave.base.source import Location
from flatweave.lower.machine.machine import Machine
from flatweave.lower.schedule.division import name_of_division
from flatweave.lower.schedule.facts import SweepFacts
from flatweave.lower.schedule.plan import SweepPlan, parse_plans
from flatweave.lower.schedule.verify import wrong_in
from flatweave.nest.legal import grouping, is_exact_sweep
from flatweave.nest.schedule import Along, Axis, Cache, How, Memory, RFactor, Rows, Step, Version

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
