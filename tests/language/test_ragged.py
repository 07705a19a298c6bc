"""fw.Ragged: built, decomposed, in and out of jit, and mapped over."""

import pickle
from typing import NamedTuple

import numpy as np
import pytest

import flatweave as fw
from flatweave.frontend.values.tree import flatten
from tests.language.agreement import same, values

LENGTHS = [[], [0], [3], [0, 0, 0], [2, 0, 3], [0, 1, 0, 0, 4, 0], [1] * 9, [0, 200, 1]]


class Entry(NamedTuple):
    weight: object
    column: object


def made(lengths, dtype=np.int64):
    """A Ragged of these lengths, and its rows."""
    x = values(dtype, int(np.sum(lengths, dtype=int)))
    offsets = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]).astype(np.int64)
    return fw.ragged(x, offsets=offsets), np.split(x, offsets[1:-1]) if len(lengths) else []


def same_rows(found, rows):
    """A Ragged with these rows."""
    assert isinstance(found, fw.Ragged)
    assert len(found) == len(rows)
    for ours, theirs in zip(found, rows, strict=True):
        same(ours, theirs)


@pytest.mark.parametrize("lengths", LENGTHS)
def test_parts(target, lengths):
    """Values, offsets, lengths, flags, and every row."""
    ragged, rows = made(lengths)
    x = np.asarray(ragged.values)
    flags = np.zeros(len(x), bool)
    flags[[int(o) for o, n in zip(ragged.offsets, lengths, strict=False) if n]] = True

    same_rows(ragged, rows)
    same(ragged.lengths, np.array(lengths, np.int64))
    same(ragged.flags, flags)
    same_rows(fw.ragged(x, lengths=lengths), rows)
    same_rows(fw.ragged(x, flags=flags), [row for row in rows if len(row)])


@pytest.mark.parametrize("lengths", LENGTHS)
def test_made_inside_jit(target, lengths):
    """From each of the three keywords, with the same result."""
    ragged, rows = made(lengths)
    x, offsets, counts = ragged.values, ragged.offsets, np.array(lengths, np.int32)

    same_rows(fw.jit(lambda x, o: fw.ragged(x, offsets=o))(x, offsets), rows)
    same_rows(fw.jit(lambda x, n: fw.ragged(x, lengths=n))(x, counts), rows)
    same_rows(
        fw.jit(lambda x, f: fw.ragged(x, flags=f))(x, ragged.flags), [r for r in rows if len(r)]
    )


@pytest.mark.parametrize("lengths", LENGTHS)
def test_in_and_out_of_jit(target, lengths):
    """As an argument, as a result, and read by its parts."""
    ragged, rows = made(lengths)
    f = fw.jit(lambda r: {"rows": r, "lengths": r.lengths, "flags": r.flags, "v": r.values * 2})
    found = f(ragged)

    same_rows(found["rows"], rows)
    same(found["lengths"], ragged.lengths)
    same(found["flags"], ragged.flags)
    same(found["v"], np.asarray(ragged.values) * 2)


def test_one_trace_for_all_lengths(target):
    """Rows and values are counted at run time."""
    f = fw.jit(lambda r: fw.map(lambda row: fw.sum(row), r))
    for lengths in LENGTHS:
        ragged, rows = made(lengths)
        same(f(ragged), np.array([row.sum() for row in rows], np.int64))
    assert f.traces == 1


def test_closed_over(target):
    """A Ragged around a function is read like an array."""
    ragged, rows = made([2, 0, 3])

    same(fw.jit(lambda k: fw.map(lambda i: fw.sum(ragged[i]) + k, fw.iota(3)))(1),
         np.array([row.sum() + 1 for row in rows]))  # fmt: skip
    same(fw.jit(lambda k: fw.map(lambda row: fw.sum(row) * k, ragged))(2),
         np.array([row.sum() * 2 for row in rows]))  # fmt: skip


def test_rows(target):
    """By number, from both ends, inside jit and outside; a row that is not there is an error."""
    ragged, rows = made([2, 0, 3])
    f = fw.jit(lambda r, i: r[i])

    for i in range(-3, 3):
        same(ragged[i], rows[i])
        same(f(ragged, i), rows[i])
        same(ragged[np.int64(i)], rows[i])
    same(fw.jit(lambda r: r[-1])(ragged), rows[-1])
    for i in (3, -4):
        with pytest.raises(fw.IndexOutOfBounds):
            ragged[i]
        with pytest.raises(fw.IndexOutOfBounds):
            f(ragged, i)
        with pytest.raises(fw.IndexOutOfBounds):  # a constant is checked as an argument is
            fw.jit(lambda r, i=i: r[i])(ragged)
    with pytest.raises(fw.IndexOutOfBounds):
        fw.ragged([], lengths=[])[0]
    for numbers in ([0, 3], [10**12]):
        with pytest.raises(fw.IndexOutOfBounds):
            fw.jit(lambda r, i: fw.map(lambda k: fw.sum(r[k]), i))(ragged, np.array(numbers))
    with pytest.raises(fw.IndexOutOfBounds):
        ragged[1:, 0]


def test_values_that_are_tuples(target):
    """The arrays of a tree share their rows."""
    weights, columns = np.arange(5) * 0.5, np.array([1, 0, 1, 2, 0])
    rows = fw.ragged(Entry(weights, columns), lengths=[2, 0, 3])
    x = np.array([1.0, 10.0, 100.0])

    def product(r, x):
        return fw.map(lambda e: fw.sum(e.weight * x[e.column]), r)

    same(rows[0], Entry(weights[:2], columns[:2]))
    for f in (product, fw.jit(product)):
        same(f(rows, fw.asarray(x)), np.array([0.5, 0.0, 10.0 + 150.0 + 2.0]))


def test_values_of_higher_rank(target):
    """An element may be a separate row."""
    m = np.arange(10.0).reshape(5, 2)
    rows = fw.ragged(m, lengths=[2, 0, 3])

    same(rows[2], m[2:])
    same(fw.map(lambda r: fw.sum(r), rows), np.array([m[:2].sum(), 0.0, m[2:].sum()]))
    same(fw.map(lambda r: r + 1, rows).values, m + 1)


@pytest.mark.parametrize("lengths", LENGTHS)
def test_reductions_of_rows(target, lengths):
    """Several results for each row, empty rows too."""
    ragged, rows = made(lengths)
    f = fw.jit(lambda r: fw.map(
        lambda row: (fw.reduce(fw.maximum, -99, row), row.shape[0], fw.sum(row * row)), r
    ))  # fmt: skip

    same(f(ragged), (np.array([row.max(initial=-99) for row in rows], np.int64),
                     np.array(lengths, np.int64),
                     np.array([(row * row).sum() for row in rows], np.int64)))  # fmt: skip


@pytest.mark.parametrize("lengths", LENGTHS)
def test_rows_made_of_rows(target, lengths):
    """What keeps the length of its row is a Ragged again."""
    ragged, rows = made(lengths)
    f = fw.jit(lambda r: fw.map(lambda row: (row * 2, row - fw.sum(row), fw.sum(row)), r))
    twice, centred, sums = f(ragged)

    same_rows(twice, [row * 2 for row in rows])
    same_rows(centred, [row - row.sum() for row in rows])
    same(sums, np.array([row.sum() for row in rows], np.int64))
    same_rows(fw.jit(lambda r: fw.map(lambda row: row[::-1], r))(ragged), [r[::-1] for r in rows])


def test_segments_of_rows(target):
    """Segments begin where flags say, and with every row."""
    rows = fw.ragged([[7, 1, 9, 2], [], [8, 8], [1, 2, 3]])
    places = fw.jit(lambda r: fw.map(lambda row: fw.segmented_iota(row > 5), r))
    sums = fw.jit(lambda r: fw.map(lambda row: fw.segmented_scan(fw.add, 10, row > 5, row), r))

    assert places(rows).tolist() == [[0, 1, 0, 1], [], [0, 0], [0, 1, 2]]
    assert sums(rows).tolist() == [[17, 18, 19, 21], [], [18, 18], [11, 13, 16]]


def test_ragged_softmax(target):
    """The greatest value and the sum are found once for each row."""
    ragged, rows = made([2, 0, 3, 1], np.float64)

    @fw.jit
    def softmax(r):
        def one(row):
            powers = fw.exp(row - fw.reduce(fw.maximum, -np.inf, row))
            return powers / fw.sum(powers)

        return fw.map(one, r)

    found = softmax(ragged)
    for ours, row in zip(found, rows, strict=True):
        powers = np.exp(row - row.max(initial=-np.inf))
        same(ours, powers / powers.sum(), ulps=8)


def test_a_ragged_beside_other_arrays(target):
    """One element, or row, of each argument."""
    ragged, rows = made([2, 0, 3])
    other, others = made([2, 0, 3], np.float64)
    scale = np.array([1, 2, 3])

    f = fw.jit(lambda r, o, s: fw.map(lambda a, b, k: fw.sum(a * b) * k, r, o, s))
    same(f(ragged, other, scale),
         np.array([(a * b).sum() * k for a, b, k in zip(rows, others, scale, strict=True)]), 8)
    g = fw.jit(lambda r, s: fw.map(lambda p: p[0] + p[1], (r, s)))
    same_rows(g(ragged, scale), [row + k for row, k in zip(rows, scale, strict=True)])


def test_loops_and_branches(target):
    """A Ragged may be a loop's state, and what a branch gives."""
    ragged, rows = made([2, 0, 3])
    f = fw.jit(lambda r, n: fw.fori_loop(
        0, n, lambda i, r: fw.map(lambda row: row + 1, r), r
    ))  # fmt: skip
    g = fw.jit(lambda r, p: fw.cond(p, lambda: r, lambda: fw.map(lambda row: row * 2, r)))

    same_rows(f(ragged, 3), [row + 3 for row in rows])
    same_rows(g(ragged, True), rows)
    same_rows(g(ragged, False), [row * 2 for row in rows])


def test_structure():
    """Two Raggeds fit each other when their values do."""
    trees = [flatten(value)[1] for value in (
        made([2])[0], made([1, 1])[0], fw.ragged((np.arange(2), np.arange(2)), lengths=[2]),
    )]  # fmt: skip

    assert trees[0] == trees[1] != trees[2]
    assert repr(trees[0]) == "Ragged(values=*, offsets=*)"


def test_representation():
    """Short, however many rows there are."""
    assert repr(fw.ragged([1, 2, 3], lengths=[2, 0, 1])) == "Ragged([[1, 2], [], [3]], dtype=int64)"
    assert repr(fw.ragged(np.zeros(9999), lengths=[9999])) == (
        "Ragged(1 row, 9999 values, dtype=float64)"
    )
    assert "dtype=(int64, int64)" in repr(fw.ragged(([1], [2]), lengths=[1]))
    fw.jit(lambda r: print(repr(r)) or r)(fw.ragged([1], lengths=[1]))


def test_pickle_and_constructor():
    """A Ragged travels as its parts; the class takes offsets, checked."""
    rows = fw.ragged([1, 2, 3], lengths=[2, 0, 1])

    same_rows(pickle.loads(pickle.dumps(rows)), list(rows))
    same_rows(fw.Ragged([1, 2, 3], [0, 2, 2, 3]), list(rows))
    with pytest.raises(fw.ShapeError):
        fw.Ragged([1, 2, 3], [0, 2, 4])


def test_values_are_not_copied_offsets_are():
    """Nobody can break a Ragged by writing to what it was made of."""
    x, offsets = np.arange(3.0), np.array([0, 2, 3])
    rows = fw.ragged(x, offsets=offsets)
    offsets[1] = 1000

    assert np.shares_memory(np.asarray(rows.values), x)
    same(rows[0], np.array([0.0, 1.0]))
    x[0] = 5  # still its owner's
    with pytest.raises(ValueError):
        np.asarray(rows.values)[0] = 1


@pytest.mark.parametrize("offsets", [[], [1, 5], [0, 3, 2, 5], [0, 4], [0, 6], [0, -1, 5]])
def test_offsets_that_do_not_fit(target, offsets):
    """Found when the Ragged is made, inside jit as outside."""
    x, offsets = np.arange(5), np.array(offsets, np.int64)
    with pytest.raises(fw.ShapeError) as outside:
        fw.ragged(x, offsets=offsets)
    with pytest.raises(fw.ShapeError) as inside:
        fw.jit(lambda x, o: fw.ragged(x, offsets=o))(x, offsets)
    assert outside.value.message == inside.value.message


@pytest.mark.parametrize("lengths", [[], [2, -1, 4], [2, 2], [2**62] * 4 + [5]])
def test_lengths_that_do_not_fit(target, lengths):
    """A negative one, or a sum that is not the number of values."""
    x, lengths = np.arange(5), np.array(lengths, np.int64)
    with pytest.raises(fw.UserError) as outside:
        fw.ragged(x, lengths=lengths)
    with pytest.raises(type(outside.value)) as inside:
        fw.jit(lambda x, n: fw.ragged(x, lengths=n))(x, lengths)
    assert outside.value.message == inside.value.message


def test_other_misuses():
    """Each with a different class."""
    rows, _ = made([2, 0, 3])
    with pytest.raises(fw.DTypeError):
        fw.ragged([1, 2], offsets=[0.0, 2.0])
    with pytest.raises(fw.DTypeError):
        fw.ragged([1, 2], flags=[1, 0])
    with pytest.raises(fw.ShapeError):
        fw.ragged(np.array(5), offsets=[0])
    with pytest.raises(fw.ArgumentError):
        fw.ragged(5, offsets=[0])
    with pytest.raises(fw.ShapeError):
        fw.ragged(([1], [1, 2]), offsets=[0, 1])
    with pytest.raises(fw.Unsupported):
        fw.reduce(fw.add, 0, rows)
    with pytest.raises(fw.NotTraceableError):
        fw.jit(lambda r: len(r))(rows)
    with pytest.raises(fw.ShapeError):
        fw.map(lambda a, b: fw.sum(a) + b, rows, np.arange(2))
    with pytest.raises(fw.ShapeError):
        fw.map(lambda a, b: a + b, rows, fw.ragged(np.arange(5), lengths=[2, 1, 2]))
