"""Random programs against NumPy, many of them: the thorough part of the oracle.

    python -m tests.oracle --programs 5000 --seed 1              all agree, or reports
    python -m tests.oracle --bits 50 --runs 1000                 the same bits every time
    python -m tests.oracle --only 4711                           one program, shown and run

Programs run in separate processes: a crash or an endless loop is one program's failure.
"""

from __future__ import annotations

import argparse
import multiprocessing
import platform
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from tests.oracle import command
from tests.oracle.program import source_of
from tests.oracle.trial import Outcome, Wanted, tried
from tests.oracle.vocabulary import random_program
from tests.oracle.workers import Lost


@dataclass
class Tally:
    """What a whole run found."""

    programs: int = 0
    calls: int = 0
    operations: Counter[str] = field(default_factory=Counter)
    schedules: Counter[str] = field(default_factory=Counter)
    failed: list[Outcome | Lost] = field(default_factory=list)

    def add(self, outcome: Outcome | Lost) -> None:
        """One program more."""
        self.programs += 1
        if isinstance(outcome, Lost):
            self.failed.append(outcome)
            return
        self.calls += outcome.calls
        self.operations.update(outcome.operations)
        self.schedules.update(f"{name}={value}" for name, value in outcome.schedule)
        if outcome.said:
            self.failed.append(outcome)


def machine() -> str:
    """Which processor this is."""
    told = Path("/proc/cpuinfo")
    lines = told.read_text(encoding="utf-8").splitlines() if told.exists() else []
    names = {line.split(":", 1)[1].strip() for line in lines if "model name" in line}
    name = ", ".join(sorted(names)) or platform.processor()
    return f"{name}, {multiprocessing.cpu_count()} cores"


def summary(tally: Tally, options: argparse.Namespace, seconds: float) -> str:
    """What a run found, to be kept."""
    what = f"{options.runs} runs each, for bits" if options.bits else "against NumPy"
    said = [argument for argument in sys.argv[1:] if argument not in ("--keep", str(options.keep))]
    lines = [
        f"# {tally.programs} random programs, {what}",
        "",
        f"    python -m tests.oracle {' '.join(said)}",
        "",
        f"{machine()}; {time.strftime('%Y-%m-%d')}; {seconds / 60:.0f} minutes;"
        f" seeds {options.seed} to {options.seed + tally.programs - 1}; {tally.calls} calls.",
        "",
        f"Differences: {len(tally.failed) or 'none'}"
        + "".join(f"\n\n```python\n{outcome.said}```" for outcome in tally.failed),
        "",
        "| operation | steps |",
        "|---|---|",
        *(f"| {name} | {count} |" for name, count in tally.operations.most_common()),
        "",
        "| forced schedule | programs |",
        "|---|---|",
        *(f"| {name} | {count} |" for name, count in sorted(tally.schedules.items())),
        "",
    ]
    return "\n".join(lines)


def parser() -> argparse.ArgumentParser:
    """What the command takes."""
    made = command.parser("tests.oracle", __doc__, "programs")
    add = made.add_argument
    add("--length", type=int, default=4, help="about how many steps")
    add("--sizes", type=int, default=6, help="lengths for each program")
    add("--huge", type=float, default=0.04, help="share of programs over 10^5 elements and more")
    add("--eager", type=float, default=0.05, help="share of programs called without jit, too")
    add("--bits", type=int, default=0, help="programs run again and again for bits")
    add("--target", default="cpu", help="what runs them against NumPy")
    add("--runs", type=int, default=1000, help="how often, with --bits")
    add("--keep", type=Path, help="the file that the summary is written to")
    return made


def main() -> int:
    """Run the command; 1 where something differs."""
    options = parser().parse_args()
    runs = options.runs if options.bits else 0
    wanted = Wanted(
        options.length, options.sizes, options.huge, options.eager, runs, options.target
    )
    if options.only is not None:
        sys.stdout.write(source_of(random_program(options.only, options.length)) + "\n")
        outcome = tried(options.only, wanted)
        sys.stdout.write(outcome.said or "no difference\n")
        return bool(outcome.said)
    begun, tally = time.monotonic(), Tally()
    each, count = partial(tried, wanted=wanted), options.bits or options.programs
    for outcome in command.outcomes_of("programs", options, count, each, wanted.seconds):
        tally.add(outcome)
    text = summary(tally, options, time.monotonic() - begun)
    if options.keep is not None:
        options.keep.write_text(text, encoding="utf-8")
    sys.stdout.write(f"{tally.programs} programs, {len(tally.failed)} differ\n")
    return bool(tally.failed)


if __name__ == "__main__":
    sys.exit(main())
