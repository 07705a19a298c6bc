"""Eigenvalues and QR factors of stacks of small matrices: a matrix in each lane, in registers.

    eigensystems(a: f64[s, 4, 4], n=4)     rounds of Jacobi's rotations, then a sorting network
    reflections(a: f64[s, 4, 4], n=4)      Householder's reflections, with LAPACK's signs

A program also says whether all its matrices went well: LAPACK takes the stack where one did not, as
with NaN, or with elements whose squares are 0 or infinite.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from flatweave.frontend.call.operation import operation
from flatweave.frontend.complex.rules import number
from flatweave.frontend.elements.elementwise import abs, copysign, sqrt
from flatweave.frontend.elements.scalars import where
from flatweave.frontend.functions.combinators import map
from flatweave.frontend.functions.control import fori_loop
from flatweave.frontend.functions.reductions import all
from flatweave.frontend.standard.arrangement import stack
from flatweave.frontend.standard.library import Values
from flatweave.frontend.standard.small_matrices import Rows, are_small, elements, identity

ROUNDS = 8
"""Of rotations: each round squares what is off the diagonal, once that is small."""


def eigensystem(a: Values) -> Any:
    """The eigenvalues and eigenvectors of a stack of small real matrices; None for others."""
    return _of_stack(a, eigensystems, 2, a.shape[:-1], a.shape)


def eigenvalues(a: Values) -> Any:
    """Their eigenvalues."""
    found = _of_stack(a, spectra, 1, a.shape[:-1])
    return None if found is None else found[0]


def orthogonal(a: Values, mode: str = "reduced") -> Any:
    """Their QR factors."""
    if a.shape[-1] != a.shape[-2] or mode not in ("reduced", "complete"):
        return None
    return _of_stack(a, reflections, 2, a.shape, a.shape)


def _of_stack(a: Values, compute: Any, more: int, *shapes: tuple[int, ...]) -> Any:
    """The results of a program; None where matrices are large, or one does not go well."""
    n = a.shape[-1]
    if a.dtype.kind != "f" or not are_small(a, more * n):
        return None
    good, *found = compute(np.ascontiguousarray(a).reshape(-1, n, n), n)
    if not bool(good):
        return None
    return tuple(part.reshape(shape) for part, shape in zip(found, shapes, strict=True))


# -- one program for each size --------------------------------------------------------------------


@operation(static="n")
def eigensystems(a: Any, n: int) -> Any:
    """Whether all went well, eigenvalues, and eigenvectors as columns."""

    def solved(m: Any) -> tuple[Any, ...]:
        good, values, vectors = _diagonal(m, n, identity(m, n))
        return (good, *values, *(x for row in vectors for x in row))

    good, *found = map(solved, a)
    return all(good), _together(found[:n]), _together(found[n:])


@operation(static="n")
def spectra(a: Any, n: int) -> Any:
    """Whether all went well, and eigenvalues."""

    def solved(m: Any) -> tuple[Any, ...]:
        good, values, _ = _diagonal(m, n, [])
        return (good, *values)

    good, *found = map(solved, a)
    return all(good), _together(found)


@operation(static="n")
def reflections(a: Any, n: int) -> Any:
    """Whether all went well, and both factors."""

    def factored(m: Any) -> tuple[Any, ...]:
        good, q, r = _reflected(elements(m, n, n), identity(m, n))
        return (good, *(x for part in (q, r) for row in part for x in row))

    good, *found = map(factored, a)
    return all(good), _together(found[: n * n]), _together(found[n * n :])


def _together(parts: list[Any]) -> Any:
    return stack(parts, axis=1)


# -- one matrix -----------------------------------------------------------------------------------


def _diagonal(m: Any, n: int, vectors: Rows) -> tuple[Any, list[Any], Rows]:
    """Whether a matrix became diagonal, its eigenvalues in order, and rows of eigenvectors."""
    lower = [(i, j) for i in range(n) for j in range(i + 1)]

    def turned(_: Any, state: tuple[Any, ...]) -> tuple[Any, ...]:
        s = dict(zip(lower, state[: len(lower)], strict=True))
        rows = [list(state[k : k + n]) for k in range(len(lower), len(state), n)]
        for p in range(n):
            for q in range(p + 1, n):
                _rotate(s, rows, p, q, n)
        return (*(s[at] for at in lower), *(x for row in rows for x in row))

    given = (*(m[i, j] for i, j in lower), *(x for row in vectors for x in row))
    state = fori_loop(0, ROUNDS, turned, given) if n > 1 else given
    s = dict(zip(lower, state[: len(lower)], strict=True))
    rows = [list(state[k : k + n]) for k in range(len(lower), len(state), n)]
    values = [s[i, i] for i in range(n)]
    left, total = number(0, values[0]), number(0, values[0])
    for i, j in lower:
        if i != j:
            left = left + abs(s[i, j])
        total = total + abs(s[i, j])
    good = (left <= total * float(np.finfo(m.dtype).eps)) & (total < float(np.finfo(m.dtype).max))
    _sort(values, rows)
    return good, values, rows


def _rotate(s: dict[tuple[int, int], Any], rows: Rows, p: int, q: int, n: int) -> None:
    """A Jacobi rotation: element p, q of a symmetric matrix becomes 0; vectors rotate with it."""
    off = s[q, p]
    none = off == 0
    angle = (s[q, q] - s[p, p]) / (2 * where(none, 1, off))
    t = where(none, 0, copysign(1 / (abs(angle) + sqrt(angle * angle + 1)), angle))
    cosine = 1 / sqrt(t * t + 1)
    sine = t * cosine
    by = sine / (1 + cosine)
    s[p, p], s[q, q] = s[p, p] - t * off, s[q, q] + t * off
    s[q, p] = number(0, off)
    pairs = [(max(p, r), min(p, r), max(q, r), min(q, r)) for r in range(n) if r not in (p, q)]
    for a, b, c, d in pairs:
        x, y = s[a, b], s[c, d]
        s[a, b], s[c, d] = x - sine * (y + by * x), y + sine * (x - by * y)
    for row in rows:
        x, y = row[p], row[q]
        row[p], row[q] = x - sine * (y + by * x), y + sine * (x - by * y)


def _sort(values: list[Any], rows: Rows) -> None:
    """Bring eigenvalues into ascending order, and the columns of vectors with them."""
    for end in range(len(values) - 1, 0, -1):
        for k in range(end):
            swaps = values[k] > values[k + 1]
            for line in (values, *rows):
                x, y = line[k], line[k + 1]
                line[k], line[k + 1] = where(swaps, y, x), where(swaps, x, y)


def _reflected(r: Rows, q: Rows) -> tuple[Any, Rows, Rows]:
    """Whether all norms are exact, and the factors."""
    n, good = len(r), True
    steps = []
    for k in range(n - 1):
        below = [r[i][k] for i in range(k + 1, n)]
        first, rest = r[k][k], below[0] * below[0]
        for x in below[1:]:
            rest = rest + x * x
        kind = np.finfo(first.dtype)
        exact = (rest > float(kind.tiny / kind.eps**2)) & (first * first + rest < float(kind.max))
        nothing = below[0] == 0
        for x in below[1:]:
            nothing = nothing & (x == 0)
        good = (exact | (nothing & (abs(first) < float(kind.max)))) & good
        beta = -copysign(sqrt(first * first + rest), first)
        tau = where(nothing, 0, (beta - first) / where(nothing, 1, beta))
        scale = 1 / where(nothing, 1, first - beta)
        v = [x * scale for x in below]
        steps.append((tau, v))
        r[k][k] = where(nothing, first, beta)
        for i in range(k + 1, n):
            r[i][k] = number(0, first)
        _reflect(r, tau, v, k, range(k + 1, n))
    for k in reversed(range(n - 1)):
        _reflect(q, *steps[k], k, range(k, n))
    return good, q, r


def _reflect(rows: Rows, tau: Any, v: list[Any], k: int, columns: range) -> None:
    """Reflect columns by the vector 1, v from row k on."""
    for j in columns:
        inner = rows[k][j]
        for i, x in enumerate(v, k + 1):
            inner = inner + x * rows[i][j]
        inner = inner * tau
        rows[k][j] = rows[k][j] - inner
        for i, x in enumerate(v, k + 1):
            rows[i][j] = rows[i][j] - inner * x
