"""Every row of the benchmark at a small size: its program gives what its NumPy peer gives."""

import numpy as np
import pytest

import flatweave as fw
from bench.elsewhere import Elsewhere
from bench.rows import ROWS
from bench.tools import Tools
from bench.values import compare, leaves, total_bytes
from tests.quick import every

SMALL = {"stencil_5": 40, "stencil_7x7": 24, "nest_product": 33, "nest_options": 20,
         "matmul": 33, "sobel": 40, "blur_3": 20, "blur_5": 20, "blur_7": 20}  # fmt: skip
SMALL |= dict.fromkeys(("kernel_mandel", "kernel_mandel1", "kernel_mandel2", "kernel_mandel3"), 2)
TOOLS = Tools(exclude=("numba", "jax", "awkward", "c", "processes"))


@pytest.mark.sampled
@pytest.mark.parametrize("name", every(3, ROWS))
def test_program_agrees_with_its_peers(name):
    """What is timed computes the same thing."""
    row = ROWS[name]
    args = row.inputs(SMALL.get(name, 1000))
    ours = leaves(fw.jit(row.program)(*args))
    for peer, call in row.peers(TOOLS, *args).items():
        compare(row, peer, ours, leaves(call()))

    assert ours


def test_a_peer_elsewhere_says_how_long_it_took():
    """Its process has a separate environment, and a clock."""
    peer = Elsewhere("sort_u32", "numpy", 1000, NPY_DISABLE_CPU_FEATURES="X86_V4")
    try:
        assert peer() is None
        assert 0 < peer.seconds("wall") < 10
        assert 0 <= peer.seconds("cpu") < 10
    finally:
        peer.close()


def test_a_wrong_peer_is_refused():
    """A contender that computes something else has no time."""
    row = ROWS["dot"]
    with pytest.raises(SystemExit, match="dot: flatweave and loop differ"):
        compare(row, "loop", [np.float32(1)], [np.float32(2)])


def test_bytes_are_counted_in_arrays_only():
    """Scalars do not move."""
    assert total_bytes((np.zeros(10, np.float32), 3.0)) == 40
