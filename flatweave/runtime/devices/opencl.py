"""OpenCL devices by pyopencl: platforms, contexts, queues, and the calls that fill them."""

from __future__ import annotations

import functools
import re
import shutil
import sys
import tempfile
import time
import warnings
from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from flatweave.base.config import variable_of_another
from flatweave.base.errors import ArgumentError, CompilerBug, DeviceError, Unsupported
from flatweave.runtime.devices.device import Device, Module, Refused, Values

# OpenCL's platforms: the system's, PoCL's that pyopencl knows of, and those that wheels bring.
#
#     .venv/lib/libintelocl.so      pip install intel-opencl-rt: found, though nothing points to it
#
# OpenCL's loader reads the `.icd` files of one folder, once in a process: each is the name of a
# driver's library. Wheels of drivers leave no such file. Where there is one, the loader gets a
# folder for that moment, with the system's files and one more for each wheel.


SYSTEM = Path("/etc/OpenCL/vendors")
LIBRARIES = ("libintelocl.so",)
FOLDER = "OCL_ICD_VENDORS"
CHOSEN = (FOLDER, "OPENCL_VENDOR_PATH")  # where a user tells the loader what to read


def platforms(cl: Any) -> list[Any]:
    """All platforms; none where the loader finds no driver."""
    found = [Path(sys.prefix) / "lib" / name for name in LIBRARIES]
    brought = [library for library in found if library.is_file()]
    if not brought:
        return _seen(cl)
    with tempfile.TemporaryDirectory(prefix="flatweave-icd-") as folder:
        _fill(Path(folder), brought)
        with variable_of_another(FOLDER, folder, unless=CHOSEN):
            return _seen(cl)


def _fill(folder: Path, libraries: Sequence[Path]) -> None:
    for file in SYSTEM.glob("*.icd"):
        shutil.copyfile(file, folder / file.name)
    for library in libraries:
        (folder / f"{library.stem}.icd").write_text(f"{library}\n")


def _seen(cl: Any) -> list[Any]:
    try:
        return list(cl.get_platforms())
    except cl.Error:
        return []


# OpenCL by pyopencl: one device's context, its queues, and the calls that put work into them.


class OpenClDriver:
    """What a device needs of OpenCL; `options` go to its compiler."""

    kind = "opencl"
    graphs = None
    products = None

    def __init__(self, cl: Any, device: Any, options: Sequence[str] = ()) -> None:
        self._cl = cl
        self._device = device
        self._options = list(options)
        self.name = f"{device.name}, {device.version}"
        self.compiler = f"{self.name}, {device.driver_version} {self._options}"
        self.total = int(device.global_mem_size)
        self._context = cl.Context([device])
        self._memory_errors = (cl.MemoryError, OverflowError)
        self._errors = (cl.LogicError, cl.RuntimeError)
        self.leave()

    def begin(self) -> None:
        """Calls name their queue: a thread needs nothing more."""

    end = begin

    def leave(self) -> None:
        """From now on use new queues."""
        self.queue, self._inward, self._outward = (
            self._cl.CommandQueue(self._context) for _ in range(3)
        )
        self._watched: Any = None  # the queue that keeps times
        self._last: Any = None  # the event of what is last in the queue
        self._uploads: deque[Any] = deque()  # each keeps what it copies

    # -- memory -----------------------------------------------------------------------------------

    def allocate(self, size: int, is_for_copy: bool = False) -> Any:
        """Memory of `size` bytes; raises MemoryError."""
        if size > self.total:
            raise MemoryError(f"{size} bytes on {self.name}, which has {self.total}")
        flags = self._cl.mem_flags.READ_WRITE
        try:
            return self._cl.Buffer(self._context, flags, size)
        except (*self._memory_errors, *self._errors) as error:
            raise MemoryError(f"{size} bytes on {self.name}: {error}") from None

    def free(self, handle: Any, queue: Any) -> None:
        """Give memory back; the driver keeps it until commands that use it are done."""
        handle.release()

    def upload(self, memory: Any, values: Values) -> None:
        """Copy a small array to memory: it is copied aside before, so that nobody waits."""
        while self._uploads and self._is_done(self._uploads[0]):
            self._uploads.popleft()
        self._put(self._cl.enqueue_copy, memory, values.copy(), is_blocking=False)
        self._uploads.append(self._last)

    def upload_beside(self, memory: Any, values: Values) -> None:
        """Copy an array to memory, and wait for that."""
        self._called(self._cl.enqueue_copy, self._inward, memory, values)

    def download(self, memory: Any, offset: int, into: Values) -> None:
        """Copy memory to an array."""
        self._called(self._cl.enqueue_copy, self._outward, into, memory, src_offset=offset)

    def copy(self, to: Any, to_offset: int, source: Any, offset: int, size: int) -> None:
        """Copy memory to memory."""
        work = self._cl.enqueue_copy
        self._put(work, to, source, byte_count=size, src_offset=offset, dst_offset=to_offset)

    def fill(self, memory: Any, offset: int, value: np.generic, count: int) -> None:
        """Store a value `count` times."""
        self._put(self._cl.enqueue_fill_buffer, memory, value, offset, count * value.nbytes)

    def _put(self, work: Any, *args: Any, **how: Any) -> None:
        """Put work into the queue of the kernels."""
        self._last = self._called(work, self.queue, *args, **how)

    def _called(self, work: Any, *args: Any, **how: Any) -> Any:
        """The event of a call that puts work into a queue."""
        try:
            return work(*args, **how)
        except self._memory_errors as error:
            raise MemoryError(f"on {self.name}: {error}") from None
        except self._errors as error:
            raise self._lost(error) from None

    def _lost(self, error: object) -> DeviceError:
        return DeviceError(
            f"{self.name} does not work any more: {error}.", remedy="Start this process anew."
        )

    # -- programs ---------------------------------------------------------------------------------

    def build(self, text: str) -> tuple[Module, bytes]:
        """The kernels of a text, and its binary."""
        program = self._cl.Program(self._context, text)
        try:
            kernels = self._built(program)
        except self._cl.RuntimeError as error:
            raise CompilerBug(
                f"{self.name} refuses what codegen/opencl.py wrote:\n{error}", program=text
            ) from None
        return kernels, bytes(program.get_info(self._cl.program_info.BINARIES)[0])

    def open(self, binary: bytes) -> Module:
        """The kernels of a binary; raises Refused."""
        try:
            return self._built(self._cl.Program(self._context, [self._device], [binary]))
        except self._errors as error:
            raise Refused(str(error)) from None

    def _built(self, program: Any) -> Module:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", self._cl.CompilerWarning)
            built = program.build(options=self._options, cache_dir=False)
        return {kernel.function_name: _Kernel(kernel) for kernel in built.all_kernels()}

    # -- work -------------------------------------------------------------------------------------

    def launch(self, kernel: Any, grid: int, threads: int, args: Sequence[Any]) -> None:
        """Run a kernel on `grid` blocks."""
        kernel.take(args)
        sizes = (grid * threads,), (threads,)
        self._put(self._cl.enqueue_nd_range_kernel, kernel.made, *sizes)

    def launch_timed(
        self, kernel: Any, grid: int, threads: int, args: Sequence[Any]
    ) -> OpenClTimes:
        """The same in a queue that keeps times; works before and after it in our queue wait."""
        cl = self._cl
        if self._watched is None:
            keeps = cl.command_queue_properties.PROFILING_ENABLE
            self._watched = cl.CommandQueue(self._context, properties=keeps)
        kernel.take(args)
        sizes = (grid * threads,), (threads,)
        before = [] if self._last is None else [self._last]
        self.queue.flush()
        now = time.perf_counter_ns()
        ran = self._called(
            cl.enqueue_nd_range_kernel, self._watched, kernel.made, *sizes, wait_for=before
        )
        self._watched.flush()
        self._put(cl.enqueue_barrier, wait_for=[ran])
        return OpenClTimes(ran, now, self._errors)

    def mark(self) -> Any:
        """Where the queue ends now."""
        if self._last is None:
            self._put(self._cl.enqueue_marker)
        self.queue.flush()
        return self._last

    def is_reached(self, mark: Any) -> bool:
        """Whether all before a mark is done."""
        return self._is_done(mark)

    def _is_done(self, event: Any) -> bool:
        status = event.command_execution_status
        if status < 0:
            raise self._lost(f"a command failed with status {status}")
        return bool(status == self._cl.command_execution_status.COMPLETE)


class OpenClTimes:
    """When a kernel ran that was put into the queue at `now`: the device's clock is another one."""

    def __init__(self, event: Any, now: int, errors: tuple[type[Exception], ...]) -> None:
        self._event, self._now, self._errors = event, now, errors

    def span(self) -> tuple[int, int]:
        """When it began and ended."""
        try:
            self._event.wait()  # the barrier after it was waited for
            times = self._event.profile
            ahead = self._now - times.queued
            return times.start + ahead, times.end + ahead
        except self._errors as error:
            raise DeviceError(f"the times of a kernel are lost: {error}.") from None


class _Kernel:
    """A kernel, and the types of its arguments, with which pyopencl passes them ten times as fast:
    by the first launch, as all are of the same kinds."""

    __slots__ = ("_is_told", "made")

    def __init__(self, made: Any) -> None:
        self.made = made
        self._is_told = False

    def take(self, args: Sequence[Any]) -> None:
        """Set the arguments for the next launch."""
        if not self._is_told:
            kinds = [arg.dtype if isinstance(arg, np.generic) else None for arg in args]
            self.made.set_scalar_arg_dtypes(kinds)
            self._is_told = True
        self.made.set_args(*args)


# OpenCL devices by pyopencl, which brings its loader along; a CPU serves where there is no GPU.
#
# device()      the best device found: GPUs before CPUs, newer platforms before older ones
# device(1)     the next best


EMPTY_KERNEL = "__kernel void k_nothing(void) {}"
_NEEDED = ("cl_khr_int64_base_atomics", "cl_khr_int64_extended_atomics", "cl_khr_fp64")


def opened(index: int = 0, options: Sequence[str] = ()) -> Device:
    """A device of this process, by its index among those found, opened again."""
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
    """A device that this process uses, by its index among those found."""
    return _kept(index)


@functools.cache
def _kept(index: int) -> Device:
    return opened(index)


def names() -> list[str]:
    """The devices found, the best one first; Unsupported if there are no devices."""
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
