"""Memory for what is read: a mapping, which goes back to the system with the array. The C library
keeps what it was given back, up to 64 MiB for each thread that ever asked, and threads read."""

from __future__ import annotations

import mmap
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from flatweave.frontend.values.chunked import Values

MAPPED = 1 << 17
"""Bytes from which on an array is a mapping."""
HUGE = 1 << 23
"""Bytes from which on it is one of large pages."""


def room(count: int) -> Values:
    """So many bytes, which somebody will write."""
    if count < MAPPED:
        return np.empty(count, np.uint8)
    memory = _mapping(count)
    if count >= HUGE and hasattr(mmap, "MADV_HUGEPAGE"):
        memory.madvise(mmap.MADV_HUGEPAGE)  # a page of 4 KiB at a time takes as long as reading
    return np.frombuffer(memory, np.uint8)


def _mapping(count: int) -> mmap.mmap:
    """Pages of this process alone: the system makes none large that could be shared."""
    if os.name == "nt":
        return mmap.mmap(-1, count)
    return mmap.mmap(-1, count, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)


def one(arrays: Sequence[Values]) -> Values:
    """Arrays one after the other."""
    if len(arrays) == 1:
        return arrays[0]
    first = arrays[0]
    shape: Any = (sum(map(len, arrays)), *first.shape[1:])
    whole = room(sum(each.nbytes for each in arrays)).view(first.dtype).reshape(shape)
    return np.concatenate(arrays, out=whole)
