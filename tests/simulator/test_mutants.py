"""The compiler's code is correct in every order of blocks and warps; broken copies are not.

Each barrier, release, acquire and update of a look-back, of histograms with atomics,
compare-and-swap and locks, and of fused expansions is left out once, and the simulator finds every
one of them.
"""

from functools import cache

import numpy as np
import pytest

import flatweave as fw
from flatweave import kernel as fk
from flatweave.kernel.build import Way, unit_of
from flatweave.kernel_ir.memory_ops import AcquireLanes, LoadWhole, StoreWhole
from flatweave.kernel_ir.syntax import Acquire, Release, Sync
from flatweave.lower.machine import CUDA, OPENCL, cpu
from flatweave.simulator.counts import Counting
from flatweave.simulator.run import run
from flatweave.simulator.schedules import ReverseBlocks, ReverseWarps, Shuffled, adversaries
from tests.codegen.device_programs import PROGRAMS, arguments, flat, lowered, small_blocks, traced
from tests.simulator.mutants import early, is_found, mutants, seldom, torn

MACHINES = {
    "cuda": small_blocks(CUDA, warps=4),
    "opencl": small_blocks(OPENCL, warps=4),
    "cpu": small_blocks(cpu(256, 16)),
}
PUBLISHED = Release | Acquire | AcquireLanes | LoadWhole | StoreWhole
AT_ONCE = 4
LEAST_BLOCKS = 3
"""With fewer, a block that looks back finds what was there before the launch."""


def decoded(values, counts):
    """Each value as often as its count says."""
    return fw.expand(lambda run: run[1], lambda run, i: run[0], (values, counts))


def numbered(values, counts):
    """An expansion whose elements are computed, and added up."""
    made = fw.expand(lambda run: run[1], lambda run, i: run[0] * 2 + i, (values, counts))
    return fw.sum(made), fw.filter(lambda x: x % 3 == 0, made)


RUNS = np.arange(220), np.random.default_rng(1).integers(0, 35, 220) * (np.arange(220) % 9 == 0)
"""So unlike each other that blocks of devices search."""
CASES = {
    **{name: (PROGRAMS[name], arguments(260)) for name in PROGRAMS},
    # keys that meet in the copies that each lane has, with a stride of 32 elements
    "histogram": (PROGRAMS["histogram"], (np.arange(260, dtype=np.int32) // 16 % 2, np.ones(260))),
    "wide": (lambda x, f: fw.cumsum(f), arguments(260)),
    "decoded": (decoded, RUNS),
    "numbered": (numbered, RUNS),
}
LOOK_BACK = ["scan_order", "filter", "siblings", "wide"]
UPDATES = ["histogram", "permute_any", "permute_wide", "permute_of_scan"]
EXPANSIONS = ["decoded", "numbered"]
ON = [
    *(("cuda", name) for name in (*LOOK_BACK, *UPDATES, *EXPANSIONS)),
    *(("opencl", name) for name in ("scan_order", "filter", "reduce_order", *UPDATES[:3])),
    ("opencl", "decoded"),
    *(("cpu", name) for name in ("scan_order", "filter", *EXPANSIONS)),
]
QUICK = {("cuda", "scan_order"), ("cuda", "permute_wide"), ("opencl", "filter"), ("cpu", "filter")}
ALL = [on if on in QUICK else pytest.param(*on, marks=pytest.mark.slow) for on in ON]


@cache
def made(machine, name):
    """The unit of a program, its arguments, what it gives, and how many blocks each kernel had."""
    fn, arrays = CASES[name]
    unit = lowered(traced("f", fn, *arrays), MACHINES[machine]).unit.complete()
    args, counting = flat(*arrays), Counting()
    wanted = run(unit, list(args), counter=counting)
    blocks = {counted.kernel: counted.blocks for counted in counting.counts().kernels}
    return unit, args, wanted, blocks


def agree(a, b):
    """Floats up to the order of additions."""
    return a.shape == b.shape and bool(np.allclose(a, b, rtol=1e-10, atol=1e-10))


@pytest.mark.sampled
@pytest.mark.parametrize(("machine", "name"), ALL)
def test_in_every_order(machine, name):
    """No race, nobody waits for ever, the same results."""
    unit, args, wanted, _ = made(machine, name)
    for schedule in adversaries():
        found = run(unit, list(args), AT_ONCE, schedule=schedule)
        assert all(map(agree, found, wanted)), schedule


@pytest.mark.sampled
@pytest.mark.parametrize(("machine", "name"), ON)
def test_each_broken_copy_is_found(machine, name):
    """Of the kernels that run on these arguments, chains of blocks where there are enough."""
    unit, args, wanted, blocks = made(machine, name)
    tried = missed = 0
    for mutant in mutants(unit):
        chain = isinstance(mutant.lost, PUBLISHED)
        if blocks.get(mutant.kernel, 0) < (LEAST_BLOCKS if chain else 1):
            continue
        if isinstance(mutant.lost, Sync) and mutant.lost.level == "warp":
            continue  # its lanes go in lock step here
        if machine == "cuda" and mutant.let.vars and mutant.let.vars in seldom(unit):
            continue  # tests/algorithms/test_window.py has as many blocks
        tried += 1
        if not is_found(mutant.unit, args, wanted, adversaries(), AT_ONCE, agree):
            missed += 1
            print(mutant)

    assert tried
    assert not missed


def test_words_that_are_torn_are_found():
    """A state without its value, or with that of another state."""
    unit, args, wanted, blocks = made("cuda", "wide")
    halves = [
        mutant for mutant in torn(unit)
        if blocks.get(mutant.kernel, 0) >= LEAST_BLOCKS and mutant.let.vars not in seldom(unit)
    ]  # fmt: skip

    assert {type(mutant.lost) for mutant in halves} == {LoadWhole, StoreWhole}
    orders = [ReverseBlocks(), ReverseWarps(), Shuffled(2), Shuffled(13)]
    for mutant in halves:
        assert is_found(mutant.unit, args, wanted, orders, AT_ONCE, agree), str(mutant)


def test_the_look_back_is_broken_in_all_its_parts():
    """Its two releases, two looks, two barriers of the block and two of its first warp."""
    unit, _, _, blocks = made("cuda", "scan_order")
    lost = [type(mutant.lost).__name__ for mutant in mutants(unit)]

    assert max(blocks.values()) >= LEAST_BLOCKS
    looks = ["AcquireLanes", "AcquireLanes"]
    assert sorted(lost) == [*looks, "Release", "Release", *["Sync"] * 4]


@pytest.mark.parametrize("machine", ["cuda", "cpu"])
def test_a_block_that_publishes_too_early_is_found(machine):
    """Its stores after its release are not published."""
    unit, args, wanted, blocks = made(machine, "scan_order")
    hasty = [mutant for mutant in early(unit) if blocks.get(mutant.kernel, 0) >= LEAST_BLOCKS]

    assert len(hasty) == 2
    for mutant in hasty:
        assert is_found(mutant.unit, args, wanted, adversaries(), AT_ONCE, agree), str(mutant)


def plus(a, b):
    return a + b


def halves(part):
    """red3 of the thesis."""
    while part.length > 1:
        part = fk.force(fk.zip_with(plus, *fk.halve(part)))
    return part


def sklansky(part):
    """sklansky1 of the thesis: log n steps over shared memory."""
    n, half = part.length, 1
    while half < n:
        step = half

        def at(i, before=part, step=step):
            last = (i // step) * step - 1
            return fk.cond(
                (i // step) % 2 == 1, lambda: before[last] + before[i], lambda: before[i]
            )

        part = fk.force(fk.pull(n, at))
        half *= 2
    return part


@fk.kernel
def reduced(xs):
    return fk.pconcat_map(halves, fk.split_up(128, xs))


@fk.kernel
def scanned(xs):
    return fk.pconcat_map(sklansky, fk.split_up(64, xs))


@fk.kernel
def counted(xs):
    found = fk.fill(fk.replicate(8, 0))

    def block(b):
        own = fk.fill(fk.replicate(8, 0))
        fk.for_all(64, lambda i: fk.atomic_inc(own, xs[b * 64 + i]))
        fk.barrier()
        fk.for_all(8, lambda j: fk.atomic_add(found, j, own[j]))

    fk.for_all(4, block)
    return found


@fk.kernel
def running(xs):
    """A chain of eight blocks that look back."""
    parts = fk.split_up(32, xs)
    chain = fk.chain(parts.length, 0)

    def block(b):
        total = fk.reduce(plus, parts[b], 0)
        return fk.scan(plus, parts[b], 0, fk.look_back(plus, chain, b, total))

    return fk.generate(parts.length, block)


XS = np.random.default_rng(2).integers(0, 8, 256)


def units_of(kernel, threads):
    """A user's kernel, as written or for blocks of some threads."""
    made, args = kernel._entry((XS,), {})
    return unit_of(made.traced, Way(threads=threads)), args


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("kernel", "wanted", "threads", "redundant"),
    [
        (reduced, XS.reshape(-1, 128).sum(1), None, 0),
        (reduced, XS.reshape(-1, 128).sum(1), 64, 5),
        (scanned, XS.reshape(-1, 64).cumsum(1).ravel(), None, 0),
        (scanned, XS.reshape(-1, 64).cumsum(1).ravel(), 64, 4),
        (counted, np.bincount(XS, minlength=8), None, 0),
        (counted, np.bincount(XS, minlength=8), 64, 0),
        (running, XS.cumsum(), None, 0),
        pytest.param(running, XS.cumsum(), 64, 6, marks=pytest.mark.slow),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_kernels_of_users(kernel, wanted, threads, redundant):
    """As written, where threads are in no order, and in warps of 32 lanes in lock step."""
    # In lock step, barriers between threads of one warp are redundant: 64 sums are written by two
    # warps, but 32 or fewer by the warp that reads them. A scan of up to 32 stays in its warp, too,
    # and lanes that look at words back to the nearest prefix.
    unit, args = units_of(kernel, threads)
    for schedule in adversaries():
        np.testing.assert_array_equal(run(unit, list(args), AT_ONCE, schedule=schedule)[0], wanted)
    results = run(unit, list(args))
    missed = [
        mutant
        for mutant in mutants(unit)
        if not (mutant.let.vars and mutant.let.vars in seldom(unit))  # as above
        and not is_found(mutant.unit, args, results, adversaries(), AT_ONCE)
    ]
    assert len(missed) == redundant, [str(mutant) for mutant in missed]
    assert all(isinstance(mutant.lost, Sync) for mutant in missed)
