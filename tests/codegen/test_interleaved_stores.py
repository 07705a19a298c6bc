"""Many values of an element next to each other in memory: more than a register holds."""

import re

import numpy as np
import pytest

import flatweave as fw
from tests.codegen.levels import LEVELS, in_force


def columns(x, count):
    """`count` columns, each another multiple of x."""
    return fw.stack([x * k + 1 for k in range(count)], axis=1)


@pytest.mark.sampled
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("dtype, count", [("d", 9), ("d", 16), ("f", 21)])
def test_more_values_than_a_register_holds(level, dtype, count):
    """Through the caches and past them; a row ends with a whole line, or it does not."""
    with in_force(level):
        program = fw.jit(lambda x: columns(x, count))
        for length in (5, 1001, 100_003):
            x = np.arange(length, dtype=dtype)
            wanted = np.stack([x * k + 1 for k in range(count)], axis=1)
            np.testing.assert_array_equal(program(x), wanted)


@pytest.mark.parametrize("level", LEVELS)
def test_stores_go_up(level):
    """Whole registers of what a step stores, in groups of four cache lines: LLVM turns the order
    around in each store."""
    with in_force(level):
        text = fw.jit(lambda x: fw.stack([x, x + 1], axis=1)).stages(np.ones(9)).text["llvm"]

    stores = [int(n) for n in re.findall(r"store <(\d+) x double>", text)]
    assert stores and 8 * max(stores) <= 4 * 64
