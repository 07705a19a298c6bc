"""Rows of a Ragged: from lists and to lists, chosen, joined, filtered, and rows of rows."""

import pickle

import numpy as np
import pytest

import flatweave as fw
from tests.language.agreement import same

ROWS = [[3, 1], [], [4, 1, 5], [9]]
NESTED = [[[1], [2, 3]], [], [[], [4, 5, 6]], [[7]]]
KEYS = [
    slice(1, 3), slice(None), slice(2, None), slice(None, -1), slice(3, 1), slice(9, 12),
    slice(None, None, -1), slice(0, 4, 2), slice(-3, None),
]  # fmt: skip


@pytest.mark.parametrize("rows", [ROWS, NESTED, [], [[], []], [[1.5], [2]], [[True], []]])
def test_lists_there_and_back(target, rows):
    """`fw.ragged(rows).tolist()` is what was given, outside of jit and as its result."""
    ragged = fw.ragged(rows)

    assert ragged.tolist() == rows
    assert len(ragged) == len(rows)
    assert fw.jit(lambda r: r)(ragged).tolist() == rows
    assert fw.jit(lambda k: fw.ragged(rows))(0).tolist() == rows


def test_dtypes_of_lists():
    """NumPy's of all numbers together; of none, floats."""
    assert fw.ragged([[1, 2], [3]]).dtype == np.int64
    assert fw.ragged([[1], [2.5]]).values.tolist() == [1.0, 2.5]
    assert fw.ragged([[], []]).dtype == np.float64
    assert repr(fw.ragged([[[1], []], []])) == "Ragged([[[1], []], []], dtype=int64)"


def test_rows_that_are_arrays(target):
    """A list of arrays, of which some may be lists; also traced ones of any length."""
    x, y = np.arange(3), np.array([7.5])
    assert fw.ragged([x, [], y, [1, 2]]).tolist() == [[0, 1, 2], [], [7.5], [1, 2]]
    assert fw.ragged([np.ones((2, 3)), np.ones((1, 3))]).values.shape == (3, 3)

    f = fw.jit(lambda x, y: fw.ragged([x, y, x]))
    assert f(x, y).tolist() == [[0, 1, 2], [7.5], [0, 1, 2]]
    assert f(x[:0], y).tolist() == [[], [7.5], []]
    assert f.traces == 1


def test_rows_of_tuples(target):
    """As lists of tuples."""
    rows = fw.ragged((np.arange(3), np.arange(3.0)), lengths=[1, 0, 2])

    assert rows.tolist() == [[(0, 0.0)], [], [(1, 1.0), (2, 2.0)]]
    assert rows[[2, 0]].tolist() == [[(1, 1.0), (2, 2.0)], [(0, 0.0)]]
    assert rows[:2].tolist() == [[(0, 0.0)], []]


@pytest.mark.parametrize("key", KEYS, ids=str)
@pytest.mark.parametrize("rows", [ROWS, NESTED])
def test_slices(target, rows, key):
    """As a list's, on the host and in a trace, with bounds that are arguments, too."""
    ragged = fw.ragged(rows)

    assert ragged[key].tolist() == rows[key]
    assert fw.jit(lambda r: r[key])(ragged).tolist() == rows[key]
    if None not in (key.start, key.stop) and key.step is None:
        assert fw.jit(lambda r, a, b: r[a:b])(ragged, key.start, key.stop).tolist() == rows[key]
    if key.step is not None and key.start is key.stop is None:
        assert fw.jit(lambda r, s: r[::s])(ragged, key.step).tolist() == rows[key]


@pytest.mark.parametrize("rows", [ROWS, NESTED])
def test_masks_and_index_arrays(target, rows):
    """In the order given, a row any number of times; from the end below 0."""
    ragged, mask = fw.ragged(rows), np.array([True, False, True, True])
    select = fw.jit(lambda r, i: r[i])

    for indices in ([2, 0], [3, 3, -2], [1], []):
        idx = np.array(indices, np.int64)
        assert ragged[idx].tolist() == [rows[i] for i in indices]
        assert select(ragged, idx).tolist() == [rows[i] for i in indices]
    assert ragged[[0, 2]].tolist() == [rows[0], rows[2]]
    for found in (ragged[mask], select(ragged, mask)):
        assert found.tolist() == [row for row, kept in zip(rows, mask, strict=True) if kept]
    assert fw.jit(lambda r: r[r.lengths > 1])(ragged).tolist() == [r for r in rows if len(r) > 1]
    for wrong in ([4], [-5]):
        with pytest.raises(fw.IndexOutOfBounds):
            select(ragged, np.array(wrong))
    with pytest.raises(fw.ShapeError):
        ragged[mask[:2]]


def test_selected_rows_are_mapped_over(target):
    """What a selection gives is a Ragged as any other."""
    f = fw.jit(lambda r, i: fw.map(fw.sum, r[i]) + fw.sum(r[1:], axis=1))

    same(f(fw.ragged(ROWS), np.array([0, 2, 2])), np.array([4, 20, 19]))


def test_concat(target):
    """Rows after rows, empty ones, nested ones, and of tuples; dtypes are promoted."""
    a, b = fw.ragged(ROWS), fw.ragged([[0.5], []])
    assert fw.concat([a, b, a]).tolist() == ROWS + [[0.5], []] + ROWS
    assert fw.jit(lambda a, b: fw.concat([b, a]))(a, b).tolist() == [[0.5], []] + ROWS
    assert fw.concat([a[:0], a]).tolist() == ROWS
    nested = fw.ragged(NESTED)
    assert fw.concat([nested, nested]).tolist() == NESTED * 2
    pairs = fw.ragged((np.arange(2), np.ones(2)), lengths=[2])
    assert fw.concat([pairs, pairs]).tolist() == [[(0, 1.0), (1, 1.0)]] * 2


def test_filter_and_partition(target):
    """The predicate sees a row."""
    ragged = fw.ragged(ROWS)
    heavy = lambda row: fw.sum(row) > 4

    assert fw.filter(heavy, ragged).tolist() == [[4, 1, 5], [9]]
    assert fw.jit(lambda r: fw.filter(heavy, r))(ragged).tolist() == [[4, 1, 5], [9]]
    holds, others = fw.partition(heavy, ragged)
    assert holds.tolist() == [[4, 1, 5], [9]]
    assert others.tolist() == [[3, 1], []]


def test_rows_of_rows(target):
    """Made of values that are a Ragged, indexed, computed with, reduced, pickled."""
    inner = fw.ragged([[1], [2, 3], [], [4, 5, 6], [7]])
    made = fw.ragged(inner, lengths=[2, 0, 2, 1])
    jitted = fw.jit(lambda r, n: fw.ragged(r, lengths=n))

    for ragged in (made, jitted(inner, np.array([2, 0, 2, 1])), fw.ragged(NESTED)):
        assert ragged.tolist() == NESTED
        assert ragged[2].tolist() == [[], [4, 5, 6]]
        assert fw.jit(lambda r, i: r[i])(ragged, 0).tolist() == [[1], [2, 3]]
        assert ragged[-1][0].tolist() == [7]
        same(ragged.lengths, np.array([2, 0, 2, 1]))
        same(ragged.flags, np.array([True, False, True, False, True]))
    assert fw.ragged(inner, flags=made.flags).tolist() == [r for r in NESTED if r]
    assert pickle.loads(pickle.dumps(made)).tolist() == NESTED
    assert (made * 2)[2].tolist() == [[], [8, 10, 12]]
    assert (made + made)[0].tolist() == [[2], [4, 6]]
    assert (made + np.array([10, 20, 30, 40])).tolist() == [
        [[11], [12, 13]], [], [[], [34, 35, 36]], [[47]],
    ]  # fmt: skip
    assert fw.sum(made) == 28
    assert fw.sum(made, axis=2).tolist() == [[1, 5], [], [0, 15], [7]]
    assert fw.sum(made, axis=-1).tolist() == [[1, 5], [], [0, 15], [7]]
    same(fw.sum(made, axis=(1, 2)), np.array([6, 0, 15, 7]))
    same(fw.sum(made, axis=(1, 2), keepdims=True), np.array([6, 0, 15, 7]).reshape(4, 1, 1))
    with pytest.raises(fw.ShapeError, match="add up to 4 for 5 values"):
        fw.ragged(inner, lengths=[2, 2])
    with pytest.raises(fw.ShapeError, match="add up to 4 for 5 values"):
        jitted(inner, np.array([2, 2]))


def test_map_over_rows_of_rows(target):
    """The function gets a Ragged: it may reduce it, map over it, and read its parts."""
    nested = fw.ragged(NESTED)
    sums = [[sum(row) for row in rows] for rows in NESTED]

    for f, expected in (
        (fw.sum, [sum(row) for row in sums]),
        (lambda rows: fw.map(fw.sum, rows), sums),
        (lambda rows: fw.sum(rows, axis=1, initial=1), [[s + 1 for s in row] for row in sums]),
        (lambda rows: fw.max(fw.map(fw.sum, rows), initial=0), [max([0, *row]) for row in sums]),
        (lambda rows: rows.lengths, [[len(row) for row in rows] for rows in NESTED]),
        (lambda rows: rows.lengths.shape[0], [len(rows) for rows in NESTED]),
        (lambda rows: rows.values * 2, [[2 * x for row in rows for x in row] for rows in NESTED]),
        (lambda rows: rows.values - fw.sum(rows),
         [[x - sum(map(sum, rows)) for row in rows for x in row] for rows in NESTED]),
    ):  # fmt: skip
        assert fw.map(f, nested).tolist() == expected
        assert fw.jit(lambda r, f=f: fw.map(f, r))(nested).tolist() == expected
    assert fw.map(lambda rows, k: fw.sum(rows) * k, nested, np.arange(4)).tolist() == [0, 0, 30, 21]
