"""Gradients: what a vjp takes beyond the value, over the value, and its memory; JAX next to it.

    python bench/gradients.py [names] [--quick] [--save]

Each row runs in its own process. Value, vjp and JAX's are called alternately; the least CPU time
of all threads counts, which a busy machine disturbs least. A vjp gives the value and the cotangents
of all floating arguments. Memory is the peak above what is resident before the call, less results.
"""

from __future__ import annotations

import argparse
import contextlib
import json
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
from bench.machine import keep  # noqa: E402
from bench.memory import reset_peak, resident  # noqa: E402
from bench.values import leaves, total_bytes  # noqa: E402
from tests.gradients.laws import mapped  # noqa: E402

ROUNDS, SECONDS = 15, 8.0


@dataclass(frozen=True, slots=True)
class Row:
    """A program, what its vjp may take beyond the value, and arguments of a size."""

    goal: float
    size: int
    program: Callable[..., Any]
    arguments: Callable[[int], tuple[Any, ...]]
    jax: str = ""  # the same program's name among those for JAX


ROWS: dict[str, Row] = {
    name: Row(*row) for name, row in programs.ROWS.items()  # type: ignore[misc]
}


def vjp(program: Callable[..., Any]) -> Callable[..., Any]:
    """The value, and the cotangents of all arguments."""

    def value_and_back(cotangents: Any, *args: Any) -> Any:
        value, back = fw.vjp(program, *args)
        return value, back(cotangents)

    return fw.jit(value_and_back)


def least(calls: dict[str, Callable[[], Any]]) -> dict[str, float]:
    """The least CPU time of each call, in milliseconds; all are called in every round."""
    found: dict[str, float] = dict.fromkeys(calls, float("inf"))
    for call in calls.values():
        call()
    begun = time.monotonic()
    for _ in range(ROUNDS):
        for name, call in calls.items():
            start = time.process_time()
            call()
            found[name] = min(found[name], 1000 * (time.process_time() - start))
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


def measure(name: str, quick: bool) -> dict[str, Any]:
    """One row: times and peaks."""
    row = ROWS[name]
    args = row.arguments(row.size // 16 if quick else row.size)
    value, back = fw.jit(row.program), vjp(row.program)
    cotangents = mapped(value(*args), lambda x: np.ones_like(x) if x.ndim else 1.0)
    calls: dict[str, Callable[[], Any]] = {
        "value": lambda: value(*args), "vjp": lambda: back(cotangents, *args),
    }  # fmt: skip
    found: dict[str, Any] = {f"{key}_mib": peak(call) for key, call in calls.items()}
    with contextlib.suppress(ImportError):
        calls |= programs.with_jax(row.jax, args) if row.jax else {}
    return found | least(calls)


def line(name: str, found: dict[str, Any]) -> str:
    """A row of the table."""
    row = ROWS[name]
    if "failed" in found:
        return f"| {name} | {row.goal:g} | {found['failed']} |"
    ratio = found["vjp"] / found["value"] - 1
    jax = [f"{found[key]:.1f}" if key in found else "" for key in ("jax_value", "jax_vjp")]
    mark = "" if ratio <= row.goal else " NO"
    return (
        f"| {name} | {row.goal:g} | {ratio:.2f}{mark} | {found['value']:.1f} | {found['vjp']:.1f}"
        f" | {found['value_mib']:.0f} | {found['vjp_mib']:.0f} | {' | '.join(jax)} |"
    )


COLUMNS = (
    "program", "goal", "vjp beyond the value, over it", "value, ms", "vjp, ms", "MiB of the value",
    "MiB of the vjp", "JAX: value", "vjp",
)
HEAD = f"| {' | '.join(COLUMNS)} |\n|{'---|' * len(COLUMNS)}"


def child(name: str, quick: bool) -> dict[str, Any]:
    """A row, measured in another process."""
    command = [sys.executable, __file__, "--row", name, *(["--quick"] if quick else [])]
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
    parser.add_argument("--save", action="store_true", help="keep the table in bench/results")
    parser.add_argument("--row", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.row:
        sys.stdout.write(json.dumps(measure(options.row, options.quick)) + "\n")
        return
    lines = HEAD.splitlines()
    sys.stdout.write(HEAD + "\n")
    for name in ROWS:
        if not options.names or any(part in name for part in options.names):
            lines.append(line(name, child(name, options.quick)))
            sys.stdout.write(lines[-1] + "\n")
            sys.stdout.flush()
    if options.save:
        keep("\n".join(["# Gradients", "", *lines, ""]), "gradients")


if __name__ == "__main__":
    main()
