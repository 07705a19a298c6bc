"""The tests that failed on a GPU, as they are and with one change less at a time.

    python -m tests.on_hardware --seconds 150              each variant in turn, until time is over
    python -m tests.on_hardware --variant one-position     one of them
    TEST_PTX=mixed python -m tests.on_hardware --once      the same tests without a GPU

Each round of a variant is a process, which ends with its first failure and says all about it, as it
happens. A variant that never fails where the others do names the change that is at fault;
`docs/gpu.md` says what failed. compute-sanitizer looks for accesses out of bounds where it is
installed.
"""

from __future__ import annotations

import argparse
import itertools
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
TESTS = (
    "tests/language/test_uneven_rows.py", "tests/examples/test_bfs.py",
    "tests/examples/test_shortest_paths.py", "tests/frontend/test_ragged_rows.py",
    "tests/nests",
)  # fmt: skip
NAMES = "what_is_done or every_shape or random or picture or filter or loops"


def indices_of_64_bits() -> None:
    """No launch fits 32 bits."""
    from flatweave.runtime.devices import launches

    launches.LIMIT = 0


def one_position() -> None:
    """A thread takes one position of a kernel that fills or copies."""
    from flatweave.lower import machine

    machine.RUN = 1


def no_graphs() -> None:
    """Iterations of loops are launched one by one."""
    from flatweave.runtime.devices import launches

    launches.FEWEST = 1 << 30


VARIANTS: dict[str, Callable[[], None]] = {
    "as-it-is": lambda: None,
    "64-bits": indices_of_64_bits,
    "one-position": one_position,
    "no-graphs": no_graphs,
    "waiting": lambda: None,  # CUDA_LAUNCH_BLOCKING below
    "memcheck": lambda: None,
}


def run_here(variant: str) -> int:
    """The tests in this process, until the first failure."""
    VARIANTS[variant]()
    return int(pytest.main(
        [*TESTS, "-k", NAMES, "-m", "needs_cuda and not slow", "-x", "-q", "-n", "0", "--tb=long",
         "--showlocals", "-p", "no:cacheprovider"]
    ))  # fmt: skip


def run(variant: str, seconds: float) -> str:
    """One process: what it says is printed as it comes; how it ended."""
    sanitizer = shutil.which("compute-sanitizer")
    if variant == "memcheck" and sanitizer is None:
        return "not installed"
    watched = [sanitizer, "--print-limit", "5"] if variant == "memcheck" and sanitizer else []
    environment = os.environ | {"TEST_TARGETS": "cuda", "PYTHONPATH": str(ROOT)}
    if variant == "waiting":
        environment["CUDA_LAUNCH_BLOCKING"] = "1"
    command = [*watched, sys.executable, "-m", "tests.on_hardware", "--here", variant]
    try:
        done = subprocess.run(command, cwd=ROOT, env=environment, check=False, timeout=seconds)
    except subprocess.TimeoutExpired:
        return "cut off"
    return "passed" if done.returncode == 0 else f"failed ({done.returncode})"


def main() -> int:
    """Rounds of the variants; a table of how they ended."""
    parser = argparse.ArgumentParser(prog="python -m tests.on_hardware", description=__doc__)
    parser.add_argument("--here", choices=VARIANTS, help=argparse.SUPPRESS)
    parser.add_argument("--variant", choices=VARIANTS, action="append", help="these alone")
    parser.add_argument("--seconds", type=float, default=150.0)
    parser.add_argument("--once", action="store_true", help="one round of each")
    options = parser.parse_args()
    if options.here:
        return run_here(options.here)
    end = time.monotonic() + options.seconds
    ended: dict[str, list[str]] = {name: [] for name in options.variant or VARIANTS}
    turns = list(ended) if options.once else itertools.cycle(ended)
    for name in turns:
        left = end - time.monotonic()
        if left < 1:
            break
        ended[name].append(run(name, left))
        print(f"{name}: {ended[name][-1]}", flush=True)
    for name, each in ended.items():
        print(f"{name:14}", ", ".join(each))
    return int(any("failed" in how for each in ended.values() for how in each))


if __name__ == "__main__":
    sys.exit(main())
