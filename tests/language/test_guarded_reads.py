"""What a branch proves to be inside is read in that branch only: nothing is read where it is false.

The arrays end where memory does, so that a read that runs too early would be a segmentation fault.
"""

import numpy as np
import pytest

import flatweave as fw
from tests.codegen.test_loads_under_masks import before_a_forbidden_page

__all__ = ["before_a_forbidden_page"]  # a fixture
FAR = 1 << 40


def inside(xs, i):
    return (i >= 0) & (i < xs.shape[0])


def element(xs, i):
    return fw.cond(inside(xs, i), lambda: xs[i], lambda: -1.0)


def of_folds(xs, i):
    """A fold in the branch, which reads at an index that is the same for all its iterations."""
    return fw.cond(
        inside(xs, i), lambda: fw.sum(fw.map(lambda k: xs[i] * (k >= 0), fw.iota(3))), lambda: -3.0
    )


def of_rows(xs, i):
    """Arrays in the branch, whose lengths differ."""
    size = xs.shape[0]
    part = fw.cond(
        inside(xs, i), lambda: fw.generate(size - i, lambda k: xs[i + k]), lambda: fw.zeros(2)
    )
    return fw.sum(part)


def of_filters(xs, i):
    """A filter in the branch, of indices that are inside because the branch says so."""
    def places():
        return fw.filter(lambda k: xs[i] > xs[k], fw.iota(xs.shape[0]))

    return fw.cond(inside(xs, i), lambda: places().shape[0], lambda: -1)


def of_operators(xs, i):
    """A scan in the branch, with an operator that reads."""
    def scanned():
        sums = fw.scan(lambda a, b: a + b + 0 * xs[i], 0.0, fw.iota(4) * 1.0, check=False)
        return sums[3]

    return fw.cond(inside(xs, i), scanned, lambda: -1.0)


def twice(xs, i):
    """A branch in a branch: a read needs both conditions."""
    size = xs.shape[0]

    def natural():
        return fw.cond(i < size, lambda: xs[i] + xs[size - 1 - i], lambda: -1.0)

    return fw.cond(i >= 0, natural, lambda: -2.0)


EACH = element, of_folds, of_rows, of_filters, of_operators, twice
PLACES = np.array([0, 3, -1, FAR, 7, 8, -FAR, 2, 1 << 20, 5] * 7)


@pytest.fixture(params=[8, 0], ids=["elements", "nothing"])
def xs(request, before_a_forbidden_page):
    """Eight elements, or none, before the page that cannot be read."""
    page = before_a_forbidden_page.view(np.float64)
    page[:] = np.arange(page.size)
    return page[page.size - request.param :]


def expected(f, xs):
    """By the interpreter."""
    return [np.asarray(fw.jit(f, target="interp")(xs, i)).tolist() for i in PLACES[:10]] * 7


@pytest.mark.parametrize("f", EACH, ids=lambda f: f.__name__)
def test_of_one_index(f, xs):
    """On the host."""
    program = fw.jit(f)

    assert [np.asarray(program(xs, i)).tolist() for i in PLACES[:10]] * 7 == expected(f, xs)


@pytest.mark.parametrize("f", EACH, ids=lambda f: f.__name__)
def test_of_many_indices(f, xs):
    """In a map."""
    program = fw.jit(lambda xs, places: fw.map(lambda i: f(xs, i), places))

    assert program(xs, PLACES).tolist() == expected(f, xs)


@pytest.mark.parametrize("f", EACH, ids=lambda f: f.__name__)
def test_of_rows_of_indices(f, xs):
    """In a map over rows."""
    rows = fw.ragged(PLACES, lengths=[0, 13, 1, 0, 56])
    program = fw.jit(lambda xs, rows: fw.map(lambda row: fw.map(lambda i: f(xs, i), row), rows))

    assert np.asarray(program(xs, rows).values).tolist() == expected(f, xs)


@pytest.mark.parametrize("n", [0, 8])
def test_an_array_of_indices_may_be_empty(n, before_a_forbidden_page):
    """The first element is read where there are indices."""
    page = before_a_forbidden_page.view(np.float64)
    xs, ys = page[page.size - n :], np.arange(5.0)

    @fw.jit
    def sums(xs, ys):
        places = fw.iota(xs.shape[0])
        return fw.map(lambda y: fw.sum(fw.map(lambda i: xs[0] + xs[i] + y, places)), ys)

    np.testing.assert_allclose(sums(xs, ys), [sum(xs[0] + x + y for x in xs) for y in ys])
