"""What is written to disks, which may be full."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from flatweave.base import pretty
from flatweave.base.errors import DeviceError

FULL = (errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC))
"""What a system says where a disk has no room, or where somebody may have no more of it."""


def written(file: Any, values: np.ndarray[Any, np.dtype[Any]]) -> None:
    """Write an array's elements; unlike `tofile`, with the system's own error."""
    file.write(np.ascontiguousarray(values).reshape(-1).view(np.uint8).data)


@contextmanager
def told_if_full(where: str, size: int, remedy: str) -> Iterator[None]:
    """The user's error where a disk is full while so many bytes are written there."""
    try:
        yield
    except OSError as failure:
        if failure.errno not in FULL:
            raise
        raise DeviceError(
            f"there is no room left for {where}, of which {pretty.size(size)} were to be written.",
            remedy=remedy,
        ) from None
