"""How long work on a device takes, by events in the queue that it goes through.

    clock = EventClock(device)        CUDA: the GPU notes the time when it comes by
    clock = HostClock(device.wait)    OpenCL, and the host's time: until all is done
    clock.seconds(work)

Each library has a separate stream, and so a separate clock.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

Work = Callable[[], Any]


class HostClock:
    """The host's time, from nothing to do until nothing is left to do."""

    def __init__(self, wait: Work) -> None:
        self._wait = wait

    def seconds(self, work: Work) -> float:
        """How long work takes."""
        self._wait()
        start = time.perf_counter()
        work()
        self._wait()
        return time.perf_counter() - start


class EventClock:
    """CUDA's events in our own stream."""

    def __init__(self, device: Any, cu: Any) -> None:
        self._device = device
        self._cu = cu

    def _done(self, returned: tuple[Any, ...]) -> Any:
        failed, *given = returned
        if failed != self._cu.CUresult.CUDA_SUCCESS:
            raise RuntimeError(f"CUDA: {failed.name}")
        return given[0] if given else None

    def _stamp(self) -> Any:
        event = self._done(self._cu.cuEventCreate(0))
        self._done(self._cu.cuEventRecord(event, self._device.driver.queue))
        return event

    def seconds(self, work: Work) -> float:
        """How long work takes on the GPU, its gaps included."""
        self._device.wait()
        first = self._stamp()
        work()
        last = self._stamp()
        self._device.wait()
        self._done(self._cu.cuEventSynchronize(last))
        found = self._done(self._cu.cuEventElapsedTime(first, last)) / 1e3
        for event in (first, last):
            self._done(self._cu.cuEventDestroy(event))
        return float(found)


class LibraryClock:
    """The events of CuPy or PyTorch: `event` makes one, `between` gives milliseconds."""

    def __init__(
        self, event: Callable[[], Any], between: Callable[[Any, Any], float], wait: Work
    ) -> None:
        self._event, self._between, self._wait = event, between, wait

    def seconds(self, work: Work) -> float:
        """How long work takes on the GPU."""
        self._wait()
        first, last = self._event(), self._event()
        first.record()
        work()
        last.record()
        self._wait()
        return self._between(first, last) / 1e3


def cupy_clock(cupy: Any) -> LibraryClock:
    """CuPy's, on its current stream."""
    wait = cupy.cuda.runtime.deviceSynchronize
    return LibraryClock(cupy.cuda.Event, cupy.cuda.get_elapsed_time, wait)


def torch_clock(torch: Any) -> LibraryClock:
    """PyTorch's, on its current stream."""
    return LibraryClock(
        lambda: torch.cuda.Event(enable_timing=True), lambda a, b: a.elapsed_time(b),
        torch.cuda.synchronize,
    )  # fmt: skip
