"""target="auto": a call that is compiled for the target where it is done first.

    entry_for("auto", make, schedule)      an entry that asks for each call; others: make(target)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flatweave.base.schedule import Schedule
from flatweave.frontend.call.compiled import Entry
from flatweave.runtime.devices.arrays import Resident
from flatweave.runtime.door import opened

AUTO = "auto"


def entry_for(target: str, make: Callable[[str], Entry], schedule: Schedule) -> Entry:
    """What runs the calls of one signature on a target, or wherever they are done first."""
    if target != AUTO:
        return make(target)
    found: Entry = opened("anywhere").Anywhere(make, schedule.deterministic)
    return found


def where_they_are(target: str, args: list[Any]) -> str:
    """The target, or for "auto" that of the device that an argument is on; the CPU if there is
    none."""
    if target != AUTO:
        return target
    devices = (arg.device for arg in args if type(arg) is Resident)
    return next((f"{device.kind}:{device.number}" for device in devices), "cpu")
