"""Sweeps evaluated in the order that their schedules give: what steps mean, without a kernel.

    sweep t_9                                  elements 0 .. 9, in a row
        bind least=8 most=8                    a block of 0 .. 7, another of 8, 9
        version name=plain
            vectorize axis=space width=4       0 1 2 3 | 4 5 6 7 || 8 | 9

A visit is an element's running number, with its block and the lane that takes it. What is stored is
stored visit by visit; results are combined in each lane or step, then in each block, then
over the blocks; a scan goes on from what the block before it left. An element that is visited twice
counts twice, and one that is not visited leaves a hole.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from flatweave.array_ir import operators
from flatweave.array_ir.interp import Interp, run
from flatweave.array_ir.syntax import Program
from flatweave.base.records import record
from flatweave.lower.context import name_of
from flatweave.lower.schedule.arrangement import OUT_OF_ORDER
from flatweave.lower.schedule.plan import SweepPlan
from flatweave.lower.schedule.steps import Axis, How, Memory, Tail, Unroll, Version
from flatweave.ops import Fold, Prefix, Sweep
from flatweave.passes.operators import is_commutative
from flatweave.terms.batch import Env, Value, Values, assign, spread, take
from flatweave.terms.traverse import walk_lets

Step = Sequence[int]
TAILS = {Tail.SHIFT, Tail.SHIFT_OR_MASK}


# -- the order of a block --------------------------------------------------------------------------


def steps_of(version: Version, shape: Sequence[int], lo: int, hi: int) -> Iterator[Step]:
    """The steps of a block, each with the running numbers that its lanes take."""
    row = shape[-1] if shape else 1
    if version.rows.mixed or version.rows.along in OUT_OF_ORDER:
        yield from ([k] for k in reversed(range(lo, hi)))
    elif version.is_tiled or version.caches(Memory.SHARED):
        yield from _tiles(version, shape, lo, hi)
    elif version.lanes.axis is Axis.FOLD or not row:
        yield from ([k] for k in range(lo, hi))
    elif version.lanes.axis is Axis.SPACE:
        yield from _whole(range(lo, hi), version.width, masks=version.lanes.tail is Tail.PREDICATE)
    else:
        panel = version.panel or row
        for first in range(0, row, panel):
            for start in range(lo // row * row, hi, row):
                part = range(max(lo, start + first), min(hi, start + first + panel, start + row))
                yield from _row(version, part, start, row)


def _whole(part: range, width: int, *, masks: bool = False) -> Iterator[Step]:
    """Whole steps, then those that are left: one by one, or as a step with idle lanes."""
    end = len(part) // width * width
    yield from (part[k : k + width] for k in range(0, end, width))
    rest = part[end:]
    if rest:
        yield from [rest] if masks else ([k] for k in rest)


def _row(version: Version, part: range, start: int, row: int) -> Iterator[Step]:
    """A part of a row: one by one near its ends, and steps between them."""
    lanes, width = version.lanes, version.width
    if lanes.tail is Tail.PREDICATE:
        yield from _in_lanes(part, start, row, lanes.peel, width)
        return
    near = [k for k in part if not lanes.peel <= k - start < row - lanes.peel]
    yield from ([k] for k in near if k - start < lanes.peel)
    inner = range(max(part.start, start + lanes.peel), min(part.stop, start + row - lanes.peel))
    if lanes.tail in TAILS and len(inner) >= width:
        bases = {min(k, len(inner) - width) for k in range(0, len(inner), width)}
        yield from (inner[k : k + width] for k in sorted(bases))
    else:
        yield from _whole(inner, width, masks=lanes.tail is Tail.SHIFT_OR_MASK)
    yield from ([k] for k in near if k - start >= lanes.peel)


def _in_lanes(part: range, start: int, row: int, peel: int, width: int) -> Iterator[Step]:
    """A part of a row in steps, with idle lanes in the last ones, and before the whole ones."""
    first = min(max(part.start, start + peel), part.stop) if peel else part.start
    stop = max(min(part.stop, start + row - peel), first)
    end = first + (stop - first) // width * width
    for some in (range(part.start, first), range(first, end), range(end, part.stop)):
        yield from _whole(some, width, masks=True)


def _tiles(version: Version, shape: Sequence[int], lo: int, hi: int) -> Iterator[Step]:
    """Tiles of the last axes, and in each of them steps along the last one."""
    parts = [version.part(axis) or 1 for axis in (Axis.ROW, Axis.LAST)][-len(shape) :]
    parts = [1] * (len(shape) - len(parts)) + parts
    for corner in np.ndindex(*(-(-n // p) for n, p in zip(shape, parts, strict=True))):
        ranges = [
            range(c * p, min(n, c * p + p))
            for c, p, n in zip(corner, parts, shape, strict=True)
        ]
        for lead in np.ndindex(*map(len, ranges[:-1])):
            at = [each[k] for each, k in zip(ranges, lead, strict=False)]
            start = int(np.ravel_multi_index((*at, 0), shape))
            row = [start + j for j in ranges[-1] if lo <= start + j < hi]
            width = version.lanes.width
            yield from (row[k : k + width] for k in range(0, len(row), width))


@record
class Visits:
    """The elements in the order in which they are visited, each with its block and its lane; and
    the running numbers at which blocks begin."""

    elements: Value
    blocks: Value
    parts: Value
    block: int

    @staticmethod
    def of(plan: SweepPlan, version: Version, shape: Sequence[int]) -> Visits:
        """All of them, by the smallest blocks that the plan allows."""
        found: list[tuple[int, int, int]] = []
        total, size = math.prod(shape), plan.bind.least
        for block, lo in enumerate(range(0, total, size)):
            steps = steps_of(version, shape, lo, min(lo + size, total))
            for number, step in enumerate(steps):
                found += [
                    (k, block, _part(version, number, lane)) for lane, k in enumerate(step)
                ]
        rows = np.asarray(found, np.int64).reshape(-1, 3)
        return Visits(rows[:, 0], rows[:, 1], rows[:, 2], size)


def _part(version: Version, number: int, lane: int) -> int:
    """What an element is combined in first, in its block: its lane, its step, or nothing."""
    hows = version.combines.hows
    if hows and all(how is How.LANEWISE for how in hows):
        return lane
    return number if How.ORDERED in hows else 0


# -- values ----------------------------------------------------------------------------------------


class ByVersion(Interp):
    """An interpreter that runs some sweeps by versions of their plans."""

    def __init__(self, program: Program, chosen: Mapping[str, tuple[SweepPlan, Version]]) -> None:
        super().__init__()
        sweeps = [let for let in walk_lets(program.fn) if isinstance(let.op, Sweep)]
        self.chosen = {id(let.op): chosen.get(name_of(let)) for let in sweeps}
        self.by: Version | None = None
        self.visits: Visits | None = None

    def evaluate(self, env: Env, op: Any) -> Values:
        """What an op gives."""
        chosen = self.chosen.get(id(op))
        if isinstance(op, Sweep) and chosen is not None:
            return self._sweep(env, op, *chosen)
        if isinstance(op, Fold) and self.by is not None:
            return self._fold(env, op, self.by)
        if isinstance(op, Prefix) and self.visits is not None:
            return self._scan(env, op, self.visits)
        return super().evaluate(env, op)

    def _sweep(self, env: Env, op: Sweep, plan: SweepPlan, version: Version) -> Values:
        shape = self.shape(env, op.shape)
        running = np.arange(math.prod(shape))[:: -1 if op.reverse else 1]
        visits = Visits.of(plan, version, shape)
        order = running[visits.elements]
        indices = [axis.reshape(-1)[order] for axis in np.indices(shape)]
        self.by, self.visits = version, visits
        try:
            taken = self.each(env, op.body, indices, len(order), order)
        finally:
            self.by = self.visits = None
        results: list[Value] = []
        for sink in op.sinks:
            mine, taken = taken[: sink.arity], taken[sink.arity :]
            if sink.at_own_position:
                assert len(np.unique(order)) == len(running), "an element is not visited"
                (column,) = mine
                stored = np.empty(len(running), column.dtype)
                stored[order] = column
                results.append(stored.reshape(shape))
            elif (fn := sink.reduction()) is not None:
                neutral = self.atoms(env, sink.neutral)  # type: ignore[attr-defined]
                blocks = self._grouped(env, fn, (visits.blocks, visits.parts), mine)
                results += operators.reduce(self, env, fn, neutral, blocks)
            else:
                results += sink.evaluate(self, env, shape, order, mine)
        return tuple(results)

    def _grouped(
        self, env: Env, fn: Any, keys: Sequence[Value], columns: Values
    ) -> Values:
        """Columns combined by the last key inside the one before it, and so on."""
        order = np.lexsort(tuple(reversed(keys)))
        columns, keys = take(columns, order), [key[order] for key in keys]
        for depth in range(len(keys), 0, -1):
            changed = np.any([np.diff(key, prepend=-1) != 0 for key in keys[:depth]], axis=0)
            columns = operators.combine(self, env, fn, np.cumsum(changed) - 1, columns)
            keys = [key[changed] for key in keys]
        return columns

    def _fold(self, env: Env, op: Fold, version: Version) -> Values:
        """In parts of a number of steps; or in lanes, which take the steps in rotation."""
        lanes = version.lanes.width if version.lanes.axis is Axis.FOLD else 0
        by = version.part(Axis.FOLD) if version.step(Unroll) else 0
        if not (lanes or by):
            return super().evaluate(env, op)
        size = 1 if env.size is None else env.size
        outside = env if env.size is not None else env.batch(1)
        extents = spread([self.atom(env, op.extent)], size)[0]
        owner = np.repeat(np.arange(size), extents)
        k = np.arange(len(owner)) - np.repeat(np.cumsum(extents) - extents, extents)
        in_lanes = lanes and is_commutative(op.fn)
        part = k % lanes if in_lanes else k // (lanes or by)
        order = np.lexsort((k, part, owner))
        owner, part, k = owner[order], part[order], k[order]
        xs = spread(self.call(outside.take(owner), op.body, [k]), len(owner))
        changed = (np.diff(owner, prepend=-1) != 0) | (np.diff(part, prepend=-1) != 0)
        xs = self._joined(outside, op, owner, changed, xs)
        owner = owner[changed]
        xs = self._joined(outside, op, owner, np.diff(owner, prepend=-1) != 0, xs)
        totals = tuple(x.copy() for x in spread(self.atoms(env, op.neutral), size))
        there = np.unique(owner)
        args = (*take(totals, there), *xs)
        assign(totals, there, spread(self.call(outside.take(there), op.fn, args), len(there)))
        return totals if env.size is not None else tuple(total.reshape(()) for total in totals)

    def _joined(self, env: Env, op: Fold, owner: Value, first: Value, xs: Values) -> Values:
        """Neighbours combined up to the next one that is `first`; `owner` is the element that each
        belongs to."""
        inside = env.take(owner[first])
        return operators.combine(self, inside, op.fn, np.cumsum(first) - 1, xs)

    def _scan(self, env: Env, op: Prefix, visits: Visits) -> Values:
        """Block by block, each going on from what the one before it left."""
        outside = env.whole()
        args, flags = self.columns(env, op.args), self.columns(env, op.starts)
        neutral = self.atoms(env, op.neutral)
        carry = self.atoms(env, op.initial or op.neutral)
        found: list[Values] = []
        for lo in range(0, len(visits.elements), visits.block):
            part = slice(lo, lo + visits.block)
            mine, heads = take(args, part), take(flags, part)
            own = operators.scan(self, outside, op.fn, neutral, mine, False, heads)
            began = np.logical_or.accumulate(np.any(heads, axis=0)) if heads else np.zeros(
                len(own[0]), bool)  # fmt: skip
            joined = operators.apply(self, outside, op.fn, (*spread(carry, len(began)), *own))
            whole = tuple(np.where(began, x, y) for x, y in zip(own, joined, strict=True))
            if op.exclusive:
                before = tuple(
                    np.concatenate([[c], w[:-1]]) for c, w in zip(carry, whole, strict=True)
                )
                fresh = np.any(heads, axis=0) if heads else np.zeros(len(began), bool)
                found.append(tuple(np.where(fresh, n, b) for n, b in zip(
                    neutral, before, strict=True)))  # fmt: skip
            else:
                found.append(whole)
            carry = tuple(w[-1] for w in whole)
        if not found:
            return take(args, slice(0, 0))
        return tuple(np.concatenate(column) for column in zip(*found, strict=True))


def versions_of(plans: Mapping[str, SweepPlan]) -> Iterator[dict[str, tuple[SweepPlan, Version]]]:
    """Choices of a version for each sweep, so that each version is in one of them. Those for rows
    of one element are of another sweep, and stay out."""
    options = {
        name: [v for v in plan.versions if not v.guard.one] for name, plan in plans.items()
    }
    for k in range(max(map(len, options.values()), default=0)):
        yield {name: (plans[name], each[min(k, len(each) - 1)]) for name, each in options.items()}


def evaluated(
    program: Program, plans: Mapping[str, SweepPlan], args: Iterable[Any]
) -> Iterator[list[Any]]:
    """The results of a swept program by each of its plans' versions."""
    given = list(args)
    for chosen in versions_of(plans):
        yield run(program, given, ByVersion(program, chosen))
