"""A scan that several consumers read is made once: taken on the way, or stored once."""

import numpy as np
import pytest

import flatweave as fw
from tests.structure.counted import opened

XS = np.arange(1, 301.0)
RUN = np.cumsum(XS)


def with_scan(consume):
    """A program that hands one scan to its consumers."""
    return lambda x: consume(fw.cumsum(x))


# name: the program, its results in NumPy, its kernels, the arrays it stores
PROGRAMS = {
    "two maps": (with_scan(lambda y: (y * 2, y + 1)), (RUN * 2, RUN + 1), 1, 2),
    "written twice": (lambda x: (fw.cumsum(x) * 2, fw.cumsum(x) + 1), (RUN * 2, RUN + 1), 1, 2),
    "a map, a sum, a filter": (
        with_scan(lambda y: (y * 2, fw.sum(y), fw.filter(lambda v: v > 9, y))),
        (RUN * 2, RUN.sum(), RUN[RUN > 9]), 1, 2,
    ),
    "elsewhere, too": (
        with_scan(lambda y: (fw.reverse(y), fw.sum(y))), (RUN[::-1], RUN.sum()), 2, 2,
    ),
    "after its own sum": (with_scan(lambda y: y / fw.sum(y)), (RUN / RUN.sum(),), 2, 2),
    "a cut of it": (
        with_scan(lambda y: (fw.sum(y[:10]), fw.sum(y))), (RUN[:10].sum(), RUN.sum()), 2, 1,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_values(name, target):
    """Those of NumPy."""
    f, wanted, _, _ = PROGRAMS[name]
    found = fw.jit(f)(XS)
    found = found if isinstance(found, tuple) else (found,)

    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(np.asarray(a), b)


@pytest.mark.parametrize("name", PROGRAMS)
def test_there_is_one_scan(name):
    """Its elements are combined once, and stored once at most."""
    f, _, kernels, arrays = PROGRAMS[name]
    stages = opened(f, XS)

    assert stages.text["fused"].count(" prefix ") == 1
    assert (stages.kernels, len(stages.manifest)) == (kernels, arrays)
