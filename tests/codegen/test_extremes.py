"""minimum and maximum of floats: NaN wins, with its bits; of equal zeros the second."""

import numpy as np
import pytest

import flatweave as fw
from flatweave.base.config import config

LEVELS = ["x86-64-v2", "x86-64-v3", "native"]

ODD = [np.nan, -np.nan, 0.0, -0.0, np.inf, -np.inf, 1.5, -1.5, 1e-40]


def meant(fn, a, b):
    """As the table of scalar functions says it."""
    wins = a > b if fn == "maximum" else a < b
    return np.where(wins | np.isnan(a), a, b)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("fn", ["minimum", "maximum"])
def test_pairs_of_all_kinds(fn, dtype, level):
    """In whole steps and in rests, of arrays and of constants."""
    a, b = (part.ravel().astype(dtype) for part in np.meshgrid(ODD, ODD))
    bits = np.dtype(f"u{np.dtype(dtype).itemsize}")
    with config.scoped(target="cpu", cpu=level):
        f = fw.jit(lambda a, b: getattr(fw, fn)(a, b))
        for n in (1, 3, 4, 16, 33, len(a) * 16 + 5):
            x, y = np.resize(a, n), np.resize(b, n)
            found, wanted = np.asarray(f(x, y)), meant(fn, x, y)
            numbers = ~(np.isnan(x) & np.isnan(y))  # of two NaNs, either
            assert np.array_equal(found.view(bits)[numbers], wanted.view(bits)[numbers])
            assert np.isnan(found[~numbers]).all()


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_nan_stays_whenever_it_comes(dtype, level):
    """In a reduction, a scan, and an operator that is called for many elements in turn."""
    with config.scoped(target="cpu", cpu=level, threads=2):
        every = fw.jit(lambda x: (fw.max(x), fw.min(x), fw.scan(fw.maximum, -np.inf, x)))
        pair = fw.jit(
            lambda x: fw.reduce(
                lambda a, b: (fw.maximum(fw.maximum(a[0], b[0]), a[1] + b[0]), a[1] + b[1]),
                (-np.inf, 0), (x, x),
            )[0]
        )  # fmt: skip
        for n, at in ((1, 0), (70, 3), (1030, 1029), (5000, 2500), (5000, 4999)):
            x = np.arange(n).astype(dtype)
            assert every(x)[0] == n - 1
            x[at] = np.nan
            greatest, least, running = every(x)
            assert np.isnan(greatest) and np.isnan(least) and np.isnan(pair(x))
            assert np.array_equal(np.asarray(running), np.maximum.accumulate(x), equal_nan=True)
