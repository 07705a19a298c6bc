"""First calls of the examples' jitted functions, checks of operators in them, or later calls.

    python -m bench.example_calls [--before CHECKOUT] [--save]
    python -m bench.example_calls --checks [--save]
    python -m bench.example_calls --later --before CHECKOUT [--save]

The tests of the examples run in one process, with LLVM's passes, without the verifier and without a
cache on disk. A cell is the CPU time of all threads of a function's first call, the import of the
compiler not counted.
It includes the run, which is short on the inputs of tests. `--before` names another checkout, which
is measured alternately with this one.

With `--checks`, a cell is what a first call spends on trying the operators of the user, for each
function that has one which no law covers.

With `--later`, a cell is the least time of calls after the first, by the clock and under the
process's switches, for each kind of arguments that the tests pass to the CPU; the table has the
programs that both checkouts have, the worst ratio first.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextvars import Context
from pathlib import Path
from typing import Any

from bench import machine

ROOT = Path(__file__).resolve().parent.parent
TO = "FIRST_CALLS"
"""The environment variable that names the file of results."""
WHAT = "WHICH_CALLS"
"""The environment variable that says what is timed: first, checks or later."""
ROUNDS = 2
BUDGET, FEWEST, KINDS = 0.06, 3, 6
"""Seconds for the later calls of one kind of arguments, the fewest of them, and for how many kinds
of arguments a function is timed."""


def pytest_configure(config: Any) -> None:
    """Time the first calls of examples' functions; pytest calls it, for which this is a plugin."""
    import flatweave as fw
    import flatweave.pipeline

    jitted = type(fw.jit(lambda x: x))
    plain = jitted.__call__
    seconds: dict[str, float] = {}
    later = os.environ[WHAT] == "later"
    checks = seconds_of_checks() if os.environ[WHAT] == "checks" else None
    clock = time.process_time if checks is None else lambda: sum(checks)
    kinds: Counter[str] = Counter()

    @functools.wraps(plain)
    def timed(self: Any, *args: Any, **kwargs: Any) -> Any:
        code = getattr(self.__wrapped__, "__code__", None)
        path = Path(code.co_filename) if code else Path()
        name = f"{path.name} `{self.__name__}`"
        if "examples" not in path.parts or "tests" in path.parts:
            return plain(self, *args, **kwargs)
        if later:
            name += f" {kinds_of([*args, *kwargs.values()])}"
        if name in seconds or kinds[self.__name__] == KINDS:
            return plain(self, *args, **kwargs)
        kinds[self.__name__] += later
        seconds[name] = 0.0  # calls within are not counted twice
        start = clock()
        result = plain(self, *args, **kwargs)
        seconds[name] = clock() - start
        if later:
            call = functools.partial(plain, self, *args, **kwargs)
            seconds[name] = Context().run(shortest, call)  # under the switches of the process
        return result

    jitted.__call__ = timed
    config.add_cleanup(lambda: Path(os.environ[TO]).write_text(json.dumps(seconds)))


def seconds_of_checks() -> list[float]:
    """The CPU seconds of each check of operators from now on, in order."""
    from flatweave.operator_checks.first_calls import FirstCalls

    plain, seconds = FirstCalls.__call__, []

    @functools.wraps(plain)
    def timed(self: Any, args: Any) -> None:
        start = time.thread_time()
        try:
            plain(self, args)
        finally:
            seconds.append(time.thread_time() - start)

    FirstCalls.__call__ = timed
    return seconds


def kinds_of(args: list[Any]) -> str:
    """Shapes of arrays, lengths of other sequences, and numbers, as a name has them."""
    parts = []
    for arg in args:
        if shape := getattr(arg, "shape", ()):
            parts.append(f"{'x'.join(map(str, shape))} {getattr(arg, 'dtype', '')}".strip())
        elif isinstance(arg, tuple | list):
            parts.append(f"[{kinds_of(list(arg[:4]))}{' ..' * (len(arg) > 4)}]")
        elif hasattr(arg, "__len__"):
            parts.append(f"{type(arg).__name__} of {len(arg)}")
        else:
            parts.append(str(arg)[:20] if isinstance(arg, int | float) else type(arg).__name__)
    return ", ".join(parts)


def shortest(call: Callable[[], Any]) -> float:
    """The least seconds of several calls, by the clock."""
    taken: list[float] = []
    end = time.perf_counter() + BUDGET
    while len(taken) < FEWEST or time.perf_counter() < end:
        start = time.perf_counter()
        call()
        taken.append(time.perf_counter() - start)
    return min(taken)


def measured(checkout: Path, what: str) -> dict[str, float]:
    """The seconds of each function's first call, its checks or later calls, in a new process."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "seconds.json"
        plugin = Path(folder) / "example_calls.py"
        plugin.write_text(Path(__file__).read_text(encoding="utf-8"), encoding="utf-8")
        paths = f"{folder}{os.pathsep}{checkout}"
        environment = os.environ | {
            TO: str(file), WHAT: what, "PYTHONPATH": paths, "TEST_LLVM": "optimised",
            "FLATWEAVE_VERIFY": "0", "FLATWEAVE_NO_CACHE": "1",
        }  # fmt: skip
        if what == "later":
            environment["TEST_TARGETS"] = "cpu"
        subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "example_calls",
             "-m", "not slow", "tests/examples", "--ignore=tests/examples/cluster"],
            cwd=checkout, check=False, stdout=subprocess.DEVNULL, env=environment,
        )  # fmt: skip
        found: dict[str, float] = json.loads(file.read_text(encoding="utf-8"))
        return found


def least(rounds: list[dict[str, float]]) -> dict[str, float]:
    """The least of several rounds, for each function."""
    names = {name for one in rounds for name in one}
    return {name: min(one[name] for one in rounds if name in one) for name in names}


def page(after: dict[str, float], before: dict[str, float] | None) -> str:
    """A table, the slowest first."""
    names = sorted(after, key=lambda name: -after[name])
    values = list(after.values())
    lines = [
        "# First calls of the examples\n",
        f"`python -m bench.example_calls`; {machine.model()}, {machine.register_bits()}-bit"
        f" registers, {os.cpu_count()} cores. CPU seconds of all threads, the least of {ROUNDS}"
        f" runs of `tests/examples`. {len(values)} functions: median"
        f" {statistics.median(values):.2f}, {sum(value > 0.5 for value in values)} above 0.5.\n",
    ]
    if before is None:
        lines += ["| program | seconds |", "|---|---:|"]
        lines += [f"| {name} | {after[name]:.2f} |" for name in names]
        return "\n".join(lines) + "\n"
    both = [after[name] / before[name] for name in names if before.get(name)]
    lines += [f"Geometric mean of after over before: {statistics.geometric_mean(both):.2f}.\n",
              "| program | before | after |", "|---|---:|---:|"]  # fmt: skip
    for name in names:
        old = before.get(name)
        lines.append(f"| {name} | {'' if old is None else f'{old:.2f}'} | {after[name]:.2f} |")
    return "\n".join(lines) + "\n"


def checks_page(after: dict[str, float]) -> str:
    """A table of the functions whose operators were tried, the slowest first."""
    tried = sorted((name for name in after if after[name]), key=lambda name: -after[name])
    median = 1e3 * statistics.median(after[name] for name in tried)
    lines = [
        "# Checks of operators in the first calls of the examples\n",
        f"`python -m bench.example_calls --checks`; {machine.model()}, {os.cpu_count()} cores."
        f" Milliseconds of the calling thread, the least of {ROUNDS} runs of `tests/examples`."
        f" {len(tried)} of {len(after)} functions have operators that no law covers; their median"
        f" is {median:.2f}.\n",
        "| program | ms |", "|---|---:|",
    ]  # fmt: skip
    return "\n".join(lines + [f"| {name} | {1e3 * after[name]:.2f} |" for name in tried]) + "\n"


def later_page(after: dict[str, float], before: dict[str, float]) -> str:
    """A table of the programs that both have, the worst ratio first."""
    ratios = {name: before[name] / after[name] for name in after if before.get(name)}
    names = sorted(ratios, key=lambda name: ratios[name])
    lines = [
        "# Calls of the examples after the first\n",
        f"`python -m bench.example_calls --later --before CHECKOUT`; {machine.model()},"
        f" {machine.register_bits()}-bit registers, {os.cpu_count()} cores. Microseconds, the least"
        f" of {ROUNDS} runs of `tests/examples`. {len(names)} programs: geometric mean of before"
        f" over after {statistics.geometric_mean(ratios.values()):.2f}.\n",
        "| program | before | after | before / after |", "|---|---:|---:|---:|",
    ]  # fmt: skip
    for name in names:
        old, new = 1e6 * before[name], 1e6 * after[name]
        lines.append(f"| {name} | {old:.1f} | {new:.1f} | {ratios[name]:.2f} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure, and print or keep the page."""
    parser = argparse.ArgumentParser(prog="python -m bench.example_calls", description=__doc__)
    parser.add_argument("--before", type=Path, help="another checkout, to compare with")
    parser.add_argument("--save", action="store_true", help="keep the page in bench/results")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--later", action="store_true", help="calls after the first")
    which.add_argument("--checks", action="store_true", help="checks of operators")
    options = parser.parse_args()
    if options.later and not options.before:
        parser.error("--later compares: name another checkout with --before")
    what = "later" if options.later else "checks" if options.checks else "first"
    checkouts = [ROOT, *([options.before] if options.before else [])]
    rounds = [[measured(checkout, what) for checkout in checkouts] for _ in range(ROUNDS)]
    after, *before = (least([one[k] for one in rounds]) for k in range(len(checkouts)))
    if options.later:
        text = later_page(after, before[0])
    elif options.checks:
        text = checks_page(after)
    else:
        text = page(after, before[0] if before else None)
    print(text)
    if options.save:
        name = {"first": "calls", "later": "later-calls", "checks": "operator-checks"}[what]
        machine.keep(text, f"example-{name}")


if __name__ == "__main__":
    main()
