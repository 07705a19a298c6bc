"""Words of neighbouring elements: what one load brings is what a load for each element brings."""

import re

import numpy as np
import pytest

import flatweave as fw
from flatweave import pipeline
from flatweave.base.config import config
from flatweave.base.dtypes import BY_NAME
from flatweave.base.errors import ArgumentError
from flatweave.codegen.llvm.isa import here
from flatweave.kernel_ir.units import parse_unit, verify
from flatweave.lower.machine import cpu
from flatweave.lower.program import lower
from tests.codegen.device_programs import agree, expected, flat, simulated, traced
from tests.codegen.llvm_programs import run_host
from tests.codegen.test_compress import LEVELS
from tests.structure.counted import opened

TEXT = """
host(n: i64, extent: i64, xs: global T, at: global i64) =>
    out: global D = alloc D n 0
    launch words 1 [n, extent, xs, at, out]
    in out

kernel words(n: i64, extent: i64, xs: global T, at: global i64, out: global D) =>
    lanes W (() =>
        for 0 n W (i: i64 =>
            j: i64 = J
            k: i64 = load at j
            w: D = load_word xs k extent D
            store out j w) [])
"""
FAR = [2**63 - 1, -(2**63), 2**62, 2**61, 2**60, -(2**60)]
PLACES = np.resize([*range(-12, 30), *FAR], 96)
EXTENTS = (0, 1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 40)


def elements(name, size, rng):
    """Some of a dtype, all of whose bits vary."""
    dtype = BY_NAME[name].numpy
    bits = rng.integers(0, 256, size * dtype.itemsize).astype(np.uint8)
    return bits > 99 if name == "bool" else bits.view(dtype)


def words(xs, places, count):
    """The numbers whose bits are the elements from each place on."""
    bits = 8 * xs.itemsize
    raw = [int(x) for x in xs.view(f"u{xs.itemsize}")]
    return [
        sum(raw[p + k] << (k * bits) for k in range(count) if 0 <= p + k < len(raw))
        for p in places.tolist()
    ]


@pytest.mark.sampled
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", ["u8", "bool", "i16"])
def test_a_word_is_its_elements(level, name):
    """From before the first element to after the last, and of arrays shorter than a word."""
    rng = np.random.default_rng(5)
    with config.scoped(cpu=level):
        try:
            isa = here()
        except ArgumentError as refused:
            pytest.skip(str(refused))
        for word in ("u32", "u64"):
            for width in (1, 4, 32):
                lane = "lane i" if width > 1 else "add i 0"
                said = {"T": name, "W": str(width), "D": word, "J": lane}
                unit = parse_unit(re.sub(r"\b[TWDJ]\b", lambda found: said[found[0]], TEXT))  # noqa: B023
                for extent in EXTENTS:
                    xs = elements(name, extent, rng)
                    args = [np.int64(PLACES.size), np.int64(extent), xs, PLACES]
                    found = run_host(unit.host, unit.kernels, args, isa)
                    assert found.status == 0
                    dtype = BY_NAME[word]
                    wanted = words(xs, PLACES, dtype.bits // (8 * xs.itemsize))
                    assert found.array(0, dtype, PLACES.size).tolist() == wanted


def mixed(xs, places, offsets):
    """For each index a number made of the elements near it; outside of the array they are 0."""
    def near(p):
        total = fw.u64(0)
        for k, offset in enumerate(offsets):
            part = fw.gather(xs, p + offset, default=0).astype(fw.i64).astype(fw.u64)
            total = total * fw.u64(1_000_003 + k) + part
        return total

    return fw.map(near, places)


def by_numpy(xs, places, offsets):
    """The same, one element after another."""
    total = np.zeros(places.shape, np.uint64)
    for k, offset in enumerate(offsets):
        at = places + offset
        there = (at >= 0) & (at < len(xs))
        part = np.zeros(places.shape, np.int64)
        part[there] = xs[at[there]]
        total = total * np.uint64(1_000_003 + k) + part.astype(np.uint64)
    return total


@pytest.mark.parametrize("name", ["u8", "i8", "bool", "i16", "u16", "i32"])
def test_near_elements_of_random_programs_are_those_of_numpy(name):
    """Some have words, with gaps, in any order, of more elements than one word has."""
    rng = np.random.default_rng(len(name))
    for count in (2, 3, 4, 8, 11):
        offsets = rng.choice(np.arange(-9, 10), count, replace=False).tolist()
        program = fw.jit(lambda xs, places, offsets=offsets: mixed(xs, places, offsets))
        for extent in EXTENTS:
            xs = elements(name, extent, rng)
            places = rng.integers(-12, extent + 12, 70)
            np.testing.assert_array_equal(
                program(xs, places), by_numpy(xs, places, offsets), err_msg=f"{offsets}, {extent}"
            )


def test_the_simulator_loads_words_as_cpus_do():
    """No element outside of an array is read."""
    def program(xs, places):
        return mixed(xs, places, range(-1, 5))

    made = traced("f", program, np.zeros(2, np.uint8), np.zeros(2, np.int64))
    unit = lower(list(pipeline.optimise(made).values())[-1], cpu(256, 16))
    verify(unit.unit)
    rng = np.random.default_rng(3)
    for extent in EXTENTS:
        args = flat(elements("u8", extent, rng), rng.integers(-12, extent + 12, 40))
        agree(simulated(unit, args, threads=2, seed=extent), expected(made, args))


def loads(f, *args):
    """The loads of words and of elements of the first argument, in the kernels of a program."""
    text = str(opened(f, *args)).partition("---- kernel ----")[2]
    return len(re.findall("load_word xs_", text)), len(re.findall("= load xs_", text))


def test_three_neighbours_at_gathered_places_are_one_load():
    """Two are not, nor are those that run with the lanes, nor larger elements."""
    xs, places = np.zeros(90, np.uint8), np.arange(50)
    versions, none = loads(lambda xs, places: mixed(xs, places, range(3)), xs, places)
    assert versions > 0
    assert none == 0
    assert loads(lambda xs, places: mixed(xs, places, range(2)), xs, places)[0] == 0
    assert loads(lambda xs: mixed(xs, fw.iota(xs.shape[0]), range(3)), xs)[0] == 0
    assert loads(lambda xs, p: mixed(xs, p, range(3)), xs.astype(np.float32), places)[0] == 0
    assert loads(lambda xs, p: mixed(xs, p, range(3)), xs.astype(np.int32), places)[0] == 0
