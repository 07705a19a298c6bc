"""How long one waits for the first result, in fresh processes: `python bench/run.py first_call`.

    import          import flatweave, NumPy there already
    no cache        the first sum(x * y), the compiler imported and everything compiled
    disk cache      the same in a process that finds what another one compiled
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = """
import time
import numpy as np
start = time.perf_counter()
import flatweave as fw
loaded = time.perf_counter()

@fw.jit
def dot(xs, ys):
    return fw.sum(xs * ys)

xs, ys = np.ones(1000, np.float32), np.ones(1000, np.float32)
begin = time.perf_counter()
assert dot(xs, ys) == 1000
end = time.perf_counter()
print(loaded - start, end - begin)
"""
BOUNDS = {"import": 0.12, "no cache": 0.23, "disk cache": 0.025}


def fresh(folder: str, cached: bool) -> tuple[float, float]:
    """Seconds of the import and of the first call, in a separate process."""
    environment = os.environ | {
        "XDG_CACHE_HOME": folder,
        "PYTHONPATH": str(ROOT),
        "PYTHONPYCACHEPREFIX": folder,  # Python keeps its compiled modules, as installed ones are
        "FLATWEAVE_NO_CACHE": "0" if cached else "1",
    }
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True
    )
    if done.returncode:
        raise SystemExit(done.stderr.strip().splitlines()[-1])
    loaded, called = done.stdout.split()
    return float(loaded), float(called)


def measure(turns: int) -> dict[str, Any]:
    """Medians of the three, and whether each is short enough."""
    seconds: dict[str, list[float]] = {name: [] for name in BOUNDS}
    with tempfile.TemporaryDirectory() as folder:
        fresh(folder, cached=True)  # fills the cache, and Python's own of compiled modules
        for _ in range(turns):
            loaded, called = fresh(folder, cached=False)
            seconds["no cache"].append(called)
            seconds["import"].append(loaded)
            loaded, called = fresh(folder, cached=True)
            seconds["disk cache"].append(called)
            seconds["import"].append(loaded)
    medians = {name: median(times) for name, times in seconds.items()}
    verdicts = [
        {
            "need": f"{name}: at most {bound * 1e3:g} ms",
            "measured": f"{medians[name] * 1e3:.1f} ms",
            "reached": medians[name] <= bound,
        }
        for name, bound in BOUNDS.items()
    ]
    return {
        "name": "first_call",
        "title": "first call of sum(x * y), import",
        "seconds": {"flatweave": medians["no cache"], **medians},
        "rounds": turns,
        "verdicts": verdicts,
    }


def main() -> None:
    """Measure and print as JSON."""
    json.dump(measure(7), sys.stdout)


if __name__ == "__main__":
    main()
