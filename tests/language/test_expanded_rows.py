"""Expansions inside element functions: as much work as they give elements, in few passes."""

import numpy as np
import pytest

import flatweave as fw
from flatweave.base.config import config

SIZES = (0, 1, 127, 128, 129, 0, 1025, 3)


def rows_of(lengths):
    """Rows of sizes 0 to 4, and the same as arrays."""
    flat = np.arange(sum(lengths)) * 7919 % 5
    return fw.ragged(flat, lengths=list(lengths)), np.split(flat, np.cumsum(lengths)[:-1])


def expanded(row):
    return fw.expand(lambda x: x, lambda x, i: 10 * x + i, row)


def plain(row):
    return [10 * x + i for x in row.tolist() for i in range(x)]


def test_rows_of_many_lengths():
    """Stored and summed, for any number of threads."""
    rows, arrays = rows_of(SIZES)
    stored = fw.jit(lambda rows: fw.map(expanded, rows))
    summed = fw.jit(lambda rows: fw.map(lambda r: fw.sum(expanded(r)), rows))

    for threads in (1, 2, 3, 7):
        with config.scoped(threads=threads):
            assert stored(rows).tolist() == list(map(plain, arrays))
            assert np.asarray(summed(rows)).tolist() == [sum(plain(row)) for row in arrays]


@pytest.mark.parametrize("summed", [False, True])
def test_nothing_is_as_long_as_pairs_of_elements(summed):
    """Each array has an entry for each value, each row or each result."""
    def one(row):
        return fw.sum(expanded(row)) if summed else expanded(row)

    rows, _ = rows_of(SIZES)
    stages = fw.jit(lambda rows: fw.map(one, rows)).stages(rows)

    assert stages.kernels <= 4
    assert len(stages.manifest) <= 5


def test_one_long_row():
    """The product of its length and that of its result would not fit the memory."""
    row = np.full(300_000, 2)
    found = fw.jit(lambda rows: fw.map(lambda r: fw.sum(expanded(r)), rows))(row[None])

    assert np.asarray(found).tolist() == [300_000 * (20 + 21)]


def test_an_expansion_in_an_inner_function():
    """Its sources are the outer row's: they are searched for every element of the inner one."""
    rows, arrays = rows_of((3, 0, 5, 2))
    found = fw.jit(lambda rows: fw.map(
        lambda r: fw.map(lambda y: fw.sum(fw.expand(lambda x: x, lambda x, i: x * y + i, r)), r),
        rows))(rows)  # fmt: skip

    wanted = [[sum(x * y + i for x in row for i in range(x)) for y in row] for row in arrays]
    assert found.tolist() == wanted


@pytest.mark.parametrize("lists", [[[3, 1], [], [4, 1, 5]], [[7]], [[]], []])
def test_the_rows_of_a_ragged(target, lists):
    """Each of them has a size and gives elements, or is folded, as an element of an array."""
    rows, weights = fw.ragged(lists, dtype=fw.i64), np.arange(len(lists)) + 1

    def count(row):
        return row.shape[0] * row.shape[0]

    pairs = fw.jit(lambda rows: fw.expand(
        count, lambda row, i: 10 * row[i // row.shape[0]] + row[i % row.shape[0]], rows
    ))  # fmt: skip
    greatest = fw.jit(lambda rows, weights: fw.expand_reduce(
        lambda x: x[0].shape[0], lambda x, i: x[0][i] * x[1], fw.maximum, -1, (rows, weights)
    ))  # fmt: skip

    assert pairs(rows).tolist() == [10 * x + y for row in lists for x in row for y in row]
    assert greatest(rows, weights).tolist() == [
        max([x * w for x in row], default=-1) for row, w in zip(lists, weights, strict=True)
    ]
    if target == "interp":
        ends = fw.expand(lambda row: 2, lambda row, i: (i, fw.sum(row)), rows)
        assert ends[0].tolist() == [0, 1] * len(lists)
        assert ends[1].tolist() == [sum(row) for row in lists for _ in range(2)]


def test_sizes_of_rows():
    """A size is one integer from 0, and what is given has one length for all rows."""
    rows, nested = fw.ragged([[1], [2, 3]]), fw.ragged([[[1], []], [], [[2, 3]]])
    with fw.target("interp"):
        sums = fw.expand(lambda r: r.lengths.shape[0], lambda r, i: fw.sum(r[i]), nested)
        assert sums.tolist() == [1, 0, 5]
        with pytest.raises(fw.NegativeExtentError, match="a size of expand must not be negative"):
            fw.expand(lambda row: fw.sum(row) - 2, lambda row, i: i, rows)
        with pytest.raises(fw.ShapeError, match="a size of expand must be a scalar"):
            fw.expand(lambda row: row, lambda row, i: i, rows)
        with pytest.raises(fw.NestingError, match="rows whose lengths differ"):
            fw.expand(lambda row: 2, lambda row, i: row, rows)
        with pytest.raises(fw.ArgumentError, match="the result of expand's function is None"):
            fw.expand(lambda row: 2, lambda row, i: None, rows)
