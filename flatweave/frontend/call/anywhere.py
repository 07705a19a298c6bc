"""Calls on more than one target: where they are done first, or on several at once.

    entry_for("auto", make, schedule)          an entry that asks for each call
    entry_for("cpu+cuda:0", make, schedule)    devices=["cpu", "cuda:0"]: both share each call
    entry_for("cpu", make, schedule)           make("cpu")
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flatweave.base.errors import ArgumentError
from flatweave.base.schedule import Schedule
from flatweave.base.source import user_location
from flatweave.frontend.call.compiled import Entry
from flatweave.runtime.devices.arrays import Resident
from flatweave.runtime.door import opened

AUTO = "auto"
AND = "+"  # between the targets that share a call


def entry_for(target: str, make: Callable[[str], Entry], schedule: Schedule) -> Entry:
    """What runs the calls of one signature on a target, or on more than one."""
    found: Entry
    if AND in target:
        found = opened("shared").Shared(make, target.split(AND), schedule.deterministic)
    elif target == AUTO:
        found = opened("anywhere").Anywhere(make, schedule.deterministic)
    else:
        found = make(target)
    return found


def where_they_are(target: str, args: list[Any]) -> str:
    """The target, or for "auto" that of the device that an argument is on; the CPU if there is
    none."""
    if target != AUTO:
        return target
    devices = (arg.device for arg in args if type(arg) is Resident)
    return next((f"{device.kind}:{device.number}" for device in devices), "cpu")


def shared_by(target: str | None, devices: Any) -> str | None:
    """The target of jit, or the name of several devices; ArgumentError for anything else."""
    if isinstance(devices, tuple | list) and not devices:
        return target
    names = list(devices) if isinstance(devices, tuple | list) else []
    if target is not None or not names or not all(_is_name(name) for name in names):
        raise ArgumentError(
            f"devices of jit must be a list of targets, in the place of target, got {devices!r}.",
            where=user_location(), remedy='For instance devices=["cpu", "cuda:0"].',
        )  # fmt: skip
    return AND.join(names)


def _is_name(name: Any) -> bool:
    return isinstance(name, str) and name != AUTO and AND not in name
