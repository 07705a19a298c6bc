"""Calls that once differed from NumPy's, one of each kind."""

import warnings

import numpy as np
import pytest

import flatweave as fw
from tests.surface.compare import difference

Z = np.array([1 + 2j, 0, -3j])
M = np.arange(6.0).reshape(2, 3)
U = np.array([132, 183], "u1")
GREAT = np.array([[1, 3], [2**63 - 2, 2**63 - 2]])
H = np.array([[1.5, 2.5], [3.5, 4.5]], "f2")

SEVERAL_NAN = np.array([complex(np.nan, 2), 1, complex(1, np.nan), 1, complex(np.nan, 1), 0])
CALLS = (
    lambda xp: xp.sum([1 + 2j, 3]),
    lambda xp: xp.sin([[1j], [2]]),
    lambda xp: xp.linalg.outer([1j, 2], [1.0, 2.0]),
    lambda xp: xp.stack([[1j, 2], [3, 4]]),
    lambda xp: xp.power(U, 1 - 2j),
    lambda xp: xp.power(U, Z[:2].astype("c8")),
    lambda xp: xp.prod(Z[0], axis=(), initial=2),
    *(lambda xp, name=name: getattr(xp, name)(Z, [True, False, True])
      for name in ("logical_and", "logical_or", "logical_xor")),
    *(lambda xp, name=name: getattr(xp, name)(Z) for name in ("rint", "exp2", "var", "std")),
    lambda xp: xp.where([2, 0, -1], Z, 1),
    lambda xp: xp.where([np.nan, 0.0, -0.0], 1, 2),
    lambda xp: xp.sum(M, where=np.array([[True], [False]])),
    lambda xp: xp.mean(M, where=np.array([[True, False, True]]), axis=1),
    lambda xp: xp.signbit(np.array([-1, 0, 1])),
    lambda xp: xp.nextafter(np.array([1, 2]), 7),
    lambda xp: xp.conj(np.array([True, False])),
    lambda xp: xp.flip(M, axis=[0, 1] if xp is fw else (0, 1)),
    lambda xp: xp.roll(M, (1, 1)),
    lambda xp: xp.roll(M, [1, 2], axis=[0, 1]),
    lambda xp: xp.roll(M, (1, 2), axis=1),
    lambda xp: xp.take(M, [5, 0]),
    lambda xp: xp.take(M, np.array([True, False]), axis=1),
    lambda xp: xp.take_along_axis(M, np.array([5, 0]), None),
    lambda xp: xp.diff(M, prepend=0.0, append=9),
    lambda xp: xp.diff(M, n=0, prepend=0.0),
    lambda xp: xp.diff(M, n=np.int64(1)),
    lambda xp: xp.cumulative_sum(5),
    lambda xp: xp.linspace(-2.5, 3.5, np.int64(4), dtype="int64"),
    lambda xp: xp.dot(np.ones((2, 3)), np.arange(24.0).reshape(2, 3, 4)),
    lambda xp: xp.dot(np.arange(6.0).reshape(1, 2, 3), [1.0, 2.0, 3.0]),
    lambda xp: xp.tensordot(M, M, axes=(0, 0)),
    lambda xp: xp.fft.fft(Z, norm=None),
    lambda xp: xp.fft.ihfft(np.array([True, False, True]), n=6),
    lambda xp: xp.fft.irfft(np.zeros((0, 4)), n=5, axis=0),
    lambda xp: xp.linalg.vector_norm(np.array([-(2**63), 3])),
    lambda xp: xp.linalg.vector_norm(np.array([0, 3]), ord=0),
    lambda xp: xp.linalg.matrix_norm(np.array([[200, 100]], "u1"), ord=1),
    lambda xp: xp.power(Z.astype("c8"), np.float64(0.015)),
    lambda xp: xp.power(Z, [-1.0, -1.0, 1.0]),
    lambda xp: xp.divide([3], Z[:1].astype("c8")),
    lambda xp: xp.clip(U, np.nan, np.float32(150.5)),
    lambda xp: xp.roll(M, 7, axis=()),
    lambda xp: np.vecdot(xp.asarray(M), M, axis=0),
    lambda xp: xp.select([np.array([True, False])], [H[0]], default=False),
    lambda xp: xp.where(np.array([True, False]), H[0], 1 - 2j),
    lambda xp: xp.diff(np.array([1, 2]), n=0) + 0j,
    lambda xp: xp.heaviside(np.array([False, True]), 5),
    lambda xp: xp.heaviside(np.array([[-1, 0]], "i1"), np.array(413, "u2")),
    lambda xp: xp.gcd(np.array([-128, 126, 0], "i1"), np.array(-(2**63))),
    *(lambda xp, name=name, dtype=dtype: getattr(xp.asarray(GREAT), name)(axis=0, dtype=dtype)
      for name in ("sum", "prod", "cumsum", "cumprod", "mean") for dtype in ("f8", "c16")),
    lambda xp: xp.asarray(np.full(9, 0.1, "f4")).mean(dtype="f8"),
    lambda xp: xp.correlate(np.array([6], "u8"), [False, True]),
    lambda xp: xp.bincount([]),
    lambda xp: xp.linalg.solve(np.array([[2, 0], [0, 4]], "f4"), np.array([2, 2])),
    lambda xp: xp.linalg.solve(np.array([[2, 0], [0, 4j]], "c8"), np.array([2.0, 2.0])),
    lambda xp: xp.power(np.array([0.0, 2.0]), [3 + 2j, 1j]),
    lambda xp: xp.asarray([2**63 - 1, 250, -350]).round(-2)[1:],
    lambda xp: xp.linalg.matrix_power(np.array([[1, 1], [0, 1]]), np.int64(5)),
    lambda xp: xp.linalg.matrix_power(np.array([[1, 1], [0, 1]]), -1),
    lambda xp: abs(xp.linalg.qr(M, mode="r")),
    lambda xp: xp.linalg.diagonal(H),
    lambda xp: xp.broadcast_arrays(H, Z[:2].astype("c8"), M[:1, :2]),
    lambda xp: xp.meshgrid(H[0], [1, 2, 3]),
    lambda xp: xp.asarray(M).reshape((3, 2), copy=True),
    lambda xp: xp.asarray(M).ravel(order="F"),
    lambda xp: xp.asarray(M / 3).round(1),
    *(lambda xp, name=name: getattr(xp, name)(M, where=True)
      for name in ("sum", "prod", "min", "max", "any", "all", "mean")),
    lambda xp: xp.max(M[:0], axis=(), keepdims=True, where=True),
    lambda xp: np.min(xp.asarray(M), axis=1, where=True),
    lambda xp: xp.linalg.slogdet(np.array([[np.nan]])),
    lambda xp: xp.linalg.slogdet(np.array([[[np.inf, 1], [1, 2]], [[-np.inf, 0], [0, 0]]])),
    lambda xp: xp.prod(np.array([[3], [2]]), dtype="c16", initial=1j),
    lambda xp: xp.select([True, M > 3], [M, 1.0]),
    lambda xp: xp.asarray([1j, 0], dtype="bool"),
    lambda xp: xp.prod(np.array([1j, 1 + 1j]), dtype="bool"),
    lambda xp: xp.cumulative_prod(np.array([1j, 0, 2]), dtype="bool"),
    *(lambda xp, is_one=is_one: xp.unique(SEVERAL_NAN, True, True, True, equal_nan=is_one)[1:]
      for is_one in (True, False)),
    lambda xp: xp.isnan(xp.union1d(SEVERAL_NAN, [1, 2j])),
    lambda xp: xp.trapezoid(np.arange(24.0).reshape(4, 3, 2), x=np.arange(6.0).reshape(3, 2)),
    lambda xp: xp.trapezoid(np.arange(3.0), x=np.arange(24.0).reshape(4, 3, 2)),
)
REFUSED = (
    lambda xp: xp.prod(np.ones((3, 1)), dtype="c8", where=[False, True]),
    lambda xp: xp.full(2, 1 - 2j, dtype="u4"),
    lambda xp: xp.gcd(np.array(2, "u8"), -4),
    lambda xp: xp.lcm(np.array(2, "u8"), -(2**31)),
    lambda xp: xp.full(2, -1, dtype="uint8"),
    lambda xp: xp.full_like(U, 1 - 2j),
    *(lambda xp, name=name, dtype=dtype: getattr(xp, name)(M.astype(dtype), initial=1j)
      for name in ("sum", "prod") for dtype in ("f8", "i4", "?")),
    *(lambda xp, dtype=dtype, value=value: xp.asarray(value, dtype=dtype)
      for dtype in ("f8", "f2", "i4") for value in ([1j], [[2, 1j]], 1j, Z)),
    lambda xp: xp.astype(Z, "float16"),
    lambda xp: xp.select([[1, 0]], [[1, 2]]),
    lambda xp: xp.asarray([True, False]).round(2),
    lambda xp: xp.pad(np.array(4), -1),
    lambda xp: xp.pad(np.array(4), ((1, -1),), mode="reflect"),
    lambda xp: xp.quantile(np.zeros((0, 2), "u1"), 1),
    lambda xp: xp.mean(M[:1, :1], where=np.array([False, True])),
    lambda xp: xp.sum(M[:1, :1], where=np.array([False, True])),
    lambda xp: xp.roll(M, (1, 2, 3), axis=(0, 1)),
    lambda xp: xp.tensordot(M, M.T.reshape(2, 3), axes=((0, 1), (1, 0))),
    lambda xp: xp.tensordot(M, M[0], axes=2),
    lambda xp: xp.cumulative_prod(np.ones((2, 2)) + 1j),
    lambda xp: xp.fft.irfftn(np.ones((3, 1))),
)


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("is_traced", [False, True])
def test_what_differed(call, is_traced):
    """Values, dtypes and shapes are NumPy's, outside of a compiled function and inside."""
    with fw.target("interp"):
        found = fw.jit(lambda: call(fw))() if is_traced else call(fw)

    with np.errstate(all="ignore"):
        wanted = call(np)
    assert not difference(found, wanted, "sums", [M])


REFUSALS = (ValueError, TypeError, IndexError, Warning, OverflowError)


@pytest.mark.parametrize("call", REFUSED)
def test_what_must_be_refused(call):
    """As NumPy refuses it, or warns of it."""
    with pytest.raises(fw.UserError), fw.target("interp"):
        call(fw)
    with warnings.catch_warnings(), pytest.raises(REFUSALS):
        warnings.simplefilter("error")
        call(np)


def test_quantiles_of_integers():
    """Their differences do not wrap; where no element is left, there is no integer to give."""
    with fw.target("interp"):
        assert fw.nanquantile(np.array([-3, 126, -2], "i1"), 0.9) == pytest.approx(100.4)
        assert fw.quantile(np.array([-(2**63), 2**63 - 2]), 0.25) == -(2.0**62)
        assert np.isnan(fw.quantile(np.zeros(0, "u1"), 0.5).to_numpy())
        for call in (lambda x: fw.nanquantile(x, 1), lambda x: fw.quantile(x, 0.5, method="lower")):
            with pytest.raises(fw.ShapeError, match="no value of dtype uint8"):
                fw.jit(call)(np.zeros(0, "u1"))


def test_zeros_of_singular_matrices_have_no_sign():
    """Also where an odd number of rows was exchanged."""
    m = np.array([[1.0, 2.0], [2.0, 4.0]])
    with fw.target("interp"):
        assert not np.signbit([fw.linalg.det(m), fw.linalg.slogdet(m).sign]).any()


def test_squeeze_without_an_axis():
    """Outside of a compiled function, where the extents are known."""
    with fw.target("interp"):
        assert fw.squeeze(np.zeros((1, 2, 1))).shape == (2,)
    with pytest.raises(fw.ArgumentError, match="needs an axis"):
        fw.jit(fw.squeeze)(M)


def test_masks_of_ours():
    """NumPy's functions of a list, with an array of ours for a mask."""
    mask = fw.asarray([True, False, True])

    assert np.sum([1, 2, 4], where=mask) == 5
    assert np.max([1, 2, 4], where=mask, initial=0) == 4
    assert np.nanstd([1.0, 2.0, 4.0], where=mask) == 1.5


def test_a_traced_mask_is_refused():
    """NumPy's own needs values."""
    with pytest.raises(fw.UserError, match="no counterpart"):
        fw.jit(lambda mask: np.sum([1, 2], where=mask))(np.array([True, False]))


def test_tuples_of_complex_numbers_are_no_arrays():
    """As tuples of others."""
    for call in (fw.sin, fw.real, fw.sum):
        with pytest.raises(fw.ArgumentError):
            call((1j, 2))
