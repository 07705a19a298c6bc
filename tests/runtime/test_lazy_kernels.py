"""Making kernels while a program runs: once, whatever else happens, and a run may fail at it."""

import gc
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

import flatweave as fw
from flatweave.base.errors import CompilerBug
from flatweave.codegen.llvm import unit
from flatweave.runtime import execute
from flatweave.runtime.lazy_import import check_wanted
from flatweave.runtime.support import buffer_pool

pytestmark = pytest.mark.usefixtures("little_to_collect")

SMALL, LARGE = np.arange(4.0), np.arange(3_000_000.0)


@pytest.fixture
def making(monkeypatch):
    """What is called, with the names, before kernels are made; a test may put something else."""
    real = unit.make_kernels

    class Making:
        before = staticmethod(lambda names: None)
        calls: list[tuple[str, ...]] = []

    found = Making()
    found.calls = []

    def make(unit, names, timer):
        found.calls.append(tuple(names))
        found.before(names)
        return real(unit, names, timer)

    monkeypatch.setattr(unit, "make_kernels", make)
    return found


def scaled(factor):
    """A program with a kernel for few elements and one for many, and an array in between."""
    return fw.jit(lambda xs: fw.reverse(fw.cumsum(xs)) * factor, target="cpu")


def expected(xs, factor):
    """What it gives."""
    return np.cumsum(xs)[::-1] * factor


@pytest.mark.parametrize("error", [CompilerBug("refused"), MemoryError(), KeyboardInterrupt()])
def test_what_is_raised_ends_the_run(making, error):
    """It comes out of the call, all memory is given back, and the next call tries again."""
    f = scaled(2.0)
    f(SMALL)

    def fail(names):
        raise error

    making.before = fail
    gc.collect()
    buffer_pool().release_idle()
    for _ in range(3):
        with pytest.raises(type(error)) as caught:
            f(LARGE)
        assert caught.value is error or isinstance(error, MemoryError)  # raised as OutOfMemory
    assert buffer_pool().idle_bytes > 0  # the array in between came back
    buffer_pool().release_idle()

    making.before = lambda names: None
    assert np.allclose(f(LARGE), expected(LARGE, 2.0))
    assert np.allclose(f(SMALL), expected(SMALL, 2.0))


def test_threads_make_a_kernel_once(making):
    """Two threads call a program for the first time: one of them makes what both need."""
    f = scaled(3.0)
    f.stages(SMALL)
    making.before = lambda names: time.sleep(0.05)
    found = []
    threads = [threading.Thread(target=lambda: found.append(f(SMALL))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(found) == 3
    assert all(np.allclose(each, expected(SMALL, 3.0)) for each in found)
    assert len(making.calls) == len(set(making.calls)) > 0


def test_an_interrupt_while_a_kernel_is_made(making):
    """The call raises at once; nobody waits for LLVM."""
    f = scaled(5.0)
    f(SMALL)

    def slow(names):
        for _ in range(1000):
            check_wanted()
            time.sleep(0.01)

    def alarm(number, frame):
        raise KeyboardInterrupt

    making.before = slow
    before = signal.signal(signal.SIGALRM, alarm)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        start = time.perf_counter()
        with pytest.raises(KeyboardInterrupt):
            f(LARGE)
        assert time.perf_counter() - start < 2
    finally:
        signal.signal(signal.SIGALRM, before)

    making.before = lambda names: None
    assert np.allclose(f(LARGE), expected(LARGE, 5.0))


def test_interrupts_at_any_moment(capfd):
    """The call raises the handler's error, or is done; nothing else is raised."""

    def alarm(number, frame):
        raise KeyboardInterrupt

    f = scaled(11.0)
    f.stages(SMALL)
    before = signal.signal(signal.SIGALRM, alarm)
    try:
        for turn in range(12):
            try:
                signal.setitimer(signal.ITIMER_REAL, 0.0001 + 0.001 * turn)
                found = f(LARGE)
                signal.setitimer(signal.ITIMER_REAL, 0)
                assert np.allclose(found, expected(LARGE, 11.0))
            except KeyboardInterrupt:
                pass
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)

    assert np.allclose(f(LARGE), expected(LARGE, 11.0))
    assert capfd.readouterr().err == ""


def test_a_program_is_called_while_its_kernel_is_made(making):
    """By a signal handler, on the thread that waits for the kernel."""
    f = scaled(7.0)
    f.stages(SMALL)
    seen = []

    def alarm(number, frame):
        seen.append(f(SMALL))

    making.before = lambda names: time.sleep(0.2) if not seen else None
    before = signal.signal(signal.SIGALRM, alarm)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        found = f(SMALL)
    finally:
        signal.signal(signal.SIGALRM, before)

    assert len(seen) == 1
    assert np.allclose(found, expected(SMALL, 7.0)) and np.allclose(seen[0], found)


def test_code_goes_with_its_program():
    """Programs come and go, and so do their tables."""
    gc.collect()
    before = len(execute._TABLES)
    for factor in range(3):
        scaled(factor + 0.5)(SMALL)
    gc.collect()

    assert len(execute._TABLES) == before


PREPARED = """
    import os, signal, sys, threading, time
    import numpy as np
    import flatweave as fw
    from flatweave.codegen.llvm import unit
    from flatweave.runtime import native

    f = fw.jit(lambda xs: fw.reverse(fw.cumsum(xs)) * 2)
    xs = np.arange(4.0)
    expected = (np.cumsum(xs)[::-1] * 2).tolist()
    inside = threading.Event()
    real = unit.make_kernels
"""

FORK = """
    # another thread makes the kernel, and has the program's locks, while this one forks
    def slow(*given):
        inside.set()
        time.sleep(0.3)
        return real(*given)
    unit.make_kernels = slow
    f.stages(xs)
    thread = threading.Thread(target=f, args=(xs,))
    thread.start()
    inside.wait()
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        os._exit(0 if f(xs).tolist() == expected else 1)
    thread.join()
    print(f(xs).tolist() == expected, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""

EXIT = """
    # the interpreter ends while a daemon makes a kernel
    def slow(*given):
        inside.set()
        time.sleep(0.3)
        return real(*given)
    unit.make_kernels = slow
    threading.Thread(target=f, args=(xs,), daemon=True).start()
    inside.wait()
    print("True 0")
"""

CACHED = """
    # a second process finds the kernels of the first
    compiled = []
    make = native.compile_object
    def counted(*given, **named):
        compiled.append(1)
        return make(*given, **named)
    native.compile_object = counted
    print(f(xs).tolist() == expected, len(compiled))
"""


def run(script, tmp_path):
    """What a script prints."""
    text = textwrap.dedent(PREPARED) + textwrap.dedent(script)
    environment = dict(os.environ, XDG_CACHE_HOME=str(tmp_path))
    done = subprocess.run(
        [sys.executable, "-c", text], capture_output=True, text=True, timeout=100, env=environment
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.strip()


@pytest.mark.parametrize("script", [FORK, EXIT], ids=["fork", "exit"])
def test_other_threads_are_in_the_midst_of_it(script, tmp_path):
    """A fork and the interpreter's end do not wait for a thread that is not there."""
    assert run(script, tmp_path) == "True 0"


def test_a_second_process_compiles_nothing(tmp_path):
    """What is made later is stored like the rest."""
    first, second = run(CACHED, tmp_path), run(CACHED, tmp_path)
    assert first.startswith("True") and first != "True 0"
    assert second == "True 0"
