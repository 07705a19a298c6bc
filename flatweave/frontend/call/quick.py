"""Calls with plain arrays and numbers, found again by dtypes and ranks alone.

    key, flat = [f], []
    if quick(args, key, flat):                 key (f, float32, 1, float), flat [3, xs, 2.5]
        table = known.here(target)
        entry = table.get(tuple(key))          or, once it is made, put(table, tuple(key), entry)

This is the path of nearly every call: it does as little as it can.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from flatweave.base.config import Switches, config
from flatweave.base.locks import Lock
from flatweave.frontend.values.array import HostArray
from flatweave.frontend.values.device_array import DeviceArray

NDARRAY = np.ndarray
LOW, HIGH = -(2**63), 2**63
KEPT = 4096  # entries of a table; the oldest goes first
Table = dict[Any, Callable[..., Any]]
_lock = Lock()


class Known:
    """What runs calls, by key, in a table for each target, CPU and schedule."""

    __slots__ = ("_last", "_tables")

    def __init__(self) -> None:
        self._tables: dict[Any, Table] = {}
        self._last: tuple[Switches | None, str | None, Table] = (None, None, {})

    def here(self, target: str | None = None) -> Table:
        """The table for a target, that in force if none is named, under the switches in force."""
        now = config.current
        switches, named, table = self._last
        if switches is not now or named is not target:
            key = (target or now.target, now.cpu, now.schedule)
            table = self._tables.setdefault(key, {})
            self._last = (now, target, table)
        return table


def quick(args: tuple[Any, ...], key: list[Any], flat: list[Any]) -> bool:
    """Fill key and flat arguments when all are plain arrays and numbers, else give False."""
    for arg in args:
        cls = type(arg)
        if cls is HostArray:
            arg = arg._values
        elif cls is DeviceArray and arg.resident.shape:
            arg = arg.resident
        elif cls is not NDARRAY:
            if cls is float or cls is bool or (cls is int and LOW <= arg < HIGH):
                key.append(cls)
                flat.append(arg)
                continue
            return False
        else:
            flags = arg.flags
            if not (flags.c_contiguous and flags.aligned):
                return False
        shape = arg.shape
        key.append(arg.dtype)
        key.append(len(shape))
        if shape:
            flat += shape
            flat.append(arg)
        else:
            flat.append(arg[()])
    return True


def put(table: Table, signature: tuple[Any, ...], run: Callable[..., Any]) -> None:
    """Enter what runs calls of a signature that `quick` made; not where every call's arrays must be
    converted: in another byte order, complex, records, times, floats of 16 bits."""
    dtypes = [part for part in signature if isinstance(part, np.dtype)]
    if all(dtype.isnative and dtype.kind in "biuf" and dtype != np.float16 for dtype in dtypes):
        keep(table, signature, run)


def keep(table: dict[Any, Any], key: Any, value: Any) -> None:
    """Enter a value in a table; the oldest entry goes when it is full."""
    with _lock:
        while len(table) >= KEPT:
            table.pop(next(iter(table)), None)
        table[key] = value
