"""Every kernel of this folder on its input, its result checked, its time beside NumPy's.

    python examples/kernels [--quick] [FILE ..]     all files, or those named; small inputs: --quick

Ends with 0 when every result is right.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))  # where the demo is, and this folder as `kernels`

from demo import Row, measure, table_of  # noqa: E402
from rich.console import Console  # noqa: E402

NAMES = sorted(path.stem for path in HERE.glob("*.py") if path.stem != "__main__")


def cases(names: list[str], quick: bool) -> Iterator[tuple[str, str, Callable, Callable, Callable]]:
    """The jobs of some files, one after the other."""
    for name in names:
        yield from importlib.import_module(f"kernels.{name}").cases(quick)


def main(argv: list[str]) -> int:
    """Run them; 0 when all is right."""
    quick, names = "--quick" in argv, [name for name in argv if name != "--quick"]
    if unknown := sorted(set(names) - set(NAMES)):
        print(f"There is no {', '.join(unknown)}; there are {', '.join(NAMES)}.")
        return 2
    rows: list[Row] = [measure(case) for case in cases(names or NAMES, quick)]
    Console(width=None if sys.stdout.isatty() else 120).print(table_of(rows))
    return 0 if all(row.right for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
