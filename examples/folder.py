"""Runs a folder of examples: each program on its input, its result checked, timed next to NumPy.

    sys.exit(run(Path("examples/nests"), sys.argv[1:]))       all files, or those named; --quick

A file of such a folder has `cases(quick)`, which gives what `demo.measure` takes.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

from demo import Row, measure, table_of
from rich.console import Console


def run(folder: Path, argv: list[str]) -> int:
    """Print a table of the programs; 0 when every result is right, 2 for an unknown file."""
    there = sorted(path.stem for path in folder.glob("*.py") if path.stem != "__main__")
    quick, names = "--quick" in argv, [name for name in argv if name != "--quick"]
    if unknown := sorted(set(names) - set(there)):
        print(f"There is no {', '.join(unknown)}; there are {', '.join(there)}.")
        return 2
    rows: list[Row] = [
        measure(case)
        for name in names or there
        for case in importlib.import_module(f"{folder.name}.{name}").cases(quick)
    ]
    Console(width=None if sys.stdout.isatty() else 120).print(table_of(rows))
    return 0 if all(row.right for row in rows) else 1
