"""Barriers of a block become those of a warp only where one warp has all the work between them."""

import re

import numpy as np
import pytest

import flatweave as fw
from flatweave import kernel as fk
from flatweave.kernel_ir.units import print_unit, verify
from flatweave.kernel_passes.barriers import reuse_memory, warp_phases
from flatweave.kernel_passes.distribute import BlockShape, distribute
from flatweave.lower.calls import unit_for
from flatweave.lower.machine import CUDA
from flatweave.runtime.devices import cuda_libraries
from flatweave.simulator.run import run
from tests.kernel_ir.machines import CUDA_SHAPES
from tests.kernel_ir.units import one_kernel

SHAPE = BlockShape(8, 32)
STEP = """
    for_all thread {count} (i: i64 =>
        j: i64 = add i {apart}
        k: i64 = mod j 64
        x: i64 = load {source} k
        y: i64 = load {source} i
        z: i64 = add x y
        store {target} i z)
"""


def phases(*steps, before="", first="xs"):
    """Steps from memory to memory, (threads, distance) each, with barriers between them."""
    text, source = before, first
    for number, (count, apart) in enumerate(steps):
        target = "out" if number == len(steps) - 1 else f"m{number}"
        if number:
            text += "\n    sync\n"
        if target != "out":
            text += f"\n    {target}: shared i64 = shared i64 64"
        text += STEP.format(count=count, apart=apart, source=source, target=target)
        source = target
    return text


def barriers(unit):
    """How many barriers of the block and of warps a unit's text has."""
    found = re.findall(r"\bsync( level=warp)?", print_unit(unit))
    return found.count(""), found.count(" level=warp")


def sums(steps, xs):
    """What the steps give."""
    for count, apart in steps:
        i = np.arange(count)
        xs = xs[i] + xs[(i + apart) % 64]
        xs = np.concatenate([xs, np.zeros(64, np.int64)])
    return xs[: steps[-1][0]]


TREE = [(64, 0), (32, 32), (16, 16), (8, 8), (4, 4), (2, 2), (1, 1)]


def test_the_tail_of_a_tree_is_the_work_of_one_warp():
    """Of 64 threads are two warps; all later steps are done by one."""
    unit = one_kernel(phases(*TREE), warps=2)
    assert barriers(unit) == (6, 0)

    made = warp_phases(unit, SHAPE)

    verify(made)
    assert barriers(made) == (1, 5)


@pytest.mark.parametrize("seed", [None, 0, 1, 2, 3])
def test_values_are_the_same_and_nothing_races(seed):
    """Written by levels and distributed, in several orders of blocks and warps."""
    xs = np.random.default_rng(1).integers(-9, 9, 64)
    made = warp_phases(reuse_memory(one_kernel(phases(*TREE), warps=2)), SHAPE)
    (found,) = run(made, [64, xs], threads=2, seed=seed)
    assert found[:1].tolist() == sums(TREE, xs).tolist()
    for shape in CUDA_SHAPES:
        (found,) = run(distribute(made, shape), [64, xs], threads=2, seed=seed)
        assert found[:1].tolist() == sums(TREE, xs).tolist()


@pytest.mark.parametrize(
    "why, body",
    [
        ("33 threads are more than a warp", phases((64, 0), (33, 3), (33, 3), (33, 1))),
        ("a number known at run time", phases((64, 0), ("n", 0), ("n", 0))),
        ("one phase alone", phases((64, 0), (8, 8), (64, 1))),
        (
            "a load of the block's between them",
            phases((64, 0), (8, 1)).replace("store out i z)", "store out i z)\n    sync")
            + "    v: i64 = load out 0\n    store out 1 v\n    sync\n"
            + STEP.format(count=8, apart=1, source="xs", target="out"),
        ),
        (
            "work of the block before the first, and no barrier",
            STEP.format(count=64, apart=0, source="xs", target="out") + phases((8, 1), (8, 1)),
        ),
        (
            "work of the block behind the last, and no barrier",
            phases((64, 0), (8, 1), (8, 1)).replace("store out i z)", "store out i z)")
            + STEP.format(count=64, apart=0, source="xs", target="out"),
        ),
        (
            "turns of a loop, which meet without a barrier",
            "for 0 n 1 (t: i64 =>" + phases((8, 1), (8, 1)) + ") []",
        ),
    ],
)
def test_a_barrier_that_is_not_proven_to_be_of_one_warp_stays(why, body):
    """The unit comes out as it went in."""
    unit = one_kernel(body, warps=2, checked=False)
    assert print_unit(warp_phases(unit, SHAPE)) == print_unit(unit), why


@pytest.mark.parametrize(
    "shape", [BlockShape(1, 8, simt=False), BlockShape(4, 32, warps_meet_alone=False)]
)
def test_where_warps_do_not_meet_alone_nothing_changes(shape):
    """On a CPU, and in OpenCL C."""
    unit = one_kernel(phases(*TREE), warps=2)
    assert warp_phases(unit, shape) is unit


def test_a_loop_of_the_block_keeps_its_own_barriers_around_those_of_a_warp():
    """The next iteration begins with the end of the last one."""
    inner = "sync\n" + phases((8, 1), (8, 1), (8, 1)) + "\nsync\n"
    unit = one_kernel("for 0 3 1 (t: i64 =>\n" + inner + ") []", warps=2)
    assert barriers(warp_phases(unit, SHAPE)) == (2, 2)


@fk.kernel
def sums_of_blocks(xs: fk.Pull[fw.f32]):
    def block(part):
        while part.length > 1:
            part = fk.force(fk.zip_with(lambda x, y: x + y, *fk.halve(part)))
        return part

    return fk.pconcat_map(block, fk.split_up(256, xs))


def test_a_users_reduction_has_few_barriers_on_cuda_and_all_on_opencl():
    """In OpenCL C there is no barrier of a warp. The last sum is read by the thread that has it."""
    cuda, opencl = sums_of_blocks.text["cuda"], sums_of_blocks.text["opencl"]

    assert len(re.findall(r"__syncthreads\(\);", cuda)) == 2
    assert len(re.findall(r"__syncwarp\(\);", cuda)) == 5
    assert len(re.findall(r"barrier\(", opencl)) >= 7


@pytest.mark.parametrize("architecture", ["compute_80", "compute_90"])
def test_its_text_is_compiled_for_cuda(architecture):
    """Barriers of warps are separate instructions."""
    assert "bar.warp.sync" in cuda_libraries.ptx(sums_of_blocks.text["cuda"], architecture)


def test_a_users_reduction_gives_the_same_in_the_simulator_behind_the_pass():
    """What a device gets is watched for races, too."""
    xs = np.arange(1024, dtype=np.float32)
    made = sums_of_blocks._entry((xs,), {})[0].traced
    found = run(unit_for(made, CUDA), [1024, xs], threads=2, seed=3)
    assert np.array_equal(found[0], xs.reshape(-1, 256).sum(1))
