"""Runs programs as if on another system: its column of the table, and no name of Linux alone.

    python -m tests.runtime.elsewhere win32 folder        prints what ran, and where it was kept

What Python has on Linux alone, or only where there is POSIX, is taken away before Flatweave is
imported. The libraries that are only on Windows are stood in for: each name that the table gives
finds a function of Linux that does the same.
"""

import ctypes
import functools
import importlib.resources  # noqa: F401
import mmap
import os
import subprocess  # noqa: F401
import sys
import tempfile  # noqa: F401
from pathlib import Path
from typing import Any

import llvmlite.binding  # noqa: F401
import numpy as np

LINUX_ALONE = {
    os: ["sched_getaffinity", "sched_setaffinity", "O_PATH", "memfd_create", "MFD_CLOEXEC"],
    mmap: ["MAP_POPULATE", "MAP_NORESERVE", "MAP_DENYWRITE", "MAP_EXECUTABLE"],
}
POSIX_ALONE = {
    os: [
        "register_at_fork", "fork", "sysconf", "confstr", "geteuid", "getuid", "fchmod", "statvfs",
        "O_DIRECTORY", "O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "posix_fallocate",
    ],
    mmap: ["PROT_READ", "PROT_WRITE", "PROT_EXEC", "MAP_PRIVATE", "MAP_SHARED", "MAP_ANONYMOUS",
           "MAP_ANON"],
}  # fmt: skip
MODULES = ["fcntl", "resource", "pwd", "grp", "termios", "posixshmem"]
PAGES = 2**18


def take_away(names: dict[Any, list[str]]) -> None:
    """Leave none of these names in their modules."""
    for module, attributes in names.items():
        for name in attributes:
            if hasattr(module, name):
                delattr(module, name)


class Libraries:
    """Windows' libraries: the names of the table, with functions of Linux that do the same."""

    NAMES = {"_timespec64_get": "timespec_get", "SwitchToThread": "sched_yield"}

    def __init__(self, real: Any, name: str) -> None:
        self._real, self._name = real, name

    def __getitem__(self, symbol: str) -> Any:
        if self._name == "ntdll" or symbol not in self.NAMES:
            raise AttributeError(symbol)
        return self._real(None)[self.NAMES[symbol]]

    def GlobalMemoryStatusEx(self, status: Any) -> int:
        """A machine with 2^18 pages of 4 KiB; as Windows does, it looks at the size first."""
        words = np.frombuffer(status, np.uint32)
        if words[0] != len(status):
            return 0
        np.frombuffer(status, np.uint64)[1] = 4096 * PAGES
        return 1


def pretend(name: str) -> None:
    """Be another system from now on."""
    take_away(LINUX_ALONE)
    if name == "win32":
        take_away(POSIX_ALONE)
        sys.modules.update(dict.fromkeys(MODULES))
        real = ctypes.CDLL

        @functools.wraps(real)
        def library(found: str | None, *args: Any, **kwargs: Any) -> Any:
            if found in ("ucrtbase", "kernel32", "ntdll"):
                return Libraries(real, found)
            return real(found, *args, **kwargs)

        ctypes.CDLL = library
    sys.platform = name


def main(name: str, home: str) -> None:
    """Compile and run on several threads; print the results and the files kept."""
    os.environ.update(HOME=home, LOCALAPPDATA=f"{home}/Local", FLATWEAVE_VERIFY="0")
    for variable in ("XDG_CACHE_HOME", "FLATWEAVE_RUNTIME"):
        os.environ.pop(variable, None)
    pretend(name)

    import flatweave as fw
    from flatweave.runtime import support
    from flatweave.runtime.cache import process_cache
    from flatweave.runtime.systems import system

    xs = np.arange(300_000.0)
    total = fw.jit(lambda xs: fw.sum(fw.filter(lambda x: x > 5.0, fw.sort(-xs * -2.0))))
    with support.threads(3):
        print(float(total(xs)), support.POOL.ready)
    print(system().support, system().memory() == 4096 * PAGES)
    kept = process_cache().folder
    print(kept.relative_to(Path(home)), len(list(kept.iterdir())))


if __name__ == "__main__":
    main(*sys.argv[1:])
