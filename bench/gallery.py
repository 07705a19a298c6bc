"""The programs of examples/gallery next to alternatives: python -m bench.gallery [NAME ..]

Both are called alternately on the same input, of the default size of `inputs`; the least time
of each counts, after a call that compiles. Loops in Python are compiled by Numba where that is what
was used; they run on one core, as `numba.njit` leaves them.
"""

from __future__ import annotations

import importlib
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import numpy as np

FOLDER = Path(__file__).resolve().parent.parent / "examples" / "gallery"
BUDGET, MOST = 1.5, 15  # seconds for a program and its peer, and calls of each


def seconds(call: Callable[..., Any], args: tuple[Any, ...]) -> float:
    """How long a call takes."""
    start = time.perf_counter()
    call(*args)
    return time.perf_counter() - start


def measured(name: str) -> tuple[str, str, float, float]:
    """What the inputs are, the peer, and the least seconds of the program and of the peer."""
    module = importlib.import_module(f"gallery.{name}")
    before, args = module.before, module.inputs()
    before = numba.njit(before) if module.PEER == "Numba" else before
    program = module.program
    program(*args), before(*args)
    ours, theirs = [], []
    end = time.monotonic() + BUDGET
    while not ours or (time.monotonic() < end and len(ours) < MOST):
        ours.append(seconds(program, args))
        theirs.append(seconds(before, args))
    sizes = (np.shape(arg) if np.ndim(arg) else arg for arg in args)
    shown = ", ".join(" x ".join(map(str, s)) if isinstance(s, tuple) else str(s) for s in sizes)
    return shown, module.PEER, min(ours), min(theirs)


def main(names: list[str]) -> None:
    """A table in Markdown."""
    sys.path.insert(0, str(FOLDER.parent))
    print("| program | arguments | ours, ms | before | ms | before / ours |")
    print("|---|---|---:|---|---:|---:|")
    for name in names or sorted(path.stem for path in FOLDER.glob("*.py")):
        shown, peer, ours, theirs = measured(name)
        row = (name, shown, f"{1000 * ours:.2f}", peer, f"{1000 * theirs:.2f}")
        print("|", " | ".join(row), f"| {theirs / ours:.2f} |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
