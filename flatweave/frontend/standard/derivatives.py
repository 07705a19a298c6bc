"""Derivatives of what libraries compute: of `fw.linalg` by closed forms, of `fw.fft` by transposes.

    y = inv(a)         dy = -y da y           l l^H = a     dl = l half(l^-1 da l^-H)
    solve(a, b)        dx = solve(a, db - da x); linear in b, with the transpose solve(a^T, ..)

Rules are written in terms of public functions, so they have derivatives, too. Those of matrices are
rules for forward mode, which reverse mode transposes. Vectors of equal eigenvalues, or singular
values, may be turned into each other: their derivative along that is 0, where the formula divides
by 0. Functions of Hermitian matrices have Hermitian derivatives, as in JAX.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any, cast

import numpy as np

from flatweave.frontend.arrays.shapes import expand_dims
from flatweave.frontend.complex.rules import number
from flatweave.frontend.elements.elementwise import abs
from flatweave.frontend.elements.scalars import where
from flatweave.frontend.functions.combinators import generate
from flatweave.frontend.functions.custom import Rules
from flatweave.frontend.functions.reductions import max, sum
from flatweave.frontend.standard import fft as transforms
from flatweave.frontend.standard.arrangement import matrix_transpose
from flatweave.frontend.standard.library import (
    SINGULAR,
    dtype_of,
    failed,
    like,
    part_of,
    step,
    with_rules,
)
from flatweave.frontend.standard.linalg import (
    Slogdet,
    adjugate_slopes,
    adjugates,
    cholesky,
    det,
    inv,
    slogdet,
    solve,
)
from flatweave.frontend.standard.products import matmul
from flatweave.frontend.standard.spectra import QR, SVD, Eig, Eigh, eig, eigh, pinv, qr, svd
from flatweave.frontend.standard.statistics import conj, imag, real
from flatweave.frontend.trace import extents
from flatweave.frontend.values.array import Array
from flatweave.frontend.values.exchange import Values
from flatweave.frontend.values.number_formats import Complex

Jvp = Callable[[Sequence[Any], Sequence[Any]], tuple[object, object]]


def _product(*matrices: Array) -> Array:
    """The product of several matrices, from the left."""
    found = matrices[0]
    for other in matrices[1:]:
        found = matmul(found, other)
    return found


def _adjoint(a: Any) -> Array:
    """The conjugate transpose."""
    return conj(matrix_transpose(a)) if isinstance(a, Complex) else matrix_transpose(a)


def _hermitian(a: Array) -> Array:
    return (a + _adjoint(a)) / 2


def _scaled(a: Any, factor: Callable[[Any, Any], Any]) -> Array:
    """A matrix times a factor for each row and column."""
    zero = number(0, a)

    def element(*at: Any) -> Array:
        by = factor(at[-2], at[-1])
        return where(by == 0, zero, a[at] * by)

    return generate(a.shape, element)


def _half(i: Any, j: Any) -> Array:
    """What makes a Hermitian matrix the lower triangle that adds up to it with its adjoint."""
    return where(i > j, 1.0, where(i == j, 0.5, 0.0))


def _diagonal(a: Array) -> Array:
    return generate(a.shape[:-1], lambda *at: a[(*at, at[-1])])


def _inner(a: Any, b: Any) -> Array:
    """The trace of `a @ b`."""
    return sum(matrix_transpose(a) * b, axis=(-2, -1))


def _columns(by: Any) -> Array:
    """A factor for each column."""
    return expand_dims(by, -2)


# -- equations ------------------------------------------------------------------------------------


def _solve_jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Array, Array]:
    (a, b), (da, db) = primals, tangents
    x = solve(a, b)
    return x, solve(a, db - matmul(da, x))


def _inv_jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Array, Array]:
    y = inv(*primals)
    return y, -_product(y, tangents[0], y)


def _det_jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Array, Array]:
    """By the adjugate, which a singular matrix has, too."""
    return det(*primals), _inner(adjugate(*primals), tangents[0])


def adjugate(a: Any) -> Array:
    """The determinant times the inverse, which also a singular matrix has."""
    return with_rules("adjugate", partial(_of_matrices, adjugates), a)


def _of_matrices(compute: Callable[..., Values], *arrays: Any) -> Array:
    """A step that gives matrices of the shape of the last ones."""
    last = arrays[-1]
    return step(compute, arrays, [like(last, *last.shape[-2:], dtype=dtype_of(*arrays))])[0]


def adjugate_along(a: Any, t: Any) -> Array:
    """The derivative of the adjugate of `a` along `t`, which is linear in `t`."""
    return with_rules("adjugate_along", partial(_of_matrices, adjugate_slopes), a, t)


def _adjugate_along_jvp(
    primals: Sequence[Any], tangents: Sequence[Any]
) -> tuple[Array, Array]:
    """The derivative of trace(y t) c - y t c, where y = inv(a), and c is the adjugate."""
    (a, t), (da, dt) = primals, tangents
    c, y = adjugate(a), with_rules("inv", partial(_of_matrices, _inverse), a)
    dc, yt = adjugate_along(a, da), matmul(y, t)
    dyt = -_product(y, da, yt)
    moved = _trace(yt) * dc - matmul(yt, dc) + _trace(dyt) * c - matmul(dyt, c)
    return adjugate_along(a, t), moved + adjugate_along(a, dt)


def _inverse(a: Values) -> Values:
    """The inverse; the error for a singular matrix says what it is needed for."""
    try:
        return np.linalg.inv(a)
    except np.linalg.LinAlgError:
        raise failed(
            "the third derivative of det", SINGULAR, "Take two derivatives at most."
        ) from None


def _trace(a: Any) -> Array:
    """The trace, of two more axes of extent 1."""
    return expand_dims(expand_dims(sum(_diagonal(a), axis=-1), -1), -1)


def _slogdet_jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Slogdet, Slogdet]:
    found = slogdet(*primals)
    t = _inner(inv(*primals), tangents[0])
    if not isinstance(found.sign, Complex):
        return found, Slogdet(None, t)
    turn = imag(t)
    return found, Slogdet(found.sign * Complex(turn * 0, turn), real(t))


def _cholesky_jvp(upper: bool) -> Jvp:
    def jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Array, Array]:
        factor = cholesky(*primals)
        y = inv(factor)
        inside = _scaled(_product(y, _hermitian(tangents[0]), _adjoint(y)), _half)
        moved = matmul(factor, inside)
        return (_adjoint(factor), _adjoint(moved)) if upper else (factor, moved)

    return jvp


# -- eigenvalues and singular values --------------------------------------------------------------


def _one_over_differences(values: Any) -> Array:
    """1 / (x_j - x_i), and 0 where they are equal up to rounding."""
    n = values.shape[-1]
    sizes = abs(values)
    bound = max(sizes, axis=-1, initial=0) * (n * float(np.finfo(sizes.dtype).eps))

    def element(*at: Any) -> Array:
        others = at[:-2]
        difference = values[(*others, at[-1])] - values[(*others, at[-2])]
        is_far = abs(difference) > bound[others]
        return where(is_far, 1 / where(is_far, difference, number(1, values)), number(0, values))

    return generate((*values.shape, n), element)


def _eigh_jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Eigh, Eigh]:
    w, v = eigh(*primals)
    t = _product(_adjoint(v), _hermitian(tangents[0]), v)
    moved = matmul(v, t * _one_over_differences(w))
    return Eigh(w, v), Eigh(_diagonal(real(t)), moved)


def _eigvalsh_jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Array, Array]:
    w, v = eigh(*primals)
    return w, _diagonal(real(_product(_adjoint(v), _hermitian(tangents[0]), v)))


def _eigvals_jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Array, Array]:
    w, v = eig(*primals)
    return w, _diagonal(_product(inv(v), tangents[0], v))


def _eig_jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Eig, Eig]:
    """Vectors keep the length 1, and the greatest element of each stays real."""
    w, v = eig(*primals)
    t = _product(inv(v), tangents[0], v)
    moved = matmul(v, t * _one_over_differences(w))
    sizes = abs(v)
    greatest = where(sizes == max(sizes, axis=-2, keepdims=True), 1.0, 0.0)
    turn = sum(imag(moved * conj(v)) * greatest, axis=-2) / sum(sizes * sizes * greatest, axis=-2)
    grown = sum(real(moved * conj(v)), axis=-2)
    return Eig(w, v), Eig(_diagonal(t), moved - v * _columns(Complex(grown, turn)))


def _svd_jvp(full_matrices: bool) -> Jvp:
    def jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[SVD, SVD]:
        (a,), (da,) = primals, tangents
        if full_matrices:
            rows, columns = part_of(a).extents[-2:]
            extents.same(
                rows, columns,
                "the derivative of svd with full_matrices needs square matrices, got {0} rows and"
                " {1} columns.", remedy="Give full_matrices=False.",
            )  # fmt: skip
        u, s, vh = svd(a, full_matrices=False)
        v, uh = _adjoint(vh), _adjoint(u)
        t = _product(uh, da, v)
        near = _one_over_differences(s * s)
        is_known = s > 0
        inverse = where(is_known, 1 / where(is_known, s, number(1, s)), number(0, s))
        moved = t * _columns(s), t * expand_dims(s, -1)
        du, dv = (matmul(x, (m + _adjoint(m)) * near) for x, m in zip((u, v), moved, strict=True))
        if isinstance(a, Complex):  # the phases of pairs of vectors
            du = du + matmul(u, _scaled(t - _adjoint(t), _phase) * _columns(inverse))
        across, along = matmul(da, v), matmul(_adjoint(da), u)
        m, n = a.shape[-2:]
        du = du + (across - matmul(u, t)) * _columns(inverse) * where(m > n, 1.0, 0.0)
        dv = dv + (along - matmul(v, _adjoint(t))) * _columns(inverse) * where(m < n, 1.0, 0.0)
        return SVD(u, s, vh), SVD(du, _diagonal(real(t)), _adjoint(dv))

    return jvp


def _phase(i: Any, j: Any) -> Array:
    return where(i == j, 0.5, 0.0)


def _svdvals_jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Array, Array]:
    u, s, vh = svd(*primals, full_matrices=False)
    return s, _diagonal(real(_product(_adjoint(u), tangents[0], _adjoint(vh))))


def _pinv_jvp(rtol: Any) -> Jvp:
    def jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Array, Array]:
        (a,), (da,) = primals, tangents
        p = pinv(a, rtol=rtol)
        h, ph = _adjoint(da), _adjoint(p)
        left = matmul(p, ph)
        right = matmul(ph, p)
        moved = -_product(p, da, p)
        moved = moved + matmul(left, h - _product(h, a, p))
        return p, moved + matmul(h - _product(p, a, h), right)

    return jvp


def _qr_jvp(mode: str) -> Jvp:
    def jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[object, object]:
        (a,), (da,) = primals, tangents
        if mode == "complete":
            m, n = part_of(a).extents[-2:]
            extents.same(
                m, extents.least(m, n),
                "the derivative of qr with mode \"complete\" needs as many columns as rows, got {1}"
                " for {0}.", remedy='Use mode="reduced".',
            )  # fmt: skip
        q, r = cast(QR, qr(a))
        k = r.shape[-2]
        first = inv(r[..., :k])
        moved = matmul(da[..., :k], first)
        t = matmul(_adjoint(q), moved)
        below = _scaled(t, lambda i, j: where(i > j, 1.0, 0.0))
        turn = below - _adjoint(below)
        if isinstance(t, Complex):
            turn = turn + _scaled(t - _adjoint(t), _phase)
        dq = matmul(q, turn - t) + moved
        dr = _scaled(matmul(_adjoint(q), da - matmul(dq, r)), lambda i, j: where(i > j, 0.0, 1.0))
        return (r, dr) if mode == "r" else (QR(q, r), QR(dq, dr))

    return jvp


# -- Fourier transforms ---------------------------------------------------------------------------


def _transposed(function: Callable[[Any], Any], is_real: bool) -> Rules:
    """The rule of a linear function, whose transpose this is; of real arguments the real part."""
    def transpose(cotangent: Any) -> tuple[Any]:
        found = function(cotangent)
        return (real(found) if is_real else found,)

    return Rules(transpose=transpose, linear=1)


def _halved(name: str, length: Any, norm: Any) -> Callable[[Any], Any]:
    """The transpose of a real transform: all but the ends count for their mirror images, too."""
    other = transforms.ihfft if name == "irfft" else transforms.rfft

    def function(cotangent: Any) -> Array:
        found = other(cotangent, n=length, norm=norm)
        one, two = (number(k, found) for k in (1, 2))

        def element(*at: Any) -> Array:
            is_end = (at[-1] == 0) | (2 * at[-1] == length)
            return found[at] * where(is_end, one, two)

        return generate(found.shape, element)

    return function


def _transform(name: str, is_real: bool, norm: Any, length: Any = None, axes: Any = None) -> Rules:
    """The rule of a transform along the last axis, or along axes."""
    if name in ("fftn", "ifftn"):
        function = getattr(transforms, name)
        return _transposed(lambda c: function(c, axes=axes, norm=norm), is_real)
    if name in ("irfft", "hfft"):
        return _transposed(_halved(name, length, norm), is_real)
    whole = transforms.fft if name in ("fft", "rfft") else transforms.ifft
    return _transposed(lambda c: whole(c, n=length, norm=norm), is_real)


RULES: MappingProxyType[str, Callable[..., Rules]] = MappingProxyType({
    "solve": lambda: Rules(
        jvp=_solve_jvp, transpose=lambda a, c: (solve(matrix_transpose(a), c),), linear=1
    ),
    "inv": lambda: Rules(jvp=_inv_jvp),
    "det": lambda: Rules(jvp=_det_jvp),
    "adjugate": lambda: Rules(jvp=lambda a, t: (adjugate(*a), adjugate_along(*a, *t))),
    "adjugate_along": lambda: Rules(
        jvp=_adjugate_along_jvp, linear=1,
        transpose=lambda a, c: (matrix_transpose(adjugate_along(a, matrix_transpose(c))),),
    ),
    "slogdet": lambda: Rules(jvp=_slogdet_jvp),
    "cholesky": lambda upper: Rules(jvp=_cholesky_jvp(upper)),
    "eigh": lambda: Rules(jvp=_eigh_jvp),
    "eigvalsh": lambda: Rules(jvp=_eigvalsh_jvp),
    "eig": lambda: Rules(jvp=_eig_jvp),
    "eigvals": lambda: Rules(jvp=_eigvals_jvp),
    "svd": lambda full_matrices: Rules(jvp=_svd_jvp(full_matrices)),
    "svdvals": lambda: Rules(jvp=_svdvals_jvp),
    "pinv": lambda rtol: Rules(jvp=_pinv_jvp(rtol)),
    "qr": lambda mode: Rules(jvp=_qr_jvp(mode)),
    "transform": _transform,
})  # fmt: skip
