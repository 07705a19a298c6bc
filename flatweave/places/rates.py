"""How fast a target is: measured once for each device, and kept with what else was measured.

    rates("cpu", ..)       Rates(call=3e-06, there=0.0, back=0.0, memory=2.1e+10, arithmetic=8e+10)
"""

from __future__ import annotations

import functools
import os
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from flatweave.base.config import config
from flatweave.base.recording import unseen
from flatweave.base.records import fields, record
from flatweave.frontend.values.device_array import DeviceArray
from flatweave.jit import jit
from flatweave.runtime.devices.device import Device
from flatweave.runtime.tuned import keep_rates, kept_rates, key_of_rates

ELEMENTS = 1 << 22  # f32
FEW = 64
STEPS = 32  # of a polynomial: a product and a sum each
RUNS = 5


@record(eq=True)
class Rates:
    """Seconds of a call on few elements; bytes that go there and come back in a second, 0 where
    memory is the host's; bytes that kernels read and write, and additions, in a second."""

    call: float
    there: float
    back: float
    memory: float
    arithmetic: float


def rates(target: str, device: Device | None) -> Rates:
    """The rates of a target's device, measured if nobody has."""
    key = key_of_rates(_named(device))
    found = kept_rates(key)
    if len(found) != len(fields(Rates)):
        with unseen():
            measured = _measured(target)
        found = tuple(getattr(measured, field.name) for field in fields(Rates))
        keep_rates(key, found)
    return Rates(*found)


def _named(device: Device | None) -> str:
    """What was measured: a device with its driver, or the CPU with so many threads."""
    if device is None:
        return f"cpu {config.threads or os.cpu_count()} {config.cpu}"
    return f"{device.kind} {device.name} {device.driver.compiler}"


def _measured(target: str) -> Rates:
    """The fastest of several runs counts: what else the machine does makes a run slower."""
    scaled = jit(lambda xs: xs * 2, target=target)
    given = jit(lambda *arrays: arrays, target=target)
    many, few = (given(np.ones(n, np.float32))[0] for n in (ELEMENTS, FEW))
    call = _seconds(lambda: scaled(few))
    back = there = 0.0
    if isinstance(many, DeviceArray):
        host = np.ones(ELEMENTS, np.float32)
        there = host.nbytes / _beyond(call, _seconds(lambda: given(host)))
        back = host.nbytes / _beyond(call, _fetched(lambda: scaled(many)))
    memory = 2 * many.nbytes / _beyond(call, _seconds(lambda: scaled(many)))
    computed = jit(_polynomial, target=target)
    operations = 2.0 * STEPS * ELEMENTS
    arithmetic = operations / _beyond(call, _seconds(lambda: computed(many)))
    return Rates(call, there, back, memory, arithmetic)


def _polynomial(xs: Any) -> Any:
    return functools.reduce(lambda ys, k: ys * xs + k, range(1, STEPS + 1), xs)


def _beyond(call: float, seconds: float) -> float:
    """What a call took because of its elements."""
    return max(seconds - call, seconds / 10, 1e-9)


def _seconds(work: Callable[[], Any]) -> float:
    """How long a call takes, until it is done."""
    found = []
    for _ in range(RUNS):
        begin = time.perf_counter()
        _finish(work())
        found.append(time.perf_counter() - begin)
    return min(found)


def _fetched(work: Callable[[], Any]) -> float:
    """How long it takes to bring a result back."""
    found = []
    for _ in range(RUNS):
        result = _finish(work())
        begin = time.perf_counter()
        np.asarray(result)
        found.append(time.perf_counter() - begin)
    return min(found)


def _finish(result: Any) -> Any:
    """A result that has been computed."""
    arrays = result if isinstance(result, tuple) else (result,)
    for array in arrays:
        if isinstance(array, DeviceArray):
            array.resident.device.wait()
    return result
