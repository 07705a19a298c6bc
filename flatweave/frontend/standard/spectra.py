"""Eigenvalues, singular values and what is made of them; QR factors.

LAPACK computes them: outside of traces at once, in a program as a step of the host.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from flatweave.base.dtypes import i64
from flatweave.base.errors import ArgumentError
from flatweave.frontend.arrays.sources import broadcast_to
from flatweave.frontend.call.operation import operation
from flatweave.frontend.complex.rules import for_complex
from flatweave.frontend.elements.elementwise import minimum
from flatweave.frontend.functions.callbacks import ShapeDtypeStruct
from flatweave.frontend.functions.combinators import map
from flatweave.frontend.standard.library import (
    at_once,
    complex_of,
    is_divided,
    like,
    matrices,
    of_matrices,
    real_of,
    step,
)
from flatweave.frontend.standard.small_spectra import eigensystem, eigenvalues, orthogonal
from flatweave.frontend.trace.tracers import as_tracer
from flatweave.frontend.values.array import Array
from flatweave.frontend.values.exchange import Values

MODES = ("reduced", "complete", "r")
EPS = {char: float(np.finfo(char).eps) for char in "fdFD"}
COMPLEX: dict[str, np.dtype[Any]] = {"f": np.dtype("F"), "d": np.dtype("D")}


class QR(NamedTuple):
    """A matrix of orthogonal columns of length 1 and an upper triangular one."""

    Q: Array
    R: Array


class Eigh(NamedTuple):
    """Eigenvalues, and eigenvectors as the columns of a matrix."""

    eigenvalues: Array
    eigenvectors: Array


class Eig(NamedTuple):
    """Eigenvalues, and eigenvectors as the columns of a matrix; both complex."""

    eigenvalues: Array
    eigenvectors: Array


class SVD(NamedTuple):
    """Left singular vectors as columns, singular values in descending order, right vectors as rows.
    """

    U: Array
    S: Array
    Vh: Array


def _orthogonal(a: Values, mode: str = "reduced") -> object:
    if mode not in MODES:
        raise ValueError(mode)
    return np.linalg.qr(a, mode)  # type: ignore[call-overload]


def _singular(a: Values, full_matrices: bool = True) -> tuple[Any, ...]:
    return np.linalg.svd(a, full_matrices)


def _singular_values(a: Values) -> Values:
    return np.linalg.svd(a, compute_uv=False)


def _rank(a: Values, rtol: Any = None) -> object:
    if not a.size:
        return np.zeros(a.shape[:-2], np.int64)
    return np.linalg.matrix_rank(a, rtol=rtol)


def _pseudo_inverse(a: Values, rtol: Any = None) -> Values:
    if rtol is None:
        rtol = EPS[a.dtype.char] * max(a.shape[-2:])
    return np.linalg.pinv(a, rtol=rtol)


def _general(a: Values) -> tuple[Values, Values]:
    values, vectors = np.linalg.eig(a)
    return _as_complex(values), _as_complex(vectors)


def _general_values(a: Values) -> Values:
    return _as_complex(np.linalg.eigvals(a))


def _as_complex(values: Values) -> Values:
    """Eigenvalues or vectors: where all are real, LAPACK gives real ones."""
    whole = COMPLEX.get(values.dtype.char)
    return values if whole is None else values.astype(whole, "C")


def _relative(compute: Callable[..., Any]) -> Callable[..., object]:
    """The short cut of a function with a bound of its own, a number or one for each matrix."""
    plain = at_once(compute, is_square=False)

    def host(x: Any, /, *, rtol: Any = None) -> object:
        if rtol is None:
            return plain(x)
        if not isinstance(rtol, int | float | np.ndarray):
            return NotImplemented
        return plain(x, rtol=np.asarray(rtol))

    return host


@for_complex
@operation(
    static="mode", host=at_once(_orthogonal, kind=QR, small=orthogonal, is_square=False)
)
@of_matrices()
def qr(x: Any, /, *, mode: str = "reduced") -> QR | Array:
    """Q with orthogonal columns of length 1 and upper triangular R, `x = Q @ R`.

    "reduced" gives as many columns and rows as the smaller extent, "complete" a square Q, "r" R
    alone, of the smaller extent.

    Types: `x: t[.., m, n] -> (t[.., m, k], t[.., k, n])`, k = min(m, n). Raises ShapeError for
    fewer than two axes. Source: `numpy.linalg.qr`.

        >>> fw.linalg.qr([[2.0, 0.0], [0.0, 3.0]]).R.shape
        (2, 2)
    """
    if mode not in MODES:
        raise ArgumentError.here(
            f'mode of qr is "reduced", "complete" or "r", got {mode!r}.',
            'Leave it out for "reduced".',
        )
    m, n = x.shape[-2:]
    k = m if mode == "complete" else _least(x)
    upper = like(x, k, n)
    if mode == "r":
        return step(_orthogonal, [x], [upper], mode=mode)[0]
    return QR(*step(_orthogonal, [x], [like(x, m, k), upper], mode=mode))


def _least(a: Any) -> Array:
    """The smaller extent of a matrix."""
    m, n = a.shape[-2:]
    return minimum(as_tracer(m), as_tracer(n))


@for_complex
@operation(host=at_once(np.linalg.eigh, kind=Eigh, small=eigensystem))
@of_matrices(is_square=True)
def eigh(x: Any, /) -> Eigh:
    """The eigenvalues, ascending, and eigenvectors of Hermitian matrices, of which the lower
    triangle is read.

    Types: `x: t[.., n, n] -> (float[.., n], t[.., n, n])`. Raises ShapeError for matrices that are
    not square. Source: `numpy.linalg.eigh`.

        >>> fw.linalg.eigh([[3.0, 0.0], [0.0, 2.0]])[0]
        Array([2., 3.], dtype=float64)
    """
    n = x.shape[-1]
    return Eigh(*step(np.linalg.eigh, [x], [like(x, n, dtype=real_of(x)), like(x, n, n)]))


@for_complex
@operation(host=at_once(np.linalg.eigvalsh, small=eigenvalues))
@of_matrices(is_square=True)
def eigvalsh(x: Any, /) -> Array:
    """The eigenvalues of Hermitian matrices, ascending; the lower triangle is read.

    Types: `x: t[.., n, n] -> float[.., n]`. Raises ShapeError for matrices that are not square.
    Source: `numpy.linalg.eigvalsh`.

        >>> fw.linalg.eigvalsh([[3.0, 0.0], [0.0, 2.0]])
        Array([2., 3.], dtype=float64)
    """
    return step(np.linalg.eigvalsh, [x], [like(x, x.shape[-1], dtype=real_of(x))])[0]


@for_complex
@operation(static="full_matrices", host=at_once(_singular, kind=SVD, is_square=False))
@of_matrices()
def svd(x: Any, /, *, full_matrices: bool = True) -> SVD:
    """U, S and Vh with `x = U @ diag(S) @ Vh`; S descends.

    With `full_matrices` U and Vh are square, else they have as many columns and rows as S.

    Types: `x: t[.., m, n] -> (t[.., m, m], float[.., k], t[.., n, n])`, k = min(m, n). Raises
    ShapeError for fewer than two axes. Source: `numpy.linalg.svd`.

        >>> fw.linalg.svd([[0.0, 2.0], [1.0, 0.0]])[1]
        Array([2., 1.], dtype=float64)
    """
    (m, n), k = x.shape[-2:], _least(x)
    u, vh = (like(x, m, m), like(x, n, n)) if full_matrices else (like(x, m, k), like(x, k, n))
    lengths = like(x, k, dtype=real_of(x))
    return SVD(*step(_singular, [x], [u, lengths, vh], full_matrices=full_matrices))


@for_complex
@operation(host=at_once(_singular_values, is_square=False))
@of_matrices()
def svdvals(x: Any, /) -> Array:
    """The singular values of each matrix, descending.

    Types: `x: t[.., m, n] -> float[.., min(m, n)]`. Raises ShapeError for fewer than two axes.
    Source: `numpy.linalg.svdvals`.

        >>> fw.linalg.svdvals([[0.0, 2.0], [1.0, 0.0]])
        Array([2., 1.], dtype=float64)
    """
    return step(_singular_values, [x], [like(x, _least(x), dtype=real_of(x))])[0]


def _with_bound(compute: Any, a: Any, rtol: Any, result: ShapeDtypeStruct) -> Array:
    """A function with a bound for each matrix, where one is given."""
    if rtol is None:
        return step(compute, [a], [result])[0]
    bound = as_tracer(rtol, "rtol").astype(real_of(a).numpy)
    return step(compute, [a, broadcast_to(bound, a.shape[:-2])], [result])[0]


@for_complex
@operation(host=_relative(_rank))
def matrix_rank(x: Any, /, *, rtol: Any = None) -> Array:
    """How many singular values of each matrix are above `rtol` times the greatest one.

    `rtol` is the greater extent times the dtype's eps unless given.

    Types: `x: t[.., m, n] -> i64[..]`. Raises ShapeError for fewer than two axes.
    Source: `numpy.linalg.matrix_rank`.

        >>> fw.linalg.matrix_rank([[1.0, 2.0], [2.0, 4.0]])
        Array(1, dtype=int64)
    """
    a = matrices(x, "matrix_rank")
    if rtol is None and is_divided(a):
        return map(matrix_rank, a)
    return _with_bound(_rank, a, rtol, like(a, dtype=i64))


@for_complex
@operation(host=_relative(_pseudo_inverse))
@of_matrices()
def pinv(x: Any, /, *, rtol: Any = None) -> Array:
    """The pseudo-inverse of each matrix; singular values up to `rtol` times the greatest are 0.

    Types: `x: t[.., m, n] -> t[.., n, m]`. Raises ShapeError for fewer than two axes.
    Source: `numpy.linalg.pinv`.

        >>> fw.linalg.pinv([[2.0], [0.0]]).shape
        (1, 2)
    """
    m, n = x.shape[-2:]
    return _with_bound(_pseudo_inverse, x, rtol, like(x, n, m))


@for_complex
@operation(host=at_once(_general, kind=Eig))
@of_matrices(is_square=True)
def eig(x: Any, /) -> Eig:
    """The eigenvalues and eigenvectors of square matrices, both complex, in no order.

    Types: `x: t[.., n, n] -> (complex[.., n], complex[.., n, n])`. Raises ShapeError for matrices
    that are not square. Source: `numpy.linalg.eig`.

        >>> fw.linalg.eig([[2.0, 0.0], [0.0, 3.0]])[0].real
        Array([2., 3.], dtype=float64)
    """
    n, dtype = x.shape[-1], complex_of(x)
    return Eig(*step(_general, [x], [like(x, n, dtype=dtype), like(x, n, n, dtype=dtype)]))


@for_complex
@operation(host=at_once(_general_values))
@of_matrices(is_square=True)
def eigvals(x: Any, /) -> Array:
    """The eigenvalues of square matrices, complex, in no order: as those of `eig`.

    Types: `x: t[.., n, n] -> complex[.., n]`. Raises ShapeError for matrices that are not square.
    Source: `numpy.linalg.eigvals`.

        >>> fw.linalg.eigvals([[2.0, 0.0], [0.0, 3.0]]).real
        Array([2., 3.], dtype=float64)
    """
    return step(_general_values, [x], [like(x, x.shape[-1], dtype=complex_of(x))])[0]
