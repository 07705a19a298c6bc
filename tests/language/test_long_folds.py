"""Few results of long folds: of one length for all of them, and of narrow rows."""

import numpy as np
import pytest

import flatweave as fw
from flatweave.array_ir.syntax import parse_program
from flatweave.lower.machine import CPU_AVX512
from flatweave.lower.program import lower
from flatweave.ops import Fold, Sweep
from flatweave.simulator import run as simulator
from flatweave.terms.traverse import walk_lets
from tests.quick import every
from tests.structure.counted import opened

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


@pytest.mark.parametrize("dtype", every(3, [np.int64, np.float32, np.int16]))
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


@pytest.mark.parametrize("dtype", [np.float32, np.int8])
def test_columns_of_any_number(target, threads, dtype):
    """Fewer than a step has lanes, as many, and a few more: the last step lies over others."""

    def down(m):
        return fw.sum(m, axis=0), fw.max(m, axis=0), fw.argmin(m, axis=0), fw.std(m, axis=0)

    f = fw.jit(down)
    for width in (1, 7, 15, 16, 17, 63, 64, 65, 127, 130) if target == "cpu" else (17,):
        m = (np.arange(9 * width) * 37 % 101 - 50).astype(dtype).reshape(9, width)
        total, most, place, deviation = f(m)

        assert np.array_equal(total, m.sum(axis=0))
        assert np.array_equal(most, m.max(axis=0)) and np.array_equal(place, m.argmin(axis=0))
        assert np.allclose(deviation, m.astype(float).std(axis=0))


def test_the_first_column_that_fails_is_reported(target):
    """Though it is visited twice."""
    f = fw.jit(lambda xs, far: fw.generate(
        70, lambda j: fw.sum(fw.generate(5, lambda i: xs[j + i * far]))))  # fmt: skip
    xs = np.arange(350)

    assert np.array_equal(f(xs, 70), xs.reshape(5, 70).sum(axis=0))
    with pytest.raises(IndexError, match="index 350 is outside"):
        f(xs, 71)


@pytest.mark.parametrize("width", [1, 3, 5, 40])
def test_folds_that_read_what_folds_gave(width, target):
    """Of tall matrices, where folds are divided: each after those that it reads."""
    f = fw.jit(lambda m: (fw.std(m, axis=0), (m - fw.mean(m, axis=0)) / fw.var(m, axis=0)))
    m = np.arange(5000 * width).reshape(5000, width) * 7919 % 4001 / 100

    for ours, theirs in zip(f(m), (m.std(axis=0), (m - m.mean(axis=0)) / m.var(axis=0))):
        assert np.allclose(ours, theirs)


def test_no_fold_is_repeated_for_each_row():
    """Nor for each block of rows: that would be all rows for every row."""
    text = opened(lambda m: fw.std(m, axis=0), np.ones((3, 5))).text["flat"]
    program = parse_program(text)
    rows, columns, *_ = program.fn.params
    sweeps = [let.op for let in walk_lets(program.fn) if isinstance(let.op, Sweep)]

    assert len(sweeps) > 4
    for sweep in sweeps:
        folds = [let.op for let in walk_lets(sweep.body) if isinstance(let.op, Fold)]
        assert sweep.shape == (columns,) or all(fold.extent != rows for fold in folds)


def test_idle_lanes_read_nothing():
    """A read after the end is an error in a lane that has an element, and in no other."""

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
    assert "folds=true" in stages.text["plan"] and "tail=shift-or-mask" in stages.text["plan"]

    def blocks(n):
        grids = []

        def recorded(kernel, grid, *others):
            """What it would compute is a matter of other tests."""
            grids.append(grid)

        with monkeypatch.context() as patch:
            patch.setattr(simulator, "launch", recorded)
            points, labels = problem(n, 3)
            simulator.run(unit, [n, 3, points.reshape(-1), n, labels])
        return max(grids)

    assert blocks(100) == 1
    assert blocks(4000) > 3
