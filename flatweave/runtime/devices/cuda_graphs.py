"""CUDA graphs: what is put into a stream, recorded once and launched as one.

    graph = graphs.captured(stream, work)      work() puts nothing into the stream, but into a graph
    graphs.replay(graph, stream)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


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
        """A graph of all that `work` puts into the stream, by this thread alone."""
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
