"""OpenCL devices by pyopencl, which brings its loader along; a CPU serves where there is no GPU.

    device()      the best device found: GPUs before CPUs, newer platforms before older ones
    device(1)     the next best
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Sequence
from typing import Any

from flatweave.base.errors import ArgumentError, CompilerBug, Unsupported
from flatweave.runtime.devices.device import Device
from flatweave.runtime.devices.opencl_driver import OpenClDriver
from flatweave.runtime.devices.opencl_platforms import platforms

EMPTY_KERNEL = "__kernel void k_nothing(void) {}"
_NEEDED = ("cl_khr_int64_base_atomics", "cl_khr_int64_extended_atomics", "cl_khr_fp64")


def opened(index: int = 0, options: Sequence[str] = ()) -> Device:
    """A device of this process, by its place among those found, opened anew."""
    passed: list[str] = []
    for usable in _usable(options):
        if len(passed) == index:
            usable.number = index
            return usable
        passed.append(usable.name)
    listed = "".join(f" opencl:{n} is {name}." for n, name in enumerate(passed))
    raise ArgumentError(
        f"there is no device opencl:{index}.{listed}",
        remedy="Number devices from 0 up, as in target=\"opencl:0\".",
    )


def device(index: int = 0) -> Device:
    """A device that this process uses, by its place among those found."""
    return _kept(index)


@functools.cache
def _kept(index: int) -> Device:
    return opened(index)


def names() -> list[str]:
    """The devices found, the best one first; Unsupported where there is none."""
    return [usable.name for usable in _usable(())]


def _usable(options: Sequence[str]) -> Iterator[Device]:
    """All devices that compile kernels, the best one first; at least one."""
    try:
        import pyopencl  # optional dependency
    except ImportError as error:
        raise Unsupported(
            f'target="opencl" needs pyopencl: {error}.',
            remedy="Install it with pip install flatweave[opencl], or use the target cpu.",
        ) from None
    found = [made for platform in platforms(pyopencl) for made in platform.get_devices()]
    fit = [made for made in found if all(name in made.extensions for name in _NEEDED)]
    if not fit:
        raise Unsupported(
            "No OpenCL device with 64-bit floats and atomics was found.",
            remedy="Install the driver of your GPU, or one for this CPU, which pip install "
            "flatweave[opencl-cpu] brings, or use the target cpu.",
        )
    refused, count = [], 0
    for each in sorted(fit, key=functools.partial(_rank, pyopencl), reverse=True):
        usable = Device(OpenClDriver(pyopencl, each, options))
        why = _refusal(usable)
        if why:
            refused.append(f"{usable.name}: {why}")
            continue
        count += 1
        yield usable
    if count:
        return
    raise Unsupported(
        "No OpenCL device compiles even an empty kernel. " + " ".join(refused),
        remedy="The driver may be older than this processor: install a newer one (pip install "
        "flatweave[opencl-cpu] brings one for CPUs), or use the target cpu.",
    )


def _refusal(device: Device) -> str:
    """What its compiler says against an empty kernel; "" if nothing, now or in an earlier process.

    PoCL 3 compiles nothing on processors that its LLVM has never heard of.
    """
    try:
        device.load(EMPTY_KERNEL)
    except CompilerBug as refused:
        text = str(refused)
        return next((line for line in text.splitlines() if line.startswith("error: ")), text)
    return ""


def _rank(cl: Any, made: Any) -> tuple[bool, tuple[int, ...]]:
    """GPUs first, then the newest driver."""
    is_gpu = bool(made.type & cl.device_type.GPU)
    version = re.search(r"(\d+)\.(\d+)", made.driver_version)
    return is_gpu, tuple(int(part) for part in version.groups()) if version else (0,)
