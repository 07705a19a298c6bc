"""What calls of CUDA's driver take: kernels, the arguments of a launch, marks, what is stored.

    kernels["k_scale"]              looked up when it is first asked for
    Packed([at, np.float32(2)])     at `.address` the addresses of the arguments
    words_of(np.int64(-1), 3)       (0, 4, 0xffffffff, 6): from byte 0 on, 4 bytes, six times
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

WIDEST = 4  # bytes of what the driver stores


class Kernels(dict[str, Any]):
    """The kernels of a module; `find` looks one up."""

    def __init__(self, find: Callable[[str], Any]) -> None:
        self._find = find

    def __missing__(self, name: str) -> Any:
        self[name] = found = self._find(name)
        return found


class Packed:
    """Arguments in slots of 8 bytes, of which a kernel takes as many as it needs: machines are
    little-endian wherever there is CUDA."""

    def __init__(self, args: Sequence[Any]) -> None:
        count = len(args)
        self._slots = (ctypes.c_uint64 * count)(*map(_slot, args))
        start = ctypes.addressof(self._slots)
        self._pointers = (ctypes.c_uint64 * count)(*range(start, start + 8 * count, 8))
        self.address = ctypes.addressof(self._pointers)


def _slot(arg: Any) -> int:
    """An argument's bytes as a number."""
    return arg if isinstance(arg, int) else int.from_bytes(arg.tobytes(), "little")


class Mark:
    """A place in a stream. Its event is used again when nobody holds it any more: who waits for an
    event in a stream waits for what had been recorded by then."""

    def __init__(self, spare: list[Any], event: Any) -> None:
        self._spare = spare
        self.event = event

    def __del__(self) -> None:
        self._spare.append(self.event)


class CudaTimes:
    """When what is between two events ran; `since` gives the nanoseconds between them, or since
    one of them."""

    def __init__(
        self, begin: Mark, end: Mark, since: Callable[[Mark, Mark | None], float]
    ) -> None:
        self._begin, self._end, self._since = begin, end, since

    def span(self) -> tuple[int, int]:
        """When it began and ended."""
        ago, passed = self._since(self._begin, None), self._since(self._begin, self._end)
        begin = time.perf_counter_ns() - int(ago)
        return begin, begin + int(passed)


def words_of(value: np.generic, count: int) -> Iterator[tuple[int, int, int, int]]:
    """How a value is stored `count` times: byte offset, bytes, bits and how often, of each call.
    The halves of a value of 8 bytes that differ go one after the other."""
    raw, size = value.tobytes(), min(value.nbytes, WIDEST)
    words = [int.from_bytes(raw[k : k + size], "little") for k in range(0, len(raw), size)]
    if len(set(words)) == 1:
        yield 0, size, words[0], count * len(words)
        return
    for each in range(0, count * len(raw), len(raw)):
        for number, word in enumerate(words):
            yield each + number * size, size, word, 1
