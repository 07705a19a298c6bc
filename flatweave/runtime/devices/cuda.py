"""CUDA devices by cuda.bindings; NVIDIA's driver itself must be installed.

    device()      the first GPU, as the driver numbers them
    device(1)     the second one
"""

from __future__ import annotations

import functools
from typing import Any

from flatweave.base.errors import ArgumentError, Unsupported
from flatweave.runtime.devices.cuda_driver import CudaDriver
from flatweave.runtime.devices.device import Device

OTHERWISE = 'or use another target: target="cpu", target="opencl".'


def device(index: int = 0) -> Device:
    """A GPU that this process uses, by its number."""
    return _kept(index)


@functools.cache
def _kept(index: int) -> Device:
    return opened(index)


def opened(index: int = 0) -> Device:
    """A GPU, opened anew."""
    cu = bindings()
    count = _count(cu)
    if index >= count:
        raise ArgumentError(
            f"there is no device cuda:{index}: {count} found.",
            remedy='Number devices from 0 up, as in target="cuda:0".',
        )
    found = Device(CudaDriver(cu, index))
    found.number = index
    return found


def names() -> list[str]:
    """The GPUs found, as the driver numbers them; Unsupported if there are no GPUs."""
    cu = bindings()
    return [CudaDriver(cu, index).name for index in range(_count(cu))]


def bindings() -> Any:
    """The driver's functions in Python."""
    try:
        from cuda.bindings import driver  # optional dependency
    except ImportError as error:
        raise Unsupported(
            f'target="cuda" needs cuda-bindings: {error}.',
            remedy=f"Install it with pip install flatweave[cuda], {OTHERWISE}",
        ) from None
    return driver


def _count(cu: Any) -> int:
    """How many devices there are; at least one."""
    try:
        failed, *_ = cu.cuInit(0)
    except RuntimeError as error:  # the library's loader did not find it
        raise Unsupported(
            f"NVIDIA's driver was not found: {error}",
            remedy=f"Install it (nvidia-smi must show a GPU), {OTHERWISE}",
        ) from None
    codes = cu.CUresult
    if failed == codes.CUDA_SUCCESS:
        failed, count = cu.cuDeviceGetCount()
        if failed == codes.CUDA_SUCCESS and count:
            return int(count)
    said = "no device" if failed in (codes.CUDA_SUCCESS, codes.CUDA_ERROR_NO_DEVICE) else (
        (cu.cuGetErrorString(failed)[1] or b"unknown error").decode()
    )  # fmt: skip
    raise Unsupported(
        f"NVIDIA's driver finds no GPU that it can use: {said}.",
        remedy=f"Look at what nvidia-smi says and at CUDA_VISIBLE_DEVICES, {OTHERWISE}",
    )
