"""Schedules next to one that was chosen: what `fw.tune` tries.

    bind least=10912 most=15392                  half as large, twice as large
    vectorize axis=last width=32 tail=shift      width=16, width=64; axis=space; tail=scalar
    split axis=last by=1024                      by=512, by=2048, or none
    version name=streaming                       left out, or from another size on

Each changes one thing, in all versions that have it. Some are refused: by the laws of the sweep's
operators, by what emission can do, or as they would group floats otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator

from flatweave.base.records import replace
from flatweave.lower.schedule.plan import SweepPlan
from flatweave.nest.schedule import (
    BY_PANELS,
    Axis,
    Bind,
    Reorder,
    Split,
    Step,
    Tail,
    Unroll,
    Vectorize,
    Version,
    kind_of,
)


def alternatives(plan: SweepPlan) -> Iterator[SweepPlan]:
    """Plans that differ from one by one thing, the steps' first."""
    steps = dict.fromkeys(step for version in plan.versions for step in version.steps)
    for old in steps:
        for new in _other(old):
            yield replace(plan, versions=tuple(_with(v, old, new) for v in plan.versions))
        if isinstance(old, Split) and BY_PANELS in steps:
            yield replace(plan, versions=tuple(_in_one(version) for version in plan.versions))
    *special, _ = plan.versions
    for version in special:
        others = tuple(each for each in plan.versions if each is not version)
        yield replace(plan, versions=others)
        for elements in _sizes(version.guard.elements):
            other = replace(version, guard=replace(version.guard, elements=elements))
            versions = tuple(other if each is version else each for each in plan.versions)
            yield replace(plan, versions=versions)
    for least, most in zip(_sizes(plan.bind.least), _sizes(plan.bind.most), strict=True):
        yield replace(plan, bind=_blocks(plan.bind, least, most))


def _sizes(size: int) -> tuple[int, ...]:
    """Half and twice as many."""
    return (size // 2, size * 2) if size > 1 else ()


def _blocks(bind: Bind, least: int, most: int) -> Bind:
    return replace(bind, least=min(least, most), most=most)


def _other(step: Step) -> Iterator[Step]:
    """Other values of one step."""
    match step:
        case Vectorize(axis=axis, width=width):
            yield from (replace(step, width=n) for n in _sizes(width))
            for other in (Axis.SPACE, Axis.LAST, Axis.FOLD):
                if other is not axis:
                    tails = [Tail.SCALAR, Tail.SHIFT] if other is Axis.LAST else [Tail.SCALAR]
                    yield from (Vectorize(other, width, tail) for tail in tails)
            if axis is Axis.LAST:
                tails = [Tail.SCALAR, Tail.SHIFT, Tail.SHIFT_OR_MASK]
                yield from (replace(step, tail=tail) for tail in tails if tail is not step.tail)
        case Split(by=by) | Unroll(by=by):
            yield from (replace(step, by=n) for n in _sizes(by))


def _with(version: Version, old: Step, new: Step) -> Version:
    """A version with another step for one that it has; parts and guards follow a step's width."""
    if old not in version.steps:
        return version
    changed = version.but(new)
    if isinstance(old, Vectorize) and isinstance(new, Vectorize):
        guard = version.guard
        if new.axis is not Axis.LAST:
            return replace(_in_one(changed), guard=replace(guard, multiple=1))
        if guard.multiple > 1:
            changed = replace(changed, guard=replace(guard, multiple=new.width))
    return changed


def _in_one(version: Version) -> Version:
    """A version whose last axis is not split into column tiles."""
    if version.step(Reorder) != BY_PANELS:
        return version
    left = ((Split, Axis.LAST), Reorder)
    return replace(version, steps=tuple(s for s in version.steps if kind_of(s) not in left))
