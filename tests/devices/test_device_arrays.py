"""Arrays that stay on a device: what is copied when, who waits, and when errors are raised."""

import gc
import multiprocessing
import os
import threading

import numpy as np
import pytest

import flatweave as fw
from flatweave.base.errors import DeviceError
from flatweave.frontend.values.elsewhere import DeviceArray
from flatweave.runtime.devices import opencl
from tests.conftest import DEVICE, DEVICES

pytestmark = [pytest.mark.needs_device, pytest.mark.usefixtures("little_to_collect")]


@pytest.fixture
def device():
    """The device that programs run on."""
    return DEVICES[DEVICE].device()


def moved(device, work):
    """The result, and how many arrays went to the device and came back."""
    before = device.uploads, device.downloads
    result = work()
    return result, (device.uploads - before[0], device.downloads - before[1])


@fw.jit(target=DEVICE)
def scaled(xs, k):
    """One kernel that cannot fail."""
    return xs * k


@fw.jit(target=DEVICE)
def chosen(xs, i):
    """One kernel that can."""
    return fw.gather(xs, i)


@fw.jit(target=DEVICE)
def positive(xs):
    """A length that only the device knows."""
    return fw.filter(lambda x: x > 0, xs)


def test_nothing_is_copied_that_nobody_asks_for(device):
    """One array goes there, one comes back, once, however many programs are between."""
    xs = np.arange(-500.0, 500.0)

    def chain():
        ys = scaled(xs, 2.0)
        for _ in range(3):
            ys = scaled(ys, 0.5)
        return ys

    ys, copies = moved(device, chain)
    assert copies == (1, 0)
    assert (ys.shape, ys.dtype) == ((1000,), np.float64)
    assert (len(ys), ys.size, ys.nbytes) == (1000, 1000, 8000)
    assert moved(device, lambda: np.array_equal(ys, xs / 4)) == (True, (0, 1))
    assert moved(device, lambda: (ys.tolist(), repr(ys), ys.to_numpy())[0]) == (
        (xs / 4).tolist(), (0, 0)
    )  # fmt: skip


def test_a_length_from_the_device_copies_no_array(device):
    """The number comes back, the elements stay, also for whoever goes on with them."""
    ys, copies = moved(device, lambda: scaled(positive(np.arange(-5.0, 5.0)), 1.0))

    assert copies == (1, 0)
    assert np.array_equal(ys, [1, 2, 3, 4])


def test_public_functions_leave_arrays_where_they_are(device):
    """Outside of jit, too, and under another shape."""
    with fw.target(DEVICE):
        xs = fw.asarray(np.arange(12.0).reshape(3, 4)) * 1.0
        found, copies = moved(device, lambda: fw.sum(xs.reshape(2, 6) + 1.0, axis=-1))

    assert isinstance(found, DeviceArray) and copies == (0, 0)
    assert np.array_equal(found, [21, 57])


def test_a_captured_array_stays_there(device):
    """What a function reads from around it is not copied anew by each call."""
    table = scaled(np.arange(10.0), 3.0)
    f = fw.jit(lambda i: fw.gather(table, i) + 1, target=DEVICE)
    f(np.arange(3))

    found, copies = moved(device, lambda: f(np.arange(4)))
    assert copies == (1, 0)
    assert np.array_equal(found, np.arange(4) * 3.0 + 1)


@fw.jit(target=DEVICE)
def totals(rows):
    """A sum of each row."""
    return fw.sum(rows, axis=1)


CUTS = {"offsets": [0, 3, 3, 12], "lengths": [3, 0, 9], "flags": np.isin(np.arange(12), [0, 3])}


@pytest.mark.parametrize("name", CUTS)
@pytest.mark.parametrize("is_there", [False, True])
def test_rows_of_arrays_on_a_device_stay_there(device, name, is_there):
    """The values are never copied, the offsets at most once, to be checked or to be put there."""
    values, cut = scaled(np.arange(12.0), 2.0), np.asarray(CUTS[name])
    if is_there:
        cut = fw.jit(lambda cut: cut, target=DEVICE)(fw.asarray(cut))
    rows, copies = moved(device, lambda: fw.ragged(values, **{name: cut}))
    assert copies == (not (is_there and name == "offsets"), is_there)
    assert rows.values.device == rows.offsets.device == values.device

    found, copies = moved(device, lambda: [totals(rows) for _ in range(2)])
    expected = [6, 126] if name == "flags" else [6, 0, 126]
    assert copies == (0, 0)
    assert found[0].tolist() == found[1].tolist() == expected


def test_rows_of_records_and_of_rows_on_a_device(device):
    """Arrays next to one on the host, which is copied by each call; and rows of rows."""
    xs = scaled(np.arange(4.0), 2.0)
    rows, copies = moved(device, lambda: fw.ragged((xs, np.arange(4)), lengths=[1, 3]))
    assert copies == (1, 0)
    nested, copies = moved(device, lambda: fw.ragged(fw.ragged(xs, lengths=[1, 3]), lengths=[2]))
    assert copies == (2, 0)

    with fw.target(DEVICE):
        sums = fw.map(lambda pair: fw.sum(pair[0] + pair[1]), rows)
    assert sums.tolist() == [0, 18]
    assert moved(device, lambda: totals(nested.values).tolist()) == ([0, 12], (0, 1))


def test_wrong_offsets_of_arrays_on_a_device(device):
    """Checked when rows are made of them; memory that they share is not donated."""
    xs = scaled(np.arange(4.0), 2.0)
    with pytest.raises(fw.ShapeError, match="must end at the number of values, got 3 for 4"):
        fw.ragged(xs, offsets=[0, 3])
    wrong = chosen(np.arange(9), np.array([0, 12]))
    with pytest.raises(fw.IndexOutOfBounds, match="index 12"):
        fw.ragged(xs, offsets=wrong)
    rows = fw.ragged(xs, offsets=[0, 1, 4])
    doubled = fw.jit(lambda rows: rows * 2, donate="rows", target=DEVICE)(rows)

    assert (xs.tolist(), doubled.values.tolist()) == ([0, 2, 4, 6], [0, 4, 8, 12])


def test_an_error_waits_for_who_looks(device):
    """The call returns; looking raises, at the line of the call's program, each time."""
    ys = chosen(np.arange(9.0), np.array([3, 12]))
    for _ in range(2):
        with pytest.raises(fw.IndexOutOfBounds, match="index 12 is outside an array of 9") as found:
            np.asarray(ys)
    assert "return fw.gather(xs, i)" in str(found.value)
    assert np.array_equal(chosen(np.arange(9.0), np.array([3, 2])), [3, 2])


def test_what_is_made_of_a_wrong_array_is_wrong(device):
    """The error goes along, through programs that can fail and others; it is the first one's."""
    wrong = chosen(np.arange(9.0), np.array([3, 12]))
    other = chosen(np.arange(9.0), np.array([20, 1]))
    right = chosen(np.arange(9.0), np.array([3, 2]))
    made = scaled(scaled(wrong, 2.0), 2.0)
    added = fw.jit(lambda *arrays: sum(arrays), target=DEVICE)

    for work in (
        lambda: made,
        lambda: added(right, wrong),
        lambda: added(right, wrong, other),  # more than a call has gates for
        lambda: chosen(made, np.array([700])),  # would be wrong alone
    ):
        with pytest.raises(fw.IndexOutOfBounds, match="index 12 is outside an array of 9"):
            np.asarray(work())
    assert np.array_equal(scaled(right, 2.0), [6, 4])


def test_who_needs_a_number_waits_for_it(device):
    """What the host must know raises at once; a sum that nobody looks at is not waited for."""
    wrong = chosen(np.arange(9.0), np.array([3, 12]))
    total, least = fw.jit(lambda xs: (fw.sum(xs), fw.min(xs)), target=DEVICE)(wrong)
    for look in (lambda: positive(wrong), lambda: float(total), lambda: bool(least)):
        with pytest.raises(fw.IndexOutOfBounds, match="index 12"):
            look()
    right, copies = moved(device, lambda: fw.jit(fw.sum, target=DEVICE)(np.arange(9.0)))
    assert copies == (1, 0)
    assert right.item() == 36 and scaled(np.ones(1), right).tolist() == [36]


def test_a_number_that_is_read_is_a_number(device):
    """A result that the program itself goes on with."""
    f = fw.jit(lambda xs: (fw.sum(xs), fw.iota(fw.sum(xs))), target=DEVICE)
    total, places = f(np.array([2, 3]))

    assert (int(total), len(places), places.tolist()) == (5, 5, [0, 1, 2, 3, 4])


def test_calls_can_be_told_to_wait(device):
    """Then an error is raised by the call that it is of."""
    device.waits_for_faults = True
    try:
        with pytest.raises(fw.IndexOutOfBounds, match="index 12"):
            chosen(np.arange(9.0), np.array([3, 12]))
    finally:
        device.waits_for_faults = False


def test_other_targets_take_them(device):
    """The CPU and the interpreter by a copy; errors are raised there."""
    xs = scaled(np.arange(5.0), 2.0)
    wrong = chosen(np.arange(9.0), np.array([3, 12]))
    for target in ("cpu", "interp"):
        f = fw.jit(lambda xs: xs + 1, target=target)
        assert np.array_equal(f(xs), np.arange(5.0) * 2 + 1)
        with pytest.raises(fw.IndexOutOfBounds, match="index 12"):
            f(wrong)


@pytest.mark.skipif(DEVICE != "opencl", reason="CUDA opens a device once")
def test_another_device_gets_a_copy(device, monkeypatch):
    """By way of the host; here the same machine, opened twice."""
    usable = opencl._usable
    monkeypatch.setattr(opencl, "_usable", lambda options: [*usable(options), *usable(options)])
    there = fw.jit(lambda xs: xs * 5.0, target="opencl:1")
    xs = scaled(np.arange(3.0), 2.0)
    found, copies = moved(device, lambda: there(xs))

    assert found.resident.device is not device and copies == (0, 1)
    assert np.array_equal(found, [0, 10, 20])
    assert np.array_equal(scaled(found, 1.0), [0, 10, 20])


def test_an_argument_is_not_written_over(device):
    """A result may take an argument's memory only where nobody else has it."""
    xs = scaled(np.arange(5.0), 1.0)
    f = fw.jit(lambda xs: fw.scatter(xs, np.array([0]), np.array([9.0])), target=DEVICE)

    assert np.array_equal(f(xs), [9, 1, 2, 3, 4])
    assert np.array_equal(xs, np.arange(5.0))


def test_a_short_result_keeps_no_long_memory(device):
    """Selecting a few of many elements takes memory of their size."""
    xs = -np.ones(1 << 20)
    xs[:3] = 1
    found = positive(xs)

    assert found.resident.memory.size < 1 << 12
    assert np.array_equal(found, [1, 1, 1])


def test_memory_is_given_back(device):
    """With the last array on it, and when a call fails."""
    def used():
        gc.collect()  # the traceback of an error
        device.pool.gather()
        return device.pool.used_bytes

    before = used()
    xs = scaled(np.ones(1 << 20), 2.0)
    assert used() >= before + (1 << 23)
    with pytest.raises(fw.ShapeError):
        fw.jit(lambda a, b: a + b, target=DEVICE)(xs, np.ones(5))
    del xs
    assert used() == before


def test_memory_that_is_gone_names_the_arrays(device, monkeypatch):
    """The array that does not fit, and those that are in the way."""
    kept = scaled(np.ones(1000), 2.0)
    made = fw.jit(lambda n: fw.iota(n) + 1, target=DEVICE)
    made(3)

    def none(size):
        raise MemoryError(f"{size} bytes")

    device.pool.trim()
    monkeypatch.setattr(device.driver, "allocate", none)
    with pytest.raises(fw.OutOfMemory, match=r"i64\[70000\]") as found:
        made(70_000)

    assert "holds float64[" in str(found.value) and "still in use" in str(found.value)
    monkeypatch.undo()
    assert np.array_equal(kept, np.full(1000, 2.0)) and len(made(70_000)) == 70_000


def test_threads_share_a_device(device):
    """Calls at once, each with its own arguments."""
    found = {}

    def work(k):
        xs = np.arange(1000.0) + k
        found[k] = [np.asarray(scaled(positive(xs), float(k))) for _ in range(20)]

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    for k in range(4):
        xs = np.arange(1000.0) + k
        assert all(np.array_equal(each, xs[xs > 0] * k) for each in found[k])


def test_the_child_of_a_fork_is_told(device):
    """Arrays that the host has are there; the device is not."""
    seen, unseen = scaled(np.arange(3.0), 2.0), scaled(np.arange(3.0), 2.0)
    np.asarray(seen)
    ours, theirs = multiprocessing.Pipe()
    child = os.fork()
    if child == 0:
        said = []
        for work in (lambda: np.asarray(seen).tolist(), lambda: np.asarray(unseen).tolist(),
                     lambda: scaled(np.ones(1), 1.0)):  # fmt: skip
            try:
                said.append(work())
            except DeviceError as failure:
                said.append(failure.message)
        theirs.send(said)
        os._exit(0)
    assert ours.poll(60)
    said = ours.recv()
    os.waitpid(child, 0)

    assert said[0] == [0, 2, 4]
    assert all("was opened before this process was forked" in each for each in said[1:])
    assert np.array_equal(unseen, [0, 2, 4])


def test_an_array_says_where_it_is(device):
    """As targets are named; it can be had on the host."""
    xs = scaled(np.arange(3.0), 2.0)

    assert (xs.device, xs.to_device(xs.device) is xs) == (f"{DEVICE}:0", True)
    assert xs.to_device("cpu").device == "cpu" and xs.to_device("cpu").tolist() == [0, 2, 4]
    with pytest.raises(fw.ArgumentError, match="to_device on the device 'gpu'"):
        xs.to_device("gpu")


def test_numpy_and_dlpack_see_the_values(device):
    """As a host array; memory of OpenCL has no consumers."""
    xs = scaled(np.arange(3.0), 2.0)

    assert np.array_equal(np.from_dlpack(xs) if DEVICE == "opencl" else np.asarray(xs), [0, 2, 4])
    assert hasattr(xs, "__cuda_array_interface__") == (DEVICE == "cuda")


def test_assignments_stay_on_the_device(device):
    """They are not read; a program that captured the array sees what it is now."""
    xs = scaled(np.arange(5.0), 1.0)
    other = xs.copy()
    add = fw.jit(lambda ys: ys + xs, target=DEVICE)
    add(xs)

    def work():
        xs[1] = 5.0
        with fw.target(DEVICE):  # else the slice is read on the host
            xs[2:] += 1.0
        xs.__imul__(2.0)
        return add(other)

    result, (_, downloads) = moved(device, work)
    assert downloads == 0
    assert type(xs) is DeviceArray
    assert xs.tolist() == [0.0, 10.0, 6.0, 8.0, 10.0]
    assert result.tolist() == [0.0, 11.0, 8.0, 11.0, 14.0]
    assert other.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]
