"""CUDA devices by cuda.bindings, and their arrays for other libraries without a copy."""

from __future__ import annotations

import ctypes
import functools
from typing import Any, cast

import numpy as np

from flatweave.base.dtypes import DTYPES
from flatweave.base.errors import ArgumentError, Unsupported
from flatweave.runtime.devices.arrays import Resident
from flatweave.runtime.devices.cuda_driver import CudaDriver
from flatweave.runtime.devices.device import Device
from flatweave.runtime.devices.memory import Memory

# -- cuda -----------------------------------------------------------------------------------------
#
# CUDA devices by cuda.bindings; NVIDIA's driver itself must be installed.
#
#     device()      the first GPU, as the driver numbers them
#     device(1)     the second one


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


# -- exchange -------------------------------------------------------------------------------------
#
# Arrays on a GPU for other libraries, and theirs for us, without a copy: CuPy, PyTorch, JAX.
#
#     interface(xs)      __cuda_array_interface__, https://numba.readthedocs.io (version 3)
#     capsule(xs, ..)    DLPack, https://dmlc.github.io/dlpack
#     borrowed(tensor)   their array as a Resident; None for what is on no GPU
#
# Exported arrays have been computed: no library needs our stream. Imported arrays are waited
# for.


CPU, CUDA = 1, 2  # DLPack's numbers for kinds of memory
CODES = {"i": 0, "u": 1, "f": 2, "b": 6}
VERSION = (1, 0)
NAMES = (b"dltensor", b"dltensor_versioned")
BEGINS = (0, 32)  # where in such capsules struct DLTensor does
WORD_BYTES = 4
NATIVE = {dtype.numpy for dtype in DTYPES}


class NotContiguous(ValueError):
    """An array whose elements are not contiguous in memory."""


# -- given ----------------------------------------------------------------------------------------


def interface(xs: Resident) -> dict[str, Any]:
    """What CuPy, PyTorch and Numba read of an array; nobody may write to it, which PyTorch cannot
    be told."""
    if xs.device.kind != "cuda":
        raise AttributeError("__cuda_array_interface__")
    _finished(xs)
    xs.exported = True
    return {
        "shape": xs.shape, "typestr": xs.dtype.str, "data": (_address(xs), False), "version": 3,
        "strides": None, "stream": None,
    }  # fmt: skip


def dlpack_device(xs: Resident) -> tuple[int, int]:
    """The kind of memory, and the number of the device; what OpenCL has, the host copies."""
    return (CUDA, _driver(xs.device).ordinal) if xs.device.kind == "cuda" else (CPU, 0)


def capsule(xs: Resident, max_version: tuple[int, int] | None, copy: bool | None) -> Any:
    """The array in DLPack's capsule. A consumer without version 1 cannot see that it is read-only,
    and gets a copy, or BufferError where it must not be copied."""
    is_versioned = max_version is not None and max_version >= VERSION
    if not is_versioned and copy is False:
        raise BufferError("only DLPack 1.0 and later can share read-only memory")
    is_shared = is_versioned and not copy
    if not is_shared:
        xs = _copied(xs)
    _finished(xs)
    described = np.asarray(_Described(xs, is_shared))
    made = described.__dlpack__(max_version=VERSION if is_versioned else None)
    tensor = _tensor_in(made, is_versioned)
    tensor.data, tensor.device_type = _address(xs), CUDA
    tensor.device_id = _driver(xs.device).ordinal
    return made


class _Described:
    """An array of a GPU that NumPy makes a capsule of: it keeps this, and reads no element."""

    def __init__(self, xs: Resident, is_read_only: bool) -> None:
        self._xs = xs
        self.__array_interface__ = {
            "shape": xs.shape, "typestr": xs.dtype.str, "data": (_address(xs), is_read_only),
            "version": 3,
        }  # fmt: skip


def _tensor_in(made: Any, is_versioned: bool) -> _Tensor:
    """The struct DLTensor of a capsule."""
    return _Tensor.from_address(_capsule_pointer(made, NAMES[is_versioned]) + BEGINS[is_versioned])


def _finished(xs: Resident) -> None:
    xs.settle()
    xs.device.wait()


def _address(xs: Resident) -> int:
    return int(xs.memory.handle) if xs.size else 0


def _copied(xs: Resident) -> Resident:
    memory = xs.device.allocate(max(1, xs.nbytes))
    xs.device.copy(memory, 0, xs.memory, 0, xs.nbytes)
    memory.written = xs.device.works
    return Resident(xs.device, memory, xs.dtype, xs.shape, xs.report)


# -- taken ----------------------------------------------------------------------------------------


def borrowed(value: Any) -> Resident | None:
    """Another library's array on a GPU, which lives as long as what it became.

    Raises NotContiguous, and TypeError for elements that are not of ours.
    """
    described = getattr(value, "__cuda_array_interface__", None)
    if described is not None:
        return _described(value, described)
    if hasattr(value, "__dlpack_device__") and hasattr(value, "__dlpack__"):
        kind, ordinal = value.__dlpack_device__()
        if int(kind) == CUDA:
            return _unpacked(value, int(ordinal))
    return None


def _described(value: Any, described: dict[str, Any]) -> Resident:
    dtype, shape = np.dtype(described["typestr"]), tuple(described["shape"])
    strides = described.get("strides")
    address = int(described["data"][0] or 0)
    ordinal = _driver(device(0)).ordinal_of(address) if address else 0
    stream = described.get("stream")
    if stream is not None or described.get("version", 0) < 3:
        _driver(device(ordinal)).wait_for(stream)
    return _resident(value, ordinal, address, dtype, shape, strides)


def _unpacked(value: Any, ordinal: int) -> Resident:
    """An array as its capsule says; its library has done what it was asked for."""
    found = value.__dlpack__()
    _driver(device(ordinal)).wait_for(None)
    tensor = _tensor_in(found, is_versioned=False)
    code = next((kind for kind, number in CODES.items() if number == tensor.code), "V")
    dtype = np.dtype(f"{code}{tensor.bits // 8}")
    shape = tuple(tensor.shape[: tensor.ndim])
    strides = None
    if tensor.strides:
        strides = tuple(stride * dtype.itemsize for stride in tensor.strides[: tensor.ndim])
    at = (tensor.data or 0) + tensor.byte_offset
    return _resident((value, found), ordinal, at, dtype, shape, strides)


def _resident(
    owner: Any, ordinal: int, address: int, dtype: np.dtype[Any], shape: tuple[int, ...],
    strides: tuple[int, ...] | None,
) -> Resident:  # fmt: skip
    if dtype not in NATIVE:
        raise TypeError(f"its elements are {dtype}")
    size = int(np.prod(shape, dtype=np.int64))
    step = dtype.itemsize
    for extent, stride in zip(reversed(shape), reversed(strides or ()), strict=False):
        if size and extent > 1 and stride != step:
            raise NotContiguous(f"its strides are {strides}")
        step *= extent
    memory = Memory(None, address, size * dtype.itemsize, None)
    if address % WORD_BYTES:
        return _in_words(device(ordinal), memory, dtype, shape, owner)
    return Resident(device(ordinal), memory, dtype, shape, owner=owner)


def _in_words(
    found: Device, memory: Memory, dtype: np.dtype[Any], shape: tuple[int, ...], owner: object
) -> Resident:
    """An array that begins within a word, in memory that begins with one: kernels read words."""
    made = found.allocate(memory.size)
    found.copy(made, 0, memory, 0, memory.size)
    found.hold(owner)
    return Resident(found, made, dtype, shape)


def _driver(found: Device) -> CudaDriver:
    return cast(CudaDriver, found.driver)


# -- the structure of dlpack.h --------------------------------------------------------------------


class _Tensor(ctypes.Structure):
    """struct DLTensor."""

    _fields_ = [
        ("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64),
    ]  # fmt: skip


_capsule_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)
