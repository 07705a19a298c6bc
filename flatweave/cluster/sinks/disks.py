"""What is written to disks, which may be full."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np

from flatweave.base import pretty
from flatweave.base.errors import DeviceError
from flatweave.cluster.sources.paths import filesystem

FULL = (errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC))
"""What a system says where a disk has no room, or where somebody may have no more of it."""


def written(file: Any, values: np.ndarray[Any, np.dtype[Any]]) -> None:
    """Write an array's elements; unlike `tofile`, with the system's own error."""
    file.write(np.ascontiguousarray(values).reshape(-1).view(np.uint8).data)


def removed(paths: Iterable[str]) -> None:
    """Remove files, those that are there."""
    for path in paths:
        system = filesystem(path) if "://" in path else os
        with suppress(FileNotFoundError):
            system.remove(path)


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
