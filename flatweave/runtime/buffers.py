"""How much memory compiled code may take, and what becomes of freed buffers.

The allocator itself is in support.ll (see Note [Idle memory] there), because it must not wait for
the GIL or meet a signal handler. Below 1 MiB it is the C library's; above, each buffer is a mapping
(on Linux with huge pages) that is kept for reuse when freed.
"""

import ctypes
import functools

from flatweave.base.records import record
from flatweave.runtime.support import support
from flatweave.runtime.systems.table import system

MIB = 2**20
IDLE_FLOOR = 64 * MIB  # idle memory that is always allowed
IDLE_SHARE = 4  # at most this part of the memory may be idle at any time


@record(eq=True)
class BufferPool:
    """The settings and totals of the allocator, which live in compiled code."""

    _idle_bytes: ctypes.c_int64
    _idle_limit: ctypes.c_int64
    _idle_floor: ctypes.c_int64
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
        self._idle_floor.value = IDLE_FLOOR

    def keep(self, idle: int) -> None:
        """Keep `idle` bytes for reuse at most, and no fewer when memory grows: for a process that
        goes over chunks of one size, and frees them in turn."""
        self._idle_limit.value = self._idle_floor.value = idle

    def release_idle(self, keep: int = 0) -> None:
        """Give idle memory back to the system until at most `keep` bytes are left."""
        ctypes.CFUNCTYPE(None, ctypes.c_int64)(support().address("fw_shrink_idle"))(keep)


@functools.cache
def buffer_pool() -> BufferPool:
    """The allocator of this process, limited to the memory there is."""
    pool = BufferPool(
        *(
            ctypes.c_int64.from_address(support().address(name))
            for name in ("fw_idle_bytes", "fw_idle_limit", "fw_idle_floor", "fw_memory_limit")
        )
    )
    pool.limit(system().memory())
    return pool
