"""What the interpreter calls in the midst of a trace is no part of the traced function."""

import contextlib
import functools
import gc
import signal
import threading
import weakref
from collections.abc import Iterator

import numpy as np
import pytest

import flatweave as fw
from flatweave.base.source import code_of

XS = np.arange(5.0)


@fw.jit
def total(xs):
    """What the asides call: compiled, and called with host arrays."""
    return fw.sum(xs * xs)


class Handler:
    """A signal handler that is an object, has a method, and keeps what it computed."""

    def __init__(self) -> None:
        self.seen: list[float] = []

    def compute(self) -> None:
        """Compiled and eager calls, one without any array among its arguments."""
        self.seen.append(float(total(XS)) + float(np.asarray(fw.iota(4)).sum()))

    def __call__(self, number: int, frame: object) -> None:
        self.compute()

    def method(self, number: int, frame: object) -> None:
        """The same as a method."""
        self.compute()


@contextlib.contextmanager
def handling(handler) -> Iterator[None]:
    """The handler of a signal inside a `with`."""
    before = signal.signal(signal.SIGUSR1, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGUSR1, before)


FORMS = {
    "function": lambda h: lambda number, frame: h.compute(),
    "method": lambda h: h.method,
    "object": lambda h: h,
    "partial": lambda h: functools.partial(lambda h, number, frame: h.compute(), h),
    "wrapped": lambda h: functools.wraps(total)(lambda *args: h.compute()),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_signal_handler_has_a_trace_of_its_own(form):
    """Its calls compute numbers, and leave nothing in the program under construction."""
    handler = Handler()

    def body(xs):
        doubled = xs * 2
        signal.raise_signal(signal.SIGUSR1)
        return fw.map(lambda x: (signal.raise_signal(signal.SIGUSR1), x + 1)[1], doubled)

    with handling(FORMS[form](handler)):
        found = fw.jit(body)
        assert np.array_equal(found(XS), XS * 2 + 1)
        plain = fw.jit(lambda xs: fw.map(lambda x: x + 1, xs * 2))

    assert handler.seen == [36.0] * 2
    assert found.stages(XS).kernels == plain.stages(XS).kernels == 1


def test_a_handler_may_call_the_function_that_is_traced():
    """It is traced once more, on its own arguments."""
    calls = []

    @fw.jit
    def f(xs):
        calls.append(xs.ndim)
        if len(calls) == 1:
            signal.raise_signal(signal.SIGUSR1)
        return fw.sum(xs)

    seen = []
    with handling(lambda number, frame: seen.append(float(f(XS)))):
        assert float(f(XS)) == 10.0
    assert seen == [10.0]
    assert calls == [1, 1]


def test_what_a_handler_raises_ends_the_trace():
    """The next call starts from the beginning."""
    def alarm(number, frame):
        raise InterruptedError

    @fw.jit
    def f(xs):
        signal.raise_signal(signal.SIGUSR1)
        return xs + 1

    with handling(alarm), pytest.raises(InterruptedError):
        f(XS)
    with handling(signal.SIG_IGN):
        assert np.array_equal(f(XS), XS + 1)
    assert float(fw.sum(XS)) == 10.0


class Finalized:
    """Computes when it dies."""

    def __init__(self, handler: Handler) -> None:
        self.handler = handler

    def __del__(self) -> None:
        self.handler.compute()


def test_finalizers_and_callbacks_of_the_collector():
    """`__del__`, weakref.finalize and gc.callbacks run wherever the last reference goes."""
    handler = Handler()

    def collected(phase, info):
        if phase == "stop":
            handler.compute()

    def body(xs):
        dying = Finalized(handler)
        del dying
        other = Handler()
        weakref.finalize(other, handler.compute)
        del other
        gc.collect()
        return xs + 1

    gc.callbacks.append(collected)
    try:
        assert np.array_equal(fw.jit(body)(XS), XS + 1)
    finally:
        gc.callbacks.remove(collected)
    assert handler.seen[:3] == [36.0] * 3


def test_ordinary_calls_belong_to_the_trace():
    """However deep, through generators, callbacks and C; also what takes no traced array."""
    def values(xs):
        for k in range(3):
            yield fw.iota(5) * k + xs

    def body(xs):
        first, second, third = values(xs)
        pairs = sorted([(2, second), (1, first)], key=lambda pair: pair[0])
        return functools.reduce(lambda a, b: a + b, [x for _, x in pairs], third)

    found = fw.jit(body)
    assert np.array_equal(found(XS), 3 * XS + 3 * np.arange(5))
    assert found.stages(XS).kernels == 1


def test_another_thread_has_its_own_trace():
    """Also one that is started, and waited for, by the traced function."""
    seen = []

    def body(xs):
        thread = threading.Thread(target=lambda: seen.append(float(total(XS))))
        thread.start()
        thread.join()
        return xs + 1

    assert np.array_equal(fw.jit(body)(XS), XS + 1)
    assert seen == [30.0]


def test_functions_are_known_by_their_code():
    """What is written in C, or is no function, has none."""
    assert code_of(Handler().method) is Handler.method.__code__
    assert code_of(Handler()) is Handler.__call__.__code__
    assert code_of(functools.partial(functools.partial(code_of))) is code_of.__code__
    assert code_of(signal.default_int_handler) is code_of(signal.SIG_IGN) is code_of(None) is None
