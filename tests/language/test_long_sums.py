"""Sums of many floats are near the true one, whatever is summed and however it lies.

A sequential sum of n floats may be wrong by n roundings, and is by a good part of them
where all elements are alike. Sums by blocks are not (`algorithms/loops.py`).
"""

from __future__ import annotations

import math

import numpy as np
import pytest

import flatweave as fw
from flatweave.base.config import config
from flatweave.codegen.llvm.isa import here

NEAR = 1.5e-5
"""Relative: some 170 roundings of f32. One after the other, 10^6 elements are wrong by 10^-3."""
WHOLE, NEAR_OF_WHOLE = 3, NEAR if here().register_bits > 128 else 4.5e-5
"""The sum of all elements, and its bound: a lane of a register of 128 bits adds 1,024 elements of a
block."""
N = 10**6


def sums(x):
    """Everything of a matrix that is a sum, over its rows and over its columns."""
    return (
        fw.sum(x, axis=1), fw.mean(x, axis=1), fw.sum(x, axis=0), fw.sum(x),
        fw.map(lambda row: fw.sum(row * 2.0), x), fw.matmul(x, fw.full((x.shape[1],), 1.0, "f4")),
        fw.sum(fw.reshape(x, (2, -1, 5)), axis=1), fw.cumsum(fw.reshape(x, (-1,)))[-1],
    )  # fmt: skip


def expected(x):
    """The same by math.fsum."""
    rows = [math.fsum(row) for row in x]
    deep = x.reshape(2, -1, 5)
    of_rows = np.array(rows)
    return (
        of_rows, of_rows / x.shape[1], [math.fsum(c) for c in x.T], math.fsum(rows), of_rows * 2,
        of_rows, [[math.fsum(deep[i, :, j]) for j in range(5)] for i in range(2)], math.fsum(rows),
    )  # fmt: skip


def assert_near(found, wanted, near=NEAR):
    """Each result within so much of the true value."""
    for k, (a, b) in enumerate(zip(found, wanted, strict=True)):
        off = np.max(np.abs(np.asarray(a, "f8") / np.asarray(b) - 1))
        assert off <= near, f"result {k}: {off}"


@pytest.fixture(scope="module")
def compiled():
    """The program, compiled once for all shapes."""
    return fw.jit(sums)


@pytest.mark.sampled
@pytest.mark.parametrize("shape", [(1, N), (N, 1), (10, N // 10), (N // 10, 10), (1000, 1000)])
def test_sums_of_equal_elements(compiled, shape):
    """All roundings go the same way."""
    x = np.full(shape, 1.1, "f4")
    found, wanted = list(compiled(x)), list(expected(x))

    assert_near([found.pop(WHOLE)], [wanted.pop(WHOLE)], NEAR_OF_WHOLE)
    assert_near(found, wanted)


def test_sums_of_random_elements(compiled):
    """Of one sign, so that a relative error says something."""
    x = np.random.default_rng(0).random((2, N // 2)).astype("f4")

    assert_near(compiled(x), expected(x))


@pytest.mark.parametrize("n", [0, 1, 255, 256, 257, 65_535, 65_536, 65_537, 131_072 + 300])
def test_no_element_is_lost_where_blocks_end(n):
    """Around whole blocks, and blocks of blocks, also in lanes: exact in small integers."""
    x = (np.arange(3 * n, dtype="f4") % 7).reshape(3, n)
    y = np.arange(3, dtype="f4")

    found = by_rows(x, y)

    assert found[0].tolist() == x.astype("i8").sum(1).tolist()
    assert found[1].tolist() == (x.astype("i8") * y[:, None].astype("i8")).sum(0).tolist()[:1]
    assert found[2].tolist() == [[row.sum(), row.max(initial=0)] for row in x.astype("i8")]


@fw.jit
def by_rows(x, y):
    """Rows in lanes, one column, and rows by an operator that does not only add."""
    pairs = fw.map(
        lambda row: fw.reduce(
            lambda a, b: (a[0] + b[0], fw.maximum(a[1], b[1])), (0.0, 0.0),
            fw.map(lambda e: (e, e), row),
        ), x,
    )  # fmt: skip
    return fw.sum(x, axis=1), fw.matmul(y, x[:, :1]), fw.stack(pairs, axis=1)


@pytest.mark.parametrize("size", [(300, 1000), (20, 10_000)])
def test_products_of_long_matrices(size):
    """Contractions in tiles, whose results wait in memory between blocks."""
    rows, n = size
    x = np.full((rows, n), 1.1, "f4")

    assert_near([fw.matmul(x, np.ones((n, rows), "f4"))], [np.full((rows, rows), 1.1 * n)])


def running(x, flags, at):
    """Sums that go on from block to block: prefixes, suffixes, segments, rows of rows."""
    add, rows = fw.add, fw.ragged(x, offsets=at)
    pairs = fw.segmented_reduce(
        lambda a, b: (a[0] + b[0], fw.maximum(a[1], b[1])), (0.0, -np.inf), flags, (x, x)
    )
    return (
        fw.cumsum(x)[-1], fw.scan(add, np.float32(7), x, reverse=True)[0],
        fw.scan(add, 0.0, x, exclusive=True)[-1], fw.segmented_reduce(add, 0.0, flags, x)[-1],
        pairs[0][-1], fw.segmented_scan(add, 0.0, flags, x)[-1],
        fw.map(lambda row: fw.sum(row), rows)[0],
        fw.map(lambda row: fw.cumsum(row), rows).values[-1],
    )  # fmt: skip


def assert_running_sums(n, near, target="cpu"):
    """All of one segment, and of one that begins in the middle of a block."""
    f, x = fw.jit(running, target=target), np.full(n, 1.1, "f4")
    for begin in (0, 77):
        found = f(x, np.arange(n) == begin, np.array([0, n]))
        whole, rest = float(x[0]) * n, float(x[0]) * (n - begin)
        wanted = (whole, whole + 7, float(x[0]) * (n - 1), rest, rest, rest, whole, whole)
        assert_near(found, wanted, near)


def test_running_sums():
    """What is carried is f64: errors are those of an f32, and of sums by blocks of 64."""
    assert_running_sums(N, 5e-6)


@pytest.mark.slow
def test_running_sums_of_very_many_elements():
    """The same for a hundred million of them."""
    assert_running_sums(10**8, 5e-6)


@pytest.mark.slow
@pytest.mark.needs_opencl
def test_running_sums_on_devices():
    """These carry f64, too."""
    assert_running_sums(10 * N, 5e-6, "opencl")


def binned(x, few, many, skewed):
    """Sums of bins, the last ones with a maximum next to them."""
    zeros, (n,) = np.zeros(1000, "f4"), x.shape
    return (
        fw.histogram(1, fw.full((n,), 0), x), fw.histogram(16, few, x),
        fw.reduce_by_index(zeros, fw.add, 0, many, x), fw.permute(fw.add, zeros, skewed, x),
        fw.asarray(zeros).at[many].add(x),
        fw.histogram(
            16, few, (x, x), lambda a, b: (a[0] + b[0], fw.maximum(a[1], b[1])), (0, -np.inf)
        ),
    )  # fmt: skip


def assert_bins_near(found, value, few, many, skewed, near):
    """Each bin is as often the value as elements went to it."""
    counts = [np.bincount(k, minlength=n) for k, n in ((few, 16), (many, 1000), (skewed, 1000))]
    every, ten = [len(few)], counts[1]
    *sums, (pairs, greatest) = found
    for bins, count in zip(sums, [every, counts[0], ten, counts[2], ten], strict=True):
        np.testing.assert_allclose(bins, np.asarray(count) * float(value), near)
    np.testing.assert_allclose(pairs, counts[0] * float(value), near)
    assert (np.asarray(greatest) == value).all()


def bins_of(n):
    """Few bins, many, and one that gets most elements."""
    k = np.arange(n)
    return k % 16, k % 1000, np.where(k % 10, 7, k % 1000)


@pytest.mark.parametrize("n", [N])
def test_bins_of_many_elements(n):
    """Copies of bins hold f64, so that no bin loses what it is sent."""
    x, places = np.full(n, 1.1, "f4"), bins_of(n)

    assert_bins_near(fw.jit(binned)(x, *places), x[0], *places, 1e-7)


def one_hot(dest, places, x):
    """Sums and a count next to them."""
    return fw.permute(fw.add, dest, places, x), fw.permute(
        lambda a, b: (a[0] + b[0], a[1] + b[1]), (dest, fw.zeros(dest.shape, "i4")), places,
        (x, fw.full(places.shape, np.int32(1))),
    )  # fmt: skip


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("variant", ["owner", "partition", "sorted"])
def test_one_bin_of_a_large_destination(variant, threads):
    """Elements are added to f64 unless there are many more indices; sorted ones are rows."""
    n = 1 << 18
    x, places = np.full(n, 1.1, "f4"), np.where(np.arange(n) % 2, 5, np.arange(n))
    counts = np.bincount(places, minlength=4 * n)
    with config.scoped(target="cpu", threads=threads), fw.schedule(permute=variant):
        found, (again, number) = fw.jit(one_hot)(np.zeros(4 * n, "f4"), places, x)

    error = 2e-6 if variant == "sorted" else 1e-7
    np.testing.assert_allclose(found, counts * float(x[0]), error)
    np.testing.assert_allclose(again, counts * float(x[0]), error)
    assert (np.asarray(number) == counts).all()


def test_even_rows_that_meet():
    """Tiles that look for the elements of each row add them to f64, too."""
    rows, size = 20_000, 50

    @fw.jit
    def meeting(dest, sizes, x):
        places = fw.expand(lambda n: n, lambda n, k: k * 2, sizes)
        return fw.permute(fw.add, dest, places, fw.full(places.shape, x))

    args = np.zeros(size * 2, "f4"), np.full(rows, size), np.float32(1.1)
    with config.scoped(target="cpu"):
        assert "_strided(" in meeting.stages(*args).text["kernel"]
        assert_near([meeting(*args)[::2]], [np.full(size, rows * float(np.float32(1.1)))], 1e-7)


@pytest.mark.slow
@pytest.mark.needs_opencl
def test_bins_of_many_elements_on_devices():
    """These combine groups of elements in a tree."""
    x, places = np.full(10 * N, 1.1, "f4"), bins_of(10 * N)

    assert_bins_near(fw.jit(binned, target="opencl")(x, *places), x[0], *places, 2e-5)


@pytest.mark.slow
@pytest.mark.needs_opencl
@pytest.mark.parametrize("shape", [(1, N), (10, N // 10), (1000, 1000)])
def test_sums_on_devices(shape):
    """The rule is the same for all targets."""
    x = np.full(shape, 1.1, "f4")

    assert_near(fw.jit(sums, target="opencl")(x), expected(x))


@pytest.mark.slow
@pytest.mark.parametrize("shape", [(1, 10**8), (10, 10**7), (10**7, 10)])
def test_sums_of_very_many_elements(compiled, shape):
    """A hundred million of them."""
    value = np.float32(1.1)
    x, v = np.full(shape, value), float(value)
    rows, columns = np.full(shape[0], v * shape[1]), np.full(shape[1], v * shape[0])
    deep = np.full((2, 5), v * 10**7)

    assert_near(compiled(x), (
        rows, rows / shape[1], columns, v * 10**8, rows * 2, rows, deep, v * 10**8,
    ), 4 * NEAR)  # fmt: skip


@pytest.mark.sampled
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
@pytest.mark.parametrize("away", [0.0, 1000.0])
def test_covariances_are_computed_in_f64(dtype, away):
    """Also of elements far from 0, whose products f32 cannot tell apart."""
    x = (np.random.default_rng(1).standard_normal((2, 100_000)) + away).astype(dtype)

    found, alike = fw.cov(x), fw.corrcoef(x)

    assert found.dtype == alike.dtype == fw.float64
    np.testing.assert_allclose(found, np.cov(x.astype("f8")), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(alike, np.corrcoef(x.astype("f8")), rtol=1e-9, atol=1e-12)
