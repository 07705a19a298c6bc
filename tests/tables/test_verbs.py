"""The verbs of ragged data against Awkward Array."""

import numpy as np
import pytest

import flatweave as fw

LISTS = [[3.0, 1.0, 2.0, 2.0], [], [4.0], [np.nan, 5.0], [-np.inf]]
OTHER = [[1.0, 2.0], [7.0], [], [5.0], [2.0]]
ROWS, SECOND = fw.ragged(LISTS), fw.ragged(OTHER)


@pytest.fixture(scope="module")
def ak():
    return pytest.importorskip("awkward")


def same(ours, theirs):
    """Lists of the same numbers, NaN among them."""
    ours = ours.tolist() if hasattr(ours, "tolist") else ours
    assert repr(ours) == repr(theirs.to_list())


@pytest.mark.parametrize("n", [1, 2, 3, 4])
@pytest.mark.parametrize("replacement", [False, True])
def test_combinations(ak, n, replacement):
    """Of any number of elements, their indices, too; the results share offsets."""
    theirs = ak.combinations(ak.Array(LISTS), n, replacement=replacement)
    indices = ak.argcombinations(ak.Array(LISTS), n, replacement=replacement)

    ours = ROWS.combinations(n, replacement=replacement)
    for k in range(n):
        same(ours[k], theirs[str(k)])
        assert ours[k].offsets is ours[0].offsets or ours[k].offsets.tolist() == (
            ours[0].offsets.tolist()
        )
        same(ROWS.argcombinations(n, replacement)[k], indices[str(k)])


def test_pairs_of_two_rows(ak):
    """Every element of one with every one of the other."""
    theirs = ak.cartesian([ak.Array(LISTS), ak.Array(OTHER)])
    indices = ak.argcartesian([ak.Array(LISTS), ak.Array(OTHER)])

    for k, (pairs, places) in enumerate(
        zip(ROWS.cartesian(SECOND), ROWS.argcartesian(SECOND), strict=True)
    ):
        same(pairs, theirs[str(k)])
        same(places, indices[str(k)])


@pytest.mark.parametrize("clip", [False, True])
def test_padding(ak, clip):
    """With missing elements, which can be filled and dropped again."""
    padded = ROWS.pad_none(2, clip=clip)

    same(padded, ak.pad_none(ak.Array(LISTS), 2, clip=clip))
    same(padded.fill_none(0.0), ak.fill_none(ak.pad_none(ak.Array(LISTS), 2, clip=clip), 0.0))
    kept = [row[:2] if clip else row for row in LISTS]
    assert repr(padded.drop_none().tolist()) == repr(kept)
    assert isinstance(padded, fw.Ragged)


def test_rows_with_missing_elements_are_shown():
    """As other rows are, where they are few; so are rows of rows."""
    nested = fw.ragged([[[1], [2, 3]], [[]]]).pad_none(2)
    pairs = fw.Ragged((np.arange(2), np.arange(2)), [0, 2]).pad_none(3)

    assert repr(fw.ragged([[1], []]).pad_none(1)) == "Ragged([[1], [None]], dtype=int64)"
    assert repr(nested) == "Ragged([[[1], [2, 3]], [[], None]], dtype=int64)"
    assert repr(fw.ragged([[1.0] * 999]).pad_none(1)).startswith("Ragged(1 row, 999 values")
    assert repr(pairs).startswith("Ragged(1 row, 3 values")


def test_first_elements_and_rows_of_one(ak):
    """Each is the reverse of the other."""
    same(ROWS.firsts(), ak.firsts(ak.Array(LISTS)))
    same(ROWS.singletons(), ak.singletons(ak.Array(LISTS), axis=1))
    same(ROWS.firsts().singletons(), ak.singletons(ak.firsts(ak.Array(LISTS))))
    same(ROWS.pad_none(2).singletons(), ak.singletons(ak.pad_none(ak.Array(LISTS), 2), axis=1))


def test_masks(ak):
    """Of elements and of rows."""
    theirs = ak.Array(LISTS)

    same(ROWS.mask(ROWS > 1), ak.mask(theirs, theirs > 1))
    keep = np.array([True, False, True, True, False])
    same(ROWS.mask(keep), ak.mask(theirs, keep))
    assert fw.sum(ROWS.mask(ROWS == ROWS), axis=1).tolist() == [8.0, 0.0, 4.0, 5.0, -np.inf]


@pytest.mark.parametrize("name", ["argmin", "argmax"])
def test_indices_of_extremes(ak, name):
    """Missing for an empty row; `initial` gives a number there."""
    lists = [[3, 1, 1, 3], [], [-(2**63)], [2**63 - 1, 0]]
    rows = fw.ragged(lists)

    same(getattr(rows, name)(axis=1), getattr(ak, name)(ak.Array(lists), axis=1))
    assert getattr(rows, name)(axis=1, initial=-1).tolist()[1] == -1
    assert int(getattr(rows, name)()) == int(getattr(np, name)(sum(lists, [])))
    floats = [[np.nan, 1.0], [-np.inf, -np.inf], [np.inf]]
    wanted = [int(getattr(np, name)(row)) for row in floats]
    assert getattr(fw.ragged(floats), name)(axis=1).tolist() == wanted
    masked = rows.mask(rows != 3)
    assert getattr(masked, name)(axis=1).tolist()[0] == 1


def test_counts_and_order(ak):
    """Lengths, indices, flat elements, rows joined and cut."""
    theirs = ak.Array(LISTS)

    same(ROWS.num(), ak.num(theirs))
    same(ROWS.local_index(), ak.local_index(theirs))
    same(ROWS.flatten(), ak.flatten(theirs))
    same(ROWS.concat(SECOND), ak.concatenate([theirs, ak.Array(OTHER)], axis=1))
    same(fw.unflatten(np.arange(3), [2, 0, 1]), ak.unflatten(np.arange(3), [2, 0, 1]))
    counts = fw.ragged([[3, 1], [], [1], [1, 1], [0, 1]])
    assert ROWS.cut(counts).tolist()[0] == [[3.0, 1.0, 2.0], [2.0]]
    assert fw.map(fw.sum, ROWS.cut(counts).values).shape == (7,)
    assert ROWS.top_k(2)[0].tolist()[0] == [3.0, 2.0]
    assert ROWS.rank().tolist()[0] == [4.0, 1.0, 2.5, 2.5]


def test_fits(ak):
    """Correlations and lines, of each row."""
    x, y = [[1.0, 2.0, 4.0], [5.0, 6.0]], [[1.0, 3.0, 2.0], [2.0, 0.0]]
    ours, theirs = (fw.ragged(x), fw.ragged(y)), (ak.Array(x), ak.Array(y))

    np.testing.assert_allclose(ours[0].corr(ours[1]), ak.corr(*theirs, axis=1))
    fit, wanted = ours[0].linear_fit(ours[1]), ak.linear_fit(*theirs, axis=1)
    for name in ("intercept", "slope", "intercept_error", "slope_error"):
        np.testing.assert_allclose(fit[name], wanted[name])
    np.testing.assert_allclose(
        np.asarray(ours[0].softmax().values), np.asarray(ak.flatten(ak.softmax(theirs[0], axis=1)))
    )


def test_records_stay_records():
    """Pairs of records, padded records, first records."""
    events = fw.ragged({"pt": np.array([1.0, 2.0, 3.0]), "id": np.arange(3)}, lengths=[2, 1, 0])

    left, right = events.combinations(2)
    assert left.tolist() == [[{"pt": 1.0, "id": 0}], [], []]
    assert right["pt"].tolist() == [[2.0], [], []]
    assert events.pad_none(1).tolist()[2] == [None]
    assert events.firsts().tolist() == [{"pt": 1.0, "id": 0}, {"pt": 3.0, "id": 2}, None]


def test_rows_of_rows():
    """Verbs go through the outer rows."""
    nested = fw.ragged([[[1], [2, 3]], [[]], []])

    assert nested.num().tolist() == [2, 1, 0]
    assert nested.flatten().tolist() == [[1], [2, 3], []]
    assert nested.combinations(2)[1].tolist() == [[[2, 3]], [], []]
    assert nested.pad_none(2).tolist() == [[[1], [2, 3]], [[], None], [None, None]]
    assert nested.firsts().tolist() == [[1], [], None]


def test_gradients_go_through_pairs():
    """The energy of all pairs."""
    rows = fw.ragged([[1.0, 2.0, 4.0], [3.0]])

    def energy(x):
        a, b = fw.Ragged(x, rows.offsets).combinations(2)
        return fw.sum(a.values * b.values)

    assert fw.grad(energy)(rows.values).tolist() == [6.0, 5.0, 3.0, 0.0]
