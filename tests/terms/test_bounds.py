"""What is known of an integer holds for every value that its terms give."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from flatweave.base.dtypes import DTYPES, bool_, f32, i8, i32, i64, u8, u64
from flatweave.scalar.function import evaluate_cast
from flatweave.scalar.ops import TABLE, evaluate, result_dtype
from flatweave.terms.bounds import Bounds, bounds_of, bounds_of_dtype
from flatweave.terms.control import Apply, Cast
from flatweave.terms.syntax import Const, Var, constant

COUNT = 200
NUMBERS = [0, 1, -1, 2, 3, 7, 31, 63, 64, 100, -5, 2**31, -(2**63)]
WHOLE = [dtype for dtype in DTYPES if not dtype.is_float]


def known(made, atom):
    return bounds_of(made, atom)


def test_ranges_are_followed_through_arithmetic():
    """Those of dtypes, of remainders, and of what is computed from them."""
    x, k, r, p = Var("x", i32), Var("k", i64), Var("r", i64), Var("p", i64)
    eight = Var("t", i64)
    made = {
        k: Cast(i64, x),
        r: Apply("mod", (k, Const(10, i64))),
        eight: Apply("mul", (r, Const(8, i64))),
        p: Apply("add", (eight, Const(7, i64))),
    }

    assert known(made, k) == Bounds(-(2**31), 2**31 - 1)
    assert known(made, r) == Bounds(0, 9)
    assert known(made, p) == Bounds(7, 79)


def test_a_remainder_of_one_period_keeps_its_range():
    """10 to 12, by 8, is 2 to 4; 7 to 9 wraps."""
    x, y = Var("x", i64), Var("y", i64)
    low = Apply("maximum", (x, Const(10, i64)))
    z, w = Var("z", i64), Var("w", i64)
    made = {y: low, z: Apply("minimum", (y, Const(12, i64))), w: Apply("mod", (z, Const(8, i64)))}

    assert known(made, w) == Bounds(2, 4)
    assert known({**made, w: Apply("mod", (z, Const(11, i64)))}, w) == Bounds(0, 10)


def test_what_may_wrap_has_the_bounds_of_its_dtype():
    """2**31 - 1, plus 1, is -2**31 in 32 bits."""
    x, y = Var("x", i32), Var("y", i32)

    assert known({y: Apply("add", (x, Const(1, i32)))}, y) == bounds_of_dtype(i32)


def test_floats_have_no_bounds_that_integers_get():
    """A cast keeps within its dtype, and nothing more is known."""
    x, y = Var("x", f32), Var("y", i8)

    assert known({y: Cast(i8, x)}, y) == bounds_of_dtype(i8)


@st.composite
def terms(draw):
    """Integers computed from variables and constants, with their values."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    made, values = {}, {}

    def some(dtype):
        if draw(st.booleans()):
            atom = constant(draw(st.sampled_from(NUMBERS)), dtype)
            values[atom] = np.full(COUNT, atom.value, dtype.numpy)
            return atom
        var, (low, high) = Var("x", dtype), bounds_of_dtype(dtype)
        wide = rng.integers(low, high, COUNT, dtype=dtype.numpy, endpoint=True)
        values[var] = np.where(rng.integers(0, 2, COUNT), wide, wide & dtype.numpy.type(7))
        return var

    pool = [some(draw(st.sampled_from([i8, u8, i32, i64, u64]))) for _ in range(3)]
    for _ in range(draw(st.integers(1, 6))):
        a = draw(st.sampled_from(pool))
        if draw(st.integers(0, 3)) == 0:
            dtype = draw(st.sampled_from(WHOLE))
            var, found = Var("c", dtype), evaluate_cast(values[a], dtype)
            made[var] = Cast(dtype, a)
        else:
            alike = [x for x in pool if x.type is a.type]
            names = [n for n, row in TABLE.items() if a.type.kind in row.kinds and n != "from_bits"]
            name = draw(st.sampled_from(names))
            args = [a] + [
                draw(st.sampled_from(alike)) if draw(st.booleans()) else some(a.type)
                for _ in range(TABLE[name].arity - 1)
            ]
            if name == "select":
                args = [constant(draw(st.booleans()), bool_), *args[:2]]
                values[args[0]] = np.full(COUNT, args[0].value)
            dtype = result_dtype(name, [arg.type for arg in args])
            var, found = Var("t", dtype), evaluate(name, *(values[arg] for arg in args))
            made[var] = Apply(name, tuple(args))
        if var.type.is_float:
            continue
        values[var] = found
        pool.append(var)
    return made, values


@given(terms())
def test_no_value_is_outside(term):
    """Whatever wraps, is divided by 0, or is shifted out."""
    made, values = term

    for var in made:
        if var in values:
            low, high = bounds_of(made, var)
            assert low <= int(values[var].min()) and int(values[var].max()) <= high, made[var]
