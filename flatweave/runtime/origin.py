"""What a compiled program depends on besides its trace, known without importing the compiler.

    facts()     ==>     sources of Flatweave, LLVM's library, CPU, C library, Python, NumPy

Sources are told by names, sizes and times, not by content: reading all of them would take longer
than what is saved. The facts are those of when Flatweave was imported; what is compiled after its
files have changed, partly by other code then, is not kept (`is_current`).
"""

from __future__ import annotations

import functools
import hashlib
import os
import sys
from collections.abc import Iterator
from importlib.machinery import PathFinder

import numpy as np

from flatweave.runtime.systems.table import system

PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# what Linux knows of the kind of CPU: vendor, family, model and the number of each feature
CPU_FACTS = "/sys/devices/system/cpu/modalias"
CODE = (".py", ".ll", ".so")


@functools.cache
def facts() -> str:
    """All of it, as a text that is part of a key; "" where something cannot be told, or where no
    image could be mapped."""
    if not system().has_images:
        return ""
    compiler = PathFinder.find_spec("llvmlite")
    if compiler is None or not compiler.submodule_search_locations or not _AT_IMPORT:
        return ""
    try:
        cpu = kind_of_cpu()
        llvm = "\n".join(state for path in compiler.submodule_search_locations
                         for state in _states(path))  # fmt: skip
        c_library = os.confstr("CS_GNU_LIBC_VERSION")
    except (OSError, ValueError):
        return ""
    return "\n".join([_AT_IMPORT, _digest(llvm), cpu, str(c_library), sys.version, np.__version__])


def kind_of_cpu() -> str:
    """The CPU of this machine; OSError where the system does not tell."""
    with open(CPU_FACTS, encoding="utf-8") as file:
        return file.read().strip()


def is_current() -> bool:
    """Whether the files of Flatweave are as they were when it was imported."""
    return _sources() == _AT_IMPORT


def _sources() -> str:
    """A hash of the names, sizes and times of Flatweave's files; "" where there are no files."""
    try:
        return _digest("\n".join(_states(PACKAGE)))
    except OSError:
        return ""


def _states(folder: str) -> Iterator[str]:
    """Each file of code below a folder, and what changes when it does."""
    with os.scandir(folder) as entries:
        for entry in sorted(entries, key=lambda entry: entry.name):
            if entry.is_dir():
                yield from _states(entry.path)
            elif entry.name.endswith(CODE):
                state = entry.stat()
                times = f"{state.st_mtime_ns} {state.st_ctime_ns}"
                yield f"{entry.path} {state.st_size} {times}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


_AT_IMPORT = _sources()
