"""OpenCL devices by pyopencl, which brings its loader along; PoCL serves where there is no GPU.

    device()      the best device found: GPUs before CPUs, newer platforms before older ones
    device(1)     the next best
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Sequence
from typing import Any

from flatweave.base.errors import ArgumentError, Unsupported
from flatweave.runtime.devices.device import Device
from flatweave.runtime.devices.opencl_driver import OpenClDriver

_NEEDED = ("cl_khr_int64_base_atomics", "cl_khr_int64_extended_atomics", "cl_khr_fp64")


def opened(index: int = 0, options: Sequence[str] = ()) -> Device:
    """A device of this process, by its place among those found, opened anew."""
    passed: list[str] = []
    for driver in _usable(options):
        if len(passed) == index:
            return Device(driver)
        passed.append(driver.name)
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


def _usable(options: Sequence[str]) -> Iterator[OpenClDriver]:
    """Drivers for all devices that compile kernels, the best one first; at least one."""
    try:
        import pyopencl  # optional dependency
    except ImportError as error:
        raise Unsupported(
            f'target="opencl" needs pyopencl: {error}.',
            remedy="Install it with pip install flatweave[opencl], or use the target cpu.",
        ) from None
    found = [made for platform in _platforms(pyopencl) for made in platform.get_devices()]
    fit = [made for made in found if all(name in made.extensions for name in _NEEDED)]
    if not fit:
        raise Unsupported(
            "No OpenCL device with 64-bit floats and atomics was found.",
            remedy="Install PoCL with pip install pocl-binary-distribution, or use the target cpu.",
        )
    refused, count = [], 0
    for each in sorted(fit, key=functools.partial(_rank, pyopencl), reverse=True):
        usable = OpenClDriver(pyopencl, each, options)
        why = usable.refusal()
        if why:
            refused.append(f"{usable.name}: {why}")
            continue
        count += 1
        yield usable
    if count:
        return
    raise Unsupported(
        "No OpenCL device compiles even an empty kernel. " + " ".join(refused),
        remedy="The driver may be older than this processor: install a newer one (PoCL 6, or "
        "another platform that ocl-icd finds), or use the target cpu.",
    )


def _platforms(cl: Any) -> list[Any]:
    try:
        return list(cl.get_platforms())
    except cl.Error:
        return []


def _rank(cl: Any, made: Any) -> tuple[bool, tuple[int, ...]]:
    """GPUs first, then the newest driver."""
    is_gpu = bool(made.type & cl.device_type.GPU)
    version = re.search(r"(\d+)\.(\d+)", made.driver_version)
    return is_gpu, tuple(int(part) for part in version.groups()) if version else (0,)
