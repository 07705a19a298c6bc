"""The table of programs with more threads than cores."""

import time

import numpy as np
import pytest

from bench import many_threads
from bench.many_threads import Measured
from flatweave.runtime.support import POOL


def test_a_path_is_measured():
    """All numbers of threads, and the machine's cores afterwards."""
    cores = POOL.cores
    name, call = next(many_threads.calls(["sums of columns"]))
    found = many_threads.measure(name, call, 1, time.perf_counter)

    assert found.same and found.base > 0 and found.ratios[2] == 1.0
    assert many_threads.line(found).startswith("| sums of columns, ")
    assert POOL.cores == cores


@pytest.mark.parametrize(
    "at_16, at_128, same, holds",
    [(1.5, 3.0, True, True), (1.6, 1, True, False), (1, 3.1, True, False), (1, 1, False, False)],
)
def test_a_path_holds_within_its_limits(at_16, at_128, same, holds):
    """One ratio above its limit, or one bit, and it does not."""
    assert Measured("", 1.0, {16: at_16, 128: at_128}, same).holds == holds


def test_bits_of_structures():
    """Of tuples, too."""
    assert many_threads.bits_of((np.arange(2), 1.0)) != many_threads.bits_of((np.arange(2), -1.0))
