"""Dense work next to the libraries made for it: python -m bench.dense [GROUP ..] [--cpu] [--save]

    first      CPU time of first calls: 0.3 s at most
    large      from 256 x 256 and 2^14 points on: the library's time over ours, 0.95 wanted
    small      below: how much longer an eager call takes, at most 3 us wanted
    stacks     100,000 small matrices: the library's time over ours
    products   many small products, eager, in a program and with `generate`: the same

Both are called alternately in one process, on two threads, and the least time of each counts;
`--cpu` takes the CPU time of all threads instead, for a machine that is busy; a library that works
on one thread then looks twice as fast as it is. All of it takes some two minutes.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import flatweave as fw
from bench import library_calls, pages
from bench.pages import Clock

GROUPS = ("first", "large", "small", "stacks", "products")
SECONDS, LEAST_ROUNDS = 0.8, 5
SEVERAL, SHORT = 4, 20e-3
"""The calls in a sample whose calls take less than SHORT seconds: the first call wakes the threads
and fills the caches."""
DRAW = np.random.default_rng(33)
Call = Callable[[], Any]


@dataclass(frozen=True, slots=True)
class Row:
    """A call of ours and of the library, and what is wanted: the least ratio of times, or `more`,
    the most microseconds that ours takes longer."""

    name: str
    ours: Call
    library: Call
    wanted: float
    more: bool = False


def positive(*shape: int) -> Any:
    """Symmetric matrices with positive eigenvalues, which every function takes."""
    a = DRAW.normal(size=shape)
    return a @ np.swapaxes(a, -1, -2) + np.eye(shape[-1])


def factors(n: int) -> Iterator[tuple[str, Call, Call]]:
    """The functions of LAPACK for a matrix of n rows."""
    a = positive(n, n)
    for name in ("inv", "det", "slogdet", "cholesky", "qr", "eigh", "eigvalsh", "eig", "eigvals",
                 "svd", "svdvals", "pinv", "matrix_rank"):  # fmt: skip
        ours, theirs = getattr(fw.linalg, name), getattr(np.linalg, name)
        yield f"{name} {n}", lambda f=ours: f(a), lambda f=theirs: f(a)
    yield f"solve {n}", lambda: fw.linalg.solve(a, a[0]), lambda: np.linalg.solve(a, a[0])


def transforms(n: int) -> Iterator[tuple[str, Call, Call]]:
    """The transforms of n points by SciPy."""
    from scipy import fft  # optional dependency

    x = DRAW.normal(size=n)
    z = x + 1j
    for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"):
        given = x if name in ("rfft", "ihfft") else z
        ours, theirs = getattr(fw.fft, name), getattr(fft, name)
        yield f"{name} {n:,}", lambda f=ours, g=given: f(g), lambda f=theirs, g=given: f(g)
    side = int(n**0.5)
    m = z[: side * side].reshape(side, side)
    yield f"fftn {side} x {side}", lambda: fw.fft.fftn(m), lambda: fft.fftn(m)


def large() -> Iterator[Row]:
    """From 256 x 256 and 2^14 points on."""
    for name, ours, theirs in (*factors(256), *transforms(1 << 14), *transforms(1 << 20)):
        yield Row(name, ours, theirs, 0.95)
    multiplied = fw.jit(lambda a, b: a @ b)
    for n in (256, 512, 1024):
        for dtype in (np.float32, np.float64, np.complex64, np.complex128):
            a = DRAW.normal(size=(n, n)).astype(dtype)
            who = f"{n} {np.dtype(dtype).name}"
            theirs = lambda a=a: a @ a  # noqa: E731
            yield Row(f"matmul {who}", lambda a=a: fw.matmul(a, a), theirs, 0.95)
            yield Row(f"program's product {who}", lambda a=a: multiplied(a, a), theirs, 0.95)


def small() -> Iterator[Row]:
    """Below: many calls in a sample."""
    a = DRAW.normal(size=(64, 64))
    calls = [*factors(4), *factors(64), *transforms(64), *transforms(1024)]
    for name, ours, theirs in [*calls, ("matmul 64", lambda: fw.matmul(a, a), lambda: a @ a)]:
        yield Row(name, ours, theirs, 3.0, more=True)


def stacks() -> Iterator[Row]:
    """100,000 matrices of 4 x 4 and 8 x 8."""
    for n in (4, 8):
        a = positive(100_000, n, n)
        wanted = dict.fromkeys(("inv", "det", "cholesky"), 4.0 if n == 4 else 1.0)
        wanted |= dict.fromkeys(("eigh", "eigvalsh", "qr"), 2.0 if n == 4 else 1.0)
        for name, least in wanted.items():
            ours, theirs = getattr(fw.linalg, name), getattr(np.linalg, name)
            yield Row(
                f"{name} {n} x {n}", lambda f=ours, a=a: f(a), lambda f=theirs, a=a: f(a), least
            )
        b, least = a[..., :1].copy(), wanted["inv"]
        ours, theirs = fw.linalg.solve, np.linalg.solve
        yield Row(
            f"solve {n} x {n}", lambda a=a, b=b, f=ours: f(a, b),
            lambda a=a, b=b, f=theirs: f(a, b), least,
        )  # fmt: skip


def products() -> Iterator[Row]:
    """Many products of small matrices."""
    def summed(a: Any, b: Any) -> Any:
        count, n, _ = a.shape
        return fw.generate(
            (count, n, n), lambda s, i, j: fw.sum(fw.map(lambda k: a[s, i, k] * b[s, k, j],
                                                         fw.iota(n)))
        )  # fmt: skip

    program, written = fw.jit(lambda a, b: a @ b), fw.jit(summed)
    for count, n in ((100_000, 4), (10_000, 16)):
        for dtype in (np.float32, np.float64):
            a = DRAW.normal(size=(count, n, n)).astype(dtype)
            for how, f in (("eager", fw.matmul), ("program", program), ("generate", written)):
                yield Row(
                    f"{n} x {n} {np.dtype(dtype).name} {how}", lambda f=f, a=a: f(a, a),
                    lambda a=a: np.matmul(a, a), 2.0,
                )  # fmt: skip


ROWS = {"large": large, "small": small, "stacks": stacks, "products": products}


def measured(row: Row, clock: Callable[[], float]) -> tuple[float, float]:
    """Seconds of a call, ours and the library's."""
    row.ours()
    row.library()
    begin = time.perf_counter()
    row.library()
    took = time.perf_counter() - begin
    many = max(SEVERAL if took < SHORT else 1, min(500, int(2e-3 / took)))
    best = [float("inf"), float("inf")]
    rounds, end = 0, time.perf_counter() + SECONDS
    while rounds < LEAST_ROUNDS or time.perf_counter() < end:
        for k, call in enumerate((row.ours, row.library)):
            time.sleep(0.002)  # the other's threads spin for a while after their work
            begin = clock()
            for _ in range(many):
                call()
            best[k] = min(best[k], (clock() - begin) / many)
        rounds += 1
    return best[0], best[1]


def lines(groups: list[str], clock: Clock, options: argparse.Namespace) -> Iterator[str]:
    """The table of each group; what misses its target is marked NO."""
    if "first" in groups:  # in a process that has compiled nothing yet
        yield from first_calls()
    for group in (name for name in GROUPS if name in groups and name != "first"):
        what = "us longer" if group == "small" else "library / ours"
        yield from ("", f"| {group} | library, us | ours, us | {what} | wanted | |")
        yield "|---|---:|---:|---:|---:|---|"
        for row in ROWS[group]():
            ours, theirs = measured(row, clock)
            value = (ours - theirs) * 1e6 if row.more else theirs / ours
            reached = value <= row.wanted if row.more else value >= row.wanted
            yield (
                f"| {row.name} | {theirs * 1e6:,.4g} | {ours * 1e6:,.4g} | {value:.3g} |"
                f" {row.wanted:g} | {'' if reached else 'NO'} |"
            )


def first_calls() -> Iterator[str]:
    """The table of first calls."""
    yield from ("", "| first call, CPU ms | eager | in a map | small stack | |")
    yield "|---|---:|---:|---:|---|"
    for name, *times in library_calls.rows():
        cells = " | ".join("" if t is None else f"{max(t, 0):.3g}" for t in times)
        reached = max(t for t in times if t is not None) <= library_calls.LIMIT
        yield f"| {name} | {cells} | {'' if reached else 'NO'} |"


def main() -> None:
    """Measure, print, keep."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    pages.write(
        "dense", "Dense work next to libraries", GROUPS, lines, parser,
        note=lambda options: "; `python -m bench.dense`.",
    )  # fmt: skip


if __name__ == "__main__":
    main()
