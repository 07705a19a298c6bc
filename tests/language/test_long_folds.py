"""Few results of long folds: of one length for all of them, and of narrow rows."""

import numpy as np
import pytest

import flatweave as fw
from flatweave.lower.machine.machine import CPU_AVX512
from flatweave.lower.program import lower
from flatweave.simulator import run as simulator

WIDTHS = [0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 21]
GROUPS = 12


def group_sums(points, labels):
    """Of each group the sum of its points."""

    def of_group(k):
        return fw.sum(fw.map(lambda p, mine: fw.where(mine, p, 0), points, labels == k), axis=0)

    return fw.map(of_group, fw.iota(GROUPS))


def plain_sums(points, labels):
    return np.array([points[labels == k].sum(axis=0) for k in range(GROUPS)])


def problem(n, width, dtype=np.int64):
    random = np.random.default_rng(n + width)
    return random.integers(-99, 99, (n, width)).astype(dtype), random.integers(0, GROUPS, n)


@pytest.mark.parametrize("dtype", [np.int64, np.float32, np.int16])
@pytest.mark.parametrize("n", [0, 1, 129, 5000])
def test_sums_of_groups(target, threads, n, dtype):
    """Narrower rows than any step has lanes, and wider ones."""
    sums = fw.jit(group_sums)
    for width in WIDTHS if n < 5000 or target == "cpu" else [3]:
        points, labels = problem(n, width, dtype)

        assert np.array_equal(sums(points, labels), plain_sums(points, labels).astype(dtype))


def test_two_folds_of_one_element(target, threads):
    """A mean has a sum and a number."""
    points, labels = problem(3000, 1)
    values = points[:, 0]

    def mean(k):
        return fw.sum(fw.where(labels == k, values, 0)) / fw.sum(labels == k)

    expected = [values[labels == k].mean() for k in range(GROUPS)]
    assert np.allclose(fw.map(mean, fw.iota(GROUPS)), expected)


def test_idle_lanes_read_nothing():
    """A read behind the end is an error in a lane that has an element, and in no other."""

    def table(points, ahead):
        def column(_, j):
            return fw.sum(fw.generate(300, lambda i: points[i, j + ahead]))

        return fw.generate((4, 3), column)

    table, points = fw.jit(table), np.ones((300, 3))

    assert np.array_equal(table(points, 0), np.full((4, 3), 300.0))
    with pytest.raises(IndexError):
        table(points, 1)


def test_long_folds_are_blocks_of_their_own(monkeypatch):
    """So that threads share them; short ones stay together."""
    stages = fw.jit(group_sums).stages(*problem(100, 3))
    unit = lower(stages.executable.program, CPU_AVX512).unit
    assert "folds=true" in stages.text["plan"] and "masked=true" in stages.text["plan"]

    def blocks(n):
        grids, launch = [], simulator.launch

        def recorded(kernel, grid, *others):
            grids.append(grid)
            return launch(kernel, grid, *others)

        with monkeypatch.context() as patch:
            patch.setattr(simulator, "launch", recorded)
            points, labels = problem(n, 3)
            simulator.run(unit, [n, 3, points.reshape(-1), n, labels])
        return max(grids)

    assert blocks(100) == 1
    assert blocks(4000) > 3
