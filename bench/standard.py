"""The array API standard's own suite on Flatweave and on NumPy: what passes, and why not all.

    python -m bench.standard path/to/array-api-tests 1000                     prints a page
    python -m bench.standard path/to/array-api-tests 1000 --shard 3/24        runs one part of it
    python -m bench.standard path/to/array-api-tests --files test_fft.py      runs some files of it

The suite (github.com/data-apis/array-api-tests, with its submodule) stays outside of the project.
Tests are dealt to shards by a hash of their names. What a shard gave is a file in the folder
`--keep`, and is not run again, so that a long run may be cut off and taken up again. A failure
without an entry in `ARGUMENTS` makes this fail.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import time
import zlib
from collections.abc import Sequence
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, NamedTuple

from bench import machine

MODULES = ("flatweave", "numpy")
ROOT = str(Path(__file__).resolve().parents[1])
KEPT = Path("build/standard")  # what shards gave
SHARD = "ARRAY_API_SHARD"  # the environment variable that says which tests to run: "3/24"
VERSION = "2025.12"  # of the standard, also for NumPy, which has an older one
ROUNDS_DOWN = (
    "`//` is Python's and NumPy's: inf // 1.0 is NaN and 1.0 // -inf is -1.0, so that "
    "x == x // y * y + x % y; NumPy fails these as well"
)
ARGUMENTS = {
    "*::test_dunder_dlpack": (
        "copy=False without max_version: a consumer before DLPack 1.0 does not know of "
        "read-only memory, and ours is read-only; with max_version=(1, 0) it is shared"
    ),
    "*floor_divide(*infinity*": ROUNDS_DOWN,
    "*floordiv__(*infinity*": ROUNDS_DOWN,
}


class Outcome(NamedTuple):
    """What a run, or a part of it, gave: counts, the names of what failed, how long it took."""

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


def pytest_collection_modifyitems(config: Any, items: list[Any]) -> None:
    """Leave the tests of one shard; pytest calls it, for which this file is one of its plugins."""
    kept = [item for item in items if is_in_shard(item.nodeid, os.environ[SHARD])]
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = kept


def is_in_shard(name: str, shard: str) -> bool:
    """Whether a test belongs to shard `k/n`, by a hash of its name; k counts from 1."""
    number, count = map(int, shard.split("/"))
    return zlib.crc32(name.encode()) % count == number - 1


def run(
    module: str, suite: Path, examples: int, shard: str, workers: int, files: Sequence[str] = ()
) -> Outcome:
    """One shard of the suite, or of some of its files, in this interpreter's environment."""
    began = time.perf_counter()
    chosen = [f"array_api_tests/{file}" for file in files] or ["array_api_tests"]
    many = ["-n", str(workers)] if workers > 1 else ["-p", "no:xdist"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-rfE", "--tb=no", "-W", "ignore",
         "-p", "no:cacheprovider", "-p", "bench.standard", *many, f"--max-examples={examples}",
         "--disable-deadline", "--hypothesis-derandomize", *chosen],
        cwd=suite, capture_output=True, text=True, check=False,
        env={**os.environ, "ARRAY_API_TESTS_MODULE": module, "ARRAY_API_TESTS_VERSION": VERSION,
             SHARD: shard, "PYTHONPATH": os.pathsep.join([ROOT, os.environ.get("PYTHONPATH", "")])},
    )  # fmt: skip
    failed = re.findall(r"^(?:FAILED|ERROR) array_api_tests/(.*?)(?: - |$)", done.stdout, re.M)
    counts = {
        what: int(number)
        for number, what in re.findall(r"(\d+) (passed|failed|skipped)", done.stdout[-200:])
    }
    if not counts or counts.get("failed", 0) != len(failed):
        raise SystemExit(f"the suite did not run on {module}:\n{done.stdout[-2000:]}{done.stderr}")
    seconds = time.perf_counter() - began
    return Outcome(counts.get("passed", 0), sorted(failed), counts.get("skipped", 0), seconds)


def kept(
    module: str, suite: Path, examples: int, shard: str, workers: int, folder: Path,
    files: Sequence[str] = (),
) -> Outcome:  # fmt: skip
    """What a shard gave when it was run before, else what it gives now, which is kept."""
    folder.mkdir(parents=True, exist_ok=True)
    part = "-".join([shard.replace("/", "-of-"), *(Path(name).stem for name in files)])
    file = folder / f"{module}-{examples}-{part}.json"
    if not file.exists():
        outcome = run(module, suite, examples, shard, workers, files)
        partial = file.with_suffix(".partial")
        partial.write_text(json.dumps(outcome._asdict(), indent=1), encoding="utf-8")
        partial.rename(file)
        print(f"{file.stem}: {outcome.text}", file=sys.stderr, flush=True)
    return Outcome(**json.loads(file.read_text(encoding="utf-8")))


def merged(outcomes: Sequence[Outcome]) -> Outcome:
    """The outcome of a whole run from those of its shards."""
    return Outcome(
        sum(outcome.passed for outcome in outcomes),
        sorted(name for outcome in outcomes for name in outcome.failed),
        sum(outcome.skipped for outcome in outcomes),
        sum(outcome.seconds for outcome in outcomes),
    )


def argument(name: str) -> str:
    """Why a test fails; empty where `ARGUMENTS` does not say."""
    plain = name.replace("[", "(")  # which is no pattern then
    found = (why for pattern, why in ARGUMENTS.items() if fnmatch(plain, pattern))
    return next(found, "")


def page(ours: Outcome, theirs: Outcome, examples: int, files: Sequence[str] = ()) -> str:
    """Both figures, and every failure with its argument."""
    about = machine.describe(2)
    command = f"make test-standard SUITE=path EXAMPLES={examples}"
    if files:
        command = f"python -m bench.standard path {examples} --files {' '.join(files)}"
    lines = [
        f"# The array API standard 2025.12, {about['date'][:10]}",
        f"{about['processor']}, {about['cores']} cores; {examples} examples a test, the same ones"
        f" in both runs; `{command}`.",
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
        why = argument(name) or "**unexplained**"
        lines.append(f"| `{name}` | {'fails' if name in theirs.failed else 'passes'} | {why} |")
    return "\n".join(lines) + "\n"


def options() -> argparse.Namespace:
    """What the command line says."""
    about, _, rest = (__doc__ or "").partition("\n")
    parser = argparse.ArgumentParser(
        description=about, epilog=rest, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("suite", type=lambda path: Path(path).resolve(), help="the suite's folder")
    parser.add_argument("examples", nargs="?", type=int, default=100, help="examples a test")
    parser.add_argument("--shards", type=int, default=1, help="how many parts a run has")
    parser.add_argument("--shard", help="run only this part: 3/24")
    parser.add_argument("--keep", type=Path, default=KEPT, help="the folder of the parts")
    parser.add_argument("--files", nargs="+", default=[], metavar="FILE", help="only these files")
    parser.add_argument("--workers", type=int, default=os.cpu_count(), help="processes of a part")
    return parser.parse_args()


def main() -> None:
    """Run what is missing, print the page, and fail for a failure without an argument."""
    asked = options()
    shards = [asked.shard] if asked.shard else [
        f"{number + 1}/{asked.shards}" for number in range(asked.shards)
    ]  # fmt: skip
    outcomes: dict[str, list[Outcome]] = {module: [] for module in MODULES}
    for shard in shards:
        for module in MODULES:
            outcomes[module].append(
                kept(
                    module, asked.suite, asked.examples, shard, asked.workers, asked.keep,
                    asked.files,
                )
            )  # fmt: skip
    if asked.shard:
        return
    ours, theirs = (merged(outcomes[module]) for module in MODULES)
    print(page(ours, theirs, asked.examples, asked.files))
    sys.exit(1 if not all(map(argument, ours.failed)) else 0)


if __name__ == "__main__":
    main()
