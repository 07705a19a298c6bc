"""Sums along an axis in strips: the same values for every length, and no memory for the axis."""

import numpy as np
import pytest

import flatweave as fw
from flatweave.base.config import config
from flatweave.passes import strips


def nearest(points, centres):
    """The sum of squared distances from the nearest centres."""

    def of(x):
        return fw.min(fw.map(lambda c: fw.sum((x - c) ** 2), centres))

    return fw.sum(fw.map(of, points))


def second_derivatives(points, centres):
    """2 for each point whose nearest centre it is, on the diagonal."""
    distances = ((points[:, None] - centres) ** 2).sum(2)
    counts = np.bincount(distances.argmin(1), minlength=len(centres))
    return np.diag(np.repeat(2.0 * counts, centres.shape[1])).reshape(2 * centres.shape)


@pytest.fixture
def short(monkeypatch):
    """Strips of 64 elements."""
    monkeypatch.setattr(strips, "cost_of_body", lambda fn: 10**8)


@pytest.mark.parametrize("n", [0, 64, 70])
def test_strips_of_any_length(target, short, n):
    """The last strip has fewer elements."""
    rng = np.random.default_rng(n)
    points, centres = rng.normal(size=(n, 2)), rng.normal(size=(3, 2))

    found = fw.jit(fw.hessian(nearest, argnums=1))(points, centres)

    np.testing.assert_allclose(found, second_derivatives(points, centres))


def folded(xs, ws):
    """Sums and a minimum, with its row, of what costs a fold for each row."""
    weights = fw.map(lambda x: fw.max(fw.sin(x) * ws), xs)
    total = fw.sum(weights)
    columns = xs.T
    quotients = fw.map(lambda c: fw.sum(c / weights) * 2, columns)
    at = fw.map(lambda c: fw.argmin(c - weights), columns)
    return total, quotients, at


@pytest.mark.parametrize("n", [1, 64, 200])
def test_several_folds_along_one_axis(target, short, n):
    """Each is combined in order, and what follows them is computed after the last strip."""
    rng = np.random.default_rng(n)
    xs, ws = rng.uniform(1, 2, (n, 5)), rng.uniform(1, 2, 5)
    weights = (np.sin(xs) * ws).max(1)

    total, quotients, at = fw.jit(folded)(xs, ws)

    text = fw.jit(folded, target="cpu").stages(xs, ws).text["fused"]
    assert text.count(" = for 0 ") == 1
    np.testing.assert_allclose(total, weights.sum())
    np.testing.assert_allclose(quotients, (xs / weights[:, None]).sum(0) * 2)
    np.testing.assert_array_equal(at, (xs - weights[:, None]).argmin(0))


def test_a_hessian_takes_no_memory_for_its_points():
    """Beyond its result it takes as much as four times the value, at most."""
    rng = np.random.default_rng(0)
    points, centres = rng.normal(size=(100_000, 8)), rng.normal(size=(10, 8))
    hessian = fw.jit(fw.hessian(nearest, argnums=1))

    with config.scoped(threads=2):
        with fw.profile() as of_value:
            fw.jit(nearest)(points, centres)
        with fw.profile() as of_hessian:
            found = hessian(points, centres)

    assert of_hessian.peak_bytes - found.nbytes <= 4 * of_value.peak_bytes


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("columns", [1, 8, 19])
def test_totals_are_added_to_where_they_are(threads, columns):
    """Steps along a row do not overlap: an element that is read twice would be added twice."""
    n = 40
    xs = np.arange(n * columns, dtype=np.float64).reshape(n, columns)

    def totals(xs):
        start = fw.full((6, columns), 0.5)
        rows = fw.iota(6)

        def step(i, s):
            return s + fw.map(lambda r: fw.map(lambda c: fw.sum(c * (i + r)), xs.T), rows)

        return fw.fori_loop(0, 5, step, start)

    with config.scoped(threads=threads):
        found = fw.jit(totals)(xs)

    factors = 5 * np.arange(6) + 10
    np.testing.assert_allclose(found, 0.5 + factors[:, None] * xs.sum(0))
