"""Arrays on a GPU go to other libraries and come from them without a copy; on the fake one."""

import ctypes
import gc
import struct
import weakref
from types import SimpleNamespace

import numpy as np
import pytest

import flatweave as fw
from flatweave.base.errors import ArgumentError
from flatweave.runtime.devices import cuda
from flatweave.runtime.devices.arrays import Resident
from tests.devices.gpus import gpu, jitted, kernel_of, plus_one

pytestmark = pytest.mark.usefixtures("little_to_collect")

__all__ = ["gpu"]
XS = np.arange(1000.0)
READ_ONLY = 1  # a flag of DLPack's


@pytest.fixture
def running(gpu):
    """The fake GPU, with a program of one kernel."""
    f = jitted()
    return f, gpu(f, [XS], {kernel_of(f, XS): plus_one})


class Foreign:
    """What CuPy has: memory on the GPU that it says the address of."""

    def __init__(self, cu, values, **more):
        memory = cuda.device().allocate(values.nbytes)
        cu.known.add(memory.handle)  # another library has waited for it
        cu.bytes(memory.handle, values.nbytes)[:] = values.tobytes()
        self.memory = memory
        self.__cuda_array_interface__ = {
            "shape": values.shape, "typestr": values.dtype.str, "data": (memory.handle, False),
            "version": 3, "strides": None, "stream": None, **more,
        }  # fmt: skip


def test_an_array_says_where_it_is(running):
    """The values are there when somebody has the address."""
    f, cu = running
    ys = f(XS)
    said = ys.__cuda_array_interface__

    assert (said["shape"], said["typestr"], said["version"]) == ((1000,), "<f8", 3)
    assert np.array_equal(cu.view(said["data"][0], np.float64, 1000), XS + 1)
    assert cuda.device().downloads == 0


@pytest.mark.parametrize("version", [None, (0, 8), (1, 0), (1, 1)])
def test_dlpack_gives_the_memory(running, version):
    """Without a copy for consumers that support read-only arrays; and it is released."""
    f, cu = running
    ys = f(XS)
    is_versioned = version is not None and version >= (1, 0)
    capsule = ys.__dlpack__(max_version=version)
    tensor = cuda._tensor_in(capsule, is_versioned)

    assert ys.__dlpack_device__() == (2, 0)
    assert (tensor.device_type, tensor.device_id, tensor.ndim, tensor.shape[0]) == (2, 0, 1, 1000)
    assert (tensor.code, tensor.bits, tensor.lanes) == (2, 64, 1)
    assert np.array_equal(cu.view(tensor.data, np.float64, 1000), XS + 1)
    assert (tensor.data == ys.resident.memory.handle) == is_versioned
    kept = weakref.ref(ys.resident)
    del ys
    gc.collect()
    if is_versioned:
        at = cuda._capsule_pointer(capsule, cuda.NAMES[1])
        major, minor, _, deleter, flags = struct.unpack("<IIQQQ", ctypes.string_at(at, 32))
        assert (major, minor, flags) == (1, 0, READ_ONLY) and kept() is not None
        ctypes.CFUNCTYPE(None, ctypes.c_void_p)(deleter)(at)
        ctypes.pythonapi.PyCapsule_SetName(
            ctypes.py_object(capsule), ctypes.c_char_p(b"used_dltensor_versioned")
        )
    del capsule, tensor
    gc.collect()
    assert kept() is None


@pytest.mark.parametrize("dtype", [np.bool_, np.int8, np.uint64, np.float32])
@pytest.mark.parametrize("shape", [(0,), (2, 3)])
def test_capsules_of_each_kind(gpu, dtype, shape):
    """Of any rank, without elements, too."""
    gpu()
    device = cuda.device()
    xs = Resident(device, device.allocate(64), np.dtype(dtype), shape)
    tensor = cuda._tensor_in(made := cuda.capsule(xs, (1, 0), None), True)

    code, bits = cuda.CODES[np.dtype(dtype).kind], 8 * np.dtype(dtype).itemsize
    assert (tensor.code, tensor.bits, tuple(tensor.shape[: tensor.ndim])) == (code, bits, shape)
    assert (tensor.data or 0) == (xs.memory.handle if xs.size else 0)
    del made


def test_a_capsule_that_nobody_takes_lets_go(running):
    """Its memory is given back with it."""
    f, _ = running
    ys = f(XS)
    kept, capsule = weakref.ref(ys.resident), ys.__dlpack__(max_version=(1, 0))
    del ys
    assert kept() is not None
    del capsule

    assert kept() is None


def test_the_host_may_be_asked_for(running):
    """NumPy names the CPU as the device it wants, and gets a copy; without, it says what it
    cannot."""
    f, _ = running
    ys = f(XS)

    assert np.array_equal(np.from_dlpack(ys, device="cpu"), XS + 1)
    with pytest.raises(BufferError, match="cuda:0 is copied to the CPU"):
        np.from_dlpack(ys, device="cpu", copy=False)
    with pytest.raises((BufferError, RuntimeError), match="Unsupported device"):
        np.from_dlpack(ys)
    with pytest.raises(BufferError, match="DLPack 1.0"):
        ys.__dlpack__(copy=False)


def test_their_memory_is_read_where_it_is(running):
    """By a program on the GPU; and it lives until the kernels are done."""
    f, cu = running
    given = Foreign(cu, XS)
    device, kept = cuda.device(), weakref.ref(given)
    before = device.uploads
    ys = f(given)
    del given
    gc.collect()

    assert device.uploads == before and kept() is not None
    assert np.array_equal(ys, XS + 1)
    f(XS)
    gc.collect()
    assert kept() is None


def test_rows_of_their_memory_are_read_where_they_are(running):
    """Values of a Ragged as any argument."""
    _, cu = running
    before = cuda.device().uploads
    rows = fw.ragged(Foreign(cu, XS), lengths=[1000])

    assert cuda.device().uploads == before + 1  # the offsets
    assert rows.values.device == "cuda:0" and np.array_equal(rows[0], XS)


def test_their_capsules_are_read(running):
    """DLPack alone is enough, from a library without the other interface."""
    f, cu = running
    given = f(XS * 2)
    foreign = SimpleNamespace(
        __dlpack__=lambda **options: given.__dlpack__(),
        __dlpack_device__=given.__dlpack_device__,
    )
    before = cuda.device().uploads

    assert np.array_equal(f(foreign), XS * 2 + 2)
    assert cuda.device().uploads == before


def test_their_stream_is_waited_for(running):
    """Where they say which; before version 3 everything is."""
    f, cu = running
    for more, call in (({"version": 2}, "cuCtxSynchronize"), ({"stream": None}, None)):
        given = Foreign(cu, XS, **more)
        before = len(cu.calls)
        f(given)
        assert ("cuCtxSynchronize" in cu.calls[before:]) == (call is not None)


@pytest.mark.parametrize("start", [1, 2, 3, 4])
def test_an_array_that_begins_within_a_word_is_copied(gpu, start):
    """Kernels read narrow elements by words; any other array is taken as it is."""
    xs = np.arange(64, dtype=np.uint8)
    given = Foreign(gpu(), xs)
    at = given.memory.handle
    given.__cuda_array_interface__.update(data=(at + start, False), shape=(64 - start,))

    found = cuda.borrowed(given)

    assert found.memory.handle % cuda.WORD_BYTES == 0
    assert (found.memory.handle == at + start) == (start == 4)
    assert np.array_equal(found.values(), xs[start:])


def test_the_cpu_gets_a_copy_of_theirs(running):
    """A program on another target."""
    _, cu = running

    assert np.array_equal(fw.jit(lambda xs: xs * 2)(Foreign(cu, XS)), XS * 2)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"strides": (16,)}, r"its strides are \(16,\)"),
        ({"typestr": "<f2"}, "its elements are float16"),
    ],
)
def test_what_cannot_be_read_is_told(running, more, said):
    """Elements apart from each other, and of types that are not ours."""
    f, cu = running
    with pytest.raises(ArgumentError, match=said):
        f(Foreign(cu, XS, **more))
