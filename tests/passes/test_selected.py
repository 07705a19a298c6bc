"""Values that are selected are those of the sort, whatever the sample shows."""

import numpy as np
import pytest

from flatweave.array_ir.interp import run
from flatweave.array_ir.syntax import parse_program
from flatweave.ops.writes import LARGE
from flatweave.passes.nests.select import select

SORTED = """
several(n: i64, xs: f64[n], p: i64, q: i64) =>
    ys: f64[n] = sort (x: f64 =>
        a: u64 = bits x
        b: i64 = cast i64 a
        c: i64 = ones_complement b
        d: u64 = cast u64 c
        e: u64 = sub d 9227875636482146303u64
        in e) [xs]
    there: bool = gt n 0
    t: f64, u: f64, v: f64, w: f64 = if there (() =>
        last: i64 = sub n 1
        t: f64 = index ys [p]
        u: f64 = index ys [q]
        v: f64 = index ys [0]
        w: f64 = index ys [last]
        in t, u, v, w) (() => 0.0f64, 0.0f64, 0.0f64, 0.0f64)
    in t, u, v, w
"""
PROGRAM = parse_program(SORTED)
SELECTED = select(PROGRAM)
RNG = np.random.default_rng(37)


def sampled(n):
    """Where the sample of n elements is taken."""
    log = min((n.bit_length() * 2) // 3, 16)
    part = (np.arange(1 << log, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(40)
    return (np.arange(1 << log) * n + (part.astype(np.int64) * n >> 24)) >> log


def misleading(n):
    """Nothing that the sample shows is near the middle."""
    x = RNG.random(n)
    x[sampled(n)[:n]] += 2
    return x


KINDS = {
    "random": RNG.random,
    "both signs": RNG.standard_normal,
    "three values": lambda n: RNG.integers(0, 3, n) * 1.0,
    "mostly zeros": lambda n: np.where(RNG.random(n) < 0.6, 0.0, RNG.standard_normal(n)),
    "zeros of both signs": lambda n: np.where(RNG.random(n) < 0.5, 0.0, -0.0),
    "all equal": lambda n: np.full(n, 2.5),
    "ascending": np.arange,
    "descending": lambda n: -np.arange(n),
    "infinities": lambda n: np.where(RNG.random(n) < 0.5, np.inf, -np.inf),
    "some NaN": lambda n: np.where(RNG.random(n) < 0.3, np.nan, RNG.random(n)),
    "all NaN": lambda n: np.full(n, np.nan),
    "a misleading sample": misleading,
}


@pytest.mark.parametrize("n", [0, 1, 2, LARGE - 1, LARGE, LARGE + 1])
@pytest.mark.parametrize("kind", KINDS)
def test_values(kind, n):
    """To the last bit: at the ends, in the middle, near each other and far from each other."""
    xs = np.asarray(KINDS[kind](n), dtype=np.float64)

    for p, q in [((n - 1) // 2, n // 2), (n // 10, n - 1 - n // 10)]:
        args = [np.asarray(n), xs, np.asarray(max(p, 0)), np.asarray(max(min(q, n - 1), 0))]
        expected = run(PROGRAM, args)
        for found, value in zip(run(SELECTED, args), expected, strict=True):
            assert found.tobytes() == value.tobytes()


def test_the_sample_misleads():
    """Otherwise the case says nothing: the middle is not between what the sample has there."""
    x = misleading(LARGE)

    assert x[sampled(LARGE)].min() > np.median(x)
