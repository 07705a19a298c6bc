"""Joins of equal and of near keys, against loops, pandas and NumPy."""

import numpy as np
import pytest

import flatweave as fw

RNG = np.random.default_rng(5)


def texts(n, *some):
    return fw.Strings([some[i] for i in RNG.integers(0, len(some), n)])


KINDS = {
    "i": lambda n: RNG.integers(0, 6, n),
    "f": lambda n: RNG.choice([0.0, -0.0, 1.0, np.nan], n),
    "b": lambda n: RNG.integers(0, 2, n) == 1,
    "skewed": lambda n: np.where(RNG.random(n) < 0.8, 3, RNG.integers(0, 6, n)),
    "t": lambda n: RNG.integers(0, 4, n).astype("datetime64[s]"),
    "far": lambda n: RNG.integers(-3, 3, n) * 2**61 + 5,
    "u8": lambda n: RNG.choice(np.array([0, 1, 2**63, 2**64 - 1], np.uint64), n),
    "short text": lambda n: texts(n, "", "a", "a\0", "seven 7", "\0"),
    "text": lambda n: texts(n, "", "a", "seven 7", "seven 7 and more", "seven"),
}


def equal(a, b):
    return a == b or (a != a and b != b)


def pairs_of(left, right, how):
    """The pairs by loops: in order of the left, then of the right, unmatched right ones last."""
    found = []
    for i, a in enumerate(left):
        rows = [j for j, b in enumerate(right) if equal(a, b)]
        found += [(i, j) for j in rows]
        if not rows and how in ("left", "full", "outer"):
            found.append((i, -1))
    if how in ("right", "full", "outer"):
        taken = {j for _, j in found}
        found += [(-1, j) for j in range(len(right)) if j not in taken]
    return found


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("sizes", [(0, 0), (0, 3), (3, 0), (1, 1), (9, 17), (40, 8)])
def test_pairs_are_those_of_two_loops(kind, sizes):
    """However they are asked for; NaN matches NaN."""
    left, right = (KINDS[kind](n) for n in sizes)

    for how in ("inner", "left", "right", "full", "outer"):
        found = fw.join(left, right, how)
        wanted = pairs_of(left, right, how)
        assert list(zip(found.left.tolist(), found.right.tolist(), strict=True)) == wanted
    rows = [[j for j, b in enumerate(right) if equal(a, b)] for a in left]
    assert fw.join(left, right).rows.tolist() == rows
    assert fw.join(left, right, "semi").tolist() == [i for i, row in enumerate(rows) if row]
    assert fw.join(left, right, "anti").tolist() == [i for i, row in enumerate(rows) if not row]


def wanted_of(left, right):
    """The matches of each left key, by a dict."""
    found = {}
    for j, key in enumerate(right):
        found.setdefault(key, []).append(j)
    return [found.get(key, []) for key in left]


@pytest.mark.parametrize("sizes", [(3000, 1000), (1000, 4097), (20_000, 30_000)])
def test_keys_that_are_far_from_each_other(sizes, threads):
    """Random ones, and mostly the same one; some left keys are greater than all right ones."""
    many = RNG.integers(-(2**63), 2**63 - 1, 600)
    left, right = (many[RNG.integers(0, 600, n)] for n in sizes)
    right[RNG.random(sizes[1]) < 0.01] = many[0]
    left[:3] = -(2**63), 2**63 - 1, 0

    found = fw.join(left, right)
    wanted = wanted_of(left.tolist(), right.tolist())

    assert found.rows.tolist() == wanted
    assert found.left.tolist() == [i for i, row in enumerate(wanted) for _ in row]
    assert found.right.tolist() == [j for row in wanted for j in row]
    full, taken = fw.join(left, right, "full"), {j for row in wanted for j in row}
    alone = [j for j in range(sizes[1]) if j not in taken]
    assert full.right.tolist() == [j for row in wanted for j in row or [-1]] + alone


@pytest.mark.parametrize("step", [1, 10**5, 2**61])
def test_several_columns(step):
    """Their slots are few, can be counted, or can not; no left key is another right one's slot."""
    left, right = ([RNG.integers(-3, 3, n) * step for _ in range(2)] for n in (900, 400))
    right[1][:] = np.abs(right[1])

    found = fw.join(tuple(left), tuple(right))

    pairs = [list(zip(*(key.tolist() for key in side), strict=True)) for side in (left, right)]
    assert found.rows.tolist() == wanted_of(*pairs)


@pytest.mark.parametrize("size", [2, 7, 8, 40])
def test_texts_of_which_some_are_missing(size):
    """Short texts and long ones, which differ in their last byte or in their length."""
    texts = [("x" * size)[:-1] + end for end in ("", "a", "b", "é")] + [""]
    left, right = (RNG.choice([*texts, None], n).tolist() for n in (500, 90))

    found = fw.join(left, right)

    wanted = wanted_of(left, right)
    assert found.rows.tolist() == [
        [] if key is None else row for key, row in zip(left, wanted, strict=True)
    ]


def test_missing_keys_match_nothing():
    """Nor each other; of several columns, one is enough."""
    left, right = fw.Nullable([1, None, 2]), fw.Nullable([None, 2, 1])

    assert fw.join(left, right).rows.tolist() == [[2], [], [1]]
    assert fw.join((left, [1, 1, 1]), (right, [1, 1, 2])).rows.tolist() == [[], [], [1]]
    full = fw.join(left, right, "full")
    assert list(zip(full.left.tolist(), full.right.tolist(), strict=True)) == [
        (0, 2), (1, -1), (2, 1), (-1, 0),
    ]  # fmt: skip


def test_dictionary_encoded_columns_join_by_what_their_codes_mean():
    """Whatever the order of the categories; a column of codes and one of numbers do not join."""
    pandas = pytest.importorskip("pandas")
    left = pandas.Categorical(["b", "a", None], ["a", "b"])
    right = pandas.Categorical(["a", "c", "b", None], ["c", "b", "a"])

    assert fw.join(left, right).rows.tolist() == [[2], [0], []]
    found = fw.join_asof([5, 5, 5], [1, 2, 3, 4], by=(left, right))
    assert found.tolist() == [2, 0, -1]
    with pytest.raises(fw.DTypeError):
        fw.join(left, np.arange(3))


def test_columns_of_several_dtypes_join():
    """The keys of both sides are compared as one dtype."""
    found = fw.join(
        (np.array([1, 2], np.int8), np.array([0.5, 1.5])), (np.array([2, 1, 1]), [1.5, 0.5, 7])
    )

    assert found.rows.tolist() == [[1], [0]]


def test_functions_of_matching_rows_run_in_jitted_functions():
    """What is computed of the pairs is not stored; gradients go through."""
    @fw.jit
    def totals(left, right, x):
        return fw.map(lambda row: fw.sum(x[row]), fw.join(left, right).rows)

    left, right, x = np.array([1, 2, 9]), np.array([2, 1, 2]), np.array([1.0, 10.0, 100.0])

    assert totals(left, right, x).tolist() == [10.0, 101.0, 0.0]
    grad = fw.grad(lambda x: fw.sum(totals(left, right, x) ** 2))(x)
    assert grad.tolist() == [202.0, 20.0, 202.0]


def asof(left, right, direction, tolerance, exact, a=None, b=None):
    """By loops."""
    found = []
    for i, x in enumerate(left):
        best = -1
        for j, y in enumerate(right):
            if a is not None and a[i] != b[j]:
                continue
            if x == y and not exact:
                continue
            if tolerance is not None and abs(x - y) > tolerance:
                continue
            fits = y <= x if direction == "backward" else direction == "forward" and y >= x
            if fits and (best < 0 or direction == "backward"):
                best = j
            if direction == "nearest":
                gap = abs(x - y), y > x
                last = (abs(x - right[best]), right[best] > x) if best >= 0 else None
                if best < 0 or gap < last or (gap == last and not gap[1]):
                    best = j
        found.append(best)
    return found


@pytest.mark.parametrize("direction", ["backward", "forward", "nearest"])
@pytest.mark.parametrize("exact", [True, False])
def test_as_of_joins_are_those_of_loops(direction, exact):
    """With ties, tolerances, and within groups."""
    for n, m in ((0, 3), (3, 0), (1, 1), (20, 30), (65, 50)):
        left, right = np.sort(RNG.integers(0, 20, n)), np.sort(RNG.integers(0, 20, m))
        a, b = RNG.integers(0, 3, n), RNG.integers(0, 3, m)
        for tolerance in (None, 0, 2):
            options = {"direction": direction, "tolerance": tolerance, "allow_exact_matches": exact}
            ours = fw.join_asof(left, right, **options)
            assert ours.tolist() == asof(left, right, direction, tolerance, exact)
            grouped = fw.join_asof(left, right, by=(a, b), **options)
            assert grouped.tolist() == asof(left, right, direction, tolerance, exact, a, b)


def test_as_of_joins_of_times_are_those_of_pandas():
    """With a span of time as tolerance."""
    pandas = pytest.importorskip("pandas")
    left = np.sort(RNG.integers(0, 99, 20)).astype("datetime64[s]")
    right = np.sort(RNG.integers(0, 99, 30)).astype("datetime64[s]")
    frames = [pandas.DataFrame({"t": t, "i": np.arange(t.size)}) for t in (left, right)]
    span = np.timedelta64(2, "s")

    theirs = pandas.merge_asof(*frames, on="t", tolerance=pandas.Timedelta(span))
    ours = fw.join_asof(left, right, tolerance=span)

    assert ours.tolist() == theirs["i_y"].fillna(-1).astype(int).tolist()


def test_keys_ascend_within_each_group_alone():
    """Groups may be mixed."""
    left, right = np.array([5, 1]), np.array([9, 4, 0])
    by = (np.array([0, 1]), np.array([2, 0, 1]))

    assert fw.join_asof(left, right, by=by).tolist() == [1, 2]


@pytest.mark.parametrize("step", [1, 1 << 40])
@pytest.mark.parametrize("how", ["inner", "left", "right", "full"])
def test_unique_right_keys_and_repeated_ones(how, step):
    """At most one match for each left element, or several; dense keys and distant ones."""
    left = np.array([3, 0, 3, 5, 9]) * step
    for right in (np.array([5, 3, 4]) * step, np.array([5, 3, 3, 4]) * step):
        matches = [(i, j) for i, a in enumerate(left) for j, b in enumerate(right) if a == b]
        alone = [(i, -1) for i, a in enumerate(left) if a not in right]
        wanted = matches
        if how in ("left", "full"):
            wanted = sorted([*matches, *alone])
        if how in ("right", "full"):
            wanted = wanted + [(-1, j) for j, b in enumerate(right) if b not in left]
        found = fw.join(left, right, how=how)

        assert list(zip(found.left.tolist(), found.right.tolist(), strict=True)) == wanted
        assert found.rows.lengths.tolist() == [int((right == a).sum()) for a in left]


@pytest.mark.parametrize("dtype", ["i1", "i2", "i4", "i8", "u1", "u8"])
def test_distances_may_be_more_than_keys_hold(dtype):
    """From the least integer to the greatest."""
    info = np.iinfo(dtype)
    low, high = np.array([info.min], dtype), np.array([info.max], dtype)
    ends, middle = np.concatenate([low, high]), np.array([info.max // 4], dtype)

    assert fw.join_asof(high, low, tolerance=5).tolist() == [-1]
    assert fw.join_asof(low, high, direction="forward", tolerance=5).tolist() == [-1]
    nearer = int(info.max) - int(middle[0]) < int(middle[0]) - int(info.min)
    assert fw.join_asof(middle, ends, direction="nearest").tolist() == [int(nearer)]
