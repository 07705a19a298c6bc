"""Groups, joins, ragged rows and recurrences next to the libraries made for them.

    python -m bench.tables [GROUP ..] [--scale 0.1] [--cpu] [--save]

    groups         sum, mean, median by 10^2, 10^4 and 10^6 groups; own functions of each group
    joins          inner, as-of, intervals that overlap, points that are near
    rows           pairs of each row, argmax, sort, cartesian products with a cut
    recurrences    one long series, many short ones, a step that is not affine
    text           split, find, read numbers; strings as keys
    bytes          programs over bytes: CSV, lines of a log, byte pairs

The peers are called alternately with Flatweave in one process, on two threads, and the least time
of each counts; `--cpu` takes the CPU time of all threads instead, for a machine that is busy: a
peer that works on one thread then looks twice as fast as it is. Results are compared before
anything is timed. Peers that are not installed are left out, and the table says so.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from bench import pages
from bench.pages import THREADS, Clock
from bench.table_rows import ROWS as NUMBERS
from bench.table_rows import Row
from bench.text_rows import programs, text

ROWS = {**NUMBERS, "text": text, "bytes": programs}

SECONDS, LEAST_ROUNDS = 1.0, 3


def same(ours: Any, theirs: Any) -> bool:
    """Whether two results have the same arrays, floats up to the order of their sums."""
    pairs = list(zip(ours, theirs, strict=True))
    return all(
        np.array_equal(a, b) or (
            np.shape(a) == np.shape(b) and np.allclose(a, b, rtol=1e-6, atol=1e-9, equal_nan=True)
        )
        for a, b in pairs
    )


def measured(row: Row, clock: Callable[[], float]) -> tuple[float, dict[str, float], str]:
    """Seconds of a call, ours and each peer's; and the peers whose results differ."""
    calls = {"ours": row.ours, **row.peers}
    results = {name: row.read[name](call()) for name, call in calls.items()}
    differ = [name for name in row.peers if not same(results["ours"], results[name])]
    best = dict.fromkeys(calls, float("inf"))
    rounds, end = 0, time.perf_counter() + SECONDS
    while rounds < LEAST_ROUNDS or time.perf_counter() < end:
        for name, call in calls.items():
            time.sleep(0.002)  # the others' threads spin for a while after their work
            begin = clock()
            call()
            best[name] = min(best[name], clock() - begin)
        rounds += 1
    return best.pop("ours"), best, ", ".join(differ)


def lines_of(rows: dict[str, Callable[[float], Iterator[Row]]]) -> Callable[..., Iterator[str]]:
    """The table of each group; what misses its target is marked NO."""
    def lines(groups: list[str], clock: Clock, options: argparse.Namespace) -> Iterator[str]:
        for group in groups:
            yield from ("", f"| {group} | ours, ms | peers, ms | peer / ours | wanted | |")
            yield "|---|---:|---|---|---|---|"
            for row in rows[group](options.scale):
                yield line(row, clock)

    return lines


def line(row: Row, clock: Clock) -> str:
    """One row, measured."""
    ours, peers, differ = measured(row, clock)
    known = {name: least for name, least in row.wanted.items() if name in peers}
    missed = any(peers[name] / ours < least for name, least in known.items())
    verdict = f"DIFFERS FROM {differ}" if differ else "NO" if missed else ""
    cells = (
        ", ".join(f"{name} {took * 1e3:.4g}" for name, took in peers.items()),
        ", ".join(f"{name} {took / ours:.3g}" for name, took in peers.items()),
        ", ".join(f"{name} {least:g}" for name, least in row.wanted.items()),
    )
    return f"| {row.name} | {ours * 1e3:.4g} | {' | '.join(cells)} | {verdict} |"


def main() -> None:
    """Measure, print, keep."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scale", type=float, default=1.0, help="the part of each size")
    pages.write(
        "tables", "Tables next to libraries", ROWS, lines_of(ROWS), parser,
        note=lambda options: f", {options.scale:g} of the full sizes;"
        f" `python -m bench.tables --scale {options.scale:g}`.",
        variables={"POLARS_MAX_THREADS": str(THREADS), "NUMBA_NUM_THREADS": str(THREADS)},
    )  # fmt: skip


if __name__ == "__main__":
    main()
