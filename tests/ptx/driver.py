"""A fake GPU that runs the PTX of our kernels: the whole of `target="cuda"` without a device.

    with cuda_by_ptx() as cu:
        fw.jit(f, target="cuda")(xs)

Everything from the call to the PTX is what runs with a GPU: host code, `CudaDriver`, memory,
streams, graphs. The driver is the strict fake of `tests/devices`, whose streams do their work when
somebody waits; kernels are run by the interpreter (`grid.py`), not by functions of a test.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from flatweave.runtime.devices import cuda
from tests.devices.fake_cuda import FakeCuda
from tests.devices.fake_streams import Failed, Result, call
from tests.ptx.counts import Counts
from tests.ptx.grid import launch
from tests.ptx.memory import GlobalMemory
from tests.ptx.parse import Function, Module, parse

MOST = 20_000  # threads of a launch
CAPABILITY = {75: 9, 76: 1}  # no compiler makes machine code for 9.1, so it gets PTX for 9.0


class PtxCuda(FakeCuda):
    """Stands for the module `cuda.bindings.driver`; launches are in one of `grid.ORDERS`."""

    def __init__(self, order: str = "forwards") -> None:
        super().__init__(total=1 << 33)
        self.order, self.seed = order, 0
        self.modules: dict[bytes, Module] = {}
        self.counts: list[Counts] | None = None  # of launches, where somebody wants them
        self.most = MOST

    @call
    def cuDeviceGetAttribute(self, attribute: int, device: int) -> int:
        """The generation of the device."""
        return CAPABILITY[attribute]

    @call
    def cuModuleLoadData(self, image: bytes) -> Module:
        """PTX, parsed once."""
        self._on_context()
        if image not in self.modules:
            self.modules[image] = parse(image.decode().rstrip("\0"))
        return self.modules[image]

    @call
    def cuModuleGetFunction(self, module: Module, name: bytes) -> tuple[Module, Function]:
        """A kernel of a module."""
        if name.decode() not in module.entries:
            raise Failed(Result.CUDA_ERROR_NOT_FOUND)
        return module, module.entries[name.decode()]

    @call
    def cuLaunchKernel(
        self, kernel: tuple[Module, Function], gx: int, gy: int, gz: int, x: int, y: int, z: int,
        shared: int, stream: Any, params: int, extra: int,
    ) -> None:  # fmt: skip
        """Run a kernel when its stream comes to it; arguments are read at once."""
        assert (gy, gz, y, z, shared, extra) == (1, 1, 1, 1, 0, 0)
        module, entry = kernel
        pointers = (ctypes.c_uint64 * len(entry.params)).from_address(params)
        given = {
            param.name: ctypes.string_at(at, param.size)
            for param, at in zip(entry.params, pointers, strict=True)
        }
        if gx * x > self.most:
            pytest.skip(f"{gx * x} threads are too many for the interpreter of PTX")
        self.launches.append((entry.name, gx, x))
        self.seed += 1

        def work(seed: int = self.seed) -> None:
            unknown = self.allocated - self.running.knows - self.known
            live = {
                at: memory for at, memory in self.live.items()
                if isinstance(memory, bytearray) and at not in unknown
            }  # fmt: skip
            counts = None
            if self.counts is not None:
                counts = Counts(module, entry.name, gx, x)
                self.counts.append(counts)
            launch(module, entry.name, GlobalMemory(live), gx, x, given, self.order, seed, counts)

        stream.add(work)


def install(order: str = "forwards") -> PtxCuda:
    """From now on `target="cuda"` runs on the interpreter."""
    driver = PtxCuda(order)
    cuda.bindings = lambda: driver
    cuda._kept.cache_clear()
    return driver


@contextmanager
def cuda_by_ptx(order: str = "forwards") -> Iterator[PtxCuda]:
    """`target="cuda"` runs on the interpreter meanwhile."""
    before = cuda.bindings
    try:
        yield install(order)
    finally:
        cuda.bindings = before
        cuda._kept.cache_clear()
