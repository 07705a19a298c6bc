"""QR factors of stacks of matrices by Householder's reflections.

    reflected(a: [s, m, n])     q: [s, m, m] and r: [s, m, n], a = q r

Squares are taken of columns divided by their greatest element, so that none is lost.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from flatweave.frontend.complex.rules import number
from flatweave.frontend.elements.elementwise import abs, minimum, sqrt
from flatweave.frontend.elements.scalars import where
from flatweave.frontend.functions.control import cond, fori_loop
from flatweave.frontend.functions.generate import generate
from flatweave.frontend.functions.reductions import max, sum
from flatweave.frontend.standard.numbers import conj
from flatweave.frontend.standard.rotations import divisor, size
from flatweave.frontend.trace.tracers import as_tracer
from flatweave.frontend.values.complex import Complex


def reflected(a: Any) -> tuple[Any, Any]:
    """Unitary matrices and upper triangular ones whose products are the matrices."""
    stacks, m, n = a.shape
    zero, one = number(0, a), number(1, a)
    unit = one.real if isinstance(one, Complex) else one
    least = float(np.sqrt(np.finfo(unit.dtype).tiny))
    by = divisor(max(abs(a), axis=1, initial=0))
    columns = generate(a.shape, lambda s, i, j: a[s, i, j] / by[s, j])

    def turn(k: Any, state: Any) -> Any:
        q, r = state
        column = generate((stacks, m), lambda s, i: where(i >= k, r[s, i, k], zero))
        squares = sum(generate((stacks, m), lambda s, i: size(column[s, i])), axis=1)

        def tiny(s: Any) -> tuple[Any, Any]:
            most = divisor(max(abs(column[s]), initial=0))
            return most, sqrt(sum(generate(m, lambda i: size(column[s, i] / most))))

        most, length = generate(stacks, lambda s: cond(
            squares[s] > least, lambda: (unit, sqrt(squares[s])), lambda: tiny(s)))  # fmt: skip

        def goal(s: Any) -> Any:
            """What the reflection makes of the element on the diagonal."""
            first = column[s, k] / most[s]
            far = abs(first)
            phase = where(far == 0, one, first / where(far == 0, 1, far))
            return -phase * length[s]

        goals = generate(stacks, goal)

        def normal(s: Any, i: Any) -> Any:
            value = column[s, i] / most[s]
            return where(i == k, value - goals[s], value)

        v = generate((stacks, m), normal)
        lengths = sum(generate((stacks, m), lambda s, i: size(v[s, i])), axis=1)
        twice = generate(stacks, lambda s: where(lengths[s] == 0, 0, 2 / where(
            lengths[s] == 0, 1, lengths[s])))  # fmt: skip
        across = sum(generate((stacks, m, n), lambda s, i, j: conj(v[s, i]) * r[s, i, j]), axis=1)
        along = sum(generate((stacks, m, m), lambda s, i, j: q[s, i, j] * v[s, j]), axis=2)

        def turned(s: Any, i: Any, j: Any) -> Any:
            value = r[s, i, j] - v[s, i] * across[s, j] * twice[s]
            goal = where(i == k, goals[s] * most[s], zero)
            return where(j == k, where(i < k, r[s, i, j], goal), value)

        return (
            generate((stacks, m, m), lambda s, i, j: q[s, i, j] - along[s, i] * conj(v[s, j])
                     * twice[s]),
            generate((stacks, m, n), turned),
        )  # fmt: skip

    start = generate((stacks, m, m), lambda s, i, j: where(i == j, one, zero))
    q, r = fori_loop(0, minimum(as_tracer(m), as_tracer(n)), turn, (start, columns))
    upper = generate((stacks, m, n), lambda s, i, j: where(j >= i, r[s, i, j] * by[s, j], zero))
    return q, upper
