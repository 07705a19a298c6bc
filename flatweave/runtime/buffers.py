"""How much memory compiled code may take, and what becomes of freed buffers.

The allocator itself is in support.ll (see Note [Idle memory] there), because it must not wait for
the GIL or meet a signal handler. Below 1 MiB it is the C library's; above, each buffer is a mapping
with huge pages that is kept for reuse when freed.
"""

import ctypes
import functools
import os
from pathlib import Path

from flatweave.base.records import record
from flatweave.runtime.support import support

MIB = 2**20
IDLE_FLOOR = 64 * MIB  # idle memory that is always allowed
IDLE_SHARE = 4  # at most this part of the memory may be idle at any time
CGROUP = Path("/sys/fs/cgroup")


@record(eq=True)
class BufferPool:
    """The settings and totals of the allocator, which live in compiled code."""

    _idle_bytes: ctypes.c_int64
    _idle_limit: ctypes.c_int64
    _memory_limit: ctypes.c_int64

    @property
    def idle_bytes(self) -> int:
        """Resident bytes of freed buffers kept for reuse."""
        return int(self._idle_bytes.value)

    @property
    def idle_limit(self) -> int:
        """The most bytes kept for reuse at any time."""
        return int(self._idle_limit.value)

    def limit(self, memory: int) -> None:
        """Refuse requests above `memory` bytes and keep a quarter of it at most."""
        self._memory_limit.value = memory
        self._idle_limit.value = max(IDLE_FLOOR, memory // IDLE_SHARE)

    def release_idle(self, keep: int = 0) -> None:
        """Give idle memory back to the system until at most `keep` bytes are left."""
        ctypes.CFUNCTYPE(None, ctypes.c_int64)(support().address("fw_shrink_idle"))(keep)


@functools.cache
def buffer_pool() -> BufferPool:
    """The allocator of this process, limited to the memory there is."""
    pool = BufferPool(
        *(
            ctypes.c_int64.from_address(support().address(name))
            for name in ("fw_idle_bytes", "fw_idle_limit", "fw_memory_limit")
        )
    )
    pool.limit(physical_memory())
    return pool


def physical_memory() -> int:
    """Bytes of memory this process may use: the machine's, or less where a cgroup says so."""
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return min([machine, *_cgroup_limits()])


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
