"""Rows combined by the warps of a GPU: a row for each lane, or all lanes along a row."""

import numpy as np
import pytest

import flatweave as fw
from flatweave.base.records import replace
from flatweave.lower.machine import CUDA, OPENCL
from flatweave.lower.schedule.steps import Along
from flatweave.runtime.devices import cuda_libraries
from tests.codegen.device_programs import agree, expected, lowered, simulated, traced
from tests.examples.kernels.test_all import has_nvrtc


def affine(a, b):
    """Composition of x -> m x + c modulo 2^32, whose order matters."""
    return a[0] * b[0], a[1] * b[0] + b[1]


def ragged(x, ends, fn):
    """A function of the rows of integers."""
    return fw.map(fn, fw.ragged(x, offsets=ends))


def lines(row):
    """Each row's elements as lines, composed in order."""
    return fw.reduce(affine, (fw.u32(1), fw.u32(0)), fw.map(lambda v: (v * 2 + 1, v), row))


PROGRAMS = {
    "sum": lambda x, ends: ragged(x, ends, fw.sum),
    "in order": lambda x, ends: ragged(x, ends, lines),
    "two of them": lambda x, ends: ragged(x, ends, lambda r: (fw.max(r, initial=0), fw.sum(r * r))),
    "gathered": lambda x, ends: ragged(x, ends, lambda r: fw.sum(x[r % 5] + 1)),
}
LENGTHS = {
    "none": [],
    "an empty one": [0],
    "empty ones": [0, 0, 0, 5, 0, 0],
    "short": [k % 7 for k in range(90)],
    "one by one": [1] * 70,
    "as long as a step": [31, 32, 33, 64, 0, 65],
    "long": [300, 1, 0, 129, 128, 127],
    "skewed": [1, 2, 700, 0, 1, 1, 1, *[2] * 40],
    "one": [1000],
}


def arguments(lengths):
    """The elements and the offsets of rows, as programs take them."""
    ends = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    x = np.random.default_rng(len(lengths)).integers(0, 9, ends[-1]).astype(np.uint32)
    return [x.size, x, ends.size, ends]


@pytest.mark.sampled
@pytest.mark.parametrize("name", PROGRAMS)
def test_values_in_the_simulator(name):
    """As the interpreter's, whatever shares the warps have, and without races."""
    program = traced(name, PROGRAMS[name], *arguments([3])[1::2])
    for work in (1, 1 << 12):
        made = lowered(program, replace(CUDA, warps=2, block_bytes=1, block_work=work))
        for number, lengths in enumerate(LENGTHS.values()):
            args = arguments(lengths)
            agree(simulated(made, args, threads=2, seed=number), expected(program, args))


def test_who_does_so():
    """CUDA, whose warps meet alone; on OpenCL, lanes go along positions."""
    program = traced("sum", PROGRAMS["sum"], *arguments([3])[1::2])
    found = {
        machine.name: [
            version.rows for plan in lowered(program, machine).sweeps.values()
            for version in plan.versions if version.rows.folded
        ]
        for machine in (CUDA, OPENCL)
    }  # fmt: skip

    assert [rows.along for rows in found["cuda"]] == [Along.GROUPS]
    assert not found["opencl"]


@pytest.mark.skipif(not has_nvrtc(), reason="no NVRTC")
def test_it_spills_nothing():
    """And leaves registers for 5 blocks on a multiprocessor; one block joins carry-outs."""
    rows = fw.ragged(np.ones(9, np.float32), lengths=[4, 5])
    text = fw.jit(lambda rows: fw.map(fw.sum, rows), target="cuda").stages(rows).text["cuda"]
    taken = cuda_libraries.resources(text, "sm_90")

    assert not any(each.spilled for each in taken.values())
    assert all(
        each.registers <= 48 for name, each in taken.items() if not name.endswith("_carry_outs")
    )
