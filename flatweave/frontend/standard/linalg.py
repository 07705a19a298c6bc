"""`fw.linalg`: the linear algebra of the array API standard, of matrices and stacks of them.

    fw.linalg.solve(a, b), fw.linalg.eigh(a), ..     LAPACK; many small matrices: programs in lanes
    fw.linalg.matmul(a, b)                           NumPy's BLAS, or a program

They take real and complex matrices, in jitted functions, too: there LAPACK is a step of the host.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from flatweave.base.dtypes import PARTS, i64
from flatweave.base.errors import ShapeError
from flatweave.frontend.arrays.shapes import expand_dims, integer
from flatweave.frontend.arrays.sources import broadcast_to
from flatweave.frontend.call.operation import operation
from flatweave.frontend.complex.rules import either, for_complex, number, whole
from flatweave.frontend.elements.elementwise import maximum, minimum
from flatweave.frontend.elements.scalars import where
from flatweave.frontend.functions.callbacks import ShapeDtypeStruct
from flatweave.frontend.functions.combinators import generate, map
from flatweave.frontend.functions.reductions import max, sum
from flatweave.frontend.standard.arrangement import matrix_transpose
from flatweave.frontend.standard.library import (
    at_once,
    dtype_of,
    floats,
    is_derived,
    is_divided,
    kept,
    like,
    matrices,
    of_matrices,
    part_of,
    real_of,
    refused,
    step,
    with_rules,
)
from flatweave.frontend.standard.norms import (
    cross,
    diagonal,
    matrix_norm,
    norm,
    outer,
    size,
    trace,
    vector_norm,
)
from flatweave.frontend.standard.products import matmul, shape_of_both, tensordot, vecdot
from flatweave.frontend.standard.small_matrices import determinant, factor, inverse, solution
from flatweave.frontend.standard.spectra import (
    EPS,
    eig,
    eigh,
    eigvals,
    eigvalsh,
    matrix_rank,
    pinv,
    qr,
    svd,
    svdvals,
)
from flatweave.frontend.standard.statistics import conj
from flatweave.frontend.trace import extents
from flatweave.frontend.trace.tracers import as_tracer
from flatweave.frontend.values.array import Array, Tracer, describe
from flatweave.frontend.values.exchange import Values
from flatweave.frontend.values.number_formats import Complex

if not TYPE_CHECKING:  # which knows every name

    def __getattr__(name: str) -> None:
        raise AttributeError(f"module 'flatweave.linalg' has no attribute {name!r}")


def _factor(a: Values, upper: bool = False) -> Values:
    lower = np.linalg.cholesky(a)
    return np.conj(np.swapaxes(lower, -1, -2)) if upper else lower


@for_complex
@operation(host=at_once(np.linalg.solve, small=solution))
def solve(x1: Any, x2: Any, /) -> Array:
    """x with `x1 @ x = x2`; of a vector a vector. Raises ArgumentError for a singular matrix,
    ShapeError where the right side has another number of rows.

    Types: `x1: t[.., n, n], x2: t[.., n, k]` or `t[n] ->` as x2. Source: `numpy.linalg.solve`.

        >>> fw.linalg.solve([[2.0, 0.0], [0.0, 4.0]], [2.0, 2.0])
        Array([1. , 0.5], dtype=float64)
    """
    a: Array = either(x1, "the matrix of solve")
    b: Array = either(x2, "the right side of solve")
    is_vector = b.ndim == 1
    if is_vector:
        b = expand_dims(b, -1)
    a, b = matrices(a, "solve", is_square=True), matrices(b, "solve")
    extents.same(
        part_of(a).extents[-1], part_of(b).extents[-2],
        "solve needs a value on the right side for each row, got {1} for {0} rows.", [],
        "Give one value, or one row of values, for each row of the matrix.",
    )  # fmt: skip
    outer = shape_of_both(a, b)
    if outer:  # stacks are aligned from their first axes where rows of a map lie before them
        a, b = broadcast_to(a, (*outer, *a.shape[-2:])), broadcast_to(b, (*outer, *b.shape[-2:]))
    found = _solved(a, b)
    return found[..., 0] if is_vector else found


def _solved(a: Any, b: Any) -> Array:
    if is_divided(a):
        return map(_solved, a, b)
    if isinstance(a, Complex):
        b = whole(b)

    def computed(a: Any, b: Any) -> Array:
        return step(np.linalg.solve, [a, b], [like(b, *b.shape[-2:], dtype=dtype_of(a, b))])[0]

    return with_rules("solve", computed, a, b)


class Lstsq(NamedTuple):
    """The solution of least squares, and what was found of the matrix on the way."""

    x: Array
    residuals: Array
    rank: Array
    s: Array


def _least_squares(a: Values, b: Values, rcond: Any = None) -> tuple[Any, ...]:
    fit = a.ndim == 2 and b.ndim in (1, 2) and len(a) == len(b)
    if not (fit and np.isfinite(a).all() and np.isfinite(b).all()):
        raise ValueError  # LAPACK prints that there is NaN
    x, squares, rank, s = np.linalg.lstsq(a, b, rcond)
    return x, squares, np.asarray(rank, np.int64), s


def _fit(a: Values, b: Values, rcond: Values) -> tuple[Any, ...]:
    """The same with residuals of 0 where there are none."""
    if not (np.isfinite(a).all() and np.isfinite(b).all()):
        raise np.linalg.LinAlgError("SVD did not converge")
    x, squares, rank, s = np.linalg.lstsq(a, b, float(rcond))
    return x, squares if squares.size else np.zeros(b.shape[1:], s.dtype), rank, s


FIT = np.vectorize(_fit, signature="(m,n),(m,k),()->(n,k),(k),(),(l)")


@for_complex
@operation(host=at_once(_least_squares, kind=Lstsq, is_square=False))
def lstsq(a: Any, b: Any, rcond: Any = None) -> Lstsq:
    """The shortest x with the least `|a @ x - b|`, by singular values.

    Those up to `rcond` times the greatest count as 0: by default epsilon times the greater extent.
    The residuals are the sums of squares of `a @ x - b`, one for each column of b; none unless the
    rank is n and m is greater.

    Types: `a: t[m, n], b: t[m] or t[m, k] -> (t[n] or t[n, k], float[k], i64, float[min(m, n)])`.
    Raises ShapeError for other numbers of axes, and where a and b have not as many rows.
    Source: `numpy.linalg.lstsq`.

        >>> fw.linalg.lstsq([[1.0], [1.0]], [2.0, 4.0]).residuals
        Array([2.], dtype=float64)
    """
    left: Array = matrices(a, "lstsq")
    right: Array = either(b, "the right side of lstsq")
    if left.ndim != 2 or right.ndim not in (1, 2):
        raise ShapeError.here(
            f"lstsq takes a matrix, and a vector or a matrix, got {describe(left)} and"
            f" {describe(right)}.",
            "Go through a stack of them with fw.map.",
        )
    columns = expand_dims(right, -1) if right.ndim == 1 else right
    m, n = left.shape
    extents.same(
        part_of(left).extents[0], part_of(columns).extents[0],
        "lstsq needs a value on the right side for each row, got {1} for {0} rows.", [],
        "Give one value, or one row of values, for each row of the matrix.",
    )  # fmt: skip
    kind, count = dtype_of(left, columns), columns.shape[1]
    if rcond is None:
        rcond = maximum(as_tracer(m), n).astype(real_of(left)) * EPS[kind.numpy.char]
    if is_derived():
        x, squares, rank, s = _by_singular_values(left, columns, rcond)
    else:
        least, real = minimum(as_tracer(m), as_tracer(n)), PARTS.get(kind, kind)
        shapes = [((n, count), kind), ((count,), real), ((), i64), ((least,), real)]
        results = [ShapeDtypeStruct(shape, dtype) for shape, dtype in shapes]
        given = [left, columns, as_tracer(rcond)]
        x, squares, rank, s = step(_least_squares, given, results, run=FIT)
    known = where((rank == n) & (as_tracer(m) > n), count, 0)
    return Lstsq(x[:, 0] if right.ndim == 1 else x, squares[:known], rank, s)


def _by_singular_values(a: Any, b: Any, rcond: Any) -> tuple[Array, ...]:
    """The same by functions that have derivatives."""
    u, s, v = svd(a, full_matrices=False)
    is_kept = s > rcond * max(s, initial=0)
    factors = where(is_kept, 1 / where(is_kept, s, 1), 0).astype(s.dtype)
    x = matmul(_adjoint(v), matmul(_adjoint(u), b) * factors[:, None])
    return x, sum(size(b - matmul(a, x)), axis=0), sum(is_kept), s


def _adjoint(x: Array) -> Array:
    return conj(matrix_transpose(x))


@for_complex
@operation(host=at_once(np.linalg.inv, small=inverse))
@of_matrices(is_square=True)
def inv(x: Any, /) -> Array:
    """The inverse of each matrix. Raises ArgumentError for a singular one.

    Types: `x: t[.., n, n] -> t[.., n, n]`, t a float or complex. Source: `numpy.linalg.inv`.

        >>> fw.linalg.inv([[2.0, 0.0], [0.0, 4.0]])
        Array([[0.5 , 0.  ],
               [0.  , 0.25]], dtype=float64)
    """
    return step(np.linalg.inv, [x], [like(x, *x.shape[-2:])])[0]


@for_complex
@operation(host=at_once(np.linalg.det, small=determinant))
@of_matrices(is_square=True)
def det(x: Any, /) -> Array:
    """The determinant of each matrix.

    Types: `x: t[.., n, n] -> t[..]`. Raises ShapeError for matrices that are not square.
    Source: `numpy.linalg.det`.

        >>> fw.linalg.det([[2.0, 0.0], [0.0, 3.0]])
        Array(6.0, dtype=float64)
    """
    return step(np.linalg.det, [x], [like(x)])[0]


def adjugates(a: Values) -> Values:
    """The determinant times the inverse, by singular values: for each the product of the others."""
    v, rest, uh, turn = _singular_parts(a)
    return np.asarray(turn * ((v * rest.prod(axis=-1)[..., None, :]) @ uh))


def adjugate_slopes(a: Values, t: Values) -> Values:
    """Their derivatives along `t`, by singular values: for each two the product of the others."""
    v, rest, uh, turn = _singular_parts(a)
    is_diagonal = np.eye(a.shape[-1], dtype=bool)
    before, after = np.ones_like(rest), np.ones_like(rest)
    before[..., 1:] = np.cumprod(rest[..., :-1], axis=-1)
    after[..., :-1] = np.cumprod(rest[..., :0:-1], axis=-1)[..., ::-1]
    others, turned = np.where(is_diagonal, 0, before * after), uh @ t @ v
    diagonal = others @ np.diagonal(turned, axis1=-2, axis2=-1)[..., None]
    moved = np.where(is_diagonal, diagonal, -turned * others)
    return np.asarray(turn * (v @ moved @ uh))


def _singular_parts(a: Values) -> tuple[Values, Values, Values, Values]:
    """v, the singular values but for a 1 on the diagonal, u^H, and the determinant of u v^H."""
    u, lengths, vh = np.linalg.svd(a)
    v, uh = (np.conj(np.swapaxes(x, -1, -2)) for x in (vh, u))
    rest = np.where(np.eye(a.shape[-1], dtype=bool), 1, lengths[..., None, :])
    return v, rest, uh, (np.linalg.det(u) * np.linalg.det(vh))[..., None, None]


class Slogdet(NamedTuple):
    """The sign of a determinant, or its direction, and the logarithm of its size."""

    sign: Any  # an array; None as the tangent of a real one
    logabsdet: Array


@for_complex
@operation(host=at_once(np.linalg.slogdet, kind=Slogdet))
@of_matrices(is_square=True)
def slogdet(x: Any, /) -> Slogdet:
    """The sign of each determinant and the logarithm of its absolute value: 0 and -inf for 0.

    Types: `x: t[.., n, n] -> (t[..], float[..])`. Raises ShapeError for matrices that are not
    square. Source: `numpy.linalg.slogdet`.

        >>> fw.linalg.slogdet([[1.0, 0.0], [0.0, -1.0]])[0]
        Array(-1.0, dtype=float64)
    """
    return Slogdet(*step(np.linalg.slogdet, [x], [like(x), like(x, dtype=real_of(x))]))


@for_complex
@operation(static="upper", host=at_once(_factor, small=factor))
@of_matrices(is_square=True)
def cholesky(x: Any, /, *, upper: bool = False) -> Array:
    """The factor L with `L @ L^H = x`, of lower triangular form, or with `upper` its transpose.

    Raises ArgumentError unless each matrix is positive definite.

    Types: `x: t[.., n, n] -> t[.., n, n]`, t a float or complex. Source: `numpy.linalg.cholesky`.

        >>> fw.linalg.cholesky([[4.0, 2.0], [2.0, 5.0]])
        Array([[2., 0.],
               [1., 2.]], dtype=float64)
    """
    return step(_factor, [x], [like(x, *x.shape[-2:])], upper=upper)[0]


def _power(x: Any, n: Any, /) -> object:
    """The short cut of powers of floats; integers stay integers, which NumPy's matmul is slow at.
    """
    a = floats(x)
    if a is None or type(n) is not int or np.asarray(x).dtype.kind not in "fc":
        return NotImplemented
    if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        return NotImplemented
    try:
        return kept(np.linalg.matrix_power(np.linalg.inv(a) if n < 0 else a, abs(n)))
    except np.linalg.LinAlgError as failure:
        raise refused(np.linalg.inv, failure) from None


@for_complex
@operation(static="n", host=_power)
def matrix_power(x: Any, n: int, /) -> Array:
    """Each matrix multiplied with itself n times; its inverse for n below 0.

    Types: `x: t[.., n, n], n: int -> t[.., n, n]`, integers in f64 for n below 0. Raises ShapeError
    for matrices that are not square. Source: `numpy.linalg.matrix_power`.

        >>> fw.linalg.matrix_power([[1, 1], [0, 1]], 5)
        Array([[1, 5],
               [0, 1]], dtype=int64)
    """
    n = integer(n, "n of matrix_power")
    a = matrices(x, "matrix_power", is_square=True)
    given = either(x, "x of matrix_power")
    if n >= 0 and isinstance(given, Tracer) and not given.element.is_float:
        a = given  # integers stay integers
    if n < 0:
        a, n = inv(a), -n
    found: Array | None = None
    while n:
        if n & 1:
            found = a if found is None else matmul(found, a)
        n >>= 1
        if n:
            a = matmul(a, a)
    return _identity(a) if found is None else found


def _identity(a: Array) -> Array:
    """An identity matrix for each one of a stack."""
    one, zero = number(1, a), number(0, a)
    return generate(a.shape, lambda *at: where(at[-2] == at[-1], one, zero))


__all__ = [
    "cholesky", "cross", "det", "diagonal", "eig", "eigh", "eigvals", "eigvalsh", "inv", "lstsq",
    "matmul", "matrix_norm", "matrix_power", "matrix_rank", "matrix_transpose", "norm", "outer",
    "pinv", "qr", "slogdet", "solve", "svd", "svdvals", "tensordot", "trace", "vecdot",
    "vector_norm",
]  # fmt: skip
