"""A plugin of pytest that writes a line for each test: its name, what it gave, and why.

    python -m pytest -p outcomes ..      OUTCOMES=file
    {"name": "test_a.py::test_x", "outcome": "failed", "why": "TypeError: ..", "seconds": 0.1}
"""

from __future__ import annotations

import json
import os
from typing import Any

import array_api_strict  # noqa: F401  before pytest puts installed packages first on the path


def pytest_runtest_logreport(report: Any) -> None:
    """Write the outcome of a test, or of a part of it that failed or was skipped."""
    if report.when != "call" and report.outcome == "passed":
        return
    if report.when == "teardown" and report.outcome == "skipped":
        return
    outcome = "xfailed" if hasattr(report, "wasxfail") else report.outcome
    crash = getattr(report.longrepr, "reprcrash", None)
    why = crash.message if crash is not None else str(report.longrepr or "")
    where = f" [{os.path.basename(crash.path)}:{crash.lineno}]" if crash is not None else ""
    line = {
        "name": report.nodeid, "outcome": outcome, "why": why[:600] + where,
        "seconds": round(report.duration, 3),
    }  # fmt: skip
    with open(os.environ["OUTCOMES"], "a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")
