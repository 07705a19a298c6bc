"""Eigenvalues and singular values of stacks of matrices by Jacobi's rotations.

    diagonal(a: [s, n, n])          a = v diag(w) v^H, of Hermitian matrices
    orthogonal(a: [s, m, n])        columns a v at right angles to each other, and v

In each round every index has one partner, as in a tournament, and all pairs are rotated at once; in
n - 1 rounds each pair has met, which is a sweep. Sweeps end when what is left is rounding.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from flatweave.frontend.complex.rules import number
from flatweave.frontend.elements.elementwise import abs, isfinite, maximum, minimum, sqrt
from flatweave.frontend.elements.scalars import where
from flatweave.frontend.functions.control import fori_loop, while_loop
from flatweave.frontend.functions.generate import generate
from flatweave.frontend.functions.reductions import any, max, sum
from flatweave.frontend.standard.numbers import conj
from flatweave.frontend.trace.tracers import as_tracer
from flatweave.frontend.values.complex import Complex

SWEEPS = 40
"""At most: matrices of ordinary numbers take 6 to 10."""


def partner(i: Any, turn: Any, n: Any) -> Any:
    """Whom an index meets in a round; itself when it sits out.

    Of an even number of players the last one stays, and the others go around a circle.
    """
    players = n + (n % 2)
    circle = where(players > 1, players - 1, 1)
    met = (turn + circle - i) % circle
    last = players - 1
    alone = (turn * (players // 2)) % circle  # who meets the last one
    other = where(i == last, alone, where(met == i, last, met))
    return where(other < n, other, i)


def _real(z: Any) -> Any:
    return z.real if isinstance(z, Complex) else z


def rotation(p: Any, q: Any, between: Any) -> tuple[Any, Any]:
    """(c, s) of the rotation that makes the element between two diagonal ones 0."""
    size = abs(between)
    none = size == 0
    safe = where(none, 1, size)
    half = (q - p) / (2 * safe)
    tangent = where(half >= 0, 1.0, -1.0).astype(half.dtype) / (
        abs(half) + sqrt(1 + half * half)
    )
    tangent = where(none, 0, tangent)
    c = 1 / sqrt(1 + tangent * tangent)
    return c, (between / safe) * (tangent * c)


def _pairs(diagonal: Any, between: Any, turn: Any) -> tuple[Any, Any]:
    """For each index the two elements of its column of the rotation: its own, its partner's."""
    stacks, n = diagonal.shape

    def element(s: Any, i: Any) -> tuple[Any, Any]:
        j = partner(i, turn, n)
        is_first = i <= j
        low, high = where(is_first, i, j), where(is_first, j, i)
        c, sine = rotation(diagonal[s, low], diagonal[s, high], between[s, low])
        own = where(i == j, 1, c)
        other = where(i == j, sine * 0, where(is_first, -conj(sine), sine))
        return own, other

    own, other = generate((stacks, n), element)
    return own, other


def _turned(x: Any, own: Any, other: Any, turn: Any) -> Any:
    """The columns rotated: x J."""
    n = x.shape[2]
    return generate(
        x.shape,
        lambda s, i, j: x[s, i, j] * own[s, j] + x[s, i, partner(j, turn, n)] * other[s, j],
    )


def _identity(stacks: Any, n: Any, like: Any) -> Any:
    zero, one = number(0, like), number(1, like)
    return generate((stacks, n, n), lambda s, i, j: where(i == j, one, zero))


def _eps(x: Any) -> float:
    """The distance from 1 to the next number of the same dtype."""
    return float(np.finfo(_real(x).dtype).eps)


def scaled(x: Any) -> tuple[Any, Any]:
    """Matrices whose greatest element is 1, and what they were divided by."""
    by = divisor(max(abs(x), axis=(1, 2), initial=0))
    return generate(x.shape, lambda s, i, j: x[s, i, j] / by[s]), by


def divisor(greatest: Any) -> Any:
    """What to divide numbers by, of which this is the greatest: 1 where it is 0 or not finite."""
    return where((greatest > 0) & isfinite(greatest), greatest, 1)


def _rounds(n: Any) -> Any:
    """How many rounds a sweep has."""
    players = n + (n % 2)
    return where(players > 1, players - 1, 0)


def diagonal(a: Any) -> tuple[Any, Any]:
    """The eigenvalues of Hermitian matrices, and their eigenvectors as columns, in no order."""
    a, by = scaled(a)
    stacks, n, _ = a.shape
    bound = _eps(a)

    def turn(k: Any, state: Any) -> Any:
        a, v = state
        values = generate((stacks, n), lambda s, i: _real(a[s, i, i]))
        between = generate((stacks, n), lambda s, i: a[s, i, partner(i, k, n)])
        own, other = _pairs(values, between, k)
        right = _turned(a, own, other, k)

        def element(s: Any, i: Any, j: Any) -> Any:
            first = right[s, i, j] * own[s, i]
            return first + right[s, partner(i, k, n), j] * conj(other[s, i])

        return generate((stacks, n, n), element), _turned(v, own, other, k)

    def left(a: Any) -> Any:
        """Whether there is more beside a diagonal than rounding."""
        squares = generate(a.shape, lambda s, i, j: where(i == j, 0, size(a[s, i, j])))
        most = sum(generate(a.shape, lambda s, i, j: size(a[s, i, j])), axis=(1, 2))
        return any(sum(squares, axis=(1, 2)) > (bound * bound) * most)

    def sweep(state: Any) -> Any:
        count, _, a, v = state
        a, v = fori_loop(0, _rounds(n), turn, (a, v))
        return count + 1, left(a), a, v

    start = as_tracer(0), left(a), a, _identity(stacks, n, a)
    _, _, a, v = while_loop(lambda state: state[1] & (state[0] < SWEEPS), sweep, start)
    return generate((stacks, n), lambda s, i: _real(a[s, i, i]) * by[s]), v


def size(z: Any) -> Any:
    """The square of the absolute value."""
    return z.real * z.real + z.imag * z.imag if isinstance(z, Complex) else z * z


def orthogonal(x: Any) -> tuple[Any, Any, Any]:
    """Matrices times unitary ones, so that their columns are orthogonal; the lengths of these; and
    the unitary matrices. The first is divided by its greatest element."""
    x, by = scaled(x)
    stacks, _, n = x.shape
    bound = _eps(x) * 4

    def turn(k: Any, state: Any) -> Any:
        x, v, worst = state
        lengths = sum(size_of(x), axis=1)
        products = generate(
            x.shape, lambda s, i, j: conj(x[s, i, j]) * x[s, i, partner(j, k, n)]
        )
        between = sum(products, axis=1)
        own, other = _pairs(lengths, between, k)

        most = max(lengths, axis=1, initial=0)

        def angle(s: Any, i: Any) -> Any:
            j = partner(i, k, n)
            outer = sqrt(lengths[s, i]) * sqrt(lengths[s, j])
            least = minimum(lengths[s, i], lengths[s, j])
            none = (i == j) | (least <= bound * bound * most[s])  # a column of rounding
            return where(none, 0, abs(between[s, i]) / where(none, 1, outer))

        angles = generate((stacks, n), angle)
        worst = maximum(worst, max(angles, initial=0))
        return _turned(x, own, other, k), _turned(v, own, other, k), worst

    def sweep(state: Any) -> Any:
        count, _, x, v = state
        x, v, worst = fori_loop(0, _rounds(n), turn, (x, v, number(0, _real(x))))
        return count + 1, worst > bound, x, v

    start = as_tracer(0), as_tracer(n) > 1, x, _identity(stacks, n, x)
    _, _, x, v = while_loop(lambda state: state[1] & (state[0] < SWEEPS), sweep, start)
    lengths = sqrt(sum(size_of(x), axis=1))
    return x, generate((stacks, n), lambda s, i: lengths[s, i] * by[s]), v


def size_of(x: Any) -> Any:
    """The squares of the absolute values."""
    return generate(x.shape, lambda s, i, j: size(x[s, i, j]))
