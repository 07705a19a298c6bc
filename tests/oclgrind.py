"""The language's tests on Oclgrind, a simulator of OpenCL that checks every access.

    python -m tests.oclgrind                        bounds and races
    python -m tests.oclgrind --uninitialized        memory that nobody has written, slowly

Oclgrind 21.10 (Debian's package `oclgrind`) runs the kernels that the OpenCL target writes, work
item by work item. What it reports is shown, each text once, with how often; then the exit status
is 1. KNOWN are reports that are no faults. Two things stop its check of uninitialised memory:
it does not know LLVM's `freeze`, so that kernels are compiled without optimisation, and it takes
what `clEnqueueFillBuffer` has filled for uninitialised, so that memory is filled by copies here.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from flatweave.runtime.devices.opencl import OpenClDriver

LIBRARY = Path("/usr/lib/oclgrind/liboclgrind-rt-icd.so")
FILES = ("arguments", "branches", "contractions", "control", "jit", "long_folds", "numbers",
         "shapes", "sources", "trees", "writes")  # fmt: skip
FEW = ("jit", "numbers", "sources")
LOGS = "OCLGRIND_LOGS"
UNINITIALIZED = {"OCLGRIND_UNINITIALIZED": "1", "OCLGRIND_BUILD_OPTIONS": "-cl-opt-disable"}
KNOWN = {
    "a compare-and-swap begins with a plain read of its word: an old value costs a repetition": (
        "race", "FW_SWAP",
    ),
}  # fmt: skip


def main() -> int:
    """Run the tests; 1 where one fails or a report is not known."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--uninitialized", action="store_true")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("tests", nargs="*")
    given = parser.parse_args()
    if not LIBRARY.exists():
        print(f"Oclgrind is not here ({LIBRARY}; Debian: apt install oclgrind): nothing was run.")
        return 0
    names = FEW if given.uninitialized else FILES
    files = given.tests or [f"tests/language/test_{name}.py" for name in names]
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "oclgrind.icd").write_text(f"{LIBRARY}\n")
        chosen = {
            "OCL_ICD_VENDORS": folder, LOGS: folder, "FLATWEAVE_NO_CACHE": "1", "COLUMNS": "300",
            "OCLGRIND_MAX_ERRORS": "100000", "TEST_TARGETS": "opencl",
        } | (UNINITIALIZED if given.uninitialized else {"OCLGRIND_DATA_RACES": "1"})  # fmt: skip
        run = [
            sys.executable, "-m", "pytest", "-q", "-rf", "--tb=line", "-p", "no:cacheprovider",
            "-p", "tests.oclgrind", "-n", str(given.jobs), "-m", "needs_opencl and not slow",
        ]  # fmt: skip
        done = subprocess.run(
            [*run, *files], env=os.environ | chosen, capture_output=True, text=True, check=False
        )
        print(done.stdout.strip().splitlines()[-1])
        failed = [each for each in done.stdout.splitlines() if each.startswith("FAILED")]
        wrong = [each for each in failed if "crashed" not in each]
        print(f"{len(failed) - len(wrong)} tests ended Oclgrind itself, {len(wrong)} failed")
        print("\n".join(failed))
        logs = "\n".join(each.read_text(errors="replace") for each in Path(folder).glob("log-*"))
    return int(told(logs) > 0 or bool(wrong) or done.returncode not in (0, 1))


def pytest_configure() -> None:
    """In each process of the tests, before it opens a device."""
    os.environ["OCLGRIND_LOG"] = str(Path(os.environ[LOGS], f"log-{os.getpid()}"))
    if "OCLGRIND_UNINITIALIZED" in os.environ:
        fill_by_copies()


def fill_by_copies() -> None:
    """Memory is filled by copies from the host."""
    def fill(self: Any, memory: Any, offset: int, value: np.generic, count: int) -> None:
        filled = np.full(count, value)
        self._put(self._cl.enqueue_copy, memory, filled, dst_offset=offset)

    OpenClDriver.fill = fill  # type: ignore[method-assign]


def told(log: str) -> int:
    """How many reports are not known; each is shown once."""
    found: Counter[str] = Counter()
    for report in re.split(r"\n\s*\n(?=\S)", log):
        text = re.sub(r"0x[0-9a-f]+|\(\d+,\d+,\d+\)|%[\w.]+|!\w+ !?\d+", "*", report).strip()
        if text:
            found[text] += 1
    unknown = 0
    for text, count in found.most_common():
        reason = next((why for why, parts in KNOWN.items() if all(p in text for p in parts)), "")
        unknown += 0 if reason else count
        print(f"{count} times{f', known: {reason}' if reason else ''}\n{text}\n")
    print(f"{sum(found.values())} reports, {unknown} of them unknown")
    return unknown


if __name__ == "__main__":
    sys.exit(main())
