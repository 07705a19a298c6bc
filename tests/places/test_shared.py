"""devices=[..]: several devices share one map or reduction."""

import numpy as np
import pytest

import flatweave as fw
from flatweave.places import anywhere
from flatweave.places.anywhere import Place
from flatweave.places.demand import Rates
from flatweave.runtime.devices import opencl

XS = np.arange(-500.0, 525.0)
TABLE = np.arange(10)
LENGTHS = [0, 1, 2, 3, 127, 128, 129, 1023, 1025]
BOTH = ["cpu", "opencl"]


@pytest.fixture
def places(monkeypatch):
    """Two devices of which the second is said to be three times as fast."""
    rates = [Rates(1e-9, 0.0, 0.0, 1e10 * k, 1e10 * k) for k in (1, 3)]
    found = (Place("cpu", None, rates[0]), Place("opencl:0", opencl.device(), rates[1]))
    monkeypatch.setattr(anywhere, "places", lambda: found)


def entry(f, *args):
    """What runs a call."""
    return f._entry(args, {})[0]


def combined(xs):
    """Two reductions at once, of a tuple each, and a map."""
    ints = fw.astype(xs, fw.i64)
    total, most = fw.reduce(
        lambda a, b: (a[0] + b[0], fw.maximum(a[1], b[1])), (0, -(2**63)), (ints, ints)
    )
    return most, xs * 0.5, total, fw.reduce(lambda a, b: a * b, 1, ints * 2 + 1)


def rows(m, k, table):
    """What reads its own row of several arrays, and of another one any."""
    return fw.sum(m * 3, axis=1) + table[2], fw.gather(table, k)


# compiled once for all lengths
TOGETHER = {f: fw.jit(f, devices=BOTH) for f in (combined, rows)}
ALONE = {f: fw.jit(f) for f in (combined, rows)}


@pytest.mark.needs_opencl
@pytest.mark.parametrize("n", LENGTHS)
def test_values(places, n):
    """Rows are concatenated, sums of sums are sums: as on one device."""
    xs = XS[:n]

    for found, expected in zip(TOGETHER[combined](xs), ALONE[combined](xs), strict=True):
        assert np.array_equal(found, expected) and found.dtype == expected.dtype


@pytest.mark.needs_opencl
@pytest.mark.parametrize("n", LENGTHS)
def test_rows_of_a_matrix(places, n):
    """Readers of the same row of several arrays; another array is whole everywhere."""
    m, k = np.arange(n * 4).reshape(n, 4), np.arange(n) % 10
    expected = ALONE[rows](m, k, TABLE)

    assert all(map(np.array_equal, TOGETHER[rows](m, k, TABLE), expected))


@pytest.mark.needs_opencl
def test_each_gets_what_it_can_do(places):
    """By measured rates where bits are the same, in equal parts where they are not."""
    ints = fw.jit(lambda xs: fw.sum(xs), devices=BOTH)
    floats = fw.jit(lambda xs: fw.sum(xs), devices=BOTH)
    free = fw.jit(lambda xs: fw.sum(xs), devices=BOTH, deterministic=False)
    whole = np.arange(1000)

    def bounds(f, xs):
        return entry(f, xs).bounds([xs.size, xs], xs.size)

    first, second = bounds(ints, whole)
    assert (first[0], first[1], second[1]) == (0, second[0], 1000) and 200 < first[1] < 300
    assert bounds(floats, whole * 0.5) == [(0, 500), (500, 1000)]
    assert bounds(free, whole * 0.5) == [first, second]
    assert ints(whole) == whole.sum() and floats(whole * 0.5) == whole.sum() / 2


@pytest.mark.needs_opencl
def test_devices_run_at_once(places, monkeypatch):
    """Both compute a part; the CPU begins when the other's work is in its queue."""
    f, order = fw.jit(lambda xs: xs * 2, devices=BOTH), []
    f(XS)
    for name, each in zip(BOTH, entry(f, XS)._entries, strict=True):
        executable = each.plain.executable
        run = executable.runnable.run

        def noted(args, name=name, run=run):
            order.append((name, args[0]))
            return run(args)

        monkeypatch.setattr(executable.runnable, "run", noted)
    assert np.array_equal(f(XS), XS * 2)

    assert [name for name, _ in order] == ["opencl", "cpu"]
    assert sum(n for _, n in order) == XS.size and min(n for _, n in order) > 0


@pytest.mark.needs_opencl
def test_arrays_on_a_device_and_axes_of_one(places):
    """The first are copied; what broadcasts is done by the first device alone."""
    there = fw.jit(lambda xs: xs + 0, target="opencl")(XS)
    f = fw.jit(lambda a, b: a * b, devices=BOTH)

    assert np.array_equal(f(there, XS), XS * XS)
    assert np.array_equal(f(XS, np.array([3.0])), XS * 3)
    with pytest.raises(fw.ShapeError, match="1025 and 7 elements"):
        f(XS, XS[:7])


@pytest.mark.needs_opencl
def test_errors_are_those_of_the_whole(places):
    """With the index that they have in all rows."""
    f = fw.jit(lambda i: fw.gather(TABLE, i), devices=["opencl", "cpu"])
    i = np.zeros(100, np.int64)
    i[70] = 33
    with pytest.raises(fw.IndexOutOfBounds, match="index 33 is outside an array of 10"):
        np.asarray(f(i))


@pytest.mark.needs_opencl
@pytest.mark.parametrize(
    "f",
    [
        lambda xs: fw.cumsum(xs), lambda xs: fw.mean(xs), lambda xs: xs - fw.sum(xs),
        lambda xs: fw.reverse(xs), lambda xs: fw.sort(xs), lambda xs: xs * xs.shape[0],
        lambda xs: fw.reduce(fw.add, 10.0, xs), lambda xs: xs[0], lambda xs: xs[xs > 0],
        lambda xs: xs + fw.iota(xs.shape[0]), lambda xs: fw.sum(xs, axis=0) * 2,
        lambda xs: fw.reduce(lambda a, b: (b[0], a[1]), (0.0, 0.0), (xs, xs)),
    ],
)  # fmt: skip
def test_what_is_not_divided_is_refused(places, f):
    """In the words of the user: another order, what is done after a reduction, an unknown start."""
    with pytest.raises(fw.ArgumentError, match=r"devices=\[\.\.\] cannot divide"):
        fw.jit(f, devices=BOTH)(XS)


@pytest.mark.parametrize("devices", ["cpu", [3], ["auto", "cpu"], ["cpu+opencl"], {"cpu": 1}])
def test_devices_are_names(devices):
    """A list of them, without a target."""
    with pytest.raises(fw.ArgumentError, match="devices of jit must be a list of targets"):
        fw.jit(lambda xs: xs, devices=devices)
    with pytest.raises(fw.ArgumentError, match="given without target"):
        fw.jit(lambda xs: xs, target="cpu", devices=["cpu", "opencl"])
