"""fw.profile on devices: kernels by the device's clock, each launched separately."""

import numpy as np
import pytest

import flatweave as fw
from flatweave.runtime.devices import launches, opencl
from tests.devices.gpus import gpu, kernel_of, plus_one
from tests.devices.test_loops_as_graphs import doubled, more, running, two_states

__all__ = ["gpu"]
XS = np.arange(5000.0)


def test_kernels_of_cuda_have_times(gpu):
    """Events around each launch: on the fake GPU a work takes a millisecond."""
    f = fw.jit(lambda xs: xs + 1, target="cuda")
    cu = gpu(f, (XS,), {kernel_of(f, XS): plus_one})
    with fw.profile() as p:
        first = f(XS)
        f(first)
    p.sums.settle()
    (group,) = {id(group): group for group in p.sums.groups.values()}.values()
    (kernel,) = group.kernels.values()

    assert (group.calls, kernel.launches, kernel.where) == (2, 2, "cuda:0")
    assert kernel.nanoseconds == 2_000_000
    boxes = [event for event in p.sums.events if event.kind == "kernel"]
    assert [event.track for event in boxes] == ["cuda:0"] * 2
    assert p.peak_bytes >= 2 * XS.nbytes
    before = len(cu.calls)
    f(XS)
    assert "cuEventElapsedTime" not in cu.calls[before:]


def test_turns_are_not_replayed_while_somebody_watches(gpu):
    """A graph has no times of its parts; before and after they are."""
    f, cu = running(gpu, two_states, (XS, XS[:7], 3), doubled, more)
    with fw.profile() as p:
        xs, ys = f(XS, XS[:7], 12)
    assert cu.calls.count("cuGraphLaunch") == 0
    p.sums.settle()

    assert np.array_equal(xs, XS * 2.0**12) and np.array_equal(ys, XS[:7] + 12)
    (group,) = p.sums.groups.values()
    assert [kernel.launches for kernel in group.kernels.values()] == [12, 12]
    f(XS, XS[:7], 12)
    assert cu.calls.count("cuGraphLaunch") > 0


def test_what_is_lost_is_left_out(gpu):
    """A device that fails tells no times; the profile ends all the same."""
    f = fw.jit(lambda xs: xs + 1, target="cuda")
    gpu(f, (XS,), {kernel_of(f, XS): lambda cu, grid, threads, **given: cu.view(1, np.int8, 1)})
    with fw.profile() as p:
        f(XS)
    p.sums.settle()

    (group,) = p.sums.groups.values()
    assert (group.calls, group.kernels) == (1, {})


@pytest.mark.needs_opencl
def test_kernels_of_opencl_have_times(monkeypatch):
    """In a queue that keeps times, in order with the works of others."""
    monkeypatch.setattr(launches, "MOST", 7)  # the launches of a loop, until they are asked for
    n = 100_000
    xs = np.random.default_rng(0).random(n)

    @fw.jit(target="opencl")
    def f(xs, turns):
        ys = fw.fori_loop(0, turns, lambda i, s: fw.scan(lambda a, b: a + b, 0.0, s * 0.5), xs)
        return ys, fw.filter(lambda x: x > 0.5, xs)

    expected = [np.asarray(each) for each in f(xs, 10)]
    with fw.profile() as p:
        begin = f(xs + 0.0, 4)[0]
        given = f(xs, 10)
        both = f(begin, 6)[0]
    assert all(np.array_equal(a, b) for a, b in zip(given, expected, strict=True))
    assert np.array_equal(both, expected[0])

    rows = [row for row in p.rows() if row["bytes"] is not None]
    assert {row["target"] for row in rows} == {f"opencl:{opencl.device().number}"}
    scan = max(rows, key=lambda row: row["launches"])
    assert (scan["launches"], scan["bytes"]) == (20, 20 * 16 * n)
    assert all(row["of_memory"] > 0 for row in rows)
    boxes = sorted(
        (event.begin, event.end) for event in p.sums.events if isinstance(event.track, str)
    )
    assert p.begin <= boxes[0][0] and boxes[-1][1] <= p.end
    assert sum(end - begin for begin, end in boxes) <= p.end - p.begin
