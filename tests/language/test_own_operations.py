"""Functions that others declare with fw.operation work as those of the package."""

import numpy as np
import pytest

import flatweave as fw
from flatweave.frontend.values.array import METHODS


@fw.operation(elementwise=True)
def twice(x):
    return fw.add(x, x)


@fw.operation(static="axis keepdims", axial=True)
def spread(x, axis=None, keepdims=False):
    return fw.max(x, axis, keepdims) - fw.min(x, axis, keepdims)


@fw.operation(lists="parts", numbers="weights", any_dtype=True)
def weighted(parts, weights):
    return fw.stack([part * weight for part, weight in zip(parts, weights, strict=True)])


@fw.operation(any_dtype=True)
def first(x):
    return fw.where(x[0] == x[0], x[:1], fw.zeros(1, x.dtype))


@fw.operation()
def median(x):
    """The name of a function of the package."""
    return fw.sum(fw.asarray(x))


@pytest.fixture(autouse=True)
def interpreted():
    with fw.target("interp"):
        yield


@pytest.mark.parametrize("wrap", [lambda f: f, fw.jit])
def test_rows(wrap):
    """An elementwise function works on the values, an axial one along the rows or columns."""
    rows = fw.ragged([[3.0, 1.0], [5.0], [2.0, 9.0]])

    assert wrap(lambda r: twice(r))(rows).tolist() == [[6.0, 2.0], [10.0], [4.0, 18.0]]
    assert wrap(lambda r: spread(r, axis=1))(rows).tolist() == [2.0, 0.0, 7.0]
    assert wrap(lambda r: spread(r, axis=0))(rows).tolist() == [3.0, 8.0]
    assert wrap(lambda r: spread(r))(rows).tolist() == 8.0


def test_lists_and_numbers():
    """An array stands for a list of its rows, and for a few numbers."""
    found = weighted(np.array([[1, 2], [3, 4]]), np.array([10, 100]))

    assert found.tolist() == [[10, 20], [300, 400]]


def test_complex_numbers_reach_the_body():
    """Also those of a list."""
    assert twice([1j, 2]).tolist() == [2j, 4]
    assert weighted([[1j], [2.0]], (1, 2)).tolist() == [[1j], [4.0]]


@pytest.mark.parametrize("dtype", [np.float16, np.float64, np.complex64, np.int8])
def test_any_dtype(dtype):
    """Floats of 16 bits are not f32."""
    assert first(np.ones(2, dtype)).dtype == dtype


def test_names_of_the_package_keep_their_meaning():
    """Whatever others are called."""
    assert median([1, 2, 6]).tolist() == 9
    assert METHODS["median"] is fw.median
    assert fw.median(fw.ragged([[1, 2, 6]]), axis=1).tolist() == [2.0]


def test_checks_of_numbers_that_are_known():
    """Are made at once, and say their values; what was checked is not checked again."""

    def of_three(x):
        n = x.shape[0]
        fw.check(n == 3, "{0} elements", n, error=fw.ShapeError, remedy="Not {0}.")
        return x

    with pytest.raises(fw.ShapeError, match="^1 elements") as caught:
        fw.jit(of_three)(np.zeros(1))
    assert "Not 1." in str(caught.value)

    def same(x, y):
        fw.check(x.shape[0] == y.shape[0], "{0} and {1}", x.shape[0], y.shape[0])
        return y + x

    text = fw.jit(same).stages(np.zeros(2), np.zeros(2)).text["array"]
    assert text.count("check") == 1


def test_axes_are_named_as_in_functions_of_the_package():
    """From the end below 0, each once."""
    x = np.zeros((2, 3, 4))

    assert fw.normalize_axes(x, (-1, 0), "f") == (2, 0)
    assert fw.normalize_axes(x, None, "f") == (0, 1, 2)
    for axis, match in ((3, "f along axis 3"), ((0, -3), "f got an axis twice"), (1.5, "integer")):
        with pytest.raises(fw.UserError, match=match):
            fw.normalize_axes(x, axis, "f")


@pytest.mark.parametrize(("real", "imag", "dtype"), [
    (np.float32([1, np.inf]), np.float32([np.nan, 2]), np.complex64),
    ([1.0, 2.0], 3, np.complex128),
    (1, 2, np.complex128), (np.int8([1, 2]), np.float64([[3], [4]]), np.complex128),
])  # fmt: skip
def test_complex_numbers_of_their_parts(real, imag, dtype):
    """Infinite ones and NaN, too."""
    found = fw.complex(real, imag)
    wanted = np.empty(np.broadcast_shapes(np.shape(real), np.shape(imag)), dtype)
    wanted.real, wanted.imag = real, imag

    assert found.dtype == dtype
    np.testing.assert_array_equal(found, wanted)
    assert fw.complex(fw.ragged([[1.0], [2.0, 3.0]]), 1).tolist() == [[1 + 1j], [2 + 1j, 3 + 1j]]


def test_dtypes_of_numbers_in_programs():
    """Numbers from Python take the dtype of what they meet, as in additions."""
    seen = []

    def f(x, k, z):
        seen.extend([fw.result_type(x, k), fw.result_type(x, z), fw.result_type(k)])
        return x

    fw.jit(f)(np.uint8([1]), 3, 2j)

    assert seen == [fw.u8, fw.c128, fw.i64]
    assert seen[:1] == [fw.result_type(np.uint8([1]), 3)]


def test_shapes_that_are_known_at_run_time():
    """Broadcast as arrays do."""

    def f(x, y):
        return fw.full(fw.broadcast_shapes(x.shape, y.shape), 1)

    assert fw.jit(f)(np.zeros((3, 1)), np.zeros(2)).shape == (3, 2)
    with pytest.raises(fw.ShapeError, match="axes of 3 and 2 elements do not broadcast"):
        fw.jit(f)(np.zeros(3), np.zeros(2))
