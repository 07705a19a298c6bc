"""Register tiles: what is a contraction and how it is divided, and its kernel in the simulator."""

import numpy as np
import pytest

import flatweave as fw
from flatweave import pipeline
from flatweave.base.errors import CompilerBug
from flatweave.base.records import replace
from flatweave.base.schedule import schedule_of
from flatweave.kernel_ir.units import verify
from flatweave.lower.machine import BLOCK_WORK, CPU_AVX512, CUDA, OPENCL, cpu
from flatweave.lower.program import lower
from flatweave.lower.scatter.plans import plan_of
from flatweave.lower.schedule.facts import SweepFacts
from flatweave.lower.schedule.plan import parse_plans, print_plans
from flatweave.lower.schedule.steps import BY_PANELS, Axis, Cache, Memory, Split, Unroll, Vectorize
from flatweave.lower.schedule.verify import verify_plan
from flatweave.ops import Sweep
from flatweave.terms.traverse import walk_lets
from tests.codegen.device_programs import agree, expected, flat, simulated, traced
from tests.language.test_contractions import (
    distances,
    nearest,
    product,
    product_by_index,
    product_of_rows,
)
from tests.quick import every

batched = lambda x, y: fw.map(lambda p, q: product(p, q) + 1.0, x, y)
F32, F64 = np.ones((9, 9), np.float32), np.ones((9, 9))
TILES = schedule_of("contraction=tiles")
SMALL = (
    Split(Axis.ROW, 4), Split(Axis.LAST, 8), Split(Axis.FOLD, 4), Unroll(Axis.ROW, 2),
    Vectorize(Axis.LAST, 4),
)  # fmt: skip


def swept(f, *args):
    """The program as it is lowered."""
    return list(pipeline.optimise(traced("f", f, *args)).values())[-1]


def facts(f, *args):
    """Of the last sweep of a program."""
    return SweepFacts([let.op for let in walk_lets(swept(f, *args).fn)
                          if isinstance(let.op, Sweep)][-1])  # fmt: skip


def tile(f, *args, machine=CPU_AVX512):
    """The version in tiles that is chosen."""
    plan = plan_of(facts(f, *args), machine, schedule_of("store=plain"))
    return next((version for version in plan.versions if version.is_tiled), None)


def size(version):
    """Rows and lanes of a version's register tiles."""
    return version.step(Unroll).by, version.lanes.width


def in_tiles(plan, *steps):
    """The plan with other register tiles, and folds in parts."""
    return replace(plan, versions=tuple(
        version.but(*steps) if version.is_tiled else version for version in plan.versions
        if not version.guard.longest))


def cache_of(plan, square):
    """The operands in packed form, where the plan has them so."""
    return [packed(square)] if any(version.step(Cache) for version in plan.versions) else []


def packed(square):
    """Operands in packed form."""
    return Cache(Memory.PACKED, (Axis.ROW, Axis.LAST), square)


@pytest.mark.parametrize("f", [product, product_of_rows, product_by_index, distances, nearest])
def test_contractions_are_found(f):
    """Written over columns, rows or indices, and with a fold around them."""
    assert facts(f, F32, F32).contraction is not None


def test_other_sweeps_are_none():
    """A read that varies along both axes, an extent that varies, and a sum of one row."""
    both = facts(lambda a, c: fw.generate((9, 9), lambda i, j: fw.sum(
        fw.map(lambda k: a[i, k] * c[i, j, k], fw.iota(9)))), F32, np.ones((9, 9, 9)))  # fmt: skip
    assert both.contraction is None
    assert facts(lambda a: fw.map(fw.sum, a), F32).contraction is None
    triangle = facts(lambda a: fw.generate((9, 9), lambda i, j: fw.sum(
        fw.map(lambda k: a[i, k] * a[j, k], fw.iota(i)))), F32)  # fmt: skip
    assert triangle.contraction is None


def test_tiles_fill_the_registers():
    """32 of 64 bytes, 16 of 32 bytes, 16 of 16 bytes; f64 has half as many lanes, a pair of results
    half as many rows."""
    assert size(tile(product, F32, F32)) == (14, 32)
    assert size(tile(product, F64, F64)) == (14, 16)
    assert size(tile(product, F32, F32, machine=cpu(256, 16))) == (6, 16)
    assert size(tile(product, F32, F32, machine=cpu(128, 16)))[1] == 8
    least = lambda a, b: fw.map(lambda r: fw.map(lambda c: fw.argmin(r + c), b), a)
    assert size(tile(least, F32, F32))[0] == 7


def test_lanes_that_lie_along_the_fold_are_turned():
    """In squares of a register."""
    assert tile(product, F32, F32).step(Cache).square == 0
    assert tile(product_of_rows, F32, F32).step(Cache).square == 16
    assert tile(nearest, F64, F64).step(Cache).square == 8


def test_small_products_are_read_in_place():
    """Nothing is packed. Lanes fill half a register or one, or two where a value of a row needs a
    separate broadcast. Short folds are in one part."""
    stack = np.ones((9, 9, 9), np.float32)

    def tiled(machine):
        plan = plan_of(facts(batched, stack, stack), machine, schedule_of("store=plain"))
        return [version for version in plan.versions if version.is_tiled]

    versions = tiled(CPU_AVX512)
    assert [size(version) for version in versions] == [(8, 8), (8, 16)] * 2
    assert [version.guard.widest for version in versions] == [8, 0, 8, 0]
    assert [version.guard.longest > 0 for version in versions] == [True, True, False, False]
    assert [version.part(Axis.FOLD) > 0 for version in versions] == [False, False, True, True]
    assert not any(version.step(Cache) for version in versions)
    assert [size(version) for version in tiled(cpu(256, 16))] == [(4, 4), (4, 8), (4, 16)] * 2


def test_threads_have_no_register_tiles():
    """They divide by themselves."""
    for machine in (CUDA, OPENCL):
        assert tile(product, F32, F32, machine=machine) is None


def test_small_products_are_not_tiled():
    """What a tile costs first is more than a small product."""
    found = facts(product, F32, F32)
    tiled, *_ = plan_of(found, CPU_AVX512, schedule_of("store=plain")).versions
    assert tiled.is_tiled and tiled.guard.work == BLOCK_WORK // 4
    lanes = plan_of(found, CPU_AVX512, schedule_of("contraction=lanes"))
    assert not any(each.is_tiled for each in lanes.versions)


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        ([Unroll(Axis.ROW, 3)], "not whole register tiles"),
        ([Vectorize(Axis.LAST, 0)], "0 lanes"),
        ([Vectorize(Axis.FOLD, 4)], "lanes follow the last axis"),
        ([Split(Axis.FOLD, 0)], "in parts of 0"),
        ([packed(3)], "squares of 3 lanes"),
        ([packed(4)], "not adjacent along the fold"),
        ([BY_PANELS], "the fold goes around"),
    ],
)
def test_wrong_tiles_are_refused(steps, message):
    """By the rules of plans."""
    found = facts(product, F32, F32)
    plan = plan_of(found, CPU_AVX512, TILES)
    with pytest.raises(CompilerBug, match=message):
        verify_plan(in_tiles(plan, *SMALL, *steps), found, CPU_AVX512)
    with pytest.raises(CompilerBug, match="no contraction"):
        verify_plan(plan, facts(lambda a: fw.map(fw.sum, a), F32), CPU_AVX512)


@pytest.mark.sampled
@pytest.mark.parametrize("square", [0, 2, 4])
@pytest.mark.parametrize("f", [product, product_of_rows, distances, nearest])
@pytest.mark.parametrize(
    "shape", every(4, [(0, 3, 2), (1, 1, 0), (2, 4, 4), (5, 9, 7), (9, 17, 11)]), ids=str
)
def test_the_kernel_in_the_simulator(f, shape, square):
    """Tiles of a few results, so that there are several, whole ones and rests; nobody races."""
    rows, lanes, steps = shape
    if square and f is product:
        pytest.skip("its lanes do not follow the fold")
    rng = np.random.default_rng(0)
    a = rng.integers(-9, 10, (rows, steps)).astype(np.float64)
    b = rng.integers(-9, 10, (steps, lanes) if f is product else (lanes, steps)).astype(np.float64)
    if f is nearest and not lanes * rows:
        pytest.skip("argmin of nothing")
    made = traced("f", f, a, b)
    program = list(pipeline.optimise(made).values())[-1]
    plans = parse_plans(print_plans(lower(program, cpu(256, 16), schedule=TILES).sweeps))
    plans = {name: in_tiles(plan, *SMALL, *cache_of(plan, square)) for name, plan in plans.items()}
    unit = lower(program, cpu(256, 16), schedule=TILES, plans=plans)

    verify(unit.unit)

    for threads in (1, 3):
        agree(simulated(unit, flat(a, b), threads=threads, seed=rows), expected(made, flat(a, b)))


def whole_tiles(plan):
    """The plan with register tiles of 4 x 2 that take all steps of a fold."""
    whole = [v.but(Unroll(Axis.ROW, 4), Vectorize(Axis.LAST, 2)) for v in plan.versions
             if v.guard.longest and not v.guard.widest]
    return replace(plan, versions=(*whole, *(v for v in plan.versions if not v.is_tiled)))


@pytest.mark.sampled
@pytest.mark.parametrize("shape", [(3, 1, 2, 5), (2, 5, 7, 9), (1, 9, 9, 3), (2, 2, 17, 6)])
@pytest.mark.parametrize("cache", ["whole", (), (Axis.LAST,), (Axis.ROW, Axis.LAST)], ids=str)
def test_many_products_in_the_simulator(shape, cache):
    """Several at once: whole register tiles and rests, some steps at once and the rest. One
    emission reads values in place or packs them, for any contraction."""
    count, rows, lanes, steps = shape
    rng = np.random.default_rng(0)
    a = rng.integers(-9, 10, (count, steps, rows)).astype(np.float64)
    b = rng.integers(-9, 10, (count, steps, lanes)).astype(np.float64)
    made = traced("f", lambda x, y: fw.map(lambda p, q: product(p.T, q) + 1.0, x, y), a, b)
    program = list(pipeline.optimise(made).values())[-1]
    plans = parse_plans(print_plans(lower(program, cpu(256, 16), schedule=TILES).sweeps))
    if cache == "whole":
        plans = {name: whole_tiles(plan) for name, plan in plans.items()}
    else:
        small = *SMALL, *([Cache(Memory.PACKED, cache)] if cache else [])
        plans = {name: in_tiles(plan, *small) for name, plan in plans.items()}
    unit = lower(program, cpu(256, 16), schedule=TILES, plans=plans)

    verify(unit.unit)

    for threads in (1, 3):
        agree(simulated(unit, flat(a, b), threads=threads, seed=rows), expected(made, flat(a, b)))
