"""If, While, For and Report under masks, against the same loops in Python and NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from flatweave.base.dtypes import bool_, f32, f64, i32
from flatweave.kernel_ir.syntax import BlockIndex, Report
from flatweave.terms.build import index
from flatweave.terms.control import Cast
from flatweave.terms.syntax import Const, constant
from tests.codegen.llvm_programs import for_each, run_kernel

WIDTHS = [1, 4, 8, 16, 64]


@pytest.mark.parametrize("width", WIDTHS)
def test_if_with_loads_and_stores_at_risk(width: int) -> None:
    """Lanes whose index is outside never touch memory; the others load, store and give a value."""
    xs = np.arange(50, dtype=np.int32)
    at = np.random.default_rng(1).integers(-(10**12), 10**12, 301)
    at[::3] %= 50
    inside = (at >= 0) & (at < 50)
    ys, zs = np.zeros(301, np.int32), np.full(301, -1, np.int32)

    def body(w, n, at, xs, ys, zs):
        def each(w, i):
            j = w.load(at, i)
            good = w.apply(
                "and", w.apply("ge", j, index(0)), w.apply("lt", j, index(50))
            )

            def then(w):
                x = w.load(xs, j)
                w.store(zs, i, x)
                return w.add(x, constant(100, i32))

            def other(w):
                w.store(zs, i, constant(-7, i32))
                return constant(3, i32)

            w.store(ys, i, w.choose(good, then, other))

        for_each(w, n, width, each)

    run_kernel(body, len(at), at, xs, ys, zs)
    loaded = xs[np.where(inside, at, 0)]
    np.testing.assert_array_equal(ys, np.where(inside, loaded + 100, 3))
    np.testing.assert_array_equal(zs, np.where(inside, loaded, -7))


@pytest.mark.parametrize("width", WIDTHS)
def test_cheap_if_is_a_select(width: int) -> None:
    """Two short bodies without memory access give the same as numpy.where."""
    xs = np.random.default_rng(2).standard_normal(99).astype(np.float32)
    ys = np.zeros_like(xs)

    def body(w, n, xs, ys):
        def each(w, i):
            x = w.load(xs, i)
            zero, one = constant(0, f32), constant(1, f32)
            y, z = w.choose(
                w.apply("lt", x, zero),
                lambda w: (w.apply("neg", x), one),
                lambda w: (w.mul(x, x), w.add(x, one)),
            )
            w.store(ys, i, w.add(y, z))

        for_each(w, n, width, each)

    run_kernel(body, len(xs), xs, ys)
    one = np.float32(1)
    np.testing.assert_array_equal(ys, np.where(xs < 0, -xs + one, xs * xs + (xs + one)))


@pytest.mark.sampled
@pytest.mark.parametrize("width", WIDTHS)
def test_nested_ifs(width: int) -> None:
    """An If with a store inside an If with a store: masks of masks."""
    xs = np.random.default_rng(3).integers(0, 8, 203)
    ys = np.zeros(203, np.int64)

    def bit(w, x, k):
        return w.apply("ne", w.apply("and", x, index(1 << k)), index(0))

    def body(w, n, xs, ys):
        def each(w, i):
            x = w.load(xs, i)

            def leaf(value):
                return lambda w: w.store(ys, i, w.add(w.load(ys, i), index(value)))

            def inner(base):
                return lambda w: w.choose(bit(w, x, 1), leaf(base + 2), leaf(base + 0))

            w.choose(bit(w, x, 2), inner(4), inner(0))
            w.when(bit(w, x, 0), leaf(1))

        for_each(w, n, width, each)

    run_kernel(body, len(xs), xs, ys)
    np.testing.assert_array_equal(ys, xs)


def mandelbrot(xs: np.ndarray, ys: np.ndarray, limit: int) -> np.ndarray:
    """The number of iterations that each point stays inside."""
    counts = np.zeros(xs.shape, np.int32)
    a, b = np.zeros_like(xs), np.zeros_like(ys)
    live = np.ones(xs.shape, bool)
    for _ in range(limit):
        live &= a * a + b * b < 4
        a, b = np.where(live, a * a - b * b + xs, a), np.where(live, a * b + a * b + ys, b)
        counts += live
    return counts


@pytest.mark.parametrize("width", WIDTHS)
def test_masked_while(width: int) -> None:
    """Mandelbrot counts: lanes that left keep their values while others go on."""
    random = np.random.default_rng(4)
    xs, ys = (random.uniform(-2, 2, 333).astype(np.float32) for _ in range(2))
    counts = np.zeros(333, np.int32)

    def body(w, n, xs, ys, counts):
        def each(w, i):
            x, y = w.load(xs, i), w.load(ys, i)

            def inside(w, a, b, count):
                near = w.apply("lt", w.add(w.mul(a, a), w.mul(b, b)), constant(4, f32))
                return w.apply("and", near, w.apply("lt", count, constant(50, i32)))

            def turn(w, a, b, count):
                c = w.add(w.sub(w.mul(a, a), w.mul(b, b)), x)
                d = w.add(w.add(w.mul(a, b), w.mul(a, b)), y)
                return c, d, w.add(count, constant(1, i32))

            zero = constant(0, f32)
            *_, count = w.repeat([zero, zero, constant(0, i32)], inside, turn)
            w.store(counts, i, count)

        for_each(w, n, width, each)

    run_kernel(body, len(xs), xs, ys, counts)
    np.testing.assert_array_equal(counts, mandelbrot(xs, ys, 50))


@pytest.mark.parametrize("width", WIDTHS)
def test_while_under_a_mask(width: int) -> None:
    """Collatz steps of the odd numbers only: the loop starts with some lanes already off."""
    xs = np.random.default_rng(5).integers(1, 1000, 205)
    ys = np.zeros(205, np.int64)

    def body(w, n, xs, ys):
        def each(w, i):
            x = w.load(xs, i)

            def steps(w):
                def turn(w, x, count):
                    even = w.apply("eq", w.apply("and", x, index(1)), index(0))
                    half = w.apply("shr", x, index(1))
                    up = w.add(w.mul(x, index(3)), index(1))
                    return w.apply("select", even, half, up), w.add(count, index(1))

                _, count = w.repeat(
                    [x, index(0)], lambda w, x, count: w.apply("gt", x, index(1)), turn
                )
                w.store(ys, i, count)

            w.when(w.apply("ne", w.apply("and", x, index(1)), index(0)), steps)

        for_each(w, n, width, each)

    def collatz(x: int) -> int:
        count = 0
        while x > 1:
            x, count = (x // 2 if x % 2 == 0 else 3 * x + 1), count + 1
        return count

    run_kernel(body, len(xs), xs, ys)
    assert ys.tolist() == [collatz(int(x)) if x % 2 else 0 for x in xs]


@pytest.mark.sampled
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("step", [1, 3])
def test_rows_of_differing_length(width: int, step: int) -> None:
    """A sum over lo <= j < hi for each lane, with gathers inside the masked loop."""
    random = np.random.default_rng(6)
    ends = np.cumsum(random.integers(0, 20, 101))
    offsets = np.concatenate([[0], ends])
    xs = random.standard_normal(int(ends[-1]))
    ys = np.zeros(101)

    def body(w, n, offsets, xs, ys):
        def each(w, i):
            lo, hi = w.load(offsets, i), w.load(offsets, w.add(i, index(1)))
            total = w.loop(
                lo, hi, index(step), [constant(0, f64)],
                lambda w, j, total: w.add(total, w.load(xs, j)),
            )  # fmt: skip
            w.store(ys, i, total)

        for_each(w, n, width, each)

    run_kernel(body, len(ys), offsets, xs, ys)
    rows = zip(offsets[:-1], offsets[1:], strict=True)
    np.testing.assert_array_equal(ys, [np.sum([0.0, *xs[a:b:step].cumsum()[-1:]]) for a, b in rows])


@pytest.mark.parametrize("width", WIDTHS)
def test_nested_for_with_uniform_and_linear_bounds(width: int) -> None:
    """Uniform outer iterations; inner ones from i to i + 5, equal in all lanes."""
    xs = np.random.default_rng(7).integers(0, 1000, 200)
    ys = np.zeros(100, np.int64)

    def body(w, n, xs, ys):
        def each(w, i):
            def outer(w, k, total):
                return w.loop(
                    i, w.add(i, index(30)), index(1), [total],
                    lambda w, j, t: w.add(t, w.mul(k, w.load(xs, j))),
                )  # fmt: skip

            w.store(ys, i, w.loop(index(0), index(5), index(2), [index(0)], outer))

        for_each(w, n, width, each)

    run_kernel(body, len(ys), xs, ys)
    np.testing.assert_array_equal(ys, [6 * xs[i : i + 30].sum() for i in range(100)])


@pytest.mark.parametrize("width", WIDTHS)
def test_counted_loop_carries_linear_and_varying_state(width: int) -> None:
    """A position that steps by n stays linear; a value that starts uniform varies."""
    xs = np.random.default_rng(8).integers(0, 1000, (60, 64))
    ys, at = np.zeros(64, np.int64), np.zeros(64, np.int64)

    def body(w, n, rows, xs, ys, at):
        def each(w, i):
            def turn(w, k, j, total):
                return w.add(j, n), w.add(total, w.load(xs, j))

            j, total = w.loop(index(0), rows, index(1), [i, index(0)], turn)
            w.store(ys, i, total)
            w.store(at, i, j)

        for_each(w, n, width, each)

    run_kernel(body, 64, 60, xs.reshape(-1), ys, at)
    np.testing.assert_array_equal(ys, xs.sum(0))
    np.testing.assert_array_equal(at, np.arange(64) + 60 * 64)


@pytest.mark.parametrize("width", WIDTHS)
def test_report_of_the_middle_lane(width: int) -> None:
    """The least bad element is reported with its value, however many there are."""
    xs = np.arange(1000)
    xs[[500, 501, 777]] = [-5, -6, -7]
    ys = np.zeros(1000, np.int64)

    def body(w, n, xs, ys):
        def each(w, i):
            x = w.load(xs, i)
            w.choose(
                w.apply("lt", x, index(0)),
                lambda w: (w.do(Report(2, 17, i, x, n)), None)[1],
                lambda w: w.store(ys, i, x),
            )

        for_each(w, n, width, each)

    outcome = run_kernel(body, len(xs), xs, ys)
    assert outcome.status == 1
    assert outcome.report == (2, 17, 500, -5, 1000)
    np.testing.assert_array_equal(ys, np.maximum(xs, 0))


@pytest.mark.parametrize("width", [1, 16])
def test_report_of_all_lanes_and_of_other_dtypes(width: int) -> None:
    """Without a mask every lane reports; values of any dtype come as i64 bits."""
    xs = np.array([3, -2, 5] * 16, np.int8)

    def body(w, xs):
        def region(w):
            i = w.lane(index(1))
            w.do(Report(4, 1, i, w.load(xs, i), constant(1.5, f64)))

        w.lanes(width, region)

    outcome = run_kernel(body, xs)
    assert outcome.report == (4, 1, 1, -2, int(np.array(1.5).view(np.int64)))


@pytest.mark.parametrize("width", WIDTHS)
def test_uniform_if_and_while_in_lanes(width: int) -> None:
    """Branches that all lanes take alike, with linear, varying and uniform results."""
    xs = np.random.default_rng(9).integers(0, 99, 2 * width)
    ys = np.zeros((4, width), np.int64)

    def body(w, xs, ys):
        block = w.do(BlockIndex())
        even = w.apply("eq", w.apply("and", block, index(1)), index(0))

        def region(w):
            i = w.lane(index(0))
            j, k, m = w.choose(
                even,
                lambda w: (i, w.load(xs, i), w.mul(block, index(7))),
                lambda w: (w.add(i, index(width)), i, block),
            )
            _, total = w.repeat(
                [index(0), index(0)],
                lambda w, t, total: w.apply("lt", t, block),
                lambda w, t, total: (w.add(t, index(1)), w.add(total, w.load(xs, j))),
            )
            out = w.add(w.mul(block, index(width)), i)
            w.store(ys, out, w.add(total, w.add(w.mul(k, index(1000)), m)))

        w.lanes(width, region)

    run_kernel(body, xs, ys, grid=4)
    for block in range(4):
        first, second = xs[:width], xs[width:]
        j, k, m = (first, first, 7 * block) if block % 2 == 0 else (second, np.arange(width), block)
        np.testing.assert_array_equal(ys[block], block * j + 1000 * k + m)


@pytest.mark.parametrize("width", WIDTHS)
def test_short_constant_loops_are_written_out(width: int) -> None:
    """A loop of three iterations with the counter as an index offset."""
    xs = np.random.default_rng(10).integers(0, 99, 120)
    ys = np.zeros(100, np.int64)

    def body(w, n, xs, ys):
        def each(w, i):
            total = w.loop(
                index(0), index(3), index(1), [index(0)],
                lambda w, k, t: w.add(w.mul(t, index(10)), w.load(xs, w.add(i, k))),
            )  # fmt: skip
            w.store(ys, i, total)

        for_each(w, n, width, each)

    run_kernel(body, 100, xs, ys)
    np.testing.assert_array_equal(ys, xs[:100] * 100 + xs[1:101] * 10 + xs[2:102])


@pytest.mark.parametrize("width", WIDTHS)
def test_casts_of_lane_numbers(width: int) -> None:
    """Lane numbers as narrow integers, floats and bools."""
    outs = [np.zeros(100, name) for name in ("int8", "uint16", "int32", "float32", "?")]

    def body(w, n, *outs):
        def each(w, i):
            j = w.sub(w.add(i, index(1 << 40)), index(50))
            for out in outs:
                w.store(out, i, w.do(Cast(out.type.dtype, j)))

        for_each(w, n, width, each)

    run_kernel(body, 100, *outs)
    expected = np.arange(100) + (1 << 40) - 50
    for out in outs:
        np.testing.assert_array_equal(out, expected.astype(out.dtype))


def test_constant_conditions_choose_at_once() -> None:
    """An If on a literal becomes one of its bodies."""
    ys = np.zeros(1, np.int64)

    def body(w, ys):
        w.store(ys, index(0), w.choose(Const(True, bool_), lambda w: index(3), lambda w: index(4)))

    run_kernel(body, ys)
    assert ys[0] == 3


def test_counters_of_other_dtypes() -> None:
    """The counter of a loop may be any integer."""
    ys = np.zeros(1, np.int32)

    def body(w, n, ys):
        def turn(w, i, total):
            return w.add(total, i)

        total = w.loop(constant(0, i32), n, constant(2, i32), [constant(0, i32)], turn)
        w.store(ys, index(0), total)

    run_kernel(body, np.int32(11), ys)
    assert ys[0] == 30
