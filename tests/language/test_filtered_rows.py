"""Filters of rows whose kept elements are only combined: one pass, and nothing stored."""

import numpy as np
import pytest

import flatweave as fw
from flatweave.base.config import config

LENGTHS = (0, 1, 2, 127, 128, 129, 0, 1023, 1025, 40_000, 3)


def rows_of(dtype):
    """Rows of these lengths, and the same as arrays."""
    flat = (np.arange(sum(LENGTHS)) * 7919 % 1000 - 500).astype(dtype)
    return fw.ragged(flat, lengths=list(LENGTHS)), np.split(flat, np.cumsum(LENGTHS)[:-1])


def kept(row):
    return fw.filter(lambda x: x % 3 == 0, row)


def ends(k):
    """The last one less the first one; 5 if nothing is kept."""
    return fw.cond(k.shape[0] > 0, lambda: k[-1] - k[0], lambda: 5)


FOLDS = {
    "sum": lambda r: fw.sum(kept(r)),
    "squares": lambda r: fw.sum(kept(r) * kept(r)),
    "extreme": lambda r: fw.max(kept(r), initial=-7),
    "count": lambda r: kept(r).shape[0],
    "last": lambda r: fw.reduce(lambda a, b: b, -1, kept(r)),
    "twice": lambda r: fw.sum(fw.filter(lambda x: x > 9, kept(r) - 1)),
    "ends": lambda r: ends(kept(r) + 5),
}
MEANINGS = {
    "sum": np.sum, "squares": lambda k: np.sum(k * k), "extreme": lambda k: np.max(k, initial=-7),
    "count": len, "last": lambda k: ([-1, *k])[-1], "twice": lambda k: np.sum((k - 1)[k - 1 > 9]),
    "ends": lambda k: k[-1] - k[0] if len(k) else 5,
}  # fmt: skip


@pytest.mark.sampled
@pytest.mark.parametrize("fold", FOLDS)
@pytest.mark.parametrize("dtype", [np.int64, np.float64])
def test_kept_elements_of_rows_of_many_lengths(fold, dtype):
    """For any number of threads; integers of floats are exact."""
    rows, arrays = rows_of(dtype)
    jitted = fw.jit(lambda rows: fw.map(FOLDS[fold], rows))
    wanted = [MEANINGS[fold](row[row % 3 == 0]) for row in arrays]

    for threads in (1, 2, 3, 7):
        with config.scoped(threads=threads):
            np.testing.assert_array_equal(np.asarray(jitted(rows)), wanted)


@pytest.mark.parametrize("fold", ["sum", "extreme", "twice"])
def test_nothing_is_stored_but_the_result(fold):
    """One kernel goes over all values."""
    rows, _ = rows_of(np.int64)
    stages = fw.jit(lambda rows: fw.map(FOLDS[fold], rows)).stages(rows)

    assert stages.kernels == 1
    assert len(stages.manifest) == 1


def test_a_float_sum_of_none_is_the_first_element():
    """Elements that are left out have no part in it, whatever they are."""
    rows = fw.ragged([[np.nan, np.inf], [-0.0], [], [1.0, -np.inf, 2.0]])
    found = fw.jit(lambda rows: fw.map(
        lambda r: fw.sum(fw.filter(lambda x: (x > 0) & (x < 9), r)), rows))(rows)  # fmt: skip

    assert found.tolist() == [0.0, 0.0, 0.0, 3.0]


def test_what_costs_much_is_done_for_kept_elements_only():
    """They are stored then."""
    rows, arrays = rows_of(np.float64)

    def hard(x):
        return fw.sin(fw.exp(fw.cos(fw.log(x * x + 1.0))))

    jitted = fw.jit(lambda rows: fw.map(lambda r: fw.sum(fw.map(hard, kept(r))), rows))
    picked = [row[row % 3 == 0] for row in arrays]
    wanted = [np.sum(np.sin(np.exp(np.cos(np.log(k * k + 1.0))))) for k in picked]

    assert jitted.stages(rows).kernels > 1
    np.testing.assert_allclose(np.asarray(jitted(rows)), wanted, rtol=1e-9)
