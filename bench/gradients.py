"""Gradients: what a vjp takes beyond the value, over the value, and its memory; JAX and PyTorch.

    python bench/gradients.py [names] [--quick] [--wall] [--save]

Each row runs in its own process. Value, vjp and those of JAX and PyTorch, where they are installed,
are called alternately; the least CPU time of all threads counts, which a busy machine disturbs
least, or with --wall the least time. A vjp gives the value and the cotangents of all floating
arguments; bundle adjustment and hand tracking give the value and a Jacobian, k-means a Hessian.
Memory is the peak above what is resident before the call, less results.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path[0] = str(Path(__file__).resolve().parent.parent)

import numpy as np  # noqa: E402

import flatweave as fw  # noqa: E402
from bench import gradient_programs as programs  # noqa: E402
from bench.gradient_peers import calls_of  # noqa: E402
from bench.machine import keep, load, model, version  # noqa: E402
from bench.memory import reset_peak, resident  # noqa: E402
from bench.values import leaves, total_bytes  # noqa: E402
from tests.gradients.laws import mapped  # noqa: E402

ROUNDS, SECONDS = 15, 8.0
PEERS = ("jax", "torch")
NOTE = """NO marks a goal that is missed. JAX and PyTorch have rows of different lengths as flat
values with the row of each, or padded (attention). Bundle adjustment gives its Jacobian by reverse
mode, hand tracking by forward mode. The Hessian of k-means is ours alone."""


@dataclass(frozen=True, slots=True)
class Row:
    """A program, what its vjp may take beyond the value, and arguments of a size."""

    goal: float
    size: int
    program: Callable[..., Any]
    arguments: Callable[[int], tuple[Any, ...]]
    peer: str = ""  # the same program's name among those for JAX and PyTorch


ROWS: dict[str, Row] = {
    name: Row(*row) for name, row in programs.ROWS.items()  # type: ignore[misc]
}


def vjp(program: Callable[..., Any]) -> Callable[..., Any]:
    """The value, and the cotangents of all arguments."""

    def value_and_back(cotangents: Any, *args: Any) -> Any:
        value, back = fw.vjp(program, *args)
        return value, back(cotangents)

    return fw.jit(value_and_back)


def least(
    calls: dict[str, Callable[[], Any]], clock: Callable[[], float]
) -> dict[str, float]:
    """The least time of each call, in milliseconds; all are called in every round."""
    found: dict[str, float] = dict.fromkeys(calls, float("inf"))
    for call in calls.values():
        call()
    begun = time.monotonic()
    for _ in range(ROUNDS):
        for name, call in calls.items():
            start = clock()
            call()
            found[name] = min(found[name], 1000 * (clock() - start))
        if time.monotonic() - begun > SECONDS:
            break
    return found


def peak(call: Callable[[], Any]) -> float:
    """The MiB that a call needs at most beyond its results."""
    call()
    reset_peak()
    before = resident("VmRSS")
    results = leaves(call())
    return float(resident("VmHWM") - before - total_bytes(results)) / 2**20


def measure(name: str, quick: bool, wall: bool) -> dict[str, Any]:
    """One row: times and peaks."""
    row = ROWS[name]
    args = row.arguments(row.size // 16 if quick else row.size)
    value = fw.jit(row.program)
    if name in programs.DERIVED:
        derivative, given = programs.DERIVED[name], args
    else:
        cotangents = mapped(value(*args), lambda x: np.ones_like(x) if x.ndim else 1.0)
        derivative, given = vjp(row.program), (cotangents, *args)
    calls: dict[str, Callable[[], Any]] = {
        "value": lambda: value(*args), "vjp": lambda: derivative(*given),
    }  # fmt: skip
    found: dict[str, Any] = {f"{key}_mib": peak(call) for key, call in calls.items()}
    for peer in PEERS if row.peer else ():
        with contextlib.suppress(ImportError):
            calls |= calls_of(peer, row.peer, args)
    return found | least(calls, time.perf_counter if wall else time.process_time)


def line(name: str, found: dict[str, Any]) -> str:
    """A row of the table."""
    row = ROWS[name]
    goal = f"{row.goal:g}" if row.goal < np.inf else ""
    if "failed" in found:
        return f"| {name} | {goal} | {found['failed']} |"
    ratio = found["vjp"] / found["value"] - 1
    keys = [f"{peer} {what}" for peer in PEERS for what in ("value", "vjp")]
    peers = [f"{found[key]:.1f}" if key in found else "" for key in keys]
    mark = "" if ratio <= row.goal else " NO"
    return (
        f"| {name} | {goal} | {ratio:.2f}{mark} | {found['value']:.1f} | {found['vjp']:.1f}"
        f" | {found['value_mib']:.1f} | {found['vjp_mib']:.1f} | {' | '.join(peers)} |"
    )


def means(rows: list[dict[str, Any]]) -> list[str]:
    """For each peer how many times as long its derivatives take, and where they take less time."""
    lines = []
    for peer in PEERS:
        ratios = [row[f"{peer} vjp"] / row["vjp"] for row in rows if f"{peer} vjp" in row]
        if ratios:
            mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
            lines.append(
                f"Derivatives of {peer}: {len(ratios)} programs, geometric mean of their time"
                f" over ours {mean:.2f}, least {min(ratios):.2f}."
            )
    return lines


COLUMNS = (
    "program", "goal", "vjp beyond the value, over it", "value, ms", "vjp, ms", "MiB of the value",
    "MiB of the vjp", "JAX: value", "vjp", "PyTorch: value", "vjp",
)
HEAD = f"| {' | '.join(COLUMNS)} |\n|{'---|' * len(COLUMNS)}"


def heading(options: argparse.Namespace) -> list[str]:
    """What was run, where, and which time counts."""
    measured = "least time" if options.wall else "least CPU time of all threads"
    where = f"{model()}, {os.cpu_count()} cores; load {load()}; {measured}."
    peers = f"JAX {version('jax')}, PyTorch {version('torch')} (eager), called alternately."
    command = f"    python bench/gradients.py {' '.join(sys.argv[1:])}"
    return ["# Gradients: a vjp beyond its value", "", command, "", f"{where} {peers} {NOTE}"]


def child(name: str, options: argparse.Namespace) -> dict[str, Any]:
    """A row, measured in another process."""
    flags = [f"--{key}" for key in ("quick", "wall") if getattr(options, key)]
    command = [sys.executable, __file__, "--row", name, *flags]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        return {"failed": (done.stderr.strip().splitlines() or ["it was killed"])[-1][:200]}
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="some of the rows, by parts of their names")
    parser.add_argument("--quick", action="store_true", help="a sixteenth of the sizes")
    parser.add_argument("--wall", action="store_true", help="time, not CPU time")
    parser.add_argument("--save", action="store_true", help="keep the table in bench/results")
    parser.add_argument("--row", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.row:
        found = measure(options.row, options.quick, options.wall)
        sys.stdout.write(json.dumps(found) + "\n")
        return
    lines, every = HEAD.splitlines(), []
    sys.stdout.write(HEAD + "\n")
    for name in ROWS:
        if not options.names or any(part in name for part in options.names):
            every.append(child(name, options))
            lines.append(line(name, every[-1]))
            sys.stdout.write(lines[-1] + "\n")
            sys.stdout.flush()
    summary = means(every)
    sys.stdout.write("\n".join(["", *summary, ""]))
    lines += ["", *summary]
    if options.save:
        kind = "full-sizes" * (not options.quick)
        keep("\n".join([*heading(options), "", *lines, ""]), f"gradients-{kind}".strip("-"))


if __name__ == "__main__":
    main()
