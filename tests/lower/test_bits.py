"""Flags as bits of words: what a filter of rows keeps is cut by how many flags precede each row."""

import re

import numpy as np
import pytest

import flatweave as fw
from flatweave.base.records import replace
from flatweave.lower.machine import CUDA, OPENCL
from tests.codegen.device_programs import agree, expected, lowered, simulated, traced
from tests.codegen.levels import LEVELS, in_force

LENGTHS = ([], [0, 0], [31, 1, 33, 0, 63, 64, 65, 0, *[k % 7 for k in range(30)]])


def kept(values, offsets):
    """Small elements of each row, and where those are that are below the row's first."""
    rows = fw.ragged(values, offsets=offsets)
    return (
        fw.map(lambda row: fw.filter(lambda v: v < 90, row), rows),
        fw.map(lambda row: fw.flatnonzero(fw.map(lambda v: v < row[0], row)), rows),
    )


def arguments(lengths):
    """Numbers up to 255, and the offsets of rows, as programs take them."""
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    values = np.random.default_rng(31).integers(0, 256, offsets[-1]).astype(np.uint8)
    return [values.size, values, offsets.size, offsets]


@pytest.mark.parametrize("machine", [CUDA, pytest.param(OPENCL, marks=pytest.mark.slow)])
def test_values_in_the_simulator(machine):
    """As the interpreter's, without races: warps write whole words."""
    program = traced("kept", kept, *arguments([3])[1::2])
    made = lowered(program, replace(machine, warps=2, block_bytes=256, block_work=64))
    for number, lengths in enumerate(LENGTHS):
        args = arguments(lengths)
        agree(simulated(made, args, threads=2, seed=number), expected(program, args))


@pytest.mark.parametrize("dtype", ["u1", "f8"])
def test_values_of_many_blocks(dtype):
    """Rows of up to 100 elements, several blocks of them, along positions and along rows."""
    lengths = np.random.default_rng(1).integers(0, 101, 6000)
    _, values, _, offsets = arguments(lengths)
    values = values.astype(dtype)
    small, below = fw.jit(kept)(values, offsets)
    row = np.repeat(np.arange(lengths.size), lengths)
    first = values[np.minimum(offsets[:-1], values.size - 1)][row]
    for found, flags, elements in (
        (small, values < 90, values),
        (below, values < first, np.arange(values.size) - offsets[row]),
    ):
        counts = np.bincount(row[flags], minlength=lengths.size)
        assert np.array_equal(found.values, elements[flags])
        assert np.array_equal(np.diff(found.offsets), counts)


@pytest.mark.parametrize("fold", [fw.any, fw.all, lambda x: fw.reduce(fw.bitwise_xor, False, x)])
@pytest.mark.parametrize("level", LEVELS)
def test_folded_flags_are_bytes(fold, level):
    """Lanes of flags are not packed into bits from one iteration to the next."""
    with in_force(level):
        text = fw.jit(fold).stages(np.zeros(9, bool)).text["llvm"]
        assert "x i8>" in text and not re.search(r"phi <\d+ x i1>", text)
        for n in (0, 1, 63, 64, 65, 1000, 300_001):
            flags = np.arange(n) % 5 == 4
            wanted = {fw.any: flags.any(), fw.all: flags.all()}.get(fold, flags.sum() % 2 == 1)
            assert fw.jit(fold)(flags) == wanted


@pytest.mark.parametrize("level", LEVELS)
def test_sums_of_flags_are_counts_of_lanes(level):
    """Where what flags are made of has less than words of 64 bits, and nothing else is summed."""
    with in_force(level):
        kernels = {
            name: fw.jit(fn).stages(*args).text["kernel"]
            for name, fn, *args in (
                ("flags", fw.sum, np.zeros(9, bool)),
                ("bytes", lambda x: fw.count_nonzero(x == 3), np.zeros(9, np.uint8)),
                ("words", lambda x: fw.sum(x > 0), np.zeros(9)),
                ("both", lambda x: (fw.sum(x), fw.sum(x == 3)), np.zeros(9, np.uint8)),
            )
        }
        assert [name for name, text in kernels.items() if "count_lanes" in text] == [
            "flags", "bytes"
        ]  # fmt: skip
        for n in (0, 1, 63, 64, 65, 1000, 300_001):
            values = (np.arange(n) % 5).astype(np.uint8)
            assert fw.sum(values == 3) == (values == 3).sum()
            assert fw.jit(fw.sum)(values > 1) == (values > 1).sum()
