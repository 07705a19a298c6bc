"""Turns of loops on the host: what several turns put into the queue alike becomes one call.

    turns.do([(launch, (..)), (copy, (..))])     the first time done one by one, the second time
                                                 recorded as a graph by the driver, and from then
                                                 on replayed

Turns are alike when kernels, sizes and numbers are the same, and memory lies at the same addresses:
arrays that a loop makes anew in each turn take turns in a few places, since memory that is given
back is lent again.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from flatweave.runtime.devices.device import Device
from flatweave.runtime.devices.memory import Memory

FEWEST = 2  # works of a turn for which one call is less than they are
KEPT = 32  # turns of a program; the oldest goes first
Work = tuple[Callable[..., None], tuple[Any, ...]]
"""A method of the device, and its arguments."""


class Turns:
    """The turns of one program's loops that a device has seen, with their graphs."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._driver = device.driver
        self._graphs: dict[Hashable, Any] = {}

    def do(self, works: Sequence[Work]) -> None:
        """Put the works of a turn into the queue, to which this thread is alone."""
        if len(works) < FEWEST:
            return perform(works)
        key = tuple((work.__name__, *map(_identity, args)) for work, args in works)
        if key not in self._graphs:
            self._make_room()
            self._graphs[key] = None
            return perform(works)
        graph = self._graphs[key]
        if graph is None:
            record = self._driver.graphs.captured
            graph = self._graphs[key] = record(self._driver.queue, lambda: perform(works))
        self._device.pool.works += 1
        self._driver.graphs.replay(graph, self._driver.queue)
        return None

    def _make_room(self) -> None:
        if len(self._graphs) >= KEPT:
            graph = self._graphs.pop(next(iter(self._graphs)))
            if graph is not None:
                self._driver.graphs.forget(graph)


def kept(args: Sequence[Any]) -> tuple[Any, ...]:
    """Arguments as they are now: memory says where it lies even when the turn gives it back."""
    return tuple(_kept(arg) for arg in args)


def _kept(arg: Any) -> Any:
    if type(arg) is Memory:
        same = Memory(None, arg.handle, arg.size, arg.queue)
        same.written = arg.written
        return same
    return kept(arg) if type(arg) is list else arg


def perform(works: Sequence[Work]) -> None:
    """Put works into the queue one by one."""
    for work, args in works:
        work(*args)


def _identity(arg: Any) -> Hashable:
    """What is equal for arguments that are alike: where memory lies, the bits of numbers."""
    match arg:
        case Memory():
            return "at", arg.handle
        case np.generic():
            return arg.dtype.char, arg.tobytes()
        case tuple():
            return tuple(map(_identity, arg))
    return arg  # type: ignore[no-any-return]
