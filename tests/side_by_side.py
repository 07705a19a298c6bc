"""Tests by several processes, each of which takes the next file when it has done the last one.

    python -m tests.side_by_side --processes 2 -m "not slow"              all test files
    python -m tests.side_by_side -m "not slow" tests/language tests/laws  those of two folders

The other arguments are pytest's, each in one word (-ksum, --tb=short). A file is collected by the
process that runs it, and nothing is sent between processes. With pytest-xdist, each of them
collects all tests, which took 15 s of CPU time, and 911 quick tests took 16 s instead of 8.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path

import pytest

from tests.costs import is_wanted, table

FOLDER = "TESTS_SIDE_BY_SIDE"
"""The variable that names the folder in which processes say what they have taken and spent."""
FILES, COSTS = "files.json", "costs-*.json"
NONE = int(pytest.ExitCode.NO_TESTS_COLLECTED)


class TakesFiles:
    """The pytest of one process: it collects and runs file after file that nobody else has."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def files(self) -> Iterator[str]:
        """The files that are left, each for one process alone."""
        for number, file in enumerate(json.loads((self.folder / FILES).read_text())):
            try:
                (self.folder / str(number)).touch(exist_ok=False)
            except FileExistsError:
                continue
            yield file

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self) -> bool:
        """Nothing is collected before a file is taken."""
        return True

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """As pytest's own, file by file."""
        count = 0
        for file in self.files():
            items = list(session.perform_collect([file]))
            count += len(items)
            for item, after in zip_longest(items, items[1:]):
                item.config.hook.pytest_runtest_protocol(item=item, nextitem=after)
                if session.shouldfail:
                    raise session.Failed(session.shouldfail)
                if session.shouldstop:
                    raise session.Interrupted(session.shouldstop)
        session.testscollected = max(count, 1)  # that all files were taken by others is no mistake
        return True


def files_of(paths: list[str]) -> list[str]:
    """All test files, or those of some folders."""
    given = [Path(path) for path in paths or ["tests"]]
    missing = [str(path) for path in given if not path.exists()]
    if missing:
        sys.exit(f"there is no {', '.join(missing)}")
    found = [file for path in given for file in (sorted(path.rglob("test_*.py")) or [path])]
    return [str(file) for file in dict.fromkeys(found)]


def main() -> int:
    """Run the tests; the first exit status that is not 0."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("-m", default="", metavar="MARKS")
    options, others = parser.parse_known_args()
    files = files_of([other for other in others if not other.startswith("-")])
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:xdist", "-m", options.m]
    command += ["-o", "console_output_style=classic"]
    command += [other for other in others if other.startswith("-")]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / FILES).write_text(json.dumps(files))
        outputs = [(folder / f"output-{k}").open("w+") for k in range(1, options.processes)]
        # the first one's output is shown as it comes, that of the others afterwards
        running = [
            subprocess.Popen(command, stdout=output, env={**os.environ, FOLDER: name})
            for output in (None, *outputs)
        ]
        statuses = [process.wait() for process in running]
        for output in outputs:
            output.seek(0)
            print(output.read(), end="")
            output.close()
        seconds: dict[str, float] = {}
        for costs in folder.glob(COSTS):
            seconds.update(json.loads(costs.read_text()))
    if is_wanted(seconds):
        print("\n".join(table(seconds)))
    return next((status for status in statuses if status), 0 if seconds else NONE)


if __name__ == "__main__":
    sys.exit(main())
