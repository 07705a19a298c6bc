"""Launches on a device in a call that is watched: when they ran, the device knows afterwards."""

from __future__ import annotations

import contextlib

from flatweave.base.errors import DeviceError
from flatweave.base.recording import Call, Launch
from flatweave.runtime.devices.device import Device, Times

MOST = 4096  # launches of a call, until their times are asked for


class Timed:
    """One launch."""

    __slots__ = ("_blocks", "_device", "_name", "_times")

    def __init__(self, device: Device, name: str, blocks: int, times: Times) -> None:
        self._device, self._name, self._blocks, self._times = device, name, blocks, times

    def wait(self) -> None:
        """Wait until the device has done it."""
        with contextlib.suppress(DeviceError):
            self._device.wait()

    def read(self) -> list[Launch]:
        """The launch, when the device has done it; nothing where its times are lost."""
        self.wait()
        try:
            begin, end = self._times.span()
        except DeviceError:
            return []
        where = f"{self._device.kind}:{self._device.number}"
        return [Launch(self._name, begin, end, self._blocks, 0, (), where)]


def note(call: Call, device: Device, name: str, blocks: int, times: Times) -> None:
    """A kernel of a call was put into the queue."""
    call.launches.append(Timed(device, name, blocks, times))
    call.peak_bytes = max(call.peak_bytes, device.pool.used_bytes)
    if len(call.launches) >= MOST:
        call.tell()
