"""Buffers are counted, reused and given back; too large a request is an error, not a crash."""

import gc
import resource
import threading

import numpy as np
import pytest

from flatweave.runtime.execute import adopt
from flatweave.runtime.support import IDLE_FLOOR, MIB, buffer_pool
from flatweave.runtime.systems import ANY, system
from tests.runtime.native_programs import allocating, call

pytestmark = pytest.mark.usefixtures("little_to_collect")

ESCAPE, RELEASE, FAIL, TWICE, FORGET, TRIM = range(6)
BYTE = np.dtype("u1")


@pytest.fixture(autouse=True)
def no_idle_memory():
    """Every test begins and ends with nothing idle."""
    gc.collect()
    buffer_pool().release_idle()
    yield
    gc.collect()
    buffer_pool().release_idle()


def make(nbytes: int) -> np.ndarray:
    """An adopted buffer of this many bytes."""
    status, (address, _) = call(allocating(), [nbytes, ESCAPE])
    assert status.is_ok
    assert address % 64 == 0
    return adopt(address, (nbytes,), BYTE)


def resident() -> int:
    """Bytes of memory this process has now."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


@pytest.mark.parametrize("nbytes", [0, 1, 63, 64, 65, MIB - 1, MIB, MIB + 1, 3 * MIB + 7])
def test_a_result_is_an_array_on_the_buffer(nbytes):
    """Aligned, writable and as long as asked for."""
    array = make(nbytes)
    array[:] = 7

    assert array.shape == (nbytes,)
    assert array.flags.writeable
    assert int(array.sum(dtype=np.int64)) == 7 * nbytes


def test_a_view_keeps_the_buffer():
    """The buffer goes with the last view, not with the array first handed out."""
    array = make(4 * MIB)
    array[:] = 3
    view = array[100:200].reshape(10, 10)
    del array
    assert buffer_pool().idle_bytes == 0
    assert (view == 3).all()
    del view
    assert buffer_pool().idle_bytes > 0


def test_an_array_may_begin_inside_its_buffer():
    """The owner is the buffer, wherever the data of the result begins."""
    _, (address, _) = call(allocating(), [4 * MIB, ESCAPE])
    part = adopt(address + 1024, (16,), BYTE, owner=address)
    part[:] = 1

    assert part.ctypes.data == address + 1024
    del part
    assert buffer_pool().idle_bytes > 0


def test_a_dropped_result_is_reused():
    """Fresh pages cost more than a scan."""
    first = make(8 * MIB)
    mapping = first.ctypes.data // (2 * MIB)
    del first
    assert buffer_pool().idle_bytes >= 8 * MIB
    again = make(8 * MIB)

    assert again.ctypes.data // (2 * MIB) == mapping
    assert buffer_pool().idle_bytes == 0


def test_a_much_larger_buffer_is_not_reused():
    """Its pages would be wasted."""
    large = make(48 * MIB)
    del large
    small = make(8 * MIB)

    assert buffer_pool().idle_bytes >= 48 * MIB
    assert small.nbytes == 8 * MIB


def test_fresh_pages_are_paid_for_with_idle_ones():
    """Peak memory is live memory and 64 MiB, whatever sizes came before."""
    for size in range(90, 120, 3):
        array = make(size * MIB)
        array[:] = 1
        before = buffer_pool().idle_bytes
        more = make(2 * size * MIB)
        assert buffer_pool().idle_bytes <= min(before, IDLE_FLOOR)
        del array, more


def test_idle_memory_has_a_limit():
    """What is freed above it goes back to the system at once."""
    pool = buffer_pool()
    try:
        pool.limit(0)
        assert pool.idle_limit == IDLE_FLOOR
        pool.limit(system().memory())
        arrays = [make(16 * MIB) for _ in range(6)]
        pool._idle_limit.value = 40 * MIB
        del arrays
        assert pool.idle_bytes <= 40 * MIB
    finally:
        pool.limit(system().memory())


def test_many_idle_buffers():
    """The table of idle buffers is short; the oldest ones make room."""
    arrays = [make(MIB + 4096 * i) for i in range(150)]
    del arrays

    assert 0 < buffer_pool().idle_bytes <= 64 * 2 * MIB
    buffer_pool().release_idle()
    assert buffer_pool().idle_bytes == 0


@pytest.mark.parametrize("nbytes", [2**60, 2**63 - 1, -1, 2**46 + 1, system().memory() + 1])
def test_absurd_requests_fail(nbytes):
    """A null, which the program reports; the process goes on."""
    status, _ = call(allocating(), [nbytes, ESCAPE])

    assert status.code == 9
    assert status.value == nbytes
    assert make(100).nbytes == 100


@pytest.mark.parametrize("nbytes", [10, 4 * MIB])
def test_references_are_counted(nbytes):
    """Unique again after the second reference is gone, and freed with the last."""
    status, (shared, unique) = call(allocating(), [nbytes, RELEASE])

    assert status.is_ok
    assert (shared, unique) == (0, 1)
    assert (buffer_pool().idle_bytes > 0) == (nbytes > MIB)


@pytest.mark.parametrize("what", [FAIL, FORGET])
def test_nothing_leaks(what):
    """Memory that a program leaks, by an error or by neglect, is freed."""
    program = allocating()
    call(program, [32 * MIB, what])
    before = resident()
    for _ in range(50):
        status, _ = call(program, [32 * MIB, what])
        assert status.is_ok == (what == FORGET)

    assert resident() - before < 64 * MIB
    assert 0 < buffer_pool().idle_bytes < 80 * MIB


def test_two_results_may_share_a_buffer():
    """Each holds a reference; the buffer goes with the last one."""
    _, (address, _) = call(allocating(), [4 * MIB, TWICE])
    one = adopt(address, (4 * MIB,), BYTE)
    other = adopt(address, (2 * MIB,), np.dtype("i2"))
    one[:2] = 1
    assert other[0] == 257
    del one
    assert buffer_pool().idle_bytes == 0
    del other
    assert buffer_pool().idle_bytes > 0


@pytest.mark.skipif(system().support == ANY.support, reason="malloc takes no part of it back")
def test_trim_gives_back_the_tail():
    """The upper bound of a filter costs memory only where it was written, even when reused."""
    first = make(64 * MIB)
    first[:] = 1
    before = resident()
    del first
    _, (address, _) = call(allocating(), [64 * MIB, TRIM])

    assert before - resident() > 60 * MIB
    kept = adopt(address, (8192,), BYTE)
    assert kept[-1] == 1  # a page in: the two buffers start at different offsets of the first one
    del kept
    assert 0 < buffer_pool().idle_bytes < MIB


def test_peak_bytes():
    """The most bytes alive at once in the last call."""
    program = allocating()
    call(program, [1000, FAIL])
    assert program.peak_bytes == 2000
    call(program, [1000, RELEASE])
    assert program.peak_bytes == 1000


def test_threads_allocate_at_once():
    """The pool of mappings has one lock and no other shared state."""

    def churn(seed: int) -> None:
        held = []
        for turn in range(60):
            array = make(MIB * (1 + (turn * seed) % 5))
            array[::4096] = seed
            held.append(array)
            if len(held) > 3:
                gone = held.pop(0)
                assert (gone[::4096] == seed).all()

    threads = [threading.Thread(target=churn, args=(seed,)) for seed in range(1, 6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert buffer_pool().idle_bytes > 0


def test_the_memory_limit_is_plausible():
    """At least what this test suite needs, and no more than an address can say."""
    assert 2**28 < system().memory() < 2**52


def test_a_worker_keeps_what_it_frees():
    """With a separate limit, memory that grows leaves idle buffers alone."""
    pool = buffer_pool()
    try:
        pool.keep(200 * MIB)
        arrays = [make(70 * MIB) for _ in range(2)]
        for array in arrays:
            array[:] = 1
        del array, arrays
        kept = pool.idle_bytes
        more = make(90 * MIB)
        assert pool.idle_bytes == kept >= 140 * MIB
        assert more.nbytes == 90 * MIB
    finally:
        pool.limit(system().memory())
