"""Runs that are filled, in the simulator: no store leaves its block, and blocks never race."""

import re

import numpy as np
import pytest

import flatweave as fw
from flatweave import pipeline
from flatweave.kernel_ir.units import verify
from flatweave.lower.machine import cpu
from flatweave.lower.program import lower
from tests.codegen.device_programs import agree, expected, flat, simulated, traced


def decoded(values, counts):
    """Each value as often as its count says."""
    return fw.expand(lambda run: run[1], lambda run, i: run[0], (values, counts))


@pytest.mark.parametrize("bits", [128, 256, 512])
def test_nobody_races(bits):
    """Rows that are empty, shorter than a step, and as long as several blocks."""
    made = traced("f", decoded, np.zeros(2), np.zeros(2, np.int64))
    unit = lower(list(pipeline.optimise(made).values())[-1], cpu(bits, 16))
    verify(unit.unit)
    for counts in ([], [0, 0], [1, 0, 3, 17, 0], [700, 2, 0, 0, 41] * 3):
        args = flat(np.arange(len(counts)) * 1.0, np.array(counts, np.int64))
        agree(simulated(unit, args, threads=3, seed=len(counts)), expected(made, args))


def copied(values, starts, counts):
    """The elements from each start on, as many as its count."""
    found = fw.slices(values, starts, starts + counts)
    return found.values, found.offsets


def slices_of(size, rng):
    """Starts and counts; some end where the array does, and some are empty."""
    counts = rng.choice([0, 0, 1, 2, 5, 17, size // 2, size], int(rng.integers(0, 40)))
    counts = np.minimum(counts, size)
    starts = rng.integers(0, size - counts + 1)
    starts = np.where(rng.random(counts.size) < 0.4, size - counts, starts)
    return starts, counts


@pytest.mark.parametrize("bits", [128, 256, 512])
def test_nobody_reads_past_the_end_of_an_array(bits):
    """The simulator stops where a step does; lanes past the end of a row have no effect."""
    made = traced("f", copied, np.zeros(2, np.uint8), *np.zeros((2, 2), np.int64))
    unit = lower(list(pipeline.optimise(made).values())[-1], cpu(bits, 16))
    verify(unit.unit)
    rng = np.random.default_rng(bits)
    for size in (0, 1, 15, 31, 32, 33, 64, 65, 300):
        starts, counts = slices_of(size, rng)
        args = flat(np.arange(size).astype(np.uint8), starts, counts)
        agree(simulated(unit, args, threads=3, seed=size), expected(made, args))


@pytest.mark.parametrize("name", ["u8", "bool", "i16", "f32", "f64"])
def test_copied_rows_are_what_numpy_slices_are(name):
    """Of rows whose mean length takes each version, at lengths around powers of two."""
    program, rng = fw.jit(copied), np.random.default_rng(len(name))
    for size in (0, 1, 3, 7, 8, 9, 31, 32, 33, 127, 128, 129, 5000):
        values = rng.integers(0, 100, size).astype(getattr(fw, name).numpy)
        starts, counts = slices_of(size, rng)
        wanted = [values[start : start + n] for start, n in zip(starts, counts, strict=True)]
        found, _ = program(values, starts, counts)
        np.testing.assert_array_equal(found, np.concatenate([values[:0], *wanted]))


def test_short_rows_are_copied_in_whole_steps():
    """Not by a row lookup and a gather for each step."""
    args = np.zeros(90, np.uint8), np.arange(10), np.full(10, 9)
    stages = fw.jit(copied, target="cpu").stages(*args)

    assert re.search(r"^kernel \w+_fill\(", str(stages), re.MULTILINE)
