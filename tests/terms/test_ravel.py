"""The row-major position of an element, as terms."""

import numpy as np
import pytest

from flatweave.base.dtypes import i64
from flatweave.terms.build import Builder, index


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
