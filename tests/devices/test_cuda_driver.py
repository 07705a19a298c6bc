"""The CUDA driver without a GPU: a strict fake of NVIDIA's bindings runs what it is asked for."""

import signal
import sys
import threading

import numpy as np
import pytest

import flatweave as fw
from flatweave.base.dtypes import DTYPES
from flatweave.base.errors import DeviceError, OutOfMemory, Unsupported
from flatweave.runtime.devices import cuda
from flatweave.runtime.devices.cuda_driver import CudaDriver, Kernel
from flatweave.runtime.devices.device import Device
from tests.devices.fake_streams import Result
from tests.devices.gpus import gpu, jitted, kernel_of, of, plus_one

__all__ = ["gpu"]

COPIED = "extern \"C\" __global__ void k_all(" + ", ".join(
    f"const {dtype.c if dtype.kind != 'b' else 'uint8_t'} {dtype.name}" for dtype in DTYPES
) + ") {"


def test_a_program_runs(gpu):
    """Values come back, memory is used again, and a second call makes nothing anew."""
    f, xs = jitted(), np.arange(1000.0)
    cu = gpu(f, [xs], {kernel_of(f, xs): plus_one})

    assert np.array_equal(f(xs), xs + 1)
    before = len(cu.calls)
    assert np.array_equal(f(xs * 2), xs * 2 + 1)
    second = [name for name in cu.calls[before:] if name != "cuCtxSetCurrent"]
    assert not {"cuMemAllocAsync", "cuModuleLoadData", "cuStreamCreate"} & set(second)
    assert [threads for _, _, threads in cu.launches] == [256, 256]


def test_no_elements_no_launch(gpu):
    """An empty array has no block."""
    f, xs = jitted(), np.zeros(0)
    cu = gpu(f, [xs], {kernel_of(f, xs): plus_one})

    assert np.asarray(f(xs)).shape == (0,)
    assert not cu.launches


def test_everything_is_freed(gpu):
    """Memory of programs returns to the driver when the pool is emptied."""
    f, xs = jitted(), np.arange(1000.0)
    cu = gpu(f, [xs], {kernel_of(f, xs): plus_one})
    result = f(xs)
    np.asarray(result)
    del result
    device = cuda.device()
    device.well = None  # the status of calls that cannot fail
    device.pool.gather()
    assert device.pool.used_bytes == 0 and device.pool.idle_bytes > 0
    device.pool.trim()
    device.wait()

    assert [each for each in cu.live.values() if isinstance(each, bytearray)] == []


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_arguments_are_packed(gpu, dtype):
    """Scalars of each dtype arrive unchanged, in any combination."""
    seen = {}
    cu = gpu(kernels={"k_all": lambda cu, grid, threads, **given: seen.update(given)})
    cu.text = COPIED
    values = [each.numpy.type(3) for each in DTYPES]
    place = DTYPES.index(dtype)
    extreme = {"b": 1, "f": -0.1}.get(dtype.kind)
    values[place] = dtype.numpy.type(
        np.iinfo(dtype.numpy).min + 1 if extreme is None else extreme
    )
    device = Device(CudaDriver(cu, 0))
    device.launch(Kernel("k_all"), 2, 64, values)
    device.wait()

    assert cu.launches == [("k_all", 2, 64)]
    assert dtype.numpy.type(seen.pop(dtype.name)) == values[place]
    assert set(seen.values()) <= {1, 3}


@pytest.mark.parametrize(
    "value", [np.uint8(0), np.int16(-2), np.float32(0.1), np.int64(-1), np.float64(0.1)]
)
@pytest.mark.parametrize("count", [1, 3])
def test_values_are_stored(gpu, value, count):
    """Of any width: the driver itself knows up to four bytes."""
    device = Device(CudaDriver(gpu(), 0))
    memory = device.allocate(64)
    device.fill(memory, value, 8, count)
    found = np.empty(count, value.dtype)
    device.download(memory, found, 8)

    assert np.array_equal(found, np.full(count, value))


def test_an_index_out_of_bounds_is_the_users(gpu):
    """The kernel's report names index, extent and line; the device goes on."""
    f = fw.jit(lambda xs, i: xs[i], target="cuda")
    xs, i = np.arange(9.0), np.array([3, 12, 2])

    def gathered(cu, grid, threads, **given):
        index = cu.view(of(given, "i"), np.int64, 3)
        values = cu.view(of(given, "xs"), np.float64, 9)
        cu.view(of(given, "buffer"), np.float64, 3)[:] = values[np.where(index < 9, index, 0)]
        (wrong,) = np.nonzero(index >= 9)
        if len(wrong):
            site = next(iter(sites))
            report = [2, site, wrong[0], index[wrong[0]], 9]
            cu.view(given["fw_status"], np.int64, 5)[:] = report

    sites = [1]
    gpu(f, [xs, i], {kernel_of(f, xs, i): gathered})
    with pytest.raises(fw.IndexOutOfBounds, match="index 12 is outside an array of 9") as caught:
        np.asarray(f(xs, i))
    assert "test_cuda_driver.py" in str(caught.value)
    assert np.array_equal(f(xs, i % 9), xs[i % 9])


def test_where_memory_is_gone_idle_memory_goes_first(gpu):
    """The pool is trimmed once; an array that does not fit even then is named."""
    f, xs = jitted(), np.arange(1000.0)
    cu = gpu(f, [xs], {kernel_of(f, xs): plus_one}, total=40_000)
    assert np.array_equal(f(xs), xs + 1)
    more = np.arange(2000.0)
    assert np.array_equal(f(more), more + 1)
    assert "cuMemFreeAsync" in cu.calls
    with pytest.raises(OutOfMemory, match=r"f64\[4000\], which takes 31") as caught:
        f(np.arange(4000.0))

    assert isinstance(caught.value, MemoryError)
    assert np.array_equal(f(xs), xs + 1)


def test_a_lost_device_says_so(gpu):
    """A repeated error of the driver; the message repeats its text."""
    f, xs = jitted(), np.arange(1000.0)

    def wild(cu, grid, threads, **given):
        cu.view(3, np.float64, 1)

    cu = gpu(f, [xs], {kernel_of(f, xs): wild})
    for _ in range(2):
        with pytest.raises(DeviceError, match="Fake H0 does not work any more: what CUDA_ERROR_IL"):
            np.asarray(f(xs))
    assert cu.sticky == Result.CUDA_ERROR_ILLEGAL_ADDRESS


def test_no_device(gpu):
    """A driver without a GPU."""
    gpu(devices=0)
    with pytest.raises(Unsupported, match="finds no GPU that it can use: no device"):
        jitted()(np.arange(3.0))


def test_no_such_device(gpu):
    """A number beyond those there are."""
    gpu(devices=2)
    with pytest.raises(fw.ArgumentError, match="there is no device cuda:2: 2 found"):
        fw.jit(lambda xs: xs + 1, target="cuda:2")(np.arange(3.0))


def test_devices_have_numbers(gpu):
    """Each its own context, queue and memory."""
    gpu(devices=2)

    assert [cuda.device(k).name for k in (0, 1)] == ["Fake H0", "Fake H1"]


def test_no_bindings(monkeypatch):
    """A package that is not installed."""
    monkeypatch.setitem(sys.modules, "cuda.bindings", None)
    cuda._kept.cache_clear()
    with pytest.raises(Unsupported, match="needs cuda-bindings") as caught:
        jitted()(np.arange(3.0))
    assert "pip install flatweave[cuda]" in str(caught.value)


def test_no_driver(monkeypatch):
    """Bindings that find no library of the driver."""

    class Bindings:
        def cuInit(self, flags):
            raise RuntimeError("libcuda.so not found")

    monkeypatch.setattr(cuda, "bindings", Bindings)
    cuda._kept.cache_clear()
    with pytest.raises(Unsupported, match="NVIDIA's driver was not found: libcuda.so not found"):
        jitted()(np.arange(3.0))


def test_any_thread_may_launch(gpu):
    """Each thread enters the context separately."""
    f, xs = jitted(), np.arange(1000.0)
    gpu(f, [xs], {kernel_of(f, xs): plus_one})
    found = {}

    def work(k):
        found[k] = [np.asarray(f(xs * k)) for _ in range(5)]

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert all(np.array_equal(each, xs * k + 1) for k in range(4) for each in found[k])


def test_a_wait_can_be_interrupted(gpu):
    """The streams are left to what does not end; the next call has others."""
    f, xs = jitted(), np.arange(1000.0)
    cu = gpu(f, [xs], {kernel_of(f, xs): plus_one})
    assert np.array_equal(f(xs), xs + 1)
    cu.endless = True

    def stop(number, frame):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, stop)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        with pytest.raises(KeyboardInterrupt):
            np.asarray(f(xs))
    finally:
        signal.signal(signal.SIGALRM, before)
    cu.endless = False

    assert np.array_equal(f(xs), xs + 1)
    assert cu.calls.count("cuStreamCreate") == 2 * 3


def test_other_libraries_may_change_the_context(gpu):
    """Between calls, of a program and of an array; each call sets it once."""
    f, xs = jitted(), np.arange(1000.0)
    cu = gpu(f, [xs], {kernel_of(f, xs): plus_one})
    ys = f(xs)
    for _ in range(2):
        cu.current.context = "of another device"
        before = len(cu.calls)
        ys = f(ys)
        assert cu.calls[before:].count("cuCtxSetCurrent") == 1
    cu.current.context = "of another device"

    assert np.array_equal(ys, xs + 3)


def test_a_callback_may_change_the_context(gpu):
    """A Python function in the midst of a program."""
    def away(xs):
        cu.current.context = "of another device"
        return xs * 2

    like, xs = fw.ShapeDtypeStruct((10,), np.float64), np.arange(10.0)
    f = fw.jit(lambda xs: fw.pure_callback(away, like, xs), target="cuda")
    cu = gpu(f, [xs])

    assert np.array_equal(f(xs), xs * 2)


def test_devices_take_turns(gpu):
    """Two of them in one thread, one within a call of the other."""
    cu = gpu(devices=2)
    first, second = (CudaDriver(cu, k) for k in (0, 1))
    first.begin()
    second.begin()
    second.end()
    first.mark()
    first.begin()
    second.mark()
    first.mark()
    first.end()
