"""group_by against NumPy, pandas and polars: key types, missing keys, order, aggregates."""

import numpy as np
import pytest

import flatweave as fw

RNG = np.random.default_rng(7)
AGGREGATES = ("sum", "mean", "min", "max", "count", "first", "last", "std", "median", "n_unique")


def expected(keys, values, sort=True):
    """(keys, rows, index) by Python's dicts; NaN after all numbers."""
    groups = {}
    for at, key in enumerate(keys):
        marked = tuple((True, 0) if k != k else (False, k) for k in np.atleast_1d(key).tolist())
        groups.setdefault(marked, []).append(at)
    names = sorted(groups) if sort else list(groups)
    index = np.zeros(len(keys), np.int64)
    for number, name in enumerate(names):
        index[groups[name]] = number
    return names, [values[groups[name]].tolist() for name in names], index.tolist()


@pytest.mark.parametrize("sort", [True, False])
@pytest.mark.parametrize("n", [0, 1, 7, 64, 65])
def test_groups_are_those_of_a_dict(n, sort):
    """Of integers, floats with NaN and both zeros, and bools; stable within each group."""
    keys = {
        "i": RNG.integers(-3, 3, n).astype(np.int16),
        "f": RNG.choice([0.0, -0.0, 1.5, np.nan, -np.inf], n),
        "b": RNG.integers(0, 2, n) == 1,
        "u": RNG.integers(0, 3, n).astype(np.uint8),
    }
    values = np.arange(n)
    for key in keys.values():
        names, rows, index = expected(key, values, sort)
        groups = fw.group_by(key, values, sort=sort)

        assert groups.rows.tolist() == rows
        assert groups.index.tolist() == index
        assert groups.sizes.tolist() == [len(row) for row in rows]
        assert groups.order.tolist() == [x for row in rows for x in row]
        assert groups.keys.dtype == key.dtype
        assert [(k != k) for k in groups.keys.tolist()] == [name[0][0] for name in names]
        assert fw.group_by(key, sort=sort).rows.tolist() == rows


def test_several_keys_are_one():
    """In the order of the first, then of the next; each keeps its dtype."""
    a, b = RNG.integers(0, 3, 50), RNG.choice([1.0, np.nan, 2.0], 50)
    values = RNG.random(50)
    names, rows, index = expected(list(zip(a, b, strict=True)), values)

    groups = fw.group_by((a, b), values)

    assert groups.rows.tolist() == rows
    assert groups.index.tolist() == index
    assert groups.keys[0].tolist() == [name[0][1] for name in names]
    assert groups.keys[1].dtype == np.float64


@pytest.mark.parametrize("column", ["list", "numpy", "pandas", "polars", "pyarrow"])
def test_keys_may_be_texts(column):
    """Of each library, in the order of the texts; a missing one comes last."""
    texts = ["Rome", "Oslo", None, "Rome", "Lima"]
    if column in ("list", "numpy"):
        keys = texts if column == "list" else np.array(texts, object)
    else:
        library = pytest.importorskip(column)
        keys = library.array(texts) if column == "pyarrow" else library.Series(texts)
    groups = fw.group_by(keys, np.arange(5))

    assert groups.keys.tolist() == ["Lima", "Oslo", "Rome", None]
    assert groups.rows.tolist() == [[4], [1], [0, 3], [2]]
    assert fw.join(keys, np.array(["Rome", "Lima"])).rows.tolist() == [[0], [], [], [0], [1]]
    if column == "list":
        assert fw.group_by((["b", "a", "b"], [2, 1, 2])).rows.tolist() == [[1], [0, 2]]


def test_missing_keys_come_after_nan_and_can_be_left_out():
    """Those left out have the index -1, and get nothing back."""
    keys = fw.Nullable([2.0, np.nan, 0.0, 2.0, 0.0], [True, True, False, True, False])
    values = np.arange(5)

    groups = fw.group_by(keys, values)
    assert groups.keys.tolist()[0] == 2.0
    assert groups.keys.tolist()[2] is None
    assert groups.rows.tolist() == [[0, 3], [1], [2, 4]]

    known = fw.group_by(keys, values, dropna=True)
    assert known.rows.tolist() == [[0, 3]]
    assert known.index.tolist() == [0, -1, -1, 0, -1]
    assert known.spread(known.sizes).tolist() == [2, None, None, 2, None]
    first = fw.group_by(keys, values, dropna=True, sort=False)
    assert first.index.tolist() == [0, -1, -1, 0, -1]


def test_a_row_with_any_missing_key_is_left_out():
    """Of several columns, wherever it is."""
    a = fw.Nullable([1, 1, None, 2])
    b = np.array([np.nan, 5.0, 5.0, 5.0])

    groups = fw.group_by((a, b), np.arange(4), dropna=True)

    assert groups.rows.tolist() == [[1], [3]]
    assert [key.tolist() for key in groups.keys] == [[1, 2], [5.0, 5.0]]


def test_times_are_keys():
    """NaT is missing; keys keep their unit."""
    days = np.array(["2026-01-02", "NaT", "2026-01-01", "2026-01-02"], "datetime64[D]")

    groups = fw.group_by(days, np.arange(4))
    assert groups.rows.tolist() == [[2], [0, 3], [1]]
    assert groups.keys.tolist()[-1] is None
    assert fw.group_by(days[2:], np.arange(2)).keys.to_numpy().dtype == days.dtype
    assert fw.group_by(days, dropna=True).rows.tolist() == [[2], [0, 3]]


def test_dictionary_encoded_columns_are_keys():
    """In the order of their categories; those that do not occur are left out."""
    pandas, polars, arrow = (pytest.importorskip(x) for x in ("pandas", "polars", "pyarrow"))
    names = ["b", "c", "b", None]
    categories = ["c", "b", "a"]

    for column in (
        pandas.Categorical(names, categories), pandas.Series(pandas.Categorical(names, categories)),
        polars.Series(names, dtype=polars.Enum(categories)),
        arrow.DictionaryArray.from_arrays(arrow.array([1, 0, 1, None]), arrow.array(categories)),
    ):
        groups = fw.group_by(column, np.arange(4))
        assert groups.keys.tolist() == ["c", "b", None]
        assert groups.rows.tolist() == [[1], [0, 2], [3]]


def test_columns_with_nulls_are_keys():
    """Those of polars, pandas and Arrow."""
    polars = pytest.importorskip("polars")

    assert fw.group_by(polars.Series([2, None, 2, 1]), np.arange(4)).rows.tolist() == [
        [3], [0, 2], [1],
    ]  # fmt: skip


@pytest.mark.parametrize("dtype", [np.float64, np.int32])
def test_named_aggregates_are_those_of_pandas(dtype):
    """Of floats and integers; a standard deviation of one element is NaN."""
    pandas = pytest.importorskip("pandas")
    keys = np.append(RNG.integers(0, 5, 60), 9)
    values = RNG.integers(0, 9, 61).astype(dtype)
    theirs = pandas.Series(values).groupby(keys)

    ours = fw.group_by(keys, values).agg(**{name: name for name in AGGREGATES})

    for name in AGGREGATES:
        other = getattr(theirs, {"n_unique": "nunique"}.get(name, name))().to_numpy()
        np.testing.assert_allclose(np.asarray(ours[name]), other, rtol=1e-12)


def test_named_aggregates_skip_what_is_missing():
    """A count counts NaN, not what is missing."""
    values = fw.Nullable([1.0, 0.0, np.nan, 0.0, 5.0], [True, False, True, False, True])

    found = fw.group_by([0, 0, 0, 1, 2], values).agg(**{name: name for name in AGGREGATES})

    assert found["count"].tolist() == [2, 0, 1]
    assert found["first"].tolist() == [1.0, None, 5.0]
    assert found["last"].tolist()[1:] == [None, 5.0]
    assert found["max"].tolist()[1:] == [None, 5.0]
    assert found["median"].tolist()[1:] == [None, 5.0]
    assert found["std"].tolist()[1:] == [None, None]
    assert found["sum"].tolist()[1:] == [0.0, 5.0]


def test_own_functions_get_rows_of_each_value():
    """In agg and map, of several values; results may be rows."""
    keys, x, w = np.array([1, 0, 1]), np.array([1.0, 2.0, 3.0]), np.array([1.0, 1.0, 3.0])
    groups = fw.group_by(keys, x, w)

    assert groups.agg(mean=lambda x, w: fw.sum(x * w) / fw.sum(w))["mean"].tolist() == [2.0, 2.5]
    assert groups.agg(top=(0, "max"), w=(1, fw.sum))["top"].tolist() == [2.0, 3.0]
    assert groups.agg(top=(0, "max"), w=(1, fw.sum))["w"].tolist() == [1.0, 4.0]
    assert groups.map(lambda x, w: x * w).tolist() == [[2.0], [1.0, 9.0]]
    assert groups.rows[0].tolist() == [[2.0], [1.0, 3.0]]


def test_values_may_be_rows_structures_and_times():
    """Each array of them is put in order."""
    table = np.arange(6).reshape(3, 2)
    groups = fw.group_by([1, 0, 1], table, {"a": np.arange(3)})

    assert groups.rows[0].values.tolist() == [[2, 3], [0, 1], [4, 5]]
    assert groups.rows[1].tolist() == [[{"a": 1}], [{"a": 0}, {"a": 2}]]


def test_groups_in_a_jitted_function():
    """Its parts are arrays of the program, and a Groups is a result."""
    @fw.jit
    def f(keys, x):
        groups = fw.group_by(keys, x)
        means = groups.agg(mean=fw.mean)["mean"]
        return groups, x - groups.spread(means)

    groups, rest = f(np.array([2, 1, 2]), np.array([1.0, 5.0, 3.0]))

    assert groups.rows.tolist() == [[5.0], [1.0, 3.0]]
    assert rest.tolist() == [-1.0, 0.0, 1.0]


def test_gradients_go_through_groups():
    """Of the values, with the keys fixed."""
    keys = np.array([1, 0, 1])

    def f(x):
        groups = fw.group_by(keys, x)
        return fw.sum(groups.map(fw.sum) ** 2)

    assert fw.grad(f)(np.array([1.0, 2.0, 3.0])).tolist() == [8.0, 4.0, 8.0]


@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.uint64])
def test_keys_near_each_other_and_far_apart(dtype):
    """A table numbers those that are near, a sort the others: also at both ends of a dtype."""
    info = np.iinfo(dtype)
    near = (RNG.integers(0, 6, 40) + int(info.min)).astype(dtype)
    far = np.where(near % 2 == 0, near, info.max).astype(dtype)
    for keys in (near, far, near[::-1] * 0 + info.max, near[:1]):
        names, rows, index = expected(keys, np.arange(len(keys)))
        groups = fw.group_by(keys, np.arange(len(keys)))

        assert groups.keys.tolist() == [name[0][1] for name in names]
        assert groups.rows.tolist() == rows
        assert groups.index.tolist() == index


def test_several_near_keys():
    """Their product is small: columns of any integers and bools, with missing ones."""
    a, b = RNG.integers(-2, 1, 60).astype(np.int8), RNG.integers(0, 2, 60) == 1
    known = RNG.integers(0, 3, 60) > 0
    groups = fw.group_by((fw.Nullable(a, known), b), np.arange(60), dropna=True)

    there = np.flatnonzero(known)
    names, rows, index = expected(list(zip(a[known], b[known], strict=True)), there)
    assert groups.rows.tolist() == rows
    assert groups.keys[1].tolist() == [bool(name[1][1]) for name in names]
    assert groups.index.tolist() == [
        index[np.searchsorted(there, i)] if known[i] else -1 for i in range(60)
    ]


def test_a_few_distant_keys_are_numbered_by_a_hash_table():
    """Of several columns with missing keys; some meet others in a slot of the table."""
    n, key_count = 6000, 90
    names = RNG.integers(-(2**62), 2**62, key_count)
    which = np.minimum(RNG.zipf(1.3, n) - 1, key_count - 1)
    keys, missing = names[which], which % 7 == 3
    some = fw.group_by((fw.Nullable(keys, ~missing), keys % 2 == 0), dropna=True)
    names, inverse = np.unique(keys, return_inverse=True)
    groups = fw.group_by(keys)
    expected, among = np.unique(keys[~missing], return_inverse=True)

    assert groups.keys.tolist() == names.tolist()
    assert groups.index.tolist() == inverse.tolist()
    assert groups.order.tolist() == np.argsort(inverse, kind="stable").tolist()
    assert groups.sizes.tolist() == np.bincount(inverse).tolist()
    assert some.keys[0].tolist() == expected.tolist()
    assert some.index[~missing].tolist() == among.tolist()
    assert set(some.index[missing].tolist()) == {-1}


def test_functions_of_the_same_meaning_as_a_name():
    """They need no rows; groups of several values call them as they are."""
    x = RNG.random(30)
    keys = RNG.integers(0, 4, 30)
    groups = fw.group_by(keys, x)
    found = groups.agg(a=fw.sum, b=fw.mean, c=fw.max, d=lambda row: fw.sum(row))

    np.testing.assert_allclose(found["a"], found["d"])
    np.testing.assert_allclose(found["a"], groups.agg(a="sum")["a"])
    np.testing.assert_allclose(found["c"], [x[keys == k].max() for k in np.unique(keys)])


def test_sums_in_any_order_compute_no_order():
    """Named aggregates add elements where they are: nothing of them is sorted."""
    f = fw.jit(lambda k, x: fw.group_by(k, x).agg(total="sum")["total"], target="cpu")
    text = f.stages(np.arange(5), np.arange(5.0)).text["fused"]

    # the only sorts are those of distant keys: of all, and of those in a hash table
    assert text.count("radix_sort") == 2


def test_groups_of_values_are_not_sorted_before_they_are_read():
    """A call outside of a program gives groups, too: the order is computed on request."""
    keys, values = RNG.integers(0, 5, 40), RNG.random(40)
    f = fw.jit(lambda k, x: fw.group_by(k, x), target="cpu")
    text = f.stages(keys, values).text["fused"]
    groups = fw.group_by(keys, values, dropna=True, sort=False)

    # of distant keys, as above
    assert text.count("radix_sort") == 2
    assert groups.order.tolist() == np.argsort(groups.index, kind="stable").tolist()


def test_times_of_a_group_have_no_sum():
    """Nor a mean: a number that is no time is worse than an error. Extremes are times."""
    days = np.array(["2026-01-01", "2026-01-03"], "datetime64[D]")
    groups = fw.group_by(np.array([1, 1]), days)

    for name in ("sum", "mean", "std", "median"):
        with pytest.raises(fw.ArgumentError, match=f"{name} of times"):
            groups.agg(x=name)
    assert groups.agg(x="max")["x"].tolist() == days[1:].tolist()


def test_spans_of_time_have_sums():
    """And means, rounded down; what is not set is missing."""
    spans = np.array([3, "NaT", 6, 1], "timedelta64[h]")
    found = fw.group_by([1, 1, 2, 2], spans).agg(total=fw.sum, mean="mean", n="count")

    np.testing.assert_array_equal(found["total"].to_numpy(), np.array([3, 7], spans.dtype))
    assert found["mean"].tolist() == spans[[0, 0]].tolist()
    assert found["n"].tolist() == [1, 2]
    for name in ("std", "median"):
        with pytest.raises(fw.ArgumentError, match=f"{name} of spans of time"):
            fw.group_by([1, 1, 2, 2], spans).agg(x=name)


def test_times_that_are_not_set_are_missing_values():
    """As in keys, and in the columns of other libraries."""
    days = np.array(["2026-01-02", "NaT", "2026-01-01", "2026-01-01"], "datetime64[D]")
    groups = fw.group_by([1, 1, 2, 2], days)

    assert groups.rows.tolist() == [[days[0].tolist(), None], days[2:].tolist()]
    found = groups.agg(top="max", n="count", kinds="n_unique")
    assert found["top"].tolist() == days[[0, 2]].tolist()
    assert (found["n"].tolist(), found["kinds"].tolist()) == ([1, 2], [1, 1])


def test_elements_are_counted_without_values():
    """They are the sizes of the groups."""
    assert fw.group_by([2, 1, 2]).agg(n="count")["n"].tolist() == [1, 2]


@pytest.mark.parametrize("dropna", [False, True])
def test_keys_are_spread_as_they_are(dropna):
    """Times, missing ones among them, and tuples of columns."""
    days = np.array(["2026-01-02", "NaT", "2026-01-01"], "datetime64[D]")
    one = fw.group_by(days, dropna=dropna)
    both = fw.group_by((days, np.array([1, 1, 2])), dropna=dropna)

    assert one.spread(one.keys).tolist() == [days[0], None, days[2]]
    spread = both.spread(both.keys)
    assert spread[0].tolist() == [days[0], None, days[2]]
    assert spread[1].tolist() == [1, None if dropna else 1, 2]


def test_a_value_is_an_array():
    """A single number is none; a list of numbers is one."""
    with pytest.raises(fw.ShapeError, match="group_by needs arrays for its keys and values"):
        fw.group_by(np.array([1, 2]), 1.0)
    sizes = fw.jit(lambda k, x: fw.group_by(k, x).sizes)(np.array([1, 2]), [1.0, 2.0])
    assert sizes.tolist() == [1, 1]


KNOWN = {
    "a list": [2, 1, 2, 1],
    "missing in a list": [2, None, 2, 1],
    "objects": np.array([2, None, 2, 1], object),
    "days": np.array(["2020-01-02", "2020-01-01", "2020-01-02", "NaT"], "M8[D]"),
    "chunks": fw.Chunked([np.array([2, 1]), np.array([2, 1])]),
}


@pytest.mark.parametrize("kind", KNOWN)
def test_columns_of_other_kinds_in_a_jitted_function(kind):
    """Keys that the function reads from around it are known, and so is what is missing there."""
    keys, x = KNOWN[kind], np.array([1.0, 2.0, 3.0, 4.0])

    @fw.jit
    def sums(x):
        groups = fw.group_by(keys, x)
        return groups.map(fw.sum), fw.join(keys, keys).left

    expected = fw.group_by(keys, x).map(fw.sum), fw.join(keys, keys).left
    for one, other in zip(sums(x), expected, strict=True):
        assert np.asarray(one).tolist() == np.asarray(other).tolist()


def test_lists_are_columns():
    """A list of numbers is an array, inside and outside of jitted functions."""

    def rows(x):
        first = [x[0], x[1], x[0], x[2]]
        return (
            fw.group_by([1, 1, 2, 1], first).rows, fw.group_by(first, [1, 2, 3, 4]).rows,
            fw.group_by([1, 2, 1, 2], [1, None, 3, 4]).agg(total="sum")["total"],
            fw.rolling_by([1, 2, 3, 5], first, 2),
        )  # fmt: skip

    x = np.array([5.0, 7.0, 9.0])
    for made in (rows, fw.jit(rows)):
        assert [part.tolist() for part in made(x)] == [
            [[5.0, 7.0, 9.0], [5.0]], [[1, 3], [2], [4]], [4, 4],
            [[5.0], [5.0, 7.0], [7.0, 5.0], [9.0]],
        ]  # fmt: skip


@pytest.mark.parametrize("low", [-(2**63), -3, 0, 5, 2**63 - 7])
@pytest.mark.parametrize("dtype", ["i8", "i4", "u8"])
def test_near_keys_anywhere(low, dtype):
    """They are sorted as they are, or by their slots; as-of joins match groups of them, too."""
    info = np.iinfo(dtype)
    low = np.dtype(dtype).type(min(max(low, int(info.min)), int(info.max) - 6))
    keys = np.array([4, 0, 4, 3, 0, 6], dtype) + low
    xs = np.arange(6.0)
    groups = fw.group_by(keys, xs)
    different = np.unique(keys)

    assert groups.keys.tolist() == different.tolist()
    assert groups.rows.tolist() == [xs[keys == key].tolist() for key in different]
    assert groups.index.tolist() == np.searchsorted(different, keys).tolist()
    assert groups.order.tolist() == np.argsort(keys, kind="stable").tolist()
    assert fw.group_by(keys, xs, sort=False).rows.tolist() == [[0, 2], [1, 4], [3], [5]]
    found = fw.join_asof(xs, xs + 0.5, by=(keys, keys))
    assert found.tolist() == [-1, -1, 0, -1, 1, -1]
