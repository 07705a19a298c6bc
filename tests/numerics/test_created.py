"""Functions that create arrays or fit them, and methods of arrays, next to NumPy's."""

import numpy as np
import pytest

import flatweave as fw

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
    for found, wanted in zip(fw.linalg.lstsq(a, b), np.linalg.lstsq(a, b), strict=True):
        assert found.shape == np.shape(wanted)
        np.testing.assert_allclose(found, wanted, atol=1e-12)


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
    assert fw.__array_namespace_info__().devices() == ["cpu"]
