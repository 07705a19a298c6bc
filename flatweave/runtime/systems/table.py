"""What differs between systems, in one table: who does which service where.

    system().memory()       bytes that this process may use
    system().support        the file of the support code that sleeps, wakes and gets memory

A row for each service, a column for each system. FLATWEAVE_RUNTIME=portable takes, on any of them,
what needs nothing of a system but C and Python: the suite runs it on Linux. Only the names in the
columns of macOS and Windows have not been run.

The same everywhere, and asked for where they are used: the size of a page (`mmap.PAGESIZE`), hooks
of a fork (`base/forks.py`, none on Windows), threads (Python's), pages made executable (LLVM, or
`mprotect` where images are mapped).
"""

from __future__ import annotations

import functools
import platform
import sys
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path

from flatweave.base.config import PORTABLE, PROCESS
from flatweave.base.records import record, replace
from flatweave.runtime.systems import limits
from flatweave.runtime.systems.profile_folder import profile_folder
from flatweave.runtime.systems.trust import Folder, private_folder


@record(eq=True)
class System:
    """A column of the table."""

    # the file of the support code that sleeps, wakes, tells the time and gets memory
    support: str
    # what is filled in there: the C library's clock, and what gives way to other threads
    names: Mapping[str, str]
    # where machine code finds functions beside the process, or on Windows beside Python
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
    # where caches are: a variable that may be unset, and a place in the user's home
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
    cores=limits.cores,
    memory=limits.memory_of_machine,
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
        memory=limits.memory_of_group,
    ),
    "darwin": replace(ANY, libraries=(), cache_variable="", cache_place="~/Library/Caches"),
    "win32": replace(
        ANY,
        names={"CLOCK": "_timespec64_get", "GIVE_WAY": "SwitchToThread"},
        libraries=("ucrtbase", "kernel32", "ntdll"),
        triple_suffix="-elf",  # LLVM loads ELF in a process of Windows, and not all of COFF
        memory=limits.memory_of_windows,
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
