"""Eigenvalues and eigenvectors of stacks of matrices without symmetry.

    triangular(a: [s, n, n])      a = v t v^H with t upper triangular: shifted QR steps
    backward(t)                   t y = y diag(t), column by column

Every step is a similarity by the Q of the leading block that is still left, less a shift near one
of its eigenvalues; a matrix whose last row there is 0 but for the diagonal goes on with one row
less. All matrices of a stack take their steps together.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from flatweave.frontend.arrays.sources import full
from flatweave.frontend.complex.rules import number, whole
from flatweave.frontend.elements.elementwise import abs, maximum, sqrt
from flatweave.frontend.elements.scalars import where
from flatweave.frontend.functions.control import fori_loop, while_loop
from flatweave.frontend.functions.generate import generate
from flatweave.frontend.functions.reductions import any, sum
from flatweave.frontend.standard.arrangement import matrix_transpose
from flatweave.frontend.standard.numbers import conj
from flatweave.frontend.standard.products import matmul
from flatweave.frontend.standard.reflections import reflected
from flatweave.frontend.standard.rotations import scaled, size
from flatweave.frontend.trace.tracers import as_tracer
from flatweave.frontend.values.complex import Complex

STEPS = 40
"""Steps for each row, at most: two or three are usual."""


def _shift(t: Complex, s: Any, last: Any, beside: Any, count: Any) -> Any:
    """The eigenvalue of the last two rows and columns that is nearer to the last element; a number
    as far away as the rest of the row in every tenth step, so that nothing goes round in circles.
    """
    up = maximum(last - 1, 0)
    a, b, c, d = t[s, up, up], t[s, up, last], t[s, last, up], t[s, last, last]
    half = (a - d) * 0.5
    root = sqrt(half * half + b * c)
    low, high = d + half - root, d + half + root
    nearer = where(size(low - d) <= size(high - d), low, high)
    return where(count % 10 == 9, d + beside * 0.75, nearer)


def triangular(a: Any) -> tuple[Any, Any, Any]:
    """Upper triangular matrices, the unitary ones that take them there, and what the former are to
    be multiplied with."""
    a, by = scaled(whole(a))
    stacks, n, _ = a.shape
    zero, one = number(0, a), number(1, a)
    eps = float(np.finfo(a.real.dtype).eps)

    def beside(t: Any, last: Any) -> Any:
        """How much there is before the diagonal in each last row."""
        row = generate((stacks, n), lambda s, j: where(j < last[s], abs(t[s, last[s], j]), 0))
        return sum(row, axis=1)

    def step(state: Any) -> Any:
        count, last, t, v = state
        rest = beside(t, last)
        shifts = generate(stacks, lambda s: _shift(t, s, last[s], rest[s], count))

        def block(s: Any, i: Any, j: Any) -> Any:
            inside = (i <= last[s]) & (j <= last[s])
            left = where(i == j, t[s, i, j] - shifts[s], t[s, i, j])
            return where(inside, left, where(i == j, one, zero))

        q, _ = reflected(generate((stacks, n, n), block))
        t = matmul(conj(matrix_transpose(q)), matmul(t, q))
        near = generate(stacks, lambda s: abs(t[s, last[s], last[s]]) + abs(
            t[s, maximum(last[s] - 1, 0), maximum(last[s] - 1, 0)]))  # fmt: skip
        done = beside(t, last) <= eps * near
        last = where(done & (last > 0), last - 1, last)
        return count + 1, last, t, matmul(v, q)

    identity = generate((stacks, n, n), lambda s, i, j: where(i == j, one, zero))
    most = STEPS * as_tracer(n)
    start = as_tracer(0), full(stacks, maximum(as_tracer(n) - 1, 0)), a, identity
    _, _, t, v = while_loop(lambda state: any(state[1] > 0) & (state[0] < most), step, start)
    return t, v, by


def backward(t: Any) -> Any:
    """The eigenvectors of upper triangular matrices, by their rows from the last one up."""
    stacks, n, _ = t.shape
    zero, one = number(0, t), number(1, t)
    tiny = float(np.finfo(t.real.dtype).tiny) ** 0.5

    def row(turn: Any, y: Any) -> Any:
        at = n - 1 - turn
        products = generate(
            (stacks, n, n), lambda s, j, k: where(j > at, t[s, at, j] * y[s, j, k], zero)
        )
        sums = sum(products, axis=1)

        def element(s: Any, i: Any, k: Any) -> Any:
            apart = t[s, k, k] - t[s, at, at]
            safe = where(size(apart) == 0, tiny, apart)
            value = where(at < k, sums[s, k] / safe, where(at == k, one, zero))
            return where(i == at, value, y[s, i, k])

        return generate((stacks, n, n), element)

    return fori_loop(0, n, row, generate((stacks, n, n), lambda s, i, k: zero))


def eigen(a: Any) -> tuple[Any, Any]:
    """The eigenvalues, and eigenvectors of length 1 as columns."""
    t, v, by = triangular(a)
    stacks, n, _ = t.shape
    vectors = matmul(v, backward(t))
    lengths = sqrt(sum(generate(t.shape, lambda s, i, j: size(vectors[s, i, j])), axis=1))
    return (
        generate((stacks, n), lambda s, i: t[s, i, i] * by[s]),
        generate(t.shape, lambda s, i, j: vectors[s, i, j] / lengths[s, j]),
    )
