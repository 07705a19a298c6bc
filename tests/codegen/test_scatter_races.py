"""Every division of a scatter in the simulator, which finds races and wild indices."""

import numpy as np
import pytest

import flatweave as fw
from flatweave import pipeline
from flatweave.base.records import replace
from flatweave.base.schedule import Schedule
from flatweave.kernel_ir.units import verify
from flatweave.lower.machine import CPU_AVX512, CUDA
from flatweave.lower.program import lower
from flatweave.lower.scatter import private
from tests.codegen.device_programs import (
    agree,
    expected,
    flat,
    nearer,
    simulated,
    small_blocks,
    traced,
)


def sums(idx, vals):
    """With indices of which some are outside."""
    return fw.histogram(70, idx, vals)


def nearest(idx, vals):
    """Elements of two components that mix."""
    dest = fw.full(70, fw.i64(9)), fw.full(70, fw.i32(0))
    return fw.permute(nearer, dest, idx, (vals, fw.astype(idx, fw.i32)))


def last(idx, vals):
    """The last one stays."""
    return fw.scatter(fw.iota(70), idx, vals)


CASES = [
    *((name, sums) for name in ("owner", "private", "partition", "atomic", "cas")),
    *((name, nearest) for name in ("owner", "partition", "cas")),
    *((name, last) for name in ("owner", "partition", "atomic")),
]


@pytest.mark.sampled
@pytest.mark.parametrize(("name", "f"), CASES)
def test_nobody_races(monkeypatch, name, f):
    """On a CPU with small parts, so that there are several of each kind."""
    monkeypatch.setattr(private, "FIXED_COPIES", 3)
    small = replace(CPU_AVX512, block_bytes=1024, scratch_bytes=2048, first_level=2048)
    made = traced("f", f, np.zeros(2, np.int64), np.zeros(2, np.int64))
    swept = list(pipeline.optimise(made).values())[-1]
    unit = lower(swept, small, schedule=Schedule(permute=name))
    verify(unit.unit)
    for n in (0, 1, 300):
        random = np.random.default_rng(n)
        args = flat(random.integers(-3, 73, n), random.integers(0, 50, n))
        agree(simulated(unit, args, threads=3, seed=n), expected(made, args))


def expanded(sizes, values):
    """Sources of unlike sizes that write to shared indices, and into sums."""

    def one(pair, i):
        return (pair[0] * 7 + i * 3) % 73 - 3

    places = fw.expand(lambda pair: pair[0], one, (sizes, values))
    return fw.histogram(70, places), fw.permute(fw.add, fw.full(9, 0.0), places % 9, 0.5)


@pytest.mark.parametrize("deterministic", [True, False])
@pytest.mark.parametrize("name", ["per-source", "per-warp"])
def test_nor_do_sources(name, deterministic):
    """Each by a lane, or by a warp, with empty ones and a long one among them; into copies in
    shared memory, which lanes update at once or one by one, and where the destination is."""
    made = traced("f", expanded, np.zeros(2, np.int64), np.zeros(2, np.int64))
    swept, shape = list(pipeline.optimise(made).values())[-1], small_blocks(CUDA, warps=2)
    unit = lower(swept, shape, schedule=Schedule(expand=name, deterministic=deterministic))
    verify(unit.unit)
    for n in (0, 1, 40):
        sizes = np.random.default_rng(n).integers(0, 40, n)
        sizes[::3], sizes[:1] = 0, 150
        args = flat(sizes, np.arange(n))
        agree(simulated(unit, args, threads=3, seed=n), expected(made, args))


@pytest.mark.parametrize("name", ["sorted", "atomic", "cas"])
def test_nor_do_warps(name):
    """Where several warps of a block work side by side."""
    made = traced("f", sums, np.zeros(2, np.int64), np.zeros(2, np.int64))
    swept = list(pipeline.optimise(made).values())[-1]
    unit = lower(swept, CUDA, schedule=Schedule(permute=name))
    verify(unit.unit)
    random = np.random.default_rng(5)
    args = flat(random.integers(-3, 73, 3000), random.integers(0, 50, 3000))
    agree(simulated(unit, args, threads=3, seed=2), expected(made, args))
