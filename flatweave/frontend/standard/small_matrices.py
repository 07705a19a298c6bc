"""Stacks of small matrices: a matrix in each lane, its elements in registers.

    inverses(a: f64[s, 4, 4], n=4)     weave (map (m => eliminated m) a)

LAPACK takes one matrix after the other, most of the time for the calls. There is one program for
each n. A step of a factorisation is written once, for the first row and column of what is left:
rows and columns then move up by one, the first ones to the end, and the next step is the same
program. So a program of n^3 multiplications is a loop of n^2 of them, and compiles as fast.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from flatweave.base.config import config
from flatweave.frontend.arrays.shapes import reshape
from flatweave.frontend.call.operation import operation
from flatweave.frontend.complex.rules import for_complex, number
from flatweave.frontend.elements.elementwise import abs, sqrt
from flatweave.frontend.elements.scalars import where
from flatweave.frontend.functions.combinators import map
from flatweave.frontend.functions.control import fori_loop
from flatweave.frontend.functions.reductions import all
from flatweave.frontend.standard.arrangement import stack
from flatweave.frontend.standard.library import (
    EIGENVALUES,
    INDEFINITE,
    LEAST_SQUARES,
    SINGULAR,
    part_of,
)
from flatweave.frontend.trace.run_time_checks import check, check_message
from flatweave.frontend.trace.tracers import as_tracer
from flatweave.frontend.values.array import Array
from flatweave.frontend.values.exchange import Values
from flatweave.frontend.values.number_formats import Complex

MANY = 10_000
"""Matrices of a stack for which it is worth while to compile a program."""
LARGEST = 8
"""Rows of such a matrix at most, and right sides of each; of a complex one half as many."""
UNROLLED = 256
"""Multiplications of steps that are written one after the other; those of more are a loop."""
Rows = list[list[Any]]
T = TypeVar("T")


def are_small(a: Values, columns: int = 0) -> bool:
    """Whether an array is such a stack; `columns` more are worked on with each matrix."""
    largest = LARGEST if a.dtype.kind == "f" else LARGEST // 2
    return (
        a.ndim > 2 and 0 < a.shape[-1] <= largest and columns <= largest
        and math.prod(a.shape[:-2]) >= MANY and config.target != "interp"
    )  # fmt: skip


def determinant(a: Values) -> Array | None:
    """The determinants of a stack of small matrices; None for another array."""
    return shaped(a, a.shape[:-2], determinants) if are_small(a) else None


def inverse(a: Values) -> Array | None:
    """Their inverses."""
    return shaped(a, a.shape, inverses) if are_small(a, a.shape[-1]) else None


def factor(a: Values, upper: bool = False) -> Array | None:
    """Their Cholesky factors."""
    return shaped(a, a.shape, functools.partial(factors, upper=upper)) if are_small(a) else None


def solution(a: Values, b: Values) -> Array | None:
    """The solutions for as many right sides; None where they are no such stack."""
    fits = b.dtype == a.dtype and b.shape[:-1] == a.shape[:-1] and b.shape[-1] > 0
    if not fits or not are_small(a, b.shape[-1]):
        return None
    n, k = b.shape[-2:]
    return solutions(a.reshape(-1), b.reshape(-1), n, k).reshape(b.shape)


def shaped(a: Values, shape: tuple[int, ...], compute: Callable[..., Array]) -> Array:
    """What a program of matrices along one axis gives, in the shape of the stack."""
    n = a.shape[-1]
    return compute(np.ascontiguousarray(a).reshape(-1), n).reshape(shape)


# -- one program for each size --------------------------------------------------------------------


@for_complex
@operation(static="n")
def determinants(a: Any, n: int) -> Array:
    """The determinants of matrices of n rows."""
    found: Array = map(lambda m: _eliminated(elements(m, n, n))[1], matrices(a, n, n))
    return found


@for_complex
@operation(static="n")
def inverses(a: Any, n: int) -> Array:
    """The inverses of matrices of n rows."""
    found: tuple[Any, ...] = map(
        lambda m: _solved(elements(m, n, n), identity(m, n)), matrices(a, n, n)
    )
    return _kept(found, f"inv {SINGULAR}")


@for_complex
@operation(static="n k")
def solutions(a: Any, b: Any, n: int, k: int) -> Array:
    """The solutions of systems of n rows for k right sides each."""
    found: tuple[Any, ...] = map(
        lambda m, sides: _solved(elements(m, n, n), elements(sides, n, k)),
        matrices(a, n, n), matrices(b, n, k),
    )  # fmt: skip
    return _kept(found, f"solve {SINGULAR}")


@for_complex
@operation(static="n upper")
def factors(a: Any, n: int, upper: bool = False) -> Array:
    """The Cholesky factors of matrices of n rows."""

    def factored(m: Any) -> tuple[Any, ...]:
        good, lower = _factored([[m[i, j] for j in range(i + 1)] for i in range(n)])
        nothing = number(0, lower[0][0])
        full = [line + [nothing] * (n - len(line)) for line in lower]
        if upper:
            full = [[_conjugate(row[i]) for row in full] for i in range(n)]
        return (good, *(value for row in full for value in row))

    return _kept(map(factored, matrices(a, n, n)), f"cholesky {INDEFINITE}", EIGENVALUES)


def _factored(lower: Rows) -> tuple[Any, Rows]:
    """Whether a matrix is positive definite, and its factor; both are lower triangles."""
    n = len(lower)

    def step(k: Any, state: tuple[Any, Rows]) -> tuple[Any, Rows]:
        good, lower = state[0], [[*line] for line in state[1]]
        left = n - k  # the rows from there on are done
        is_known = isinstance(k, int)
        pivot = part_of(lower[0][0])
        root = sqrt(pivot)
        lower[0][0] = root if pivot is lower[0][0] else Complex(root, number(0, root))
        times = [number(0, lower[0][0])] * n
        for i in range(1, left if is_known else n):
            line = lower[i]
            value = line[0] / root
            times[i] = value if is_known else where(i < left, value, times[i])
            line[0] = value if is_known else where(i < left, value, line[0])
            for j in range(1, i + 1):
                line[j] = line[j] - times[i] * _conjugate(times[j])
        ends = [line[0] for line in lower]
        return (pivot > 0) & good, [*([*line[1:]] for line in lower[1:]), [*ends[1:], ends[0]]]

    return repeat(n, step, (True, lower), n * n // 2 * _parts(lower))


def _conjugate(x: T) -> T | Complex:
    return Complex(x.real, -x.imag) if isinstance(x, Complex) else x


def _size(x: Any) -> Array:
    """How large a pivot is, as LAPACK has it."""
    return abs(x.real) + abs(x.imag) if isinstance(x, Complex) else abs(x)


def matrices(a: Any, rows: int, columns: int) -> Array:
    """A stack of matrices from all their elements."""
    return reshape(a, (a.shape[0] // (rows * columns), rows, columns))


def elements(m: Any, rows: int, columns: int) -> Rows:
    """The elements of a matrix."""
    return [[m[i, j] for j in range(columns)] for i in range(rows)]


def identity(m: Any, n: int) -> Rows:
    """Those of an identity matrix of the same dtype."""
    like = m[0, 0]
    return [[number(float(i == j), like) for j in range(n)] for i in range(n)]


def repeat(count: int, step: Callable[[Any, T], T], state: T, size: int) -> T:
    """The state after `count` steps of about `size` multiplications each, a complex one counts as
    four. Few are written one after the other, more are a loop, which compiles as fast as one step.
    """
    if count * size > UNROLLED:
        return fori_loop(0, count, step, state)
    for k in range(count):
        state = step(k, state)
    return state


def _parts(rows: Rows) -> int:
    """Multiplications of real numbers in one of those of rows."""
    return 4 if isinstance(rows[0][0], Complex) else 1


def moved(rows: Rows, n: int, by: int = 1) -> Rows:
    """Rows, and their first n columns, so many further up and to the left, and round: each step
    works on the first ones, and after n steps all are where they were."""
    lines = rows[by:n] + rows[:by]
    return [line[by:n] + line[:by] + line[n:] for line in lines]


def _eliminated(rows: Rows) -> tuple[Rows, Any]:
    """Rows as an upper triangle, with the greatest pivot of each column on the diagonal; the
    product of the pivots with the sign of the exchanges. Below the diagonal is what is left."""
    n, width = len(rows), len(rows[0])

    def step(k: Any, state: tuple[Rows, Any]) -> tuple[Rows, Any]:
        rows, product = [[*line] for line in state[0]], state[1]
        left = n - k  # the rows from there on are done
        is_known = isinstance(k, int)
        below = range(1, left if is_known else n)
        columns = [*range(left if is_known else n), *range(n, width)]
        for i in below:
            swaps = _size(rows[i][0]) > _size(rows[0][0])
            swaps = swaps if is_known else swaps & (i < left)
            for j in columns:
                upper, lower = rows[0][j], rows[i][j]
                rows[0][j], rows[i][j] = where(swaps, lower, upper), where(swaps, upper, lower)
            product = where(swaps, -product, product)
        pivot = rows[0][0]
        by = where(pivot == 0, number(0, pivot), 1 / pivot)
        for i in below:
            times = rows[i][0] * by
            times = times if is_known else where(i < left, times, number(0, pivot))
            for j in columns[1:]:
                rows[i][j] = rows[i][j] - times * rows[0][j]
        return moved(rows, n), product * pivot

    state = rows, number(1, rows[0][0])
    return repeat(n, step, state, n * width * _parts(rows))


def _solved(left: Rows, right: Rows) -> tuple[Any, ...]:
    """Whether no pivot is 0, and the solution of a system of rows with their right sides."""
    rows = [row + other for row, other in zip(left, right, strict=True)]
    n, width = len(rows), len(rows[0])
    rows, _ = _eliminated(rows)
    good = rows[0][0] != 0
    for k in range(1, n):
        good = good & (rows[k][k] != 0)

    def step(k: Any, rows: Rows) -> Rows:
        rows = [[*line] for line in rows]
        is_known = isinstance(k, int)
        last = rows[-1]
        last[n:] = [side / last[n - 1] for side in last[n:]]
        for i in range(k if is_known else 0, n - 1):
            times = rows[i][n - 1]
            times = times if is_known else where(i >= k, times, number(0, times))
            for j in range(n, width):
                rows[i][j] = rows[i][j] - times * last[j]
        return moved(rows, n, n - 1)

    rows = repeat(n, step, rows, n * (width - n) * _parts(rows))
    return (good, *(value for row in rows for value in row[n:]))


def _kept(found: tuple[Any, ...], message: str, remedy: str = LEAST_SQUARES) -> Array:
    """The elements of all matrices side by side; ArgumentError where one was refused."""
    good, *elements = found
    kept: Array = stack(elements, axis=1) if len(elements) > 1 else elements[0]
    # in the same sweep
    check(as_tracer(all(good)).atom, "argument", (), check_message(message, [], remedy))
    return kept
