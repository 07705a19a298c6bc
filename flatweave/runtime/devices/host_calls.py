"""Python functions called in the midst of a device's program: operands and results are copied."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from flatweave.base.host_functions import HostCall
from flatweave.base.source import Location
from flatweave.runtime.devices.programs import Buffer, Running

Values = np.ndarray[Any, np.dtype[Any]]


def call_host(
    running: Running, call: HostCall, args: Sequence[Any], where: Location | None
) -> None:
    """Make a call when its operands are there; the last of `args` are buffers for the results."""
    running.check()

    def read(buffer: Buffer, dtype: np.dtype[Any], count: int) -> Values:
        values = np.empty(count, dtype)
        if count:
            running.device.read(buffer.memory, values)
        return values

    count = len(args) - len(call.results)
    for buffer, found in zip(args[count:], call.run(args[:count], read, where), strict=True):
        memory = running.taken(running.device.upload(np.ascontiguousarray(found).view(np.uint8)))
        buffer.memory.release()
        buffer.memory = memory
