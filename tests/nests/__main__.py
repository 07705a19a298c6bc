"""Random nests against plain Python, many of them.

    python -m tests.nests --nests 3000 --seed 0              all agree, or reports
    python -m tests.nests --nests 3000 --target interp       what the reference interpreter gives
    python -m tests.nests --only 4711                        one nest, shown and run
    python -m tests.nests --gradients --nests 2000           derivatives, next to differences

A nest that the compiler refuses is a failure, unless --allow-unsupported counts it separately.
Nests run in separate processes: a crash or an endless loop is one nest's failure.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from functools import partial

from tests.nests.program import DRAWS, random_nest, source_of
from tests.nests.trial import TRIAL, Wanted, tried
from tests.oracle import command
from tests.oracle.workers import Lost


def numbers(text: str) -> tuple[int, ...]:
    """Numbers with commas between them."""
    return tuple(map(int, text.split(",")))


def parser() -> argparse.ArgumentParser:
    """What the command takes."""
    made = command.parser("tests.nests", __doc__, "nests")
    add = made.add_argument
    add("--most", type=int, default=30, help="the most nodes, about, of a nest")
    add("--draws", type=int, default=DRAWS, help=f"arguments for each nest, at most {DRAWS}")
    add("--target", default="cpu", help="what runs them")
    add("--threads", type=numbers, default=(1, 2, 3, 7), help="numbers of threads, in rotation")
    add("--gradients", action="store_true", help="compare derivatives, not values")
    add("--limit", type=float, default=TRIAL, help="seconds of one nest")
    add("--no-shrink", action="store_true", help="report failures as they are found")
    add("--allow-unsupported", action="store_true", help="count refused nests separately")
    return made


def main() -> int:
    """Run the command; 1 where something differs."""
    options = parser().parse_args()
    wanted = Wanted(
        options.target, options.threads, options.most, min(options.draws, DRAWS),
        not options.no_shrink, options.gradients, options.allow_unsupported,
        options.limit,
    )  # fmt: skip
    if options.only is not None:
        nest = random_nest(options.only, options.most, wanted.gradients)
        sys.stdout.write(source_of(nest) + "\n")
        outcome = tried(options.only, wanted)
        sys.stdout.write(outcome.said or outcome.refused or "no difference\n")
        return bool(outcome.said)
    nests = differ = 0
    operations: Counter[str] = Counter()
    refusals: Counter[str] = Counter()
    each = partial(tried, wanted=wanted)
    for found in command.outcomes_of("nests", options, options.nests, each, wanted.seconds):
        nests += 1
        differ += bool(found.said)
        if not isinstance(found, Lost):
            operations.update(found.operations)
            refusals.update([found.refused] if found.refused else [])
    called = ", ".join(f"{name} {count}" for name, count in operations.most_common())
    sys.stdout.write(f"{called}\n")
    sys.stdout.writelines(f"{count} x {said}\n" for said, count in refusals.most_common())
    sys.stdout.write(f"{nests} nests, {differ} differ, {refusals.total()} refused\n")
    return bool(differ)


if __name__ == "__main__":
    sys.exit(main())
