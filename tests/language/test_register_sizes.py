"""Programs mean the same on CPUs with registers of 128, 256 and 512 bits.

Steps differ, values do not: they are whole numbers, so that every grouping of a sum is exact.
"""

import numpy as np
import pytest

import flatweave as fw
from flatweave.base.config import config
from flatweave.base.errors import ArgumentError
from flatweave.runtime.processor import processor
from flatweave.targets import TARGETS

LEVELS = ["x86-64-v2", "x86-64-v3", "x86-64-v4"]
RANDOM = np.random.default_rng(11)
XS = RANDOM.integers(-50, 50, 5000)
ROWS = fw.ragged(XS, lengths=np.bincount(RANDOM.integers(0, 700, 5000), minlength=700))
PROGRAMS = {
    "a filter": lambda d: fw.filter(lambda x: x > 7, XS.astype(d)),
    "a scan": lambda d: fw.scan(fw.add, 0, XS.astype(d)),
    "a filter of a scan": lambda d: fw.filter(lambda x: x > 0, fw.scan(fw.add, 0, XS.astype(d))),
    "a segmented scan": lambda d: fw.segmented_scan(fw.add, 0, XS % 9 == 0, XS.astype(d)),
    "a histogram": lambda d: fw.histogram(60, XS % 60, XS.astype(d)),
    "a sort": lambda d: fw.sort(XS.astype(d)),
    "sums of rows": lambda d: fw.sum(XS.astype(d).reshape(250, 20), axis=1),
    "sums of columns": lambda d: fw.sum(XS.astype(d).reshape(250, 20), axis=0),
    "a reverse": lambda d: fw.map(lambda x: x * 2, XS.astype(d)[::-1]),
    "a gather": lambda d: fw.jit(lambda xs, at: xs[at])(XS.astype(d), XS % 5000),
    "sums of ragged rows": lambda d: fw.map(lambda row: fw.sum(row), ROWS),
}


@pytest.mark.sampled
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("dtype", [np.int8, np.float64])
def test_values_do_not_depend_on_registers(level, dtype):
    """Each level, as far as this machine can run it, against the interpreter."""
    with config.scoped(cpu=level):
        try:
            processor()
        except ArgumentError as refused:
            pytest.skip(str(refused))
        assert TARGETS["cpu"].machine.vector_bytes == 16 << LEVELS.index(level)
        for name, program in PROGRAMS.items():
            with fw.target("interp"):
                wanted = np.asarray(program(dtype))
            with fw.target("cpu"):
                found = np.asarray(program(dtype))
            assert found.dtype == wanted.dtype, name
            np.testing.assert_array_equal(found, wanted, name)
