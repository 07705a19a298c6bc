"""Arrays without elements and of extents 0 and 1: dtypes, shapes and errors are NumPy's."""

import numpy as np
import pytest

import flatweave as fw
from flatweave.base.config import config
from tests.language.agreement import same

UNARY = [
    "acos", "acosh", "asin", "asinh", "atan", "atanh", "cos", "cosh", "exp", "expm1", "log",
    "log1p", "log2", "log10", "sin", "sinh", "sqrt", "square", "tan", "tanh", "abs", "sign",
    "negative", "conj", "reciprocal", "real", "imag",
]  # fmt: skip
SHAPES = [(0,), (1,), (3, 0), (2, 1)]
MATRICES = [(0, 0), (1, 0), (3, 0), (0, 3), (1, 1), (0, 2, 2), (2, 0, 0), (2, 0, 3), (2, 3, 0)]
SQUARE = [shape for shape in MATRICES if shape[-1] == shape[-2]]


@pytest.fixture(autouse=True)
def _interpreted():
    """Which dtypes, shapes and errors there are does not depend on the target."""
    with config.scoped(target="interp"):
        yield


def alike(found, expected):
    """Of one dtype and shape, and nearly equal."""
    found = found if isinstance(found, tuple) else (found,)
    expected = expected if isinstance(expected, tuple) else (expected,)
    for x, y in zip(map(np.asarray, found), map(np.asarray, expected), strict=True):
        assert (x.dtype, x.shape) == (y.dtype, y.shape)
        np.testing.assert_allclose(x, y, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", UNARY)
def test_functions_keep_the_dtype(name):
    """Complex numbers of 64 bits stay such, floats of 32 bits, too."""
    for dtype in (np.complex64, np.float32, np.complex128):
        for shape in SHAPES:
            x = np.full(shape, 1.5, dtype)
            with fw.target("interp"):
                ours = getattr(fw, name)(x)
            if name in ("acos", "asin", "atanh") and dtype == np.float32:
                assert ours.dtype == dtype  # their values are NaN
            else:
                alike(ours, getattr(np, name)(x))


@pytest.mark.sampled
@pytest.mark.parametrize("dtype", [np.float32, np.complex128])
@pytest.mark.parametrize("name", ["pinv", "svdvals", "matrix_rank", "matrix_norm"])
def test_matrices_without_elements(name, dtype):
    """Of every shape with 0 and 1."""
    for shape in MATRICES:
        x = np.ones(shape, dtype)
        with fw.target("interp"):
            alike(getattr(fw.linalg, name)(x), getattr(np.linalg, name)(x))


@pytest.mark.parametrize("dtype", [np.float32, np.complex128])
@pytest.mark.parametrize("full", [True, False])
def test_singular_values_without_elements(full, dtype):
    """The factors have NumPy's shapes and multiply to the matrix."""
    for shape in MATRICES:
        x = np.ones(shape, dtype)
        u, s, vh = fw.linalg.svd(x, full_matrices=full)
        for ours, theirs in zip((u, s, vh), np.linalg.svd(x, full), strict=True):
            assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
        k = s.shape[-1]
        whole = np.asarray(u)[..., :k] * np.asarray(s)[..., None, :] @ np.asarray(vh)[..., :k, :]
        np.testing.assert_allclose(whole, x, atol=1e-6)


@pytest.mark.parametrize("name", ["det", "inv", "cholesky", "eigvalsh", "slogdet"])
def test_square_matrices_without_elements(name):
    """Of every square shape with 0 and 1."""
    for shape in SQUARE:
        x = np.broadcast_to(np.eye(shape[-1]), shape)
        alike(tuple(getattr(fw.linalg, name)(x)) if name == "slogdet" else
              getattr(fw.linalg, name)(x), getattr(np.linalg, name)(x))  # fmt: skip


def test_equations_without_elements():
    """Stacks of none, matrices of none, right sides of none; lengths that do not fit raise."""
    for a, b in (
        ((0, 2, 2), (0, 2, 1)), ((0, 2, 2), (2,)), ((2, 0, 0), (2, 0, 3)), ((2, 2), (2, 0)),
        ((2, 2), (0, 2, 1)), ((1, 1), (1,)), ((0, 0), (0,)), ((0, 0), (0, 0)), ((1, 1), (1, 0)),
    ):  # fmt: skip
        matrix = np.broadcast_to(np.eye(a[-1]), a)
        alike(fw.linalg.solve(matrix, np.ones(b)), np.linalg.solve(matrix, np.ones(b)))
    for a, b in (((3, 3), (1, 1)), ((3, 3), (0, 1)), ((3, 3), (1,)), ((1, 1), (3,)), ((0, 0), (1,)),
                 ((1, 1), (0,)), ((2, 3, 3), (2, 1, 1)), ((3, 3), (4,))):  # fmt: skip
        with pytest.raises(fw.ShapeError):
            fw.linalg.solve(np.broadcast_to(np.eye(a[-1]), a), np.ones(b))


@pytest.mark.parametrize("of", [fw.vecdot, fw.linalg.vecdot])
@pytest.mark.parametrize("dtype", [np.uint8, np.float64, np.complex128])
def test_inner_products_of_two_lengths_raise(of, dtype):
    """Only the other axes are broadcast, as in NumPy; an extent of 1 is a length as any other."""
    for a, b in (((0,), (1,)), ((1,), (0,)), ((3,), (1,)), ((1,), (3,)), ((2, 3), (2, 1)),
                 ((0, 2), (0, 1)), ((), (3,)), ((3,), ())):  # fmt: skip
        with pytest.raises(fw.ShapeError):
            of(np.ones(a, dtype), np.ones(b, dtype))
    for a, b, axis in (((0,), (0,), -1), ((1,), (1,), -1), ((2, 1, 3), (4, 3), -1),
                       ((0, 3), (3,), -1), ((3, 2), (3, 1), 0), ((3, 2), (3,), 0),
                       ((3, 2), (3, 2), -2)):  # fmt: skip
        x, y = np.ones(a, dtype), np.ones(b, dtype)
        alike(of(x, y, axis=axis), np.vecdot(x, y, axis=axis))


@pytest.mark.parametrize("ord", [-1, -2, -np.inf])
def test_the_least_of_no_numbers_is_an_error(ord):
    """As of an empty array elsewhere."""
    with pytest.raises(fw.ShapeError):
        fw.linalg.matrix_norm(np.ones((0, 0)), ord=ord)
    alike(fw.linalg.matrix_norm(np.ones((0, 2, 2)), ord=ord), np.zeros(0))


Z = np.array([1 + 1j, 1, 1 - 1j, -0.0, 0.0, np.nan, 1 + 1j, 1 + np.nan * 1j, complex(0, -0.0), 2j])


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("shape", [(10,), (2, 5), (0,), (), (1, 1)])
def test_distinct_complex_numbers(shape, dtype):
    """Ordered by the real, then the imaginary part; those with NaN come last, separately."""
    z = Z[: int(np.prod(shape))].reshape(shape).astype(dtype)
    found, expected = fw.unique_all(z), np.unique_all(z)

    assert found.values.dtype == dtype
    np.testing.assert_array_equal(found.values, expected.values)
    same(found.counts, expected.counts)
    same(found.inverse_indices, expected.inverse_indices)
    same(fw.unique_counts(z).counts, expected.counts)
    same(fw.unique_inverse(z).inverse_indices, expected.inverse_indices)
    np.testing.assert_array_equal(fw.unique_values(z), expected.values)


def test_members_among_complex_numbers():
    """On either side, with real numbers on the other; NaN is no member."""
    x = np.array([[1.0, 2]])
    for a, b in ((Z, Z[::2]), (Z, x), (x, Z), (Z[:0], Z), (Z, Z[:0])):
        same(fw.isin(a, b), np.isin(a, b))
        same(fw.isin(a, b, invert=True), np.isin(a, b, invert=True))


def test_transforms_of_numbers():
    """Along no axis a transform changes nothing; half of one needs an axis, as in NumPy."""
    assert fw.fft.fftn(np.float64(2)) == fw.fft.ifftn(np.float64(2)) == 2
    for of in (fw.fft.rfftn, fw.fft.irfftn):
        for call in (lambda of=of: of(np.float64(1)), lambda of=of: of(np.ones(3), axes=())):
            with pytest.raises(fw.ShapeError, match="at least one axis"):
                call()
