"""`axis=`, `initial=` and `where=` of reductions, for arrays and Ragged values, against NumPy."""

import math

import numpy as np
import pytest

import flatweave as fw
from tests.language.agreement import same

X = np.array([[3, -1, 4], [1, -5, 9]])
MASK = np.array([[True, False, True], [False, True, True]])
AXES = [None, 0, 1, -1, (0, 1)]
ROWS = [[3, -1], [], [4, 1, -5], [9]]


@pytest.fixture
def rows():
    """Rows of different lengths, one of them empty."""
    return fw.ragged(np.concatenate(ROWS).astype(np.int64), lengths=[len(r) for r in ROWS])


@pytest.mark.parametrize("dtype", [np.int64, np.int8, np.uint16, np.float32, np.bool_])
@pytest.mark.parametrize("name, initial", [("sum", 10), ("prod", 2), ("min", 0), ("max", 1)])
def test_an_initial_value_stands_once(target, name, initial, dtype):
    """It meets every result once, in the result's dtype."""
    x, f, g = np.abs(X).astype(dtype), getattr(fw, name), getattr(np, name)
    if dtype is np.bool_ and name in ("min", "max"):
        initial = bool(initial)
    for axis in AXES:
        same(f(x, axis=axis, initial=initial), g(x, axis=axis, initial=initial))
    same(fw.jit(lambda x, i: f(x, initial=i))(x, initial), g(x, initial=initial))
    same(f(x[0][0], initial=initial), g(x[0][0], initial=initial))
    same(f(x[:0], initial=initial), g(x[:0], initial=initial))
    same(f(x, axis=1, keepdims=True, initial=initial), g(x, axis=1, keepdims=True, initial=initial))


@pytest.mark.filterwarnings("ignore:Mean of empty slice", "ignore:invalid value")
@pytest.mark.parametrize("name", ["sum", "prod", "any", "all", "mean"])
@pytest.mark.parametrize("mask", [MASK, MASK[0], MASK[:, :1], True], ids=str)
def test_a_mask_chooses(target, name, mask):
    """Elements where it does not hold are left out; it broadcasts."""
    f, g = getattr(fw, name), getattr(np, name)
    for axis in [None, 1]:
        same(f(X, axis=axis, where=mask), g(X, axis=axis, where=mask))
    same(fw.jit(lambda x, m: f(x, where=m))(X, mask), g(X, where=mask))


@pytest.mark.parametrize("name", ["min", "max"])
def test_a_mask_beside_an_initial_value(target, name):
    """Which min and max need, as NumPy's do."""
    f, g = getattr(fw, name), getattr(np, name)
    same(f(X, axis=0, where=MASK, initial=2), g(X, axis=0, where=MASK, initial=2))
    with pytest.raises(fw.ArgumentError, match="needs an initial value"):
        f(X, where=MASK)


def test_methods_and_functions_of_numpy(target):
    """`xs.sum(..)` and `np.sum(xs, ..)` take them as well."""
    xs = fw.asarray(X)
    same(xs.sum(axis=0, initial=5), X.sum(axis=0, initial=5))
    same(xs.max(initial=5, where=MASK), X.max(initial=5, where=MASK))
    same(np.sum(xs, axis=1, where=MASK), np.sum(X, axis=1, where=MASK))
    same(xs.all(where=MASK), X.all(where=MASK))


@pytest.mark.parametrize("name", ["sum", "prod", "any", "all", "mean"])
@pytest.mark.parametrize("axis", [1, -1])
def test_each_row(target, rows, name, axis):
    """Axis 1 is that of each row, and of values of rank 1 the last one."""
    f, g = getattr(fw, name), getattr(np, name)
    with np.errstate(invalid="ignore"):
        expected = np.array([g(np.array(row, np.int64)) for row in ROWS if row or name != "mean"])
    chosen = rows if name != "mean" else fw.ragged(rows.values, lengths=[2, 3, 1])

    same(f(chosen, axis=axis), expected)
    same(fw.jit(lambda r: f(r, axis=axis))(chosen), expected)
    same(f(chosen, axis=axis, keepdims=True), expected[:, None])


@pytest.mark.parametrize("name, initial", [("sum", 10), ("prod", 2), ("min", 0), ("max", 1)])
def test_each_row_from_an_initial_value(target, rows, name, initial):
    """An empty row gives it."""
    f, g = getattr(fw, name), getattr(np, name)
    expected = np.array([g(np.array(row, np.int64), initial=initial) for row in ROWS])

    same(f(rows, axis=1, initial=initial), expected)
    same(fw.jit(lambda r, i: f(r, axis=1, initial=i))(rows, initial), expected)
    same(f(rows, initial=initial), g(np.concatenate(ROWS).astype(np.int64), initial=initial))


def test_extrema_and_scans_of_each_row(target, rows):
    """argmin, argmax and the cumulative ones; a row without elements has no least one."""
    full = fw.ragged(rows.values, lengths=[2, 3, 1])
    kept = [np.array(row) for row in ROWS if row]

    for name in ("min", "max", "argmin", "argmax"):
        same(getattr(fw, name)(full, axis=1), np.array([getattr(np, name)(r) for r in kept]))
        with pytest.raises(fw.ShapeError):
            getattr(fw, name)(rows, axis=1)
    for name in ("cumsum", "cumprod"):
        found = getattr(fw, name)(rows, axis=1)
        expected = np.concatenate([getattr(np, name)(np.array(r, np.int64)) for r in ROWS])
        same(found.values, expected)
        same(found.offsets, np.asarray(rows.offsets))


@pytest.mark.parametrize("name", ["sum", "prod", "min", "max", "any", "all", "mean"])
def test_all_rows_at_each_place(target, rows, name):
    """Axis 0: as long as the longest row; rows that are too short are left out."""
    f, g = getattr(fw, name), getattr(np, name)
    columns = [[row[j] for row in ROWS if len(row) > j] for j in range(3)]

    same(f(rows, axis=0), np.array([g(column) for column in columns]))
    same(fw.jit(lambda r: f(r, axis=0, keepdims=True))(rows), np.array([[g(c) for c in columns]]))
    if name in ("sum", "max"):
        same(f(rows, axis=0, initial=5), np.array([g(c, initial=5) for c in columns]))
        assert f(fw.ragged(rows.values[:0], lengths=[0, 0]), axis=0).shape == (0,)


def test_axes_of_values_of_higher_rank(target):
    """Axis 2 is within an element; axes (1, 2) are a row with its elements."""
    x = np.arange(10.0).reshape(5, 2)
    rows, parts = fw.ragged(x, lengths=[2, 0, 3]), [x[:2], x[2:2], x[2:]]

    found = fw.sum(rows, axis=2)
    same(found.values, x.sum(axis=1))
    assert len(found) == 3
    same(fw.sum(rows, axis=1), np.array([part.sum(axis=0) for part in parts]))
    same(fw.sum(rows, axis=(1, 2)), np.array([part.sum() for part in parts]))
    same(fw.sum(rows, axis=(0, 1, 2)), x.sum())
    same(fw.sum(rows, keepdims=True), x.sum().reshape(1, 1, 1))
    same(fw.sum(rows, axis=0), np.array([x[0] + x[2], x[1] + x[3], x[4]]))
    same(fw.sum(rows, axis=(0, 2)), np.array([10, 18, 17.0]))
    with pytest.raises(fw.ArgumentError, match="argmin goes along one axis"):
        fw.argmin(rows, axis=(0, 1))
    with pytest.raises(fw.ShapeError, match="a Ragged, which has 3 axes"):
        fw.sum(rows, axis=3)
    with pytest.raises(fw.ArgumentError, match="axis twice"):
        fw.sum(rows, axis=(1, -2))


REDUCED = {
    "T": lambda xs: xs.T, "reversed": lambda xs: xs[::-1, ::-1], "both": lambda xs: xs[::-1].T,
    "columns": lambda xs: xs[:, ::2], "block": lambda xs: xs[1:, 2:], "short": lambda xs: xs[:1].T,
}  # fmt: skip


@pytest.mark.parametrize("view", REDUCED.values(), ids=REDUCED)
@pytest.mark.parametrize("axis", [None, 0, 1, -1, -2])
@pytest.mark.parametrize("name", ["sum", "prod", "max", "any", "mean", "argmax", "argmin"])
def test_a_view_is_reduced_as_its_copy(name, axis, view):
    """Whatever the order of its axes in memory."""
    for dtype in (np.int64, np.float32, np.bool_, np.complex128):
        if name.startswith(("arg", "max")) and dtype is np.complex128:
            continue
        xs = view((np.arange(35) * 11 % 5).reshape(5, 7).astype(dtype))
        found = getattr(fw, name)(xs, axis=axis)
        expected = getattr(np, name)(xs, axis=axis)
        np.testing.assert_allclose(found, expected, rtol=1e-6)
        assert found.shape == expected.shape


def test_transposes_are_reduced_where_they_are():
    """Sums of floats are grouped by the layout, so other bits may be last."""
    m = np.random.default_rng(0).standard_normal((300, 500))
    for view in (m.T, m[::-1].T, m.reshape(30, 10, 500).transpose(2, 0, 1)):
        assert np.isclose(fw.sum(view), math.fsum(m.ravel()), rtol=1e-13, atol=0)
    assert np.allclose(fw.sum(m.T, axis=0), fw.sum(m, axis=1), rtol=1e-13, atol=1e-13)
    assert fw.argmax(m.T) == np.argmax(m.T)
    with pytest.raises(fw.ShapeError, match="axis"):
        fw.sum(m.T, axis=2)
