"""What lanes read and write: global memory of the device; shared, local and constant memory of one
launch.

Generic addresses of global memory are above those of the other spaces. Every access is checked
against what is allocated, and is a multiple of its size. What nobody has written holds BAD.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

Lanes = np.ndarray[Any, Any]
SHARED, LOCAL, TABLES, GLOBAL = 1 << 32, 1 << 33, 1 << 34, 1 << 40
"""The first generic address of each space; tables of a module are in global or constant memory."""
BAD = 0xA5


class IllegalAddress(Exception):
    """An access outside of what is allocated, or not aligned."""


class GlobalMemory:
    """The allocations of a device, by their addresses."""

    def __init__(self, live: Mapping[int, bytearray]) -> None:
        self.starts = np.array(sorted(live), np.int64)
        self.parts = [np.frombuffer(live[int(at)], np.uint8) for at in self.starts]
        self.sizes = np.array([len(part) for part in self.parts], np.int64)

    def split(self, addresses: Lanes, size: int) -> Iterator[tuple[Lanes, Lanes, Lanes]]:
        """Allocations that are accessed, offsets in each, and which of the addresses these are."""
        number = np.searchsorted(self.starts, addresses, "right") - 1
        inside = number >= 0
        if inside.all():
            inside = addresses + size <= self.starts[number] + self.sizes[number]
        if not inside.all():
            raise IllegalAddress(f"{size} bytes at {addresses[~inside][0]:#x} are not allocated")
        for each in np.unique(number):
            some = np.flatnonzero(number == each)
            yield self.parts[each], addresses[some] - self.starts[each], some


class Space:
    """Shared or local memory: each owner, a block or a lane, has `size` private bytes."""

    def __init__(self, owners: int, size: int) -> None:
        self.size = -(-size // 16) * 16
        self.bytes = np.full(owners * self.size, BAD, np.uint8)

    def offsets(self, addresses: Lanes, owners: Lanes | int, size: int) -> Lanes:
        """Where these bytes are."""
        if ((addresses < 0) | (addresses + size > self.size)).any():
            raise IllegalAddress(f"{size} bytes at {addresses.max()} of {self.size}")
        found: Lanes = owners * self.size + addresses
        return found


def cells(memory: Lanes, kind: np.dtype[Any]) -> Lanes:
    """The memory as values of a type."""
    return memory[: len(memory) // kind.itemsize * kind.itemsize].view(kind)
