"""What the numbers were measured on: model, cores, versions, load; nothing that names its owner."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from flatweave.codegen.llvm.isa import here

RESULTS = Path(__file__).resolve().parent / "results"
BLAS_OVERRIDES = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")
PACKAGES = ("flatweave", "numpy", "llvmlite", "numba", "scipy", "jax", "jaxlib")


def model() -> str:
    """The processor as it calls itself."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return platform.processor() or platform.machine()
    found = re.search(r"model name\s*: (.*)", text)
    return found.group(1).strip() if found else platform.machine()


def register_bits() -> int:
    """The width of the vector registers that our code uses."""
    return here().register_bits


def version(package: str) -> str:
    """The installed version, or "-"."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "-"


def compiler() -> str:
    """The first line of `gcc --version`, or "-"."""
    try:
        done = subprocess.run(["gcc", "--version"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return "-"
    return done.stdout.splitlines()[0]


def memory_bytes() -> int:
    """The bytes of memory in the machine."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def describe(threads: int) -> dict[str, Any]:
    """Everything one needs to know to compare these numbers with others."""
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "processor": model(),
        "level": here().name,
        "cores": os.cpu_count(),
        "threads": threads,
        "memory_gib": round(memory_bytes() / 2**30, 1),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "gcc": compiler(),
        **{package: version(package) for package in PACKAGES},
        "load_before": load(),
    }


def environment(threads: int, blas_threads: int) -> dict[str, str]:
    """The variables of a process that measures, to be set before it loads its libraries.

    Variables that make OpenBLAS choose the code of another processor are removed.
    """
    count = str(threads)
    kept = {name: value for name, value in os.environ.items() if name not in BLAS_OVERRIDES}
    return kept | {
        "OMP_NUM_THREADS": count,
        "NUMBA_NUM_THREADS": count,
        "FLATWEAVE_THREADS": count,
        "FLATWEAVE_NO_CACHE": "1",
        "OPENBLAS_NUM_THREADS": str(blas_threads),
        "OPENBLAS_THREAD_TIMEOUT": "16",  # its workers spin 2^16 cycles, not 2^28
        "TF_CPP_MIN_LOG_LEVEL": "3",
    }


def slug() -> str:
    """The processor's model as part of a file's name: amd-epyc-2."""
    words = re.sub(r"\((R|TM)\)|CPU|Processor|@.*", " ", model())
    return re.sub(r"[^a-z0-9]+", "-", f"{words} {os.cpu_count()}".lower()).strip("-")


def keep(text: str, what: str = "", device: str | None = None) -> Path:
    """Write a page to bench/results, named by the day, the device and what was measured."""
    day = datetime.now(UTC).strftime("%Y-%m-%d")
    name = "-".join(filter(None, [day, device or slug(), what]))
    path = RESULTS / f"{name}.md"
    path.write_text(text, encoding="utf-8")
    return path


def load() -> float:
    """How many threads wanted to run during the last minute."""
    return round(os.getloadavg()[0], 2)
