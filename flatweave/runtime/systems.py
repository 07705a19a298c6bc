"""What differs between systems: services by system, cores and memory, addresses of functions."""

from __future__ import annotations

import ctypes
import functools
import os
import platform
import sys
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path

from flatweave.base.config import PORTABLE, PROCESS
from flatweave.base.records import record, replace
from flatweave.runtime.trusted_files import Folder, private_folder, profile_folder

# How many cores and how much memory this process may use, as each system says it.


CGROUP = Path("/sys/fs/cgroup")
UNKNOWN = 2**46  # bytes, where a system does not tell how much memory it has: no limit
STATUS_BYTES, TOTAL = 64, 8  # of Windows' MEMORYSTATUSEX, and where its ullTotalPhys begins


def cores() -> int:
    """The cores this process may use; all there are, where a system does not say which."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def cores_of_group() -> int:
    """Linux: the same, or fewer where a control group (version 2) has a quota of their time."""
    return max(1, min([cores(), *_cgroup_limits(cpu_quota_in, "cpu.max")]))


def cpu_quota_in(file: Path) -> list[int]:
    """The cores that `cpu.max` allows, rounded up: `150000 100000` is one and a half."""
    match _words_in(file):
        case [quota, period] if quota.isdigit() and period.isdigit():
            return [-(-int(quota) // int(period))]
    return []


def memory_of_group() -> int:
    """Linux: the machine's memory, or less where a control group says so."""
    limits = _cgroup_limits(_memory_limit_in, "memory.max", "memory", "memory.limit_in_bytes")
    return min([memory_of_machine(), *limits])


def memory_of_machine() -> int:
    """Systems with sysconf."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return UNKNOWN


def memory_of_windows() -> int:
    """GlobalMemoryStatusEx fills in a structure that begins with its own size."""
    status = (ctypes.c_char * STATUS_BYTES)()
    ctypes.c_uint32.from_buffer(status).value = STATUS_BYTES
    if not ctypes.CDLL("kernel32").GlobalMemoryStatusEx(status):
        return UNKNOWN
    return ctypes.c_uint64.from_buffer(status, TOTAL).value


def _cgroup_limits(
    limit_in: Callable[[Path], list[int]], name: str, controller: str = "", older_name: str = ""
) -> list[int]:
    """The limits of the control groups this process is in: those of version 2 in files `name`,
    those of version 1 of a controller in files `older_name`."""
    found = []
    for line in _lines_in(Path("/proc/self/cgroup")):
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            root, file = CGROUP, name
        elif controller in controllers.split(","):
            root, file = CGROUP / controller, older_name
        else:
            continue
        group = root / path.lstrip("/")
        for folder in (group, *group.parents):
            if folder.is_relative_to(root):
                found += limit_in(folder / file)
    return found


def _memory_limit_in(file: Path) -> list[int]:
    match _words_in(file):
        case [text] if text.isdigit() and int(text) > 0:
            return [int(text)]
    return []


def _words_in(file: Path) -> list[str]:
    return " ".join(_lines_in(file)).split()


def _lines_in(file: Path) -> list[str]:
    try:
        return file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return []


# What differs between systems, in one table: who does which service where.
#
#     system().memory()       bytes that this process may use
#     system().support        the file of the support code that sleeps, wakes and gets memory
#
# A row for each service, a column for each system. FLATWEAVE_RUNTIME=portable takes, on any of
# them, what needs nothing of a system but C and Python: the suite runs it on Linux. Only the
# names in the columns of macOS and Windows have not been run.
#
# The same everywhere, and asked for where they are used: the size of a page (`mmap.PAGESIZE`),
# hooks of a fork (`base/locks.py`, none on Windows), threads (Python's), pages made executable
# (LLVM, or `mprotect` where images are mapped).


@record(eq=True)
class System:
    """A column of the table."""

    # the file of the support code that sleeps, wakes, tells the time and gets memory
    support: str
    # what is filled in there: the C library's clock, and what gives way to other threads
    names: Mapping[str, str]
    # other libraries in which machine code finds functions
    libraries: tuple[str, ...]
    # a library of vector functions with the names of glibc's; "" for none
    vector_library: str
    # whether programs of earlier processes are mapped from disk, without LLVM
    has_images: bool
    # what is added to LLVM's name for this system: "-elf" where its own objects do not link
    triple_suffix: str
    # cores, and bytes of memory, that this process may use
    cores: Callable[[], int]
    memory: Callable[[], int]
    # where caches are: a variable that may be unset, and a folder in the user's home
    cache_variable: str
    cache_place: str
    # opens a folder that nobody else can write, and makes it if that is asked for
    folder: Callable[[Path, bool], AbstractContextManager[Folder]]


ANY = System(
    support="portable.ll",
    names={"CLOCK": "timespec_get", "GIVE_WAY": "sched_yield"},
    libraries=("libm.so",),
    vector_library="",
    has_images=False,
    triple_suffix="",
    cores=cores,
    memory=memory_of_machine,
    cache_variable="$XDG_CACHE_HOME",
    cache_place="~/.cache",
    folder=private_folder,
)
SYSTEMS = {
    "linux": replace(
        ANY,
        support="linux.ll",
        names={},
        libraries=("libm.so.6", "libmvec.so.1"),
        vector_library="libmvec.so.1",
        has_images=True,
        cores=cores_of_group,
        memory=memory_of_group,
    ),
    "darwin": replace(ANY, libraries=(), cache_variable="", cache_place="~/Library/Caches"),
    "win32": replace(
        ANY,
        names={"CLOCK": "_timespec64_get", "GIVE_WAY": "SwitchToThread"},
        libraries=("ucrtbase", "kernel32", "ntdll"),
        triple_suffix="-elf",  # LLVM loads ELF in a process of Windows, and not all of COFF
        memory=memory_of_windows,
        cache_variable="$LOCALAPPDATA",
        cache_place="~/AppData/Local",
        folder=profile_folder,
    ),
}


def column(name: str, runtime: str) -> System:
    """The services of a system, as Python names it, under a value of FLATWEAVE_RUNTIME."""
    found = SYSTEMS.get(name, ANY)
    if runtime != PORTABLE or found.support == ANY.support:
        return found
    return replace(
        found, support=ANY.support, names=ANY.names, vector_library="", has_images=False
    )


@functools.cache
def system() -> System:
    """The services of the system we are on."""
    return column(sys.platform, PROCESS.runtime)


# What is filled in for a kind of CPU: the wait of a loop that looks again and again, and the number
# of Linux' call for futexes.
_X86 = {
    "SYS_FUTEX": "202",
    "PAUSE": "call void @llvm.x86.sse2.pause()",
    "PAUSE_DECLARATION": "declare void @llvm.x86.sse2.pause()",
}
_ARM = {
    "SYS_FUTEX": "98",
    "PAUSE": "call void @llvm.aarch64.hint(i32 1)",
    "PAUSE_DECLARATION": "declare void @llvm.aarch64.hint(i32)",
}
CPUS = {"x86_64": _X86, "amd64": _X86, "aarch64": _ARM, "arm64": _ARM}


def cpu_facts() -> Mapping[str, str] | None:
    """What is filled in for this kind of CPU; None for one that we do not know."""
    return CPUS.get(platform.machine().lower())


# Addresses of functions that machine code calls: Python's, the C library's, its math libraries'.
#
# Where a process is one space of names, as on Linux and macOS, most are found in the process
# itself. Windows has a space for each library, which `systems.py` names.


class Missing(LookupError):
    """No library has a function of this name."""


def symbol_address(symbol: str) -> int:
    """The address of a function."""
    found = _address_in(ctypes.pythonapi, symbol)
    for name in system().libraries:
        found = found or _address_in(library(name), symbol)
    if not found:
        raise Missing(f"no library has {symbol}")
    return found


def _address_in(found: ctypes.CDLL | None, symbol: str) -> int:
    try:
        return 0 if found is None else ctypes.cast(found[symbol], ctypes.c_void_p).value or 0
    except AttributeError:
        return 0


@functools.cache
def library(name: str) -> ctypes.CDLL | None:
    """A shared library, whose functions whoever looks in the process finds from now on; None if
    there is no such library."""
    try:
        return ctypes.CDLL(name, mode=ctypes.RTLD_GLOBAL)
    except OSError:
        return None
