"""What a branch knows: its condition holds there, so reads that it allows are not tested again."""

import numpy as np
import pytest

import flatweave as fw

XS = np.arange(10.0)


def reads(program, *args):
    """The lines of the fused program that read an array."""
    text = fw.jit(program).stages(*args).text["flat"]
    return [line for line in text.splitlines() if "index xs" in line]


def test_a_read_within_its_condition_is_not_tested():
    """Neither for an index below 0, which counts from the end, nor for one past the end."""
    def shifted(xs, by):
        def element(i):
            k = i - by
            return fw.cond((k >= 0) & (k < xs.shape[0]), lambda: xs[k], lambda: -1.0)

        return fw.generate((12,), element)

    (line,) = reads(shifted, XS, 3)

    assert "checked=false" in line
    assert "select" not in fw.jit(shifted).stages(XS, 3).text["array"]
    np.testing.assert_array_equal(fw.jit(shifted)(XS, 3), [-1] * 3 + list(range(9)))


def test_the_other_branch_knows_the_opposite():
    """The condition does not hold there."""
    def program(xs, by):
        def element(i):
            return fw.cond(i >= xs.shape[0], lambda: 0.0, lambda: xs[i])

        return fw.generate((12 + by,), element)

    (line,) = reads(program, XS, 0)

    assert "checked=false" in line
    np.testing.assert_array_equal(fw.jit(program)(XS, 0), [*XS, 0, 0])


@pytest.mark.parametrize("low", [-1, 0])
def test_a_condition_that_says_too_little_is_no_proof(low):
    """An index of which only one side is known is tested as before."""
    def program(xs, by):
        return fw.generate((3,), lambda i: fw.cond(i + by > low, lambda: xs[i + by], lambda: 0.0))

    with pytest.raises(fw.IndexOutOfBounds):
        fw.jit(program)(XS, 9)
    np.testing.assert_array_equal(fw.jit(program)(XS, 7), [7, 8, 9])


def test_what_is_known_in_a_branch_is_forgotten_behind_it():
    """The same comparison gives another value outside."""
    def program(xs, k):
        inside = fw.cond(k > 3, lambda: fw.where(k > 3, 1, 2), lambda: fw.where(k > 3, 3, 4))
        return inside, fw.where(k > 3, 5, 6)

    assert [int(x) for x in fw.jit(program)(XS, 5)] == [1, 5]
    assert [int(x) for x in fw.jit(program)(XS, 2)] == [4, 6]
