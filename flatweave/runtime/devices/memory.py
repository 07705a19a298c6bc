"""Memory of a device, kept for reuse in the order of its queue.

    memory = pool.take(4096)      fresh, or what another program gave back
    memory.release()              for whoever asks next; so does the last reference to it

All work of a device goes through one queue, so memory that is given back while kernels still use it
may be lent again at once: whatever uses it next stands behind them in the queue.
"""

from __future__ import annotations

from collections import deque
from typing import Any, Protocol

IDLE_SHARE = 4  # at most this part of a device's memory is kept without use
SMALLEST = 256  # bytes; also what sizes up to 16 of it are multiples of
STEPS = 16  # sizes between a power of two and the next


class Source(Protocol):
    """Where a pool gets memory from."""

    queue: Any
    total: int

    def allocate(self, size: int) -> Any:
        """Memory of `size` bytes; raises MemoryError."""

    def free(self, handle: Any, queue: Any) -> None:
        """Give memory back when what was put into the queue is done."""


class Memory:
    """So many bytes on a device. `handle` is what its driver calls them; `written` says which of
    the device's works was the last that stored here, once that is known.

    Memory without a pool is somebody else's, and belongs to no queue of ours.
    """

    __slots__ = ("__weakref__", "_pool", "handle", "queue", "size", "written")

    def __init__(self, pool: Pool | None, handle: Any, size: int, queue: Any) -> None:
        self._pool = pool
        self.handle = handle
        self.size = size
        self.queue = queue
        self.written: int | None = None

    def release(self) -> None:
        """Give it back; nothing more is done with it."""
        pool, self._pool = self._pool, None
        if pool is not None:  # a lock may be held wherever this runs
            pool.returned.append((self.handle, self.size, self.queue))
            self.handle = None

    def __del__(self) -> None:
        self.release()


class Pool:
    """The memory of one device; its owner sees to it that one thread at a time is here."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._idle: dict[int, list[Any]] = {}
        self._lent: dict[int, Any] = {}  # by identity: alive in the child of a fork, too
        self.returned: deque[tuple[Any, int, Any]] = deque()
        self.idle_bytes = 0
        self.used_bytes = 0

    def take(self, size: int) -> Memory:
        """Memory of at least `size` bytes; raises MemoryError."""
        self.gather()
        if size > self._source.total:  # which drivers count in 64 bits
            raise MemoryError(f"{size} bytes of {self._source.total}")
        size = rounded(size)
        idle = self._idle.get(size)
        if idle:
            handle = idle.pop()
            self.idle_bytes -= size
        else:
            handle = self._source.allocate(size)
        self._lent[id(handle)] = handle
        self.used_bytes += size
        return Memory(self, handle, size, self._source.queue)

    def trim(self) -> None:
        """Give all idle memory back to the driver."""
        self.gather()
        self._keep(0)

    def _keep(self, limit: int) -> None:
        """Give idle memory back until at most `limit` bytes are left, large pieces first."""
        for size in sorted(self._idle, reverse=True):
            handles = self._idle[size]
            while handles and self.idle_bytes > limit:
                self._source.free(handles.pop(), self._source.queue)
                self.idle_bytes -= size

    def gather(self) -> None:
        """Take in what was released since; memory of a queue that was left is not lent again."""
        if not self.returned:
            return
        while self.returned:
            handle, size, queue = self.returned.popleft()
            self._lent.pop(id(handle), None)
            self.used_bytes -= size
            if queue is self._source.queue:
                self._idle.setdefault(size, []).append(handle)
                self.idle_bytes += size
            else:
                self._source.free(handle, queue)
        self._keep(self._source.total // IDLE_SHARE)


def rounded(size: int) -> int:
    """The size that memory is lent in: at most a sixteenth more, so that others can use it."""
    step = max(SMALLEST, 1 << max(0, (size - 1).bit_length() - STEPS.bit_length()))
    return max(1, -(-size // step)) * step
