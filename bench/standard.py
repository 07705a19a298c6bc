"""The array API standard's own suite on Flatweave and on NumPy: what passes, and why not all.

    python -m bench.standard path/to/array-api-tests [examples]    prints a page for bench/results

The suite (github.com/data-apis/array-api-tests, with its submodule) stays outside of the project. A
failure that `ARGUMENTS` does not argue makes this fail.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from fnmatch import fnmatch
from pathlib import Path
from typing import NamedTuple

from bench import machine

VERSION = "2025.12"  # of the standard, also for NumPy, which has an older one
NEVER_CHANGE = (
    "arrays never change, as in JAX: a program may hold what it was given while another thread "
    "computes with it; fw.replace gives a copy with the new values"
)
ROUNDS_DOWN = (
    "`//` is Python's and NumPy's: inf // 1.0 is NaN and 1.0 // -inf is -1.0, so that "
    "x == x // y * y + x % y; NumPy fails these as well"
)
ARGUMENTS = {
    "*::test_setitem": NEVER_CHANGE,
    "*::test_setitem_masking": NEVER_CHANGE,
    "*::test_asarray_arrays": "the test writes into the array that it shares; " + NEVER_CHANGE,
    "*::test_dunder_dlpack": (
        "copy=False without max_version: a consumer before DLPack 1.0 cannot be told that memory "
        "is read-only, and ours is; with max_version=(1, 0) it is shared"
    ),
    "*floor_divide(*infinity*": ROUNDS_DOWN,
    "*floordiv__(*infinity*": ROUNDS_DOWN,
}


class Outcome(NamedTuple):
    """What became of a run: counts, the names of what failed, and how long it took."""

    passed: int
    failed: list[str]
    skipped: int
    seconds: float

    @property
    def text(self) -> str:
        """One cell of a table."""
        total = self.passed + len(self.failed) + self.skipped
        return (
            f"{self.passed} of {total} | {len(self.failed)} | {self.skipped} | {self.seconds:.0f} s"
        )


def run(module: str, suite: Path, examples: int) -> Outcome:
    """The suite on a module, in this interpreter's environment."""
    began = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-rfE", "--tb=no", "-W", "ignore",
         "-p", "no:cacheprovider", "-n", str(os.cpu_count()), f"--max-examples={examples}",
         "--disable-deadline", "--hypothesis-derandomize", "array_api_tests"],
        cwd=suite, capture_output=True, text=True, check=False,
        env={**os.environ, "ARRAY_API_TESTS_MODULE": module, "ARRAY_API_TESTS_VERSION": VERSION,
             "PYTHONPATH": str(Path(__file__).resolve().parents[1])},
    )  # fmt: skip
    failed = re.findall(r"^(?:FAILED|ERROR) array_api_tests/(.*?)(?: - |$)", done.stdout, re.M)
    counts = {
        what: int(number)
        for number, what in re.findall(r"(\d+) (passed|failed|skipped)", done.stdout[-200:])
    }
    if "passed" not in counts or counts.get("failed", 0) != len(failed):
        raise SystemExit(f"the suite did not run on {module}:\n{done.stdout[-2000:]}{done.stderr}")
    seconds = time.perf_counter() - began
    return Outcome(counts["passed"], sorted(failed), counts.get("skipped", 0), seconds)


def argument(name: str) -> str:
    """Why a test fails; empty for one that nobody has argued."""
    plain = name.replace("[", "(")  # which is no pattern then
    found = (why for pattern, why in ARGUMENTS.items() if fnmatch(plain, pattern))
    return next(found, "")


def page(ours: Outcome, theirs: Outcome, examples: int) -> str:
    """Both figures, and every failure with its argument."""
    about = machine.describe(2)
    lines = [
        f"# The array API standard 2025.12, {about['date'][:10]}",
        f"{about['processor']}, {about['cores']} cores; {examples} examples a test, the same ones"
        " in both runs; `make test-standard SUITE=path`.",
        "",
        "| module | passed | failed | skipped | took |",
        "|---|---|---|---|---|",
        f"| Flatweave | {ours.text} |",
        f"| NumPy {machine.version('numpy')} | {theirs.text} |",
        "",
        "| what fails | NumPy | why |",
        "|---|---|---|",
    ]
    for name in ours.failed:
        why = argument(name) or "**nobody has argued it**"
        lines.append(f"| `{name}` | {'fails' if name in theirs.failed else 'passes'} | {why} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Run both, print the page, and fail for a failure without an argument."""
    suite, examples = Path(sys.argv[1]).resolve(), int(sys.argv[2]) if len(sys.argv) > 2 else 100
    ours, theirs = run("flatweave", suite, examples), run("numpy", suite, examples)
    print(page(ours, theirs, examples))
    sys.exit(1 if not all(map(argument, ours.failed)) else 0)


if __name__ == "__main__":
    main()
