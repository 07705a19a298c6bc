"""The rules that every plan keeps; emission relies on them."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from flatweave.base.errors import CompilerBug
from flatweave.lower.machine.machine import WIDEST, Machine
from flatweave.lower.schedule.facts import SweepFacts
from flatweave.lower.schedule.packing import packing_of_scans
from flatweave.lower.schedule.plan import (
    Along,
    Carry,
    Evaluation,
    How,
    Lanes,
    RegisterTile,
    SweepPlan,
    When,
)
from flatweave.lower.schedule.short_rows import extent_of_short


def verify_plan(plan: SweepPlan, facts: SweepFacts, machine: Machine) -> None:
    """Raise CompilerBug with all that is wrong with a plan."""
    wrong = [*_tiling(plan, machine), *_scans(plan, facts, machine), *_variants(plan, facts)]
    if any(each.shared for each in plan.variants):
        wrong += _shared_tile(plan, facts, machine)
    if wrong:
        raise CompilerBug("A plan breaks its rules: " + "; ".join(wrong) + ".")
    for ones in plan.ones:
        left = facts.of_one(plan.traversal.lanes)
        if left is None:
            raise CompilerBug("A plan is for rows of one element, of a sweep that has none.")
        verify_plan(ones, SweepFacts.of(left.op), machine)
    for short in plan.short:
        if extent_of_short(facts.op, plan.traversal.lanes) is None:
            raise CompilerBug("A plan is for short rows, of a sweep that has none.")
        verify_plan(short, facts, machine)


def _tiling(plan: SweepPlan, machine: Machine) -> Iterator[str]:
    tiling, step = plan.tiling, plan.tiling.width * machine.warps
    if not 1 <= tiling.width <= WIDEST:
        yield f"a step of {tiling.width} lanes has no word for its flags"
    if not 1 <= tiling.least <= tiling.most:
        yield f"blocks of {tiling.least} to {tiling.most} elements"
    if tiling.most % step:
        yield f"a block of {tiling.most} elements is not whole steps of {step}"
    lanes = plan.traversal
    if (lanes.width == 0) is not (lanes.lanes is Lanes.FOLDS):
        yield f"lanes {lanes.lanes.value} of width {lanes.width}"
    if lanes.panel and lanes.lanes is not Lanes.ROW_BY_ROW:
        yield "panels of what is not visited row by row"
    if lanes.overlaps and (lanes.lanes is not Lanes.ROW_BY_ROW or plan.levels):
        yield "steps that overlap of a sweep with scans, or of what is not visited row by row"
    if lanes.panel and (lanes.panel % lanes.width or plan.levels):
        yield f"panels of {lanes.panel} columns, in steps of {lanes.width}, of a sweep with scans"


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
        if sum(len(each.hows) for each in level.aggregations) != len(records):
            yield f"level {number + 1} does not say how each of its {len(records)} scans combines"
        for each in level.aggregations:
            yield from _aggregation(each.hows, each.run_width)
    yield from _aggregation(plan.combines.hows, plan.combines.run_width)
    counts = all(record.compact is not None for record in facts.scans.records)
    once = plan.evaluation is Evaluation.ONCE
    if once and not (facts.scans.depth == 1 and counts and machine.warps == 1):
        yield "a block evaluates once only where all that it passes on is a number of elements"


def _aggregation(hows: tuple[How, ...], run_width: int) -> Iterator[str]:
    if (How.BLOCKED in hows) is not (run_width > 0):
        yield "a blocked layout has runs of some lanes, and no other layout has"
    if How.BLOCKED in hows and set(hows) != {How.BLOCKED}:
        yield "in a blocked layout everything is combined run by run"


def _register_tile(tile: RegisterTile, facts: SweepFacts) -> Iterator[str]:
    found = facts.contraction
    if found is None:
        yield "register tiles of what is no contraction"
    elif bool(found.leading) is not tile.in_place:
        yield "values are read in place where axes stand before rows and lanes, and nowhere else"
    if not (0 < tile.lanes <= WIDEST and tile.rows > 0 and tile.depth > 0):
        yield f"register tiles of {tile.rows} rows, {tile.lanes} lanes, {tile.depth} steps"
    elif tile.most_rows % tile.rows or tile.most_lanes % tile.lanes:
        yield f"tiles of {tile.most_rows} x {tile.most_lanes} are not whole register tiles"
    elif tile.square and (tile.lanes % tile.square or tile.depth % tile.square):
        yield f"squares of {tile.square} lanes do not fill register tiles"


def _shared_tile(plan: SweepPlan, facts: SweepFacts, machine: Machine) -> Iterator[str]:
    shape, threads = plan.stencil.shape, plan.tiling.width * machine.warps
    if facts.stencil is None or plan.levels:
        yield "tiles in shared memory of what is no stencil"
    elif len(shape) != len(facts.op.shape) or prod(shape) % threads:
        yield f"a tile of {shape} is not whole steps of {threads}, of {len(facts.op.shape)} axes"
    elif sum(around.bytes_of(shape) for around in facts.stencil.arrays) > machine.shared_bytes:
        yield f"a tile of {shape} does not fit into {machine.shared_bytes} bytes"


def _variants(plan: SweepPlan, facts: SweepFacts) -> Iterator[str]:
    *others, last = plan.variants
    if not last.always:
        yield f"the last variant, {last.name}, has a condition"
    if any(each.always for each in others):
        yield "a variant with no condition stands before the last"
    if len({each.name for each in plan.variants}) != len(plan.variants):
        yield "two variants have one name"
    if facts.located is None and any(each.along not in (None, Along.EITHER) for each in others):
        yield "a variant goes along rows that are not there"
    if any(each.tiled for each in plan.variants):
        yield from _register_tile(plan.tile, facts)
    if plan.scatter and plan.scatter[-1].when is not When.ALWAYS:
        yield "no variant of scattering is left where no condition holds"
