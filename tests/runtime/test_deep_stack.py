"""Compiling has a separate stack, and behaves as if the caller did it."""

import gc
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
import traceback
import warnings

import numpy as np
import pytest

import flatweave as fw
from flatweave.base.config import config
from flatweave.base.locks import Lock
from flatweave.runtime import lazy_import
from flatweave.runtime.lazy_import import NotWanted, Work, check_wanted, on_deep_stack


def test_it_gives_what_the_function_gives():
    """On another thread, in this context; inside of it there is no second hop."""
    me = threading.get_ident()
    with config.scoped(threads=3, verify=True):
        there, again, count = on_deep_stack(
            lambda: (threading.get_ident(), on_deep_stack(threading.get_ident), config.threads)
        )

    assert there == again != me
    assert count == 3


def test_errors_come_with_their_traceback():
    """Of the thread, and of the caller."""
    def faulty() -> None:
        raise KeyError("lost")

    with pytest.raises(KeyError, match="lost") as caught:
        on_deep_stack(faulty)
    names = [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]

    assert names[0] == "test_errors_come_with_their_traceback"
    assert names[-1] == "faulty"


def test_warnings_are_the_callers():
    """Filters that the caller has set hold."""
    with pytest.warns(UserWarning, match="from below"):
        on_deep_stack(lambda: warnings.warn("from below", UserWarning, stacklevel=1))


@pytest.mark.parametrize("before", [(700, 10, 10), (0, 10, 10), (10**6, 5, 5)])
def test_the_garbage_collector_runs_seldom(before):
    """While any work is under way; one that never runs stays so. Afterwards all is as before."""
    usual, go = gc.get_threshold(), threading.Event()
    gc.set_threshold(*before)
    try:
        other = Work(lambda: go.wait(60))
        inside = on_deep_stack(gc.get_threshold)
        between = gc.get_threshold()
        go.set()
        other.result()
        after = gc.get_threshold()
    finally:
        gc.set_threshold(*usual)

    assert inside == between == (max(100_000, before[0]) if before[0] else 0, *before[1:])
    assert after == before


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks")
def test_the_child_of_a_fork_collects_as_before():
    """The thread that was at work is not there."""
    usual, go = gc.get_threshold(), threading.Event()
    work = Work(lambda: go.wait(60))
    while gc.get_threshold() == usual:
        time.sleep(0.001)
    child = os.fork()
    if child == 0:
        os._exit(gc.get_threshold() != usual)
    go.set()
    work.result()

    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def until_unwanted(ended: threading.Event) -> None:
    """Go on until nobody wants it any more; say that it has ended."""
    try:
        while True:
            check_wanted()
            time.sleep(0.001)
    except NotWanted:
        ended.set()
        raise


def test_an_interrupted_caller_does_not_wait():
    """What its signal handler raises comes out at once; the work ends where it next asks."""
    ended = threading.Event()

    def work() -> None:
        until_unwanted(ended)

    def alarm(number: int, frame: object) -> None:
        raise InterruptedError

    before = signal.signal(signal.SIGALRM, alarm)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        with pytest.raises(InterruptedError):
            on_deep_stack(work)
    finally:
        signal.signal(signal.SIGALRM, before)

    assert ended.wait(10)


def test_a_caller_interrupted_while_the_thread_starts_does_not_leave_it(monkeypatch):
    """On a busy machine a start takes as long as anything."""
    ended = threading.Event()
    start = threading.Thread.start

    def interrupted(thread: threading.Thread) -> None:
        start(thread)
        raise InterruptedError

    monkeypatch.setattr(threading.Thread, "start", interrupted)
    with pytest.raises(InterruptedError):
        on_deep_stack(lambda: until_unwanted(ended))

    assert ended.wait(10)


def test_what_it_has_started_ends_with_it():
    """Two works in parallel, one of which started the other."""
    started, ended = threading.Event(), threading.Event()

    def inner() -> None:
        started.set()
        until_unwanted(ended)

    def outer() -> None:
        Work(inner).result()

    def alarm(number: int, frame: object) -> None:
        if started.is_set():
            raise InterruptedError

    before = signal.signal(signal.SIGALRM, alarm)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)
        with pytest.raises(InterruptedError):
            on_deep_stack(outer)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)

    assert ended.wait(10)


def test_works_beside_each_other():
    """What one raises, only its own result raises."""
    meet = threading.Barrier(2)

    def job(k: int) -> int:
        meet.wait(timeout=20)
        return 12 // k

    works = [Work(lambda: job(0)), Work(lambda: job(3))]
    with pytest.raises(ZeroDivisionError):
        works[0].result()
    assert works[1].result() == 4


def test_without_threads_it_runs_here(monkeypatch):
    """At the end of the interpreter, or where there is no memory for a stack."""
    def refused(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refused)

    assert on_deep_stack(threading.get_ident) == threading.get_ident()


def test_other_threads_keep_their_stacks():
    """The size is asked for and put back."""
    before = threading.stack_size(512 * 1024)
    try:
        on_deep_stack(lambda: None)
        assert threading.stack_size() == 512 * 1024
    finally:
        threading.stack_size(before)


SMALL = """
    import threading
    import numpy as np
    import flatweave as fw
    from flatweave.runtime import support

    rows = fw.ragged(np.arange(6.0), lengths=[1, 2, 3])
    calls = {
        "sum": (lambda xs: fw.sum(xs * 2), 2 * 4950.0),
        "sort": (lambda xs: fw.sort(-xs)[0], -99.0),
        "nested": (lambda xs: fw.sum(fw.map(fw.sum, rows)) + xs[0], 15.0),
        "scan": (lambda xs: fw.cumsum(fw.filter(lambda x: x > 50, xs))[0], 51.0),
        "expand": (lambda xs: fw.sum(fw.expand(
            lambda x: fw.astype(x, fw.i64), lambda x, i: i, xs)), 161700),
        "math": (lambda xs: fw.sum(fw.sin(xs) ** 2 + fw.cos(xs) ** 2), 100.0),
    }
    wrong = []

    def work():
        for name, (f, expected) in calls.items():
            found = float(fw.jit(f)(np.arange(100.0)))
            if abs(found - expected) > 1e-9:
                wrong.append((name, found))
        with support.threads(3):
            if float(fw.sum(fw.sort(np.ones(1_000_000)))) != 1e6 or support.POOL.ready != 3:
                wrong.append("workers")

    threading.stack_size(256 * 1024)
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    print(wrong)
"""


def test_threads_with_small_stacks_compile_and_run():
    """Everything from the first import of LLVM on, with nothing in the cache."""
    environment = dict(os.environ, FLATWEAVE_NO_CACHE="1")
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(SMALL)],
        capture_output=True, text=True, env=environment, timeout=200,
    )  # fmt: skip

    assert (done.returncode, done.stdout, done.stderr) == (0, "[]\n", "")


def test_the_interpreter_ends_while_something_compiles():
    """What is called at exit compiles where no thread can be started any more; a daemon does not
    keep the process, nor break it."""
    script = """
        import atexit, threading
        import numpy as np
        import flatweave as fw
        from flatweave.runtime.native import support
        support()
        atexit.register(lambda: print(float(fw.sum(np.arange(4.0)))))
        f = fw.jit(lambda xs: fw.sum(fw.sort(xs) * fw.cumsum(xs)))
        threading.Thread(target=f, args=(np.ones(3),), daemon=True).start()
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, timeout=100
    )

    assert (done.returncode, done.stdout, done.stderr) == (0, "6.0\n", "")


def test_signal_handlers_run_while_a_program_is_compiled(monkeypatch):
    """And may compile one themselves, the same one too."""
    seen = []

    @fw.jit
    def f(xs):
        return fw.sum(fw.sort(xs) * fw.cumsum(xs) + 0.125)

    def alarm(number, frame):
        seen.append(float(f(np.arange(3.0))))

    monkeypatch.setattr(config.__class__, "no_cache", True)
    before = signal.signal(signal.SIGALRM, alarm)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.02)
        found = float(f(np.arange(3.0)))
        signal.setitimer(signal.ITIMER_REAL, 0)
    finally:
        signal.signal(signal.SIGALRM, before)

    expected = float(np.sum(np.arange(3.0) * np.cumsum(np.arange(3.0)) + 0.125))
    assert found == expected
    assert seen == [expected] * len(seen)


def test_a_thread_starts_while_another_one_keeps_others_from_it(monkeypatch):
    """A starter of a thread may be in a signal handler, waiting for work that also starts one."""
    monkeypatch.setattr(lazy_import, "PATIENCE_SECONDS", 0.05)
    found: list[int] = []
    with lazy_import._SIZING:
        asker = threading.Thread(target=lambda: found.append(on_deep_stack(lambda: 7)))
        asker.start()
        asker.join(10)

        assert found == [7]


def test_a_lock_may_be_taken_again_by_its_thread():
    """As a signal handler does."""
    lock = Lock()
    with lock, lock:
        other = threading.Thread(target=lock.__enter__, daemon=True)
        other.start()
        other.join(0.05)
        assert other.is_alive()
    other.join(10)
    assert not other.is_alive()
