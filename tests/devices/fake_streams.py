"""Streams of a fake GPU, and graphs of their works: see `fake_cuda.py`."""

import threading
from enum import IntEnum
from types import SimpleNamespace


class Result(IntEnum):
    """The codes of `CUresult` that matter here."""

    CUDA_SUCCESS = 0
    CUDA_ERROR_INVALID_VALUE = 1
    CUDA_ERROR_OUT_OF_MEMORY = 2
    CUDA_ERROR_NO_DEVICE = 100
    CUDA_ERROR_INVALID_DEVICE = 101
    CUDA_ERROR_INVALID_IMAGE = 200
    CUDA_ERROR_INVALID_CONTEXT = 201
    CUDA_ERROR_INVALID_HANDLE = 400
    CUDA_ERROR_NOT_FOUND = 500
    CUDA_ERROR_NOT_READY = 600
    CUDA_ERROR_ILLEGAL_ADDRESS = 700
    CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED = 900


class Failed(Exception):
    """A call that gives an error code."""


def call(fn):
    """A function of the driver: counted, on the context of its thread, its code first."""

    def called(self, *args):
        self.calls.append(fn.__name__)
        try:
            if self.sticky is not None:
                raise Failed(self.sticky)
            given = fn(self, *args)
        except Failed as failed:
            return (Result(failed.args[0]), None)
        return (Result.CUDA_SUCCESS,) if given is None else (Result.CUDA_SUCCESS, given)

    return called


class Stream:
    """Work that is done in order, when somebody looks. `knows` is what has come before its next
    work, here and in streams that it waited for."""

    def __init__(self, cu, number):
        self.cu, self.number = cu, number
        self.work, self.freed, self.done, self.knows = [], set(), 0, set()
        self.lock = threading.RLock()
        self.captured = None  # the works of a graph that is recorded
        self.context = cu.current.context

    def __int__(self):
        """Its address, for libraries that take one."""
        return id(self)

    def add(self, work):
        """Work for later; where all but the first stream are eager, for now, if it can be."""
        if getattr(self.cu.current, "context", None) != self.context:
            raise Failed(Result.CUDA_ERROR_INVALID_CONTEXT)
        if self.captured is not None:
            if hasattr(work, "record"):
                raise Failed(Result.CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED)
            self.captured.append(work)
            return
        self.work.append(work)
        while self.cu.eager and self.number and self.work and self.step():
            pass

    def step(self):
        """Do the next piece of work, if there is one and it waits for no other stream; a step of
        the other one if it does. False: nothing of this stream was done."""
        with self.lock:
            if not self.work:
                return False
            record = getattr(self.work[0], "record", None)
            if record is not None and not record.is_reached:
                if not self.cu.eager:
                    record.stream.step()
                return False
            self.cu.running = self
            self.work.pop(0)()
            self.cu.running = None
            self.done += 1
            return True


class Graphs:
    """The calls of the driver that record what is put into a stream, and replay it."""

    CUstreamCaptureMode = SimpleNamespace(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL="thread local")

    @call
    def cuStreamBeginCapture(self, stream, mode):
        self._on_context()
        assert mode == "thread local" and stream.captured is None
        stream.captured = []

    @call
    def cuStreamEndCapture(self, stream):
        works, stream.captured = stream.captured, None
        return self._living(SimpleNamespace(works=works))

    @call
    def cuGraphInstantiate(self, graph, flags):
        assert flags == 0 and id(graph) in self.live
        return self._living(SimpleNamespace(works=list(graph.works)))

    @call
    def cuGraphLaunch(self, graph, stream):
        self._on_context()
        if id(graph) not in self.live:
            raise Failed(Result.CUDA_ERROR_INVALID_HANDLE)
        stream.add(lambda: [work() for work in graph.works])

    @call
    def cuGraphDestroy(self, graph):
        self._destroy(graph)

    @call
    def cuGraphExecDestroy(self, graph):
        self._destroy(graph)

    def _on_context(self):
        if getattr(self.current, "context", None) is None:
            raise Failed(Result.CUDA_ERROR_INVALID_CONTEXT)

    def _living(self, made):
        self.live[id(made)] = made
        return made

    def _destroy(self, made):
        if self.live.pop(id(made), None) is None:
            raise Failed(Result.CUDA_ERROR_INVALID_HANDLE)

    def _no_capture(self, stream):
        if stream.captured is not None:
            raise Failed(Result.CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED)
