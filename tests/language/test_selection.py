"""Medians and quantiles of long rows are selected; they are those of NumPy."""

import numpy as np
import pytest

import flatweave as fw
from flatweave.ops.writes import LARGE, LONG

RNG = np.random.default_rng(37)
LENGTHS = [0, 1, 2, LONG - 1, LONG, LONG + 1, 3 * LONG, 0, 7]


def values(kind, count):
    """Few values, values of both signs, or values with NaN."""
    x = RNG.standard_normal(count).astype(np.float32)
    if kind == "ties":
        x = RNG.integers(0, 3, count).astype(np.float32)
    if kind == "NaN":
        x[:: count // 3] = np.nan
    return x


@pytest.mark.filterwarnings("ignore:All-NaN slice")
@pytest.mark.parametrize("kind", ["both signs", "ties", "NaN"])
def test_rows(target, kind):
    """Of rows by one thread each, long ones and short ones next to each other."""
    rows = np.split(values(kind, sum(LENGTHS)), np.cumsum(LENGTHS)[:-1])
    middle = fw.jit(lambda x: fw.nanmedian(x, axis=1), target=target)
    upper = fw.jit(lambda x: fw.quantile(x, 0.9, axis=1, method="lower"), target=target)

    for found, numpy in [
        (middle, np.nanmedian), (upper, lambda row: np.quantile(row, 0.9, method="lower"))
    ]:  # fmt: skip
        expected = [numpy(row) if row.size else np.nan for row in rows]
        result = np.asarray(found(fw.ragged(rows)))
        assert np.array_equal(result, np.float32(expected), equal_nan=True)


@pytest.mark.parametrize("kind", ["both signs", "ties", "NaN"])
@pytest.mark.parametrize("q", [0.5, [0.25, 0.5, 0.999]])
def test_one_array(target, kind, q):
    """Of all elements, by both ways between two of them."""
    x = values(kind, LARGE + 1)

    for method in ("linear", "hazen"):
        found = fw.jit(lambda x, m=method: fw.quantile(x, q, method=m), target=target)(x)
        expected = np.quantile(x, q, method=method)
        np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_ends(target):
    """The first and the last element of a sort, in rows of one length."""
    x = values("both signs", 12 * LONG).reshape(6, -1)

    def ends(row):
        ordered = fw.sort(row)
        return ordered[0], ordered[-1], ordered[LONG]

    found = fw.jit(lambda x: fw.map(ends, x), target=target)(x)
    ordered = np.sort(x, axis=1)
    for own, position in zip(found, (0, -1, LONG), strict=True):
        assert np.array_equal(own, ordered[:, position])
