"""Every kind of scan on machines of threads: two passes where blocks must not wait, one on CUDA."""

import numpy as np
import pytest

import flatweave as fw
from flatweave.kernel_ir.memory_ops import AcquireLanes, LoadWhole, StoreWhole
from flatweave.kernel_ir.syntax import Acquire, Backoff, Release
from flatweave.lower.machine import CUDA, OPENCL
from flatweave.lower.schedule.plan import Carry
from flatweave.terms.traverse import walk_lets
from tests.codegen.device_programs import (
    affine,
    agree,
    expected,
    flat,
    lowered,
    on_opencl,
    simulated,
    small_blocks,
    traced,
)

F, X = np.arange(1.0, 10.0), np.arange(1, 10, dtype=np.int32)
ONE = (1.0, 0.0)
KINDS = {
    "rows": (lambda x, f: fw.scan(lambda a, b: a + b, fw.full(4, 0.0), rows(f))),
    "rows, exclusive": (
        lambda x, f: fw.scan(lambda a, b: a + b, fw.full(4, 0.0), rows(f), exclusive=True)
    ),
    "tuples": lambda x, f: fw.scan(affine, ONE, (0.5 + f / 16, f)),
    "tuples, exclusive": lambda x, f: fw.scan(affine, ONE, (0.5 + f / 16, f), exclusive=True),
    "tuples, reverse": lambda x, f: fw.scan(affine, ONE, (0.5 + f / 16, f), reverse=True),
    "tuples, segmented": lambda x, f: fw.segmented_scan(affine, ONE, x % 7 == 0, (f / 16, f)),
    "segmented": lambda x, f: fw.segmented_scan(fw.add, 0, x % 7 == 0, x),
    "exclusive": lambda x, f: fw.scan(fw.maximum, -100, x, exclusive=True),
    "reverse and exclusive": lambda x, f: fw.scan(fw.add, 0, x, reverse=True, exclusive=True),
}
WAITING = Acquire | AcquireLanes | Release | LoadWhole | StoreWhole | Backoff


def rows(f):
    """Rows of four."""
    return fw.map(lambda v: fw.generate(4, lambda i: v + i), f)


def made_of(kind):
    return traced("f", KINDS[kind], X, F)


def arguments_of(n):
    return flat(np.resize(X, n), np.resize(F, n))


@pytest.mark.parametrize("kind", KINDS)
def test_blocks_wait_only_where_they_may(kind):
    """By the machine's data: OpenCL has no kernel that asks what another block has done."""
    made = made_of(kind)
    for machine, carries in ((OPENCL, {Carry.TWO_PASS}), (CUDA, {Carry.LOOK_BACK, Carry.WORDS})):
        found = lowered(made, machine)
        levels = [level for plan in found.sweeps.values() for level in plan.levels]
        ops = [let.op for kernel in found.unit.complete().kernels for let in walk_lets(kernel.body)]
        waits = any(isinstance(op, WAITING) for op in ops)
        assert {level.carry for level in levels} <= carries
        assert waits is (machine is CUDA and bool(levels))


@pytest.mark.parametrize(
    "kind", ["segmented", *(pytest.param(kind, marks=pytest.mark.slow) for kind in KINDS)]
)
def test_values_in_the_simulator(kind):
    """Of both kinds of machines, blocks that are not full and none at all."""
    made = made_of(kind)
    for machine in (OPENCL, CUDA):
        unit = lowered(made, small_blocks(machine, warps=2, most_each=2))
        for n in (0, 1, 33, 300):
            args = arguments_of(n)
            agree(simulated(unit, args, threads=3, seed=n), expected(made, args))


@pytest.mark.needs_opencl
@pytest.mark.parametrize(
    "kind", ["tuples, segmented", *(pytest.param(kind, marks=pytest.mark.slow) for kind in KINDS)]
)
def test_values_on_opencl(kind):
    """Sizes around warps and blocks."""
    made = made_of(kind)
    runnable = on_opencl(made, small_blocks(OPENCL))
    for n in (0, 1, 127, 128, 129, 1023, 1025, 5000):
        args = arguments_of(n)
        agree(runnable.run(args), expected(made, args))
