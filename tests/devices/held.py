"""A device that is held: what is put into its queue is done when it is let go.

    with held(opencl.device()) as is_held:
        ys = f(xs)              the kernels wait
        assert is_held()        everything so far ran in parallel to them
"""

import threading
from contextlib import contextmanager

AT_MOST = 60  # seconds; then a test that waits for what is held goes on, and fails


@contextmanager
def held(device):
    """Hold the queue of an OpenCL device; gives whether it is held still."""
    import pyopencl as cl

    device.wait()
    queue = device.driver.queue
    event = cl.UserEvent(queue.context)
    lock, let_go = threading.Lock(), []

    def release():
        with lock:
            if not let_go:
                let_go.append(True)
                event.set_status(cl.command_execution_status.COMPLETE)

    device.driver._last = cl.enqueue_barrier(queue, wait_for=[event])
    queue.flush()
    timer = threading.Timer(AT_MOST, release)
    timer.daemon = True
    timer.start()
    try:
        yield lambda: not let_go
    finally:
        timer.cancel()
        release()
