"""The row-major position of an element, as terms."""

import numpy as np
import pytest

from flatweave.base.dtypes import i64
from flatweave.terms.build import Builder, index
from flatweave.terms.control import Apply


def test_an_extent_of_one_takes_no_part():
    """Its index is 0, whatever computes it: what differs in it alone is one element."""
    b = Builder()
    i, j, n = (b.param(name, i64) for name in "ijn")

    assert b.ravel((i, j), (n, index(1))) == i
    assert b.ravel((i, j), (index(1), n)) == j
    assert b.ravel((i, j), (index(1), index(1))) == index(0)


@pytest.mark.parametrize("shape", [(1,), (3,), (1, 4), (4, 1), (2, 1, 3), (1, 1, 2), (2, 3, 4)])
def test_a_position_is_that_of_numpy(shape):
    """For every element, and back."""
    b, extents = Builder(), [index(extent) for extent in shape]
    for place, at in enumerate(np.ndindex(shape)):
        indices = tuple(map(index, at))
        assert b.ravel(indices, extents) == index(place)
        assert b.unravel(index(place), extents) == indices


def test_a_row_further_on_is_a_position_further_on():
    """Rows are added to a position's own, or taken from it, where rows have elements."""
    b = Builder()
    n, m, k = (b.param(name, i64) for name in "nmk")
    p = b.param("p", i64, below=n)
    row, column = b.unravel(p, (n, m))
    moved = [b.add(row, k), b.add(k, row), b.sub(row, k)]
    inside = b.inner()
    inside.assume_space((n, m))
    rows = inside.mul(k, m)
    further = [inside.add(p, rows), inside.add(p, rows), inside.sub(p, rows)]
    assert [inside.ravel((place, column), (n, m)) for place in moved] == further
    assert inside.ravel((inside.sub(k, row), column), (n, m)) not in (p, *further)

    for place in moved:
        made = b.definition(b.ravel((place, column), (n, m)))
        assert isinstance(made, Apply) and made.args[0] != p
