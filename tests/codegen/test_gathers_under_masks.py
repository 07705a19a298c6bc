"""Elements from anywhere under a mask: lanes that do not run read nothing."""

import numpy as np
import pytest

import flatweave as fw
from tests.codegen.levels import LEVELS, in_force
from tests.codegen.test_loads_under_masks import DTYPES, before_a_forbidden_page

__all__ = ["before_a_forbidden_page"]  # a fixture


@fw.jit
def numbers(rows):
    """For each row a loop of its length, in a lane."""

    def number(row):
        zero = fw.zeros((), row.dtype)
        return fw.fori_loop(0, row.shape[0], lambda k, found: 3 * found + row[k], zero)

    return fw.map(number, rows)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("dtype", DTYPES, ids=lambda dtype: dtype.__name__)
def test_a_lane_that_has_ended_reads_nothing(level, dtype, before_a_forbidden_page):
    """Its next element would be on a page that cannot be read."""
    xs = before_a_forbidden_page.view(dtype)
    xs[:] = np.arange(xs.size) % 7
    lengths = np.r_[np.arange(40) * 37 % 11, np.arange(24)[::-1] // 2]
    offsets = xs.size - lengths.sum() + np.cumsum([0, *lengths])
    offsets[0] = 0
    with in_force(level):
        found = np.asarray(numbers(fw.ragged(xs, offsets)))
    wanted = np.zeros((lengths.size, 1), dtype)
    for k, number in enumerate(wanted):
        for x in xs[offsets[k] : offsets[k + 1], None]:
            number[:] = number * dtype(3) + x
    np.testing.assert_array_equal(found, wanted[:, 0])


@pytest.mark.parametrize("level", LEVELS)
def test_llvm_is_given_masks_that_the_cpu_has(level):
    """Of others it makes a branch for each lane."""
    with in_force(level):
        rows = fw.ragged(np.ones(9, np.float32), [0, 2, 3, 9])
        text = numbers.stages(rows).text["llvm"]
    gathers = [line for line in text.splitlines() if "call" in line and "masked.gather" in line]
    masked = [line for line in gathers if "splat (i1 true)" not in line]
    assert bool(masked) == (level == "x86-64-v4")
