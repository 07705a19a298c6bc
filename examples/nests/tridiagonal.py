"""Many systems of equations with three diagonals, solved by scans instead of loops.

    python examples/nests tridiagonal

Gauss' elimination goes down the equations once and up once (Thomas 1949). Each step is a linear
function of the one before, or a quotient of two, which is a 2 x 2 matrix: functions compose by
associative operators, so that scans replace the steps (Stone 1973).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import flatweave as fw


def then(p: Any, q: Any) -> Any:
    """The matrix q p, of (a x + b) / (c x + d) in rows; only quotients count, so a becomes 1."""
    (a, b, c, d), (e, f, g, h) = p, q
    scale = 1 / (e * a + f * c)
    return 1 + 0 * a, (e * b + f * d) * scale, (g * a + h * c) * scale, (g * b + h * d) * scale


def after(p: Any, q: Any) -> Any:
    """The function x -> q(p(x)), of a + b x as (a, b)."""
    return q[0] + q[1] * p[0], q[1] * p[1]


def before(p: Any, q: Any) -> Any:
    """The function x -> p(q(x))."""
    return after(q, p)


def solve(low: Any, middle: Any, high: Any, right: Any) -> Any:
    """The x of low[i] x[i-1] + middle[i] x[i] + high[i] x[i+1] = right[i].

    The first `low` and the last `high` are 0. There is no pivoting: `middle` must dominate.
    """
    one, zero = fw.astype(1, middle.dtype), fw.astype(0, middle.dtype)
    steps = fw.map(lambda a, b, c: (b, -a * c, one, zero), low, middle, fw.rotate(high, -1))
    pivots = fw.map(lambda m: m[0] / m[2], fw.scan(then, (1, 0, 0, 1), steps))

    down = fw.map(lambda y, a, p: (y, -a / p), right, low, fw.rotate(pivots, -1))
    reduced, _ = fw.scan(after, (0, 1), down)
    up = fw.map(lambda y, c, p: (y / p, -c / p), reduced, high, pivots)
    return fw.scan(before, (0, 1), up, reverse=True)[0]


@fw.jit
def solutions(low: Any, middle: Any, high: Any, right: Any) -> Any:
    """Of many systems, one in each row."""
    return fw.map(solve, low, middle, high, right)


def numpy_solutions(
    low: np.ndarray, middle: np.ndarray, high: np.ndarray, right: np.ndarray
) -> np.ndarray:
    """The same in NumPy: all systems take each step together."""
    pivots, xs, n = middle.copy(), right.copy(), middle.shape[1]
    for i in range(1, n):
        factor = low[:, i] / pivots[:, i - 1]
        pivots[:, i] -= factor * high[:, i - 1]
        xs[:, i] -= factor * xs[:, i - 1]
    for i in reversed(range(n)):
        if i + 1 < n:
            xs[:, i] -= high[:, i] * xs[:, i + 1]
        xs[:, i] /= pivots[:, i]
    return xs


def systems(number: int, size: int, dtype: Any = np.float32) -> tuple[np.ndarray, ...]:
    """Random systems whose middle dominates."""
    low, high, more, right = np.random.default_rng(12).random((4, number, size)).astype(dtype)
    low[:, :1], high[:, size - 1 :] = 0, 0
    return low, low + high + more + 1, high, right


def cases(quick: bool) -> Iterator[tuple[str, str, Callable, Callable, Callable]]:
    """Program, input, the job here, the same in NumPy, whether they agree."""
    number = 10 if quick else 10_000
    given = systems(number, 128)
    yield (
        "tridiagonal systems",
        f"{number:,} systems of 128, f32",
        lambda: solutions(*given),
        lambda: numpy_solutions(*given),
        lambda ours, numpys: np.allclose(ours, numpys, rtol=1e-3, atol=1e-5),
    )
