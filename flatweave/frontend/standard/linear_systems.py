"""Equations, inverses, determinants, powers and Cholesky factors of matrices and stacks of them."""

from __future__ import annotations

from typing import Any, NamedTuple

from flatweave.base.dtypes import c128, f64
from flatweave.frontend.arrays.shapes import expand_dims, integer, reshape
from flatweave.frontend.call.operation import operation
from flatweave.frontend.complex.rules import either, for_complex, number
from flatweave.frontend.elements.elementwise import abs, log
from flatweave.frontend.elements.scalars import where
from flatweave.frontend.functions.generate import generate
from flatweave.frontend.functions.reductions import all, any, prod, sum
from flatweave.frontend.standard.arrangement import matrix_transpose
from flatweave.frontend.standard.broadcasting import broadcast_to
from flatweave.frontend.standard.elimination import eliminated, factored, joined
from flatweave.frontend.standard.numbers import conj
from flatweave.frontend.standard.products import matmul, shape_of_both
from flatweave.frontend.standard.stacks import matrices, must_hold, unstacked
from flatweave.frontend.trace import extents
from flatweave.frontend.values.complex import Complex

SINGULAR = "{who} of a singular matrix: in some column every element from the diagonal down is 0."
INF = float("inf")
LEAST_SQUARES = "Use fw.linalg.pinv(a) @ b for the least squares."


def _identity(a: Any) -> Any:
    """An identity matrix for each one of a stack."""
    one, zero = number(1, a), number(0, a)
    return generate(a.shape, lambda s, i, j: where(i == j, one, zero))


def _of_one_size(*arrays: Any) -> Any:
    """Arrays of floats, or of complex numbers with such parts, as wide as the widest."""
    parts = [x.real if isinstance(x, Complex) else x for x in arrays]
    if len({part.element for part in parts}) == 1:
        return arrays
    return tuple(x.astype(c128 if isinstance(x, Complex) else f64) for x in arrays)


def _solved(a: Any, b: Any, who: str) -> Any:
    """x with a x = b: [s, n, m]."""
    n = a.shape[2]
    work, pivots, _ = eliminated(joined(a, b), n)
    must_hold(all(pivots != 0), SINGULAR.format(who=who), LEAST_SQUARES)
    return work[:, :, n:]


@for_complex
@operation()
def solve(x1: Any, x2: Any, /) -> Any:
    """x with `x1 @ x = x2`; of a vector a vector. Raises ArgumentError for a singular matrix,
    ShapeError where the right side has another number of rows.

    Types: `x1: t[.., n, n], x2: t[.., n, k]` or `t[n] ->` as x2.

        >>> fw.linalg.solve([[2.0, 0.0], [0.0, 4.0]], [2.0, 2.0])
        Array([1. , 0.5], dtype=float64)
    """
    a, b = either(x1, "the matrix of solve"), either(x2, "the right side of solve")
    is_vector = b.ndim == 1
    if is_vector:
        b = expand_dims(b, -1)
    outer = shape_of_both(a, b)
    rows, values = (x.real if isinstance(x, Complex) else x for x in (a, b))
    if rows.ndim > 1 and values.ndim > 1:
        extents.same(
            rows.extents[-1], values.extents[-2],
            "solve needs a value on the right side for each row, got {1} for {0} rows.", [],
            "Give one value, or one row of values, for each row of the matrix.",
        )  # fmt: skip
    left, _ = matrices(broadcast_to(a, (*outer, *a.shape[-2:])), "solve", square=True)
    right, others = matrices(broadcast_to(b, (*outer, *b.shape[-2:])), "solve")
    left, right = _of_one_size(left, right)
    found = unstacked(_solved(left, right, "solve"), others)
    return found[..., 0] if is_vector else found


@for_complex
@operation()
def inv(x: Any, /) -> Any:
    """The inverse of each matrix. Raises ArgumentError for a singular one.

    Types: `x: t[.., n, n] -> t[.., n, n]`, t a float or complex.

        >>> fw.linalg.inv([[2.0, 0.0], [0.0, 4.0]])
        Array([[0.5 , 0.  ],
               [0.  , 0.25]], dtype=float64)
    """
    a, others = matrices(x, "inv", square=True)
    return unstacked(_solved(a, _identity(a), "inv"), others)


@for_complex
@operation()
def det(x: Any, /) -> Any:
    """The determinant of each matrix.

    Types: `x: t[.., n, n] -> t[..]`. Raises ShapeError for matrices that are not square.

        >>> fw.linalg.det([[2.0, 0.0], [0.0, 3.0]])
        Array(6.0, dtype=float64)
    """
    a, others = matrices(x, "det", square=True)
    _, pivots, odd = eliminated(a, a.shape[2])
    found = prod(pivots, axis=1)
    signed = where(odd & (found != 0), -found, found)  # no determinant is -0.0 by an exchange
    return unstacked(signed, others)


class Slogdet(NamedTuple):
    """The sign of a determinant, or its direction, and the logarithm of its size."""

    sign: Any
    logabsdet: Any


@for_complex
@operation()
def slogdet(x: Any, /) -> Any:
    """The sign of each determinant and the logarithm of its absolute value: 0 and -inf for 0.

    Of real matrices with NaN the sign is 1 or -1, and the logarithm NaN.

    Types: `x: t[.., n, n] -> (t[..], float[..])`. Raises ShapeError for matrices that are not
    square.

        >>> fw.linalg.slogdet([[1.0, 0.0], [0.0, -1.0]])[0]
        Array(-1.0, dtype=float64)
    """
    a, others = matrices(x, "slogdet", square=True)
    _, pivots, odd = eliminated(a, a.shape[2])
    sizes = abs(pivots)
    is_singular = any(sizes == 0, axis=1)
    if isinstance(pivots, Complex):
        sign = prod(pivots / where(sizes == 0, 1, sizes), axis=1)
    else:  # of NaN and of infinities, too
        sign = prod(where(pivots < 0, number(-1, a), number(1, a)), axis=1)
    sign = where(is_singular, number(0, a), where(odd, -sign, sign))
    logarithm = where(is_singular, -INF, sum(log(sizes), axis=1))
    return Slogdet(unstacked(sign, others), unstacked(logarithm, others))


@for_complex
@operation(static="upper")
def cholesky(x: Any, /, *, upper: bool = False) -> Any:
    """The factor L with `L @ L^H = x`, of lower triangular form, or with `upper` its transpose.

    Raises ArgumentError unless each matrix is positive definite.

    Types: `x: t[.., n, n] -> t[.., n, n]`, t a float or complex.

        >>> fw.linalg.cholesky([[4.0, 2.0], [2.0, 5.0]])
        Array([[2., 0.],
               [1., 2.]], dtype=float64)
    """
    a, others = matrices(x, "cholesky", square=True)
    stacks, n, _ = a.shape
    found = factored(a)
    real = found.real if isinstance(found, Complex) else found
    sizes = generate((stacks, n), lambda s, i: real[s, i, i])
    must_hold(
        all(sizes > 0), "cholesky of a matrix that is not positive definite.",
        "Look at its eigenvalues: fw.linalg.eigvalsh(x).",
    )  # fmt: skip
    lower = unstacked(found, others)
    return conj(matrix_transpose(lower)) if upper else lower


@for_complex
@operation(static="n")
def matrix_power(x: Any, n: int, /) -> Any:
    """Each matrix multiplied with itself n times; its inverse for n below 0.

    Types: `x: t[.., n, n], n: int -> t[.., n, n]`, integers in f64 for n below 0. Raises ShapeError
    for matrices that are not square.

        >>> fw.linalg.matrix_power([[1, 1], [0, 1]], 5)
        Array([[1, 5],
               [0, 1]], dtype=int64)
    """
    n = integer(n, "n of matrix_power")
    a, others = matrices(x, "matrix_power", square=True)
    given: Any = either(x, "x of matrix_power")
    if n >= 0 and not isinstance(given, Complex) and not given.element.is_float:
        a = reshape(given, a.shape)  # integers stay integers
    if n < 0:
        a, n = _solved(a, _identity(a), "matrix_power"), -n
    found: Any = None
    while n:
        if n & 1:
            found = a if found is None else matmul(found, a)
        n >>= 1
        if n:
            a = matmul(a, a)
    return unstacked(_identity(a) if found is None else found, others)
