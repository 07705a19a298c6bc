"""Which variables of a region are uniform, linear, reversed or varying."""

from __future__ import annotations

from flatweave.base.dtypes import BY_NAME, f32, i32, i64
from flatweave.codegen.llvm.shapes import (
    LINEAR,
    REVERSED,
    UNIFORM,
    VARYING,
    Region,
    Shape,
    apply_shape,
    lane_shapes,
)
from flatweave.codegen.llvm.unit import emit
from flatweave.kernel_ir.lane_facts import trailing_zeros
from flatweave.kernel_ir.warp_ops import LastLane, ReduceLanes, ScanLanes, ShiftLanes
from flatweave.terms.build import index, lambda_of
from flatweave.terms.syntax import Const, constant
from tests.codegen.llvm_programs import HOST, Writer, buffer, for_each, kernel_unit

XS = Writer().var("xs", buffer("i64"))


def shapes_of(body) -> list[Shape]:
    """The shapes of the results of a region whose body is written by a function."""
    fn = Writer().fn([], body)
    found = lane_shapes(fn)
    return [UNIFORM if isinstance(x, Const) else found.get(x, UNIFORM) for x in fn.results]


def test_sums_of_lane_numbers() -> None:
    """Adding and subtracting what is uniform keeps a value linear, or reverses it."""
    n = Writer().var("n", i64)

    def body(w):
        i = w.lane(n)
        back = w.sub(n, i)
        return [
            i, w.add(i, n), w.add(n, i), w.sub(i, n), back, w.sub(n, back), w.add(back, n),
            w.add(i, back), w.sub(i, w.add(i, n)), w.mul(i, n), w.lane(n, reverse=True),
            w.apply("lt", i, w.add(i, n)), w.apply("lt", i, n),
        ]  # fmt: skip

    assert shapes_of(body) == [
        LINEAR, LINEAR, LINEAR, LINEAR, REVERSED, LINEAR, REVERSED,
        UNIFORM, UNIFORM, VARYING, REVERSED, UNIFORM, VARYING,
    ]  # fmt: skip


def test_only_i64_is_linear() -> None:
    """Narrow integers wrap where a base would not."""
    assert apply_shape("add", [LINEAR, UNIFORM], i64) is LINEAR
    assert apply_shape("add", [LINEAR, UNIFORM], BY_NAME["i32"]) is VARYING
    assert apply_shape("select", [UNIFORM, LINEAR, LINEAR], i64) is LINEAR
    assert apply_shape("select", [VARYING, LINEAR, LINEAR], i64) is VARYING
    assert apply_shape("maximum", [REVERSED, REVERSED], i64) is REVERSED
    assert apply_shape("neg", [LINEAR], i64) is VARYING


def test_lanes_that_begin_at_a_multiple() -> None:
    """The low bits of a base are the number of the lane; without that nothing follows."""
    n = Writer().var("n", i64)

    def body(w):
        base = w.mul(n, index(32))
        i, j = w.lane(base), w.lane(n)
        return [
            w.apply(fn, x, index(by))
            for x in (i, j)
            for fn, by in [
                ("floordiv", 32), ("floordiv", 8), ("floordiv", -32), ("mod", 48), ("mod", 24),
                ("and", 48), ("and", 31), ("and", 8), ("xor", 16), ("xor", 15), ("xor", 1),
                ("shr", 4), ("shr", 3), ("shr", 64), ("lt", 48), ("lt", 40), ("ge", 16), ("le", 15),
            ]
        ] + [w.apply("or", base, i), w.apply("le", base, i), w.apply("gt", n, i)]  # fmt: skip

    fn = Writer().fn([], body)
    zeros = trailing_zeros(fn)
    found = lane_shapes(fn, Region(16, zeros))

    assert [found.get(x, UNIFORM) for x in fn.results] == [
        UNIFORM, VARYING, VARYING, LINEAR, VARYING,
        UNIFORM, LINEAR, VARYING, LINEAR, REVERSED, VARYING,
        UNIFORM, VARYING, VARYING, UNIFORM, VARYING, UNIFORM, VARYING,
        *[VARYING] * 18, LINEAR, UNIFORM, VARYING,
    ]  # fmt: skip
    assert all(lane_shapes(fn, Region(12, zeros))[x] is VARYING for x in fn.results[:18])


def test_loads_and_collectives() -> None:
    """A load varies with its index; reductions are uniform, scans and shifts are not."""

    def body(w):
        i = w.lane(index(0))
        x = w.load(XS, i)
        add = lambda_of("add", i64)
        return [
            x, w.load(XS, index(3)), w.cast(i, f32), w.cast(w.load(XS, index(4)), i32),
            w.do(ReduceLanes(add, (x,))), w.do(ScanLanes(add, (index(0),), (x,))),
            w.do(ShiftLanes((index(0),), (index(5),))), w.do(LastLane((x,))),
        ]  # fmt: skip

    assert shapes_of(body) == [
        VARYING, UNIFORM, VARYING, UNIFORM, UNIFORM, VARYING, VARYING, UNIFORM,
    ]  # fmt: skip


def test_what_a_loop_carries() -> None:
    """State that varies after an iteration varies from the start; the rest keeps its shape."""

    def body(w):
        i = w.lane(index(0))

        def turn(w, k, linear, uniform, first, second):
            return w.add(linear, k), w.add(uniform, k), second, w.load(XS, i)

        zero = index(0)
        return w.loop(zero, w.load(XS, zero), index(1), [i, zero, zero, zero], turn)

    assert shapes_of(body) == [LINEAR, UNIFORM, VARYING, VARYING]


def test_differing_turns_make_everything_vary() -> None:
    """Lanes that stop early keep what they had, so nothing stays uniform."""

    def body(w):
        i = w.lane(index(0))
        hi = w.load(XS, i)
        one = index(1)
        total = w.loop(index(0), hi, one, [index(0)], lambda w, k, t: w.add(t, k))
        same = w.loop(i, w.add(i, index(9)), one, [index(0)], lambda w, k, t: w.add(t, one))
        t, _ = w.repeat(
            [index(0), hi],
            lambda w, t, x: w.apply("gt", x, index(0)),
            lambda w, t, x: (w.add(t, index(1)), w.sub(x, t)),
        )
        return total, same, t

    assert shapes_of(body) == [VARYING, UNIFORM, VARYING]


def test_branches() -> None:
    """A branch all lanes take keeps shapes that agree; one they may not take makes all vary."""

    def body(w):
        i = w.lane(index(0))
        x = w.load(XS, i)
        flag = w.apply("lt", w.load(XS, index(0)), index(3))
        one, two = index(1), index(2)
        a = w.choose(flag, lambda w: (i, i, one), lambda w: (w.add(i, one), x, two))
        b = w.choose(w.apply("lt", x, one), lambda w: (one,), lambda w: (two,))
        return [*a, b]

    assert shapes_of(body) == [LINEAR, VARYING, UNIFORM, VARYING]


def test_the_same_unit_gives_the_same_text() -> None:
    """Emission depends on nothing but the unit."""

    def body(w, n, xs):
        for_each(w, n, 16, lambda w, i: w.store(xs, i, w.add(w.load(xs, i), constant(1, f32))))

    unit = kernel_unit([i64, buffer(f32)], body)
    assert emit(unit, HOST) == emit(unit, HOST)
