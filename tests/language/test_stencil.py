"""stencil: NumPy's pad modes at every extent."""

import itertools

import numpy as np
import pytest

import flatweave as fw
from flatweave.base.config import config
from tests.language.agreement import agree, values

BOUNDARIES = {
    "clamp": {"mode": "edge"},
    "mirror": {"mode": "reflect"},
    "wrap": {"mode": "wrap"},
    ("constant", 7): {"mode": "constant", "constant_values": 7},
}


def weighted(n, shape):
    """Each neighbour with another weight."""
    reach = [range(-(e // 2), e // 2 + 1) for e in shape]
    distances = list(itertools.product(*reach))
    return sum((k + 1) * n[d if len(d) > 1 else d[0]] for k, d in enumerate(distances))


def expected(x, shape, boundary):
    """By padding."""
    padded = np.pad(x, [(e // 2, e // 2) for e in shape], **BOUNDARIES[boundary])
    windows = np.lib.stride_tricks.sliding_window_view(padded, shape)
    weights = np.arange(1, np.prod(shape) + 1).reshape(shape)
    return (windows * weights).sum(axis=tuple(range(-len(shape), 0)))


@pytest.mark.parametrize("boundary", BOUNDARIES, ids=str)
@pytest.mark.parametrize("width", [1, 3, 5, 7])
def test_rank_one(target, boundary, width):
    """Also where the neighbourhood is wider than the array."""
    for n in (1, 2, 3, 4, 20):
        x = values(np.int64, n)
        agree(lambda x: fw.stencil(lambda v: weighted(v, (width,)), x, (width,), boundary),
              expected(x, (width,), boundary), x)  # fmt: skip


@pytest.mark.parametrize("boundary", BOUNDARIES, ids=str)
@pytest.mark.parametrize("shape", [(3, 3), (1, 5), (5, 3)])
def test_rank_two(target, boundary, shape):
    """One constant distance for each axis."""
    x = values(np.int64, 20).reshape(4, 5)

    agree(lambda x: fw.stencil(lambda v: weighted(v, shape), x, shape, boundary),
          expected(x, shape, boundary), x)  # fmt: skip


@pytest.mark.sampled
@pytest.mark.parametrize("boundary", ["clamp", "wrap"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int8])
def test_rows_of_all_lengths(dtype, boundary):
    """One by one at both ends of a row, by short steps, by whole steps: wherever these begin."""
    f = fw.jit(lambda x: fw.stencil(lambda v: weighted(v, (3, 5)), x, (3, 5), boundary))
    for columns in (3, 15, 18, 33, 66, 67, 82, 127, 128, 129, 147, 300, 1025):
        x = np.random.default_rng(columns).integers(-3, 4, (5, columns)).astype(dtype)
        with config.scoped(target="cpu", threads=3):
            found = np.asarray(f(x))
        wanted = expected(x.astype(np.int64), (3, 5), boundary)
        assert np.array_equal(found, wanted.astype(dtype)), columns


def test_wide_reach(target):
    """Beyond a few steps the boundary is found by division."""
    x = values(np.int64, 6)
    for boundary in BOUNDARIES:
        padded = np.pad(x, 11, **BOUNDARIES[boundary])
        agree(lambda x, b=boundary: fw.stencil(lambda v: v[-11] + 2 * v[11], x, 23, b),
              padded[:6] + 2 * padded[22:], x)  # fmt: skip


def test_no_elements(target):
    """Nothing has no neighbours."""
    agree(lambda x: fw.stencil(lambda v: v[-1] + v[1], x, 3, "wrap"), np.zeros(0), np.zeros(0))


def test_tuples(target):
    """A neighbourhood of tuples gives tuples."""
    x, y = values(np.int64, 9), values(np.float64, 9, seed=1)
    left, right = np.pad(x, 1, mode="edge")[:-2], np.pad(y, 1, mode="edge")[2:]

    agree(lambda x, y: fw.stencil(lambda v: (v[-1][0], v[1][1]), (x, y), 3), (left, right), x, y)
    agree(lambda x, y: fw.stencil(lambda v: v[-1][0] + v[1][1], (x, y), 3, "clamp"), left + right,
          x, y)  # fmt: skip
