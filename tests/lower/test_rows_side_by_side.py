"""Short rows are sorted many at once, each in a lane: NumPy's stable order in every row."""

import numpy as np
import pytest

import flatweave as fw
from flatweave.base.schedule import Schedule
from flatweave.lower.machine import CPU_AVX512, CUDA, OPENCL
from flatweave.lower.program import lower
from flatweave.ops.writes import SHORT, SHORT_ALONE
from flatweave.pipeline import optimise
from flatweave.simulator import run as simulator
from tests.codegen.levels import LEVELS, in_force
from tests.language.test_sorting import order_of, same_bits, samples, sorted_values
from tests.lower.test_short_sorts import launched

BOTH = fw.jit(lambda rows: (fw.sort(rows, axis=1), fw.argsort(rows, axis=1, descending=True)))
LENGTHS = [0, 1, 2, 3, 5, 8, 9, SHORT, SHORT + 1, 24, SHORT_ALONE, SHORT_ALONE + 1]


def orders(values, ends, descending=False):
    """The sorted indices of each row's elements, row after row."""
    parts = np.split(values, ends[:-1])
    return np.concatenate([order_of(part, descending=descending) for part in parts])


def in_rows(values, ends):
    """The values of each row in order."""
    return np.concatenate([sorted_values(part) for part in np.split(values, ends)])


@pytest.mark.sampled
@pytest.mark.parametrize("dtype", [np.uint8, np.float64])
def test_rows_of_one_length(target, dtype):
    """Of every length around those that there is code for; NaN last."""
    for length in LENGTHS:
        for rows in (0, 37):
            xs = samples(dtype, rows * length, seed=length).reshape(rows, length)
            ends = np.arange(1, rows + 1) * length
            up, down = BOTH(xs)
            if not rows:
                assert np.asarray(up).shape == xs.shape
                continue
            same_bits(np.ravel(up), in_rows(xs.ravel(), ends))
            same_bits(np.ravel(down), orders(xs.ravel(), ends, descending=True))


@pytest.mark.sampled
@pytest.mark.parametrize("longest", [1, 2, 5, SHORT, SHORT + 3])
def test_rows_of_many_lengths(target, longest, threads):
    """Empty ones among them, at the end, too."""
    lengths = np.random.default_rng(longest).integers(0, longest + 1, 300)
    lengths[[3, -2, -1]] = longest, 0, 0
    ends = np.cumsum(lengths)
    values = samples(np.float32, ends[-1], seed=longest)
    up, down = BOTH(fw.ragged(values, lengths=lengths))
    same_bits(up.values, in_rows(values, ends))
    same_bits(down.values, orders(values, ends, descending=True))


def test_keys_of_several_parts(target):
    """Elements go along with keys that are computed, that read the row, and that need much work."""
    rng = np.random.default_rng(5)
    a, b = rng.integers(0, 3, (40, 7)), rng.standard_normal((40, 7))
    sort = fw.jit(lambda a, b: fw.map(lambda r, s: fw.sort_by_key((r, s > 0), (s, r)), a, b))
    far = fw.jit(lambda a: fw.map(lambda r: fw.sort(r, key=lambda x: fw.abs(x - fw.sum(r))), a))
    dear = fw.jit(lambda b: fw.map(lambda s: fw.sort(s, key=lambda x: fw.exp(fw.sin(x))), b))
    (keys, signs), (moved, others) = sort(a, b)
    farthest, dearest = far(a), dear(b)
    for i in range(40):
        order = np.lexsort((b[i] > 0, a[i]))
        same_bits(np.asarray(moved)[i], b[i][order])
        same_bits(np.asarray(others)[i], np.asarray(keys)[i])
        same_bits(np.asarray(signs)[i], (b[i] > 0)[order])
        order = np.argsort(abs(a[i] - a[i].sum()), kind="stable")
        same_bits(np.asarray(farthest)[i], a[i][order])
        same_bits(np.asarray(dearest)[i], b[i][np.argsort(np.exp(np.sin(b[i])), kind="stable")])


@pytest.mark.sampled
@pytest.mark.parametrize("level", LEVELS)
def test_every_width_of_registers(level):
    """The last lanes have no row."""
    with in_force(level):
        sort = fw.jit(lambda xs: fw.sort(xs, axis=1))
        for rows in (1, 3, 9, 33):
            xs = samples(np.float64, rows * 5, seed=rows).reshape(rows, 5)
            ends = np.arange(1, rows + 1) * 5
            same_bits(np.ravel(sort(xs)), in_rows(xs.ravel(), ends))


@pytest.mark.parametrize("machine", [CPU_AVX512, OPENCL, CUDA], ids=["cpu", "opencl", "cuda"])
def test_the_simulator_agrees(machine):
    """Lane by lane, where reading what was never written is an error."""
    length = 3
    xs = samples(np.uint32, 70 * length, seed=length)
    traced = fw.jit(lambda x: fw.map(fw.sort, x)).stages(xs.reshape(70, length)).executable.traced
    swept = list(optimise(traced).values())[-1]
    unit = lower(swept, machine, schedule=Schedule()).unit
    found = simulator.run(unit, [70, length, xs])
    (ys,) = (x for x in found if isinstance(x, np.ndarray) and x.ndim)
    same_bits(ys[: xs.size], np.sort(xs.reshape(70, length), axis=1).ravel())


@pytest.mark.parametrize("machine", [CPU_AVX512, OPENCL, CUDA], ids=["cpu", "opencl", "cuda"])
def test_the_simulator_agrees_on_uneven_rows(machine):
    """A step takes the code for its longest row, and copies rows that are too long."""
    lengths = np.array([*[1, 3, 0, SHORT, 2, 7] * 10, SHORT + 1])
    offsets = np.cumsum([0, *lengths])
    xs = samples(np.uint32, offsets[-1], seed=3)
    sort = fw.jit(lambda rows: fw.sort(rows, axis=1).values)
    with fw.schedule(version="flat"):
        traced = sort.stages(fw.ragged(xs, offsets=offsets)).executable.traced
    swept = list(optimise(traced).values())[-1]
    unit = lower(swept, machine, schedule=Schedule(version="flat")).unit
    found = simulator.run(unit, [len(xs), xs, len(offsets), offsets])
    (ys,) = (x for x in found if isinstance(x, np.ndarray) and x.ndim)
    same_bits(ys[: len(xs)], in_rows(xs, offsets[1:]))


@pytest.mark.parametrize(("mean", "found"), [(5, {str(SHORT)}), (6, {"row"})])
def test_some_long_rows_among_short_ones(mean, found):
    """One after the other, unless they are very short on the average."""
    lengths = np.full(200, mean)
    lengths[3] = SHORT + 1
    lengths[10 : 10 + SHORT + 1 - mean] -= 1
    values = samples(np.float64, 200 * mean)
    rows, ends = fw.ragged(values, lengths=lengths), np.cumsum(lengths)
    sort = fw.jit(lambda rows: fw.sort(rows, axis=1))
    same_bits(sort(rows).values, in_rows(values, ends))
    assert launched(sort, rows) & {"2", "4", "8", str(SHORT), "row"} == found


def test_long_rows_are_sorted_separately(target):
    """At the ends, next to each other, and more of them than are few."""
    for long in ([0, 1, 499], [*range(0, 500, 10)]):
        lengths = np.random.default_rng(7).integers(0, 6, 500)
        lengths[long] = np.arange(SHORT + 1, SHORT + 1 + len(long))
        ends = np.cumsum(lengths)
        values = samples(np.float32, ends[-1], seed=7)
        up, down = BOTH(fw.ragged(values, lengths=lengths))
        same_bits(up.values, in_rows(values, ends))
        same_bits(down.values, orders(values, ends, descending=True))


def test_long_rows_have_derivatives():
    """Each element gets the factor of its position in the sorted row."""
    lengths = [2, SHORT + 4, 0, *[3] * 110]
    values, factors = samples(np.int64, sum(lengths)) * 1.0, np.arange(sum(lengths)) + 1.0
    rows = fw.ragged(values, lengths=lengths)
    found = fw.grad(lambda rows: fw.sum(fw.sort(rows, axis=1).values * factors))(rows)
    order = orders(values, np.cumsum(lengths)) + np.repeat(np.cumsum(lengths), lengths)
    order -= np.repeat(lengths, lengths)
    expected = np.zeros(sum(lengths))
    expected[order] = factors
    same_bits(found.values, expected)


def test_how_rows_are_sorted():
    """One launch for short rows, by the longest; longer ones are sorted in sequence."""
    sort = fw.jit(lambda xs: fw.sort(xs, axis=1))
    most = SHORT_ALONE
    ways = {"2", "4", "8", str(SHORT), "24", str(most), "row"}
    lengths = (1, 2, 3, 8, SHORT, SHORT + 1, most, most + 1)
    found = [launched(sort, np.ones((100, length))) & ways for length in lengths]
    assert found == [set(), {"2"}, {"4"}, {"8"}, {str(SHORT)}, {"24"}, {str(most)}, {"row"}]
