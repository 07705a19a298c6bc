"""CUDA by NVIDIA's own bindings: one device's primary context, a stream, and calls on it.

The context is the one that CuPy, PyTorch and JAX use, so their memory can be read here and ours
there. The stream is our own: what crosses over waits (`exchange.py`).
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np

from flatweave.base.errors import DeviceError
from flatweave.runtime.devices import nvrtc
from flatweave.runtime.devices.device import Module, Refused, Values

NAME_BYTES = 256
ADVICE = "The device has to be opened anew: start this process again."


class CudaDriver:
    """What a device needs of CUDA."""

    kind = "cuda"

    def __init__(self, cu: Any, ordinal: int) -> None:
        self._cu = cu
        self.ordinal = ordinal
        self.name = f"cuda:{ordinal}"
        self._device = self._done(cu.cuDeviceGet(ordinal))
        self.name = self._done(cu.cuDeviceGetName(NAME_BYTES, self._device)).decode().rstrip("\0")
        attributes = cu.CUdevice_attribute
        major, minor = (
            self._done(cu.cuDeviceGetAttribute(attribute, self._device))
            for attribute in (
                attributes.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
                attributes.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
            )
        )
        self.architecture = f"sm_{major}{minor}"
        self.total = int(self._done(cu.cuDeviceTotalMem(self._device)))
        self._context = self._done(cu.cuDevicePrimaryCtxRetain(self._device))
        self.leave()

    @property
    def compiler(self) -> str:
        """What a binary depends on."""
        return f"{nvrtc.version()} {self.architecture}"

    def leave(self) -> None:
        """From now on use a new stream."""
        self._enter()
        kind = self._cu.CUstream_flags.CU_STREAM_NON_BLOCKING
        self.queue = self._done(self._cu.cuStreamCreate(kind))

    def _enter(self) -> None:
        """Calls are on the context of this device, whatever this thread used before."""
        self._done(self._cu.cuCtxSetCurrent(self._context))

    def _done(self, returned: tuple[Any, ...]) -> Any:
        """What a call gives; raises MemoryError, or DeviceError."""
        failed, *given = returned
        codes = self._cu.CUresult
        if failed == codes.CUDA_ERROR_OUT_OF_MEMORY:
            raise MemoryError(f"on {self.name}")
        if failed != codes.CUDA_SUCCESS:
            said = self._cu.cuGetErrorString(failed)[1] or b"unknown error"
            raise DeviceError(
                f"{self.name} does not work any more: {said.decode()} ({failed.name}).",
                remedy=ADVICE,
            )
        return given[0] if given else None

    def wait_for(self, stream: int | None) -> None:
        """Wait for somebody else's stream, or for all there is."""
        self._enter()
        cu = self._cu
        self._done(cu.cuCtxSynchronize() if stream is None else cu.cuStreamSynchronize(stream))

    def ordinal_of(self, address: int) -> int:
        """The number of the device that memory is on."""
        asked = self._cu.CUpointer_attribute.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
        return int(self._done(self._cu.cuPointerGetAttribute(asked, address)))

    # -- memory -----------------------------------------------------------------------------------

    def allocate(self, size: int) -> int:
        """Memory of `size` bytes; raises MemoryError."""
        self._enter()
        return int(self._done(self._cu.cuMemAllocAsync(size, self.queue)))

    def free(self, handle: int, queue: Any) -> None:
        """Give memory back when what was put into the stream is done."""
        self._enter()
        self._done(self._cu.cuMemFreeAsync(handle, queue))

    def upload(self, memory: int, offset: int, values: Values) -> None:
        """Copy an array to memory: the driver has read pageable memory when it comes back."""
        self._enter()
        at, size = values.ctypes.data, values.nbytes
        self._done(self._cu.cuMemcpyHtoDAsync(memory + offset, at, size, self.queue))

    def download(self, memory: int, offset: int, into: Values) -> None:
        """Copy memory to an array, and wait for that."""
        self._enter()
        at, size = into.ctypes.data, into.nbytes
        self._done(self._cu.cuMemcpyDtoHAsync(at, memory + offset, size, self.queue))
        self._done(self._cu.cuStreamSynchronize(self.queue))

    def copy(self, to: int, to_offset: int, source: int, offset: int, size: int) -> None:
        """Copy memory to memory."""
        self._enter()
        ends = to + to_offset, source + offset
        self._done(self._cu.cuMemcpyDtoDAsync(*ends, size, self.queue))

    def fill(self, memory: int, offset: int, value: np.generic, count: int) -> None:
        """Store a value `count` times; of 8 bytes, its halves one after the other."""
        self._enter()
        at, cu = memory + offset, self._cu
        sets = {1: cu.cuMemsetD8Async, 2: cu.cuMemsetD16Async, 4: cu.cuMemsetD32Async}
        raw, size = value.tobytes(), min(value.nbytes, 4)
        words = [int.from_bytes(raw[k : k + size], "little") for k in range(0, len(raw), size)]
        if len(set(words)) == 1:
            self._done(sets[size](at, words[0], count * len(words), self.queue))
            return
        for each in range(at, at + count * len(raw), len(raw)):
            for number, word in enumerate(words):
                self._done(sets[size](each + number * size, word, 1, self.queue))

    # -- programs ---------------------------------------------------------------------------------

    def build(self, text: str) -> tuple[Module, bytes]:
        """The kernels of a text, and its machine code."""
        binary = nvrtc.binary(text, self.architecture)
        return _Kernels(self, self._loaded(binary)), binary

    def open(self, binary: bytes) -> Module:
        """The kernels of machine code; raises Refused."""
        try:
            return _Kernels(self, self._loaded(binary))
        except DeviceError as error:
            raise Refused(str(error)) from None

    def _loaded(self, binary: bytes) -> Any:
        self._enter()
        return self._done(self._cu.cuModuleLoadData(binary))

    def function(self, module: Any, name: str) -> Any:
        """A kernel of a module."""
        self._enter()
        return self._done(self._cu.cuModuleGetFunction(module, name.encode()))

    # -- work -------------------------------------------------------------------------------------

    def launch(self, kernel: Any, grid: int, threads: int, args: Sequence[Any]) -> None:
        """Run a kernel on `grid` blocks. Arguments lie in slots of 8 bytes, of which it takes as
        many as it needs: machines are little-endian wherever there is CUDA."""
        self._enter()
        slots = (ctypes.c_uint64 * len(args))(*map(_slot, args))
        start = ctypes.addressof(slots)
        pointers = (ctypes.c_uint64 * len(args))(*range(start, start + 8 * len(args), 8))
        at, sizes = ctypes.addressof(pointers), (grid, 1, 1, threads, 1, 1)
        self._done(self._cu.cuLaunchKernel(kernel, *sizes, 0, self.queue, at, 0))

    def mark(self) -> Any:
        """Where the stream ends now."""
        self._enter()
        event = self._done(self._cu.cuEventCreate(self._cu.CUevent_flags.CU_EVENT_DISABLE_TIMING))
        self._done(self._cu.cuEventRecord(event, self.queue))
        return event

    def is_reached(self, mark: Any) -> bool:
        """Whether all before a mark is done; it is looked at no more when it is."""
        self._enter()
        returned = self._cu.cuEventQuery(mark)
        if returned[0] == self._cu.CUresult.CUDA_ERROR_NOT_READY:
            return False
        self._done(returned)
        self._done(self._cu.cuEventDestroy(mark))
        return True


def _slot(arg: Any) -> int:
    """An argument's bytes as a number."""
    return arg if isinstance(arg, int) else int.from_bytes(arg.tobytes(), "little")


class _Kernels(dict[str, Any]):
    """The kernels of a module, looked up when they are first asked for."""

    def __init__(self, driver: CudaDriver, module: Any) -> None:
        self._driver = driver
        self._module = module

    def __missing__(self, name: str) -> Any:
        self[name] = found = self._driver.function(self._module, name)
        return found
