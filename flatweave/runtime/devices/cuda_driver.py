"""CUDA by NVIDIA's own bindings: a device's context, its streams, calls and graphs."""

from __future__ import annotations

import ctypes
import struct
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from flatweave.base.errors import DeviceError
from flatweave.runtime.devices import cuda_libraries
from flatweave.runtime.devices.cuda_libraries import Cublas, Product
from flatweave.runtime.devices.device import Module, Refused, Values

# What calls of CUDA's driver take: kernels, the arguments of a launch, marks, what is stored.
#
# kernels["k_scale"]              looked up when it is first asked for
# kernel.take([at, np.float32(2)])   at `.address` the addresses of the arguments
# words_of(np.int64(-1), 3)       (0, 4, 0xffffffff, 6): from byte 0 on, 4 bytes, six times


WIDEST = 4  # bytes of what the driver stores


SLOT = 8  # bytes of an argument, of which a kernel reads those that it needs
FORMATS = {  # of an argument in the module `struct`, by the kind and the bytes of its dtype
    "b1": "?", "i1": "b", "i2": "h", "i4": "i", "i8": "q", "u1": "B", "u2": "H", "u4": "I",
    "u8": "Q", "f4": "f", "f8": "d",
}  # fmt: skip


class Kernel:
    """A kernel and the slots of its arguments, laid out by the first launch, as all are of the same
    kinds. A launch copies them; a device's launches come one by one."""

    __slots__ = ("_pack", "_pointers", "_slots", "address", "function")

    def __init__(self, function: Any) -> None:
        self.function = function
        self.address = 0
        self._pack: Callable[..., None] | None = None

    def take(self, args: Sequence[Any]) -> None:
        """Set the arguments for the next launch: addresses and NumPy scalars."""
        if self._pack is None:
            self._pack = self._laid_out(args)
        self._pack(self._slots, 0, *args)

    def _laid_out(self, args: Sequence[Any]) -> Callable[..., None]:
        """What packs arguments like these: machines are little-endian wherever there is CUDA."""
        count = len(args)
        self._slots = ctypes.create_string_buffer(SLOT * count)
        begin = ctypes.addressof(self._slots)
        ends = range(begin, begin + SLOT * count, SLOT)
        self._pointers = (ctypes.c_uint64 * count)(*ends)
        self.address = ctypes.addressof(self._pointers)
        return struct.Struct("<" + "".join(map(_format, args))).pack_into


def _format(arg: Any) -> str:
    """The format of an argument's slot."""
    if isinstance(arg, int):
        return "Q"
    return f"{FORMATS[arg.dtype.str[1:]]}{SLOT - arg.nbytes}x"


class Mark:
    """A position in a stream. Its event is reused when it has no other reference: waiting for an
    event in a stream waits for what had been recorded by then."""

    def __init__(self, spare: list[Any], event: Any) -> None:
        self._spare = spare
        self.event = event

    def __del__(self) -> None:
        self._spare.append(self.event)


class CudaTimes:
    """When what is between two events ran; `since` gives the nanoseconds between them, or since
    one of them."""

    def __init__(
        self, begin: Mark, end: Mark, since: Callable[[Mark, Mark | None], float]
    ) -> None:
        self._begin, self._end, self._since = begin, end, since

    def span(self) -> tuple[int, int]:
        """When it began and ended."""
        ago, passed = self._since(self._begin, None), self._since(self._begin, self._end)
        begin = time.perf_counter_ns() - int(ago)
        return begin, begin + int(passed)


class Kernels(dict[str, Kernel]):
    """The kernels of a module; `find` looks one up."""

    def __init__(self, find: Callable[[str], Kernel]) -> None:
        self._find = find

    def __missing__(self, name: str) -> Kernel:
        self[name] = found = self._find(name)
        return found


def words_of(value: np.generic, count: int) -> Iterator[tuple[int, int, int, int]]:
    """How a value is stored `count` times: byte offset, bytes, bits and how often, of each call.
    Different halves of a value of 8 bytes are stored separately."""
    raw, size = value.tobytes(), min(value.nbytes, WIDEST)
    words = [int.from_bytes(raw[k : k + size], "little") for k in range(0, len(raw), size)]
    if len(set(words)) == 1:
        yield 0, size, words[0], count * len(words)
        return
    for each in range(0, count * len(raw), len(raw)):
        for number, word in enumerate(words):
            yield each + number * size, size, word, 1


# CUDA graphs: what is put into a stream, recorded once and launched as one.
#
# graph = graphs.captured(stream, work)      work() puts nothing into the stream, but into a graph
# graphs.replay(graph, stream)


class CudaGraphs:
    """Calls of the driver `cu`, on a context that `enter` makes this thread's, with results that
    `done` checks."""

    def __init__(
        self, cu: Any, enter: Callable[[], None], done: Callable[[tuple[Any, ...]], Any]
    ) -> None:
        self._cu = cu
        self._enter = enter
        self._done = done

    def captured(self, stream: Any, work: Callable[[], None]) -> Any:
        """A graph of everything that `work` puts into the stream, by this thread only."""
        self._enter()
        cu, done = self._cu, self._done
        mode = cu.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_THREAD_LOCAL
        done(cu.cuStreamBeginCapture(stream, mode))
        try:
            work()
        finally:
            graph = done(cu.cuStreamEndCapture(stream))
        made = done(cu.cuGraphInstantiate(graph, 0))
        done(cu.cuGraphDestroy(graph))
        return made

    def replay(self, graph: Any, stream: Any) -> None:
        """Put a graph into the stream."""
        self._enter()
        self._done(self._cu.cuGraphLaunch(graph, stream))

    def forget(self, graph: Any) -> None:
        """Nobody will replay a graph any more."""
        self._enter()
        self._done(self._cu.cuGraphExecDestroy(graph))


# CUDA by NVIDIA's own bindings: one device's primary context, its streams, and calls on them.
#
# The context is the one that CuPy, PyTorch and JAX use, so each can read the memory of the others.
# The streams are separate: exchanged arrays wait (`cuda.py`). Of them one is for
# kernels, one for arrays that go there, and one for those that come back.


class _Thread(threading.local):
    """The context that this thread is on until the call ends that it is in."""

    context: Any = None


_THREAD = _Thread()
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
        padded = self._done(cu.cuDeviceGetName(NAME_BYTES, self._device))
        self.name = padded.partition(b"\0")[0].decode()
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
        self._spare: list[Any] = []  # events that nobody waits for any more
        self._spare_timed: list[Any] = []  # the same of those that keep times
        self.graphs = CudaGraphs(cu, self._enter, self._done)
        self.leave()

    @property
    def compiler(self) -> str:
        """What a binary depends on."""
        return f"{cuda_libraries.version()} {self.architecture}"

    def leave(self) -> None:
        """From now on use new streams."""
        self._enter()
        kind = self._cu.CUstream_flags.CU_STREAM_NON_BLOCKING
        self.queue, self._inward, self._outward = (
            self._done(self._cu.cuStreamCreate(kind)) for _ in range(3)
        )
        self.products = Cublas(self._enter, int(self.queue), self.allocate)

    def begin(self) -> None:
        """This thread is on the device's context until `end`."""
        self._done(self._cu.cuCtxSetCurrent(self._context))
        _THREAD.context = self._context

    def end(self) -> None:
        """From now on other libraries may change this thread's context."""
        _THREAD.context = None

    def _enter(self) -> None:
        """Calls are on the context of this device, whatever this thread used before."""
        if _THREAD.context is not self._context:
            _THREAD.context = None  # in a call of another device, which enters its own again
            self._done(self._cu.cuCtxSetCurrent(self._context))

    def _done(self, returned: tuple[Any, ...]) -> Any:
        """What a call gives; raises MemoryError, or DeviceError."""
        if returned[0]:  # CUDA_SUCCESS is 0
            raise self._failure(returned[0])
        return returned[1] if len(returned) > 1 else None

    def _failure(self, code: Any) -> Exception:
        """The error for what the driver gives instead."""
        if code == self._cu.CUresult.CUDA_ERROR_OUT_OF_MEMORY:
            return MemoryError(f"on {self.name}")
        said = self._cu.cuGetErrorString(code)[1] or b"unknown error"
        return DeviceError(
            f"{self.name} does not work any more: {said.decode()} ({code.name}).", remedy=ADVICE
        )

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

    def allocate(self, size: int, is_for_copy: bool = False) -> int:
        """Memory of `size` bytes; raises MemoryError."""
        self._enter()
        stream = self._inward if is_for_copy else self.queue
        return int(self._done(self._cu.cuMemAllocAsync(size, stream)))

    def free(self, handle: int, queue: Any) -> None:
        """Give memory back when what was put into the stream is done."""
        self._enter()
        self._done(self._cu.cuMemFreeAsync(handle, queue))

    def upload(self, memory: int, values: Values) -> None:
        """Copy an array to memory: the driver has read pageable memory when it comes back."""
        self._enter()
        at, size = values.ctypes.data, values.nbytes
        self._done(self._cu.cuMemcpyHtoDAsync(memory, at, size, self.queue))

    def upload_beside(self, memory: int, values: Values) -> None:
        """The same in a separate stream; later kernels wait for it."""
        self._enter()
        at, size = values.ctypes.data, values.nbytes
        self._done(self._cu.cuMemcpyHtoDAsync(memory, at, size, self._inward))
        arrived = self._recorded(self._inward)
        self._done(self._cu.cuStreamWaitEvent(self.queue, arrived.event, 0))

    def download(self, memory: int, offset: int, into: Values) -> None:
        """Copy memory to an array, and wait for that."""
        self._enter()
        at, size = into.ctypes.data, into.nbytes
        self._done(self._cu.cuMemcpyDtoHAsync(at, memory + offset, size, self._outward))
        self._done(self._cu.cuStreamSynchronize(self._outward))

    def copy(self, to: int, to_offset: int, source: int, offset: int, size: int) -> None:
        """Copy memory to memory."""
        self._enter()
        ends = to + to_offset, source + offset
        self._done(self._cu.cuMemcpyDtoDAsync(*ends, size, self.queue))

    def fill(self, memory: int, offset: int, value: np.generic, count: int) -> None:
        """Store a value `count` times; of 8 bytes, its halves separately."""
        self._enter()
        at, cu = memory + offset, self._cu
        sets = {1: cu.cuMemsetD8Async, 2: cu.cuMemsetD16Async, 4: cu.cuMemsetD32Async}
        for offset, size, word, times in words_of(value, count):
            self._done(sets[size](at + offset, word, times, self.queue))

    # -- programs ---------------------------------------------------------------------------------

    def build(self, text: str) -> tuple[Module, bytes]:
        """The kernels of a text, and its machine code."""
        binary = cuda_libraries.binary(text, self.architecture)
        return self._kernels(binary), binary

    def open(self, binary: bytes) -> Module:
        """The kernels of machine code; raises Refused."""
        try:
            return self._kernels(binary)
        except DeviceError as error:
            raise Refused(str(error)) from None

    def _kernels(self, binary: bytes) -> Module:
        self._enter()
        module = self._done(self._cu.cuModuleLoadData(binary))

        def find(name: str) -> Kernel:
            self._enter()
            return Kernel(self._done(self._cu.cuModuleGetFunction(module, name.encode())))

        return Kernels(find)

    # -- work -------------------------------------------------------------------------------------

    def launch(
        self, kernel: Kernel | Product, grid: int, threads: int, args: Sequence[Any]
    ) -> None:
        """Run a kernel on `grid` blocks, or a product by the library."""
        self._enter()
        if isinstance(kernel, Product):
            return self.products.multiply(kernel, *args)
        kernel.take(args)
        done = self._cu.cuLaunchKernel(
            kernel.function, grid, 1, 1, threads, 1, 1, 0, self.queue, kernel.address, 0
        )
        self._done(done)

    def launch_timed(
        self, kernel: Kernel | Product, grid: int, threads: int, args: Sequence[Any]
    ) -> CudaTimes:
        """The same between two events that keep times."""
        begin = self._timed_event()
        self.launch(kernel, grid, threads, args)
        return CudaTimes(begin, self._timed_event(), self._since)

    def _timed_event(self) -> Mark:
        """An event in the stream that keeps the time when it was reached."""
        self._enter()
        if not self._spare_timed:
            self._spare_timed.append(self._done(self._cu.cuEventCreate(0)))
        mark = Mark(self._spare_timed, self._spare_timed.pop())
        self._done(self._cu.cuEventRecord(mark.event, self.queue))
        return mark

    def _since(self, begin: Mark, end: Mark | None) -> float:
        """The nanoseconds between two events; until now where there is no second one."""
        self._enter()
        if end is None:
            end = self._timed_event()
            self._done(self._cu.cuEventSynchronize(end.event))
        return 1e6 * float(self._done(self._cu.cuEventElapsedTime(begin.event, end.event)))

    def mark(self) -> Any:
        """Where the stream ends now."""
        self._enter()
        return self._recorded(self.queue)

    def _recorded(self, stream: Any) -> Mark:
        if not self._spare:
            kind = self._cu.CUevent_flags.CU_EVENT_DISABLE_TIMING
            self._spare.append(self._done(self._cu.cuEventCreate(kind)))
        mark = Mark(self._spare, self._spare.pop())
        self._done(self._cu.cuEventRecord(mark.event, stream))
        return mark

    def is_reached(self, mark: Mark) -> bool:
        """Whether all before a mark is done."""
        self._enter()
        code = self._cu.cuEventQuery(mark.event)[0]
        if not code:
            return True
        if code == self._cu.CUresult.CUDA_ERROR_NOT_READY:
            return False
        raise self._failure(code)
