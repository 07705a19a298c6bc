"""What lanes do together, against the same fold in Python: order, any operator, any dtype."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Sequence

import numpy as np
import pytest

import flatweave as fw
from flatweave.base.dtypes import DTYPES, DType, bool_, f32, f64, i8, i32, i64
from flatweave.codegen.llvm import isa
from flatweave.kernel_ir.syntax import StoreCompact
from flatweave.kernel_ir.warp_ops import (
    Ballot,
    CountLanes,
    InSet,
    LastLane,
    ReduceLanes,
    ScanLanes,
    ShiftLanes,
)
from flatweave.runtime.native import optimised_text
from flatweave.runtime.processor import processor
from flatweave.scalar import ops as scalar
from flatweave.terms.build import index, lambda_of
from flatweave.terms.syntax import constant
from tests.codegen.llvm_programs import HOST, PORTABLE, run_kernel
from tests.quick import every

WIDTHS = [1, 2, 4, 8, 16, 32, 64]
NO_VBMI2 = isa.of(processor().features - {"avx512vbmi2"})
SETS = {"host": HOST, "portable": PORTABLE, "no vbmi2": NO_VBMI2}


def values(dtype: DType, count: int, seed: int = 0) -> np.ndarray:
    """Small whole numbers, so that sums of floats are exact in any order."""
    found = np.random.default_rng(seed).integers(0, 100, count)
    return found % 2 == 0 if dtype is bool_ else found.astype(dtype.numpy)


def fold(fn: Callable[..., tuple], rows: Sequence[np.ndarray], inclusive: bool) -> list[tuple]:
    """All prefixes of the rows combined from the left, or the last one."""
    total = tuple(row[0] for row in rows)
    prefixes = [total]
    with np.errstate(all="ignore"):
        for xs in zip(*(row[1:] for row in rows), strict=True):
            total = fn(*total, *xs)
            prefixes.append(total)
    return prefixes if inclusive else prefixes[-1:]


def affine(a, b, c, d):
    """x -> b + a x, then x -> d + c x: not commutative."""
    return a * c, b * c + d


@pytest.mark.parametrize("width", WIDTHS)
def test_operators_that_do_not_commute(width: int) -> None:
    """Reduce and scan of affine functions on pairs of i64, in lane order."""
    a, b = (np.random.default_rng(s).integers(-9, 9, width) for s in (1, 2))
    totals, sa, sb = np.zeros(2, np.int64), np.zeros_like(a), np.zeros_like(b)

    def body(w, a, b, totals, sa, sb):
        def compose(w, a, b, c, d):
            return w.mul(a, c), w.add(w.mul(b, c), d)

        fn = w.fn([i64] * 4, compose)

        def region(w):
            i = w.lane(index(0))
            x, y = w.load(a, i), w.load(b, i)
            p, q = w.do(ReduceLanes(fn, (x, y)))
            w.store(totals, index(0), p)
            w.store(totals, index(1), q)
            u, v = w.do(ScanLanes(fn, (index(1), index(0)), (x, y)))
            w.store(sa, i, u)
            w.store(sb, i, v)

        w.lanes(width, region)

    run_kernel(body, a, b, totals, sa, sb)
    expected = fold(affine, [a, b], inclusive=True)
    assert tuple(totals) == expected[-1]
    np.testing.assert_array_equal(np.stack([sa, sb], 1), expected)


@pytest.mark.sampled
@pytest.mark.parametrize("dtype", every(2, DTYPES), ids=str)
@pytest.mark.parametrize("fn", ["add", "mul", "minimum", "maximum", "and", "or", "xor"])
def test_scalar_operators_of_every_dtype(fn: str, dtype: DType) -> None:
    """Reduce and scan with one scalar function at every width."""
    if dtype.kind not in scalar.TABLE[fn].kinds:
        pytest.skip("the function is not defined for the dtype")
    for width in WIDTHS:
        xs = values(dtype, width, seed=width)
        if fn == "mul":
            xs = np.minimum(xs, np.ones_like(xs) + np.ones_like(xs))
        total, prefixes = np.zeros(1, dtype.numpy), np.zeros_like(xs)

        def body(w, xs, total, prefixes, width=width):
            def region(w):
                i = w.lane(index(0))
                x = w.load(xs, i)
                w.store(total, index(0), w.do(ReduceLanes(lambda_of(fn, dtype), (x,))))
                neutral = constant(scalar.neutral(fn, dtype), dtype)
                prefix = w.do(ScanLanes(lambda_of(fn, dtype), (neutral,), (x,)))
                w.store(prefixes, i, prefix)

            w.lanes(width, region)

        run_kernel(body, xs, total, prefixes)
        expected = fold(lambda a, b: (scalar.evaluate(fn, a, b)[()],), [xs], inclusive=True)
        np.testing.assert_array_equal(prefixes, np.array(expected, dtype.numpy)[:, 0])
        assert total[0] == expected[-1][0]


@pytest.mark.parametrize("width", WIDTHS)
def test_operators_with_branches_and_mixed_dtypes(width: int) -> None:
    """A segmented argmax: (flag, f32, i64), If inside the operator."""
    random = np.random.default_rng(3)
    flags, xs = random.random(width) < 0.2, random.standard_normal(width).astype(np.float32)
    out = np.zeros(width, bool), np.zeros(width, np.float32), np.zeros(width, np.int64)

    def body(w, flags, xs, *out):
        def operator(w, f, x, i, g, y, j):
            def merge(w):
                larger = w.apply("gt", y, x)
                return w.apply("select", larger, y, x), w.apply("select", larger, j, i)

            return w.apply("or", f, g), *w.choose(g, lambda w: (y, j), merge)

        fn = w.fn([bool_, f32, i64] * 2, operator)

        def region(w):
            i = w.lane(index(0))
            neutral = (constant(0, bool_), constant(-np.inf, f32), index(-1))
            found = w.do(ScanLanes(fn, neutral, (w.load(flags, i), w.load(xs, i), i)))
            for buffer, x in zip(out, found, strict=True):
                w.store(buffer, i, x)

        w.lanes(width, region)

    def combine(f, x, i, g, y, j):
        return (f or g, *((y, j) if g or y > x else (x, i)))

    run_kernel(body, flags, xs, *out)
    expected = fold(combine, [flags, xs, np.arange(width)], inclusive=True)
    for got, want in zip(out, zip(*expected, strict=True), strict=True):
        np.testing.assert_array_equal(got, want)


@pytest.mark.sampled
@pytest.mark.parametrize("width", WIDTHS)
def test_operators_with_loops(width: int) -> None:
    """gcd by a masked loop inside the operator."""
    xs = np.random.default_rng(4).integers(1, 60, width) * 12
    ys, total = np.zeros_like(xs), np.zeros(1, np.int64)

    def body(w, xs, ys, total):
        def gcd(w, a, b):
            def turn(w, a, b):
                return b, w.apply("mod", a, b)

            def going(w, a, b):
                return w.apply("ne", b, index(0))

            return w.repeat([a, b], going, turn)[0]

        fn = w.fn([i64, i64], gcd)

        def region(w):
            i = w.lane(index(0))
            w.store(total, index(0), w.do(ReduceLanes(fn, (w.load(xs, i),))))
            w.store(ys, i, w.do(ScanLanes(fn, (index(0),), (w.load(xs, i),))))

        w.lanes(width, region)

    run_kernel(body, xs, ys, total)
    np.testing.assert_array_equal(ys, np.gcd.accumulate(xs))
    assert total[0] == np.gcd.reduce(xs)


@pytest.mark.sampled
@pytest.mark.parametrize("chosen", SETS)
@pytest.mark.parametrize("share", [0.0, 0.1, 0.6, 1.0])
@pytest.mark.parametrize("width", WIDTHS)
def test_scans_that_start_anew(width: int, share: float, chosen: str) -> None:
    """From the last start on, register by register or, by an operator with a loop, in one go."""
    random = np.random.default_rng(width)
    starts, xs = random.random(width) < share, random.integers(1, 60, width) * 12
    small = xs.astype(np.int8)
    out = np.zeros_like(xs), np.zeros_like(xs), np.zeros_like(xs), np.zeros_like(small)

    def body(w, starts, xs, small, *out):
        def gcd(w, a, b):
            def going(w, a, b):
                return w.apply("ne", b, index(0))

            return w.repeat([a, b], going, lambda w, a, b: (b, w.apply("mod", a, b)))[0]

        def compose(w, a, b, s, c, d, t):
            return w.mul(a, c), w.add(w.mul(b, c), d), w.apply("add", s, t)

        mixed, neutral = [i64, i64, i8], (index(1), index(0), constant(0, i8))

        def region(w):
            i = w.lane(index(0))
            start, x, y = w.load(starts, i), w.load(xs, i), w.load(small, i)
            found = [
                w.do(ScanLanes(w.fn([i64, i64], gcd), (index(0),), (x,), (start,))),
                *w.do(ScanLanes(w.fn(mixed * 2, compose), neutral, (x, i, y), (start,))),
            ]
            for buffer, value in zip(out, found, strict=True):
                w.store(buffer, i, value)

        w.lanes(width, region)

    def combine(g, a, b, s, h, c, d, t):
        return np.gcd(g, h), *affine(a, b, c, d), s + t

    run_kernel(body, starts, xs, small, *out, isa=SETS[chosen])
    rows = [xs, xs, np.arange(width), small]
    bounds = [0, *(i for i in range(1, width) if starts[i]), width]
    parts = [[row[a:b] for row in rows] for a, b in itertools.pairwise(bounds)]
    expected = [prefix for part in parts for prefix in fold(combine, part, inclusive=True)]
    for got, want in zip(out, zip(*expected, strict=True), strict=True):
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("width", WIDTHS)
def test_ballot_and_in_set(width: int) -> None:
    """A bit for each lane, and the lanes of some bits."""
    flags = np.random.default_rng(width).random(width) < 0.4
    sets, others = np.zeros(1, np.uint64), np.zeros(width, bool)

    def body(w, flags, sets, others):
        def region(w):
            found = w.do(Ballot(w.load(flags, w.lane(index(0)))))
            w.store(sets, index(0), found)
            w.store(others, w.lane(index(0)), w.do(InSet(w.apply("not", found))))

        w.lanes(width, region)

    run_kernel(body, flags, sets, others)
    assert int(sets[0]) == sum(1 << int(i) for i in np.flatnonzero(flags))
    assert others.tolist() == (~flags).tolist()


@pytest.mark.parametrize("width", WIDTHS)
def test_shift_last_and_count(width: int) -> None:
    """Values move up by one lane; the last ones and the number of flags are uniform."""
    xs = np.random.default_rng(5).integers(-9, 9, width).astype(np.int8)
    ys, zs, ws = np.zeros_like(xs), np.zeros(width, np.int64), np.zeros(5, np.int64)

    def body(w, xs, ys, zs, ws):
        def region(w):
            i = w.lane(index(10))
            j = w.lane(index(20), reverse=True)
            x = w.load(xs, w.sub(i, index(10)))
            a, b = w.do(ShiftLanes((constant(77, i8), index(-1)), (x, i)))
            w.store(ys, w.lane(index(0)), a)
            w.store(zs, w.lane(index(0)), b)
            last, up, down, same = w.do(LastLane((x, i, j, index(6))))
            positive = w.apply("gt", x, constant(0, i8))
            w.store(ws, index(0), w.cast(last, i64))
            for place, value in enumerate([up, down, same, w.do(CountLanes(positive))]):
                w.store(ws, index(place + 1), value)

        w.lanes(width, region)

    run_kernel(body, xs, ys, zs, ws)
    assert ys.tolist() == [77, *xs[:-1]]
    assert zs.tolist() == [-1, *range(10, 9 + width)]
    assert ws.tolist() == [xs[-1], 9 + width, 21 - width, 6, (xs > 0).sum()]


@pytest.mark.parametrize("width", WIDTHS)
def test_collectives_of_uniform_values(width: int) -> None:
    """A value that is the same in all lanes counts once for each lane."""
    ys, zs = np.zeros(3, np.int64), np.zeros(width)

    def body(w, ys, zs):
        def region(w):
            five = w.load(ys, index(2))
            w.store(ys, index(0), w.do(ReduceLanes(lambda_of("add", i64), (five,))))
            w.store(ys, index(1), w.do(CountLanes(w.apply("eq", five, index(5)))))
            add = lambda_of("add", f64)
            prefix = w.do(ScanLanes(add, (constant(0, f64),), (constant(2, f64),)))
            w.store(zs, w.lane(index(0)), prefix)

        w.lanes(width, region)

    ys[2] = 5
    run_kernel(body, ys, zs)
    assert ys.tolist() == [5 * width, width, 5]
    assert zs.tolist() == [2.0 * (k + 1) for k in range(width)]


def test_float_sums_are_the_same_at_every_run() -> None:
    """The order of a float reduction is fixed: halves of halves."""
    xs = np.random.default_rng(6).standard_normal(16).astype(np.float32)
    ys = np.zeros(1, np.float32)

    def body(w, xs, ys):
        def region(w):
            x = w.load(xs, w.lane(index(0)))
            w.store(ys, index(0), w.do(ReduceLanes(lambda_of("add", f32), (x,))))

        w.lanes(16, region)

    run_kernel(body, xs, ys)
    while len(xs) > 1:
        xs = xs[: len(xs) // 2] + xs[len(xs) // 2 :]
    assert ys[0] == xs[0]


# -- store_compact -----------------------------------------------------------------------------


@pytest.mark.sampled
@pytest.mark.parametrize("chosen", SETS, ids=str)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("width", WIDTHS)
def test_compact_of_every_dtype(width: int, dtype: DType, chosen: str) -> None:
    """Two buffers of different dtypes keep the chosen lanes in order, warp after warp."""
    random = np.random.default_rng(width)
    n = 10 * width
    xs, keep = values(dtype, n, 7), random.random(n) < np.linspace(0, 1, n)
    ys = np.zeros(n + width, dtype.numpy)
    at, count = np.full(n + width, -1, np.int32), np.zeros(1, np.int64)

    def body(w, n, limit, xs, keep, ys, at, count):
        def turn(w, i, base):
            def region(w):
                j = w.lane(i)
                flag, x = w.load(keep, j), w.load(xs, j)
                w.do(StoreCompact((ys, at), base, limit, flag, (x, w.cast(j, i32))))
                return w.add(base, w.do(CountLanes(flag)))

            return w.lanes(width, region)

        total = w.loop(index(0), n, index(width), [index(0)], turn)
        w.store(count, index(0), total)

    limit = int(keep.sum())
    run_kernel(body, n, limit, xs, keep, ys, at, count, isa=SETS[chosen])
    assert count[0] == limit
    np.testing.assert_array_equal(ys[:limit], xs[keep])
    np.testing.assert_array_equal(at[:limit], np.flatnonzero(keep))
    assert (at[limit:] == -1).all()


def test_compact_under_a_mask() -> None:
    """Lanes that do not run are not kept."""
    xs, ys = np.arange(16, dtype=np.int32), np.zeros(32, np.int32)

    def body(w, xs, ys):
        def region(w):
            x = w.load(xs, w.lane(index(0)))

            def odd(w):
                small = w.apply("lt", x, constant(9, i32))
                w.do(StoreCompact((ys,), index(0), index(30), small, (x,)))
                w.store(ys, index(31), w.cast(w.do(CountLanes(small)), i32))

            one = constant(1, i32)
            w.when(w.apply("eq", w.apply("and", x, one), one), odd)

        w.lanes(16, region)

    run_kernel(body, xs, ys)
    assert ys[:4].tolist() == [1, 3, 5, 7]
    assert ys[31] == 4


def test_lanes_that_were_filled_stay_filled():
    """Nothing of them is wanted where an operator chooses, and registers hold slow numbers."""
    linear = fw.jit(lambda a, b: fw.scan(
        lambda f, g: (f[0] * g[0], f[1] * g[0] + g[1]), (1.0, 0.0), (a, b)
    ))  # fmt: skip
    text = optimised_text(linear.stages(np.ones(4), np.ones(4)).text["llvm"])
    multiplied = re.findall(r"fmul <\d+ x double> (%\S+), (%\S+)", text)
    shuffles = dict(re.findall(r"(%\S+) = shufflevector (.*)", text))
    operands = [shuffles[name] for pair in multiplied for name in pair if name in shuffles]

    assert "@llvm.arithmetic.fence" in text
    assert not any("poison, i32" in operand or "i32 poison" in operand for operand in operands)
