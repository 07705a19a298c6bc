"""OpenCL devices by pyopencl, which brings its loader along; PoCL serves where there is no GPU.

    device()      the best device found: GPUs before CPUs, newer platforms before older ones
"""

from __future__ import annotations

import functools
import re
import time
import warnings
from collections.abc import Sequence
from typing import Any

from flatweave.base.errors import CompilerBug, Unsupported
from flatweave.base.locks import Lock
from flatweave.runtime.devices.device import Values

SHORTEST_PAUSE = 2e-6  # seconds between two looks at a running kernel; they grow with its time
LONGEST_PAUSE = 5e-3
PAUSE_GROWTH = 1.25
EMPTY_KERNEL = "__kernel void nothing(void) {}"
_NEEDED = ("cl_khr_int64_base_atomics", "cl_khr_int64_extended_atomics", "cl_khr_fp64")


class OpenClDevice:
    """A device, with the programs already built for it; `options` go to its compiler."""

    def __init__(self, cl: Any, device: Any, options: Sequence[str] = ()) -> None:
        self._cl = cl
        self._device = device
        self._options = list(options)
        self.name = f"{device.name}, {device.version}"
        self._context = cl.Context([device])
        self._queue = cl.CommandQueue(self._context)
        self._built: dict[str, Any] = {}
        self._lock = Lock()

    def with_options(self, *options: str) -> OpenClDevice:
        """The same device with other options for its compiler."""
        return OpenClDevice(self._cl, self._device, options)

    def allocate(self, size: int) -> Any:
        """Memory of `size` bytes; raises MemoryError."""
        cl = self._cl
        try:
            return cl.Buffer(self._context, cl.mem_flags.READ_WRITE, size)
        except (cl.MemoryError, cl.LogicError, cl.RuntimeError, OverflowError) as error:
            raise MemoryError(f"{size} bytes: {error}") from None

    def free(self, memory: Any) -> None:
        """Give memory back."""
        memory.release()

    def upload(self, memory: Any, values: Values, offset: int = 0) -> None:
        """Copy an array to memory, from byte `offset` on."""
        self._cl.enqueue_copy(self._queue, memory, values, dst_offset=offset)

    def download(self, memory: Any, into: Values, offset: int = 0) -> None:
        """Copy memory, from byte `offset` on, to an array."""
        self._cl.enqueue_copy(self._queue, into, memory, src_offset=offset)

    def load(self, text: str) -> Any:
        """The program built from a text: its kernels by name."""
        with self._lock:
            if text not in self._built:
                self._built[text] = self._build(text)
            return self._built[text]

    def _build(self, text: str) -> dict[str, Any]:
        if "k_" not in text:
            return {}
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", self._cl.CompilerWarning)
                program = self._cl.Program(self._context, text).build(
                    options=self._options, cache_dir=False
                )
        except self._cl.RuntimeError as error:
            raise CompilerBug(
                f"{self.name} refuses what codegen/opencl.py wrote:\n{error}", program=text
            ) from None
        return {kernel.function_name: kernel for kernel in program.all_kernels()}

    def refusal(self) -> str:
        """What its compiler says against an empty kernel; "" if nothing.

        PoCL 3 compiles nothing on processors that its LLVM has never heard of.
        """
        try:
            program = self._cl.Program(self._context, EMPTY_KERNEL)
            program.build(options=self._options, cache_dir=False)
        except self._cl.RuntimeError as error:
            said = (line for line in str(error).splitlines() if line.startswith("error: "))
            return next(said, str(error))
        return ""

    def launch(
        self, module: Any, kernel: str, grid: int, threads: int, args: Sequence[Any]
    ) -> None:
        """Run a kernel on `grid` blocks."""
        found = module[kernel]
        with self._lock:  # a kernel holds the arguments of one launch
            found.set_args(*args)
            size = (grid * threads,), (threads,)
            running = self._cl.enqueue_nd_range_kernel(self._queue, found, *size)
        self._await(running)

    def _await(self, running: Any) -> None:
        """Wait in Python, where signal handlers run, for what the driver's own wait would not let
        through. After an interrupt the queue is left to a kernel that may never end."""
        self._queue.flush()
        done, pause = self._cl.command_execution_status.COMPLETE, SHORTEST_PAUSE
        try:
            while running.command_execution_status > done:
                time.sleep(pause)
                pause = min(pause * PAUSE_GROWTH, LONGEST_PAUSE)
        except BaseException:
            self._queue = self._cl.CommandQueue(self._context)
            raise
        running.wait()  # at its end already: raises what went wrong


@functools.cache
def device() -> OpenClDevice:
    """The device that this process uses."""
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
    refused = []
    for each in sorted(fit, key=functools.partial(_rank, pyopencl), reverse=True):
        usable = OpenClDevice(pyopencl, each)
        why = usable.refusal()
        if not why:
            return usable
        refused.append(f"{usable.name}: {why}")
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
