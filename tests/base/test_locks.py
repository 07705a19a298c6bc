"""Locks are given back whatever a signal handler raises, and free in the child of a fork."""

import os
import signal
import threading
import time

from flatweave.base.locks import Lock


class Stop(Exception):
    """What the signal handler raises."""


def taken_elsewhere(lock):
    """Whether another thread can take a lock within a second."""
    found = []

    def take():
        with lock.within(1.0) as held:
            found.append(held)

    thread = threading.Thread(target=take)
    thread.start()
    thread.join()
    return found[0]


def test_what_a_signal_handler_raises_leaves_no_lock_taken():
    """Wherever in the `with` it comes: thousands of times."""
    lock = Lock()

    def stop(number, frame):
        raise Stop

    before = signal.signal(signal.SIGALRM, stop)
    deadline, stops = time.monotonic() + 0.5, 0
    try:
        while time.monotonic() < deadline:
            try:
                signal.setitimer(signal.ITIMER_REAL, 2e-5)
                for _ in range(1000):
                    with lock, lock:
                        pass
            except Stop:
                stops += 1
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)

    assert stops > 100
    assert taken_elsewhere(lock)


def test_a_thread_takes_its_lock_again_and_others_wait():
    """As often as it likes; free once it has given all of them back."""
    lock = Lock()
    with lock, lock:
        assert not taken_elsewhere(lock)
    assert taken_elsewhere(lock)


def test_a_child_of_a_fork_has_its_own_locks_alone():
    """One that another thread held is free there; one that the thread held is still its own."""
    other, own, ready, done = Lock(), Lock(), threading.Event(), threading.Event()

    def hold():
        with other:
            ready.set()
            done.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    ready.wait()
    with own:
        child = os.fork()
        if child == 0:
            with other.within(1.0) as free:
                os._exit(0 if free and not taken_elsewhere(own) else 1)
        _, status = os.waitpid(child, 0)
    done.set()
    thread.join()
    assert os.waitstatus_to_exitcode(status) == 0
