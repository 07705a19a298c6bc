"""First calls of small programs, and the import: python -m bench.first_calls [--save]

Each in separate processes, first with an empty cache, then with what another process compiled.
A cell has the least of `TURNS` processes: the CPU time of all threads, and the time by the clock.
The CPU time hardly depends on what else the machine does.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from bench import machine

ROOT = Path(__file__).resolve().parent.parent
TURNS = 4
PROGRAMS = {  # a function, and its arguments
    "sum(x * y)": ("lambda x, y: fw.sum(x * y)", "x, x"),
    "sort": ("fw.sort", "x"),
    "filter": ("lambda x: fw.filter(lambda a: a > 0.5, x)", "x"),
    "histogram": ("lambda i: fw.histogram(256, i)", "i"),
    "softmax of ragged rows": ("lambda rows: fw.map(softmax, rows)", "fw.ragged(x, lengths=n)"),
    "expand into permute": ("lambda i: fw.histogram(256, fw.expand(of, minus, i))", "i"),
}
CODE = """
import json, sys, time
import numpy as np
def clocks():
    return time.process_time(), time.perf_counter()
start = clocks()
import flatweave as fw
loaded = clocks()
x, i, n = np.random.rand(1000).astype("f4"), np.arange(1000) % 256, np.full(100, 10)
of, minus = lambda n: n % 4, lambda n, k: n - k
def softmax(row):
    raised = fw.exp(row - fw.max(row))
    return raised / fw.sum(raised)
program, args = fw.jit(eval(sys.argv[1])), eval(f"({sys.argv[2]},)")
begin = clocks()
program(*args)
end = clocks()
print(json.dumps([*(b - a for a, b in zip(start, loaded)), *(b - a for a, b in zip(begin, end))]))
"""
METHOD = """\
CPU ms of all threads / ms by the clock, the least of {turns} fresh processes each; 1,000 elements.
The compiler's import is part of the call; Python's files were compiled before.
In the second process another one had compiled the program. `python -m bench.first_calls --save`."""


def fresh(program: str, folder: str, cached: bool) -> list[float]:
    """CPU seconds and seconds by the clock of the import, and of the first call."""
    environment = machine.environment(min(2, os.cpu_count() or 1), 1) | {
        "XDG_CACHE_HOME": folder,
        "PYTHONPATH": str(ROOT),
        "PYTHONPYCACHEPREFIX": folder,
        "FLATWEAVE_NO_CACHE": "0" if cached else "1",
    }
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    done = subprocess.run(
        [sys.executable, "-c", CODE, *PROGRAMS[program]], cwd=ROOT, env=environment,
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    found: list[float] = json.loads(done.stdout)
    return found


def measured(program: str, folder: str) -> dict[str, list[float]]:
    """The least of each figure, without a cache and with one."""
    fresh(program, folder, cached=True)
    runs = {
        what: [fresh(program, folder, cached) for _ in range(TURNS)]
        for what, cached in (("nothing cached", False), ("second process", True))
    }
    return {what: [min(each) for each in zip(*found, strict=True)] for what, found in runs.items()}


def cell(cpu: float, clock: float) -> str:
    """248 / 1301"""
    return " / ".join(
        f"{ms:.0f}" if ms > 100 else f"{ms:.3g}" for ms in (cpu * 1e3, clock * 1e3)
    )


def page(about: dict[str, Any], results: dict[str, dict[str, list[float]]]) -> str:
    """The page for bench/results."""
    imports = [run[:2] for found in results.values() for run in found.values()]
    lines = [f"# First calls, {about['date'][:10]}", "",
             "; ".join(f"{name} {value}" for name, value in about.items()), "",
             METHOD.format(turns=TURNS), "",
             "| program | nothing cached | second process |", "|---|---:|---:|"]  # fmt: skip
    for program, found in results.items():
        cells = " | ".join(cell(*run[2:]) for run in found.values())
        lines.append(f"| {program} | {cells} |")
    least = [min(each) for each in zip(*imports, strict=True)]
    lines += ["", f"`import flatweave`, NumPy imported before: {cell(*least)}."]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure, print, keep."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--save", action="store_true", help="keep the page in bench/results")
    options = parser.parse_args()
    about = machine.describe(min(2, os.cpu_count() or 1))
    with tempfile.TemporaryDirectory() as folder:
        results = {program: measured(program, folder) for program in PROGRAMS}
    about["load_after"] = machine.load()
    text = page(about, results)
    print(text)
    if options.save:
        print(f"kept in {machine.keep(text, 'first-calls')}")


if __name__ == "__main__":
    main()
