"""Every public function with a counterpart in NumPy: python -m bench.names [NAME ..] [--save].

A process measures one call after the other (functions/compare.py); one that ends, or that takes
longer than `LIMIT` for a call, is a failure of that call, and another process goes on after it.
With `--save` the page and the times as JSON are kept in bench/results; `--against NAME.json` lists
the calls that are slower, next to NumPy's, than in an earlier run.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from math import exp, log
from pathlib import Path
from typing import Any

from bench import machine
from bench.functions.table import CALLS, Call
from bench.table import duration

ROOT = Path(__file__).resolve().parent.parent
LIMIT = 60.0  # seconds for one call of one size, compiled
BEHIND = 0.8  # below this part of NumPy's speed a call counts as slower
FALLEN = 0.8  # below this part of its earlier ratio a call is slower
LONG = 1.0  # seconds of a first call that the page names
DTYPES = {"f": "f32", "d": "f64", "i": "i32", "B": "u8", "D": "c128"}
METHOD = """\
Calls outside of jitted functions, of both in one process. Ratios are NumPy's time over ours: below
1 NumPy is faster. Times are the least of interleaved rounds. Where NumPy gives a view and Flatweave
a contiguous copy, NumPy's time includes a contiguous copy of the view. Where NumPy's text is
another, it follows ours. Matrices (`m`, `w`) have as many rows as columns; `e4` of 1,000,000
elements is a stack of 4 x 4s. `bench/functions/inputs.py` has all arguments."""

Results = dict[str, dict[str, Any]]


def answers(keys: list[str], threads: int) -> Iterator[dict[str, Any]]:
    """The lines of a process that measures calls, until it ends or takes too long for one."""
    process = subprocess.Popen(
        [sys.executable, "-m", "bench.functions.compare"], cwd=ROOT, text=True,
        env=machine.environment(threads, threads), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )  # fmt: skip
    assert process.stdin is not None
    assert process.stdout is not None
    with process:
        process.stdin.write(json.dumps(keys))
        process.stdin.close()
        while True:
            timer = threading.Timer(LIMIT, process.kill)
            timer.start()
            line = process.stdout.readline()
            timer.cancel()
            if not line.endswith("\n"):
                break
            yield json.loads(line)
    yield {"ended": process.returncode}


def results_of(calls: list[Call], threads: int) -> tuple[Results, dict[str, Any]]:
    """What each call took, by its key, and the settings of the process; printed on the way."""
    results: Results = {}
    about: dict[str, Any] = {}
    left = [call.key for call in sorted(calls, key=lambda call: [*DTYPES].index(call.dtype))]
    while left:
        for answer in answers(left, threads):
            if "key" in answer:
                results[answer["key"]] = answer
                if answer.pop("done"):
                    left = left[1:]
                    print(line_of(answer), flush=True)
            elif "ended" not in answer:
                about = answer
            elif left:
                known = results.get(left[0], {"key": left[0], "sizes": {}})
                why = f"the process ended with status {answer['ended']} (-9: took {LIMIT:g} s)"
                results[left[0]] = known | {"failed": why}
                left = left[1:]
    return results, about


def ratio(times: dict[str, float]) -> float:
    """NumPy's time over ours."""
    return times["numpy"] / times["ours"]


def mean(values: list[float]) -> float:
    """The geometric mean."""
    return exp(sum(map(log, values)) / len(values))


def line_of(answer: dict[str, Any]) -> str:
    """One call while it runs."""
    sizes = [f"{ratio(times):.2f}" for times in answer["sizes"].values()]
    return "  ".join([answer["key"].ljust(50), *sizes, answer.get("failed", "")])


def means(results: Results) -> list[str]:
    """A table of geometric means: sizes down, dtypes across."""
    lines = [
        f"| elements | all | {' | '.join(DTYPES.values())} | calls | below {BEHIND} |",
        "|---:" * (len(DTYPES) + 4) + "|",
    ]
    for size in sizes_of(results):
        cells = []
        for letter in ("", *DTYPES):
            found = [
                ratio(r["sizes"][size])
                for key, r in results.items() if size in r["sizes"] and key.endswith(letter)
            ]  # fmt: skip
            cells.append(f"{mean(found):.2f}" if found else "")
        found = [ratio(r["sizes"][size]) for r in results.values() if size in r["sizes"]]
        behind = sum(value < BEHIND for value in found)
        lines.append(f"| {int(size):,} | {' | '.join(cells)} | {len(found)} | {behind} |")
    return lines


def sizes_of(results: Results) -> list[str]:
    """The numbers of elements that something was measured with."""
    return sorted({size for r in results.values() for size in r["sizes"]}, key=int)


def listed(results: Results, calls: list[Call], size: str) -> list[str]:
    """A line for each call with its ratios, the slowest first, and the times of its slowest."""
    rows: dict[str, dict[str, dict[str, float]]] = {}
    for call in calls:
        times = results[call.key]["sizes"].get(size)
        if times:
            rows.setdefault(call.text, {})[call.dtype] = times
    lines = [f"| call | {' | '.join(DTYPES.values())} | slowest: ours | NumPy |",
             "|---" + "|---:" * (len(DTYPES) + 2) + "|"]  # fmt: skip
    for text, times in sorted(rows.items(), key=lambda row: min(map(ratio, row[1].values()))):
        worst = min(times.values(), key=ratio)
        cells = [f"{ratio(times[d]):.2f}" if d in times else "" for d in DTYPES]
        both = f"{duration(worst['ours'])} | {duration(worst['numpy'])}"
        shown = text.replace(" | ", "`, NumPy `").replace("|", "\\|")
        lines.append(f"| `{shown}` | {' | '.join(cells)} | {both} |")
    return lines


def slower(results: Results, earlier: list[dict[str, Any]]) -> list[str]:
    """Calls whose ratio is below `FALLEN` of what it was in an earlier run, the worst first."""
    found = []
    for before in earlier:
        now = results.get(before["key"], {"sizes": {}})["sizes"]
        for size, times in before["sizes"].items():
            if size in now and ratio(now[size]) < FALLEN * ratio(times):
                part = ratio(now[size]) / ratio(times)
                found.append((part, before["key"], int(size), ratio(times), ratio(now[size])))
    return [
        f"{key}, {size:,} elements: {was:.2f} before, {now:.2f} now"
        for _, key, size, was, now in sorted(found)
    ]


def bullets(found: dict[str, str]) -> list[str]:
    """A list of calls, each with what is to be said of it."""
    return [f"- `{key[:-2]}` {DTYPES[key[-1]]}: {said}" for key, said in found.items()] or ["None."]


def page(about: dict[str, Any], results: Results, calls: list[Call]) -> str:
    """The page for bench/results."""
    failed = {key: r["failed"] for key, r in results.items() if "failed" in r}
    first = {key: r["first"] for key, r in results.items() if r.get("first", 0.0) > LONG}
    slow = {key: duration(first[key]) for key in sorted(first, key=first.__getitem__, reverse=True)}
    facts = "; ".join(f"{name} {value}" for name, value in about.items())
    lines = [f"# Every function next to NumPy, {about['date'][:10]}", "", facts, "", METHOD, "",
             "## Geometric means", *means(results),
             "", f"## Failed: {len(failed)}", *bullets(failed),
             "", f"## First calls above {LONG:g} s: {len(slow)}", *bullets(slow)]  # fmt: skip
    for size in reversed(sizes_of(results)):
        lines += ["", f"## {int(size):,} elements, the slowest first",
                  *listed(results, calls, size)]  # fmt: skip
    return "\n".join(lines) + "\n"


def level_name(bits: int) -> str:
    """What the vector registers of our code are called."""
    return {512: "AVX-512", 256: "AVX2"}.get(bits, f"{bits} bits")


def main() -> None:
    """Measure, print, keep."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="functions, such as sum fft.fft; else all")
    parser.add_argument("--save", action="store_true", help="keep the page in bench/results")
    parser.add_argument("--against", type=Path, help="the JSON of an earlier run")
    parser.add_argument("--threads", type=int, default=min(2, os.cpu_count() or 1))
    options = parser.parse_args()
    calls = [call for call in CALLS if not options.names or call.name in options.names]
    if not calls:
        parser.error(f"no such function: {' '.join(options.names)}")
    about = machine.describe(options.threads)
    about |= {"our code": level_name(machine.register_bits()), "our threads": options.threads}
    results, settings = results_of(calls, options.threads)
    about |= {"NumPy's loops": f"1 thread, {settings['numpy_simd']}", "BLAS": settings["blas"]}
    about["load_after"] = machine.load()
    text = page(about, results, calls)
    print("\n".join(["", *means(results)]))
    if options.against:
        earlier = json.loads(options.against.read_text(encoding="utf-8"))["calls"]
        print("\n".join(["", "slower than before:", *slower(results, earlier)]))
    if options.save:
        path = machine.keep(text, "names")
        kept = {"machine": about, "calls": [*results.values()]}
        path.with_suffix(".json").write_text(json.dumps(kept) + "\n", encoding="utf-8")
        print(f"kept in {path} and .json")


if __name__ == "__main__":
    main()
