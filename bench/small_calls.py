"""Calls on small arrays: python -m bench.small_calls

Each call of a jitted or public function next to the same in NumPy, and in Numba where it is
installed: CPU microseconds, the least of interleaved rounds, after calls that compile. `N` elements
of f64. The last column is the other's time over ours.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

import flatweave as fw
from bench import machine

try:
    import numba
except ImportError:  # then the row of a jitted call has NumPy alone
    numba = None

N = 1000
CALLS, ROUNDS = 1000, 15


class Row(NamedTuple):
    """A call, by us and by another library."""

    name: str
    ours: Callable[[], Any]
    other: str
    theirs: Callable[[], Any]


def axpy(x: Any, y: Any) -> Any:
    """What is jitted."""
    return x * 2.0 + y


def rows(size: int = N) -> Iterator[Row]:
    """The calls that are compared."""
    x = np.arange(float(size))
    y, m = x[::-1].copy(), x.reshape(-1, 10)
    X, Y, M = fw.asarray(x), fw.asarray(y), fw.asarray(m)
    jitted = fw.jit(axpy)
    yield Row("jitted x * 2 + y", lambda: jitted(x, y), "NumPy", lambda: axpy(x, y))
    if numba is not None:
        compiled = numba.njit(axpy)
        yield Row("jitted x * 2 + y", lambda: jitted(x, y), "Numba", lambda: compiled(x, y))
    pairs: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
        "jitted, y by name": (lambda: jitted(x, y=y), lambda: axpy(x, y)),
        "x + y": (lambda: X + Y, lambda: x + y),
        "add(x, y)": (lambda: fw.add(x, y), lambda: np.add(x, y)),
        "x > 3": (lambda: X > 3.0, lambda: x > 3.0),
        "exp(x)": (lambda: fw.exp(x), lambda: np.exp(x)),
        "clip(x, 2, 5)": (lambda: fw.clip(x, 2.0, 5.0), lambda: np.clip(x, 2.0, 5.0)),
        "sum(x)": (lambda: fw.sum(x), lambda: np.sum(x)),
        "sum(m, axis=0)": (lambda: fw.sum(m, axis=0), lambda: np.sum(m, axis=0)),
        "m.max(axis=1)": (lambda: M.max(axis=1), lambda: m.max(axis=1)),
        "m - m.mean(axis=0)": (
            lambda: fw.subtract(m, fw.mean(m, axis=0)),
            lambda: np.subtract(m, np.mean(m, axis=0)),
        ),
        "m / column": (lambda: fw.divide(m, m[:, :1].copy()), lambda: m / m[:, :1].copy()),
        "argmax(x)": (lambda: fw.argmax(x), lambda: np.argmax(x)),
        "cumsum(x)": (lambda: fw.cumsum(x), lambda: np.cumsum(x)),
        "transpose(m)": (lambda: fw.transpose(m), lambda: np.ascontiguousarray(m.T)),
        "std(x)": (lambda: fw.std(x), lambda: np.std(x)),
    }
    for name, (ours, theirs) in pairs.items():
        yield Row(name, ours, "NumPy", theirs)


def spent(call: Callable[[], Any], calls: int) -> float:
    """CPU microseconds of a call."""
    begin = time.process_time()
    for _ in range(calls):
        call()
    return (time.process_time() - begin) / calls * 1e6


def measured(row: Row, calls: int = CALLS, rounds: int = ROUNDS) -> tuple[float, float]:
    """CPU microseconds of both, the least of interleaved rounds."""
    for _ in range(4):
        row.ours(), row.theirs()
    times = [(spent(row.ours, calls), spent(row.theirs, calls)) for _ in range(rounds)]
    return min(ours for ours, _ in times), min(theirs for _, theirs in times)


def line(row: Row, ours: float, theirs: float) -> str:
    """A row of the table."""
    return f"{row.name:22} {ours:8.2f} {theirs:8.2f}  {row.other:6} {theirs / ours:6.2f}"


def main() -> None:
    """Print the table."""
    print(f"CPU us, {N} f64, {machine.model()}, load {machine.load():.1f}")
    with np.errstate(all="ignore"):
        for row in rows():
            print(line(row, *measured(row)), flush=True)


if __name__ == "__main__":
    main()
