"""Memory of a device, kept for reuse in the order of its queue.

    memory = pool.take(4096)      fresh, or what another program gave back
    memory.release()              for whoever asks next; so does the last reference to it

Kernels go through one queue, so memory that is freed while they still use it may be reused
at once: its next user comes later in the queue. Copies from the host have no
such order: they get memory that no kernel uses any more.

    memory, last = pool.take_for_copy(4096, done)     to be waited for, where last > done
"""

from __future__ import annotations

import functools
from collections import defaultdict, deque
from typing import Any, Protocol

IDLE_SHARE = 4  # at most this part of a device's memory is kept without use
SMALLEST = 256  # bytes; also what sizes up to 16 of it are multiples of
STEPS = 16  # sizes between a power of two and the next
AHEAD = 2  # copies leave kernels this many pieces of a size that these may still use


class Source(Protocol):
    """Where a pool gets memory from."""

    queue: Any
    total: int

    def allocate(self, size: int, is_for_copy: bool = False) -> Any:
        """Memory of `size` bytes, for later work of the queue, or for a copy from
        the host in parallel; raises MemoryError."""

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
        # of each size: what it is called, and how much work there was when it came back
        self._idle: defaultdict[int, deque[tuple[int, Any]]] = defaultdict(deque)
        self.returned: deque[tuple[Any, int, Any]] = deque()
        self.is_held = False  # nothing goes back to the driver now
        self.works = 0  # how many works were put into the queue so far
        self.idle_bytes = 0
        self.used_bytes = 0

    def take(self, size: int) -> Memory:
        """Memory of at least `size` bytes, what came back last; raises MemoryError."""
        size = self._rounded(size)
        idle = self._idle.get(size)
        if idle:
            self.idle_bytes -= size
        return self._lend(idle.pop()[1] if idle else self._source.allocate(size), size)

    def take_for_copy(self, size: int, done: int) -> tuple[Memory, int]:
        """Memory of at least `size` bytes, what came back first, and the number of the last work
        that may use it; fresh memory while few pieces are used later than the work `done`. Raises
        MemoryError."""
        size = self._rounded(size)
        idle = self._idle.get(size)
        if not idle or (idle[0][0] > done and len(idle) < AHEAD):
            return self._lend(self._source.allocate(size, is_for_copy=True), size), 0
        self.idle_bytes -= size
        last, handle = idle.popleft()
        return self._lend(handle, size), last

    def _rounded(self, size: int) -> int:
        """The size that is lent; raises MemoryError where there never is so much."""
        if self.returned:
            self.gather()
        if size > self._source.total:  # which drivers count in 64 bits
            raise MemoryError(f"{size} bytes of {self._source.total}")
        return rounded(size)

    def _lend(self, handle: Any, size: int) -> Memory:
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
            while handles and self.idle_bytes > limit and not self.is_held:
                self._source.free(handles.pop()[1], self._source.queue)
                self.works += 1
                self.idle_bytes -= size

    def gather(self) -> None:
        """Take in what was released since; memory of a queue that was left is not lent again."""
        while self.returned:
            handle, size, queue = self.returned.popleft()
            self.used_bytes -= size
            if queue is self._source.queue:
                self._idle[size].append((self.works, handle))
                self.idle_bytes += size
            else:
                self._source.free(handle, queue)
        if self.idle_bytes * IDLE_SHARE > self._source.total:
            self._keep(self._source.total // IDLE_SHARE)


@functools.lru_cache(maxsize=1024)
def rounded(size: int) -> int:
    """The size that memory is lent in: at most a sixteenth more, so that others can use it."""
    step = max(SMALLEST, 1 << max(0, (size - 1).bit_length() - STEPS.bit_length()))
    return max(1, -(-size // step)) * step
