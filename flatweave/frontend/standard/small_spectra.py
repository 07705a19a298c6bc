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
from flatweave.frontend.standard.small_matrices import (
    Rows,
    are_small,
    elements,
    identity,
    matrices,
    moved,
    repeat,
)
from flatweave.frontend.values.array import Array
from flatweave.frontend.values.exchange import Values

ROUNDS = 8
"""Of rotations: each round squares what is off the diagonal, once that is small."""


def eigensystem(a: Values) -> tuple[Any, ...] | None:
    """The eigenvalues and eigenvectors of a stack of small real matrices; None for others."""
    return _of_stack(a, eigensystems, a.shape[:-1], a.shape)


def eigenvalues(a: Values) -> object:
    """Their eigenvalues."""
    found = _of_stack(a, spectra, a.shape[:-1])
    return None if found is None else found[0]


def orthogonal(a: Values, mode: str = "reduced") -> tuple[Any, ...] | None:
    """Their QR factors."""
    if a.shape[-1] != a.shape[-2] or mode not in ("reduced", "complete"):
        return None
    return _of_stack(a, reflections, a.shape, a.shape)


def _of_stack(a: Values, compute: Any, *shapes: tuple[int, ...]) -> tuple[Any, ...] | None:
    """The results of a program; None where matrices are large, or one does not go well."""
    n = a.shape[-1]
    if a.dtype.kind != "f" or not are_small(a):
        return None
    good, *found = compute(np.ascontiguousarray(a).reshape(-1), n)
    if not bool(good):
        return None
    return tuple(part.reshape(shape) for part, shape in zip(found, shapes, strict=True))


# -- one program for each size --------------------------------------------------------------------


@operation(static="n")
def eigensystems(a: Any, n: int) -> tuple[Array, Array, Array]:
    """Whether all went well, eigenvalues, and eigenvectors as columns."""

    def solved(m: Any) -> tuple[Any, ...]:
        good, values, vectors = _diagonal(m, n, identity(m, n))
        return (good, *values, *(x for row in vectors for x in row))

    good, *found = map(solved, matrices(a, n, n))
    return all(good), _together(found[:n]), _together(found[n:])


@operation(static="n")
def spectra(a: Any, n: int) -> tuple[Array, Array]:
    """Whether all went well, and eigenvalues."""

    def solved(m: Any) -> tuple[Any, ...]:
        good, values, _ = _diagonal(m, n, [])
        return (good, *values)

    good, *found = map(solved, matrices(a, n, n))
    return all(good), _together(found)


@operation(static="n")
def reflections(a: Any, n: int) -> tuple[Array, Array, Array]:
    """Whether all went well, and both factors."""

    def factored(m: Any) -> tuple[Any, ...]:
        good, q, r = _reflected(elements(m, n, n), identity(m, n))
        return (good, *(x for part in (q, r) for row in part for x in row))

    good, *found = map(factored, matrices(a, n, n))
    return all(good), _together(found[: n * n]), _together(found[n * n :])


def _together(parts: list[Any]) -> Array:
    return stack(parts, axis=1)


# -- one matrix -----------------------------------------------------------------------------------


def _diagonal(m: Any, n: int, vectors: Rows) -> tuple[Any, list[Any], Rows]:
    """Whether a matrix became diagonal, its eigenvalues in order, and rows of eigenvectors.

    Each step makes n / 2 elements 0 that share no row or column: those at i, turns - i. Then all
    rows and columns move up by one, except for the last of an even number, so that the next step is
    the same program. After `turns` steps each pair has met, and all are where they were (the round
    robin of Brent and Luk, SIAM J. Sci. Stat. Comput. 6, 1985, section 4).
    """
    turns = n - 1 + n % 2
    pairs = [(i, turns - i) for i in range(1, (turns + 1) // 2)]
    pairs += [(0, turns)] if turns < n else []
    order = [*range(1, turns), 0, *range(turns, n)]

    def turned(_: Any, state: tuple[Rows, Rows]) -> tuple[Rows, Rows]:
        lower, rows = ([[*line] for line in part] for part in state)
        for p, q in pairs:
            _rotate(lower, rows, p, q)
        return (
            [[lower[max(order[i], order[j])][min(order[i], order[j])] for j in range(i + 1)]
             for i in range(n)],
            [[row[j] for j in order] for row in rows],
        )  # fmt: skip

    lower, rows = [[m[i, j] for j in range(i + 1)] for i in range(n)], vectors
    if n > 1:
        lower, rows = fori_loop(0, ROUNDS * turns, turned, (lower, rows))
    values = [lower[i][i] for i in range(n)]
    left, total = number(0, values[0]), number(0, values[0])
    for i, line in enumerate(lower):
        for j, value in enumerate(line):
            left = left + abs(value) if i != j else left
            total = total + abs(value)
    good = (left <= total * float(np.finfo(m.dtype).eps)) & (total < float(np.finfo(m.dtype).max))
    return good, *_sorted(values, rows)


def _rotate(lower: Rows, rows: Rows, p: int, q: int) -> None:
    """A Jacobi rotation: element p, q of a symmetric matrix becomes 0; vectors rotate with it."""
    off = lower[q][p]
    none = off == 0
    angle = (lower[q][q] - lower[p][p]) / (2 * where(none, 1, off))
    t = where(none, 0, copysign(1 / (abs(angle) + sqrt(angle * angle + 1)), angle))
    cosine = 1 / sqrt(t * t + 1)
    sine = t * cosine
    lower[p][p], lower[q][q] = lower[p][p] - t * off, lower[q][q] + t * off
    lower[q][p] = number(0, off)
    for r in (r for r in range(len(lower)) if r not in (p, q)):
        (a, b), (c, d) = (max(p, r), min(p, r)), (max(q, r), min(q, r))
        x, y = lower[a][b], lower[c][d]
        lower[a][b], lower[c][d] = cosine * x - sine * y, sine * x + cosine * y
    for row in rows:
        x, y = row[p], row[q]
        row[p], row[q] = cosine * x - sine * y, sine * x + cosine * y


def _sorted(values: list[Any], rows: Rows) -> tuple[list[Any], Rows]:
    """Eigenvalues in ascending order, and the columns of vectors with them: neighbours exchange
    places, those from an even position and those from an odd one in turn."""
    n = len(values)

    def step(_: Any, lines: Rows) -> Rows:
        lines = [[*line] for line in lines]
        for k in (*range(0, n - 1, 2), *range(1, n - 1, 2)):
            swaps = lines[0][k] > lines[0][k + 1]
            for line in lines:
                x, y = line[k], line[k + 1]
                line[k], line[k + 1] = where(swaps, y, x), where(swaps, x, y)
        return lines

    lines = repeat((n + 1) // 2, step, [values, *rows], n * (len(rows) + 1))
    return lines[0], lines[1:]


def _reflected(matrix: Rows, one: Rows) -> tuple[Any, Rows, Rows]:
    """Whether all norms are exact, and the factors: what makes the matrix a triangle makes an
    identity matrix the transpose of the orthogonal factor."""
    n = len(matrix)
    rows = [line + other for line, other in zip(matrix, one, strict=True)]

    def step(k: Any, state: tuple[Any, Rows]) -> tuple[Any, Rows]:
        good, rows = state[0], [[*line] for line in state[1]]
        left = n - k  # the rows from there on are done
        is_known = isinstance(k, int)
        below = range(1, left if is_known else n)
        nothing = number(0, rows[0][0])
        v = [rows[i][0] if is_known else where(i < left, rows[i][0], nothing) for i in below]
        exact, tau, scale, rows[0][0] = _reflection(rows[0][0], v)
        v = [x * scale for x in v]
        columns = [*range(1, left if is_known else n), *range(n, 2 * n)]
        for j in columns:
            inner = rows[0][j]
            for i, x in zip(below, v, strict=True):
                inner = inner + x * rows[i][j]
            inner = inner * tau
            rows[0][j] = rows[0][j] - inner
            for i, x in zip(below, v, strict=True):
                rows[i][j] = rows[i][j] - inner * x
        return exact & good, moved(rows, n)

    good, rows = repeat(n - 1, step, (True, rows), 2 * n * n)
    rows = moved(rows, n)
    nothing = number(0, rows[0][0])
    r = [[rows[i][j] if i <= j else nothing for j in range(n)] for i in range(n)]
    return good, [[rows[j][n + i] for j in range(n)] for i in range(n)], r


def _reflection(first: Any, below: list[Any]) -> tuple[Any, Any, Any, Any]:
    """Of a column: whether its norm is exact, the factor of the reflection, that of the elements
    below the first one, and what the first one becomes."""
    rest = below[0] * below[0]
    nothing = below[0] == 0
    for x in below[1:]:
        rest = rest + x * x
        nothing = nothing & (x == 0)
    kind = np.finfo(first.dtype)
    exact = (rest > float(kind.tiny / kind.eps**2)) & (first * first + rest < float(kind.max))
    exact = exact | (nothing & (abs(first) < float(kind.max)))
    beta = -copysign(sqrt(first * first + rest), first)
    tau = where(nothing, 0, (beta - first) / where(nothing, 1, beta))
    scale = 1 / where(nothing, 1, first - beta)
    return exact, tau, scale, where(nothing, first, beta)
