"""Arrays are copied to a device and back while its kernels run, in separate queues."""

import numpy as np
import pytest

import flatweave as fw
from flatweave.runtime.devices import cuda, opencl
from flatweave.runtime.devices.device import SMALL
from flatweave.runtime.devices.memory import AHEAD
from tests.devices.gpus import gpu, jitted, kernel_of, of, plus_one
from tests.devices.held import held

__all__ = ["gpu"]
N = 1 << 16


@fw.jit(target="opencl")
def scaled(xs, k):
    """One kernel that cannot fail."""
    return xs * k


@fw.jit(target="opencl")
def chosen(xs, i):
    """One kernel that can."""
    return fw.gather(xs, i)


@pytest.mark.needs_opencl
def test_arguments_go_there_while_kernels_run():
    """Calls with large arguments come back though no kernel has run; values are each call's."""
    xs = np.arange(N, dtype=np.float32)
    scaled(xs, 1.0)
    with held(opencl.device()) as is_held:
        found = [scaled(xs + k, 2.0) for k in range(AHEAD)]
        assert is_held()

    assert all(np.array_equal(ys, (xs + k) * 2) for k, ys in enumerate(found))


@pytest.mark.needs_opencl
@pytest.mark.parametrize("n", [0, 1, 127, 128, 129, SMALL // 4, SMALL // 4 + 1, N])
def test_results_come_back_while_kernels_run(n):
    """What was computed before is copied, and what may have gone wrong there is looked at, while
    the kernels of later calls wait."""
    xs = np.arange(n, dtype=np.float32)
    ys, zs = scaled(xs, 3.0), chosen(np.append(xs, 0), np.arange(n))
    total = fw.jit(fw.sum, target="opencl")(xs)
    wrong = chosen(np.append(xs, 0), np.append(np.arange(n), n + 1))
    opencl.device().wait()
    with held(opencl.device()) as is_held:
        later = scaled(xs, 5.0)
        assert np.array_equal(ys, xs * 3) and np.array_equal(zs, xs)
        assert float(total) == xs.sum()
        with pytest.raises(fw.IndexOutOfBounds, match=f"index {n + 1} is outside"):
            np.asarray(wrong)
        assert is_held()

    assert np.array_equal(later, xs * 5)


@pytest.mark.needs_opencl
def test_who_waits_for_a_result_waits_for_no_later_call():
    """A call's own end is marked in the queue, also where nobody has waited for it before."""
    xs = np.arange(N, dtype=np.float32)
    device = opencl.device()
    ys = scaled(xs, 3.0)
    mark = device._marks[-1][1] if device._marks else None  # none: it is done by now
    while mark is not None and not device.driver.is_reached(mark):
        pass
    with held(device) as is_held:
        scaled(ys, 2.0)
        assert np.array_equal(ys, xs * 3) and is_held()


@pytest.mark.parametrize("eager", [False, True])
def test_streams_of_cuda_wait_for_each_other(gpu, eager):
    """Kernels for arguments, whenever the copies are done; nothing is copied to where a kernel that
    has not run yet still reads: results are smaller, so that arguments take memory of arguments."""
    f, xs = fw.jit(lambda xs: xs > 0, target="cuda"), np.arange(4.0 * SMALL)

    def positive(cu, grid, threads, **given):
        n = of(given, "n")
        found = cu.view(of(given, "xs"), np.float64, n) > 0
        cu.view(of(given, "buffer"), np.uint8, n)[:] = found

    cu = gpu(f, [xs], {kernel_of(f, xs): positive})
    cu.eager = eager
    found = [f(xs % 7 - k) for k in range(3 * AHEAD)]

    assert all(np.array_equal(ys, xs % 7 > k) for k, ys in enumerate(found))
    assert cu.sticky is None


def test_arguments_take_turns_in_little_memory(gpu):
    """However many calls there are: a copy takes what kernels are done with, or waits for it."""
    f, xs = jitted(), np.arange(4.0 * SMALL)
    cu = gpu(f, [xs], {kernel_of(f, xs): plus_one})
    for _ in range(20):
        f(xs)

    assert cu.calls.count("cuMemAllocAsync") <= 2 * AHEAD + 2


def test_results_of_cuda_come_back_in_a_stream_of_their_own(gpu):
    """While kernels of a later call wait: the requested one has run, the other has not."""
    f, xs, ran = jitted(), np.arange(4.0 * SMALL), []

    def counted(cu, grid, threads, **given):
        ran.append(of(given, "n"))
        plus_one(cu, grid, threads, **given)

    gpu(f, [xs], {kernel_of(f, xs): counted})
    first, second = f(xs), f(xs[:-1])

    assert np.array_equal(first, xs + 1) and ran == [xs.size]
    assert np.array_equal(second, xs[:-1] + 1) and ran == [xs.size, xs.size - 1]
    assert cuda.device().downloads == 2


def test_events_are_used_again(gpu):
    """A mark that nobody holds any more gives its event to the next one."""
    f, xs = jitted(), np.arange(4.0 * SMALL)
    cu = gpu(f, [xs], {kernel_of(f, xs): plus_one})
    for k in range(30):
        np.asarray(f(xs * k))

    assert cu.calls.count("cuEventRecord") >= 60
    assert cu.calls.count("cuEventCreate") <= 6
