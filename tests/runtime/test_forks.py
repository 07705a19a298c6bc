"""The child of a fork can do what its parent can, whatever other threads are at meanwhile."""

import os
import subprocess
import sys
import textwrap

import pytest

from tests.quick import every, every_case

PREPARED = """
    import multiprocessing, os, signal, sys, threading, time
    import numpy as np
    import flatweave as fw
    from flatweave.base.config import config
    from flatweave.runtime import native, support

    def expected(k):
        return float(np.sum(np.sort(np.arange(50.0) * k)) + k)

    def fresh(k):
        # compiled anew: no other program has this constant
        return float(fw.jit(lambda xs: fw.sum(fw.sort(xs * k)) + k)(np.arange(50.0)))

    def child_is_fine(job):
        child = os.fork()
        if child == 0:
            signal.alarm(60)
            os._exit(0 if job() else 1)
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0

    stop = False

    def compiling(first):
        k = first
        while not stop:
            if fresh(k) != expected(k):
                os._exit(7)
            k += 2
"""

COMPILING = """
    threads = [threading.Thread(target=compiling, args=(first,)) for first in (1001,)]
    for thread in threads:
        thread.start()
    # as long as they compile, and at every point of it: children that compile, too
    fine = [child_is_fine(lambda: fresh(k) == expected(k)) for k in range(5)]
    fine.append(fresh(13) == expected(13))
    stop = True
    for thread in threads:
        thread.join()
    print(all(fine))
"""

HELD = """
    # each lock that a thread may hold while another forks, held for certain
    f = fw.jit(lambda xs: fw.sum(xs) + 1)
    f(np.arange(3.0))
    big = np.ones(2_000_000)
    def in_child():
        with support.threads(3):
            return (float(f(np.arange(4))) == 7.0 and fresh(5) == expected(5)
                    and float(fw.sum(fw.sort(big))) == 2e6 and support.POOL.ready == 3)
    held, go = threading.Event(), threading.Event()
    def hold():
        from flatweave.frontend.call import direct
        with f._lock, native._ONCE, support.POOL._lock, direct._lock:
            held.set()
            go.wait()
    holder = threading.Thread(target=hold, daemon=True)
    holder.start()
    assert held.wait(60)
    answers = [child_is_fine(in_child)]
    go.set()
    holder.join()
    print(answers + [in_child()])
"""

OWN = """
    # a fork in the midst of a trace: parent and child both go on with it
    def body(xs):
        global child
        child = os.fork()
        if child == 0:
            signal.alarm(60)
        return fw.sum(xs * 3)
    found = float(fw.jit(body)(np.arange(4.0)))
    if child == 0:
        os._exit(0 if found == 18.0 and fresh(3) == expected(3) else 1)
    print(found == 18.0, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""

HANDLER = """
    # a signal handler forks while a program is compiled: the child compiles it itself
    children = []
    def alarm(number, frame):
        children.append(os.fork())
        if children[-1] == 0:
            signal.alarm(60)
    signal.signal(signal.SIGUSR1, alarm)
    real = native.compile_object
    unsent = threading.Lock()  # kernels are compiled side by side: one thread sends the signal
    def slow(text, *, level=native.LIGHT):
        if unsent.acquire(blocking=False):
            os.kill(os.getpid(), signal.SIGUSR1)
            time.sleep(0.3)
        return real(text, level=level)
    native.compile_object = slow
    found = fresh(17) == expected(17)
    if children == [0]:
        os._exit(0 if found else 1)
    print(found, os.waitstatus_to_exitcode(os.waitpid(children[0], 0)[1]))
"""

FIRST = """
    # the first program of the process: a thread is inside LLVM, whose lock nobody has asked for yet
    inside = threading.Event()
    real = native._optimised
    def slow(*given):
        with native.binding.ffi.lib._lock:
            inside.set()
            time.sleep(0.3)
        return real(*given)
    native._optimised = slow
    thread = threading.Thread(target=fresh, args=(3,))
    thread.start()
    inside.wait()
    fine = child_is_fine(lambda: fresh(5) == expected(5))
    thread.join()
    print(fine)
"""

UNLOCKED = """
    # a thread is inside one of the calls of LLVM that hold no lock of llvmlite
    from flatweave.runtime import processor
    inside, ended = threading.Event(), []
    real = processor._EMIT
    def slow(*given):
        inside.set()
        time.sleep(0.3)
        found = real(*given)
        ended.append(1)
        return found
    processor._EMIT = slow
    thread = threading.Thread(target=native.compile_object, args=("define void @f() { ret void }",))
    thread.start()
    inside.wait()
    fine = child_is_fine(lambda: ended == [1] and fresh(5) == expected(5))
    thread.join()
    print(fine)
"""

BEGUN = """
    # what was begun before a fork is compiled anew in the child
    from flatweave.runtime import lazy_import as deep_stack
    go = threading.Event()
    def job():
        while os.getpid() == parent and not go.is_set():
            time.sleep(0.01)
        return fresh(5) == expected(5)
    parent = os.getpid()
    work = deep_stack.Work(job)
    fine = child_is_fine(work.result)
    go.set()
    print(fine, work.result())
"""

MULTIPROCESSING = """
    thread = threading.Thread(target=compiling, args=(1001,))
    thread.start()
    with multiprocessing.get_context("fork").Pool(2) as workers:
        found = workers.map_async(fresh, range(2)).get(timeout=90)
    stop = True
    thread.join()
    print(found == [expected(k) for k in range(2)])
"""

BUSY = """
    # a thread is inside a kernel, with workers, and another allocates
    ones = np.ones(3_000_000)
    def busy():
        with support.threads(3):
            while not stop:
                assert float(fw.sum(fw.sort(ones))) == 3e6
    threads = [threading.Thread(target=busy) for _ in range(2)]
    for thread in threads:
        thread.start()
    time.sleep(0.2)
    def in_child():
        with support.threads(2):
            return float(fw.sum(fw.sort(ones))) == 3e6
    fine = [child_is_fine(in_child) for _ in range(4)]
    stop = True
    for thread in threads:
        thread.join()
    print(all(fine))
"""


@pytest.mark.parametrize("script, answer", every_case(3, [
    (COMPILING, "True"), (HELD, "[True, True]"), (OWN, "True 0"), (HANDLER, "True 0"),
    (FIRST, "True"), (UNLOCKED, "True"), (BEGUN, "True True"), (MULTIPROCESSING, "True"),
    (BUSY, "True"),
]), ids=["compiling", "held", "own", "handler", "first", "unlocked", "begun", "multiprocessing",
        "busy"])  # fmt: skip
def test_a_fork_works_while_another_thread(script, answer):
    """Compiles, holds a lock, traces, waits for the compiler, or is inside LLVM or a kernel."""
    text = textwrap.dedent(PREPARED) + textwrap.dedent(script)
    environment = dict(os.environ, FLATWEAVE_NO_CACHE="1")
    done = subprocess.run(
        [sys.executable, "-c", text], capture_output=True, text=True, timeout=150, env=environment
    )

    assert (done.stdout, done.returncode) == (f"{answer}\n", 0), done.stderr


IMPORTING = """
    import importlib.abc, os, signal, sys, threading, time
    import numpy as np
    import flatweave as fw

    def fresh(k):
        return float(fw.jit(lambda xs: fw.sum(xs * k))(np.arange(5.0))) == 10.0 * k

    class Slow(importlib.abc.MetaPathFinder):
        # a module of the compiler takes long to be found
        def find_spec(self, name, path, target=None):
            if name == "SLOW":
                inside.set()
                time.sleep(0.5)

    inside = threading.Event()
    sys.meta_path.insert(0, Slow())
    answers = []
    thread = threading.Thread(target=lambda: answers.append(fresh(3)))
    thread.start()
    inside.wait()
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        os._exit(0 if fresh(5) else 1)
    answers.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    thread.join()
    print(answers)
"""


@pytest.mark.parametrize(
    "slow", every(3, ["flatweave.passes.fuse", "llvmlite.binding", "flatweave.targets"])
)
def test_a_fork_waits_for_the_import_of_the_compiler(slow):
    """The child, where the importing thread is not, finds every module whole."""
    text = textwrap.dedent(IMPORTING).replace("SLOW", slow)
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=150)

    assert (sorted(done.stdout), done.returncode) == (sorted("[0, True]\n"), 0), done.stderr


INTERRUPTED = """
    import os, signal, time
    import numpy as np
    import flatweave as fw
    from flatweave.terms import syntax

    def op(cls):
        # Ctrl-C arrives in the midst of a module that registers operations
        made = real(cls)
        if cls.__name__ == "Launch":
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.3)
        return made

    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job lacks it
    real, syntax.op = syntax.op, op
    try:
        fw.jit(lambda xs: fw.sum(xs * 2))(np.arange(5.0))
    except KeyboardInterrupt:
        print(float(fw.jit(lambda xs: fw.sum(xs * 3))(np.arange(5.0))))
"""


def test_an_interrupt_leaves_no_module_half_made():
    """The call is interrupted at once; the import goes on, and the next call finds all of it."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(INTERRUPTED)],
        capture_output=True, text=True, timeout=150,
        env=dict(os.environ, FLATWEAVE_NO_CACHE="1"),  # else the compiler may not be needed
    )  # fmt: skip

    assert (done.stdout, done.returncode) == ("30.0\n", 0), done.stderr


FIRST_CALLS = """
    import importlib.abc, sys
    import numpy as np
    import flatweave as fw
    from flatweave.runtime import lazy_import

    class Outside(importlib.abc.MetaPathFinder):
        # what is imported while nobody imports the compiler
        def find_spec(self, name, path, target=None):
            if not lazy_import.IMPORTING._is_owned():
                found.append(name)

    found = []
    sys.meta_path.insert(0, Outside())
    xs, rows = np.arange(50.0), fw.ragged([[3.0, 1.0], [], [2.0]])
    histogram = fw.jit(lambda ks: fw.histogram(8, ks))
    for _ in range(2):  # the second time from the cache of objects
        fw.jit(lambda xs: fw.sum(fw.sort(xs * 3)) + fw.sum(fw.filter(lambda x: x > 2, xs)))(xs)
        fw.jit(lambda rows: fw.map(fw.sum, rows))(rows)
        histogram(xs.astype(np.int32) % 8)
        fw.jit(lambda n: fw.while_loop(lambda i: i < n, lambda i: i + 1, 0))(5)
        fw.iota(10) + fw.iota(10)
    print(found)
"""


@pytest.mark.parametrize("cached", [False, True])
def test_calls_import_through_lazy_import_only(cached, tmp_path):
    """A fork in the midst of an import leaves the child waiting for that module for ever; only for
    imports of `lazy_import` it waits."""
    environment = dict(os.environ, XDG_CACHE_HOME=str(tmp_path), FLATWEAVE_VERIFY="0")
    if not cached:
        environment["FLATWEAVE_NO_CACHE"] = "1"
    command = [sys.executable, "-c", textwrap.dedent(FIRST_CALLS)]
    for _ in range(2):
        done = subprocess.run(command, capture_output=True, text=True, timeout=150, env=environment)
        assert (done.stdout, done.returncode) == ("[]\n", 0), done.stderr


def test_an_import_brings_nothing_of_the_compiler():
    """What traces does without it; the import of LLVM alone takes longer."""
    compiler = ("passes", "lower", "codegen", "kernel_ir", "algorithms", "pipeline", "targets")
    text = f"""
        import sys, flatweave
        names = [name for name in sys.modules if name.startswith(("flatweave.", "llvmlite"))]
        print([name for name in names if (name + ".").split(".")[1] in {compiler}
               or name.startswith("llvmlite")])
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(text)], capture_output=True, text=True, timeout=150
    )

    assert (done.stdout, done.returncode) == ("[]\n", 0), done.stderr
