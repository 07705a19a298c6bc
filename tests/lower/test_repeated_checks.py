"""An element's checks with one condition: the first reports, the others are left out."""

import numpy as np
import pytest

import flatweave as fw

PAIRS = fw.jit(lambda m, at: fw.map(lambda i: m[i, 0] + m[i, 1] * m[i, 0], at))


def either(x, at, flags):
    """Elements that are read in one of two branches."""

    def one(i, flag):
        return fw.cond(flag, lambda: x[i] * 2, lambda: fw.cond(i < 9, lambda: x[i], lambda: 0.0))

    return fw.map(one, at, flags)


def test_a_row_is_checked_once():
    """Two columns of one row: each column is checked, the row's number once; in whole steps, and
    one by one."""
    text = PAIRS.stages(np.ones((7, 5)), np.arange(3)).text["kernel"]
    for body in text.split("    lanes ")[1:]:
        checks = [line.split(" (")[0].strip() for line in body.splitlines() if "report " in line]
        assert len(checks) == len({*checks}) == 3


def test_branches_check_for_themselves():
    """What one branch has checked, the other one has not."""
    pick, x = fw.jit(either), np.arange(5.0)
    assert np.array_equal(pick(x, np.array([1, 2, 9]), np.array([True, False, False])), [2, 2, 0])
    for flag in (True, False):
        with pytest.raises(fw.IndexOutOfBounds, match="index 7"):
            pick(x, np.array([0, 7]), np.array([not flag, flag]))
