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
