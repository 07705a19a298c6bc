"""The elements that two filters keep are combined by their position among the kept ones."""

import numpy as np
import pytest

import flatweave as fw
from flatweave.base.config import config
from tests.language.agreement import agree

SIZES = [0, 1, 2, 127, 128, 129, 1023, 1025, 40_000]


def kept(xs):
    """The indices of the ones, and those of the ones from the end: equally many, elsewhere."""
    places = np.arange(len(xs))
    return places[xs == 1], places[xs[::-1] == 1]


def traced(xs):
    """The same in a traced function: both filters become one pass."""
    n = xs.shape[0]
    first = fw.filter(lambda i: xs[i] == 1, fw.iota(n))
    return first, fw.filter(lambda i: xs[n - 1 - i] == 1, fw.iota(n))


def together(xs):
    """Stored, summed, kept again and counted."""
    p, q = traced(xs)
    again = fw.filter(lambda pair: pair[0] < pair[1], (p, q))
    return q - p, fw.sum(p * q), again, fw.histogram(5, (p + q) % 5)


@pytest.mark.parametrize("n", SIZES)
def test_two_filters_of_one_length(target, n):
    """Element k of one meets element k of the other, not its former neighbour."""
    xs = np.random.default_rng(n).integers(0, 2, n)
    p, q = kept(xs)
    less = p < q

    expected = q - p, (p * q).sum(), (p[less], q[less]), np.bincount((p + q) % 5, minlength=5)
    agree(together, expected, xs)


def test_rows_with_two_filters(target):
    """The same in a nest."""
    draw = np.random.default_rng(3)
    rows = [draw.integers(0, 2, n) for n in (0, 1, 5, 130)]

    found = fw.map(lambda row: fw.sub(*traced(row)), fw.ragged(rows))

    assert found.tolist() == [(p - q).tolist() for p, q in map(kept, rows)]


def test_elements_of_filtered_rows_are_counted_once():
    """Their values and how many there are have one extent: with the verifier on."""
    def doubled(rows):
        kept = fw.map(lambda row: fw.filter(lambda x: x > 1, row), rows)
        return fw.Ragged(fw.where(kept.values > 2, kept.values * 2, kept.values), kept.offsets)

    with config.scoped(verify=True):
        found = fw.jit(doubled, target="interp")(fw.ragged([[1, 2, 3], [], [4]]))

    assert found.tolist() == [[2, 6], [], [8]]
