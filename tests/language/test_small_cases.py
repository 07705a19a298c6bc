"""Small cases at the edges of the language, each as NumPy has it."""

import numpy as np
import pytest

import flatweave as fw
from tests.language.agreement import agree, same


def test_a_python_integer_beyond_the_dtype_divides():
    """A quotient is a float, so that 300 need not fit a u8, as a literal and as an argument."""
    xs = np.array([200, 3], np.uint8)

    agree(lambda xs: (xs / 300, -7 / xs), (xs / 300, -7 / xs), xs)
    same(fw.jit(lambda xs, k: xs / k)(xs, 300), xs / 300)
    with pytest.raises(OverflowError):
        fw.asarray(xs) + 300


@pytest.mark.parametrize("dtype", [np.bool_, np.uint8, np.int16, np.uint64])
def test_logaddexp_of_integers(dtype):
    """Integers become floats before their difference is taken, which no unsigned number holds."""
    xs, ys = np.array([0, 1, 1], dtype), np.array([1, 0, 1], dtype)
    expected = np.logaddexp(xs.astype(float), ys.astype(float))

    np.testing.assert_allclose(np.asarray(fw.logaddexp(xs, ys)), expected, rtol=1e-6)


def test_new_axes_of_a_number():
    """A number with new axes is an array of one element, in compiled functions, too."""
    x = np.array(5.0)

    agree(lambda x: (x[None], x[None, ..., None], x[...]), (x[None], x[None, ..., None], x), x)


def test_tile_by_a_number_of_the_program():
    """How often is known when the program runs: never, once, often; below 0 is an error."""
    xs, m = np.array([1, 2, 3]), np.arange(6).reshape(2, 3)
    f = fw.jit(lambda xs, m, n: (fw.tile(xs, n), fw.tile(xs, (n, 2)), fw.tile(m, (n, 1))))

    for n in (0, 1, 3):
        same(f(xs, m, n), (np.tile(xs, n), np.tile(xs, (n, 2)), np.tile(m, (n, 1))))
    for call in (lambda: f(xs, m, -1), lambda: fw.tile(xs, -1)):
        with pytest.raises(fw.NegativeExtentError):
            call()


def test_a_list_times_an_array_multiplies():
    """Only a list times a number of the program is refused, which in Python repeats the list."""
    xs = np.array([3, 4])

    agree(lambda xs: [1, 2] * xs, [1, 2] * xs, xs)
    with pytest.raises(fw.NotTraceableError):
        fw.jit(lambda xs: [0] * xs.shape[0])(xs)
