"""Short arrays are sorted in a network of registers, longer ones in passes: one order for both."""

import numpy as np
import pytest

import flatweave as fw
from flatweave.kernel_ir.lane_facts import missed
from flatweave.lower.machine import CPU_AVX512, OPENCL, cpu
from flatweave.lower.sort.short_rows import few_elements
from flatweave.ops import Sort
from flatweave.terms.traverse import walk_lets
from tests.codegen.device_programs import lowered, traced
from tests.codegen.levels import LEVELS, in_force
from tests.language.test_sorting import order_of, same_bits, samples, sorted_values

LENGTHS = [0, 1, 2, 7, 127, 128, 129, 511, 513, 1023, 1024, 1025, 2048, 2049, 4096, 4097]
BOTH = fw.jit(lambda keys, xs: (*fw.sort_by_key(keys, xs), fw.argsort(keys, descending=True)))


def launched(f, *args):
    """The kernels that a call launches."""
    with fw.profile() as profile:
        f(*args)
    return {row["kernel"].rpartition("_")[2] for row in profile.rows() if row["launches"]}


@pytest.mark.sampled
@pytest.mark.parametrize("dtype", [np.uint8, np.float32, np.float64])
def test_every_length_around_the_registers(dtype, threads):
    """Values go along with equal keys in the order they came in, up and down."""
    for n in LENGTHS:
        keys = samples(dtype, n, seed=n)
        order = order_of(keys)
        moved, places, down = BOTH(keys, np.arange(n, dtype=np.int32))
        same_bits(moved, keys[order])
        same_bits(places, order.astype(np.int32))
        same_bits(down, order_of(keys, descending=True))


@pytest.mark.sampled
@pytest.mark.parametrize("level", LEVELS)
def test_every_width_of_registers(level):
    """On either side of the length that the level sorts at once."""
    with in_force(level):
        argsort = fw.jit(lambda xs: fw.argsort(xs))
        for n in (3, 511, 513, 2049):
            xs = samples(np.float64, n, seed=n)
            same_bits(argsort(xs), order_of(xs))


def test_one_launch_sorts_what_is_short():
    """Passes are launched, and their kernels made, for what is longer."""
    sort = fw.jit(lambda xs: fw.sort(xs))
    short, long = samples(np.int64, 500), samples(np.int64, 4097)
    assert launched(sort, short) >= {"network"}
    made = [name for name, _, there in sort.stages(short).launched if there]
    assert len(made) == 2
    assert "network" not in launched(sort, long)


def test_all_warps_come_to_each_collective():
    """Which code sorts the rows of a warp depends on their lengths, which are counted before; so
    does how a block looks for rows. On OpenCL each barrier is one of the block."""

    def rows(x, ends):
        return fw.map(fw.argsort, fw.ragged(x, offsets=ends)).values

    made = traced("rows", rows, np.arange(3), np.array([0, 1, 3]))
    kernels = lowered(made, OPENCL).unit.complete().kernels

    assert any(kernel.name.endswith("_of_16") for kernel in kernels)
    assert not [(kernel.name, at) for kernel in kernels for at in missed(kernel.body)]


def test_the_array_is_the_callers():
    """A sort neither writes what it is given nor hands it out."""
    xs = samples(np.float64, 900)
    kept = xs.copy()
    first, second = fw.jit(lambda xs: (fw.sort(xs), fw.sort(-xs)))(xs)
    same_bits(xs, kept)
    assert not np.shares_memory(np.asarray(first), xs)
    same_bits(first, sorted_values(kept))
    same_bits(second, sorted_values(-kept))


@pytest.mark.parametrize(
    ("machine", "dtype", "count"),
    [(CPU_AVX512, np.int32, 8192), (CPU_AVX512, np.float64, 4096), (cpu(256, 16), np.int64, 1024),
     (cpu(256, 16), np.uint8, 4096), (cpu(128, 16), np.float32, 2048)],
)  # fmt: skip
def test_how_many_are_few(machine, dtype, count):
    """So many as fill as many registers with words."""
    traced = fw.jit(fw.sort).stages(np.zeros(3, dtype)).executable.traced
    (sort,) = (let.op for let in walk_lets(traced.fn) if isinstance(let.op, Sort))
    assert few_elements(machine, sort.fn) == count
