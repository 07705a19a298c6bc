"""Suites of libraries that take any array, on ours and on the strict reference: what passes.

    python -m bench.clients VENV                            every suite, prints a table
    python -m bench.clients VENV array-api-extra scipy.fft  these suites
    python -m bench.clients VENV --causes scipy.stats       why only ours fail

VENV is an environment with the libraries, for instance

    python -m venv VENV
    VENV/bin/pip install pytest pytest-run-parallel hypothesis scipy scikit-learn xarray einops \
        array-api-extra array-api-compat array-api-strict llvmlite

Suites run only their tests for array-api-strict. Ours run with `stand_in/` first on the path,
where Flatweave has that name, so that both run the same tests. Outcomes are kept in `--keep`, a
file for each suite and library; a suite that has one is not run again without `--again`.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
LIBRARIES = ("flatweave", "array-api-strict")
BACKEND = "array_api_strict"


class Suite(NamedTuple):
    """The modules of tests, and which of their tests take arrays of any library."""

    modules: str
    select: str = BACKEND


SCIPY = (
    "stats special spatial optimize integrate interpolate differentiate cluster linalg fft ndimage "
    "signal"
)
SCIKIT_LEARN = (
    "decomposition metrics preprocessing tests mixture utils linear_model model_selection"
)
SUITES = {
    "array-api-extra": Suite("array_api_extra.tests.main"),
    "xarray": Suite("xarray.tests.test_array_api xarray.tests.test_namedarray", ""),
    "einops": Suite("einops.tests.test_ops einops.tests.test_packing", "array_api"),
    **{f"sklearn.{name}": Suite(f"sklearn.{name}") for name in SCIKIT_LEARN.split()},
    **{f"scipy.{name}": Suite(f"scipy.{name}") for name in SCIPY.split()},
}


class Outcome(NamedTuple):
    """What a test gave, and the message where it failed."""

    outcome: str
    why: str


def run(venv: Path, name: str, library: str, kept: Path, seconds: float) -> None:
    """Run a suite on a library; `kept` has a line for each test."""
    suite = SUITES[name]
    path = [str(HERE), str(ROOT)]
    if library == LIBRARIES[0]:
        path.insert(0, str(HERE / "stand_in"))
    environment = {
        **os.environ, "PYTHONPATH": os.pathsep.join(path), "OUTCOMES": str(kept.resolve()),
        "SCIPY_ARRAY_API": "1", "EINOPS_TEST_BACKENDS": "numpy",
    }  # fmt: skip
    kept.unlink(missing_ok=True)
    command = [
        str(venv / "bin" / "python"), "-m", "pytest", "-q", "-p", "outcomes", "-p",
        "no:cacheprovider", "--no-header", "--tb=line", "--disable-warnings",
        *(["-k", suite.select] if suite.select else []), "--pyargs", *suite.modules.split(),
    ]  # fmt: skip
    try:
        done = subprocess.run(
            command, env=environment, cwd=kept.parent, capture_output=True, text=True,
            timeout=seconds,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        print(f"{name} on {library}: stopped after {seconds:.0f} s", file=sys.stderr)
        return
    if done.returncode not in (0, 1) or not kept.exists():
        print(done.stdout[-2000:], done.stderr[-2000:], file=sys.stderr)


def outcomes(kept: Path) -> dict[str, Outcome]:
    """What each test gave: the worst of its parts."""
    found: dict[str, Outcome] = {}
    for line in kept.read_text(encoding="utf-8").splitlines() if kept.exists() else ():
        test = json.loads(line)
        if found.get(test["name"], Outcome("", "")).outcome != "failed":
            found[test["name"]] = Outcome(test["outcome"], test["why"])
    return found


def passed(tests: dict[str, Outcome]) -> int:
    """How many tests passed."""
    return sum(test.outcome == "passed" for test in tests.values())


def row(name: str, ours: dict[str, Outcome], theirs: dict[str, Outcome]) -> str:
    """A line of the table, over the tests that both ran."""
    both = ours.keys() & theirs.keys()
    ours, theirs = ({test: each[test] for test in both} for each in (ours, theirs))
    failing = sum(test.outcome == "failed" for test in ours.values())
    good, wanted = passed(ours), passed(theirs)
    ratio = f"{good / wanted:.3f}" if wanted else "-"
    return f"| {name} | {len(both)} | {good} | {failing} | {wanted} | {ratio} |"


def causes(ours: dict[str, Outcome], theirs: dict[str, Outcome]) -> Counter[str]:
    """Why tests fail that pass for the reference: messages without their numbers, counted."""
    counted: Counter[str] = Counter()
    for name, test in ours.items():
        if test.outcome == "failed" and theirs.get(name, test).outcome == "passed":
            counted[re.sub(r"\d+", "#", " ".join(test.why.split()))[:200]] += 1
    return counted


def main() -> None:
    """Run what is asked for, and print."""
    parser = argparse.ArgumentParser(description=__doc__, usage="%(prog)s VENV [suites ..]")
    parser.add_argument("venv", type=Path)
    parser.add_argument("suites", nargs="*", default=list(SUITES))
    parser.add_argument("--keep", type=Path, default=Path("build/clients"))
    parser.add_argument("--seconds", type=float, default=1800, help="of each run, at most")
    parser.add_argument("--again", action="store_true", help="run ours again")
    parser.add_argument("--causes", action="store_true", help="print why ours fail")
    options = parser.parse_args()
    options.keep.mkdir(parents=True, exist_ok=True)
    print("| suite | tests | passed | failed | array-api-strict passed | ratio |")
    print("|---|---|---|---|---|---|")
    for name in options.suites:
        found = []
        for library in LIBRARIES:
            kept = options.keep / f"{name}-{library}.jsonl"
            if not kept.exists() or (options.again and library == LIBRARIES[0]):
                run(options.venv.absolute(), name, library, kept, options.seconds)
            found.append(outcomes(kept))
        print(row(name, *found), flush=True)
        for why, count in causes(*found).most_common() if options.causes else ():
            print(f"{count:6} {why}")


if __name__ == "__main__":
    main()
