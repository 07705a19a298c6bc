"""Sums and extremes down long columns: few of them, more of them, and few rows."""

import numpy as np
import pytest

import flatweave as fw
from flatweave.base.config import config


def down(x, w):
    """Several at once, of one array and of two."""
    last = fw.reduce(lambda a, b: fw.where(b < 0, a, b), -7.0, x)
    both = fw.reduce(lambda a, b: (a[0] + b[0], fw.maximum(a[1], b[1])), (3.0, -5.0), (x, x))
    return (
        fw.sum(x * w, axis=0), fw.max(x, axis=0), fw.argmax(x, axis=0), fw.any(x > 8, axis=0),
        last, *both,
    )  # fmt: skip


def expected(x, w):
    """The same with NumPy."""
    last = np.full(x.shape[1], -7.0)
    for row in x:
        last = np.where(row < 0, last, row)
    sums = (x * w).sum(0), x.max(0), x.argmax(0), (x > 8).any(0)
    return *sums, last, x.sum(0) + 3, np.maximum(x.max(0), -5)


@pytest.mark.sampled
@pytest.mark.parametrize("rows", [1, 4095, 4096, 9001])
def test_values_down_columns(rows, threads):
    """Of whole numbers, so that every grouping is exact; with ties."""
    f = fw.jit(down)
    for columns in (1, 2, 3, 4, 5, 17):
        rng = np.random.default_rng(columns)
        x = rng.integers(-9, 9, (rows, columns)).astype(np.float64)
        w = rng.integers(-9, 9, columns).astype(np.float64)
        for found, wanted in zip(f(x, w), expected(x, w), strict=True):
            np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("columns", [1, 3, 6])
def test_nan_and_the_same_bits(columns):
    """NaN is the greatest; sums have the same bits for every number of threads."""
    xs = np.random.default_rng(0).random((50_000, columns))
    f = fw.jit(lambda x: fw.sum(x, axis=0))
    sums = []
    for count in (1, 2, 3, 7):
        with config.scoped(threads=count):
            sums.append(np.asarray(f(xs)))
    for other in sums[1:]:
        np.testing.assert_array_equal(sums[0], other)
    np.testing.assert_allclose(sums[0], xs.sum(0), rtol=1e-12)

    xs[40_000, -1] = np.nan
    np.testing.assert_array_equal(fw.argmax(xs, axis=0), xs.argmax(0))
    np.testing.assert_array_equal(fw.max(xs, axis=0), xs.max(0))
