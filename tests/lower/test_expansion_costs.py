"""How a block of a device goes along its sources: by what they cost, to the same results."""

from functools import cache

import numpy as np
import pytest

import flatweave as fw
from flatweave import pipeline
from flatweave.base.records import replace
from flatweave.base.schedule import CHOSEN, Schedule
from flatweave.lower.machine import CUDA
from flatweave.lower.schedule.division import along_on_device, side_by_side
from flatweave.lower.schedule.facts import SweepFacts
from flatweave.lower.schedule.steps import Along
from flatweave.ops import Sweep
from flatweave.simulator.counts import Counting
from flatweave.simulator.run import run
from flatweave.terms.traverse import walk_lets
from tests.codegen.device_programs import agree, flat, lowered, simulated, traced

RANDOM = np.random.default_rng(1)
FEW = replace(CUDA, warps=2, blocks_wanted=2, block_work=64, block_bytes=8192)
"""Blocks of some hundred results."""
SIZES = {
    "even": np.full(400, 5),
    "one or none": RANDOM.integers(0, 2, 2000),
    "long": RANDOM.integers(200, 260, 12),
    "one long in eight": np.where(np.arange(800) % 8 == 0, 20, 0),
    "none": np.zeros(40, np.int64),
    "one": np.array([1500]),
}
WAYS = {"even": "lanes", "long": "warps", "one long in eight": "search"}


def counted(sizes):
    """How often each of some indices occurs."""
    ys = fw.expand(lambda size: size, lambda size, i: (size * 7 + i * 3) % 19, sizes)
    return fw.histogram(19, ys)


def stored(sizes):
    """What an expansion gives."""
    return fw.expand(lambda size: size, lambda size, i: size * 100 + i, sizes)


@cache
def made(f, machine=FEW, wishes=CHOSEN):
    """A program for a machine."""
    return lowered(traced("f", f, np.zeros(2, np.int64)), machine, wishes)


def reads_of_marks(sizes, wish):
    """What the kernel that goes along sources reads of shared memory."""
    counting = Counting()
    unit = made(counted, wishes=Schedule(expand=wish)).unit
    run(unit, flat(sizes), counter=counting)
    (kernel,) = [each for each in counting.counts().kernels if each.kernel.endswith("_shared")]
    return kernel.shared_reads, kernel.global_reads


def by_numpy(sizes):
    """What is counted, and stored."""
    within = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    of = np.repeat(sizes, sizes)
    return np.bincount((of * 7 + within * 3) % 19, minlength=19), of * 100 + within


@pytest.mark.sampled
@pytest.mark.parametrize("f", [counted, stored])
def test_values(f):
    """Whatever blocks choose, and nobody races."""
    unit = made(f)
    for sizes in SIZES.values():
        found = simulated(unit, flat(sizes), threads=2, seed=1)
        agree(found, [by_numpy(sizes)[f is stored]])


def test_blocks_choose_by_what_their_sources_cost():
    """Marks are searched where sources are short and those of a warp's lanes differ much."""
    for name, way in WAYS.items():
        chosen = reads_of_marks(SIZES[name], None)[0]
        searched = reads_of_marks(SIZES[name], "balanced-search")[0]
        assert (chosen >= searched) is (way == "search"), name


def sweep(f, *args):
    """The sweep of an expansion's results."""
    program = list(pipeline.optimise(traced("f", f, *args)).values())[-1]
    sweeps = [let.op for let in walk_lets(program.fn) if isinstance(let.op, Sweep)]
    return next(op for op in sweeps if SweepFacts(op).located is not None)


def test_which_expansions_have_a_choice():
    """Not those that are combined along sources, nor dear ones; stores are side by side."""
    numbers = np.zeros(2, np.int64)
    dear = lambda xs: fw.expand(
        lambda x: x, lambda x, i: fw.fori_loop(0, 100, lambda k, s: s * 3 + i, x), xs
    )
    assert along_on_device(sweep(counted, numbers)) is Along.COST
    assert along_on_device(sweep(dear, numbers)) is Along.SEARCH
    located = {f: SweepFacts(sweep(f, numbers)).located for f in (counted, stored)}
    assert side_by_side(sweep(counted, numbers), located[counted]) == 0
    assert side_by_side(sweep(stored, numbers), located[stored]) == 1
