"""Blocks are run once each, in order, by any number of threads, and errors stop them."""

import ctypes
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from itertools import accumulate

import pytest

from flatweave.base.errors import ArgumentError
from flatweave.runtime import support
from flatweave.runtime.execute import NativeProgram
from flatweave.runtime.native import compile_text
from flatweave.runtime.systems import system
from tests.runtime.native_programs import (
    COUNT,
    FAIL,
    LOOK_BACK,
    NESTED,
    PATIENT,
    SLEEP,
    TICKET,
    WHERE,
    WHO,
    launching,
    run,
)


@pytest.mark.parametrize("blocks", [0, 1, 2, 3, 64, 10_007])
def test_every_block_runs_once(threads, blocks):
    """Claimed by whichever thread is free, none left out and none repeated."""
    status, words = run(launching(COUNT), blocks)

    assert status.is_ok
    assert words == list(range(1, blocks + 1))


def test_many_launches_in_a_row(threads):
    """Workers that come late to one job must not take blocks of the next."""
    program = launching(COUNT)
    for blocks in list(range(40)) * 25:
        assert run(program, blocks)[1] == list(range(1, blocks + 1))


def test_one_thread_runs_blocks_in_order():
    """Without workers the launch is a loop."""
    with support.threads(1):
        assert run(launching(TICKET), 100, 0)[1] == list(range(100))


def test_blocks_are_claimed_in_order(threads):
    """A block begins at most as much later as there are other threads that claimed before it."""
    _, tickets = run(launching(TICKET), 5000, 0)

    assert sorted(tickets) == list(range(5000))
    latest = accumulate(tickets, max)
    assert all(block <= late for block, late in enumerate(latest))


def test_a_block_may_wait_for_earlier_ones(crowd):
    """The look-back of single-pass scan makes progress with more threads than cores: those who
    wait sleep in the end, which lets the others run."""
    with support.threads(7):
        status, words = run(launching(LOOK_BACK), 10_000)

    assert status.is_ok
    assert words == list(range(1, 10_001))


def test_who_has_waited_long_sleeps():
    """Each attempt by its number: pauses, then giving way, then sleep of up to 1 ms."""
    status, words = run(launching(PATIENT), 300)

    assert status.is_ok
    assert words == [1] * 300


def test_nested_launches_run_in_place(threads):
    """A kernel that launches waits for nobody but itself."""
    status, words = run(launching(NESTED), 500)

    assert status.is_ok
    assert words == [28] * 500


def test_the_first_element_is_reported(threads):
    """Whatever thread fails first, the report is that of the least element, then site."""
    for first in (0, 1, 17, 63):
        status, words = run(launching(FAIL), 64, first)

        assert (status.code, status.index, status.site) == (3, 10 * first, 5)
        assert (status.value, status.extent) == (-2, 99)
        assert words[:first] == [1] * first


def test_an_error_stops_the_launch(threads):
    """Of a million blocks only those before the error have run, and those running at the time."""
    status, words = run(launching(FAIL), 1_000_000, 5)

    assert status.index == 50
    assert sum(words) == 5


def test_a_program_runs_again_after_an_error():
    """The next call starts with a clean context."""
    assert not run(launching(FAIL), 64, 3)[0].is_ok
    assert run(launching(FAIL), 64, 64)[0].is_ok


def test_python_threads_may_launch_at_once(threads):
    """The one that finds the workers busy runs its blocks itself."""
    program = launching(COUNT)
    wrong = []

    def launch() -> None:
        for _ in range(200):
            if run(program, 100)[1] != list(range(1, 101)):
                wrong.append(1)

    callers = [threading.Thread(target=launch) for _ in range(4)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()

    assert not wrong


def test_workers_share_the_time():
    """Sleeping blocks on four threads take a quarter of the time, whatever the cores."""
    program = launching(SLEEP)
    with support.threads(4):
        run(program, 4)
        start = time.perf_counter()
        run(program, 400)

    assert time.perf_counter() - start < 0.4


def test_a_short_job_leaves_threads_asleep_that_no_core_is_left_for():
    """A job that lasts gets them, one by one, since its threads may sleep."""
    program = launching(WHO)
    try:
        for cores in (1, 2, 8):
            support.POOL.assume_cores(cores)
            with support.threads(8):
                run(program, 100)
                time.sleep(0.01)  # all are parked again
                short = {len(set(run(program, 4)[1])) for _ in range(5)}
                assert min(short) <= cores
                assert len(set(run(program, 1000)[1])) > 4
    finally:
        support.POOL.assume_cores(system().cores())


@pytest.mark.skipif(system().cores() < 2, reason="one core has no neighbour")
def test_threads_spread_over_the_cores():
    """Some schedulers leave a woken worker on its caller's CPU; it must not stay there."""
    program = launching(WHERE)
    with support.threads(2):
        assert any(len(set(run(program, 100)[1])) > 1 for _ in range(1000))


def test_parked_workers_wake_up():
    """A pause between launches puts the workers to sleep, not out of action."""
    program = launching(SLEEP)
    with support.threads(4):
        for _ in range(5):
            time.sleep(0.02)
            start = time.perf_counter()
            run(program, 200)
            assert time.perf_counter() - start < 0.2


def test_workers_that_a_job_has_no_room_for_sleep():
    """Those that are awake when it begins must not look for room until it ends."""
    program = launching(SLEEP, before=6)
    with support.threads(7):
        run(program, 20)
    wall = busy = 0.0
    with support.threads(2):
        for _ in range(10):
            start, used = time.perf_counter(), time.process_time()
            run(program, 60)
            wall += time.perf_counter() - start
            busy += time.process_time() - used

    assert busy < 0.4 * wall


def test_other_python_threads_run_meanwhile():
    """A launch holds no lock of the interpreter."""
    turns = []
    with support.threads(2):
        caller = threading.Thread(target=run, args=(launching(SLEEP), 200))
        caller.start()
        while caller.is_alive():
            turns.append(1)
            time.sleep(0.001)

    assert len(turns) > 10


def test_the_child_of_a_fork_starts_its_own_workers():
    """Threads do not survive a fork, so the child must not wait for them."""
    program = launching(COUNT)
    with support.threads(3):
        run(program, 1000)
        child = os.fork()
        if child == 0:
            fine = run(program, 1000)[1] == list(range(1, 1001)) and support.POOL.ready == 3
            os._exit(0 if fine else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert run(program, 1000)[0].is_ok


def test_thread_counts_are_scoped():
    """A scope wins over the process, and nothing is left of it afterwards."""
    before = support.thread_count()
    with support.threads(5):
        assert support.thread_count() == 5
    assert support.thread_count() == before


def test_no_threads_is_an_error():
    """Somebody has to run the blocks."""
    with pytest.raises(ArgumentError, match="0 threads cannot run anything"):
        support.set_threads(0)


INTERRUPTED = """
    import signal, sys, time
    from flatweave.runtime import support
    from tests.runtime.native_programs import SLEEP, launching, run

    class Custom(Exception): pass
    def handler(number, frame): raise Custom
    default = signal.default_int_handler  # which jobs in the background of a shell lack
    signal.signal(signal.SIGINT, handler if sys.argv[2] == "custom" else default)
    program = launching(SLEEP)
    with support.threads(int(sys.argv[1])):
        run(program, 4)
        print("ready", flush=True)
        try:
            run(program, 100_000)
        except (KeyboardInterrupt, Custom) as raised:
            print(type(raised).__name__, run(program, 4)[0].is_ok, flush=True)
"""


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("handler, name", [("default", "KeyboardInterrupt"), ("custom", "Custom")])
def test_control_c_stops_a_long_launch(count, handler, name):
    """What the signal handler raises comes out of the call, soon, and the next call works."""
    command = [sys.executable, "-c", textwrap.dedent(INTERRUPTED), str(count), handler]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.2)
        start = time.perf_counter()
        process.send_signal(signal.SIGINT)
        answer = process.stdout.read()

    assert answer == f"{name} True\n"
    assert process.returncode == 0
    assert time.perf_counter() - start < 10


def test_the_interpreter_ends_with_workers_asleep_or_busy():
    """Neither a crash nor a wait when a program ends right after a launch."""
    script = """
        import threading
        from flatweave.runtime import support
        from tests.runtime.native_programs import SLEEP, launching, run
        with support.threads(3):
            run(launching(SLEEP), 10)
        long = threading.Thread(target=run, args=(launching(SLEEP), 100_000), daemon=True)
        long.start()
    """
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", textwrap.dedent(script)], check=True)

    assert time.perf_counter() - start < 20


def test_poll_answers_for_a_foreign_thread():
    """Only the caller may run signal handlers; others read the flag."""
    code = compile_text("declare i64 @fw_poll(ptr)\n" + LAUNCHLESS)
    assert NativeProgram(code).run((ctypes.c_int64 * 1)()).is_ok


LAUNCHLESS = """
define i64 @entry(ptr %ctx, ptr %slots) {
  %flag = call i64 @fw_poll(ptr %ctx)
  ret i64 %flag
}
"""
