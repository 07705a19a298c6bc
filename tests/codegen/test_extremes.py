"""minimum and maximum of floats: NaN wins, with its bits; -0.0 is below 0.0."""

import numpy as np
import pytest

import flatweave as fw
from flatweave.base.config import config
from tests.conftest import missing_opencl

SLOW = [pytest.mark.slow]
LEVELS = ["x86-64-v2", "x86-64-v3", "native"]

ODD = [np.nan, -np.nan, 0.0, -0.0, np.inf, -np.inf, 1.5, -1.5, 1e-40]


def meant(fn, a, b):
    """As the table of scalar functions says it."""
    wins = a > b if fn == "maximum" else a < b
    ties = (a == b) & (np.signbit(a) == (fn == "minimum"))
    return np.where(wins | ties | np.isnan(a), a, b)


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


@pytest.mark.sampled
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_nan_stays_whenever_it_comes(dtype, level):
    """In a reduction, a scan, and an operator that is called for many elements in sequence."""
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


def of_zeros(x, rows, places):
    """Extremes by all kinds of folds: flat, rows, columns, nests, scans, segments, bins."""
    low, high = fw.minimum, fw.maximum
    deep = fw.map(lambda r: fw.min(fw.map(lambda e: fw.min(fw.sqrt(r)) + fw.sqrt(e), r)), rows)
    return (
        fw.min(x), fw.max(x), fw.min(rows, axis=1), fw.max(rows, axis=0), deep,
        fw.scan(low, np.inf, x), fw.segmented_reduce(high, -np.inf, places == 0, x),
        fw.histogram(3, places, x, low, np.inf), fw.fmin(x, -x),
    )  # fmt: skip


WHERE = [
    pytest.param(level, dtype, marks=[] if (level, dtype) == ("native", np.float32) else SLOW)
    for level in (*LEVELS, "opencl") for dtype in (np.float32, np.float64)
]  # fmt: skip


@pytest.mark.parametrize(("level", "dtype"), WHERE)
def test_zeros_are_ordered_wherever_they_meet(level, dtype):
    """The interpreter's bits, in whole steps and in rests, wherever the negative one is."""
    is_device = level == "opencl"
    options = {"target": "opencl"} if is_device else {"target": "cpu", "cpu": level, "threads": 2}
    if is_device and missing_opencl():
        pytest.skip(missing_opencl())
    f = fw.jit(of_zeros)
    for n, at in ((3, 0), (3, 2), (51, 17), (51, 50), (6003, 6002), (6003, 3000)):
        for sign in (1, -1):
            x = np.full(n, 0.0 * sign, dtype)
            x[at] = -x[at]
            given = x, x.reshape(-1, 3), np.arange(n) % 3
            with config.scoped(**options):
                found = f(*given)
            with config.scoped(target="interp"):
                wanted = f(*given)
            for mine, meant_ in zip(found, wanted, strict=True):
                a, b = np.asarray(mine), np.asarray(meant_)
                assert np.array_equal(a, b) and np.array_equal(np.signbit(a), np.signbit(b))
