"""Reductions of rows inside branches and loops of an element function."""

import numpy as np
import pytest

import flatweave as fw
from tests.structure.counted import opened

ROWS = np.random.default_rng(0).integers(0, 9, (70, 301)).astype(np.float32)
KINDS = np.arange(70) % 3


def in_a_branch(rows, kinds):
    """The sum of squares of some rows, the maximum of others."""
    return fw.map(
        lambda row, kind: fw.cond(kind > 0, lambda: fw.sum(row * row), lambda: fw.max(row)),
        rows, kinds,
    )  # fmt: skip


def in_a_loop(rows, kinds):
    """As many sums of a row as its kind says."""
    return fw.map(
        lambda row, kind: fw.fori_loop(0, kind, lambda k, s: s + fw.sum(row * k), np.float32(0)),
        rows, kinds,
    )  # fmt: skip


WANTED = {
    in_a_branch: np.where(KINDS > 0, (ROWS * ROWS).sum(1), ROWS.max(1)),
    in_a_loop: ROWS.sum(1) * (KINDS == 2),
}


@pytest.mark.parametrize("f", WANTED, ids=lambda f: f.__name__)
def test_values(f, target):
    """Those of NumPy."""
    assert np.array_equal(fw.jit(f)(ROWS, KINDS), WANTED[f])


@pytest.mark.parametrize("f", WANTED, ids=lambda f: f.__name__)
def test_lanes_lie_along_the_row(f):
    """As if the reduction were in no branch: memory is read in order."""
    kernel = opened(f, ROWS, KINDS).text["kernel"]

    assert "reduce_lanes" in kernel
