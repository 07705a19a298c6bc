"""Runs that are filled, in the simulator: no store leaves its block, and blocks never race."""

import numpy as np
import pytest

import flatweave as fw
from flatweave import pipeline
from flatweave.kernel_ir.verify import verify
from flatweave.lower.machine.machine import cpu
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
