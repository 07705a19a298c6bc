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


METHODS = [
    ("squeeze", (), {}), ("take", ([0, 5],), {}), ("take", ([1, 0],), {"axis": 1}),
    ("argsort", (), {"kind": "stable"}), ("argsort", (), {"axis": None}), ("conj", (), {}),
    ("std", (), {"ddof": 1}), ("var", (), {"axis": 0, "keepdims": True}), ("view", ("int64",), {}),
    ("mean", (), {"dtype": "f4"}),
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
