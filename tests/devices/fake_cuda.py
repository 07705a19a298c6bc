"""A fake GPU: the calls of `cuda.bindings.driver` that ours makes, on memory of the host.

    cu = FakeCuda(text, {"k_scale": scale})      programs of one text, its kernels in Python
    cu.calls, cu.live, cu.current                what was called, what is not freed yet, contexts

It is as strict as the driver: a stream does its work later, when somebody asks how far it is, or
waits for it in another stream; with `eager` all but the first do theirs at once, as early as can
be. A pointer must be within memory that is allocated when its work runs, in an order that streams
keep. A double free, or a use on no context, is an error. Kernels get their parameters by name,
read by the types of the text.
"""

import ctypes
import re
import threading
from collections import Counter
from types import SimpleNamespace

import numpy as np

from tests.devices.fake_streams import Failed, Graphs, Result, Stream, call

CTYPES = {
    "int8_t": ctypes.c_int8, "int16_t": ctypes.c_int16, "int32_t": ctypes.c_int32,
    "int64_t": ctypes.c_int64, "uint8_t": ctypes.c_uint8, "uint16_t": ctypes.c_uint16,
    "uint32_t": ctypes.c_uint32, "uint64_t": ctypes.c_uint64, "float": ctypes.c_float,
    "double": ctypes.c_double,
}  # fmt: skip
FIRST, GAP = 0x7F0000000000, 4096


class FakeCuda(Graphs):
    """Stands for the module `cuda.bindings.driver`."""

    CUresult = Result
    CUstream_flags = SimpleNamespace(CU_STREAM_NON_BLOCKING=1)
    CUpointer_attribute = SimpleNamespace(CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL=9)
    CUevent_flags = SimpleNamespace(CU_EVENT_DISABLE_TIMING=2)
    CUdevice_attribute = SimpleNamespace(
        CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR=75,
        CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR=76,
    )

    def __init__(self, text="", kernels=(), devices=1, total=1 << 30):
        self.text, self.kernels, self.devices, self.total = text, dict(kernels), devices, total
        self.calls, self.live, self.sticky, self.launches = [], {}, None, []
        self.images, self.next, self.current = Counter(), FIRST, threading.local()
        self.endless = self.eager = False
        self.streams, self.running, self.stream_at = 0, None, {}
        # what streams allocate, and what of it the host has seen to be done
        self.allocated, self.known = set(), set()

    # -- the device -------------------------------------------------------------------------------

    @call
    def cuInit(self, flags):
        assert flags == 0
        if not self.devices:
            raise Failed(Result.CUDA_ERROR_NO_DEVICE)

    @call
    def cuDeviceGetCount(self):
        return self.devices

    @call
    def cuDeviceGet(self, ordinal):
        if not 0 <= ordinal < self.devices:
            raise Failed(Result.CUDA_ERROR_INVALID_DEVICE)
        return ordinal

    @call
    def cuDeviceGetName(self, size, device):
        return f"Fake H{device}\0\0".encode().ljust(size)  # as NVIDIA's does

    @call
    def cuDeviceGetAttribute(self, attribute, device):
        return {75: 9, 76: 0}[attribute]

    @call
    def cuDeviceTotalMem(self, device):
        return self.total

    @call
    def cuDevicePrimaryCtxRetain(self, device):
        return f"context {device}"

    @call
    def cuCtxSetCurrent(self, context):
        self.current.context = context

    def cuGetErrorString(self, code):
        return Result.CUDA_SUCCESS, f"what {code.name} means".encode()

    @call
    def cuCtxSynchronize(self):
        self._on_context()

    @call
    def cuPointerGetAttribute(self, attribute, at):
        assert attribute == 9
        return 0

    # -- streams and events -----------------------------------------------------------------------

    @call
    def cuStreamCreate(self, flags):
        self._on_context()
        assert flags == 1
        self.streams += 1
        stream = Stream(self, (self.streams - 1) % 3)
        self.stream_at[int(stream)] = stream
        return stream

    @call
    def cuStreamSynchronize(self, stream):
        self._no_capture(stream)
        while stream.work and self.sticky is None:
            stream.step()
        self.known |= stream.knows
        if self.sticky is not None:
            raise Failed(self.sticky)

    @call
    def cuEventCreate(self, flags):
        self._on_context()
        return self._living(SimpleNamespace(record=None))

    @call
    def cuEventRecord(self, event, stream):
        self._no_capture(stream)
        event.record = record = SimpleNamespace(is_reached=False, stream=stream)

        def reached():
            record.is_reached, record.time, record.knows = True, stream.done, set(stream.knows)

        stream.add(reached)

    @call
    def cuStreamWaitEvent(self, stream, event, flags):
        assert flags == 0
        record = event.record  # what is recorded later has nothing to do with it

        def wait():
            stream.knows |= record.knows

        wait.record = record
        stream.add(wait)

    @call
    def cuEventQuery(self, event):
        self._on_context()
        record = event.record
        if not record.is_reached:
            if not self.endless:
                record.stream.step()
            if self.sticky is not None:
                raise Failed(self.sticky)
            raise Failed(Result.CUDA_ERROR_NOT_READY)
        self.known |= record.knows

    @call
    def cuEventSynchronize(self, event):
        while not event.record.is_reached:
            event.record.stream.step()

    @call
    def cuEventElapsedTime(self, first, last):
        assert first.record.is_reached and last.record.is_reached
        return float(last.record.time - first.record.time - 1)  # ms: the works between them

    @call
    def cuEventDestroy(self, event):
        self._destroy(event)

    # -- memory -----------------------------------------------------------------------------------

    @call
    def cuMemAllocAsync(self, size, stream):
        self._on_context()
        self._no_capture(stream)
        kept = {at: m for at, m in self.live.items() if isinstance(m, bytearray)}
        used = sum(len(m) for at, m in kept.items() if at not in stream.freed)
        if used + size > self.total:
            raise Failed(Result.CUDA_ERROR_OUT_OF_MEMORY)
        at, self.next = self.next, self.next + -(-size // GAP) * GAP + GAP
        self.live[at] = bytearray(b"\xcd" * size)
        self.allocated.add(at)
        stream.add(lambda: stream.knows.add(at))
        return at

    @call
    def cuMemFreeAsync(self, at, stream):
        def free():
            if self.live.pop(at, None) is None:
                self.sticky = Result.CUDA_ERROR_INVALID_VALUE

        self._no_capture(stream)
        stream.freed.add(at)  # a later allocation in the same stream may reuse it
        stream.add(free)

    def bytes(self, at, size):
        """The part of an allocation at a pointer; an address that is in none is as on a GPU."""
        for start, memory in self.live.items():
            if isinstance(memory, bytearray) and start <= at and at + size <= start + len(memory):
                if self.running and start in self.allocated - self.running.knows - self.known:
                    break
                return memoryview(memory)[at - start : at - start + size]
        self.sticky = Result.CUDA_ERROR_ILLEGAL_ADDRESS
        return memoryview(bytearray(size))

    def view(self, at, dtype, count):
        """So many elements at a pointer, to read and write."""
        return np.frombuffer(self.bytes(at, count * np.dtype(dtype).itemsize), dtype)

    @call
    def cuMemcpyHtoDAsync(self, to, source, size, stream):
        given = ctypes.string_at(source, size)  # pageable memory is read at once
        stream.add(lambda: self.bytes(to, size).__setitem__(slice(None), given))

    @call
    def cuMemcpyDtoHAsync(self, to, source, size, stream):
        stream.add(lambda: ctypes.memmove(to, bytes(self.bytes(source, size)), size))

    @call
    def cuMemcpyDtoDAsync(self, to, source, size, stream):
        def copy():
            self.bytes(to, size)[:] = bytes(self.bytes(source, size))

        stream.add(copy)

    def _set(self, at, value, count, dtype, stream):
        stream.add(lambda: self.view(at, dtype, count).fill(value))

    @call
    def cuMemsetD8Async(self, at, value, count, stream):
        self._set(at, value, count, np.uint8, stream)

    @call
    def cuMemsetD16Async(self, at, value, count, stream):
        self._set(at, value, count, np.uint16, stream)

    @call
    def cuMemsetD32Async(self, at, value, count, stream):
        self._set(at, value, count, np.uint32, stream)

    # -- programs ---------------------------------------------------------------------------------

    @call
    def cuModuleLoadData(self, image):
        self._on_context()
        if not image.startswith((b"\x7fELF", b"//")):
            raise Failed(Result.CUDA_ERROR_INVALID_IMAGE)
        self.images[image] += 1
        return image

    @call
    def cuModuleGetFunction(self, module, name):
        if name not in module:
            raise Failed(Result.CUDA_ERROR_NOT_FOUND)
        return name.decode()

    @call
    def cuLaunchKernel(self, kernel, gx, gy, gz, x, y, z, shared, stream, params, extra):
        assert (gy, gz, y, z, shared, extra) == (1, 1, 1, 1, 0, 0)
        given = {}
        for number, (type_, name) in enumerate(self.parameters(kernel)):
            at = ctypes.c_uint64.from_address(params + 8 * number).value
            given[name] = type_.from_address(at).value
        self.launches.append((kernel, gx, x))
        stream.add(lambda: self.kernels[kernel](self, gx, x, **given))

    def parameters(self, kernel):
        """The type and name of each parameter of a kernel, as its text declares them."""
        listed = re.search(rf"\b{kernel}\((.*?)\) {{", self.text).group(1)
        for param in listed.split(", "):
            if "*" in param:
                yield ctypes.c_uint64, param.split()[-1].lstrip("*")
            else:
                _, type_, name = param.split()
                yield CTYPES[type_], name
