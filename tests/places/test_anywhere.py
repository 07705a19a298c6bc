"""target="auto": calls run where they are done first, with the bits that they have on the CPU."""

import os
import subprocess
import sys

import numpy as np
import pytest

import flatweave as fw
from flatweave import kernel as fk
from flatweave.base.config import config, from_environment
from flatweave.frontend.values.elsewhere import DeviceArray
from flatweave.places import anywhere
from flatweave.places.anywhere import Place
from flatweave.places.demand import Rates, agrees, demand_of, rates
from flatweave.runtime import tuned
from flatweave.runtime.devices import opencl

HOST = Rates(call=5e-6, there=0.0, back=0.0, memory=1e10, arithmetic=4e9)
FAST = Rates(call=50e-6, there=1e10, back=1e10, memory=1e12, arithmetic=1e13)
INTS = np.arange(1 << 16, dtype=np.int32)


def heavy(xs):
    """Fifty operations for each element."""
    ys = xs
    for k in range(25):
        ys = ys * xs + k
    return ys


ANYWHERE = fw.jit(heavy, target="auto")  # compiled once for all lengths


def traced(f, *args):
    """The program of a function, and the flat arguments of a call."""
    compiled, flat = fw.jit(f).taken(*args)
    return compiled.traced.program, flat


@pytest.fixture
def places(monkeypatch):
    """A CPU, and a device that is said to be a hundred times as fast."""
    found = (Place("cpu", None, HOST), Place("opencl:0", opencl.device(), FAST))
    monkeypatch.setattr(anywhere, "places", lambda: found)


@pytest.mark.parametrize(
    ("f", "args", "operations", "turns"),
    [
        (lambda xs: xs * 2 + 1, (np.ones(100),), 400, 1),
        (lambda xs: xs * 2 + 1, (np.ones(0),), 0, 1),
        (lambda xs: fw.sum(xs), (np.ones(100),), 200, 1),
        (lambda m: fw.sum(m, axis=1), (np.ones((10, 50)),), None, 1),
        (lambda xs: fw.fori_loop(0, 7, lambda i, ys: ys + 1, xs), (np.ones(100),), 7 * 200, 8),
        (lambda xs: fw.fori_loop(0, xs[0], lambda i, ys: ys + 1, xs), (INTS[:100],), None, 17),
        (lambda n: fw.sum(fw.iota(n * 3)), (100,), None, 1),
    ],
)  # fmt: skip
def test_demands(f, args, operations, turns):
    """The work for each element, for all of them, in all iterations of a loop."""
    program, flat = traced(f, *args)
    found = demand_of(program, flat)

    assert found.turns == turns
    if operations is not None:
        assert found.operations == operations
    else:
        assert found.operations > sum(np.size(arg) for arg in args)
    assert found.moved >= found.given >= 0


@pytest.mark.parametrize(
    ("f", "expected"),
    [
        (lambda xs: xs * 2.5 - 1, True),
        (lambda xs: fw.sqrt(xs) / 3, True),
        (lambda xs: fw.max(xs), True),
        (lambda xs: fw.scan(fw.minimum, np.inf, xs), True),
        (lambda xs: fw.sort(xs), True),
        (lambda xs: fw.sum(xs > 0), True),
        (lambda xs: fw.exp(xs), False),
        (lambda xs: fw.sum(xs), False),
        (lambda xs: fw.cumsum(xs), False),
        (lambda xs: fw.fori_loop(0, 2, lambda i, y: y + fw.sum(xs), 0.0), False),
        (lambda xs: fw.cond(xs[0] > 0, fw.exp, fw.sqrt, xs), False),
        (lambda xs: fw.histogram(3, fw.astype(xs, fw.i64), xs), False),
        (lambda xs: fk.kernel(lambda xs: fk.force(xs))(xs), False),
    ],
)
def test_agreement(f, expected):
    """Targets that round in another order, or have other functions, give other bits."""
    program, _ = traced(f, np.ones(5))

    assert agrees(program) is expected


@pytest.mark.needs_opencl
@pytest.mark.parametrize("n", [0, 1, 127, 128, 129, 1023, 1025, INTS.size])
def test_values_are_the_same_anywhere(places, n):
    """Few elements on the CPU, many of much work on the device."""
    xs = INTS[:n]
    found = ANYWHERE(xs)

    assert isinstance(found, DeviceArray) == (n == INTS.size)
    assert np.array_equal(found, heavy(xs.astype(np.int32)))


@pytest.mark.needs_opencl
def test_copies_count(places):
    """What is little work for its bytes stays here; what is on the device stays there."""
    double = fw.jit(lambda xs: xs * 2, target="auto")
    there = fw.jit(lambda xs: xs + 0, target="opencl")(INTS)

    assert not isinstance(double(INTS), DeviceArray)
    assert isinstance(double(there), DeviceArray)
    assert np.array_equal(double(there), INTS * 2)


@pytest.mark.needs_opencl
def test_bits_stay_unless_the_user_gives_them_up(places):
    """A sum of floats is the CPU's; a sum of integers is anybody's."""
    def summed(xs):
        return fw.sum(heavy(xs))

    floats = (INTS / 7e4).astype(np.float32)
    mine, theirs = fw.jit(summed, target="auto")(floats), fw.jit(summed)(floats)
    assert mine.item() == theirs.item() and not isinstance(mine, DeviceArray)
    assert isinstance(fw.jit(summed, target="auto")(INTS), DeviceArray)
    free = fw.jit(summed, target="auto", deterministic=False)(floats)
    assert isinstance(free, DeviceArray) and np.isclose(free.item(), theirs.item(), rtol=1e-5)


@pytest.mark.needs_opencl
def test_functions_outside_of_jit_and_kernels(places):
    """The same by fw.target; a kernel of the kernel tier runs where its arrays are."""
    there = fw.jit(lambda xs: xs + 0, target="opencl")(INTS)
    twice = fk.kernel(lambda xs: fk.map(lambda x: x * 2, xs))
    with fw.target("auto"):
        here, moved = fw.add(INTS[:9], 1), fw.map(heavy, INTS)
        kernels = twice(INTS), twice(there)

    assert not isinstance(here, DeviceArray) and np.array_equal(here, INTS[:9] + 1)
    assert isinstance(moved, DeviceArray) and np.array_equal(moved, heavy(INTS))
    assert [isinstance(each, DeviceArray) for each in kernels] == [False, True]
    assert all(np.array_equal(each, INTS * 2) for each in kernels)


@pytest.mark.needs_opencl
def test_errors_and_extents_of_one(places):
    """Checks fail and axes broadcast as on any target."""
    gathered = fw.jit(lambda xs, i: fw.gather(heavy(xs), i), target="auto")
    with pytest.raises(fw.IndexOutOfBounds, match="index 70000 is outside"):
        np.asarray(gathered(INTS, np.array([70000])))
    added = fw.jit(lambda a, b: a + b, target="auto")

    assert np.array_equal(added(INTS[:3], INTS[1:2]), INTS[:3] + 1)
    assert np.array_equal(added(INTS, INTS[1:2]), INTS + 1)


def test_without_devices_there_is_the_cpu(monkeypatch):
    """A machine that has none is not asked twice."""
    monkeypatch.setattr(anywhere, "KINDS", {})
    anywhere.places.cache_clear()
    try:
        assert np.array_equal(fw.jit(heavy, target="auto")(INTS[:5]), heavy(INTS[:5]))
        assert [place.target for place in anywhere.places()] == ["cpu"]
    finally:
        anywhere.places.cache_clear()


def test_the_switch(monkeypatch):
    """By the environment, as other targets."""
    assert from_environment({"FLATWEAVE_TARGET": "auto"}).target == "auto"


def test_rates_are_measured_once_and_kept(monkeypatch, tmp_path):
    """In this process, and on disk; what is damaged there is measured anew."""
    monkeypatch.setattr(tuned, "folder", lambda: tuned.TunedFolder(tmp_path, tuned.LIMIT))
    monkeypatch.setattr(tuned, "_RATES", {})
    asked = []

    def measured(target):
        asked.append(target)
        return HOST

    monkeypatch.setattr("flatweave.places.demand._measured", measured)
    with config.scoped(no_cache=False):
        assert [rates("cpu", None) for _ in range(2)] == [HOST, HOST]
        monkeypatch.setattr(tuned, "_RATES", {})
        assert rates("cpu", None) == HOST and asked == ["cpu"]
        for file in tmp_path.glob("*"):
            file.write_bytes(file.read_bytes()[:-3])
        monkeypatch.setattr(tuned, "_RATES", {})
        assert rates("cpu", None) == HOST and asked == ["cpu", "cpu"]


@pytest.mark.slow
def test_rates_are_those_of_a_machine():
    """Really measured, in a separate process: finite, and positive."""
    said = subprocess.run(
        [sys.executable, "-c",
         "from flatweave.places.demand import rates; print(rates('cpu', None))"],
        env={**os.environ, "FLATWEAVE_NO_CACHE": "1", "FLATWEAVE_VERIFY": "0"},
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    found = eval(said, {"Rates": Rates})

    assert found.there == found.back == 0
    assert 0 < found.call < 1 and 1e6 < found.memory < 1e15 and 1e6 < found.arithmetic < 1e15
