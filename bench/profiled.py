"""Whether the profiler's bandwidths are those of the benchmark: python bench/profiled.py [--save]

For some rows of the benchmark, alternating calls: timed from outside, as bench/measure.py does, and
inside a profile. The benchmark's bandwidth is the bytes of arguments and results in the time of a
call; the profiler's the bytes that each pass moves in the time of its kernels. `--save` keeps the
table in bench/results.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[0] = str(ROOT)

import flatweave as fw  # noqa: E402
from bench.machine import keep, model  # noqa: E402
from bench.measure import sample  # noqa: E402
from bench.rows import ROWS  # noqa: E402
from bench.values import leaves, total_bytes  # noqa: E402

# rows of one pass that moves each argument and each result once
CHOSEN = ("dot", "scan_26", "black_scholes", "chain", "recurrence", "blur_3")
ROUNDS = 9
NEAR = 0.10


def compared(name: str) -> dict[str, Any]:
    """Both bandwidths of a row, in bytes a second, and the time of a call in a profile and not."""
    row = ROWS[name]
    args = row.inputs(row.size)
    f = fw.jit(row.program)

    def call() -> Any:
        return f(*args)

    moved = total_bytes(args) + total_bytes(leaves(call()))
    plain, inside, rates, busy = [], [], [], []
    for _ in range(ROUNDS):
        plain.append(sample(call, 1, time.perf_counter))
        with fw.profile() as p:
            inside.append(sample(call, 1, time.perf_counter))
        rows = p.rows()
        seconds = sum(each["seconds"] for each in rows)
        rates.append(sum(each["bytes"] or 0 for each in rows) / seconds)
        busy.append(min(rows[0]["busy"]))
    outside, found = moved / statistics.median(plain), statistics.median(rates)
    return {
        "row": name, "bench": outside, "profile": found, "apart": found / outside - 1,
        "call": statistics.median(plain), "watched": statistics.median(inside),
        "busy": statistics.median(busy),
    }  # fmt: skip


def main() -> None:
    """Compare the chosen rows."""
    parser = argparse.ArgumentParser()
    parser.add_argument("rows", nargs="*", default=CHOSEN)
    parser.add_argument("--save", action="store_true")
    options = parser.parse_args()
    lines = [
        f"# The profiler next to the benchmark, {datetime.now(UTC):%Y-%m-%d}",
        f"{model()}, {fw.jit(ROWS['dot'].program).stages(*ROWS['dot'].inputs(64)).cpu};"
        f" medians of {ROUNDS} rounds (bench/profiled.py).",
        "",
        "| row | bench, GB/s | profile, GB/s | off by | a call, ms | watched, ms | least busy |",
        "|---|---|---|---|---|---|---|",
    ]
    for name in options.rows:
        each = compared(name)
        lines.append(
            f"| {name} | {each['bench'] / 1e9:.1f} | {each['profile'] / 1e9:.1f}"
            f" | {each['apart']:+.1%}{'' if abs(each['apart']) <= NEAR else ' (!)'}"
            f" | {each['call'] * 1e3:.2f} | {each['watched'] * 1e3:.2f} | {each['busy']:.0%} |"
        )
        print(lines[-1], flush=True)
    said = "A call has work outside of kernels: Python, memory for results. (!): more than 10 %."
    text = "\n".join([*lines, "", said]) + "\n"
    if options.save:
        keep(text, "profile")


if __name__ == "__main__":
    main()
