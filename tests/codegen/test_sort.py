"""The passes of a sort as kernels: without races on a CPU, right for every dtype on OpenCL."""

import re

import numpy as np
import pytest

import flatweave as fw
from flatweave.base.dtypes import DTYPES
from flatweave.kernel_ir.host import Launch
from flatweave.lower.machine import CPU_AVX512
from flatweave.terms.traverse import walk_lets
from tests.codegen.device_programs import (
    agree,
    arguments,
    expected,
    flat,
    lowered,
    on_opencl,
    program,
    simulated,
    small_blocks,
    traced,
)
from tests.codegen.levels import in_force
from tests.language.test_sorting import order_of, samples, sorted_values


def test_blocks_of_a_cpu_run_without_races():
    """Runs meet in the lines of the target; each writes its own elements alone."""
    made = program("sort")
    unit = lowered(made, small_blocks(CPU_AVX512))
    for n in (0, 1, 33, 300):
        args = flat(*arguments(n))
        agree(simulated(unit, args, threads=3, seed=n), expected(made, args))


def test_lines_go_around_the_caches():
    """Whole lines are aligned, as the simulator asks of them, whatever the dtypes."""
    machine = small_blocks(CPU_AVX512, streaming_from=1)
    made = traced("lines", lambda k, v: fw.sort_by_key(k, v), *_pair(1))
    unit = lowered(made, machine)
    for n in (33, 500):
        args = flat(*_pair(n))
        agree(simulated(unit, args, threads=2, seed=n), expected(made, args))


def _pair(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Two keys, and values that tell which was first."""
    return np.arange(n).astype(np.uint16) % 2, np.arange(n).astype(np.uint8)


def test_a_pass_counts_scans_and_moves():
    """Three launches in a loop over digits, after those that find out which bits vary and how many
    of them differ between elements; and two that repair. Before them: reversed and short inputs."""
    made = traced("pair", lambda k, v: fw.sort_by_key(k, v), *_pair(1))
    unit = lowered(made, CPU_AVX512).unit
    launches = [let.op.kernel for let in walk_lets(unit.host) if isinstance(let.op, Launch)]
    moved = launches[1].removesuffix("_turned")

    suffixes = ["_turned", "_network", "_sample", "_count", "_partials", "", "_begins", "_mend"]
    assert launches[1:] == [f"{moved}{suffix}" for suffix in suffixes]


@pytest.mark.sampled
@pytest.mark.needs_opencl
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_every_dtype_on_opencl(dtype):
    """Runs of single lanes keep the order as blocks do."""
    made = traced("every", lambda x: (fw.sort(x), fw.argsort(x, descending=True)),
                  samples(dtype.numpy, 2))  # fmt: skip
    runnable = on_opencl(made)
    for n in (0, 1, 129, 5000):
        xs = samples(dtype.numpy, n, seed=n)
        up, down = runnable.run(flat(xs))
        assert np.asarray(up).tobytes() == sorted_values(xs).tobytes()
        np.testing.assert_array_equal(down, order_of(xs, descending=True))


@pytest.mark.needs_opencl
def test_two_keys_on_opencl():
    """Keys around zero, of which the digits have bits of both."""
    rng = np.random.default_rng(5)
    a, b = rng.integers(-5, 5, 3000), rng.normal(size=3000)
    runnable = on_opencl(traced("two", lambda a, b: fw.argsort((a, b)), a, b))
    (found,) = runnable.run(flat(a, b))
    np.testing.assert_array_equal(found, np.lexsort((b, a)))


def test_networks_store_without_masks():
    """Masked stores are slow, and later loads wait for them."""
    with in_force("x86-64-v3"):
        assembly = fw.jit(lambda x: fw.sort(x, axis=1)).stages(np.ones((9, 1000))).text["asm"]
    compared = r"vpcmpgtq\s+%ymm\d+, %ymm\d+, (%ymm\d+)\n(?:.*blendv.*\n)?"

    assert re.search(compared, assembly)
    assert not re.search(compared + r".*maskmov\w+\s+%ymm\d+, \1, ", assembly)
