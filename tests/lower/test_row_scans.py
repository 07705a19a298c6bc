"""Scans that start with each row and are only combined: rows one by one, or by position."""

import numpy as np
import pytest

import flatweave as fw
from flatweave.base.config import config
from flatweave.base.schedule import Schedule
from tests.codegen.levels import LEVELS, in_force

RNG = np.random.default_rng(0)
LENGTHS = {
    "none": [],
    "empty": [0, 0, 0],
    "one": [1],
    "short": RNG.integers(0, 5, 20000),
    "middle": RNG.integers(0, 60, 2000),
    "skewed": [0, 100_000, 0, 3, 70_001, 1, *[2] * 999],
    "one long": [150_000],
}


def affine(p, q):
    """Which does not commute: the composition of two affine functions modulo 2^64."""
    return p[0] * q[0], p[1] * q[0] + q[1]


def drawdown(row):
    """The greatest fall from a maximum so far."""
    return fw.max(fw.cummax(row) - row, initial=0)


def weights(row):
    """An exclusive scan of floats, summed up with what it belongs to."""
    return fw.sum((fw.cumsum(row) - row) * row)


def affine_sum(row):
    """A scan of pairs by an operator that does not commute."""
    return fw.sum(fw.scan(affine, (1, 0), (row, row))[1])


def of_a_scan(row):
    """A scan of what another one gives."""
    return fw.sum(fw.cummax(fw.cumsum(row)))


def longest_run(row):
    """The most equal neighbours in a row: a scan that asks where in its row an element is."""
    where = fw.iota(row.shape[0])
    begins = fw.map(lambda i: (i == 0) | (row[i] != row[fw.maximum(i - 1, 0)]), where)
    return fw.max(where + 1 - fw.cummax(fw.where(begins, where, 0)), initial=0)


def drawdown_numpy(x):
    return (np.maximum.accumulate(x) - x).max(initial=0)


def weights_numpy(x):
    return ((np.cumsum(x) - x) * x).sum()


def affine_sum_numpy(x):
    factor, term, total = 1, 0, 0
    for value in x.tolist():
        factor, term = factor * value, term * value + value
        total += term
    return np.uint64(total % 2**64).view(np.int64)


def of_a_scan_numpy(x):
    return np.maximum.accumulate(np.cumsum(x)).sum()


def longest_run_numpy(x):
    where = np.arange(len(x))
    begins = np.append(True, x[1:] != x[:-1])[: len(x)]
    return (where + 1 - np.maximum.accumulate(np.where(begins, where, 0))).max(initial=0)


PROGRAMS = {
    "drawdown": (drawdown, drawdown_numpy, np.float64),
    "weights": (weights, weights_numpy, np.float64),
    "affine": (affine_sum, affine_sum_numpy, np.int64),
    "of a scan": (of_a_scan, of_a_scan_numpy, np.int32),
    "longest run": (longest_run, longest_run_numpy, np.int8),
}


def rows_of(name, dtype):
    """Rows of these lengths; sums of their numbers are exact."""
    lengths = np.asarray(LENGTHS[name], np.int64)
    return fw.ragged(RNG.integers(-9, 9, lengths.sum()).astype(dtype), lengths=lengths)


def split(rows):
    """NumPy's arrays of all rows."""
    offsets = np.asarray(rows.offsets)
    return np.split(np.asarray(rows.values), offsets[1:-1]) if len(offsets) > 1 else []


@pytest.mark.sampled
@pytest.mark.parametrize("rows", ["rows", "positions", None])
@pytest.mark.parametrize("lengths", LENGTHS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_rows_are_those_of_numpy(name, lengths, rows, threads):
    """By every version, at block ends inside rows."""
    row, numpys, dtype = PROGRAMS[name]
    given = rows_of(lengths, dtype)

    with config.scoped(schedule=Schedule(rows=rows)):
        found = np.asarray(fw.jit(lambda given: fw.map(row, given))(given))

    wanted = [numpys(x) for x in split(given)]
    np.testing.assert_array_equal(found, np.asarray(wanted, found.dtype))


def test_nan_stays_in_its_row():
    """What a scan gives of one row does not reach the next one."""
    rows = fw.ragged([1.0, np.nan, 3.0, 1.0, 2.0, 0.5], lengths=[3, 0, 3])

    with config.scoped(schedule=Schedule(rows="rows")):
        found = np.asarray(fw.jit(lambda rows: fw.map(drawdown, rows))(rows))

    np.testing.assert_array_equal(found, [np.nan, 0, 1.5])


@pytest.mark.parametrize("level", LEVELS)
def test_every_instruction_set(level):
    """The same bits."""
    given = rows_of("middle", np.float64)
    with in_force(level), config.scoped(schedule=Schedule(rows="rows")):
        found = np.asarray(fw.jit(lambda given: fw.map(weights, given))(given))

    np.testing.assert_array_equal(found, [weights_numpy(x) for x in split(given)])


def test_plans():
    """One lane goes along rows of some length."""
    given = rows_of("middle", np.float64)

    plan = fw.jit(lambda given: fw.map(drawdown, given)).stages(given).text["plan"]

    assert "along=row flagged=true folded=true" in plan
