"""Groups, joins, ragged rows and recurrences next to the libraries made for them.

    python -m bench.tables [GROUP ..] [--scale 0.1] [--cpu] [--save]

    groups         sum, mean, median by 10^2, 10^4 and 10^6 groups; own functions of each group
    joins          inner, as-of, intervals that overlap, points that are near
    rows           pairs of each row, argmax, sort, cartesian products with a cut
    recurrences    one long series, many short ones, a step that is not affine
    questions      the group-by and join questions of db-benchmark

The peers are called alternately with Flatweave in one process, on two threads, and the least time
of each counts; `--cpu` takes the CPU time of all threads instead, for a machine that is busy: a
peer that works on one thread then looks twice as fast as it is. Results are compared before
anything is timed. Peers that are not installed are left out, and the table says so.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from bench import machine
from bench.functions.compare import settings
from bench.table_rows import ROWS, Row

THREADS = 2
SECONDS, LEAST_ROUNDS = 1.0, 3


def same(ours: Any, theirs: Any) -> bool:
    """Whether two results have the same arrays, floats up to the order of their sums."""
    pairs = list(zip(ours, theirs, strict=True))
    return all(
        np.shape(a) == np.shape(b) and np.allclose(a, b, rtol=1e-6, atol=1e-9, equal_nan=True)
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


def lines(groups: list[str], scale: float, clock: Callable[[], float]) -> Iterator[str]:
    """The table of each group; what misses its target is marked NO."""
    for group in groups:
        yield from ("", f"| {group} | ours, ms | peers, ms | peer / ours | wanted | |")
        yield "|---|---:|---|---|---|---|"
        for row in ROWS[group](scale):
            ours, peers, differ = measured(row, clock)
            known = {name: least for name, least in row.wanted.items() if name in peers}
            missed = any(peers[name] / ours < least for name, least in known.items())
            verdict = f"DIFFERS FROM {differ}" if differ else "NO" if missed else ""
            cells = (
                ", ".join(f"{name} {took * 1e3:.4g}" for name, took in peers.items()),
                ", ".join(f"{name} {took / ours:.3g}" for name, took in peers.items()),
                ", ".join(f"{name} {least:g}" for name, least in row.wanted.items()),
            )
            yield f"| {row.name} | {ours * 1e3:.4g} | {' | '.join(cells)} | {verdict} |"


def main() -> None:
    """Measure in a process with known settings, print, keep."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("groups", nargs="*", metavar="GROUP", help=", ".join(ROWS))
    parser.add_argument("--scale", type=float, default=1.0, help="the part of each size")
    parser.add_argument("--cpu", action="store_true", help="CPU time of all threads")
    parser.add_argument("--save", action="store_true", help="keep the page in bench/results")
    parser.add_argument("--here", action="store_true", help="in this process, as it is set")
    options = parser.parse_args()
    groups = options.groups or [*ROWS]
    if unknown := {*groups} - {*ROWS}:
        parser.error(f"groups are {', '.join(ROWS)}, got {', '.join(sorted(unknown))}")
    if not options.here:
        again = [sys.executable, "-m", "bench.tables", *sys.argv[1:], "--here"]
        around, root = machine.environment(THREADS, THREADS), Path(__file__).resolve().parent.parent
        around |= {"POLARS_MAX_THREADS": str(THREADS), "NUMBA_NUM_THREADS": str(THREADS)}
        sys.exit(subprocess.run(again, check=False, env=around, cwd=root).returncode)
    about = machine.describe(THREADS) | vars(settings())
    unit = "CPU time of all threads" if options.cpu else "wall time"
    page = [
        f"# Tables next to libraries, {about['date'][:10]}", "",
        "; ".join(f"{name} {value}" for name, value in about.items()), "",
        f"Least {unit} of alternate calls, {options.scale:g} of the full sizes;"
        f" `python -m bench.tables --scale {options.scale:g}`.",
    ]  # fmt: skip
    print("\n".join(page), flush=True)
    clock = time.process_time if options.cpu else time.perf_counter
    for line in lines(groups, options.scale, clock):
        page.append(line)
        print(line, flush=True)
    if options.save:
        text = "\n".join(page) + "\n"
        print(f"kept in {machine.keep(text, 'tables')}")


if __name__ == "__main__":
    main()
