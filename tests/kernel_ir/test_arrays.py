"""Staged arrays write kernels that compute what they say, in memory of every level."""

import numpy as np
import pytest

from flatweave.base.dtypes import f64, i64
from flatweave.base.errors import ArgumentError, ShapeError
from flatweave.kernel_ir.arrays import (
    Pull,
    Push,
    concat,
    concat_units,
    element_types,
    fold,
    for_all,
    force,
    gather,
    level_of,
    map,
    part,
    permute,
    push,
    read,
    reverse,
    store,
    zip_with,
    zipped,
)
from flatweave.kernel_ir.hierarchy import BLOCK, THREAD, WARP, ForAll
from flatweave.kernel_ir.syntax import Load, Sync
from flatweave.kernel_ir.text import print_unit
from flatweave.terms.build import Builder, index
from flatweave.terms.traverse import walk_lets
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


def double(b, x):
    """2 x"""
    return (b.mul(x[0], index(2)),)


def count(unit, op):
    """How many of these ops a unit's kernel has."""
    return sum(isinstance(let.op, op) for let in walk_lets(unit.kernels[0].body))


def test_maps_of_maps_are_one():
    """Nothing is stored between them, whichever kind of array it is."""

    def pulls(b, n, xs, ys):
        store(b, map(double, map(double, reverse(xs[0]))), ys)

    def pushes(b, n, xs, ys):
        store(b, map(double, map(double, push(reverse(xs[0]), BLOCK))), ys)

    for write in (pulls, pushes):
        unit = gives(write, XS[::-1] * 4)
        assert count(unit, Load) == count(unit, ForAll) == 1
        assert count(unit, Sync) == 0


def test_force_computes_once_for_all():
    """One memory, one for_all and one barrier; then everybody reads it."""

    def write(b, n, xs, ys):
        kept = force(b, map(double, xs[0]))
        store(b, zip_with(lambda c, x: (c.add(x[0], x[1]),), kept, reverse(kept)), ys)

    unit = gives(write, (XS + XS[::-1]) * 2, length=96)
    assert (count(unit, Sync), count(unit, ForAll)) == (1, 2)
    assert "shared i64 96" in print_unit(unit)


def test_tuples_are_stored_side_by_side():
    """One memory for each component."""

    def write(b, n, xs, ys):
        pairs = zipped(xs[0], map(lambda c, x: (c.cast(x[0], f64),), xs[1]))
        assert element_types(b, pairs) == (i64, f64)
        kept = force(b, reverse(pairs), most=96)
        store(b, part(kept, 1, 4), ys)

    gives(write, [XS[::-1][1:5], (XS * 2.0)[::-1][1:5]], XS, XS * 2, outs=(i64, f64))


def test_concatenation_asks_nobody():
    """Two programs in sequence; no element is chosen by an if."""

    def write(b, n, xs, ys):
        both = concat(b, push(xs[0], BLOCK), push(reverse(xs[0]), BLOCK), push(xs[0], BLOCK))
        store(b, both, ys)

    unit = gives(write, np.concatenate([XS, XS[::-1], XS]))
    assert "if " not in print_unit(unit)


def test_permutations_and_interleaving():
    """A push array says where its elements go, a pull array where they come from."""

    def swap(b, i):
        return b.apply("xor", i, index(1))

    def pushed(b, n, xs, ys):
        store(b, permute(push(xs[0], BLOCK), swap), ys)

    def pulled(b, n, xs, ys):
        store(b, gather(xs[0], swap), ys)

    swapped = XS.reshape(-1, 2)[:, ::-1].reshape(-1)
    gives(pushed, swapped)
    gives(pulled, swapped)


@pytest.mark.parametrize("each", [1, 2, 5, 200])
def test_several_elements_for_a_thread(each):
    """Neighbours, in order, and only existing ones."""
    gives(lambda b, n, xs, ys: store(b, push(xs[0], BLOCK, each), ys), XS)


def test_arrays_of_all_levels():
    """Warps scan their parts in their own memory, threads theirs."""

    def of_thread(b, first, xs):
        """Four elements backwards, by way of the thread's memory."""
        mine = force(b, part(xs, first, 4))
        assert level_of(b) is THREAD
        return push(reverse(mine), THREAD)

    def of_warp(b, xs):
        """Eight pieces of four, turned by eight threads."""
        assert level_of(b) is WARP
        kept = force(b, xs)
        pieces = concat_units(
            b, THREAD, 8, 4, lambda c, t: of_thread(c, c.mul(t, index(4)), kept)
        )
        return push(reverse(force(b, pieces)), WARP)

    def write(b, n, xs, ys):
        warps = concat_units(
            b, WARP, 3, 32, lambda c, w: of_warp(c, part(xs[0], c.mul(w, index(32)), 32))
        )
        store(b, warps, ys)

    expected = XS.reshape(3, 8, 4)[:, ::-1, :].reshape(-1)
    unit = gives(write, expected, length=96)
    text = print_unit(unit)
    assert "local i64 4" in text and "warp_shared i64 32" in text and "sync level=warp" in text
    assert "shared i64 96" not in text


def test_loops_and_conditions():
    """A thread's own control."""

    def write(b, n, xs, ys):
        def one(c, i):
            (total,) = fold(c, index(0), i, (index(0),), lambda d, j, s: (
                d.add(s[0], xs[0].at(d, j)[0]),
            ))  # fmt: skip
            with c.when(c.apply("lt", total, index(0))) as d:
                store(d, Pull(index(1), lambda e, j: (total,)), ys, i)
            natural = c.apply("ge", total, index(0))
            with c.when(natural) as d, d.loop(i, d.add(i, index(1))) as (e, j):
                store(e, Pull(index(1), lambda f, k: (f.mul(j, index(1000)),)), ys, j)

        for_all(b, THREAD, n, one)

    sums = np.concatenate([[0], np.cumsum(XS)[:-1]])
    gives(write, np.where(sums < 0, sums, np.arange(96) * 1000))


def test_levels_go_down():
    """What a level cannot do is refused where it is written, with what to do."""
    b = Builder()
    xs = Pull(index(4), lambda c, i: (i,))

    def nested(c, i):
        for_all(c, THREAD, 4, lambda d, j: None)

    with pytest.raises(ArgumentError, match="code of a thread has no threads below it") as caught:
        for_all(b, THREAD, 4, nested)
    assert "Write `loop`" in caught.value.remedy
    with pytest.raises(ArgumentError, match="code of a warp has no warps below it"):
        for_all(b, WARP, 4, lambda c, i: for_all(c, WARP, 4, nested))
    with pytest.raises(ArgumentError, match="push array of a warp is written in code of a block"):
        force(b, push(xs, WARP))
    with pytest.raises(ArgumentError, match="concat has push arrays of a block and of a thread"):
        concat(b, push(xs, BLOCK), push(xs, THREAD))
    with pytest.raises(ArgumentError, match="puts no element"):
        force(b, Push(index(4), BLOCK, lambda c, put: None))


def test_memory_has_a_size():
    """A length that is known at run time only needs a bound."""
    b = Builder()
    n, m = b.param("n", i64), b.param("m", i64)
    xs = Pull(n, lambda c, i: (i,))
    with pytest.raises(ShapeError, match="memory of a block, whose size is fixed") as caught:
        force(b, xs)
    assert "most=1024" in caught.value.remedy
    with pytest.raises(ShapeError, match="arrays of one length, got n_1 and m_2"):
        zipped(xs, read([], m))
