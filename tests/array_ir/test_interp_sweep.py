"""The meaning of sweeps: prefixes in running order, every kind of sink."""

import numpy as np
import pytest

from flatweave.base.dtypes import i64
from flatweave.ops import (
    Combine,
    Compact,
    Index,
    Insert,
    Prefix,
    ScatterReduce,
    ScatterStore,
    Store,
    Sweep,
)
from flatweave.terms.build import index, lambda_of
from tests.array_ir.programs import (
    affine_loop,
    affine_operator,
    evaluate,
    function,
    last_operator,
    numbers,
    one_op,
)

SIZES = [0, 1, 2, 3, 7, 8, 33]
ADD = lambda_of("add", i64)
ZERO = index(0)
ONE = index(1)


def sweep_of(body, *sinks, extent=None, reverse=False):
    """A sweep over the first array, its body written over the element and its index."""

    def write(b, x, *rest):
        inside = b.inner()
        i = inside.var("i", i64)
        (v,) = inside.emit(Index(x, (i,), checked=False))
        fn = inside.close([i], body(inside, i, v))
        made = tuple(sink(*rest) if callable(sink) else sink for sink in sinks)
        return b.emit(Sweep((extent or x.type.shape[0],), fn, made, reverse))

    return write


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize("reverse", [False, True])
def test_sweep_prefix_accumulates_in_running_order(n, exclusive, reverse):
    """The accumulated value is the left operand; from the last index when in reverse."""
    xs = numbers(n)

    def body(b, i, v):
        return b.emit(Prefix(affine_operator(i64), (ONE, ZERO), (index(2), v), exclusive))

    first, second = evaluate(sweep_of(body, Store(), Store(), reverse=reverse), xs)
    running = xs[::-1] if reverse else xs
    a, b, _ = affine_loop(np.full(n, 2), running, exclusive)

    np.testing.assert_array_equal(first, a[::-1] if reverse else a)
    np.testing.assert_array_equal(second, b[::-1] if reverse else b)


@pytest.mark.parametrize("reverse", [False, True])
def test_sweep_feeds_every_sink(reverse):
    """Every sink of a sweep, each with its share of the results."""
    xs, dest = np.array([4, -1, 7, 2, -3]), np.arange(8) * 100
    half = last_operator(i64)

    def body(b, i, v):
        at = b.apply("mod", v, index(3))
        return v, b.apply("gt", v, ZERO), i, v, at, v, at, v, v

    write = sweep_of(
        body, Store(), Compact(1), Combine(half, (index(9),)), lambda d: ScatterStore((d,)),
        lambda d: ScatterReduce(ADD, (ZERO,), (d,)), lambda d: Insert(d, index(2)), reverse=reverse,
    )
    stored, count, kept, combined, scattered, reduced, inserted = evaluate(write, xs, dest)
    order = range(5)[:: -1 if reverse else 1]
    expected_store, expected_reduce = dest.copy(), dest.copy()
    for i in order:
        expected_store[xs[i] % 3] = xs[i]
        expected_reduce[xs[i] % 3] += xs[i]

    np.testing.assert_array_equal(stored, xs)
    assert count == 3
    np.testing.assert_array_equal(kept, [i for i in order if xs[i] > 0])
    assert combined == xs[order[-1]]
    np.testing.assert_array_equal(scattered, expected_store)
    np.testing.assert_array_equal(reduced, expected_reduce)
    np.testing.assert_array_equal(inserted, [0, 100, *xs, 700])


def test_sweep_over_several_axes_is_row_major():
    """A prefix runs through the rows in order."""
    fn = function(
        [i64, i64], lambda b, i, j: b.emit(Prefix(ADD, (ZERO,), (b.add(i, j),)))
    )
    (ys,) = one_op(lambda: Sweep((index(2), index(3)), fn, (Store(),)))

    np.testing.assert_array_equal(ys, [[0, 1, 3], [4, 6, 9]])
