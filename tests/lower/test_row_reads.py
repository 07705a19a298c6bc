"""What all elements of a row read is read, and what is made of it computed, once for each row."""

import numpy as np
import pytest

import flatweave as fw

SCALED = fw.jit(lambda m, v: m / fw.sqrt(v[:, None]))
BOTH = fw.jit(lambda m, v, at: (m - v[:, None]) * v[at][:, None] + v[at][:, None])


@pytest.mark.parametrize("columns", [0, 1, 3, 4, 8, 33, 1025])
@pytest.mark.parametrize("rows", [0, 1, 129])
def test_rows_are_those_of_numpy(rows, columns, threads):
    """Rows shorter than a step, longer ones, and those that two blocks share."""
    rng = np.random.default_rng(rows + columns)
    m, v, at = rng.random((rows, columns)), rng.random(rows) + 1, rng.permutation(rows)
    assert np.array_equal(SCALED(m, v), m / np.sqrt(v)[:, None])
    assert np.array_equal(BOTH(m, v, at), (m - v[:, None]) * v[at][:, None] + v[at][:, None])


def test_a_row_is_read_once():
    """One read and one root, whatever steps a row has, and none in their loops; but in steps that
    go on from one short row into the next."""
    text = SCALED.stages(np.ones((7, 5)), np.ones(7)).text["kernel"]
    kernels = [each for each in text.split("\nkernel ")[1:] if "_short" not in each.split("(")[0]]
    lines = [line for each in kernels for line in ("kernel " + each).splitlines()]
    for name in ("sqrt", "load v_"):
        found = [line for line in lines if name in line]
        assert len(found) == sum(line.startswith("kernel") for line in lines)
        assert all(line.startswith(" " * 8 + "t_") for line in found)


def test_a_branch_reads_for_itself():
    """An element that only one branch reads is not read for rows that take the other one."""
    pick = fw.jit(
        lambda m, v, at: fw.map(
            lambda row, i: fw.map(lambda x: fw.cond(i >= 0, lambda: v[i] * x, lambda: x), row),
            m, at,
        )
    )  # fmt: skip
    m, v = np.arange(12.0).reshape(4, 3), np.array([2.0, 3.0])
    at = np.array([-1, 0, 1, -(2**40)])
    assert np.array_equal(pick(m, v, at), m * np.array([1.0, 2.0, 3.0, 1.0])[:, None])


def test_a_bad_index_names_itself():
    """The first row whose read lies outside of the array."""
    with pytest.raises(fw.IndexOutOfBounds, match="7"):
        BOTH(np.ones((3, 2)), np.ones(3), np.array([0, 7, 1]))
