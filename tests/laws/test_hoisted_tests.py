"""Reads at positions that advance with the sweep: one test for all of them, the same faults."""

import numpy as np
import pytest

import flatweave as fw
from tests.structure.counted import opened

LENGTHS = (0, 1, 2, 127, 128, 129, 1025, 2**17 + 1)


def shifted(x, y, c, m):
    """A sum of neighbours at a distance, and a running sum of them."""
    both = fw.generate(m, lambda i: x[i + c] * 2 + y[i])
    return both, fw.scan(fw.add, 0, both), fw.filter(lambda v: v % 3 == 0, both)


def numpy_shifted(x, y, c, m):
    """The same, with indices below 0 from the end."""
    both = x[np.arange(m) + c] * 2 + y[:m]
    return both, np.cumsum(both), both[both % 3 == 0]


@pytest.mark.parametrize("n", LENGTHS)
def test_wherever_they_begin(n, target):
    """At the front, at the end, before the front, and over it."""
    rng = np.random.default_rng(n)
    x, y = rng.integers(0, 99, n + 9), rng.integers(0, 99, n)
    f = fw.jit(shifted)

    for c in (0, 1, 9, -1, -9, -n - 9):
        for found, wanted in zip(f(x, y, c, n), numpy_shifted(x, y, c, n), strict=True):
            assert np.array_equal(found, wanted)


@pytest.mark.parametrize(
    ("c", "m", "message"),
    [
        (3, 130, "index 132 is outside an array of 132 elements"),
        (132, 1, "index 132 is outside an array of 132 elements"),
        (2**63 - 1, 1, f"index {2**63 - 1} is outside an array of 132 elements"),
        (-133, 3, "index -133 is outside an array of 132 elements"),
        (0, 131, "index 130 is outside an array of 130 elements"),
    ],
)  # fmt: skip
def test_the_first_read_outside_is_reported(c, m, message, target):
    """With its index as it was written, of the array that it is outside of."""
    f = fw.jit(lambda x, y, c, m: fw.sum(fw.generate(m, lambda i: x[i + c] + y[i])))

    with pytest.raises(fw.IndexOutOfBounds, match=message) as caught:
        f(np.arange(132), np.arange(130), c, m)
    assert "test_hoisted_tests.py" in str(caught.value)


def test_nothing_is_read_where_nothing_is(target):
    """No element, no fault: wherever it would begin."""
    f = fw.jit(lambda x, c, m: fw.sum(fw.generate(m, lambda i: x[i + c])))

    for c in (-(2**63), -1, 0, 2**63 - 1):
        assert f(np.arange(3), c, 0) == f(np.arange(0), c, 0) == 0


def test_of_two_faults_at_one_element_the_first_is_reported(target):
    """A read keeps its position among those that are tested one by one."""
    f = fw.jit(lambda x, k, m: fw.sum(fw.generate(m, lambda i: x[k[i]] + x[i])))

    with pytest.raises(fw.IndexOutOfBounds, match="index 77 is outside an array of 3"):
        f(np.arange(3), np.array([0, 1, 2, 77]), 4)


def test_generated_code_tests_once():
    """The host asks; the read is in a branch."""
    text = opened(shifted, np.arange(9), np.arange(9), 0, 9).text["fused"]

    assert "checked=false" in text
    assert " = if " in text
