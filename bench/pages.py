"""A page of measurements in groups: the command line that `bench.dense` and `bench.tables` share.

    python -m bench.dense [GROUP ..] [--cpu] [--save]
"""

from __future__ import annotations

import subprocess
import sys
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path

from bench import machine
from bench.functions.compare import settings

THREADS = 2
Clock = Callable[[], float]


def write(
    name: str, title: str, groups: Collection[str],
    lines: Callable[[list[str], Clock, Namespace], Iterator[str]], parser: ArgumentParser,
    *, note: Callable[[Namespace], str], variables: Mapping[str, str] | None = None,
) -> None:  # fmt: skip
    """Measure in a process with known settings, print, keep.

    `note` says what follows "alternate calls"; `variables` are set in the environment of the
    process, beside those of `machine.environment`.
    """
    parser.add_argument("groups", nargs="*", metavar="GROUP", help=", ".join(groups))
    parser.add_argument("--cpu", action="store_true", help="CPU time of all threads")
    parser.add_argument("--save", action="store_true", help="keep the page in bench/results")
    parser.add_argument("--here", action="store_true", help="in this process, as it is set")
    options = parser.parse_args()
    chosen = options.groups or [*groups]
    if unknown := {*chosen} - {*groups}:
        parser.error(f"groups are {', '.join(groups)}, got {', '.join(sorted(unknown))}")
    if not options.here:
        again = [sys.executable, "-m", f"bench.{name}", *sys.argv[1:], "--here"]
        around = machine.environment(THREADS, THREADS) | dict(variables or {})
        root = Path(__file__).resolve().parent.parent
        sys.exit(subprocess.run(again, check=False, env=around, cwd=root).returncode)
    about = machine.describe(THREADS) | vars(settings())
    unit = "CPU time of all threads" if options.cpu else "wall time"
    page = [
        f"# {title}, {about['date'][:10]}", "",
        "; ".join(f"{key} {value}" for key, value in about.items()), "",
        f"Least {unit} of alternate calls{note(options)}",
    ]  # fmt: skip
    print("\n".join(page), flush=True)
    clock = time.process_time if options.cpu else time.perf_counter
    for line in lines(chosen, clock, options):
        page.append(line)
        print(line, flush=True)
    if options.save:
        text = "\n".join(page) + "\n"
        print(f"kept in {machine.keep(text, name)}")
