"""Eigenvalues, singular values and what is made of them; QR factors."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from flatweave.base.errors import ArgumentError
from flatweave.base.source import user_location
from flatweave.frontend.arrays.shapes import reshape
from flatweave.frontend.arrays.sorting import argsort
from flatweave.frontend.call.operation import operation
from flatweave.frontend.complex.rules import for_complex, number
from flatweave.frontend.elements.elementwise import abs, maximum, minimum
from flatweave.frontend.elements.scalars import where
from flatweave.frontend.functions.control import cond
from flatweave.frontend.functions.generate import generate
from flatweave.frontend.functions.reductions import max, sum
from flatweave.frontend.standard.arrangement import matrix_transpose
from flatweave.frontend.standard.numbers import conj
from flatweave.frontend.standard.products import matmul
from flatweave.frontend.standard.reflections import reflected
from flatweave.frontend.standard.rotations import diagonal, orthogonal
from flatweave.frontend.standard.schur import eigen
from flatweave.frontend.standard.stacks import matrices, unstacked
from flatweave.frontend.trace.tracers import as_tracer
from flatweave.frontend.values.array import Array, host_array
from flatweave.frontend.values.short import is_short


class QR(NamedTuple):
    """A matrix of orthogonal columns of length 1 and an upper triangular one."""

    Q: Any
    R: Any


class Eigh(NamedTuple):
    """Eigenvalues, and eigenvectors as the columns of a matrix."""

    eigenvalues: Any
    eigenvectors: Any


class Eig(NamedTuple):
    """Eigenvalues, and eigenvectors as the columns of a matrix; both complex."""

    eigenvalues: Any
    eigenvectors: Any


class SVD(NamedTuple):
    """Left singular vectors as columns, singular values in descending order, right vectors as rows.
    """

    U: Any
    S: Any
    Vh: Any


@for_complex
@operation(static="mode")
def qr(x: Any, /, *, mode: str = "reduced") -> Any:
    """Q with orthogonal columns of length 1 and upper triangular R, `x = Q @ R`.

    "reduced" gives as many columns and rows as the smaller extent, "complete" a square Q, "r" R
    alone, of the smaller extent.

    Types: `x: t[.., m, n] -> (t[.., m, k], t[.., k, n])`, k = min(m, n). Raises ShapeError for
    fewer than two axes.

        >>> fw.linalg.qr([[2.0, 0.0], [0.0, 3.0]]).R.shape
        (2, 2)
    """
    if mode not in ("reduced", "complete", "r"):
        raise ArgumentError(
            f'mode of qr is "reduced", "complete" or "r", got {mode!r}.',
            where=user_location(), remedy='Leave it out for "reduced".',
        )  # fmt: skip
    a, others = matrices(x, "qr")
    q, r = reflected(a)
    if mode != "complete":
        rank = minimum(as_tracer(a.shape[1]), as_tracer(a.shape[2]))
        q, r = q[:, :, :rank], r[:, :rank, :]
    if mode == "r":
        return unstacked(r, others)
    return QR(unstacked(q, others), unstacked(r, others))


def _lower(a: Any) -> Any:
    """Hermitian matrices by their lower triangles."""
    def element(s: Any, i: Any, j: Any) -> Any:
        below, value = j <= i, a[s, maximum(i, j), minimum(i, j)]
        return where(below, value, conj(value))

    return generate(a.shape, element)


def _ascending(values: Any, vectors: Any) -> tuple[Any, Any]:
    order = argsort(values, axis=1)
    stacks, n = values.shape
    return (
        generate((stacks, n), lambda s, i: values[s, order[s, i]]),
        generate(vectors.shape, lambda s, i, j: vectors[s, i, order[s, j]]),
    )


@for_complex
@operation()
def eigh(x: Any, /) -> Any:
    """The eigenvalues, ascending, and eigenvectors of Hermitian matrices, of which the lower
    triangle is read.

    Types: `x: t[.., n, n] -> (float[.., n], t[.., n, n])`. Raises ShapeError for matrices that are
    not square.

        >>> fw.linalg.eigh([[3.0, 0.0], [0.0, 2.0]])[0]
        Array([2., 3.], dtype=float64)
    """
    a, others = matrices(x, "eigh", square=True)
    values, vectors = _ascending(*diagonal(_lower(a)))
    return Eigh(unstacked(values, others), unstacked(vectors, others))


@for_complex
@operation()
def eigvalsh(x: Any, /) -> Any:
    """The eigenvalues of Hermitian matrices, ascending; the lower triangle is read.

    Types: `x: t[.., n, n] -> float[.., n]`. Raises ShapeError for matrices that are not square.

        >>> fw.linalg.eigvalsh([[3.0, 0.0], [0.0, 2.0]])
        Array([2., 3.], dtype=float64)
    """
    return eigh(x).eigenvalues


def _singular(a: Any) -> tuple[Any, Any, Any]:
    """Matrices times unitary ones, so that the columns are orthogonal and their lengths descend;
    the lengths; and the unitary matrices."""
    columns, lengths, v = orthogonal(a)
    order = argsort(-lengths, axis=1)
    return (
        generate(columns.shape, lambda s, i, j: columns[s, i, order[s, j]]),
        generate(lengths.shape, lambda s, i: lengths[s, order[s, i]]),
        generate(v.shape, lambda s, i, j: v[s, i, order[s, j]]),
    )


def _left(columns: Any, rank: Any) -> Any:
    """Orthogonal columns made as long as 1, and as many more as a basis has."""
    q, r = reflected(columns[:, :, :rank])
    one = number(1, r)

    def element(s: Any, i: Any, j: Any) -> Any:
        has = j < rank
        corner = cond(has, lambda: r[s, j, j], lambda: one)
        length = abs(corner)
        none = ~has | (length == 0)
        return q[s, i, j] * where(none, one, corner / where(none, 1, length))

    return generate(q.shape, element)


@for_complex
@operation(static="full_matrices")
def svd(x: Any, /, *, full_matrices: bool = True) -> Any:
    """U, S and Vh with `x = U @ diag(S) @ Vh`; S descends.

    With `full_matrices` U and Vh are square, else they have as many columns and rows as S.

    Types: `x: t[.., m, n] -> (t[.., m, m], float[.., k], t[.., n, n])`, k = min(m, n). Raises
    ShapeError for fewer than two axes.

        >>> fw.linalg.svd([[0.0, 2.0], [1.0, 0.0]])[1]
        Array([2., 1.], dtype=float64)
    """
    a, others = matrices(x, "svd")
    columns, lengths, v = _singular(a)
    rank = minimum(as_tracer(a.shape[1]), as_tracer(a.shape[2]))
    u, vh = _left(columns, rank), conj(matrix_transpose(v))
    if not full_matrices:
        u, vh = u[:, :, :rank], vh[:, :rank, :]
    return SVD(*(unstacked(part, others) for part in (u, lengths[:, :rank], vh)))


@for_complex
@operation()
def svdvals(x: Any, /) -> Any:
    """The singular values of each matrix, descending.

    Types: `x: t[.., m, n] -> float[.., min(m, n)]`. Raises ShapeError for fewer than two axes.

        >>> fw.linalg.svdvals([[0.0, 2.0], [1.0, 0.0]])
        Array([2., 1.], dtype=float64)
    """
    a, others = matrices(x, "svdvals")
    rank = minimum(as_tracer(a.shape[1]), as_tracer(a.shape[2]))
    return unstacked(_singular(a)[1][:, :rank], others)


def _bounds(lengths: Any, a: Any, rtol: Any) -> Any:
    """Below what each matrix's singular values are taken for 0."""
    if rtol is None:
        eps = float(np.finfo(lengths.dtype).eps)
        rtol = maximum(as_tracer(a.shape[1]), as_tracer(a.shape[2])) * eps
    given = as_tracer(rtol, "rtol")
    most = max(lengths, axis=1, initial=0)
    if not given.ndim:
        return most * given
    return most * reshape(given, (lengths.shape[0],))


@for_complex
@operation()
def matrix_rank(x: Any, /, *, rtol: Any = None) -> Any:
    """How many singular values of each matrix are above `rtol` times the greatest one.

    `rtol` is the greater extent times the dtype's eps unless given.

    Types: `x: t[.., m, n] -> i64[..]`. Raises ShapeError for fewer than two axes.

        >>> fw.linalg.matrix_rank([[1.0, 2.0], [2.0, 4.0]])
        Array(1, dtype=int64)
    """
    a, others = matrices(x, "matrix_rank")
    lengths = _singular(a)[1]
    bounds = _bounds(lengths, a, rtol)
    rank = minimum(as_tracer(a.shape[1]), as_tracer(a.shape[2]))
    counted = generate(lengths.shape, lambda s, i: (lengths[s, i] > bounds[s]) & (i < rank))
    return unstacked(sum(counted, axis=1), others)


@for_complex
@operation()
def pinv(x: Any, /, *, rtol: Any = None) -> Any:
    """The pseudo-inverse of each matrix; singular values up to `rtol` times the greatest are 0.

    Types: `x: t[.., m, n] -> t[.., n, m]`. Raises ShapeError for fewer than two axes.

        >>> fw.linalg.pinv([[2.0], [0.0]]).shape
        (1, 2)
    """
    a, others = matrices(x, "pinv")
    columns, lengths, v = _singular(a)
    bounds = _bounds(lengths, a, rtol)
    rank = minimum(as_tracer(a.shape[1]), as_tracer(a.shape[2]))
    u = _left(columns, rank)[:, :, :rank]

    def scaled(s: Any, i: Any, j: Any) -> Any:
        has = lengths[s, j] > bounds[s]
        return where(has, v[s, i, j] / where(has, lengths[s, j], 1), number(0, v))

    wide = generate((v.shape[0], v.shape[1], rank), scaled)
    return unstacked(matmul(wide, conj(matrix_transpose(u))), others)


def _eigen(x: Any, who: str) -> Any:
    """Eigenvalues and eigenvectors by NumPy's LAPACK."""
    values = np.asarray(x)
    if is_short(values):
        values = values.astype(np.float32)
    if values.ndim < 2 or values.shape[-1] != values.shape[-2]:
        raise ArgumentError(
            f"{who} takes square matrices, got {values.dtype}{list(values.shape)}.",
            where=user_location(), remedy="Give an array of two axes or more.",
        )  # fmt: skip
    if values.dtype.kind not in "fc":
        values = values.astype(np.float64)
    part = np.complex64 if values.dtype.itemsize == 4 or values.dtype == np.complex64 else complex
    try:
        return [np.asarray(found, dtype=part) for found in np.linalg.eig(values)]
    except np.linalg.LinAlgError as failure:
        raise ArgumentError(
            f"{who}: {failure}.", where=user_location(), remedy="See whether there are NaN in it."
        ) from None


def _host_eig(x: Any) -> Any:
    if not isinstance(x, Array | np.ndarray):
        return NotImplemented
    values, vectors = _eigen(x, "eig")
    return Eig(host_array(values), host_array(np.ascontiguousarray(vectors)))


def _host_eigvals(x: Any) -> Any:
    return NotImplemented if not isinstance(x, Array | np.ndarray) else _host_eig(x).eigenvalues


@for_complex
@operation(host=_host_eig)
def eig(x: Any, /) -> Any:
    """The eigenvalues and eigenvectors of square matrices, both complex, in no order.

    Outside of jitted functions they are NumPy's; inside it takes some n^4 operations.

    Types: `x: t[.., n, n] -> (complex[.., n], complex[.., n, n])`. Raises ShapeError for matrices
    that are not square.

        >>> fw.linalg.eig([[2.0, 0.0], [0.0, 3.0]])[0].real
        Array([2., 3.], dtype=float64)
    """
    a, others = matrices(x, "eig", square=True)
    values, vectors = eigen(a)
    return Eig(unstacked(values, others), unstacked(vectors, others))


@for_complex
@operation(host=_host_eigvals)
def eigvals(x: Any, /) -> Any:
    """The eigenvalues of square matrices, complex, in no order: as those of `eig`.

    Types: `x: t[.., n, n] -> complex[.., n]`. Raises ShapeError for matrices that are not square.

        >>> fw.linalg.eigvals([[2.0, 0.0], [0.0, 3.0]]).real
        Array([2., 3.], dtype=float64)
    """
    a, others = matrices(x, "eigvals", square=True)
    return unstacked(eigen(a)[0], others)
