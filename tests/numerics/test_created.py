"""Functions that create arrays or fit them, and methods of arrays, next to NumPy's."""

import numpy as np
import pytest

import flatweave as fw
from flatweave.frontend.call import eager
from flatweave.frontend.standard.linalg import Lstsq

M = np.array([[3.0, 1.0, 2.0], [4.0, 0.5, 6.0]])


def test_sources_are_those_of_numpy():
    """Rows of powers, and indices of elements."""
    np.testing.assert_allclose(fw.logspace(0, 3, 4, base=2.0), np.logspace(0, 3, 4, base=2.0))
    np.testing.assert_array_equal(fw.indices((2, 3)), np.indices((2, 3)))


def test_a_polynomial_is_fitted():
    """By least squares, highest power first."""
    x, y = np.linspace(0, 4, 9), np.sin(np.arange(9.0))

    np.testing.assert_allclose(fw.polyfit(x, y, 3), np.polyfit(x, y, 3), rtol=1e-8)


RIGHT = np.array([[1.0, 2.0], [3.0, 4.0]])


@pytest.mark.parametrize(("a", "b"), [
    (M, RIGHT), (M.T, np.array([1.0, 2.0, 4.0])), (np.ones((3, 2)), np.ones((3, 1))),
    (M.T + 1j, RIGHT[[0, 1, 0]]),
])  # fmt: skip
def test_least_squares_are_those_of_numpy(a, b):
    """The solution, the residuals where there are some, the rank and the singular values."""
    for of in (fw.linalg.lstsq, fw.jit(fw.linalg.lstsq)):
        for found, wanted in zip(of(a, b), np.linalg.lstsq(a, b), strict=True):
            assert found.shape == np.shape(wanted)
            np.testing.assert_allclose(found, wanted, atol=1e-12)


def test_least_squares_of_each_row():
    """A map of them is one step of the host, also where the right side is the same for all rows."""
    stack = np.random.default_rng(4).normal(size=(6, 5, 3))
    right = np.arange(10.0).reshape(5, 2)

    f = fw.jit(lambda a, b, least: fw.map(lambda x: fw.linalg.lstsq(x, b, rcond=least), a))
    assert "callback least_squares" in f.stages(stack, right, 0.5).text["flat"]
    for rows in (stack, stack[:1], stack[:0]):
        found = f(rows, right, 0.5)
        for k, matrix in enumerate(rows):
            for part, wanted in zip(found, np.linalg.lstsq(matrix, right, 0.5), strict=True):
                np.testing.assert_allclose(part[k], wanted, atol=1e-12)
        assert found.x.shape == (len(rows), 3, 2)


def test_least_squares_of_nan():
    """LAPACK does not end for them."""
    with pytest.raises(fw.ArgumentError, match=r"lstsq fails: SVD did not converge"):
        fw.jit(fw.linalg.lstsq)(np.full((3, 2), np.nan), np.ones(3))


def test_derivatives_of_least_squares():
    """By the singular values."""
    b = np.array([1.0, -2.0, 4.0])
    slope = fw.grad(lambda a: fw.sum(fw.linalg.lstsq(a, b).x))(M.T * 1.0)
    step = np.zeros_like(M.T, float)
    step[1, 0] = 1e-6
    ends = [np.linalg.lstsq(M.T + sign * step, b)[0].sum() for sign in (1, -1)]
    np.testing.assert_allclose(slope[1, 0], (ends[0] - ends[1]) / 2e-6, rtol=1e-5)


def test_least_squares_outside_of_programs_are_lapacks(monkeypatch):
    """Nothing is traced: a call gives LAPACK's bits; the rank is an i64, as in a program."""
    monkeypatch.setattr(eager, "_entry", None)
    whole = np.arange(6).reshape(3, 2)
    for a, b in ((M.T, M[0]), (M.T.astype("f"), M[0].astype("f")), (whole, whole)):
        mine, theirs = fw.linalg.lstsq(a, b, rcond=0.01), np.linalg.lstsq(a, b, rcond=0.01)
        assert isinstance(mine, Lstsq)
        assert [np.asarray(x).tobytes() for x in (mine.x, mine.residuals, mine.s)] == [
            np.asarray(x).tobytes() for x in (theirs[0], theirs[1], theirs[3])
        ]
        assert (mine.rank.dtype, int(mine.rank)) == (np.int64, theirs[2])


@pytest.mark.parametrize("b", [np.ones(2), np.ones((3, 1, 1))])
def test_least_squares_of_what_does_not_fit(b):
    """Our errors, not NumPy's."""
    with pytest.raises(fw.ShapeError, match="lstsq"):
        fw.linalg.lstsq(M.T, b)


@pytest.mark.parametrize("axis", [None, 1, (1, 0)])
@pytest.mark.parametrize("order", [None, 1, np.inf])
def test_norms_are_of_vectors_or_of_matrices(order, axis):
    """As many axes as are named say which."""
    found = fw.linalg.norm(M, order, axis, keepdims=True)

    np.testing.assert_allclose(found, np.linalg.norm(M, order, axis, keepdims=True))


def test_divisors_and_multiples():
    """Of rows of a Ragged, too; floats have none."""
    x, y = np.array([[12, -9, 0, 7]], np.int8), np.array([[6], [0]], np.int8)

    np.testing.assert_array_equal(fw.gcd(x, y), np.gcd(x, y))
    np.testing.assert_array_equal(fw.lcm(x, y), np.lcm(x, y))
    assert fw.lcm(fw.ragged([[4, 6], [3]]), 10).tolist() == [[20, 30], [30]]
    with pytest.raises(fw.DTypeError, match="gcd is of integers"):
        fw.gcd(1.5, 2)


@pytest.mark.parametrize("name", ["nansum", "nanprod", "nanmean", "nanvar", "std", "var"])
def test_reductions_are_of_the_dtype_that_is_named(name):
    """As NumPy's are."""
    x = M if name in ("std", "var") else np.where(M == 4, np.nan, M)
    found = getattr(fw, name)(x, axis=1, dtype="float32")

    assert found.dtype == np.float32
    np.testing.assert_allclose(found, getattr(np, name)(x, axis=1, dtype="float32"), rtol=1e-6)


@pytest.mark.parametrize("name", ["nanmean", "nanvar", "std", "var"])
def test_means_and_variances_are_of_floats(name):
    """A dtype of integers is refused."""
    with pytest.raises(fw.DTypeError, match="takes a dtype of floats, got int32"):
        getattr(fw, name)(M, dtype="int32")


def test_rows_of_a_ragged_are_compared_and_filled():
    """Value by value; `ravel` gives the values."""
    rows = fw.ragged([[1.0, np.nan], [], [np.inf]])

    assert fw.isclose(rows, 1.0).tolist() == [[True, False], [], [False]]
    assert fw.allclose(rows, rows, equal_nan=True)
    assert fw.nan_to_num(rows, posinf=3.0).tolist() == [[1.0, 0.0], [], [3.0]]
    assert fw.zeros_like(rows, dtype="int64").tolist() == [[0, 0], [], [0]]
    np.testing.assert_array_equal(fw.ravel(rows), [1.0, np.nan, np.inf])


METHODS = [
    ("squeeze", (), {}), ("take", ([0, 5],), {}), ("take", ([1, 0],), {"axis": 1}),
    ("argsort", (), {"kind": "stable"}), ("argsort", (), {"axis": None}), ("conj", (), {}),
    ("std", (), {"ddof": 1}), ("var", (), {"axis": 0, "keepdims": True}), ("view", ("int64",), {}),
    ("mean", (), {"dtype": "f4"}), ("mean", (), {"dtype": "int16"}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "args", "options"), METHODS)
def test_methods_are_those_of_numpy(name, args, options):
    """Results and dtypes."""
    found = np.asarray(getattr(fw.asarray(M), name)(*args, **options))
    wanted = np.asarray(getattr(M, name)(*args, **options))

    np.testing.assert_allclose(found, wanted)
    assert found.dtype == wanted.dtype


def test_real_numbers_have_parts():
    """Themselves and zeros; the sizes of elements are in bytes."""
    x = fw.asarray(M)

    np.testing.assert_array_equal(x.real, M)
    np.testing.assert_array_equal(x.imag, np.zeros_like(M))
    assert x.itemsize == 8


def test_devices_are_a_list():
    """The array API standard says so, and libraries add to it."""
    assert fw.__array_namespace_info__().devices() == ("cpu",)


@pytest.mark.parametrize("decimals", [0, 1, -1])
@pytest.mark.parametrize("x", [
    np.array([1.26, -2.35, 0.05]), np.array([126, -155]), np.array([1.26 - 155.5j]),
])  # fmt: skip
def test_numbers_are_rounded_to_decimals(x, decimals):
    """As a function, as a method, and of rows."""
    expected = np.round(x, decimals)

    for found in (fw.round(x, decimals), fw.asarray(x).round(decimals)):
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)
    rows = fw.round(fw.ragged([[1.26], [], [2.34, 3.0]]), decimals=1)
    assert rows.tolist() == [[1.3], [], [2.3, 3.0]]
    with pytest.raises(fw.ArgumentError, match="decimals of round must be a whole number"):
        fw.round(x, 0.5)


def test_where_of_a_condition_gives_indices():
    """Of lengths that depend on data in a traced function; one choice alone is none."""
    condition = M > 1

    for found in (fw.where(condition), fw.jit(fw.where, target="interp")(condition)):
        np.testing.assert_array_equal(np.stack(found), np.stack(np.where(condition)))
    assert [x.tolist() for x in fw.where(fw.Nullable([True, None, True]))] == [[0, 2]]
    with pytest.raises(fw.ArgumentError, match="where got one choice"):
        fw.where(condition, 1)
    with pytest.raises(fw.ArgumentError, match="a Ragged, where one array is needed"):
        fw.where(fw.ragged([[True]]))


def test_orders_of_elements():
    """All are row-major, which is refused where it is not what is asked for."""
    for order in (None, "C", "K", "A"):
        assert fw.asarray([1, 2], None, order).tolist() == fw.array([1, 2], order=order).tolist()
    with pytest.raises(fw.Unsupported, match="stored in row-major order"):
        fw.asarray(M, order="F")
    with pytest.raises(fw.ArgumentError, match="'R' is no order"):
        fw.array(M, order="R")


@pytest.mark.parametrize("nested", [
    [[M, M[:, :1]], [M[:1], np.zeros((1, 1))]], [1, 2, 3], [M, M], M, [[[1.0]], [[2.0]]],
    [[np.ones((2, 1, 2)), np.zeros((2, 1, 1))]],
], ids=str)  # fmt: skip
def test_blocks_are_joined_as_in_numpy(nested):
    """Lists of any depth, and arrays of more axes than that."""
    np.testing.assert_array_equal(fw.block(nested), np.block(nested))


def test_blocks_are_of_one_depth():
    """In traced functions, too; an empty list has no array."""
    a = np.ones((1, 2))
    np.testing.assert_array_equal(
        fw.jit(lambda a: fw.block([[a, a], [a, a]]), target="interp")(a), np.ones((2, 4))
    )
    for nested in ([[1, 2], 3], [], [[]]):
        with pytest.raises(fw.ArgumentError, match="nested lists of one depth"):
            fw.block(nested)


ROWS = [[[1, 2], [3]], [], [[4, 5, 6], [], [7]]]


def reversed_to(x, depth):
    """Lists with the elements of the outer `depth` lists from last to first."""
    return [reversed_to(part, depth - 1) for part in x[::-1]] if depth else x


@pytest.mark.parametrize(("name", "options", "expected"), [
    ("flip", {}, reversed_to(ROWS, 3)), ("flip", {"axis": 0}, ROWS[::-1]),
    ("flip", {"axis": 1}, [row[::-1] for row in ROWS]),
    ("flip", {"axis": -1}, [[inner[::-1] for inner in row] for row in ROWS]),
    ("roll", {"shift": 1}, [[[7, 1], [2]], [], [[3, 4, 5], [], [6]]]),
    ("roll", {"shift": 1, "axis": 0}, ROWS[-1:] + ROWS[:-1]),
    ("roll", {"shift": -1, "axis": 1}, [row[1:] + row[:1] for row in ROWS]),
    ("roll", {"shift": 1, "axis": 2},
     [[inner[-1:] + inner[:-1] for inner in row] for row in ROWS]),
    ("roll", {"shift": (1, 1), "axis": (0, 1)},
     [row[-1:] + row[:-1] for row in ROWS[-1:] + ROWS[:-1]]),
])  # fmt: skip
def test_rows_are_turned(name, options, expected):
    """Along each axis, as lists are."""
    function = getattr(fw, name)
    rows = fw.ragged(ROWS)

    assert fw.jit(lambda r: function(r, **options), target="interp")(rows).tolist() == expected
    with pytest.raises(fw.UserError, match="axis 3"):
        function(rows, **{**options, "axis": 3})
