"""Memory for what is read: a mapping, which goes back to the system with the array. The C library
keeps what it was given back, up to 64 MiB for each thread that ever asked, and threads read."""

from __future__ import annotations

import mmap
from collections.abc import Sequence
from typing import Any

import numpy as np

from flatweave.frontend.values.chunked import Values

MAPPED = 1 << 17
"""Bytes from which on an array is a mapping."""


def room(count: int) -> Values:
    """So many bytes, which somebody will write."""
    return np.frombuffer(mmap.mmap(-1, count), np.uint8) if count >= MAPPED else (
        np.empty(count, np.uint8)
    )  # fmt: skip


def one(arrays: Sequence[Values]) -> Values:
    """Arrays one after the other."""
    if len(arrays) == 1:
        return arrays[0]
    first = arrays[0]
    shape: Any = (sum(map(len, arrays)), *first.shape[1:])
    whole = room(sum(each.nbytes for each in arrays)).view(first.dtype).reshape(shape)
    return np.concatenate(arrays, out=whole)
