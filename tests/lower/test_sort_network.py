"""Sorts of rows by one thread: networks of registers against NumPy's ranks, to the last bit."""

import itertools

import numpy as np
import pytest

import flatweave as fw
from flatweave.base.schedule import Schedule
from flatweave.lower.machine import CPU_AVX512, cpu
from flatweave.lower.program import lower
from flatweave.lower.sort.network import Words
from flatweave.ops import Sort
from flatweave.pipeline import optimise
from flatweave.simulator import run as simulator
from flatweave.terms.traverse import walk_lets
from tests.codegen.levels import LEVELS, in_force
from tests.language.agreement import DTYPES
from tests.language.test_sorting import order_of, same_bits, samples, sorted_values
from tests.quick import every, every_case

LENGTHS = [0, 1, 2, 3, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 257, 500, 1023,
           1024, 1025, 2500]  # fmt: skip
ROWS = 5


@pytest.fixture(autouse=True)
def by_row():
    """However few rows there are."""
    with fw.schedule(version="by-row"):
        yield


def rows_of(dtype, n, seed=0):
    return samples(dtype, ROWS * n, seed).reshape(ROWS, n)


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("descending", "dtype"), every_case(2, itertools.product([False, True], DTYPES))
)
def test_every_dtype(dtype, descending):
    """NaN last, of every length around the registers."""
    sort = fw.jit(lambda x: fw.map(lambda row: fw.sort(row, descending=descending), x))
    places = fw.jit(lambda x: fw.map(lambda row: fw.argsort(row, descending=descending), x))
    for n in LENGTHS:
        xs = rows_of(dtype, n, seed=n)
        order = [order_of(row, descending=descending) for row in xs]

        same_bits(sort(xs), np.array([sorted_values(row, descending) for row in xs], xs.dtype))
        same_bits(places(xs), np.array(order, np.int64).reshape(ROWS, n))


@pytest.mark.sampled
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("dtype", [np.uint32, np.float32, np.int64, np.float64])
def test_every_width_of_registers(dtype, level):
    """From two lanes to sixteen."""
    with in_force(level):
        for n in LENGTHS:
            xs = rows_of(dtype, n, seed=n + 1)
            expected = [sorted_values(row) for row in xs]

            same_bits(fw.map(fw.sort, xs), np.array(expected, xs.dtype))


def test_several_keys():
    """Words of one key each, of several, and of a part of what they have room for."""
    small, byte = rows_of(np.int16, 300) % 3, rows_of(np.uint8, 300) % 2
    wide, real = rows_of(np.int64, 300) % 2, rows_of(np.float32, 300)

    several = [(small, byte), (byte, wide, small), (real, small, wide), (wide, real, byte, small)]
    for keys in several:
        found = fw.map(lambda *k: fw.sort_by_key(k, fw.iota(300))[1], *keys)
        expected = [order_of(*parts) for parts in zip(*keys, strict=True)]

        same_bits(found, np.array(expected))


def test_dear_keys_and_elements_of_several_parts():
    """Keys that are stored; tuples whose parts move together."""
    xs, ys = rows_of(np.int32, 200) % 100, rows_of(np.float64, 200)

    def by_cosine(x, y):
        return fw.sort((x, y), key=lambda e: fw.cos(fw.exp(e[0] * 0.01)))

    first, second = fw.map(by_cosine, xs, ys)
    order = [order_of(np.asarray(fw.cos(fw.exp(row * 0.01)))) for row in xs]
    same_bits(first, np.take_along_axis(xs, np.array(order), 1))
    same_bits(second, np.take_along_axis(ys, np.array(order), 1))


def test_rows_of_all_lengths_in_one_call(threads):
    """What a row left in the memory of its thread is nothing to the next one."""
    lengths = np.random.default_rng(5).integers(0, 700, 300)
    values = samples(np.float32, int(lengths.sum()), 6)
    ends = np.cumsum(lengths)[:-1]
    expected = [sorted_values(row) for row in np.split(values, ends)]

    same_bits(fw.map(fw.sort, fw.ragged(values, lengths=lengths)).values, np.concatenate(expected))


@pytest.mark.sampled
@pytest.mark.parametrize("machine", [CPU_AVX512, cpu(128, 16)], ids=["sixteen", "four"])
@pytest.mark.parametrize("n", every(3, [0, 1, 40, 300]))
def test_the_simulator_agrees(machine, n):
    """Lane by lane, where reading what was never written is an error."""
    xs = rows_of(np.uint32, n)
    traced = fw.jit(lambda x: fw.map(fw.sort, x)).stages(xs).executable.traced
    swept = list(optimise(traced).values())[-1]
    unit = lower(swept, machine, schedule=Schedule(version="by-row")).unit
    found = simulator.run(unit, [ROWS, n, xs.reshape(-1)])
    (ys,) = (x for x in found if isinstance(x, np.ndarray) and x.ndim)

    same_bits(ys[: xs.size], np.sort(xs, axis=1).reshape(-1))


@pytest.mark.parametrize(("dtype", "words"), [
    (np.uint32, "i32"), (np.int8, "i32"), (np.bool_, "i32"), (np.int64, "i64"),
    (np.float32, "i32"), (np.float64, "i64"),
])  # fmt: skip
@pytest.mark.parametrize("alone", [True, False])
def test_words_hold_places_where_a_key_does_not_tell_its_element(dtype, words, alone):
    """Values that are sorted alone have a key each; next to others, both zeros have one."""
    xs = np.zeros(3, dtype)
    traced = fw.jit(fw.sort if alone else fw.argsort).stages(xs).executable.traced
    (sort,) = (let.op for let in walk_lets(traced.fn) if isinstance(let.op, Sort))
    made = Words.of(sort.fn)

    if not alone:
        words = "i64 i64" if np.dtype(dtype).itemsize == 8 else "i64"
    assert " ".join(d.name for d in made.dtypes) == words
    assert (made.undo is not None) == alone
