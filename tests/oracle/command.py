"""What the commands that try random programs share: their arguments, and the walk over seeds.

    made = parser("tests.nests", __doc__, "nests")       --nests, --seed, --workers, --seconds, ..
    for outcome in outcomes_of("nests", options, ..):    reports are written as they come
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from typing import TypeVar

from tests.oracle.workers import Lost, outcomes

Found = TypeVar("Found")


def parser(prog: str, description: str | None, what: str) -> argparse.ArgumentParser:
    """A command that tries many of something, one by seed, in processes."""
    made = argparse.ArgumentParser(prog=f"python -m {prog}", description=description)
    add = made.add_argument
    add(f"--{what}", type=int, default=300, help=f"how many {what}")
    add("--seed", type=int, default=0, help="the first one's seed")
    add("--workers", type=int, default=2, help="processes")
    add("--seconds", type=float, default=1e9, help="begin none after this")
    add("--only", type=int, help="one by its seed, in this process")
    return made


def outcomes_of(
    what: str, options: argparse.Namespace, count: int, tried: Callable[[int], Found],
    seconds: float,
) -> Iterator[Found | Lost]:
    """The outcomes of `count` seeds, each with a time limit."""
    begun = time.monotonic()
    seeds = range(options.seed, options.seed + count)
    found = outcomes(
        tried, seeds, seconds=seconds, workers=options.workers, until=options.seconds
    )
    for done, outcome in enumerate(found, 1):
        sys.stdout.write(f"{outcome.said}\n" if outcome.said else "")
        yield outcome
        if done % 100 == 0:
            sys.stdout.write(f"{done} {what}, {time.monotonic() - begun:.0f} s\n")
        sys.stdout.flush()
