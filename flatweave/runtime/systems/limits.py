"""How many cores and how much memory this process may use, as each system says it."""

import ctypes
import os
from pathlib import Path

CGROUP = Path("/sys/fs/cgroup")
UNKNOWN = 2**46  # bytes, where a system does not tell how much memory it has: no limit
STATUS_BYTES, TOTAL = 64, 8  # of Windows' MEMORYSTATUSEX, and where its ullTotalPhys begins


def cores() -> int:
    """The cores this process may use; all there are, where a system does not say which."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def memory_of_group() -> int:
    """Linux: the machine's memory, or less where a control group says so."""
    return min([memory_of_machine(), *_cgroup_limits()])


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


def _cgroup_limits() -> list[int]:
    """The limits of the control groups (versions 2 and 1) this process is in."""
    try:
        lines = Path("/proc/self/cgroup").read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return []
    found = []
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            root, name = CGROUP, "memory.max"
        elif "memory" in controllers.split(","):
            root, name = CGROUP / "memory", "memory.limit_in_bytes"
        else:
            continue
        group = root / path.lstrip("/")
        for folder in (group, *group.parents):
            if folder.is_relative_to(root):
                found += _limit_in(folder / name)
    return found


def _limit_in(file: Path) -> list[int]:
    try:
        text = file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return []
    return [int(text)] if text.isdigit() and int(text) > 0 else []
