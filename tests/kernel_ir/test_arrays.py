"""Staged arrays write kernels that compute what they say, in memory of every level."""

import numpy as np
import pytest

from flatweave.base.dtypes import f64, i64
from flatweave.base.errors import ArgumentError
from flatweave.kernel_ir.hierarchy import (
    THREAD,
    WARP,
    ForAll,
    Pull,
    element_types,
    fold,
    for_all,
    force,
    part,
    store_each,
)
from flatweave.kernel_ir.syntax import Sync
from flatweave.kernel_ir.units import print_unit
from flatweave.terms.build import Builder, index
from flatweave.terms.traverse import walk_lets
from tests.algorithms.programs import zipped
from tests.kernel_ir.machines import ALL_SHAPES, distributed, simulated
from tests.kernel_ir.staged import staged

XS = np.arange(96) * 3 - 50


def gives(write, expected, *ins, outs=(i64,), length=0):
    """A kernel gives this in the simulator, as written and as every machine gets it."""
    ins = ins or (XS,)
    unit = staged(write, [i64] * len(ins), outs, length=length)
    expected = [np.asarray(x) for x in (expected if isinstance(expected, list) else [expected])]
    args = [len(ins[0]), len(expected[0]), *ins]
    for made in (unit, *(distributed(unit, shape) for shape in ALL_SHAPES)):
        for found, wanted in zip(simulated(made, args), expected, strict=True):
            np.testing.assert_array_equal(found, wanted)
    return unit


def count(unit, op):
    """How many of these ops a unit's kernel has."""
    return sum(isinstance(let.op, op) for let in walk_lets(unit.kernels[0].body))


def backwards(xs):
    """The last element first."""
    last = int(xs.extent.value) - 1
    return Pull(xs.extent, lambda b, i: xs.at(b, b.sub(index(last), i)))


def store(b, xs, ys, first=0):
    """Each element by a thread."""
    base = index(first) if isinstance(first, int) else first
    for_all(b, THREAD, xs.extent, lambda c, i: store_each(c, ys, c.add(base, i), xs.at(c, i)))


def test_force_computes_once_for_all():
    """One memory, one for_all and one barrier; then everybody reads it."""

    def write(b, n, xs, ys):
        doubles = Pull(n, lambda c, i: (c.mul(xs[0].at(c, i)[0], index(2)),))
        pairs = zipped(kept := force(b, doubles), backwards(kept))
        store(b, Pull(n, lambda c, i: (c.add(*pairs.at(c, i)),)), ys)

    unit = gives(write, (XS + XS[::-1]) * 2, length=96)
    assert (count(unit, Sync), count(unit, ForAll)) == (1, 2)
    assert "shared i64 96" in print_unit(unit)


def test_tuples_are_stored_side_by_side():
    """One memory for each component."""

    def write(b, n, xs, ys):
        pairs = zipped(xs[0], Pull(n, lambda c, i: (c.cast(xs[1].at(c, i)[0], f64),)))
        assert element_types(b, pairs) == (i64, f64)
        store(b, part(force(b, backwards(pairs)), 1, 4), ys)

    gives(write, [XS[::-1][1:5], (XS * 2.0)[::-1][1:5]], XS, XS * 2, outs=(i64, f64), length=96)


def test_memory_of_warps():
    """Each warp turns its part in its own memory."""

    def write(b, n, xs, ys):
        def one(c, w):
            first = c.mul(w, index(32))
            store(c, backwards(force(c, part(xs[0], first, 32))), ys, first)

        for_all(b, WARP, 3, one)

    text = print_unit(gives(write, XS.reshape(3, 32)[:, ::-1].reshape(-1), length=96))
    assert "warp_shared i64 32" in text and "sync level=warp" in text
    assert "shared i64 96" not in text


def test_loops_and_conditions():
    """A thread's own control."""

    def write(b, n, xs, ys):
        def one(c, i):
            (total,) = fold(c, index(0), i, (index(0),), lambda d, j, s: (
                d.add(s[0], xs[0].at(d, j)[0]),
            ))  # fmt: skip
            with c.when(c.apply("lt", total, index(0))) as d:
                store_each(d, ys, i, [total])
            natural = c.apply("ge", total, index(0))
            with c.when(natural) as d, d.loop(i, d.add(i, index(1))) as (e, j):
                store_each(e, ys, j, [e.mul(j, index(1000))])

        for_all(b, THREAD, n, one)

    sums = np.concatenate([[0], np.cumsum(XS)[:-1]])
    gives(write, np.where(sums < 0, sums, np.arange(96) * 1000))


def test_levels_go_down():
    """What a level cannot do is refused where it is written, with what to do."""
    b = Builder()

    def nested(c, i):
        for_all(c, THREAD, 4, lambda d, j: None)

    with pytest.raises(ArgumentError, match="code of a thread has no threads below it") as caught:
        for_all(b, THREAD, 4, nested)
    assert "Write `loop`" in caught.value.remedy
    with pytest.raises(ArgumentError, match="code of a warp has no warps below it"):
        for_all(b, WARP, 4, lambda c, i: for_all(c, WARP, 4, nested))
