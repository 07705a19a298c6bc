"""The best elements, ranks, runs, counts and segments against NumPy and SciPy."""

import numpy as np
import pytest

import flatweave as fw

RNG = np.random.default_rng(3)
FLOATS = np.array([2.0, np.nan, -1.0, 2.0, -0.0, 0.0, np.nan, 5.0])


@pytest.mark.parametrize("largest", [True, False])
def test_top_k_is_the_beginning_of_a_stable_sort(largest):
    """Best first, ties by lower index, NaN last; along any axis."""
    for x in (FLOATS, RNG.integers(0, 4, 33), np.zeros(1), np.zeros(0)):
        order = np.lexsort((np.arange(x.size), -x if largest else x, np.isnan(x)))
        for k in {0, min(1, x.size), x.size}:
            values, indices = fw.top_k(x, k, largest=largest)
            assert indices.tolist() == order[:k].tolist()
            np.testing.assert_array_equal(values, x[order[:k]])
    table = RNG.random((3, 4))
    for axis in (0, 1, -1):
        values, _ = fw.top_k(table, 2, axis=axis)
        np.testing.assert_array_equal(values, np.take(-np.sort(-table, axis=axis), [0, 1], axis))


def test_top_k_of_rows_has_at_most_k():
    """And k above the length of an array is an error."""
    values, indices = fw.top_k(fw.ragged([[1, 5, 3], [], [7]]), 2)

    assert (values.tolist(), indices.tolist()) == ([[5, 3], [], [7]], [[1, 2], [], [0]])
    with pytest.raises(fw.ShapeError):
        fw.top_k([1, 2], 3)


@pytest.mark.parametrize("method", ["average", "min", "max", "dense", "ordinal"])
def test_ranks_are_those_of_scipy(method):
    """With NaN last, all of them equal."""
    stats = pytest.importorskip("scipy.stats")

    for x in (RNG.integers(0, 5, 40), RNG.random(7), np.zeros(1)):
        assert fw.rank(x, method=method).tolist() == stats.rankdata(x, method).tolist()
    table = RNG.integers(0, 3, (4, 5))
    for axis in (0, 1):
        np.testing.assert_array_equal(
            fw.rank(table, axis, method), stats.rankdata(table, method, axis=axis)
        )
    replaced = np.where(np.isnan(FLOATS), np.inf, FLOATS)
    assert fw.rank(FLOATS, method=method).tolist() == stats.rankdata(replaced, method).tolist()
    assert fw.rank(np.zeros(0), method=method).tolist() == []


@pytest.mark.parametrize("name", ["cummax", "cummin"])
def test_extremes_so_far_are_those_of_numpy(name):
    """NaN from the first one on; along axes and rows; gradients go to the elements chosen."""
    ours, theirs = getattr(fw, name), {"cummax": np.maximum, "cummin": np.minimum}[name]
    table = RNG.integers(0, 9, (3, 4))

    np.testing.assert_array_equal(ours(FLOATS), theirs.accumulate(FLOATS))
    for axis in (0, 1, -1):
        np.testing.assert_array_equal(ours(table, axis=axis), theirs.accumulate(table, axis=axis))
    assert ours(np.zeros(0)).tolist() == []
    assert fw.cummax(fw.ragged([[1, 3, 2], [], [0]]), axis=1).tolist() == [[1, 3, 3], [], [0]]
    assert fw.grad(lambda x: fw.sum(fw.cummax(x)))(np.array([1.0, 3.0, 2.0])).tolist() == [1, 2, 0]
    with pytest.raises(fw.ArgumentError):
        ours(table)


def test_orders_are_those_of_numpy():
    """Of several keys, and around an element."""
    a, b = RNG.integers(0, 3, 30), RNG.integers(0, 3, 30)
    x = RNG.random(9)

    assert fw.lexsort((a, b)).tolist() == np.lexsort((a, b)).tolist()
    assert fw.lexsort(np.array([a, b])).tolist() == np.lexsort((a, b)).tolist()
    order = np.asarray(fw.argpartition(x, 4))
    assert x[order[4]] == np.sort(x)[4]
    assert x[order[:4]].max() <= x[order[4]] <= x[order[5:]].min()


@pytest.mark.parametrize("axis", [None, 0, 1])
def test_sums_of_exponentials_are_those_of_scipy(axis):
    """Also with infinities, and of rows; the gradient of logsumexp is softmax."""
    special = pytest.importorskip("scipy.special")
    x = np.array([[1e3, 1e3, -np.inf], [0.0, 1.0, 2.0]])

    for keep in (False, True):
        np.testing.assert_allclose(
            fw.logsumexp(x, axis, keepdims=keep), special.logsumexp(x, axis, keepdims=keep)
        )
    np.testing.assert_allclose(fw.softmax(x, axis), special.softmax(x, axis))
    assert float(fw.logsumexp(np.array([-np.inf, -np.inf]))) == -np.inf
    assert float(fw.logsumexp(np.zeros(0))) == -np.inf
    y = np.array([0.0, 1.0, 3.0])
    np.testing.assert_allclose(fw.grad(fw.logsumexp)(y), special.softmax(y))
    rows = fw.ragged([[0.0, 0.0], [], [5.0]])
    assert fw.softmax(rows, axis=1).tolist() == [[0.5, 0.5], [], [1.0]]
    assert fw.logsumexp(rows, axis=1).tolist() == [np.log(2.0), -np.inf, 5.0]


def test_counts_of_values_and_runs():
    """NaN is equal to NaN."""
    values, counts = fw.value_counts(FLOATS)
    assert counts.tolist() == [1, 2, 2, 1, 2]
    assert values.tolist()[:4] == [-1.0, -0.0, 2.0, 5.0]
    assert int(fw.n_unique(FLOATS)) == 5
    assert int(fw.n_unique(np.zeros(0))) == 0
    assert fw.n_unique(np.array([[1, 1], [1, 2]]), axis=1).tolist() == [1, 2]
    runs = np.array([1.0, 1.0, np.nan, np.nan, 1.0])
    assert fw.changed(runs).tolist() == [True, False, True, False, True]
    assert fw.run_lengths(runs)[1].tolist() == [2, 2, 1]
    assert [part.tolist() for part in fw.run_lengths(np.zeros(0))] == [[], []]
    rows = fw.ragged([[1, 1], [], [1, 2]])
    assert [part.tolist() for part in rows.run_lengths()] == [[[1], [], [1, 2]], [[2], [], [1, 1]]]


def test_segments_are_those_of_jax():
    """Negative ids are dropped, others beyond the number, too; rows are combined element by
    element."""
    data, ids = np.array([1.0, 2.0, 3.0, 4.0]), np.array([0, 2, -1, 0])

    assert fw.segment_sum(data, ids).tolist() == [5.0, 0.0, 2.0]
    assert fw.segment_prod(data, ids).tolist() == [4.0, 1.0, 2.0]
    assert fw.segment_max(data, ids).tolist() == [4.0, -np.inf, 2.0]
    assert fw.segment_min(data, ids).tolist() == [1.0, np.inf, 2.0]
    assert fw.segment_sum(data, ids, 2).tolist() == [5.0, 0.0]
    assert fw.segment_sum(np.ones((4, 2)), ids, 3).tolist() == [[2, 2], [0, 0], [1, 1]]
    assert fw.segment_max(np.array([1, 2]), np.array([0, 2])).tolist()[1] == np.iinfo(np.int64).min
    assert fw.segment_sum(np.zeros(0), np.zeros(0, int)).tolist() == []
    assert fw.grad(lambda x: fw.sum(fw.segment_sum(x, ids) ** 2))(data).tolist() == [10, 4, 0, 10]


@pytest.mark.parametrize("dtype", ["f8", "f4", "i1", "i8", "?"])
@pytest.mark.parametrize("n", [0, 1, 4095, 4096, 20_000])
def test_the_best_of_long_lines(dtype, n):
    """As a stable sort, whatever a sample has: ties, NaN, order, values that it meets alone."""
    x = np.random.default_rng(n).normal(size=n) * 50
    often = np.arange(n) % max(n // 1024, 1)
    for k, values in enumerate([x, np.sort(x), np.arange(n) % 4 == 0, np.where(often, x, 99)]):
        line = values.astype(dtype)
        if dtype[0] == "f":
            line[:: 7 if k else 2] = np.nan
        for count in (0, min(n, 1), n // 5, n // 4, n):
            for largest in (True, False):
                key = line.astype("f8") * (-1 if largest else 1)
                wanted = np.argsort(key, kind="stable")[:count]
                found = fw.top_k(line, count, largest=largest)
                assert np.asarray(found[1]).tolist() == wanted.tolist()


def test_windows():
    """By count and by time, against loops."""
    xs, times = np.arange(6), np.array([0, 1, 1, 3, 7, 8])

    for size in (1, 3, 9):
        for least in (None, 1, 2):
            wanted = [xs[max(0, i + 1 - size) : i + 1].tolist() for i in range(6)]
            short = size if least is None else least
            wanted = [row if len(row) >= short else [] for row in wanted]
            assert fw.rolling(xs, size, least).tolist() == wanted
    inside = {
        "right": lambda t: (times > t - 2) & (times <= t), "both": lambda t: (times >= t - 2)
        & (times <= t), "left": lambda t: (times >= t - 2) & (times < t),
        "neither": lambda t: (times > t - 2) & (times < t),
    }  # fmt: skip
    for closed, holds in inside.items():
        wanted = [xs[holds(t)].tolist() for t in times]
        assert fw.rolling_by(times, xs, 2, closed=closed).tolist() == wanted
    days = times.astype("datetime64[D]")
    assert fw.rolling_by(days, xs, np.timedelta64(2, "D")).tolist() == [
        xs[inside["right"](t)].tolist() for t in times
    ]


@pytest.mark.parametrize("dtype", ["i1", "u1", "u8", "i8", "f8"])
def test_windows_by_time_at_the_ends_of_a_dtype(dtype):
    """Where the least integer minus a width would overflow."""
    least = np.iinfo(dtype).min if dtype != "f8" else 0
    times = [least, least + 1, least + 1, least + 5]
    for width in (0, 2, 100):
        wanted = [[k for k, u in enumerate(times) if t - width < u <= t] for t in times]
        assert fw.rolling_by(np.array(times, dtype), np.arange(4), width).tolist() == wanted


def test_slices_overlap():
    """Empty ones, too; gradients add up."""
    xs = np.arange(4.0)
    starts, ends = np.array([0, 1, 4]), np.array([3, 3, 4])

    assert fw.slices(xs, starts, ends).tolist() == [[0.0, 1.0, 2.0], [1.0, 2.0], []]
    grad = fw.grad(lambda x: fw.sum(fw.map(fw.sum, fw.slices(x, starts, ends))))(xs)
    assert grad.tolist() == [1.0, 2.0, 2.0, 0.0]


def test_windows_of_missing_values():
    """Rows of a Nullable, of which reductions skip what is missing."""
    xs = fw.Nullable([1.0, None, 3.0])
    days = np.array(["2026-01-01", "2026-01-02", "2026-01-04"], "datetime64[D]")
    wanted = [[1.0], [1.0, None], [None, 3.0]]

    assert fw.rolling(xs, 2, min_periods=1).tolist() == wanted
    assert fw.rolling_by([0, 1, 2], xs, 2).tolist() == wanted
    assert fw.slices(xs, [0, 0, 1], [1, 2, 3]).tolist() == wanted
    by_days = fw.rolling_by(days, xs, np.timedelta64(2, "D"))
    assert by_days.tolist() == [[1.0], [1.0, None], [3.0]]
    assert fw.jit(lambda x: fw.mean(fw.rolling(x, 2), axis=1))(xs).tolist() == [None, 1.0, 3.0]
    with pytest.raises(fw.Unsupported, match="no meaning for missing values"):
        fw.rolling_by(fw.Nullable([0, None, 2]), xs, 2)
