"""The table's NumPy meanings on edges: wrapping, division by zero, shifts, NaN, exact fma."""

import math
import warnings
from fractions import Fraction

import numpy as np
import pytest

from flatweave.base.dtypes import DTYPES, bool_, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64
from flatweave.base.errors import DTypeError
from flatweave.scalar.function import evaluate_cast
from flatweave.scalar.ops import TABLE, evaluate, neutral, operand_dtype, result_dtype

INTEGERS = [i8, i16, i32, i64, u8, u16, u32, u64]
SIGNED = [i8, i16, i32, i64]
NAN, INF = float("nan"), float("inf")


def apply(name, dtype, *operands):
    """A row on lists of numbers, as a list."""
    return evaluate(name, *(np.array(x, dtype=dtype.numpy) for x in operands)).tolist()


@pytest.mark.parametrize("name", TABLE)
def test_every_row_keeps_its_dtypes_and_never_warns(name):
    """f32 stays f32, comparisons give bools, on arrays and on single values alike."""
    row = TABLE[name]
    for dtype in (d for d in DTYPES if d.kind in row.kinds):
        low = -1 if dtype.kind == "i" else 0
        values = np.array([0, 1, low, dtype.high, dtype.low], dtype=dtype.numpy)
        operands = [values] * row.arity
        if name == "select":
            operands[0] = values.astype(bool)
        expected = result_dtype(name, [bool_, dtype, dtype] if name == "select" else
                                [dtype] * row.arity)  # fmt: skip
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            whole = evaluate(name, *operands)
            single = evaluate(name, *(x[-1] for x in operands))
        assert whole.dtype == expected.numpy
        assert single.dtype == expected.numpy
        assert single.shape == ()
        assert whole.shape == (5,)


def test_integers_wrap():
    """Sums, products, negation and absolute values stay in their width."""
    assert apply("add", i8, [127], [1]) == [-128]
    assert apply("sub", u8, [0], [1]) == [255]
    assert apply("mul", i32, [2**30], [4]) == [0]
    assert apply("neg", u16, [1]) == [65535]
    for dtype in SIGNED:
        assert apply("neg", dtype, [dtype.low]) == [dtype.low]
        assert apply("abs", dtype, [dtype.low]) == [dtype.low]


def test_bools_add_as_or_and_multiply_as_and():
    """As NumPy has it."""
    assert apply("add", bool_, [True, False], [True, False]) == [True, False]
    assert apply("mul", bool_, [True, True], [True, False]) == [True, False]
    assert apply("not", bool_, [True, False]) == [False, True]


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_integer_division_by_zero_gives_zero(dtype):
    """Quotient and remainder alike."""
    assert apply("floordiv", dtype, [7, 0], [0, 0]) == [0, 0]
    assert apply("mod", dtype, [7, 0], [0, 0]) == [0, 0]


@pytest.mark.parametrize("dtype", SIGNED, ids=str)
def test_division_rounds_down_and_wraps(dtype):
    """-7 // 2 is -4, and the least integer over -1 is itself."""
    assert apply("floordiv", dtype, [-7, 7, -7, 7], [2, -2, -2, 2]) == [-4, -4, 3, 3]
    assert apply("mod", dtype, [-7, 7, -7, 7], [2, -2, -2, 2]) == [1, -1, -1, 1]
    assert apply("floordiv", dtype, [dtype.low], [-1]) == [dtype.low]
    assert apply("mod", dtype, [dtype.low], [-1]) == [0]


def test_float_division_is_pythons():
    """1.0 // 0.1 is 9.0, and a remainder has the divisor's sign, zero included."""
    values = [1.0, -7.0, 7.0, -3.0, 6.0]
    divisors = [0.1, 2.0, -2.0, 1.0, -3.0]

    assert apply("floordiv", f64, values, divisors) == [
        a // b for a, b in zip(values, divisors, strict=True)
    ]
    found = apply("mod", f64, values, divisors)
    assert found == [a % b for a, b in zip(values, divisors, strict=True)]
    assert [math.copysign(1, x) for x in found] == [1, 1, -1, 1, -1]
    assert apply("floordiv", f64, [1.0, -1.0], [0.0, 0.0]) == [INF, -INF]


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_shifts_by_the_width_or_more_lose_every_bit(dtype):
    """0 is left, or -1 of a negative number shifted right; negative amounts count as too great."""
    width = dtype.bits
    assert apply("shl", dtype, [1, 1, 3], [width, width + 1, width - 1]) == [
        0, 0, dtype.low if dtype.kind == "i" else 1 << (width - 1)
    ]  # fmt: skip
    assert apply("shr", dtype, [dtype.high, 5], [width, 1]) == [0, 2]
    if dtype.kind == "i":
        assert apply("shr", dtype, [-5, -5, -5], [width, -1, 1]) == [-1, -1, -3]
        assert apply("shl", dtype, [5], [-1]) == [0]


def test_least_and_greatest_propagate_nan_and_order_zeros():
    """NaN wins on either side; -0.0 is below 0.0, whatever the order of operands."""
    assert np.isnan(apply("minimum", f32, [NAN, 1, NAN], [1, NAN, NAN])).all()
    assert np.isnan(apply("maximum", f64, [NAN, 1, NAN], [1, NAN, NAN])).all()
    for left, right in ((0.0, -0.0), (-0.0, 0.0)):
        for name, sign in (("minimum", -1), ("maximum", 1)):
            for dtype in (f32, f64):
                assert math.copysign(1, apply(name, dtype, [left], [right])[0]) == sign


def test_rounding_goes_to_even():
    """Halves go to the even neighbour; integers are whole already."""
    assert apply("round", f64, [0.5, 1.5, 2.5, -0.5]) == [0.0, 2.0, 2.0, -0.0]
    assert apply("floor", i32, [-3, 3]) == [-3, 3]
    assert apply("trunc", f32, [-1.5, 1.5]) == [-1.0, 1.0]


def test_sign_keeps_nan():
    """The sign of NaN is NaN, of -0.0 it is 0.0."""
    found = apply("sign", f64, [NAN, -0.0, -3.0, INF])
    assert math.isnan(found[0])
    assert found[1:] == [0.0, -1.0, 1.0]
    assert apply("sign", u8, [0, 200]) == [0, 1]


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_integer_powers_wrap(dtype):
    """Pythons's powers modulo 2**width."""
    bases = [x for x in (0, 1, 2, 3, 5, 10, -1, -3) if x >= int(dtype.low)]
    for base in bases:
        for exponent in (0, 1, 2, 3, 7, 40, 100):
            expected = evaluate_cast(np.uint64(pow(base, exponent, 2**64)), dtype)
            assert apply("pow", dtype, [base], [exponent]) == [expected]


def test_negative_powers_of_integers():
    """0 except for 1 and -1, whose inverses are integers."""
    assert apply("pow", i32, [2, 1, -1, -1, 0], [-1, -3, -3, -4, -1]) == [0, 1, -1, 1, 0]


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_bit_counts(dtype):
    """Counted in two's complement, in the operand's dtype; 0 has as many zeros as bits."""
    values = [0, 1, 12, dtype.high]
    patterns = [int(x) & (2**dtype.bits - 1) for x in values]
    texts = [f"{x:0{dtype.bits}b}" for x in patterns]

    assert apply("popcount", dtype, values) == [text.count("1") for text in texts]
    assert apply("clz", dtype, values) == [len(t) - len(t.lstrip("0")) for t in texts]
    assert apply("ctz", dtype, values) == [len(t) - len(t.rstrip("0")) for t in texts]


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_mul_hi_is_the_upper_half_of_the_product(dtype):
    """As Python's integers have it, of every pair of edges."""
    ends = np.iinfo(dtype.numpy)
    edges = [ends.min, ends.min + 1, 0, 1, 3, ends.max // 3, ends.max - 1, ends.max]
    pairs = [(a, b) for a in edges for b in edges]

    found = apply("mul_hi", dtype, [a for a, _ in pairs], [b for _, b in pairs])

    assert found == [a * b >> dtype.bits for a, b in pairs]


def test_popcount_of_a_negative_number_counts_its_bits():
    """Unlike NumPy's bitwise_count, which counts those of the absolute value."""
    assert apply("popcount", i8, [-1, -128]) == [8, 1]


@pytest.mark.parametrize("dtype", [f32, f64], ids=str)
def test_fma_rounds_once(dtype):
    """The exact sum of the exact product, rounded; checked against rational numbers."""
    rng = np.random.default_rng(5)
    a, b = (rng.standard_normal(500).astype(dtype.numpy) for _ in range(2))
    c = -(a * b) + (rng.standard_normal(500) * 2.0**-40).astype(dtype.numpy)

    found = evaluate("fma", a, b, c)

    for x, y, z, value in zip(a.tolist(), b.tolist(), c.tolist(), found, strict=True):
        error = abs(Fraction(x) * Fraction(y) + Fraction(z) - Fraction(float(value)))
        assert error <= Fraction(float(np.spacing(np.abs(value)))) / 2
    assert apply("fma", f64, [1e308], [10.0], [-INF]) == [-INF]
    assert math.isnan(apply("fma", f32, [INF], [0.0], [1.0])[0])


def test_elementary_functions_of_f32_are_rounded_once():
    """They go through f64."""
    xs = np.linspace(-3, 3, 101, dtype=np.float32)
    assert np.array_equal(evaluate("exp", xs), np.exp(xs.astype(np.float64)).astype(np.float32))
    assert evaluate("erf", xs)[50] == 0


def test_result_dtypes():
    """Comparisons give bool, everything else the operands' dtype."""
    assert result_dtype("lt", [f32, f32]) == bool_
    assert result_dtype("popcount", [u16]) == u16
    assert result_dtype("select", [bool_, i8, i8]) == i8


@pytest.mark.parametrize(
    ("name", "operands", "message"),
    [
        ("add", [i32, i64], "add needs operands of one dtype, got i32 and i64."),
        ("sqrt", [i32], "sqrt is not defined for i32; it takes floats."),
        ("sub", [bool_, bool_],
         "sub is not defined for bool; it takes signed integers, unsigned integers, floats."),
        ("select", [i32, f32, f32], "select needs a bool to choose by, got i32."),
        ("neg", [i32, i32], "neg takes 1 operand, got 2."),
    ],
)  # fmt: skip
def test_wrong_operands_are_named(name, operands, message):
    """The message says which function, which dtypes, and what would do."""
    with pytest.raises(DTypeError) as caught:
        result_dtype(name, operands)

    assert caught.value.message == message
    assert caught.value.remedy


def test_operand_dtypes():
    """Small integers become f32 for elementary functions, all integers f64 for division."""
    assert operand_dtype("sqrt", i16) == f32
    assert operand_dtype("sqrt", i32) == f64
    assert operand_dtype("truediv", i8) == f64
    assert operand_dtype("truediv", f32) == f32
    assert operand_dtype("add", u8) == u8


@pytest.mark.parametrize("name", ["add", "mul", "minimum", "maximum", "and", "or", "xor"])
def test_neutral_elements_change_nothing(name):
    """name(e, x) is x for every accepted dtype."""
    for dtype in (d for d in DTYPES if d.kind in TABLE[name].kinds):
        values = np.array([0, 1, dtype.low, dtype.high], dtype=dtype.numpy)
        element = np.full_like(values, neutral(name, dtype))
        assert np.array_equal(evaluate(name, element, values), values), dtype
    assert neutral("sub", f32) is None


def test_floats_that_do_not_fit_become_the_nearest_integer():
    """Toward zero inside, the ends outside, 0 for NaN."""
    values = np.array([NAN, INF, -INF, 3.9, -3.9, 1e30])
    assert evaluate_cast(values, i8).tolist() == [0, 127, -128, 3, -3, 127]
    assert evaluate_cast(values, u64).tolist() == [0, 2**64 - 1, 0, 3, 0, 2**64 - 1]
    assert evaluate_cast(values, bool_).tolist() == [True] * 6
    assert evaluate_cast(np.array([300, -1]), u8).tolist() == [44, 255]
