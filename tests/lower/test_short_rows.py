"""Rows of fewer elements than lanes: a row for each lane, or steps that go on into the next row."""

from itertools import product

import numpy as np
import pytest

import flatweave as fw
from flatweave.base.config import config

COLUMNS = [0, 1, 2, 3, 8, 15, 16, 17, 33]
ROWS = [0, 1, 7, 127, 129, 1025]


def affine(a, b):
    """Does not commute: the composed maps x -> p x + q."""
    return a[0] * b[0], a[1] * b[0] + b[1]


def composed(m):
    """What `affine` makes of each row of maps x -> -x + m."""
    found = np.zeros(m.shape[0], m.dtype)
    for column in m.T:
        found = column - found
    return found


def everything(m, v):
    """Folds of one value and of two, some after another, and elements next to values of their row
    and their column's."""
    least = fw.map(lambda r: fw.min(r, initial=9), m)
    return (
        fw.map(fw.sum, m),
        least,
        fw.map(lambda r: fw.sum(fw.abs(r - fw.min(r, initial=9))), m),
        fw.map(lambda r: fw.reduce(affine, (1, 0), (-fw.ones_like(r), r))[1], m),
        fw.map(lambda r: fw.any(r * v > 2), m),
        m * v - least[:, None],
    )


def by_numpy(m, v):
    """The same."""
    least = m.min(1, initial=9)
    around = np.abs(m - least[:, None]).sum(1)
    return m.sum(1), least, around, composed(m), (m * v > 2).any(1), m * v - least[:, None]


EVERYTHING = {target: fw.jit(everything, target=target) for target in ("cpu", "interp")}
FLAT = np.random.default_rng(1).integers(-4, 5, 40_000).astype(np.float32)


def test_rows_of_few_elements():
    """One program, whatever a row has, on any number of threads; whole numbers, whose sums are
    exact in any order."""
    for count, columns, rows in product((1, 2, 3, 7), COLUMNS, ROWS):
        with config.scoped(threads=count):
            check("cpu", rows, columns)


@pytest.mark.slow
@pytest.mark.parametrize("columns", [0, 2, 17])
def test_rows_of_few_elements_as_they_are_traced(columns):
    """The meaning that the kernels are held to."""
    check("interp", 7, columns)


def check(target, rows, columns):
    """All results of one program are NumPy's."""
    m, v = FLAT[: rows * columns].reshape(rows, columns), FLAT[:columns] + 1
    pairs = zip(EVERYTHING[target](m, v), by_numpy(m, v), strict=True)
    assert all(np.array_equal(found, wanted) for found, wanted in pairs), (rows, columns)


def test_the_first_of_the_greatest(target):
    """Of equal values the first stands, and a NaN before all others; along rows and columns."""
    for columns in (3, 17) if target == "cpu" else (3,):
        m = FLAT[: 129 * columns].astype(np.float64).reshape(129, columns)
        m[::5] = m[::5] * 0 - np.inf
        m[::3, columns // 2 :] = np.nan
        for axis in (0, 1, None):
            assert np.array_equal(fw.argmax(m, axis=axis), m.argmax(axis)), axis
            assert np.array_equal(fw.argmin(m, axis=axis), m.argmin(axis)), axis


@pytest.mark.slow
@pytest.mark.parametrize("columns", [2, 3, 5, 8, 15, 24])
def test_many_short_rows(columns, threads):
    """Results that go around the caches, in blocks that begin on cache lines."""
    rng = np.random.default_rng(columns)
    m = rng.integers(-4, 5, (600_001, columns)).astype(np.float32)
    v = FLAT[:columns] + 1

    pairs = zip(EVERYTHING["cpu"](m, v), by_numpy(m, v), strict=True)
    assert all(np.array_equal(found, wanted) for found, wanted in pairs)
    for axis in (0, 1, None):
        assert np.array_equal(fw.argmax(m, axis=axis), m.argmax(axis)), axis


def test_the_first_bad_index_of_short_rows():
    """The row is named that a loop would fail in, though lanes take many at once."""
    at = np.zeros((300, 3), np.int64)
    at[17, 2], at[18, 0], at[250, 1] = 5, 6, 7

    picked = fw.jit(lambda at, v: fw.map(lambda r: fw.sum(fw.map(lambda i: v[i], r)), at))
    with pytest.raises(fw.IndexOutOfBounds, match="5"):
        picked(at, np.ones(2))


def test_the_reason_is_told():
    """Such rows have a separate kernel, and notes say when it ran; it is no further pass."""
    program = fw.jit(lambda m: fw.map(fw.sum, m))
    program(np.ones((200, 3)))
    stages = program.stages(np.ones((200, 3)))

    assert stages.kernels == 1
    assert any("rows are short" in note for note in stages.notes)


def test_extents_that_are_known_choose_when_the_program_is_compiled():
    """Then there is one kernel, for rows of this number of elements only."""
    program = fw.jit(lambda m: fw.map(fw.sum, fw.reshape(m, (-1, 3))))
    plan = program.stages(np.ones(300)).text["plan"]

    assert np.array_equal(program(np.ones(300)), np.full(100, 3.0))
    assert "axis=space" in plan and "below" not in plan and "axis=fold" not in plan
