"""Schedules at random, evaluated in their own order: what the dependence test allows is right."""

import random

import numpy as np
import pytest

import flatweave as fw
from flatweave import pipeline
from flatweave.array_ir import interp
from flatweave.base.records import replace
from flatweave.lower.context import name_of
from flatweave.lower.machine import CPU_AVX512, CUDA
from flatweave.lower.program import lower
from flatweave.lower.schedule.arrangement import broken_laws
from flatweave.lower.schedule.facts import SweepFacts
from flatweave.lower.schedule.steps import (
    BY_PANELS,
    Axis,
    Bind,
    How,
    Reorder,
    RFactor,
    Split,
    Tail,
    Vectorize,
)
from flatweave.lower.schedule.verify import wrong_in
from flatweave.ops import Sweep
from flatweave.terms.traverse import walk_lets
from tests.codegen.device_programs import flat, traced
from tests.lower.scheduled import evaluated
from tests.lower.test_random_schedules import PROGRAMS as CHANGED

AFFINE = lambda a, b: (a[0] * b[0] % 9973, (a[1] * b[0] + b[1]) % 9973)
XS = np.arange(90) % 17
GRID = XS.reshape(6, 15)
PROGRAMS = {
    **{name: fn for name, (fn, _) in CHANGED.items()},
    "argmin of rows": lambda m: fw.map(fw.argmin, m),
    "sums and maps": lambda xs: (fw.sum(xs), xs * 2, fw.max(xs)),
    "scan from the end": lambda xs: fw.scan(fw.add, 0, xs[::-1])[::-1],
    "exclusive": lambda xs: fw.cumsum(xs) - xs,
    "affine": lambda xs: fw.reduce(AFFINE, (1, 0), (xs + 1, xs * xs)),
    "affine scan": lambda xs: fw.scan(AFFINE, (1, 0), (xs + 1, xs * xs))[1],
    "affine rows": lambda m: fw.map(lambda r: fw.reduce(AFFINE, (1, 0), (r + 1, r * r))[1], m),
    "histogram": lambda xs: fw.histogram(17, xs),
    "columns": lambda m: fw.sum(m, axis=0),
}
ON_ROWS = {"stencil", "sums of rows", "rows less their greatest", "transposed", "scans of rows",
           "product", "argmin of rows", "affine rows", "columns"}  # fmt: skip


def argument(name):
    """What a program takes."""
    return GRID if name in ON_ROWS else XS


def lowered(name, machine):
    """A program for a machine, with its plans."""
    made = traced("f", PROGRAMS[name], argument(name))
    return lower(list(pipeline.optimise(made).values())[-1], machine)


def sweeps(program):
    """The sweeps of a program, by their names."""
    return {name_of(let): let.op for let in walk_lets(program.fn) if isinstance(let.op, Sweep)}


def changed(plan, rng):
    """The plan with other blocks, and other steps in each version but those for short rows."""
    least = rng.choice([1, 2, 4, 7, 8, 16, 64])
    bind = replace(plan.bind, least=least, most=64 * least)

    def other(version):
        axis, width = rng.choice([Axis.SPACE, Axis.LAST, Axis.FOLD]), rng.choice([1, 2, 4, 8, 16])
        by_row = axis is Axis.LAST
        tail = rng.choice(list(Tail)) if by_row else Tail.SCALAR
        steps = [Vectorize(axis, width, tail, rng.choice([0, 0, 1, 3]))]
        if by_row and rng.random() < 0.3:
            steps += [Split(Axis.LAST, width * rng.choice([1, 2, 4])), BY_PANELS]
        if version.combines.hows and rng.random() < 0.5:
            how = rng.choice([How.LANEWISE, How.ORDERED])
            steps.append(RFactor((how,) * len(version.combines.hows)))
        kept = [step for step in version.steps if not isinstance(step, Split | Reorder)]
        return replace(version, steps=tuple(kept)).but(*steps)

    kept = (v for v in plan.versions if not (v.guard.of_short_rows or v.is_tiled))
    return replace(plan, bind=bind, versions=tuple(map(other, kept)))


def same(found, wanted):
    return all(np.array_equal(a, b) for a, b in zip(found, wanted, strict=True))


@pytest.mark.parametrize("machine", [CPU_AVX512, CUDA], ids=["cpu", "cuda"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_chosen_schedules_leave_the_values(name, machine):
    """By small blocks, for each version."""
    made = lowered(name, machine)
    args = flat(argument(name))
    wanted = interp.run(made.program, args)
    plans = {k: replace(p, bind=replace(p.bind, least=7)) for k, p in made.sweeps.items()}

    assert all(same(found, wanted) for found in evaluated(made.program, plans, args))


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_the_dependence_test_allows_leaves_the_values(name):
    """Any steps that no law forbids."""
    made, rng, allowed = lowered(name, CPU_AVX512), random.Random(name), 0
    args, ops = flat(argument(name)), sweeps(made.program)
    wanted = interp.run(made.program, args)
    for _ in range(40):
        k = rng.choice(list(ops))
        plan = changed(made.sweeps[k], rng)
        if [*wrong_in(plan, SweepFacts(ops[k]), CPU_AVX512)]:
            continue
        allowed += 1
        plans = {**made.sweeps, k: plan}
        assert all(same(found, wanted) for found in evaluated(made.program, plans, args))
    assert allowed > 2


SHIFTED = Vectorize(Axis.LAST, 4, Tail.SHIFT)
FORBIDDEN = {
    "sum": (SHIFTED,),
    "affine": (Vectorize(Axis.SPACE, 4), RFactor((How.LANEWISE,))),
    "scans of rows": (Vectorize(Axis.LAST, 4), Split(Axis.LAST, 4), BY_PANELS),
    "scan": (SHIFTED,),
}


@pytest.mark.parametrize("name", FORBIDDEN)
def test_what_it_forbids_changes_values(name):
    """So that the evaluation would notice a step that is allowed and should not be."""
    made, args = lowered(name, CPU_AVX512), flat(argument(name))
    ops = sweeps(made.program)
    plans = {
        k: replace(p, bind=Bind(16, 64), versions=(p.plain.but(*FORBIDDEN[name]),))
        for k, p in made.sweeps.items()
    }
    wrong = [
        each for k, p in plans.items()
        for each in broken_laws(ops[k], p.plain, scans=SweepFacts(ops[k]).scans.depth > 0)
    ]  # fmt: skip
    (found,) = evaluated(made.program, plans, args)

    assert wrong
    assert not same(found, interp.run(made.program, args))
