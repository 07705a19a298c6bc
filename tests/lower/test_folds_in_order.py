"""Folds in order that choose an element and tell its position: NaN, infinities, ties, nothing."""

from itertools import product

import numpy as np
import pytest

import flatweave as fw

VALUES = np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0
ROWS = [row for length in range(1, 4) for row in product(VALUES, repeat=length)]


def each(choose):
    """A fold over one row for each element of another."""

    def within(own, other):
        return fw.map(lambda x: fw.cond(
            other.shape[0] > 0, lambda: choose(other * x), lambda: -1), own)  # fmt: skip

    return fw.jit(lambda left, right: fw.map(within, left, right))


def rows_of(lists):
    return fw.ragged([np.array(row) for row in lists])


@pytest.mark.parametrize("name", ["argmin", "argmax"])
def test_extremes_are_where_numpy_has_them(name):
    """Of all rows of up to three of these values, and of empty ones."""
    rows = [*ROWS, *[()] * 7]
    left = rows_of([[1.0, 2.0, -1.0][: 1 + k % 3] for k in range(len(rows))])
    found = each(getattr(fw, name))(left, rows_of(rows))
    where = getattr(np, name)
    for row, own, places in zip(rows, left.tolist(), found.tolist(), strict=True):
        assert places == [where(np.array(row) * x) if row else -1 for x in own]


def last_of_equals(a, b):
    """The greater value; of equal ones the later."""
    is_later = (b[0] > a[0]) | ((b[0] == a[0]) & (b[1] > a[1]))
    return fw.where(is_later, b[0], a[0]), fw.where(is_later, b[1], a[1])


@pytest.mark.parametrize("length", [0, 1, 2, 7, 33, 100])
def test_an_operator_of_ones_own(length):
    """The last of equal values; what the neutral element is where there is nothing."""
    rng = np.random.default_rng(length)
    rows = [rng.integers(0, 3, k) for k in (length, 0, length + 1, 3)]
    left = fw.ragged([np.zeros(k, np.int64) for k in (3, 1, 0, 40)])

    def choose(row):
        return fw.reduce(last_of_equals, (-9, -5), (row, fw.iota(row.shape[0])))[1]

    program = fw.jit(lambda left, right: fw.map(
        lambda own, other: fw.map(lambda x: choose(other + x), own), left, right))  # fmt: skip
    wanted = [
        [len(row) - 1 - np.argmax(row[::-1]) if len(row) else -5] * k
        for row, k in zip(rows, (3, 1, 0, 40), strict=True)
    ]
    assert program(left, fw.ragged(rows)).tolist() == wanted


def test_in_the_emitted_loop_positions_are_not_compared():
    """Later elements have later positions."""
    args = rows_of([[1.0], [2.0]]), rows_of([[3.0], [4.0, 5.0]])
    text = each(fw.argmin).stages(*args).text["kernel"]
    loop = text[text.index("kernel t") :]
    assert "[inff64, 0]" in loop
