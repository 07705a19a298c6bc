"""Extents that are checked before a loop are one inside of it."""

import numpy as np

import flatweave as fw
from flatweave.cluster.in_process import InProcess
from flatweave.frontend.call.options import PLACE


@fw.jit
def moments(x, y, turns):
    """Sums over two arrays of one length, by indices that depend on the iteration."""
    def turn(k, state):
        near = fw.map(lambda a, b: fw.i64(a * b + k) % 3, x, y)
        return fw.histogram(3, near), fw.histogram(3, near, x, fw.add, 0.0)

    return fw.fori_loop(0, turns, turn, (fw.zeros(3, fw.i64), fw.zeros(3)))


def test_sums_over_chunks_in_a_loop():
    """Of two arrays, cut alike."""
    x, y = np.arange(50.0), np.arange(50.0)[::-1] // 2
    expected = moments(x, y, 2)
    token = PLACE.set(InProcess("interp"))
    try:
        found = moments(fw.Chunked.cut(x, 16), fw.Chunked.cut(np.ascontiguousarray(y), 16), 2)
    finally:
        PLACE.reset(token)

    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)
