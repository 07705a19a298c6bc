"""Sums and products down the columns of arrays: by blocks of rows, on both sides of their sizes."""

import numpy as np
import pytest

import flatweave as fw

ROWS = [0, 1, 7, 8, 9, 65, 127, 129, 513, 1025, 4100]


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("columns", [0, 1, 70])
def test_sums_down_columns(rows, columns, target):
    """Of whole numbers, so that every grouping is exact; eagerly, too."""
    if target == "interp" and rows * columns > 1 << 12:
        pytest.skip("too many elements for the interpreter")
    xs = np.random.default_rng(rows).integers(-99, 99, (rows, columns)).astype(np.float64)

    np.testing.assert_array_equal(fw.jit(lambda x: fw.cumsum(x, axis=0))(xs), np.cumsum(xs, 0))
    np.testing.assert_array_equal(fw.cumsum(xs, axis=0), np.cumsum(xs, 0))


@pytest.mark.sampled
@pytest.mark.parametrize("axis", [0, 1, 2, -2])
def test_every_axis_of_three(axis, threads):
    """Blocks follow one axis, neighbours the last."""
    xs = np.random.default_rng(0).integers(-9, 9, (30, 70, 11)).astype(np.float32)

    found = fw.jit(lambda x: fw.cumsum(x, axis=axis))(xs)

    np.testing.assert_array_equal(found, np.cumsum(xs, axis))


@pytest.mark.sampled
@pytest.mark.parametrize("dtype", [np.bool_, np.int8, np.uint32, np.int64])
def test_integers_wrap_and_widen(dtype):
    """As NumPy's do."""
    xs = np.random.default_rng(0).integers(0, 100, (90, 5)).astype(dtype)

    for ours, numpy in ((fw.cumsum, np.cumsum), (fw.cumprod, np.cumprod)):
        found, wanted = np.asarray(ours(xs, axis=0)), numpy(xs, axis=0)
        assert found.dtype == wanted.dtype
        np.testing.assert_array_equal(found, wanted)


def test_zeros_keep_their_signs():
    """The identity of a sum is -0.0: it changes nothing."""
    xs = np.full((20, 3), -0.0)
    xs[10:, 1], xs[5, 2] = 0.0, np.nan

    found = np.asarray(fw.cumsum(xs, axis=0))

    np.testing.assert_array_equal(np.signbit(found), np.signbit(np.cumsum(xs, 0)))
    np.testing.assert_array_equal(found, np.cumsum(xs, 0))


@pytest.mark.parametrize("shape", [(1, 1), (1000, 1), (1, 1000)])
def test_axes_of_one_element(shape):
    """Of arguments, whose extents are known when the program runs."""
    xs = np.random.default_rng(0).integers(-9, 9, shape).astype(np.float64)

    for axis in (0, 1):
        found = fw.jit(lambda x, axis=axis: fw.cumsum(x, axis=axis))(xs)
        np.testing.assert_array_equal(found, np.cumsum(xs, axis))
    np.testing.assert_array_equal(fw.jit(lambda x: fw.map(fw.cumsum, x))(xs), np.cumsum(xs, 1))


def test_axes_that_are_known_to_have_one_element():
    """Along such an axis nothing is added; next to it a matrix is a vector."""
    xs = np.random.default_rng(0).integers(-9, 9, 1000).astype(np.float64)

    for axis in (0, 1):
        f = fw.jit(lambda x, axis=axis: fw.cumsum(fw.expand_dims(x, 1), axis=axis))
        np.testing.assert_array_equal(f(xs), np.cumsum(xs[:, None], axis))
        assert f.stages(xs).kernels == 1 - axis


def test_inside_of_an_element_function():
    """Totals of blocks are not computed again for each element."""
    xs = np.random.default_rng(0).integers(-9, 9, (5, 40, 6)).astype(np.float64)
    f = fw.jit(lambda t: fw.map(lambda m: fw.cumsum(m, axis=0), t))

    np.testing.assert_array_equal(f(xs), np.cumsum(xs, 1))
    assert "fold" not in f.stages(xs).text["fused"]


def test_what_is_dear_is_computed_once():
    """A row of many columns is read several times; an exponential is stored first."""
    xs = np.random.default_rng(0).random((600, 7))
    f = fw.jit(lambda x: fw.cumsum(fw.exp(fw.reshape(x, (-1, 7))), axis=0))

    np.testing.assert_allclose(f(xs), np.cumsum(np.exp(xs), 0), rtol=1e-12)
    assert f.stages(xs).text["fused"].count("exp ") == 1
