"""Random programs, nests and counted work over all levels of x86-64: a long run in one record.

    python -m tests.random_runs --record build/random.jsonl --seconds 3600      goes on with it
    python -m tests.random_runs --record build/random.jsonl --report            what it says so far
    python -m tests.random_runs --record build/slopes.jsonl --gradients         derivatives of nests

Of each 23 trials 10 are programs against NumPy, 3 nests against plain Python, and 10 programs whose
work is counted; the level changes from 23 to 23, among those that this machine runs. So 23,000
trials are 10,000 programs, 3,000 nests and 10,000 counts, and a part of them is a fair sample. A
trial is a line of the record, and is not made again. With --gradients all trials, 2,000 of them,
are derivatives of nests: forward mode, reverse mode and central differences of plain Python, and
the same bits with 1, 2, 3 and 7 threads.

Kernels skip LLVM's passes, which take half of the time and find no fault of ours; --optimised runs
them.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

from flatweave.base.config import config
from flatweave.base.errors import ArgumentError
from flatweave.runtime.processor import processor
from tests.compiling import test_compiler
from tests.laws import work
from tests.nests import trial as nests
from tests.oracle import trial as programs
from tests.oracle.workers import Lost, outcomes

LEVELS = ("x86-64-v2", "x86-64-v3", "x86-64-v4")
Shares = tuple[tuple[str, int, int], ...]
SHARES: Shares = (("programs", 10, 1_000_000), ("nests", 3, 100_000), ("work", 10, 100_000))
"""Of each 23 trials how many are of a kind, and the first seed of the kind."""
OF_GRADIENTS: Shares = (("gradients", 1, 200_000),)
TRIALS, GRADIENTS = 23_000, 2_000
MOST_WORK = 4.0
SECONDS = 600.0  # of one trial, with the search for a smaller program that fails, too
OF_PROGRAMS = programs.Wanted(length=4, sizes=6, huge=0.04, eager=0.05, bits=0)
OF_NESTS = nests.Wanted("cpu", (1, 2, 3, 7), 30)
OF_SLOPES = nests.Wanted("cpu", (1, 2, 3, 7), 30, draws=1, gradients=True)


@dataclass(frozen=True)
class Trial:
    """One line of the record: what was tried, the processor's time, and a report if it failed."""

    number: int
    kind: str
    seed: int
    level: str
    seconds: float
    said: str
    ratio: float = 0.0  # of counted work


@cache
def levels() -> tuple[str, ...]:
    """The levels whose code this machine runs."""
    found = []
    for level in LEVELS:
        with config.scoped(cpu=level), suppress(ArgumentError):
            processor()
            found.append(level)
    return tuple(found)


def of_number(number: int, shares: Shares) -> tuple[str, int, str]:
    """The kind, seed and level of a trial."""
    block, place = divmod(number, sum(share for _, share, _ in shares))
    level = levels()[block % len(levels())]
    for kind, share, first in shares:
        if place < share:
            return kind, first + block * share + place, level
        place -= share
    raise AssertionError(number)


def tried(number: int, *, shares: Shares, optimised: bool) -> Trial:
    """One trial."""
    kind, seed, level = of_number(number, shares)
    test_compiler.is_plain = not optimised
    begun, ratio = time.process_time(), 0.0
    with config.scoped(cpu=level, no_cache=True):
        if kind == "programs":
            said = programs.tried(seed, OF_PROGRAMS).said
        elif kind == "nests":
            said = nests.tried(seed, OF_NESTS).said
        elif kind == "gradients":
            said = nests.tried(seed, OF_SLOPES).said
        else:
            written, done = work.work_of(work.random_source(seed), work.EXTENTS)
            ratio = done / max(written, 1)
            said = f"# seed {seed}: {ratio:.2f} times the work\n" if ratio > MOST_WORK else ""
    return Trial(number, kind, seed, level, time.process_time() - begun, said, ratio)


def recorded(record: Path) -> list[Trial]:
    """The trials of a record; of a line that was cut off when the run was stopped, none."""
    found = []
    for line in record.read_text(encoding="utf-8").splitlines() if record.exists() else ():
        try:
            found.append(Trial(**json.loads(line)))
        except (json.JSONDecodeError, TypeError):
            continue
    return found


def report(trials: Iterable[Trial]) -> str:
    """For each kind and level how many were tried, how many failed, and what one takes."""
    groups: dict[tuple[str, str], list[Trial]] = defaultdict(list)
    for each in trials:
        groups[each.kind, each.level].append(each)
    lines = ["| what | level | seeds | trials | failed | CPU s each |", "|---|---|---|---|---|---|"]
    for (kind, level), some in sorted(groups.items()):
        seeds = [each.seed for each in some]
        failed, each = sum(bool(t.said) for t in some), sum(t.seconds for t in some) / len(some)
        lines.append(
            f"| {kind} | {level} | {min(seeds)} to {max(seeds)} | {len(some)} | {failed} |"
            f" {each:.2f} |"
        )
    ratios = sorted(each.ratio for some in groups.values() for each in some if each.ratio)
    if ratios:
        lines += ["", f"Work: median {ratios[len(ratios) // 2]:.2f}, most {ratios[-1]:.2f}."]
    reports = [each.said for some in groups.values() for each in some if each.said]
    return "\n".join([*lines, "", *reports])


def run(options: argparse.Namespace) -> None:
    """Go on with a record."""
    done = {each.number for each in recorded(options.record)}
    shares = OF_GRADIENTS if options.gradients else SHARES
    trials = options.trials or (GRADIENTS if options.gradients else TRIALS)
    left = [number for number in range(trials) if number not in done]
    options.record.parent.mkdir(parents=True, exist_ok=True)
    found = outcomes(
        partial(tried, shares=shares, optimised=options.optimised), left, seconds=SECONDS,
        workers=options.workers, until=options.seconds,
    )  # fmt: skip
    counts: Counter[str] = Counter()
    with options.record.open("a", encoding="utf-8") as lines:
        for each in found:
            if isinstance(each, Lost):  # its seed is the number of the trial
                kind, seed, level = of_number(each.seed, shares)
                each = Trial(each.seed, kind, seed, level, SECONDS, f"# {kind} {seed}: {each.said}")
            counts.update([each.kind, f"{each.kind} that fail"] if each.said else [each.kind])
            said: dict[str, Any] = asdict(each)
            lines.write(json.dumps(said) + "\n")
            lines.flush()
            sys.stdout.write(each.said)
            sys.stdout.flush()
    sys.stdout.write(", ".join(f"{kind} {n}" for kind, n in sorted(counts.items())) + "\n")


def main() -> int:
    """Run the command; 1 where a trial of the record failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.random_runs", description=__doc__)
    add = parser.add_argument
    add("--record", type=Path, required=True, help="a file with a line for each trial")
    add("--gradients", action="store_true", help="derivatives of nests, nothing else")
    add("--trials", type=int, help="of the numbers below this")
    add("--seconds", type=float, default=1e9, help="begin none after this")
    add("--workers", type=int, default=1, help="processes")
    add("--optimised", action="store_true", help="with LLVM's passes")
    add("--report", action="store_true", help="only say what the record says")
    options = parser.parse_args()
    if not options.report:
        run(options)
    trials = recorded(options.record)
    sys.stdout.write(report(trials))
    return int(any(each.said for each in trials))


if __name__ == "__main__":
    sys.exit(main())
