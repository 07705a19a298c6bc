"""More threads than cores: python -m bench.many_threads [PATH ..] [--quick] [--cpu] [--save]

    path, elements          1         2     3    16    64   128  bits  holds
    scan, 4,000,000      1.45   2.54 ms  1.00  1.00  1.02  1.02  same    yes

Every path by which a program uses several threads runs with each number of threads, in rounds whose
order rotates. A figure is the median over the rounds of its time over the time of 2 threads in the
same round; with `--cpu` of its CPU time, which shows what waking and waiting cost on a machine that
does other work. `same`: all calls gave the same bits, also calls as on a machine of as many cores
as threads, where all threads begin at once. A path holds if 16 threads take at most 1.5 times as
long as 2, and 128 threads at most 3 times.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Iterator
from statistics import median
from typing import Any, NamedTuple

import numpy as np

import flatweave as fw
from bench import machine
from flatweave import kernel as fk
from flatweave.base.config import config
from flatweave.runtime.support import POOL

THREADS = (1, 2, 3, 16, 64, 128)
BASE = 2
LIMITS = {16: 1.5, 128: 3.0}
ROUNDS, QUICK_ROUNDS = 15, 3
CROWDED_RUNS = 3
SAMPLE = 0.008  # seconds that a sample takes at least
LARGE, MIDDLE, SMALL = 4_000_000, 200_000, 20_000
TILE = 1024

Call = Callable[[], Any]
Clock = Callable[[], float]


class Path(NamedTuple):
    """A way to use several threads: a program, and the arguments for a number of elements."""

    program: Callable[..., Any]
    arguments: Callable[[int], tuple[Any, ...]]
    sizes: tuple[int, ...] = (LARGE, MIDDLE)


class Measured(NamedTuple):
    """Milliseconds with 2 threads, ratios to it by number of threads, and whether bits agree."""

    name: str
    base: float
    ratios: dict[int, float]
    same: bool

    @property
    def holds(self) -> bool:
        """Whether the bits agree and no ratio is above its limit."""
        return self.same and all(self.ratios[n] <= most for n, most in LIMITS.items())


# ---------------------------------------------------------------- data


def floats(n: int, seed: int = 0) -> np.ndarray[Any, Any]:
    """Numbers of both signs."""
    return np.random.default_rng(seed).standard_normal(n)


def integers(n: int, most: int, seed: int = 1) -> np.ndarray[Any, Any]:
    """Numbers from 0 to below `most`."""
    return np.random.default_rng(seed).integers(0, most, n)


def one(n: int) -> tuple[Any, ...]:
    """An array of floats."""
    return (floats(n),)


def keys(n: int) -> tuple[Any, ...]:
    """An array of distinct integers in random order."""
    return (np.random.default_rng(2).permutation(n),)


def indexed(bins: int) -> Callable[[int], tuple[Any, ...]]:
    """Indices below `bins`, and floats."""
    return lambda n: (integers(n, bins), floats(n))


def rows(n: int) -> tuple[Any, ...]:
    """Rows of 0 to 39 floats, `n` in all or a few more."""
    lengths = integers(max(n // 20, 1), 40)
    return (fw.ragged(floats(int(lengths.sum())), lengths=lengths),)


def matrices(n: int) -> tuple[Any, ...]:
    """Two square matrices of `n` elements."""
    side = int(n**0.5)
    return floats(side * side).reshape(side, side), floats(side * side, 3).reshape(side, side)


def chunks(n: int) -> tuple[Any, ...]:
    """Floats in sixteen chunks."""
    return (fw.Chunked.cut(floats(n), max(n // 16, 1)),)


# ---------------------------------------------------------------- programs


def compose(f: Any, g: Any) -> Any:
    """The composition of x -> a x + b, which does not commute."""
    return f[0] * g[0], f[1] * g[0] + g[1]


def affine(xs: Any) -> Any:
    """A scan whose elements are wider than a word that a block publishes."""
    return fw.scan(compose, (1.0, 0.0), (xs * 0.1, xs))


def smooth(xs: Any) -> Any:
    """A loop on the host of thirty short sweeps."""
    return fw.fori_loop(0, 30, lambda _, x: x * 0.5 + fw.roll(x, 1) * 0.5, xs)


def halve(xs: Any) -> Any:
    """A loop on the host whose condition needs a reduction."""
    return fw.while_loop(lambda x: fw.max(x) > 0.001, lambda x: x * 0.5, xs)


def newton(row: Any) -> Any:
    """A loop in each row, of different lengths, over private memory."""
    sorted_row = fw.sort(row)
    return fw.sum(fw.scan(fw.add, 0.0, sorted_row) * sorted_row)


@fk.kernel
def running_sums(xs: Any) -> Any:
    """A kernel whose blocks look back at the blocks before them."""
    parts = fk.split_up(TILE, xs)
    chain = fk.chain(parts.length, 0)
    out = fk.memory(xs.length, fw.i64)

    def block(b: Any) -> None:
        total = fk.reduce(fw.add, parts[b], 0)
        before = fk.look_back(fw.add, chain, b, total)
        sums = fk.scan(fw.add, parts[b], 0, before)
        sums.write(lambda i, value: out.__setitem__(b * TILE + i, value))

    fk.for_all(parts.length, block)
    return out


@fk.kernel
def in_order(xs: Any) -> Any:
    """A kernel whose blocks run one after another, each waiting for the one before."""
    parts = fk.split_up(TILE, xs)
    words = fk.fill(fk.pull(parts.length + 1, lambda i: fk.cond(i == 0, lambda: 1, lambda: 0)))
    out = fk.memory(xs.length, fw.i64)

    def block(b: Any) -> None:
        before = fk.wait_until(lambda word: word > 0, words, b)

        def write(i: Any) -> None:
            out[b * TILE + i] = parts[b][i] + before

        fk.for_all(TILE, write)
        fk.release(words, b + 1, before + 1)

    fk.for_all(parts.length, block)
    return out


def tiles(n: int) -> tuple[Any, ...]:
    """Integers, a whole number of tiles."""
    return (integers(n // TILE * TILE, 100),)


def summed(bins: int) -> Callable[..., Any]:
    """Sums of floats by index, into `bins` of them."""
    return lambda at, xs: fw.histogram(bins, at, xs, fw.add, 0.0)


PATHS: dict[str, Path] = {
    "sweep": Path(lambda x: fw.exp(x) * x + 1.0, one, (LARGE, MIDDLE, SMALL)),
    "reduce": Path(lambda x: fw.sum(x * x), one, (LARGE, MIDDLE, SMALL)),
    "argmax": Path(fw.argmax, one),
    "scan": Path(lambda x: fw.scan(fw.add, 0.0, x), one, (LARGE, MIDDLE, SMALL)),
    "scan of pairs": Path(affine, one),
    "filter": Path(lambda x: fw.filter(lambda v: v > 0.0, x), one),
    "sort of floats": Path(fw.sort, one, (LARGE // 4, MIDDLE)),
    "sort of integers": Path(fw.sort, keys, (LARGE // 4, MIDDLE)),
    "argsort": Path(fw.argsort, one, (LARGE // 4, MIDDLE)),
    "histogram, 100 bins": Path(lambda at, _: fw.histogram(100, at), indexed(100)),
    "histogram, 10^6 bins": Path(lambda at, _: fw.histogram(10**6, at), indexed(10**6)),
    "sums by index, 100": Path(summed(100), indexed(100)),
    "sums by index, 10^6": Path(summed(10**6), indexed(10**6), (LARGE // 4, MIDDLE)),
    "permute": Path(lambda at: fw.permute(fw.add, fw.zeros(at.shape, np.int64), at, at), keys),
    "gather": Path(lambda at: at[at], keys, (LARGE, MIDDLE)),
    "segmented scan": Path(
        lambda at, x: fw.segmented_scan(fw.add, 0.0, at == 0, x), indexed(1000)
    ),
    "sums of rows": Path(lambda r: fw.map(fw.sum, r), rows),
    "nest": Path(lambda r: fw.map(newton, r), rows, (LARGE // 4, MIDDLE)),
    "expand": Path(
        lambda n: fw.expand(lambda k: k, lambda k, i: k * i, n), lambda n: (integers(n // 8, 16),)
    ),
    "sums of columns": Path(lambda a, _: fw.sum(a, axis=0), matrices),
    "product": Path(lambda a, b: a @ b, matrices, (MIDDLE,)),
    "stencil": Path(lambda x: fw.stencil(lambda w: w[-1] + w[0] + w[1], x, 3), one),
    "loop of sweeps": Path(smooth, one, (MIDDLE, SMALL)),
    "loop with a condition": Path(halve, one, (MIDDLE, SMALL)),
    "chunks: sum": Path(lambda x: fw.sum(x * x), chunks),
    "chunks: scan": Path(lambda x: fw.sum(fw.scan(fw.add, 0.0, x)), chunks),
    "kernel with look-back": Path(running_sums, tiles),
    "kernel of waiting blocks": Path(in_order, tiles, (MIDDLE * 4, MIDDLE)),
}


# ---------------------------------------------------------------- measuring


def bits_of(found: Any) -> bytes:
    """All bytes of a result."""
    if isinstance(found, tuple | list):
        return b"|".join(bits_of(part) for part in found)
    if isinstance(found, fw.Ragged):
        return bits_of((found.values, found.offsets))
    return np.asarray(found).tobytes()


def seconds(call: Call, threads: int, repeat: int, clock: Clock) -> float:
    """The time of a call."""
    with config.scoped(threads=threads):
        begin = clock()
        for _ in range(repeat):
            call()
        return (clock() - begin) / repeat


def repeats(call: Call) -> int:
    """How many calls make a sample."""
    least = min(seconds(call, BASE, 1, time.perf_counter) for _ in range(3))
    return max(1, round(SAMPLE / least))


def measure(name: str, call: Call, rounds: int, clock: Clock) -> Measured:
    """All numbers of threads, alternating."""
    bits: set[bytes] = set()
    times: dict[int, list[float]] = {n: [] for n in THREADS}
    repeat = repeats(call)
    order = list(THREADS)
    for _ in range(rounds):
        for threads in order:
            times[threads].append(seconds(call, threads, repeat, clock))
            with config.scoped(threads=threads):
                bits.add(bits_of(call()))
        order = order[1:] + order[:1]
    bits |= crowded(call)
    ratios = {
        n: median(a / b for a, b in zip(times[n], times[BASE], strict=True)) for n in THREADS
    }
    return Measured(name, median(times[BASE]) * 1e3, ratios, len(bits) == 1)


def crowded(call: Call) -> set[bytes]:
    """Results of calls in which all threads begin at once."""
    cores, found = POOL.cores, set()
    try:
        for threads in THREADS:
            POOL.assume_cores(threads)
            with config.scoped(threads=threads):
                found |= {bits_of(call()) for _ in range(CROWDED_RUNS)}
    finally:
        POOL.assume_cores(cores)
    return found


def calls(chosen: list[str]) -> Iterator[tuple[str, Call]]:
    """Every path at each of its sizes, compiled."""
    for name in chosen:
        path = PATHS[name]
        is_kernel = path.program in (running_sums, in_order)
        compiled = path.program if is_kernel else fw.jit(path.program)
        for size in path.sizes:
            call = bound(compiled, path.arguments(size))
            call()
            yield f"{name}, {size:,}", call


def bound(program: Callable[..., Any], arguments: tuple[Any, ...]) -> Call:
    """A call of a program."""
    return lambda: program(*arguments)


def line(found: Measured) -> str:
    """A row of the table."""
    ratios = [f"{found.base:.3g} ms" if n == BASE else f"{found.ratios[n]:.2f}" for n in THREADS]
    bits = "same" if found.same else "DIFFER"
    return f"| {found.name} | {' | '.join(ratios)} | {bits} | {'yes' if found.holds else 'NO'} |"


def heading(rounds: int, what: str) -> str:
    """What was measured, where."""
    about = machine.describe(BASE)
    cores = len(os.sched_getaffinity(0))
    return "\n".join([
        f"# More threads than cores, {about['date'][:10]}", "",
        "; ".join(f"{key} {value}" for key, value in about.items()), "",
        f"`python -m bench.many_threads`: {cores} cores. {what} of 2 threads, and ratios to"
        f" it in the same round, medians of {rounds} rounds. Wanted: 16 threads at most"
        f" {LIMITS[16]}, 128 at most {LIMITS[128]:g} times the time of 2;"
        " the same bits in every call.", "",
        f"| path, elements | {' | '.join(map(str, THREADS))} | bits | holds |",
        f"|---|{'---:|' * len(THREADS)}---|---|",
    ])  # fmt: skip


def main() -> None:
    """Print the table; keep it if asked to."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("paths", nargs="*", metavar="PATH", help=", ".join(PATHS))
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_ROUNDS} rounds")
    parser.add_argument("--cpu", action="store_true", help="CPU time of all threads")
    parser.add_argument("--save", action="store_true", help="keep the page in bench/results")
    options = parser.parse_args()
    if unknown := {*options.paths} - {*PATHS}:
        parser.error(f"unknown: {', '.join(sorted(unknown))}")
    rounds = QUICK_ROUNDS if options.quick else ROUNDS
    clock = time.process_time if options.cpu else time.perf_counter
    page = [heading(rounds, "CPU time" if options.cpu else "Time")]
    print(page[0], flush=True)
    found = []
    for name, call in calls(options.paths or [*PATHS]):
        found.append(measure(name, call, rounds, clock))
        page.append(line(found[-1]))
        print(page[-1], flush=True)
    kept = sum(one.holds for one in found)
    page += ["", f"{kept} of {len(found)} hold."]
    print("\n".join(page[-2:]))
    if options.save:
        text = "\n".join(page) + "\n"
        print(f"kept in {machine.keep(text, 'many-threads')}")


if __name__ == "__main__":
    main()
