"""QR factors of stacks of matrices by Householder's reflections.

    reflected(a: [s, m, n])     q: [s, m, m] and r: [s, m, n], a = q r
"""

from __future__ import annotations

from typing import Any

from flatweave.frontend.complex.rules import number
from flatweave.frontend.elements.elementwise import abs, minimum, sqrt
from flatweave.frontend.elements.scalars import where
from flatweave.frontend.functions.control import fori_loop
from flatweave.frontend.functions.generate import generate
from flatweave.frontend.functions.reductions import sum
from flatweave.frontend.standard.numbers import conj
from flatweave.frontend.standard.rotations import scaled, size
from flatweave.frontend.trace.tracers import as_tracer


def reflected(a: Any) -> tuple[Any, Any]:
    """Unitary matrices and upper triangular ones whose products are the matrices."""
    a, by = scaled(a)
    stacks, m, n = a.shape
    zero, one = number(0, a), number(1, a)

    def turn(k: Any, state: Any) -> Any:
        q, r = state
        squares = generate((stacks, m), lambda s, i: where(i >= k, size(r[s, i, k]), 0))
        length = sqrt(sum(squares, axis=1))

        def goal(s: Any) -> Any:
            """What the reflection makes of the element on the diagonal."""
            first = r[s, k, k]
            far = abs(first)
            phase = where(far == 0, one, first / where(far == 0, 1, far))
            return -phase * length[s]

        goals = generate(stacks, goal)

        def normal(s: Any, i: Any) -> Any:
            value = where(i == k, r[s, i, k] - goals[s], r[s, i, k])
            return where(i >= k, value, zero)

        v = generate((stacks, m), normal)
        lengths = sum(generate((stacks, m), lambda s, i: size(v[s, i])), axis=1)
        twice = generate(stacks, lambda s: where(lengths[s] == 0, 0, 2 / where(
            lengths[s] == 0, 1, lengths[s])))  # fmt: skip
        across = sum(generate((stacks, m, n), lambda s, i, j: conj(v[s, i]) * r[s, i, j]), axis=1)
        along = sum(generate((stacks, m, m), lambda s, i, j: q[s, i, j] * v[s, j]), axis=2)

        def below(s: Any, i: Any, j: Any) -> Any:
            value = r[s, i, j] - v[s, i] * across[s, j] * twice[s]
            return where(j == k, where(i < k, r[s, i, j], where(i == k, goals[s], zero)), value)

        return (
            generate((stacks, m, m), lambda s, i, j: q[s, i, j] - along[s, i] * conj(v[s, j])
                     * twice[s]),
            generate((stacks, m, n), below),
        )  # fmt: skip

    start = generate((stacks, m, m), lambda s, i, j: where(i == j, one, zero))
    q, r = fori_loop(0, minimum(as_tracer(m), as_tracer(n)), turn, (start, a))
    return q, generate((stacks, m, n), lambda s, i, j: where(j >= i, r[s, i, j] * by[s], zero))
