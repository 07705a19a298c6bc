"""Sums of a block's threads meet by shuffles: the same results for all shapes of rows."""

import numpy as np
import pytest

import flatweave as fw
from flatweave import kernel as fk
from flatweave.runtime.devices import cuda_libraries
from flatweave.simulator.schedules import adversaries

THREADS = 256
BLOCKS = 2
BEFORE = 3, 1, 2, 5
MOST = 1100
"""Matrices whose tile fits shared memory."""


def product(a, b):
    """Of 2x2 matrices, which do not commute; wraps around."""
    return (a[0] * b[0] + a[1] * b[2], a[0] * b[1] + a[1] * b[3],
            a[2] * b[0] + a[3] * b[2], a[2] * b[1] + a[3] * b[3])  # fmt: skip


def matrix(x):
    return x, x + 1, x * 0 + 1, x - 2


ONE = (1, 0, 0, 1)


def folded(xs, row, before=ONE):
    """All prefixes of each row by a loop: what is before each element, and what is up to it."""
    found = []
    for start in range(0, len(xs), row):
        state = tuple(np.int64(x) for x in before)
        for x in xs[start : start + row]:
            after = product(state, matrix(x))
            found.append((state, after))
            state = after
    return found


def scans(size, row, q, *, exclusive=False, before=None):
    """Products of all matrices of a row, up to each."""

    @fk.kernel(threads=THREADS)
    def kernel(xs):
        @fk.sequential(q)
        def block(part):
            rows = fk.map(matrix, part) if row == size else fk.split_up(row, fk.map(matrix, part))
            return fk.scan(product, rows, ONE, before, exclusive=exclusive)

        return fk.pconcat_map(block, fk.split_up(size, xs))

    return kernel


def reductions(size, row, q):
    """Products of all matrices of a row."""

    @fk.kernel(threads=THREADS)
    def kernel(xs):
        @fk.sequential(q)
        def block(part):
            found = fk.reduce(product, fk.split_up(row, fk.map(matrix, part)), ONE)
            return fk.map(lambda x: x, found)

        return fk.pconcat_map(block, fk.split_up(size, xs))

    return kernel


def check(kernel, xs, want):
    """Distributed as a device does it, and as it is written for one, with threads in no order."""
    with np.errstate(over="ignore"), fw.target("interp"):
        found = [kernel.simulate(xs, threads=THREADS), kernel.simulate(xs, seed=1, blocks=2)]
    for each in found:
        np.testing.assert_array_equal(np.array(each).T, want)


def given(size):
    return np.random.default_rng(size).integers(-3, 4, BLOCKS * size)


SHAPES = [
    (33, 33, 1),  # two warps, the second of one lane
    (120, 5, 1),  # rows that begin anywhere in a warp
    (192, 48, 1),  # rows of one warp and a half
    (96, 96, 3),  # one warp
    (1023, 1023, 4),  # a last thread that takes fewer
    (1000, 250, 8),  # rows of 32 threads
]


@pytest.mark.parametrize(("size", "row", "q"), SHAPES)
def test_scans(size, row, q):
    """Up to each element, and before each; going on from something or not."""
    xs = given(size)
    with np.errstate(over="ignore"):
        wanted, after = folded(xs, row), folded(xs, row, BEFORE)

    check(scans(size, row, q), xs, [up_to for _, up_to in wanted])
    check(scans(size, row, q, exclusive=True, before=BEFORE), xs, [before for before, _ in after])


@pytest.mark.parametrize(("size", "row", "q"), SHAPES)
def test_reductions(size, row, q):
    """Of each row."""
    xs = given(size)
    with np.errstate(over="ignore"):
        wanted = [up_to for _, up_to in folded(xs, row)][row - 1 :: row]

    check(reductions(size, row, q), xs, wanted)


@pytest.mark.slow
@pytest.mark.parametrize("q", [1, 2, 3, 4, 7, 16])
@pytest.mark.parametrize("row", [1, 2, 3, 7, 31, 32, 33, 64, 65, 127, 128, 129, 255, 256])
def test_every_row(row, q):
    """Rows around whole warps, enough for each thread of a block."""
    size = row * max(1, min(THREADS * q // max(row, q) // 2, MOST // row))
    test_scans(size, row, q)
    test_reductions(size, row, q)


def test_more_sums_than_threads_go_through_memory():
    """A thread has several of them then, in order."""
    kernel = scans(300, 300, 1)
    xs = given(300)
    with np.errstate(over="ignore"):
        check(kernel, xs, [up_to for _, up_to in folded(xs, 300)])

    assert kernel.counts(xs, threads=THREADS).shuffles == 0


def test_without_memory_for_one_warp():
    """All that a warp's threads combine is in registers, and none waits."""
    @fk.kernel(threads=32)
    def kernel(xs: fk.Pull[fw.f32]):
        @fk.sequential(1)
        def block(part):
            return fk.scan(fw.maximum, part, -np.float32(np.inf))

        return fk.pconcat_map(block, fk.split_up(32, xs))

    xs = np.random.default_rng(0).standard_normal(64).astype(np.float32)
    counts = kernel.counts(xs, threads=32)

    assert (counts.barriers, counts.shared_reads, counts.shared_writes) == (0, 0, 0)
    assert counts.shuffles == 2 * 5
    text = kernel.text["cuda"]
    assert "__shared__" not in text.split("k_kernel")[1]
    cuda_libraries.ptx(text)
    assert "__shfl" not in kernel.text["opencl"]


@pytest.mark.sampled
@pytest.mark.parametrize("schedule", adversaries(), ids=str)
def test_in_adverse_orders(schedule):
    """Warps that are far ahead, or stalled."""
    xs = given(192)
    with np.errstate(over="ignore"), fw.target("interp"):
        found = scans(192, 48, 1).simulate(xs, schedule=schedule, blocks=2)
        wanted = [up_to for _, up_to in folded(xs, 48)]
    np.testing.assert_array_equal(np.array(found).T, wanted)
