"""sort, concat, reverse and reductions within rows, against plain lists."""

import numpy as np
import pytest

import flatweave as fw
from tests.compiling import compares_outside_of_jit
from tests.language.agreement import same

ROWS = [[3, 1], [], [4, 1, 5, 1], [9]]
NESTED = [[[1], [3, 2]], [], [[], [4, 6, 5]], [[7]]]
PAIRS = [[(1, 2.5), (0, 3.5)], [], [(1, 0.5)]]


def both(f, *args):
    """A function's result as lists, which is the same in a trace."""
    jitted = fw.jit(f)(*args)
    if not compares_outside_of_jit():
        return jitted.tolist()
    found = f(*args)
    assert repr(jitted.tolist()) == repr(found.tolist())
    assert jitted.dtype == found.dtype
    return found.tolist()


def places(row, **options):
    """What argsort gives for a list."""
    return sorted(range(len(row)), key=lambda i: row[i], **options)


def test_rows_sorted(target):
    """Each separately, up and down, by a key, with its indices; records by their fields."""
    rows, nested, pairs = fw.ragged(ROWS), fw.ragged(NESTED), fw.ragged(PAIRS)

    assert both(lambda r: fw.sort(r, axis=1), rows) == [sorted(row) for row in ROWS]
    assert both(lambda r: fw.argsort(r, axis=-1), rows) == [places(row) for row in ROWS]
    assert both(lambda r: fw.sort(r, axis=1, descending=True), rows) == [
        sorted(row, reverse=True) for row in ROWS
    ]
    assert both(lambda r: fw.argsort(r, axis=1, key=lambda x: (x % 2, -x)), rows) == [
        sorted(range(len(row)), key=lambda i, row=row: (row[i] % 2, -row[i])) for row in ROWS
    ]
    assert both(lambda r: fw.sort(r, axis=-1), nested) == [
        [sorted(row) for row in inner] for inner in NESTED
    ]
    assert both(lambda r: fw.sort(r, axis=1), pairs) == [sorted(row) for row in PAIRS]


def test_stable_in_either_direction(target):
    """Equal elements keep their order, NaN comes last, -0.0 equals 0.0."""
    rows = fw.ragged([[0.0, np.nan, -0.0, 1.0], [np.nan], [2.0, -np.inf]])

    assert both(lambda r: fw.argsort(r, axis=1), rows) == [[0, 2, 3, 1], [0], [1, 0]]
    found = both(lambda r: fw.argsort(r, axis=1, descending=True), rows)
    assert found == [[3, 0, 2, 1], [0], [0, 1]]


def test_places_ordered_by_a_key():
    """With axis 0 the elements at each position; a key of whole rows gives numbers."""
    rows = fw.ragged(ROWS)

    with fw.target("interp"):
        found = fw.sort(rows, key=lambda x: -x, axis=0)
        assert found.tolist() == [[9, 1], [], [4, 1, 5, 1], [3]]
        with pytest.raises(fw.ArgumentError, match="key of argsort gives rows of different"):
            fw.argsort(rows, key=lambda row: row + 1)


def test_rows_ordered_by_a_key(target):
    """Whole rows, by what a function gives for each."""
    rows = fw.ragged(ROWS)

    assert both(lambda r: fw.sort(r, key=fw.sum), rows) == sorted(ROWS, key=sum)
    assert both(lambda r: fw.sort(r, key=lambda row: row.shape[0], descending=True), rows) == (
        sorted(ROWS, key=len, reverse=True)
    )
    long_first = lambda row: (row.shape[0] < 2, -fw.sum(row))
    assert both(lambda r: fw.argsort(r, key=long_first), rows) == (
        sorted(range(4), key=lambda i: (len(ROWS[i]) < 2, -sum(ROWS[i])))
    )


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_lines_of_an_array(target, axis):
    """As NumPy's sort and argsort, of any rank; tuples go along."""
    x = np.random.default_rng(3).integers(0, 9, (3, 4, 5))

    same(fw.sort(x, axis=axis), np.sort(x, axis=axis))
    same(fw.argsort(x, axis=axis), np.argsort(x, axis=axis, kind="stable"))
    down = np.flip(np.sort(x, axis=axis), axis)
    same(fw.jit(lambda x: fw.sort(x, axis=axis, descending=True))(x), down)
    same(fw.sort(x[0, 0], axis=0), np.sort(x[0, 0]))
    keys, values = fw.sort((x, np.arange(60).reshape(3, 4, 5)), key=lambda e: e[0], axis=axis)
    same(keys, np.sort(x, axis=axis))
    order = np.argsort(x, axis=axis, kind="stable")
    same(values, np.take_along_axis(np.arange(60).reshape(3, 4, 5), order, axis))


def test_long_rows_sorted():
    """Of lengths around those of blocks, and empty ones between."""
    lengths = np.array([1025, 0, 127, 2**16 + 1, 1, 128, 0])
    x = np.random.default_rng(5).integers(-(2**40), 2**40, lengths.sum())
    rows = fw.ragged(x, lengths=lengths)
    plain = np.split(x, np.cumsum(lengths)[:-1])

    found = fw.sort(rows, axis=1)
    same(found.values, np.concatenate([np.sort(row) for row in plain]))
    same(found.offsets, rows.offsets)
    same(fw.argsort(rows, axis=1).values,
         np.concatenate([np.argsort(row, kind="stable") for row in plain]))  # fmt: skip


def test_concat_within_rows(target):
    """Each row after a row: of numbers, of records, of rows, of rows in rows."""
    a, b, c = fw.ragged(ROWS), fw.ragged([[0.5], [], [], [1.5, 2.5]]), fw.ragged([[]] * 4)
    together = [x + y for x, y in zip(ROWS, [[0.5], [], [], [1.5, 2.5]], strict=True)]

    assert both(lambda a, b, c: fw.concat([a, c, b], axis=1), a, b, c) == together
    assert both(lambda a: fw.concat([a, a, a], axis=-1), a) == [row * 3 for row in ROWS]
    nested, pairs = fw.ragged(NESTED), fw.ragged(PAIRS)
    assert both(lambda n: fw.concat([n, n], axis=1), nested) == [row + row for row in NESTED]
    assert both(lambda n: fw.concat([n, n], axis=2), nested) == [
        [row + row for row in inner] for inner in NESTED
    ]
    assert both(lambda p: fw.concat([p, p], axis=1), pairs) == [row + row for row in PAIRS]
    m = fw.ragged(np.arange(6).reshape(3, 2), lengths=[1, 0, 2])
    same(fw.concat([m, m], axis=2).values, np.concatenate([m.values, m.values], axis=1))
    empty = fw.ragged([], dtype=fw.i64)
    assert both(lambda e: fw.concat([e, e], axis=1), empty) == []
    for other in (a[:2], a[:0]):
        with pytest.raises(fw.ShapeError, match="as many rows everywhere"):
            fw.concat([a, other], axis=1)
    with pytest.raises(fw.ShapeError, match="row 0 differ by 1"):
        fw.concat([nested, nested[::-1]], axis=2)


def test_gather_and_reverse(target):
    """Rows by their numbers and backwards; elements of rows backwards."""
    rows, nested = fw.ragged(ROWS), fw.ragged(NESTED)

    assert both(lambda r: fw.gather(r, np.array([2, -1, 2])), rows) == [ROWS[2], ROWS[3], ROWS[2]]
    assert both(fw.reverse, rows) == ROWS[::-1]
    assert both(lambda r: fw.reverse(r, axis=1), rows) == [row[::-1] for row in ROWS]
    assert both(lambda r: fw.reverse(r, axis=-1), nested) == [
        [row[::-1] for row in inner] for inner in NESTED
    ]


@pytest.mark.sampled
@pytest.mark.parametrize("name", ["min", "max", "argmin", "argmax"])
def test_rows_without_elements(target, name):
    """The first of them is named; `initial`, `where` and leaving them out avoid the error."""
    rows, fn = fw.ragged(ROWS), getattr(fw, name)
    plain = [row for row in ROWS if row]

    for f in (lambda r: fn(r, axis=1), fw.jit(lambda r: fn(r, axis=-1, keepdims=True))):
        with pytest.raises(fw.ShapeError, match=f"{name} of a Ragged along its rows: row 1 has"):
            f(rows)
    expected = [getattr(np, name)(row).item() for row in plain]
    assert both(lambda r: fn(r[r.lengths > 0], axis=1), rows) == expected
    with pytest.raises(fw.ShapeError, match="row 2 has"):
        fn(fw.ragged(NESTED), axis=2)
    if not name.startswith("arg"):
        pick = {"min": min, "max": max}[name]
        assert both(lambda r: fn(r, axis=1, initial=4), rows) == [pick([4, *r]) for r in ROWS]
        assert both(lambda r: fn(r, axis=1, where=r > 3, initial=7), rows) == [
            pick([7, *(x for x in row if x > 3)]) for row in ROWS
        ]


def test_the_first_empty_row_of_many():
    """Whatever the number of threads."""
    lengths = np.full(200_000, 3)
    lengths[[70_001, 70_002, 150_000]] = 0
    rows = fw.ragged(np.ones(lengths.sum()), lengths=lengths)
    for _ in range(5):
        with pytest.raises(fw.ShapeError, match="row 70001 has no elements"):
            fw.max(rows, axis=1)


def test_reductions_against_lists(target):
    """Within rows, of all values and over rows, from `initial`, where a mask holds."""
    rows = fw.ragged(ROWS)
    rest = [[x for x in row if x > 1] for row in ROWS]

    assert both(lambda r: fw.sum(r, axis=1), rows) == [sum(row) for row in ROWS]
    assert both(lambda r: fw.sum(r, axis=0), rows) == [16, 2, 5, 1]
    assert both(fw.sum, rows) == sum(map(sum, ROWS))
    assert both(lambda r: fw.sum(r, axis=1, where=r > 1, initial=10), rows) == [
        10 + sum(row) for row in rest
    ]
    assert both(lambda r: fw.prod(r, axis=1, keepdims=True), rows) == [
        [int(np.prod(row))] for row in ROWS
    ]
    assert both(lambda r: fw.cumsum(r, axis=1), rows) == [np.cumsum(row).tolist() for row in ROWS]
    assert both(lambda r: fw.any(r > 3, axis=1), rows) == [any(x > 3 for x in r) for r in ROWS]
    assert both(lambda r: fw.all(r > 0, axis=1), rows) == [True] * 4


def test_over_the_rows_of_rows(target):
    """For each position across the inner rows, as far as the longest of them goes."""
    nested = fw.ragged(NESTED)
    columns = [
        [[row[k] for row in inner if k < len(row)] for k in range(max(map(len, inner), default=0))]
        for inner in NESTED
    ]

    sums = [list(map(sum, places)) for places in columns]
    found = fw.jit(lambda n: (
        fw.sum(n, axis=1), fw.max(n, axis=1), fw.mean(n, axis=1), fw.sum(n, axis=1, keepdims=True)
    ))(nested)  # fmt: skip
    assert found[0].tolist() == fw.sum(nested, axis=1).tolist() == sums
    assert found[1].tolist() == [list(map(max, places)) for places in columns]
    assert found[2].tolist() == [[sum(xs) / len(xs) for xs in places] for places in columns]
    assert found[3].tolist() == [[places] for places in sums]
    assert both(lambda n: fw.sum(n, axis=1, where=n > 2, initial=10), nested) == [
        [10 + sum(x for x in place if x > 2) for place in places] for places in columns
    ]
    for few in (nested[:0], nested[1:2], nested[:, :0]):
        assert fw.sum(few, axis=1).tolist() == [[] for _ in few]


def test_lines_are_rows():
    """Each is sorted separately, instead of all of them by the numbers of their lines."""
    for f, x in (
        (lambda m: fw.sort(m, axis=1), np.ones((3, 4))),
        (lambda m: fw.argsort(m, axis=0), np.ones((3, 4))),
        (lambda r: fw.sort(r, axis=1), fw.ragged(ROWS)),
    ):
        assert "sort_row" in fw.jit(f).stages(x).text["flat"]
