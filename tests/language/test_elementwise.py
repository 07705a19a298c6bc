"""Elementwise functions and operators: NumPy's values, dtypes and shapes."""

import operator

import numpy as np
import pytest

import flatweave as fw
from tests.language.agreement import DTYPES, FLOATS, INTEGERS, agree, same, values

COMPARISONS = ["eq", "ne", "lt", "le", "gt", "ge"]
ARITHMETIC = ["add", "sub", "mul", "truediv", "floordiv", "mod"]
BITS = ["and_", "or_", "xor"]
FUNCTIONS = {
    "sqrt": np.sqrt, "exp": np.exp, "log": np.log, "sin": np.sin, "cos": np.cos, "tan": np.tan,
    "tanh": np.tanh, "atan": np.arctan, "sinh": np.sinh, "log1p": np.log1p, "expm1": np.expm1,
    "cbrt": np.cbrt, "exp2": np.exp2, "log2": np.log2, "log10": np.log10, "asinh": np.arcsinh,
}  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES)
def test_comparisons(target, dtype):
    """They give bools for every dtype."""
    x, y = values(dtype, 65), values(dtype, 65, seed=1)
    ops = [getattr(operator, name) for name in COMPARISONS]

    agree(lambda x, y: [op(x, y) for op in ops], [op(x, y) for op in ops], x, y)


@pytest.mark.parametrize("dtype", INTEGERS + FLOATS)
def test_arithmetic(target, dtype):
    """Integers wrap silently, quotients round down, floats follow IEEE 754."""
    x, y = values(dtype, 65), values(dtype, 65, seed=1)
    y[y == 0] = 3
    ops = [getattr(operator, name) for name in ARITHMETIC]

    agree(lambda x, y: [op(x, y) for op in ops], [op(x, y) for op in ops], x, y)


@pytest.mark.parametrize("dtype", DTYPES[:9])
def test_bits(target, dtype):
    """Bit by bit on integers, logical on bools."""
    x, y = values(dtype, 65), values(dtype, 65, seed=1)
    ops = [getattr(operator, name) for name in BITS]

    agree(lambda x, y: [op(x, y) for op in ops], [op(x, y) for op in ops], x, y)
    agree(lambda x: ~x, ~x, x)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_shifts(target, dtype):
    """A shift by the width or more leaves 0, or -1 for negative values shifted right."""
    x = values(dtype, 65)
    by = np.arange(65).astype(dtype)
    width = 8 * x.dtype.itemsize
    inside = np.minimum(by, width - 1).astype(dtype)
    left = np.where(by < width, x << inside, 0).astype(dtype)
    right = x >> inside
    if x.dtype.kind == "u":
        right = np.where(by < width, right, 0).astype(dtype)

    agree(lambda x, by: (x << by, x >> by), (left, right), x, by)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_counting_bits(target, dtype):
    """popcount, clz and ctz keep the dtype; 0 has as many zeros as bits."""
    x = values(dtype, 65)
    x[:2] = 0, 1
    width = 8 * x.dtype.itemsize
    texts = [format(int(v) & ((1 << width) - 1), f"0{width}b") for v in x]
    ones = np.array([t.count("1") for t in texts], dtype)
    leading = np.array([len(t) - len(t.lstrip("0")) for t in texts], dtype)
    trailing = np.array([len(t) - len(t.rstrip("0")) for t in texts], dtype)

    agree(
        lambda x: (fw.popcount(x), fw.clz(x), fw.ctz(x)), (ones, leading, trailing), x
    )


@pytest.mark.parametrize("dtype", FLOATS)
def test_functions(target, dtype):
    """Within a few ulps of NumPy."""
    x = np.abs(values(dtype, 65)) / 4 + dtype(0.25)
    ours = [getattr(fw, name) for name in FUNCTIONS]

    agree(lambda x: [f(x) for f in ours], [f(x) for f in FUNCTIONS.values()], x, ulps=16)


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint32])
def test_functions_of_integers(target, dtype):
    """Narrow integers become f32, wide ones f64."""
    x = np.abs(values(dtype, 9)).astype(dtype)
    wide = np.float32 if x.dtype.itemsize <= 2 else np.float64

    agree(lambda x: fw.sqrt(x), np.sqrt(x.astype(wide)), x)


def test_rounding(target):
    """To the even neighbour at halves; integers stay as they are."""
    x = np.array([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 2.4, np.inf])
    fns = [np.floor, np.ceil, np.rint, np.trunc]

    agree(
        lambda x: [fw.floor(x), fw.ceil(x), fw.round(x), fw.trunc(x)], [f(x) for f in fns], x
    )
    agree(lambda x: round(x), np.arange(3), np.arange(3))


@pytest.mark.parametrize("dtype", INTEGERS + FLOATS)
def test_abs_sign_neg(target, dtype):
    """The least integer has no opposite and stays."""
    x = values(dtype, 65)
    if x.dtype.kind == "i":
        x[0] = np.iinfo(dtype).min

    agree(lambda x: (abs(x), fw.sign(x), -x), (np.abs(x), np.sign(x), -x), x)


def test_minimum_of_nan(target):
    """NaN wins, as NumPy has it."""
    x = np.array([1.0, np.nan, 3.0, np.nan])
    y = np.array([2.0, 2.0, np.nan, np.nan])

    agree(
        lambda x, y: (fw.minimum(x, y), fw.maximum(x, y)), (np.minimum(x, y), np.maximum(x, y)),
        x, y,
    )  # fmt: skip


def test_tests_of_floats(target):
    """isnan, isinf, isfinite."""
    x = np.array([0.0, np.nan, np.inf, -np.inf, 1e308])

    agree(
        lambda x: (fw.isnan(x), fw.isinf(x), fw.isfinite(x)),
        (np.isnan(x), np.isinf(x), np.isfinite(x)), x,
    )  # fmt: skip


@pytest.mark.parametrize("left", DTYPES)
def test_promotion_of_arrays(target, left):
    """Two dtypes meet as NumPy 2 has it."""
    x = values(left, 5)
    others = [values(right, 5, seed=1) for right in DTYPES]

    agree(lambda x, others: [x * y for y in others], [x * y for y in others], x, others)


@pytest.mark.parametrize("dtype", DTYPES)
def test_python_scalars_are_weak(target, dtype):
    """A Python number takes the array's dtype, but not its kind (NEP 50)."""
    x = values(dtype, 5)

    agree(lambda x: (x + 1, x * 1.5, x + True), (x + 1, x * 1.5, x + True), x)


@pytest.mark.parametrize("dtype", DTYPES[1:])
def test_numpy_scalars_are_not_weak(target, dtype):
    """`np.float64(2)` brings its dtype with it."""
    x = values(dtype, 5)

    agree(lambda x: x + np.int16(2), x + np.int16(2), x)
    agree(lambda x: np.float64(2) * x, np.float64(2) * x, x)
    agree(lambda x: fw.f32(2) * x, np.float32(2) * x, x)


def test_scalar_arguments_are_weak(target):
    """A Python number given to a jitted function stays one."""
    x = values(np.float32, 5)

    same(fw.jit(lambda x, s: x * (s + 1))(x, 0.5), x * np.float32(1.5))
    same(fw.jit(lambda x, s: x * s)(x, np.float64(0.5)), x * np.float64(0.5))


def test_python_scalars_alone(target):
    """Without an array they are an i64, an f64 or a bool."""
    same(fw.add(1, 2), np.int64(3))
    same(fw.truediv(1, 2), np.float64(0.5))
    same(fw.less(1, 2), np.bool_(True))


@pytest.mark.parametrize("shapes", [
    ((3, 1), (1, 4)), ((3, 4), (4,)), ((3, 4), (1,)), ((1,), (5,)), ((2, 1, 3), (4, 1)), ((), (3,)),
    ((0,), (1,)), ((3, 1), (3, 4)), ((1, 1), (1, 1)),
])  # fmt: skip
def test_broadcasting(target, shapes):
    """Axes of extent 1 stretch, whichever argument has them."""
    x, y = (np.arange(np.prod(shape)).reshape(shape) * 1.5 for shape in shapes)

    agree(lambda x, y: x - y, x - y, x, y)
    agree(lambda x, y: x - y, y - x, y, x)


def test_one_signature_broadcasts_or_not(target):
    """The same compiled function serves extents of 1 and of more."""
    f = fw.jit(lambda x, y: x + y)
    x, one = np.arange(6.0).reshape(2, 3), np.arange(2.0).reshape(2, 1)

    for a, b in [(x, x), (x, one), (one, x), (one, one), (x, x), (x[:1], x), (x, x[:1])]:
        same(f(a, b), a + b)


def test_power(target):
    """Squares are products; integers wrap."""
    x = values(np.int32, 9)
    f = values(np.float64, 9)

    agree(lambda x: (x**2, x**3), (x**2, x**3), x)
    agree(lambda f: (f**2, f**3.0), (f**2, f**3.0), f, ulps=4)
    agree(lambda f: 2.0**f, 2.0**f, f, ulps=4)


def test_where(target):
    """Both sides are computed, the condition chooses by element."""
    x = values(np.float64, 65)

    agree(lambda x: fw.where(x > 0, x, 0), np.where(x > 0, x, 0), x)
    agree(lambda x: fw.where(x > 0, 1, 2.5), np.where(x > 0, 1, 2.5), x)
    agree(lambda x: fw.where(x[:, None] > 0, x, -1), np.where(x[:, None] > 0, x, -1), x)


def test_where_of_structures(target):
    """Each part is chosen separately, of elements as of arrays."""
    x, i = values(np.float64, 9), np.arange(9)

    def greatest(x):
        first = lambda a, b: fw.where(a[0] >= b[0], a, b)
        return fw.reduce(first, (-np.inf, -1), (x, fw.iota(x.size)))

    agree(greatest, (x.max(), x.argmax()), x)
    agree(lambda x, i: fw.where(x > 0, (x, i), (0.0, -1)),
          (np.where(x > 0, x, 0), np.where(x > 0, i, -1)), x, i)
    agree(lambda x: fw.where(x > 0, {"a": x, "b": (x, 1)}, {"b": (2, x), "a": 0}),
          {"a": np.where(x > 0, x, 0), "b": (np.where(x > 0, x, 2), np.where(x > 0, 1, x))}, x)
    rows = fw.ragged([[1], [2, 3]])
    assert fw.where(rows > 1, (rows, 0), (9, rows))[0].tolist() == [[9], [2, 3]]


def test_clip(target):
    """Either bound may be left out."""
    x = values(np.int32, 9)

    agree(lambda x: fw.clip(x, 0, 50), np.clip(x, 0, 50), x)
    agree(lambda x: fw.clip(x, 0), np.clip(x, 0, None), x)
    agree(lambda x: x.clip(max=10), np.clip(x, None, 10), x)


@pytest.mark.parametrize("dtype", DTYPES)
def test_astype(target, dtype):
    """Every dtype becomes every other; what is out of range is left to the cast's own tests."""
    x = np.array([0, 1, 2, 100]).astype(dtype)

    agree(lambda x: [x.astype(d) for d in DTYPES], [x.astype(d) for d in DTYPES], x)


def test_numpy_functions_on_our_arrays(target):
    """np.sin, np.add and np.sum of a traced array are traced."""
    x = values(np.float64, 9)

    agree(lambda x: (np.sin(x), np.add(x, 1), np.abs(x), np.sum(x)),
          (np.sin(x), np.add(x, 1), np.abs(x), np.sum(x)), x, ulps=4)  # fmt: skip
    same(np.arange(3) + fw.iota(3), np.array([0, 2, 4]))


def test_logic_of_numbers(target):
    """What is not 0 is true."""
    x, y = np.array([0, 1, 2, 0]), np.array([0.0, 0.0, 2.5, np.nan])
    fns = [np.logical_and, np.logical_or, np.logical_xor]

    agree(lambda x, y: [fw.logical_and(x, y), fw.logical_or(x, y), fw.logical_xor(x, y)],
          [f(x, y) for f in fns], x, y)  # fmt: skip
    agree(lambda x: fw.logical_not(x), np.logical_not(x), x)


def test_literals_that_do_not_fit(target):
    """Comparisons widen, arithmetic refuses."""
    x = values(np.uint8, 5)

    agree(lambda x: x < 300, x < 300, x)
    agree(lambda x: x > -1, x > -1, x)
    with pytest.raises(OverflowError):
        fw.jit(lambda x: x + 300)(x)


def test_division_by_zero(target):
    """Integers give 0, floats an infinity."""
    x = np.array([1, 2, 3])
    zero = np.array([0, 1, 0])

    agree(lambda x, y: (x // y, x % y), (np.array([0, 2, 0]), np.array([0, 0, 0])), x, zero)
    agree(lambda x: x / 0.0, np.array([np.inf, np.inf, np.inf]), x)


BOOLS = np.array([True, True, False, False]), np.array([True, False, True, False])


@pytest.mark.parametrize("name", ["floor_divide", "mod", "power", "left_shift", "right_shift"])
def test_bools_are_small_numbers(target, name):
    """Where NumPy has no such operation on bools, it has one on i8."""
    f, g = getattr(fw, name), getattr(np, name)
    with np.errstate(divide="ignore"):
        agree(f, g(*BOOLS), *BOOLS)


def test_whole_numbers_of_bools_and_integers(target):
    """Rounding keeps their dtype, but for rint, which gives floats."""
    b, i = BOOLS[0], np.array([1, -2, 3])
    names = ["floor", "ceil", "trunc"]

    agree(lambda b, i: [getattr(fw, n)(v) for n in names for v in (b, i)],
          [getattr(np, n)(v) for n in names for v in (b, i)], b, i)  # fmt: skip
    agree(fw.rint, np.rint(i), i)
    agree(fw.rint, np.rint(i.astype(np.int16)), i.astype(np.int16))
    agree(fw.square, np.square(b), b)


def test_bits_are_counted_as_numpy_does(target):
    """bitwise_count is of the absolute value and a u8, popcount of the bits themselves."""
    for x in (np.array([0, 1, -1, 127, -128], np.int8), np.array([0, 5, 2**64 - 1], np.uint64)):
        agree(fw.bitwise_count, np.bitwise_count(x), x)
        agree(np.bitwise_count, np.bitwise_count(x), x)
    agree(fw.bitwise_count, np.bitwise_count(BOOLS[0]), BOOLS[0])


@pytest.mark.parametrize("name", ["copysign", "hypot", "arctan2"])
def test_the_float_that_holds_each_operand(target, name):
    """An i8 and a u16 are both f32, though the integer that holds both is an i32."""
    f, g = getattr(fw, name), getattr(np, name)
    pairs = [(np.int8, np.uint16), (np.uint16, np.int16), (np.int16, np.int32),
             (np.float32, np.uint16), (np.float32, np.int32), (np.bool_, np.int64)]  # fmt: skip

    for first, second in pairs:
        x, y = np.array([0, 1, 1], first), np.array([1, 0, 1], second)
        agree(f, g(x, y), x, y, ulps=4)
    x = np.array([True, False])
    agree(lambda x: f(x, 2), g(x, 2), x, ulps=4)


def test_integers_to_negative_powers(target):
    """There is no such integer: refused as NumPy does, wherever the power comes from."""
    x, y = np.array([1, 2, 3]), np.array([2, 0, -1])

    for call in (lambda x, y: x**-1, lambda x, y: x**y, lambda x, y: fw.power(x, -1),
                 lambda x, y: fw.map(lambda a, b: a**b, x, y),
                 lambda x, y: fw.sum(2**y), lambda x, y: (x > 1) ** -1):  # fmt: skip
        with pytest.raises(ValueError, match="to a negative power is no integer: the power is -1"):
            fw.jit(call)(x, y)
        with pytest.raises(fw.ArgumentError):
            call(fw.asarray(x), fw.asarray(y))
    with pytest.raises(OverflowError):
        fw.asarray(x.astype(np.uint8)) ** -1
    agree(lambda x, y: x**y, x.astype(float) ** y, x.astype(float), y, ulps=8)
    agree(lambda x, y: x ** abs(y), x ** abs(y), x, y)
    same(fw.asarray(np.float_power(fw.asarray(x), y)), np.float_power(x, y))


@pytest.mark.parametrize("digits", [0, 1, 2, -1, -2])
def test_python_rounds_to_digits(target, digits):
    """Integers stay integers, as NumPy's do."""
    for x in (np.array([4, 5, 15, 149, -151]), np.array([0.25, 1.05, 149.5, -151.26])):
        same(round(fw.asarray(x), digits), np.round(x, digits), ulps=2)
        same(fw.jit(lambda x: round(x, digits))(x), np.round(x, digits), ulps=2)


def test_a_power_that_is_not_taken(target):
    """A branch that is not taken checks nothing."""
    y = np.array([2, 0, -1])

    same(fw.map(lambda n: fw.cond(n < 0, lambda: 0, lambda: 2**n), y), np.array([4, 1, 0]))
