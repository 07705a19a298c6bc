"""Systems of linear equations, inverses, determinants and Cholesky factors of stacks of matrices.

    eliminated(a: [s, n, n], b: [s, n, m])     x with a x = b, and the pivots: Gauss and Jordan

Every step is done for all matrices of the stack at once, one column after the other; its pivot is
the greatest element of the column from the diagonal down.
"""

from __future__ import annotations

from typing import Any

from flatweave.frontend.arrays.sources import full
from flatweave.frontend.complex.rules import number, whole
from flatweave.frontend.elements.elementwise import abs, sqrt
from flatweave.frontend.elements.scalars import where
from flatweave.frontend.functions.control import cond, fori_loop
from flatweave.frontend.functions.generate import generate
from flatweave.frontend.functions.reductions import argmax
from flatweave.frontend.standard.numbers import conj
from flatweave.frontend.values.complex import Complex


def joined(a: Any, b: Any) -> Any:
    """Matrices side by side: [a | b]."""
    width = a.shape[2]
    total = width + b.shape[2]
    if isinstance(a, Complex) or isinstance(b, Complex):
        a, b = whole(a), whole(b)

    def element(s: Any, i: Any, j: Any) -> Any:
        return cond(j < width, lambda: a[s, i, j], lambda: b[s, i, j - width])

    return generate((a.shape[0], a.shape[1], total), element)


def pivot_rows(work: Any, column: Any) -> Any:
    """For each matrix the row, from the diagonal down, with the greatest element of a column."""
    stacks, n, _ = work.shape
    sizes = generate(
        (stacks, n), lambda s, i: where(i >= column, abs(work[s, i, column]), -1.0)
    )
    return argmax(sizes, axis=1)


def swapped(i: Any, column: Any, row: Any) -> Any:
    """Which row stands at place i once `row` and that of the diagonal are exchanged."""
    return where(i == column, row, where(i == row, column, i))


def eliminated(work: Any, n: Any) -> tuple[Any, Any, Any]:
    """[a | b] after elimination, [1 | x], with the pivots [s, n] and whether rows were exchanged an
    odd number of times."""
    stacks, _, width = work.shape
    pivots = generate((stacks, n), lambda s, i: number(0, work))
    odd = full(stacks, False)

    def turn(k: Any, state: Any) -> Any:
        work, pivots, odd = state
        rows = pivot_rows(work, k)
        found = generate(stacks, lambda s: work[s, rows[s], k])
        divisors = where(found == 0, 1, found)  # nothing below it either: there is nothing to do

        def element(s: Any, i: Any, j: Any) -> Any:
            top = work[s, rows[s], j]

            def other() -> Any:
                own = work[s, swapped(i, k, rows[s]), j]
                return own - work[s, swapped(i, k, rows[s]), k] / divisors[s] * top

            return cond(i == k, lambda: top / divisors[s], other)

        return (
            generate((stacks, n, width), element),
            generate((stacks, n), lambda s, i: where(i == k, found[s], pivots[s, i])),
            generate(stacks, lambda s: odd[s] ^ (rows[s] != k)),
        )

    made: tuple[Any, Any, Any] = fori_loop(0, n, turn, (work, pivots, odd))
    return made


def factored(a: Any) -> Any:
    """The lower factors L of Hermitian matrices L L^H; NaN where one is not positive definite."""
    stacks, n, _ = a.shape

    def turn(k: Any, work: Any) -> Any:
        def element(s: Any, i: Any, j: Any) -> Any:
            size = sqrt(work[s, k, k].real if isinstance(work, Complex) else work[s, k, k])
            left, top = work[s, i, k] / size, work[s, k, j]
            column = where(i >= k, left, 0)
            inner = work[s, i, j] - left / size * top
            return where(j == k, column, where((i > k) & (j > k), inner, work[s, i, j]))

        return generate((stacks, n, n), element)

    # of what is symmetric lanes read rows; only the lower triangle need be given
    both = generate((stacks, n, n), lambda s, i, j: where(j <= i, a[s, i, j], conj(a[s, j, i])))
    found = fori_loop(0, n, turn, both)
    return generate((stacks, n, n), lambda s, i, j: where(j <= i, found[s, i, j], 0))


