"""Tables in chunks: the values of one machine."""

import numpy as np
import pytest

import flatweave as fw
from flatweave.cluster.in_process import InProcess
from flatweave.frontend.call.options import PLACE

RNG = np.random.default_rng(37)
N = 50
KEYS = RNG.integers(0, 7, N)
OTHER = RNG.integers(3, 9, 30)
X = RNG.integers(0, 100, N) / 4
FLOATS = RNG.choice([0.5, np.nan, 1.5], N)
TIMES = np.sort(RNG.random(N))


def pairs(left, right):
    """The indices of both sides."""
    found = fw.join(left, right, how="full")
    return found.left, found.right


def spread(keys, x):
    """Each value next to the greatest of its group."""
    groups = fw.group_by(keys, x)
    return groups.spread(groups.agg(most="max")["most"])


VERBS = {
    "keys": (lambda k: fw.group_by(k).keys, KEYS),
    "sums": (lambda k, x: [*fw.group_by(k, x).agg(a="sum", b="first").values()], KEYS, X),
    "medians": (lambda k, x: fw.group_by(k, x).agg(a="median")["a"], FLOATS, X),
    "own": (lambda k, x: fw.group_by(k, x).map(lambda r: fw.max(r) - fw.min(r)), KEYS, X),
    "spread": (spread, KEYS, X),
    "pairs": (pairs, KEYS, OTHER),
    "as-of": (lambda a, b: fw.join_asof(a, b, tolerance=0.01), TIMES, np.sort(RNG.random(40))),
    "top_k": (lambda x: fw.top_k(x, 5), X),
    "windows": (lambda x: fw.sum(fw.rolling(x, 3, min_periods=1), axis=1), KEYS),
    "windows by time": (lambda t, x: fw.max(fw.rolling_by(t, x, 0.1), axis=1), TIMES, X),
    "affine": (lambda x: fw.recurrence(lambda c, x: (0.5 * c + x, c), 0.0, x), KEYS * 1.0),
    "loop": (lambda x: fw.recurrence(lambda c, x: (fw.sqrt(c + x), c), 0.0, x), X),
}  # fmt: skip


def leaves(found):
    """The arrays of a result."""
    if isinstance(found, tuple | list):
        return [leaf for part in found for leaf in leaves(part)]
    return [np.asarray(found)]


@pytest.mark.parametrize("name", VERBS)
def test_chunks_give_what_arrays_give(name):
    """Of three chunks and one that is shorter; tables of sums are not grouped otherwise."""
    function, *arrays = VERBS[name]
    expected = leaves(function(*arrays))
    token = PLACE.set(InProcess("interp"))
    try:
        found = leaves(function(*(fw.Chunked.cut(array, 16) for array in arrays)))
    finally:
        PLACE.reset(token)

    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


def test_missing_values_in_chunks():
    """A Nullable of arrays in chunks stays in chunks, whether its two are cut alike or not."""
    values, valid = np.arange(N) / 4, KEYS > 2
    token = PLACE.set(InProcess("interp"))
    try:
        for rows in (16, 7):
            x = fw.Nullable(fw.Chunked.cut(values, 16), fw.Chunked.cut(valid, rows))
            assert isinstance(x.values, fw.Chunked)
            assert fw.jit(fw.sum)(x).item() == values[valid].sum()
            assert fw.max(x).item() == values[valid].max()
    finally:
        PLACE.reset(token)
