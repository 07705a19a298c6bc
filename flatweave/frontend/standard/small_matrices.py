"""Stacks of small matrices: a matrix in each lane, its elements in registers.

    inverses(a: f64[s, 4, 4], n=4)     weave (map (m => eliminated m) a)

LAPACK takes one matrix after the other, most of the time for the calls. The loops over rows and
columns are unrolled, so the program is one for each n, and n is small.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from flatweave.base.config import config
from flatweave.frontend.call.operation import operation
from flatweave.frontend.complex.rules import for_complex, number
from flatweave.frontend.elements.elementwise import abs, sqrt
from flatweave.frontend.elements.scalars import where
from flatweave.frontend.functions.combinators import map
from flatweave.frontend.functions.reductions import all
from flatweave.frontend.standard.arrangement import stack
from flatweave.frontend.standard.library import (
    EIGENVALUES,
    INDEFINITE,
    LEAST_SQUARES,
    SINGULAR,
    Values,
)
from flatweave.frontend.trace.run_time_checks import check, check_message
from flatweave.frontend.values.number_formats import Complex

MANY = 10_000
"""Matrices of a stack for which it is worth while to compile a program."""
MOST = 256
"""Multiplications for a matrix, at most, of complex numbers a quarter: the program of more of them
takes longer than 0.3 s to compile."""
Rows = list[list[Any]]


def are_small(a: Values, columns: int = 0) -> bool:
    """Whether an array is such a stack; `columns` more are worked on with each matrix."""
    n, kind = a.shape[-1], a.dtype.kind
    return (
        a.ndim > 2 and n > 0 and n * n * (n + columns) <= (MOST if kind == "f" else MOST // 4)
        and math.prod(a.shape[:-2]) >= MANY and config.target != "interp"
    )  # fmt: skip


def determinant(a: Values) -> Any:
    """The determinants of a stack of small matrices; None for another array."""
    return shaped(a, a.shape[:-2], determinants) if are_small(a) else None


def inverse(a: Values) -> Any:
    """Their inverses."""
    return shaped(a, a.shape, inverses) if are_small(a, a.shape[-1]) else None


def factor(a: Values, upper: bool = False) -> Any:
    """Their Cholesky factors."""
    return shaped(a, a.shape, functools.partial(factors, upper=upper)) if are_small(a) else None


def solution(a: Values, b: Values) -> Any:
    """The solutions for as many right sides; None where they are no such stack."""
    fits = b.dtype == a.dtype and b.shape[:-1] == a.shape[:-1] and b.shape[-1] > 0
    if not fits or not are_small(a, b.shape[-1]):
        return None
    n, k = b.shape[-2:]
    return solutions(a.reshape(-1, n, n), b.reshape(-1, n, k), n, k).reshape(b.shape)


def product(a: Values, b: Values) -> Any:
    """The products of two such stacks, of few multiplications each."""
    stack, n = a.shape[:-2], a.shape[-1]
    fits = b.ndim == a.ndim > 2 and b.shape[:-1] == (*stack, n) and a.dtype == b.dtype
    if not fits or a.dtype.kind != "f" or math.prod(stack) < MANY or config.target == "interp":
        return None
    rows, columns = a.shape[-2], b.shape[-1]
    if not 0 < rows * n * columns <= MOST // 4:
        return None
    found = products(a.reshape(-1, rows, n), b.reshape(-1, n, columns), rows, n, columns)
    return found.reshape(*stack, rows, columns)


def shaped(a: Values, shape: tuple[int, ...], compute: Callable[..., Any]) -> Any:
    """What a program of matrices along one axis gives, in the shape of the stack."""
    n = a.shape[-1]
    return compute(np.ascontiguousarray(a).reshape(-1, n, n), n).reshape(shape)


# -- one program for each size --------------------------------------------------------------------


@for_complex
@operation(static="n")
def determinants(a: Any, n: int) -> Any:
    """The determinants of matrices of n rows."""
    return map(lambda m: _eliminated(elements(m, n, n))[1], a)


@for_complex
@operation(static="n")
def inverses(a: Any, n: int) -> Any:
    """The inverses of matrices of n rows."""

    def inverted(m: Any) -> tuple[Any, ...]:
        left, right = elements(m, n, n), identity(m, n)
        return _solved([row + other for row, other in zip(left, right, strict=True)])

    return _kept(map(inverted, a), f"inv {SINGULAR}")


@for_complex
@operation(static="n k")
def solutions(a: Any, b: Any, n: int, k: int) -> Any:
    """The solutions of systems of n rows for k right sides each."""

    def solved(m: Any, sides: Any) -> tuple[Any, ...]:
        left, right = elements(m, n, n), elements(sides, n, k)
        return _solved([row + other for row, other in zip(left, right, strict=True)])

    return _kept(map(solved, a, b), f"solve {SINGULAR}")


@operation(static="rows n columns")
def products(a: Any, b: Any, rows: int, n: int, columns: int) -> Any:
    """The products of pairs of matrices, `n` multiplications for each element."""

    def multiplied(x: Any, y: Any) -> tuple[Any, ...]:
        left, right = elements(x, rows, n), elements(y, n, columns)
        return tuple(
            functools.reduce(operator.add, [row[k] * right[k][j] for k in range(n)])
            for row in left for j in range(columns)
        )  # fmt: skip

    found = map(multiplied, a, b)
    return stack(found, axis=1) if rows * columns > 1 else found[0]


@for_complex
@operation(static="n upper")
def factors(a: Any, n: int, upper: bool = False) -> Any:
    """The Cholesky factors of matrices of n rows."""

    def factored(m: Any) -> tuple[Any, ...]:
        rows, good = elements(m, n, n), True
        lower = [[number(0, row[0]) for _ in range(n)] for row in rows]
        for i in range(n):
            for j in range(i + 1):
                left = rows[i][j]
                for k in range(j):
                    left = left - lower[i][k] * _conjugate(lower[j][k])
                if i == j:
                    left = _real(left)
                    good = (left > 0) & good
                lower[i][j] = sqrt(left) if i == j else left / lower[j][j]
        if upper:
            lower = [[_conjugate(row[i]) for row in lower] for i in range(n)]
        return (good, *(value for row in lower for value in row))

    return _kept(map(factored, a), f"cholesky {INDEFINITE}", EIGENVALUES)


def _real(x: Any) -> Any:
    return x.real if isinstance(x, Complex) else x


def _conjugate(x: Any) -> Any:
    return Complex(x.real, -x.imag) if isinstance(x, Complex) else x


def _size(x: Any) -> Any:
    """How large a pivot is, as LAPACK has it."""
    return abs(x.real) + abs(x.imag) if isinstance(x, Complex) else abs(x)


def elements(m: Any, rows: int, columns: int) -> Rows:
    """The elements of a matrix."""
    return [[m[i, j] for j in range(columns)] for i in range(rows)]


def identity(m: Any, n: int) -> Rows:
    """Those of an identity matrix of the same dtype."""
    like = m[0, 0]
    return [[number(float(i == j), like) for j in range(n)] for i in range(n)]


def _eliminated(rows: Rows) -> tuple[list[Any], Any]:
    """Make rows an upper triangle, with the greatest pivot of each column; the pivots, and their
    product with the sign of the exchanges."""
    pivots: list[Any] = []
    product: Any = None
    for k in range(len(rows)):
        for i in range(k + 1, len(rows)):
            swaps = _size(rows[i][k]) > _size(rows[k][k])
            for j in range(k, len(rows[0])):
                upper, lower = rows[k][j], rows[i][j]
                rows[k][j] = where(swaps, lower, upper)
                rows[i][j] = where(swaps, upper, lower)
            if product is None:
                product = number(1, rows[0][0])
            product = where(swaps, -product, product)
        pivot = rows[k][k]
        pivots.append(pivot)
        product = pivot if product is None else product * pivot
        by = where(pivot == 0, number(0, pivot), 1 / pivot)
        for i in range(k + 1, len(rows)):
            times = rows[i][k] * by
            for j in range(k + 1, len(rows[0])):
                rows[i][j] = rows[i][j] - times * rows[k][j]
    return pivots, product


def _solved(rows: Rows) -> tuple[Any, ...]:
    """Whether no pivot is 0, and the solution of a system of rows with their right sides."""
    n = len(rows)
    pivots, _ = _eliminated(rows)
    for k in reversed(range(n)):
        for j in range(n, len(rows[0])):
            value = rows[k][j]
            for m in range(k + 1, n):
                value = value - rows[k][m] * rows[m][j]
            rows[k][j] = value / pivots[k]
    good = pivots[0] != 0
    for pivot in pivots[1:]:
        good = good & (pivot != 0)
    return (good, *(value for row in rows for value in row[n:]))


def _kept(found: tuple[Any, ...], message: str, remedy: str = LEAST_SQUARES) -> Any:
    """The elements of all matrices side by side; ArgumentError where one was refused."""
    good, *elements = found
    kept = stack(elements, axis=1) if len(elements) > 1 else elements[0]
    check(all(good).atom, "argument", (), check_message(message, [], remedy))  # in the same sweep
    return kept
