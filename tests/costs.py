"""CPU seconds of every test, its processes included, and which tests exceed the budget.

    CPU seconds: 601 for 12835 tests; the budget is 640
    above 4 s: mark these slow, sample their cases (quick.py), or make them cheaper
        4.7  tests/laws/test_programs.py::test_machine_code[2]
    dearest tests, all cases together
        9.1  16 cases  tests/laws/test_telescope.py::test_rows

`make test` is to take 6 minutes on two cores. Seconds of a clock say little on a busy machine, so
these are seconds of the processor. A run of the whole suite ends with this table; a run of some
tests does with TEST_COSTS=1.
"""

import os
import time
from collections import Counter

import pytest

BUDGET = 640  # CPU seconds of all tests that `make test` runs
EACH = 4.0  # of one test
WHOLE_SUITE = 10_000  # tests; fewer are a part of it
DEAREST = 20


class Costs:
    """What each test has cost; under xdist, what the workers report."""

    def __init__(self) -> None:
        self.start = 0.0
        self.seconds: dict[str, float] = {}

    def pytest_runtest_logstart(self) -> None:
        """A test begins."""
        self.start = cpu_seconds()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, call: pytest.CallInfo):
        """The last report of a test carries its cost."""
        report = yield
        if call.when == "teardown":
            report.user_properties.append(("cpu", cpu_seconds() - self.start))
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """From here or from a worker."""
        if report.when == "teardown":
            self.seconds[report.nodeid] = float(dict(report.user_properties)["cpu"])

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """The table, after all tests."""
        if len(self.seconds) >= WHOLE_SUITE or os.environ.get("TEST_COSTS"):
            terminalreporter.write_line("\n".join(table(self.seconds)))


def cpu_seconds() -> float:
    """Of this process and of those that it has waited for."""
    times = os.times()
    return time.process_time() + times.children_user + times.children_system


def table(seconds: dict[str, float]) -> list[str]:
    """The lines that say what is too dear."""
    lines = [
        f"CPU seconds: {sum(seconds.values()):.0f} for {len(seconds)} tests; the budget is {BUDGET}"
    ]
    dear = sorted(((used, test) for test, used in seconds.items() if used > EACH), reverse=True)
    if dear:
        lines.append(
            f"above {EACH:g} s: mark these slow, sample their cases (quick.py), "
            f"or make them cheaper"
        )
        lines += [f"  {used:6.1f}  {test}" for used, test in dear]
    total: Counter[str] = Counter()
    cases = Counter(test.partition("[")[0] for test in seconds)
    for test, used in seconds.items():
        total[test.partition("[")[0]] += used
    lines.append("dearest tests, all cases together")
    lines += [
        f"  {used:6.1f}  {cases[test]} cases  {test}" for test, used in total.most_common(DEAREST)
    ]
    return lines
