"""An expansion that is permuted, divided in every way, on machines whose lanes are threads."""

import numpy as np
import pytest

import flatweave as fw
from flatweave import pipeline
from flatweave.base.schedule import Schedule
from flatweave.codegen import cuda
from flatweave.kernel_ir.units import verify
from flatweave.lower.machine import CUDA
from flatweave.lower.program import lower
from flatweave.lower.schedule.steps import Along
from flatweave.lower.traverse import ragged_row_search, row_lookup
from flatweave.terms.build import Builder, index
from flatweave.terms.syntax import Const
from tests.codegen.device_programs import agree, flat, simulated, small_blocks, traced

VARIANTS = (
    "per-source", "per-warp", "per-block", "16-per-block", "300-per-block", "balanced",
    "16-per-block-search", "300-per-block-search", "balanced-search", "per-source-random",
    "per-warp-random", "per-block-random", "16-per-block-random",
)  # fmt: skip


def sizes_of(kind, n):
    """The sizes of n sources: none has results, one has nearly all, one each on average, Zipf's."""
    random = np.random.default_rng(n)
    huge = np.zeros(n, np.int64)
    huge[n // 3 : n // 3 + 1] = 4 * n
    return {
        "none": np.zeros(n, np.int64),
        "one huge": huge,
        "mean 1": random.integers(0, 3, n),
        "Zipf": np.minimum(random.zipf(1.5, n) - 1, n),
    }[kind]


def elements(sizes, numbers):
    """What sources expand to."""
    return fw.expand(lambda x: x[0], lambda x, i: (x[1] * 7 + i * 3) % 2000 - 3, (sizes, numbers))


def summed(sizes, numbers):
    """Sums of floats."""
    ys = elements(sizes, numbers)
    return fw.permute(fw.add, fw.full(9, 0.0), ys % 9, fw.astype(ys, fw.f64) * 0.5)


def permuted(sizes, numbers):
    """Counts in few bins, some outside, and in many; sums of floats; stored arrays."""
    ys = elements(sizes, numbers)
    counts = fw.histogram(70, ys), fw.histogram(19_900, ys % 19_900, 2)
    return summed(sizes, numbers), *counts, ys


def wanted(sizes, numbers):
    """The same by NumPy."""
    within = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    ys = (np.repeat(numbers, sizes) * 7 + within * 3) % 2000 - 3
    few = np.bincount(ys[(ys >= 0) & (ys < 70)], minlength=70)
    many = np.bincount(ys % 19_900, minlength=19_900) * 2
    return np.bincount(ys % 9, ys * 0.5, minlength=9).astype(float), few, many, ys


def swept(f):
    """A program of sizes and numbers."""
    made = traced("f", f, np.zeros(2, np.int64), np.zeros(2, np.int64))
    return list(pipeline.optimise(made).values())[-1]


def lowered(f, wish, machine):
    """The program for a machine, its expansions divided as is wished."""
    unit = lower(swept(f), machine, schedule=Schedule(expand=wish))
    verify(unit.unit)
    return unit


def agrees_in_simulator(f, variant, cases):
    """Values, and nobody races."""
    unit = lowered(f, variant, small_blocks(CUDA, warps=2))
    for kind, n in cases:
        sizes, numbers = sizes_of(kind, n), np.arange(n)
        found = simulated(unit, flat(sizes, numbers), threads=3, seed=n)
        agree(found, wanted(sizes, numbers)[: len(found)])


@pytest.mark.parametrize("variant", [None, "per-source-random"])
def test_nobody_races(monkeypatch, variant):
    """With so few marks that strides are longer than one."""
    monkeypatch.setattr(ragged_row_search, "MARKS", 8)
    agrees_in_simulator(summed, variant, [("mean 1", 50)])


@pytest.mark.slow
@pytest.mark.parametrize("marks", [8, ragged_row_search.MARKS])
@pytest.mark.parametrize("variant", VARIANTS)
def test_nobody_races_however_it_is_divided(monkeypatch, variant, marks):
    """All variants, all sizes of sources."""
    monkeypatch.setattr(ragged_row_search, "MARKS", marks)
    kinds = ("none", "one huge", "mean 1", "Zipf")
    cases = [("none", 0), ("mean 1", 1), *((kind, n) for n in (33, 301) for kind in kinds)]
    agrees_in_simulator(permuted, variant, cases)


def agrees(f, target, variant):
    """Values, whatever the sizes."""
    with fw.schedule(expand=variant):
        run = fw.jit(f, target=target)
        for kind in ("none", "one huge", "mean 1", "Zipf"):
            sizes, numbers = sizes_of(kind, 3000), np.arange(3000)
            found = run(sizes, numbers)
            for ours, reference in zip(
                found if isinstance(found, tuple) else (found,), wanted(sizes, numbers),
                strict=False,
            ):  # fmt: skip
                agree([np.asarray(ours)], [reference])


@pytest.mark.parametrize(("target", "variant"), [
    pytest.param("opencl", "balanced-search", marks=pytest.mark.needs_opencl),
    ("cpu", "per-source-random"),
])  # fmt: skip
def test_a_division_gives_the_same(target, variant):
    """Whoever computes what."""
    agrees(summed, target, variant)


@pytest.mark.slow
@pytest.mark.parametrize("target", ["cpu", pytest.param("opencl", marks=pytest.mark.needs_opencl)])
@pytest.mark.parametrize("variant", VARIANTS)
def test_every_division_gives_the_same(target, variant):
    """All that may follow."""
    agrees(permuted, target, variant)


def test_lanes_search_on_their_own():
    """Or a block decides, where nothing is combined along rows and order does not matter."""
    def along(wish):
        plans = lower(swept(summed), CUDA, schedule=Schedule(expand=wish)).sweeps
        return [plan.plain.rows.along for plan in plans.values() if plan.scatter][0]

    assert along(None) is along("balanced") is Along.COST
    assert along("balanced-search") is along("16-per-block-search") is Along.SEARCH
    assert along("16-per-block") is Along.POSITIONS
    assert along("per-source-random") is Along.ROWS


@pytest.mark.parametrize("count", [1, 2, 3, 7, 64, 1000, 4096])
def test_a_mixed_order_has_every_number_once(count):
    """And neighbours are far from each other."""
    b = Builder()
    found = [row_lookup.mixed(b, index(i), index(count)) for i in range(count)]
    values = [each.value for each in found if isinstance(each, Const)]

    assert sorted(values) == list(range(count))
    if count >= 64:
        assert np.abs(np.diff(values)).min() > count // 8


@pytest.mark.slow
@pytest.mark.parametrize("architecture", ["sm_80", "sm_90"])
@pytest.mark.parametrize("variant", VARIANTS)
def test_its_text_becomes_machine_code(compiler, variant, architecture):
    """CUDA's compiler takes the kernels of each."""
    unit = lowered(permuted, variant, CUDA).unit

    assert compiler.cubin(cuda.emit(unit), architecture).startswith(b"\x7fELF")
