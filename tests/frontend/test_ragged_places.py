"""`rows[i, j]`, columns, parts of every row, and fields, against plain lists."""

from typing import NamedTuple

import numpy as np
import pytest

import flatweave as fw
from tests.compiling import compares_outside_of_jit
from tests.language.agreement import same
from tests.quick import every

ROWS = [[3, 1], [7], [4, 1, 5], [9, 2]]
EMPTY = [[3, 1], [], [4, 1, 5], [9]]
NESTED = [[[1], [2, 3]], [[8]], [[], [4, 5, 6]], [[7], []]]


class Hit(NamedTuple):
    energy: object
    cell: object


def both(f, *args):
    """A function's result, which is the same in a trace."""
    jitted = fw.jit(f)(*args)
    if not compares_outside_of_jit():
        return lists(jitted)
    found = f(*args)
    assert repr(lists(jitted)) == repr(lists(found))
    return lists(found)


def lists(value):
    """A result as Python values."""
    if isinstance(value, tuple):
        return tuple(map(lists, value))
    return value.tolist()


@pytest.mark.parametrize("rows", [ROWS, NESTED], ids=["rows", "nested"])
def test_one_element(target, rows):
    """By row and index, from either end, with numbers that are arguments as well."""
    ragged = fw.ragged(rows)

    read = fw.jit(lambda r, i, j: r[i, j])
    for i, row in enumerate(rows):
        for j in range(-len(row), len(row)):
            assert ragged[i, j].tolist() == row[j]
            assert read(ragged, i - len(rows), j).tolist() == row[j]
    assert both(lambda r: r[2, -1], ragged) == rows[2][-1]
    assert both(lambda r: r[2, 1:], ragged) == rows[2][1:]
    assert both(lambda r: r[2, [1, 0, 0]], ragged) == [rows[2][j] for j in (1, 0, 0)]
    for i, j in ((1, 1), (1, -2), (4, 0), (-5, 0)):
        with pytest.raises(fw.IndexOutOfBounds):
            ragged[i, j]
        with pytest.raises(fw.IndexOutOfBounds):
            read(ragged, i, j)
    for i, j in ((1, 1), (4, 0)):
        with pytest.raises(fw.IndexOutOfBounds):
            fw.jit(lambda r, i=i, j=j: r[i, j])(ragged)


@pytest.mark.parametrize("rows", [ROWS, NESTED], ids=["rows", "nested"])
def test_columns(target, rows):
    """One element of every row, or of those chosen."""
    ragged = fw.ragged(rows)

    assert both(lambda r: r[:, 0], ragged) == [row[0] for row in rows]
    assert both(lambda r: r[:, -1], ragged) == [row[-1] for row in rows]
    assert both(lambda r, j: r[:, j], ragged, 0) == [row[0] for row in rows]
    assert both(lambda r: r[::2, 1], ragged) == [row[1] for row in rows[::2]]
    assert both(lambda r: r[[2, 0], 1], ragged) == [rows[2][1], rows[0][1]]
    long = both(lambda r: r[r.lengths > 1, 1], ragged)
    assert long == [row[1] for row in rows if len(row) > 1]


def test_pairs_of_index_arrays(target):
    """Broadcast against each other, as NumPy's are."""
    ragged = fw.ragged(ROWS)
    i, j = np.array([2, 0, 2, 1]), np.array([-1, 1, 0, 0])

    assert both(lambda r, i, j: r[i, j], ragged, i, j) == [5, 1, 4, 7]
    assert both(lambda r, i: r[i, 0], ragged, i) == [4, 3, 4, 7]
    assert both(lambda r, j: r[np.array([2]), j], ragged, np.array([0, 1, 2])) == [4, 1, 5]


def test_a_row_that_is_too_short():
    """The message has the row's number, and the index."""
    ragged = fw.ragged(EMPTY)
    for f in (lambda r: r[:, 0], lambda r: r[:, -1], lambda r: r[[0, 1], 0],
              lambda r: r[np.array([2, 1]), np.array([0, 0])]):  # fmt: skip
        for call in (f, fw.jit(f)):
            with pytest.raises(fw.IndexOutOfBounds, match="index (0|-1) is outside of row 1 of"):
                call(ragged)
    many = fw.ragged(np.zeros(10**6), lengths=np.r_[np.ones(10**6), np.zeros(10)].astype(int))
    with pytest.raises(fw.IndexOutOfBounds, match="of row 1000000 of"):
        many[:, 0]


@pytest.mark.parametrize("rows", [EMPTY, NESTED], ids=["rows", "nested"])
@pytest.mark.parametrize("part", every(2, [
    slice(None, 2), slice(-2, None), slice(None, None, -1), slice(5, 9), slice(-1, None, -2),
    slice(1, -1),
]), ids=str)  # fmt: skip
def test_a_part_of_every_row(target, rows, part):
    """As a list's slices, which end where the row ends."""
    ragged = fw.ragged(rows)

    found = fw.jit(lambda r: (r[:, part], r[1:, part], r[[3, 0], part]))(ragged)
    assert lists(found) == (
        [row[part] for row in rows], [row[part] for row in rows[1:]],
        [rows[3][part], rows[0][part]],
    )  # fmt: skip
    assert ragged[:, part].tolist() == [row[part] for row in rows]
    if part == slice(1, -1):
        found = fw.jit(lambda r, a, b: r[:, a:b])(ragged, 1, -1)
        assert found.tolist() == [row[part] for row in rows]


def test_deeper_keys(target):
    """A part for every axis: of rows of rows, and of values of higher rank."""
    nested = fw.ragged(NESTED)
    assert both(lambda r: r[0, 1, 1], nested) == 3
    assert both(lambda r: r[0, :, 0], nested) == [1, 2]
    assert both(lambda r: r[:, :, 1:], nested) == [[x[1:] for x in row] for row in NESTED]
    assert both(lambda r: r[:2, 0, 0], nested) == [1, 8]
    assert both(lambda r: r[:2, :, 0], nested) == [[1, 2], [8]]
    assert both(lambda r: r[..., :1], nested) == [[x[:1] for x in row] for row in NESTED]
    assert both(lambda r: r[...], nested) == NESTED

    x = np.arange(12.0).reshape(6, 2)
    rows = fw.ragged(x, lengths=[2, 1, 3])
    assert both(lambda r: r[:, 0], rows) == x[[0, 2, 3]].tolist()
    assert both(lambda r: r[:, 0, 1], rows) == x[[0, 2, 3], 1].tolist()
    assert both(lambda r: r[:, :, 1], rows) == [[1.0, 3.0], [5.0], [7.0, 9.0, 11.0]]
    assert both(lambda r: r[..., 1], rows) == [[1.0, 3.0], [5.0], [7.0, 9.0, 11.0]]
    assert both(lambda r: r[2, 1], rows) == x[4].tolist()
    assert both(lambda r: r[2, 1, 0], rows) == x[4, 0]


def test_records(target):
    """Each field is read; a field by its name is a Ragged."""
    rows = [[Hit(2.5, 1), Hit(0.5, 2)], [Hit(3.5, 2)]]
    ragged = fw.ragged(rows)

    assert both(lambda r: r[0, 1], ragged) == (0.5, 2)
    assert both(lambda r: r[:, 0], ragged) == ([2.5, 3.5], [1, 2])
    assert both(lambda r: r[:, 1:], ragged) == [[Hit(0.5, 2)], []]
    assert both(lambda r: r["cell"], ragged) == [[1, 2], [2]]
    assert both(lambda r: r["x"] + 1, fw.ragged([[{"x": 1}], []])) == [[2], []]
    assert both(lambda r: r["x"], fw.ragged([[[{"x": 1}]], []])) == [[[1]], []]
    with pytest.raises(fw.ArgumentError, match="fields 'energy', 'cell'"):
        ragged["mass"]
    with pytest.raises(fw.ArgumentError, match="no names"):
        fw.ragged(ROWS)["mass"]


def test_masks_and_places_of_elements(target):
    """A Ragged as an index says which elements of each row: those that hold, in this order."""
    rows, nested = fw.ragged(EMPTY), fw.ragged(NESTED)

    assert both(lambda r: r[r > 2], rows) == [[x for x in row if x > 2] for row in EMPTY]
    assert both(lambda r: r[r > 99], rows) == [[]] * 4
    assert both(lambda r: r[fw.argsort(r, axis=1)], rows) == [sorted(row) for row in EMPTY]
    order = fw.ragged([[-1, 0, 0], [], [2], []])
    assert both(lambda r, i: r[i], rows, order) == [[1, 3, 3], [], [5], []]
    assert both(lambda n: n[n % 2 == 1], nested) == [
        [[x for x in row if x % 2] for row in inner] for inner in NESTED
    ]
    assert both(lambda n: n[fw.map(lambda inner: inner.lengths > 1, n)], nested) == [
        [row for row in inner if len(row) > 1] for inner in NESTED
    ]
    hits = fw.ragged([[Hit(2.5, 1), Hit(0.5, 2)], [Hit(3.5, 2)]])
    assert both(lambda h: h[h["energy"] > 1], hits) == [[Hit(2.5, 1)], [Hit(3.5, 2)]]
    for index, message in (
        (fw.ragged([[0], [0], [0], [0]]), "index 0 is outside of row 1"),
        (fw.ragged([[0]]), "as many rows, got 4 and 1"),
        (rows[::-1] > 0, "rows of the same lengths"),
        (rows * 0.5, "bools or integers"),
    ):
        for call in (lambda r, i: r[i], fw.jit(lambda r, i: r[i])):
            with pytest.raises(fw.UserError, match=message):
                call(rows, index)


def test_long_rows_in_several_blocks(target):
    """Lengths around those of steps and blocks."""
    lengths = np.array([127, 128, 129, 1023, 1025, 1, 2])
    x = np.arange(lengths.sum())
    rows, plain = fw.ragged(x, lengths=lengths), np.split(x, np.cumsum(lengths)[:-1])

    same(fw.jit(lambda r: r[:, -1])(rows), np.array([row[-1] for row in plain]))
    for part in (slice(1, None), slice(None, None, -1), slice(3, 1000, 7)):
        found = fw.jit(lambda r, part=part: r[:, part])(rows)
        same(found.values, np.concatenate([row[part] for row in plain]))
        same(found.lengths, np.array([len(row[part]) for row in plain]))


def test_keys_that_mean_nothing():
    """Each says what to do."""
    rows = fw.ragged(ROWS)
    for key in ((0, 0, 0), (slice(None), 0, 0)):
        with pytest.raises(fw.ShapeError, match=r"2 ind.* 1 axis|2 axes got 3 indices"):
            rows[key]
    with pytest.raises(fw.ArgumentError, match="new axis"):
        rows[None]
    with pytest.raises(fw.Unsupported, match="a slice between them"):
        fw.ragged(np.ones((3, 2, 2)), lengths=[2, 1])[:, [0, 0], :, [0, 1]]
    with pytest.raises(fw.ArgumentError, match="rank 1"):
        fw.ragged(NESTED)[[0, 1], :, [[0], [0]]]
    with pytest.raises(fw.ArgumentError, match="rank 1"):
        fw.ragged(NESTED)[:, [[0]]]
    with pytest.raises(fw.ArgumentError, match="must be an integer or a slice"):
        rows[:, 0.5]
    assert fw.map(lambda row: row[np.array([0, -1])], rows).tolist() == [
        [3, 1], [7, 7], [4, 5], [9, 2],
    ]  # fmt: skip


def test_the_same_places_of_every_row(target):
    """An array of them as of a matrix; of rows of rows those rows."""
    rows, nested = fw.ragged(ROWS), fw.ragged(NESTED)

    assert fw.jit(lambda r, i: r[::2, i])(rows, np.array([1, 0])).tolist() == [[1, 3], [1, 4]]
    assert nested[:, [0, -1]].tolist() == [[row[0], row[-1]] for row in NESTED]
    with pytest.raises(fw.IndexOutOfBounds, match="index 1 is outside of row 1"):
        rows[:, [0, 1]]
    if target == "interp":
        for idx in ([0, -1, 0], [], [[0], [0]]):
            assert rows[:, idx].tolist() == [
                np.array(row)[np.array(idx, np.int64)].tolist() for row in ROWS
            ]  # fmt: skip
        assert nested[2:, [1, 0], :1].tolist() == [[row[1][:1], row[0][:1]] for row in NESTED[2:]]
        assert rows[:0, [5]].shape == (0, 1)


def test_several_index_arrays():
    """They are broadcast together, as those of an array."""
    x = np.arange(24).reshape(6, 2, 2)
    rows, nested = fw.ragged(x, lengths=[3, 3]), fw.ragged(NESTED)
    cube = x.reshape(2, 3, 2, 2)
    keys = [
        ([0, 1], [2, 0], [1, 0]), ([1, 0], 2, [0, 1]), ([0, 1], [2, 1], slice(None), [0, 1]),
        (slice(None), [2, 0], [1, 0]), (slice(None), [2, 0], 1), (slice(None), [2], [[0], [1]]),
        (slice(None), [1, 1], [0, 1], [1, 0]), (slice(None), 1, [1, 0, 0]),
    ]  # fmt: skip

    with fw.target("interp"):
        for key in keys:
            same(rows[key], cube[tuple(np.array(k) if isinstance(k, list) else k for k in key)])
        assert nested[[0, 2, 3], [1, 1, 0], [-1, 0, 0]].tolist() == [3, 4, 7]


def test_index_arrays_around_a_slice(target):
    """One index for each row that the first array names."""
    nested, deep = fw.ragged(NESTED), fw.ragged([NESTED[:2], NESTED[1::-1]])
    x = np.arange(24).reshape(6, 2, 2)
    rows = fw.ragged(x, lengths=[2, 1, 3])
    parts = [x[:2], x[2:3], x[3:]]
    numbers, last = [2, 0, 2], [0, -1, 2]

    found = fw.jit(lambda n, i, k: n[i, 1:, k])(nested, np.array(numbers), np.array(last))
    assert found.tolist() == [
        [inner[k] for inner in NESTED[i][1:]] for i, k in zip(numbers, last, strict=True)
    ]
    if target == "interp":
        assert nested[[1, 0], :, 0].tolist() == [[8], [1, 2]]
        assert nested[[], :, []].tolist() == []
        assert deep[[1, 0], :, [0, -1], 0].tolist() == [[8, 1], [2, 8]]
        assert rows[[2, 0], ::-1, [1, 0]].tolist() == [
            parts[2][::-1, 1].tolist(), parts[0][::-1, 0].tolist(),
        ]  # fmt: skip
        assert rows[[2, 0], :, :, [1, 0]].tolist() == [
            parts[2][:, :, 1].tolist(), parts[0][:, :, 0].tolist(),
        ]  # fmt: skip
        assert rows[[0, 2], 0, :, [1, 0]].tolist() == [
            parts[0][0, :, 1].tolist(), parts[2][0, :, 0].tolist(),
        ]  # fmt: skip


def test_index_arrays_in_deeper_rows():
    """After all rows they select the same indices in each, before slices and rows, too."""
    lists = [[[[1, 2], [3]], [[4], [5, 6]]], [[[7], [8]], [[], [9]], [[1], [1]]]]
    deep = fw.ragged(lists)

    with fw.target("interp"):
        assert deep[:, [1, 0], [0, -1]].tolist() == [[x[1][0], x[0][-1]] for x in lists]
        assert deep[:, [1, 0], [0, -1], :1].tolist() == [
            [x[1][0][:1], x[0][-1][:1]] for x in lists
        ]  # fmt: skip
        assert deep[:, [0], []].tolist() == [[], []]
