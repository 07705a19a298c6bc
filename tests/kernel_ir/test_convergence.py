"""Barriers and collectives to which not all warps of a block come are found."""

import pytest

from flatweave.kernel_ir.lane_facts import missed
from tests.kernel_ir.units import one_kernel

COUNTED = """
    w: i64 = warp_index
    lanes 8 (() =>
        i: i64 = mul w 8
        j: i64 = lane i
        p: bool = lt j 3
        m: i64 = count_lanes p
        x: i64 = load xs w
        a: i64 = load xs 0
        q: bool = {condition}
        if q (() =>
            c: i64 = count_lanes p) (() => ()))
"""
LOOP = """
    w: i64 = warp_index
    lo: i64 = mul w n
    {end}
    lanes 8 (() =>
        for lo hi 8 (i: i64 =>
            j: i64 = lane i
            p: bool = lt j 3
            c: i64 = count_lanes p) [])
"""


def found(text):
    """The control that keeps some warps from a count."""
    (kernel,) = one_kernel(text, warps=4).kernels
    pairs = list(missed(kernel.body))
    assert {let.op.name for let, _ in pairs} <= {"count_lanes"}
    return [around.op.name for _, around in pairs]


@pytest.mark.parametrize(
    ("condition", "expected"),
    [("lt n 5", []), ("lt w 2", ["if"]), ("lt x 2", ["if"]), ("lt 0 m", ["if"]), ("lt 0 a", [])],
)
def test_a_count_in_a_branch(condition, expected):
    """It is right where all warps take the branch: not where a count of lanes says so."""
    assert found(COUNTED.format(condition=condition)) == expected


@pytest.mark.parametrize(
    ("end", "expected"),
    [
        ("hi: i64 = add lo n", []),
        ("hi: i64 = add n lo", []),
        ("hi: i64 = minimum lo n", ["for"]),
        ("hi: i64 = add lo w", ["for"]),
    ],
)
def test_a_count_in_a_loop(end, expected):
    """It is right where all warps have as many iterations, wherever each of them begins."""
    assert found(LOOP.format(end=end)) == expected
