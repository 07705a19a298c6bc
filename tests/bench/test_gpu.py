"""bench/gpu.py without a GPU: the programs on OpenCL, the clock of CUDA on the fake."""

import numpy as np
import pytest

from bench import gpu
from bench.gpu_clocks import EventClock
from bench.gpu_rows import Case, Row, rows
from flatweave.runtime.devices.cuda_driver import CudaDriver
from flatweave.runtime.devices.device import Device
from tests.devices.fake_cuda import FakeCuda


def test_rows_have_names():
    """Every row can be asked for by its name."""
    names = [row.name for row in rows()]

    assert len(names) == len(set(names)) > 40


@pytest.mark.needs_opencl
def test_a_row_is_checked_and_timed(capsys):
    """One line of the table, and that all is well."""
    assert gpu.main(["--small", "--target", "opencl", "--only", "filter half"]) == 0
    lines = capsys.readouterr().out.splitlines()
    (found,) = [each for each in lines if each.startswith("| filter")]

    assert " ms |" in found and "of copy time" in found
    assert lines[-1].endswith(" s.")


@pytest.mark.needs_opencl
def test_wrong_values_and_failures_are_told(capsys, monkeypatch):
    """In the table, and by the exit status; the other rows are measured all the same."""
    xs = np.arange(9.0)

    def failing(small):
        raise ValueError("no such file")

    made = [
        Row("wrong", lambda small: Case(np.negative, (xs,), lambda: xs, (8, 0), ("read", 1e-9))),
        Row("failing", failing),
        Row("right", lambda small: Case(np.negative, (xs,), lambda: -xs, (8, 0), ("read", 1e-9))),
    ]
    monkeypatch.setattr(gpu, "rows", lambda: made)

    assert gpu.main(["--small", "--target", "opencl"]) == 1
    said = {each.split(" | ")[0][2:]: each for each in capsys.readouterr().out.splitlines()}
    assert "WRONG VALUES" in said["wrong"]
    assert "**ValueError: no such file**" in said["failing"]
    assert "of read, 0.00 wanted" in said["right"] and "**" not in said["right"]


def test_what_is_behind_is_marked():
    """Against the device's rates, a peer, and the best of several variants."""
    bench = gpu.Bench.__new__(gpu.Bench)
    bench.read_rate = bench.copy_rate = 100.0

    def verdict(must, ours, **beside):
        return bench._verdict(Case(len, (), list, (100, 0), must), ours, beside)

    assert verdict(("read", 0.9), 1.0) == "1.00 of read, 0.90 wanted"
    assert verdict(("read", 0.9), 2.0) == "**0.50 of read, 0.90 wanted**"
    assert verdict(("copy time", 1.5), 1.4) == "0.71 of copy time, 0.67 wanted"
    assert verdict(("cupy", 1.0), 1.0, cupy=0.5) == "**0.50 of cupy, 1.00 wanted**"
    assert verdict(("cupy", 1.0), 1.0) == ""
    behind = verdict(("unfused", 2.0), 1.0, unfused=2.5, balanced=0.5)
    assert behind.startswith("**2.50 of unfused") and "2.00 of the best variant's time" in behind


def test_events_take_the_time_in_the_queue():
    """Between two of them, when both have been reached; and they are given back."""
    cu = FakeCuda()
    device = Device(CudaDriver(cu, 0))
    memory = device.allocate(8)
    device.fill(memory, np.int64(7))
    device.wait()  # the device keeps the event of a wait for the next one
    before = [at for at, kept in cu.live.items() if not isinstance(kept, bytearray)]
    work = [lambda: device.fill(memory, np.int64(7)) for _ in range(3)]
    seconds = EventClock(device, cu).seconds(lambda: [each() for each in work])

    assert seconds == pytest.approx(6e-3)  # a millisecond for each piece of work: halves of int64
    assert [at for at, kept in cu.live.items() if not isinstance(kept, bytearray)] == before
