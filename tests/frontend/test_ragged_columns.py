"""Operations across rows, position by position: axis 0 of rows, axis 1 of rows of rows."""

import numpy as np
import pytest

import flatweave as fw

LENGTHS = [[3, 0, 10, 1, 4], [], [0, 0], [1], [0, 130, 2, 128, 127]]


def columns(rows):
    """For each position the indices of the rows that have it, with their elements."""
    widest = max(map(len, rows), default=0)
    return [[(i, row[j]) for i, row in enumerate(rows) if j < len(row)] for j in range(widest)]


def folded(rows, f):
    """A function of the elements at each position."""
    return [f([x for _, x in column]) for column in columns(rows)]


def least(rows):
    """The index of the first row with the least element of a position."""
    return [min(column, key=lambda pair: pair[1])[0] for column in columns(rows)]


def replaced(rows, f):
    """The results of a function of the indices and elements at each position, in place."""
    made = [list(row) for row in rows]
    for j, column in enumerate(columns(rows)):
        for (i, _), x in zip(column, f(column), strict=True):
            made[i][j] = x
    return made


def sums(column):
    """All sums from the first one."""
    return np.cumsum([x for _, x in column]).tolist()


def ordered(column):
    """Numbers and elements in the order of these."""
    return sorted(column, key=lambda pair: pair[1])


def made(lengths):
    """Rows of small integers, of which many are equal."""
    values = np.random.default_rng(len(lengths)).integers(0, 9, sum(lengths))
    return fw.ragged(values, lengths=np.array(lengths, np.int64))


def test_over_all_rows(target):
    """Rows that are too short have no part in what is further on."""
    total = fw.jit(lambda rows: fw.cumsum(rows, axis=0))
    for lengths in LENGTHS if target == "interp" else LENGTHS[3:]:
        rows = made(lengths)

        assert total(rows).tolist() == replaced(rows.tolist(), sums)
        if target == "interp":
            assert fw.argmin(rows, axis=0).tolist() == least(rows.tolist())


@pytest.mark.parametrize("counts", [[2, 0, 3, 1], [], [0], [3, 0, 129]])
def test_over_the_rows_in_rows(counts):
    """Within each row, over the rows in it, on the interpreter."""
    inner = [k * k % 5 for k in range(sum(counts))]
    rows = fw.ragged(made(inner), lengths=np.array(counts, np.int64))
    lists = rows.tolist()

    with fw.target("interp"):
        found = [
            fw.argmin(rows, axis=1), fw.argmin(rows, axis=1, keepdims=True),
            fw.cumsum(rows, axis=1), fw.sort(rows, axis=1),
            fw.argsort(rows, axis=1), fw.sort(rows, axis=1, descending=True),
        ]  # fmt: skip
        every = fw.sum(rows, axis=(0, 1))
        places = fw.sum(rows, axis=0)

    assert [each.tolist() for each in found] == [
        [least(row) for row in lists], [[least(row)] for row in lists],
        [replaced(row, sums) for row in lists],
        [replaced(row, lambda c: [x for _, x in ordered(c)]) for row in lists],
        [replaced(row, lambda c: [i for i, _ in ordered(c)]) for row in lists],
        [replaced(row, lambda c: [x for _, x in ordered(c)][::-1]) for row in lists],
    ]  # fmt: skip
    assert every.tolist() == folded([row for some in lists for row in some], sum)
    assert places.tolist() == [
        folded([row for _, row in place], sum) for place in columns(lists)
    ]  # fmt: skip


def test_over_the_rows_in_rows_compiled():
    """The columns of all rows are sorted at once."""
    rows = fw.ragged(made([3, 0, 2, 5, 1, 0]), lengths=[2, 0, 3, 1])

    found = fw.argmin(rows, axis=1)

    assert found.tolist() == [least(row) for row in rows.tolist()]


def test_elements_of_more_axes():
    """Each of them separately."""
    x = np.arange(10).reshape(5, 2)
    rows = fw.ragged(x, lengths=[2, 0, 3])

    with fw.target("interp"):
        assert fw.cumsum(rows, axis=0).values.tolist() == [
            [0, 1], [2, 3], [4, 6], [8, 10], [8, 9]
        ]  # fmt: skip
        assert fw.argmax(rows, axis=0).tolist() == [[2, 2], [2, 2], [2, 2]]
        assert fw.sum(rows, axis=(0, 1), keepdims=True).tolist() == [[x.sum(0).tolist()]]


def merged(nodes, level, axes, keepdims, f):
    """Lists of lists of one level, those along the axes joined, the others position by position."""
    if level == 4:
        return f(nodes)
    if level in axes:
        found = merged([x for node in nodes for x in node], level + 1, axes, keepdims, f)
        return [found] if keepdims else found
    return [
        merged([node[j] for node in nodes if j < len(node)], level + 1, axes, keepdims, f)
        for j in range(max(map(len, nodes), default=0))
    ]


def numbered(node, place=()):
    """The elements of lists of four levels with their indices, in the order of these."""
    if len(place) == 4:
        yield place, node
        return
    for i, x in enumerate(node):
        yield from numbered(x, (*place, i))


def innermost(lists):
    """The elements of lists of four levels."""
    return [x for _, x in numbered(lists)]


def along(rows, axis, f):
    """What a function gives for the numbers and elements of each line of lists of four levels, in
    the order of their indices."""
    lines = {}
    for place, x in numbered(rows):
        others = place[:axis] + place[axis + 1 :]
        lines.setdefault(others, []).append((place, x))
    found = {}
    for line in lines.values():
        given = f([(place[axis], x) for place, x in line])
        found |= dict(zip([place for place, _ in line], given, strict=True))
    return [x for _, x in sorted(found.items())]


def deep(count):
    """Rows of rows of rows, of 0 to 3 of each."""
    random = np.random.default_rng(count)
    levels = [np.array([count])]
    for _ in range(3):
        levels.append(random.integers(0, 4, levels[-1].sum()))
    rows = random.integers(0, 9, levels[-1].sum())
    for lengths in reversed(levels[1:]):
        rows = fw.ragged(rows, lengths=lengths)
    return rows


@pytest.mark.parametrize("count", [5, 1, 0])
def test_deeper_rows(count):
    """Along every axis, and along several at once."""
    rows = deep(count)
    lists = rows.tolist()

    with fw.target("interp"):
        for axes in [(0,), (1,), (2,), (0, 2), (0, 3), (1, 3), (0, 2, 3)]:
            for keepdims in (False, True):
                found = fw.sum(rows, axis=axes, keepdims=keepdims)
                assert found.tolist() == merged([lists], 0, axes, keepdims, sum)
        for axis in (0, 1, 2):
            for f, expected in (
                (fw.cumsum, sums),
                (fw.sort, lambda c: [x for _, x in ordered(c)]),
                (fw.argsort, lambda c: [i for i, _ in ordered(c)]),
            ):
                found = f(rows, axis=axis)
                assert found.lengths.tolist() == rows.lengths.tolist()
                assert innermost(found.tolist()) == along(lists, axis, expected)


def test_deeper_rows_compiled():
    """The same on the CPU."""
    rows = deep(6)

    found = fw.jit(lambda r: fw.sum(r, axis=1))(rows)

    assert found.tolist() == merged([rows.tolist()], 0, (1,), False, sum)


@pytest.mark.parametrize("lists", [[[3.0, 1.0], [], [2.5], [7.0, 0.0, 5.0]], [[4.0]], [[]], []])
def test_spread_at_each_place(lists):
    """As NumPy's of the columns, of the rows and of all values."""
    rows = fw.ragged(lists, dtype=fw.f64)

    with fw.target("interp"):
        for f, numpy in ((fw.var, np.var), (fw.std, np.std), (fw.mean, np.mean)):
            at_places = [float(numpy(column)) for column in folded(lists, np.array)]
            assert f(rows, axis=0).tolist() == pytest.approx(at_places)
            some = rows[rows.lengths > 0]
            assert f(some, axis=1).tolist() == pytest.approx(
                [float(numpy(row)) for row in lists if row]
            )
            if len(rows.values):
                assert float(f(rows)) == pytest.approx(numpy(rows.values))
        counts = fw.count_nonzero(rows, axis=0, keepdims=True)
        spread = fw.var(rows[:, :1], axis=0, correction=1).tolist()
    assert counts.tolist() == [[sum(map(bool, column)) for column in folded(lists, list)]]
    with pytest.raises(fw.ShapeError, match="std along axis 2 of a Ragged"):
        fw.std(rows, axis=2)
    first = [row[0] for row in lists if row]
    assert np.allclose(spread, [np.var(first, ddof=1)] if len(first) > 1 else [np.nan] * len(first),
                       equal_nan=True)


def test_means_where_a_mask_holds():
    """Of the values that it leaves, along every axis; NaN where it leaves none."""
    rows = deep(5)
    lists = rows.tolist()

    def mean(xs):
        return sum(x for x in xs if x > 3) / (sum(x > 3 for x in xs) or np.nan)

    with fw.target("interp"):
        for axis in (0, 1, 2, 3, (0, 2), (1, 3)):
            axes = axis if isinstance(axis, tuple) else (axis,)
            for keepdims in (False, True):
                found = fw.mean(rows, axis=axis, where=rows > 3, keepdims=keepdims)
                expected = merged([lists], 0, axes, keepdims, mean)
                assert repr(found.tolist()) == repr(expected)
        assert float(fw.mean(rows, where=rows > 3)) == mean(innermost(lists))
        short = fw.mean(fw.ragged([[1.5, 2.5], []], dtype=fw.f32), axis=1, where=[True, False])
    assert short.dtype == np.float32
    assert short.tolist() == pytest.approx([2.0, np.nan], nan_ok=True)


def test_sums_at_each_place_sort_nothing():
    """Elements are added up where they lie."""
    lists = [[0, 200, 3], [], [7, 100]]
    rows = fw.ragged(lists, dtype=fw.u8)
    means = fw.jit(lambda rows: (fw.sum(rows, axis=0), fw.mean(rows, axis=0)))

    found, averages = means(rows)
    assert "sort" not in means.stages(rows).text["flat"]
    assert found.dtype == np.uint64
    assert found.tolist() == folded(lists, sum)
    assert averages.tolist() == [3.5, 150.0, 3.0]
    with fw.target("interp"):
        assert fw.prod(rows, axis=0).tolist() == [0, 20_000, 3]
        assert fw.any(rows > 6, axis=0).tolist() == [True, True, False]
        assert fw.all(rows > 6, axis=0).tolist() == [False, True, False]
        assert fw.sum(rows, axis=0, initial=1).tolist() == [8, 301, 4]
        assert fw.sum(rows.astype(fw.f32) / 2, axis=0).dtype == np.float32
        with pytest.raises(fw.ArgumentError, match="sum needs one array, got"):
            fw.sum(fw.ragged({"x": np.ones(3)}, lengths=[1, 2]), axis=0)
