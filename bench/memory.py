"""One row's peak memory, in a separate process: `python -m bench.memory NAME` prints JSON.

    baseline     flatweave, its compiler and NumPy are loaded, the program is compiled, no inputs
                 are there
    peak         the most that was resident while the inputs were there and the program ran
                 twice, its first result dropped: machine code included, what it took to make it not

The kernel's high-water mark is reset once the inputs exist, and the leftovers of making them in the
allocator is given back: making random numbers, or reading a file, needs more than what comes of it.
"""

from __future__ import annotations

import ctypes
import json
import re
import resource
import sys
from pathlib import Path
from typing import Any

import numpy as np

import flatweave as fw
from bench.row import Row
from bench.rows import ROWS
from bench.values import leaves, total_bytes
from flatweave.runtime.support import buffer_pool

ALLOWANCE = 64 << 20
STATUS = Path("/proc/self/status")
LIBC = ctypes.CDLL(None)


def resident(field: str) -> int:
    """VmRSS, what is resident now, or VmHWM, the most there was since the last reset."""
    found = re.search(rf"{field}:\s*(\d+) kB", STATUS.read_text(encoding="utf-8"))
    return int(found.group(1)) * 1024 if found else 0


def reset_peak() -> None:
    """Forget the most there was, and what was freed since."""
    if hasattr(LIBC, "malloc_trim"):
        LIBC.malloc_trim(0)
    buffer_pool().release_idle()  # of programs that made the inputs
    Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")


def peak_of(row: Row, size: int) -> dict[str, Any]:
    """The row's peak above the baseline, and what it may be."""
    np.random.default_rng(0).random(8)  # the generator's own memory belongs to the baseline
    program = fw.jit(row.program)
    program(*row.inputs(size))  # of full size: kernels are compiled as sizes ask for them
    reset_peak()
    baseline = resident("VmRSS")
    args = row.inputs(size)
    reset_peak()
    results = leaves(program(*args))
    written = total_bytes(results)
    first = resident("VmHWM")
    results = []
    results = leaves(program(*args))
    peak = max(first, resident("VmHWM"))
    whole = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return {
        "name": row.name,
        "size": size,
        "inputs": total_bytes(args),
        "outputs": written,
        "peak": peak - baseline,
        "beyond": peak - baseline - total_bytes(args) - written,
        "allowed": ALLOWANCE,
        "max_rss": whole,
    }


def main() -> None:
    """Measure the row named on the command line."""
    row = ROWS[sys.argv[1]]
    json.dump(peak_of(row, row.quick if "--quick" in sys.argv else row.size), sys.stdout)


if __name__ == "__main__":
    main()
