"""The benchmark: `python bench/run.py [names] [--quick] [--save] [--threads N] ..`.

Every row runs in a separate process; in it, everything is checked against our result once and
then timed alternately (measure.py). Numba, SciPy, JAX, C, C++: missing peers are named.
All contenders get the same threads. OpenBLAS gets one thread but in the row that compares it, and
its idle workers sleep at once. Peak memory comes from one more process per row (memory.py).
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[0] = str(ROOT)

from bench import machine, table  # noqa: E402
from bench.row import Row  # noqa: E402
from bench.rows import ROWS  # noqa: E402

FIRST_CALL = "first_call"
METHOD = """\
Medians of interleaved rounds, one process per row, everything in every round; ratios are taken
within a round. The floor is the bytes that must move at the speed of a non-temporal copy, or of
reading (where next to nothing is written, and for sums of rows), measured in the same rounds.
Memory: the peak above what is resident once the program is compiled, less inputs and outputs."""
CPU_METHOD = """\
--cpu: every time is the least CPU time of all threads together, so a serial peer looks as fast as
a parallel one, and waiting costs nothing. For comparing one thread with one, two with two."""


def environment(row: Row | None, threads: int) -> dict[str, str]:
    """What must be set before the libraries are loaded; OpenBLAS has threads in its own row."""
    return machine.environment(threads, threads if row is not None and row.blas else 1)


def child(module: str, row: Row | None, options: argparse.Namespace, *more: str) -> dict[str, Any]:
    """The JSON one process prints; its last complaint if it fails."""
    command = [sys.executable, "-m", module, *more]
    if options.quick:
        command.append("--quick")
    done = subprocess.run(
        command, cwd=ROOT, env=environment(row, options.threads), capture_output=True, text=True
    )
    if done.returncode:
        said = [line for line in done.stderr.splitlines() if line.strip()]
        return {"failed": said[-1] if said else f"exit status {done.returncode}"}
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def peak(row: Row, options: argparse.Namespace) -> dict[str, Any]:
    """The verdict on the row's memory, measured in a separate process."""
    return judged(row, child("bench.memory", row, options, row.name))


def judged(row: Row, found: dict[str, Any]) -> dict[str, Any]:
    """Whether what memory held at most is little enough."""
    need = "inputs + outputs + 64 MiB"
    if row.bytes_each:
        need = f"memory: {row.bytes_each:g} bytes each"
    if "failed" in found:
        return {"need": need, "measured": found["failed"], "reached": None}
    if row.bytes_each:
        each = found["peak"] / found["size"]
        return {"need": need, "measured": f"{each:.2f}", "reached": each <= row.bytes_each}
    beyond = found["beyond"]
    return {
        "need": need,
        "measured": f"{beyond / 2**20:+.0f} MiB",
        "reached": beyond <= found["allowed"],
    }


def result_of(name: str, options: argparse.Namespace) -> dict[str, Any]:
    """One row's times and its memory."""
    if name == FIRST_CALL:
        found = child("bench.first_call", None, options)
        return found if "failed" not in found else {"name": name, "title": name, **found}
    row = ROWS[name]
    more = ("--cpu",) if options.cpu else ()
    found = child("bench.measure", row, options, name, "--without", options.without, *more)
    if "failed" in found:
        return {"name": name, "title": row.title, **found}
    if row.is_large and options.memory:
        found["verdicts"].append(peak(row, options))
    return found


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help=f"of {', '.join([*ROWS, FIRST_CALL])}")
    parser.add_argument("--quick", action="store_true", help="small inputs: a minute, a first look")
    parser.add_argument("--threads", type=int, default=min(2, os.cpu_count() or 1))
    parser.add_argument("--save", action="store_true", help="keep the results in bench/results")
    parser.add_argument(
        "--without", default="", help="libraries to leave out: jax,numba,scipy,awkward,c"
    )
    parser.add_argument(
        "--cpu",
        action="store_true",
        help="least CPU time of all threads together,"
        " not median time: for tuning on a machine that others use",
    )
    parser.add_argument("--no-memory", dest="memory", action="store_false")
    options = parser.parse_args()
    known = [*ROWS, FIRST_CALL]
    chosen = [name for name in known if any(name.startswith(said) for said in options.names)]
    options.names = chosen if options.names else known
    if not options.names:
        parser.error(f"the rows are {', '.join(known)}")
    return options


def save(about: dict[str, Any], results: list[dict[str, Any]], method: str) -> None:
    """Keep the page, and the same as JSON."""
    page = machine.keep(table.markdown(about, results, method))
    kept = {"machine": about, "rows": results}
    page.with_suffix(".json").write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    print(f"kept in {page} and .json")


def main() -> int:
    """Measure, print, keep."""
    options = arguments()
    about = machine.describe(options.threads)
    print("; ".join(f"{name} {value}" for name, value in about.items()))
    method = CPU_METHOD if options.cpu else METHOD
    print(method, end="\n\n", flush=True)
    results, start = [], time.monotonic()
    for name in options.names:
        results.append(result_of(name, options))
        print(table.text(results[-1:]))
        if "seconds" in results[-1]:
            print(f"  all: {table.contenders(results[-1])}", flush=True)
    about["load_after"] = machine.load()
    print("\n" + table.text(results))
    for line in table.missing(results):
        print(f"not compared: {line}")
    print(f"{time.monotonic() - start:.0f} s; load {about['load_before']} .. {about['load_after']}")
    if options.save:
        save(about, results, method)
    return 0


if __name__ == "__main__":
    sys.exit(main())
