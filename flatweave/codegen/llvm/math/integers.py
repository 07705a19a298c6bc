"""Integers and bools in LLVM: arithmetic that wraps, guarded division, shifts, powers, bit counts.

Division by zero gives 0 and the least value over -1 wraps, where LLVM's sdiv traps. By a literal
power of two it is a shift, which rounds down as it is; by another literal a product
(reciprocals.py). By what is not known before LLVM divides vectors lane by lane, so such quotients
are taken in floats, where they are exact:

    i8, i16 through f32     |a / b - n| >= 2**-16 * n for every whole n that it misses
    i32, u32 through f64    .. 2**-32 * n; both far above half a unit in the last place
    i64, u64 through f64    .. 2**-51 * n up to 2**51, above it still; what is larger in some lane
                            is divided lane by lane
"""

from __future__ import annotations

from flatweave.base.dtypes import BY_NAME, DType, f32, f64, i32, u32, u64
from flatweave.codegen.llvm.math import reciprocals
from flatweave.codegen.llvm.math.casts import cast, cast_whole
from flatweave.codegen.llvm.values import Value, call_function, rarely
from flatweave.terms.bounds import Bounds, bounds_of_dtype

MAX_UNROLLED_POWER = 64
_SMALL = Bounds(-(2**51) + 1, 2**51 - 1)
"""Integers that f64 divides exactly, and that any CPU converts to it in a few instructions."""


def add(a: Value, b: Value) -> Value:
    """Sum; `or` of bools."""
    return a | b if a.dtype.kind == "b" else a + b


def mul(a: Value, b: Value) -> Value:
    """Product; `and` of bools."""
    return a & b if a.dtype.kind == "b" else a * b


def mul_hi(a: Value, b: Value) -> Value:
    """The upper half of the whole product."""
    if a.dtype.bits < 64:
        wide = BY_NAME[f"{a.dtype.kind}{2 * a.dtype.bits}"]
        product = cast(a, wide) * cast(b, wide)
        return cast(product >> a.dtype.bits, a.dtype)
    x, y = (Value(v.body, u64, v.width, v.text) for v in (a, b))
    high = _high_of_halves(x, y) if a.width > 1 else _high_of_128_bits(x, y)
    if a.dtype.kind == "i":  # what the signs are worth is 2**64 times the other operand
        high = high - (a < 0).where(y, 0) - (b < 0).where(x, 0)
    return Value(a.body, a.dtype, a.width, high.text)


def _high_of_128_bits(x: Value, y: Value) -> Value:
    """By the instruction that gives both halves."""
    wide = [x.body.fresh("wide") for _ in range(4)]
    for name, operand in zip(wide, (x, y), strict=False):
        x.body.line(f"{name} = zext i64 {operand.text} to i128")
    x.body.line(f"{wide[2]} = mul i128 {wide[0]}, {wide[1]}")
    x.body.line(f"{wide[3]} = lshr i128 {wide[2]}, 64")
    return x.let(f"trunc i128 {wide[3]} to i64")


def _high_of_halves(x: Value, y: Value) -> Value:
    """From products of 32 bits by 32, which vectors have an instruction for."""
    low = 2**32 - 1
    x_low, x_high, y_low, y_high = x & low, x >> 32, y & low, y >> 32
    one = x_high * y_low + (x_low * y_low >> 32)
    other = x_low * y_high + (one & low)
    return x_high * y_high + (one >> 32) + (other >> 32)


def absolute(a: Value) -> Value:
    """Absolute value; the least integer stays."""
    return a.intrinsic("abs", flag="false") if a.dtype.kind == "i" else a


def sign(a: Value) -> Value:
    """-1, 0 or 1."""
    one = a.ne(0).where(a.number(1), 0)
    return (a < 0).where(a.number(-1), one) if a.dtype.kind == "i" else one


def minimum(a: Value, b: Value) -> Value:
    """The smaller operand."""
    if a.dtype.kind == "b":
        return a & b
    return a.intrinsic("smin" if a.dtype.kind == "i" else "umin", b)


def maximum(a: Value, b: Value) -> Value:
    """The greater operand."""
    if a.dtype.kind == "b":
        return a | b
    return a.intrinsic("smax" if a.dtype.kind == "i" else "umax", b)


def floordiv(a: Value, b: Value, bounds: Bounds | None = None) -> Value:
    """Quotient rounded down, 0 for a divisor of 0; `a` is within bounds, where these are known."""
    divisor = b.literal
    if divisor is None:
        return _quotient(a, b, bounds)
    if divisor in (0, 1, -1):
        return a if divisor == 1 else -a if divisor else a.number(0)
    if is_power_of_two(divisor):
        return a >> divisor.bit_length() - 1
    return reciprocals.floordiv(a, divisor, bounds or bounds_of_dtype(a.dtype))


def floordiv_by_positive(a: Value, b: Value) -> Value:
    """Quotient rounded down by a divisor that is known to be more than 0."""
    if a.dtype.kind == "u":
        return a.binary("udiv", b)
    quotient = a.binary("sdiv", b)
    return quotient + (quotient * b > a).convert("sext", a.dtype)  # less by 1 where a < 0


def mod(a: Value, b: Value, bounds: Bounds | None = None) -> Value:
    """Remainder with the divisor's sign, 0 for a divisor of 0."""
    divisor = b.literal
    if divisor is None:
        return b.eq(0).where(a.number(0), a - floordiv(a, b, bounds) * b)
    if divisor in (0, 1, -1):
        return a.number(0)
    if is_power_of_two(divisor):
        return a & (divisor - 1)
    return reciprocals.mod(a, divisor, bounds or bounds_of_dtype(a.dtype))


def is_power_of_two(number: int) -> bool:
    """Whether this is 1, 2, 4, .."""
    return number > 0 and number & (number - 1) == 0


def _round_down(a: Value, b: Value, quotient: Value) -> Value:
    """Turn a quotient rounded toward zero into one rounded down."""
    inexact = (quotient * b).ne(a)
    return (inexact & ((a ^ b) < 0)).where(quotient - 1, quotient)


def _guarded_quotient(a: Value, b: Value) -> Value:
    """Division by the machine's instruction, with divisors 0 and -1 replaced by 1."""
    zero = b.eq(0)
    if a.dtype.kind == "u":
        return zero.where(a.number(0), a.binary("udiv", zero.where(b.number(1), b)))
    minus = b.eq(-1)
    divisor = (zero | minus).where(b.number(1), b)
    quotient = _round_down(a, divisor, a.binary("sdiv", divisor))
    return zero.where(a.number(0), minus.where(-a, quotient))


def _quotient(a: Value, b: Value, bounds: Bounds | None) -> Value:
    """By what is not known before."""
    if a.width == 1:
        return _guarded_quotient(a, b)
    if a.dtype.bits < 64:
        return _quotient_in_floats(a, b)
    if a.body.module.isa.register_bits <= reciprocals.PAIR:
        return _guarded_quotient(a, b)
    usual = _quotient_of_small(a, b)
    large = _is_large(b)
    if bounds is None or not _SMALL.low <= bounds.low <= bounds.high <= _SMALL.high:
        large = large | _is_large(a)
    return rarely(large, usual, lambda: _guarded_quotient(a, b))


def _is_large(a: Value) -> Value:
    """Whether an integer of 64 bits is outside of `_SMALL`."""
    if a.dtype.kind == "u":
        return a > _SMALL.high
    return Value(a.body, u64, a.width, (a + _SMALL.high).text) > 2 * _SMALL.high


def _quotient_of_small(a: Value, b: Value) -> Value:
    """Division of integers of 64 bits within `_SMALL`, in f64."""
    zero = b.eq(0)
    floats = [cast(x, f64, _SMALL) for x in (a, zero.where(b.number(1), b))]
    quotient = (floats[0] / floats[1]).intrinsic("floor")
    return zero.where(a.number(0), cast_whole(quotient, a.dtype))


def _quotient_in_floats(a: Value, b: Value) -> Value:
    """Division in floats wide enough to be exact."""
    zero = b.eq(0)
    divisor = zero.where(b.number(1), b)
    wide = f64 if a.dtype.bits == 32 else f32
    quotient = (cast(a, wide) / cast(divisor, wide)).intrinsic("floor")
    if a.dtype.kind == "u":
        rounded = _narrow(quotient.convert("fptoui", u32), a.dtype)
        return zero.where(a.number(0), rounded)
    rounded = _narrow(quotient.convert("fptosi", i32), a.dtype)
    return zero.where(a.number(0), b.eq(-1).where(-a, rounded))


def _narrow(x: Value, dtype: DType) -> Value:
    """The low bits of a 32-bit integer."""
    return x if dtype.bits == 32 else x.convert("trunc", dtype)


def from_bits(a: Value) -> Value:
    """The float with these bits."""
    wide = max(32, a.dtype.bits)
    return cast(a, BY_NAME[f"u{wide}"]).convert("bitcast", BY_NAME[f"f{wide}"])


def ones_complement(a: Value) -> Value:
    """A sign and a magnitude as one's complement, or back."""
    width = a.dtype.bits
    return a ^ ((a >> (width - 1)) & ((1 << (width - 1)) - 1))


def shl(a: Value, b: Value) -> Value:
    """a << b; 0 when every bit has left."""
    if _stays(a, b):
        return a << b
    amount = Value(b.body, _unsigned(b.dtype), b.width, b.text)
    return (amount < a.dtype.bits).where(a << b, 0)


def shr(a: Value, b: Value) -> Value:
    """a >> b; 0, or -1 for negative a, when every bit has left."""
    if _stays(a, b):
        return a >> b
    amount = Value(b.body, _unsigned(b.dtype), b.width, b.text)
    if a.dtype.kind == "i":
        return a >> amount.intrinsic("umin", a.dtype.bits - 1)
    return (amount < a.dtype.bits).where(a >> b, 0)


def _stays(a: Value, b: Value) -> bool:
    """Whether an amount is a literal that leaves some bit."""
    return b.literal is not None and 0 <= b.literal < a.dtype.bits


def _unsigned(dtype: DType) -> DType:
    """The unsigned dtype of the same width."""
    return BY_NAME[f"u{dtype.bits}"]


def popcount(a: Value) -> Value:
    """The number of one bits."""
    return a.intrinsic("ctpop")


def clz(a: Value) -> Value:
    """The number of leading zero bits."""
    return a.intrinsic("ctlz", flag="false")


def ctz(a: Value) -> Value:
    """The number of trailing zero bits."""
    return a.intrinsic("cttz", flag="false")


def power(a: Value, b: Value) -> Value:
    """Powers that wrap, by repeated squaring; negative exponents give 0 unless a is 1 or -1."""
    exponent = _small_exponent(b)
    if exponent is not None:
        return _unrolled_power(a, exponent)
    return call_function("pow", _power_loop, (a, b), "nounwind")


def _small_exponent(b: Value) -> int | None:
    """The exponent, if it is a small literal in every lane."""
    exponent = b.literal
    small = exponent is not None and 0 <= exponent <= MAX_UNROLLED_POWER
    return exponent if small else None


def _unrolled_power(a: Value, exponent: int) -> Value:
    """A product of squares."""
    total, square = a.number(1), a
    while exponent:
        if exponent & 1:
            total = square if total.is_constant else total * square
        exponent >>= 1
        square = square * square if exponent else square
    return total


def _power_loop(a: Value, b: Value) -> Value:
    """A loop that ends when no lane has exponent bits left."""
    body, kind = a.body, a.type
    body.line("br label %turn")
    body.label("turn")
    names = [body.fresh(stem) for stem in ("total", "square", "rest")]
    after = [body.fresh(stem) for stem in ("total", "square", "rest")]
    starts = [a.number(1).text, a.text, b.text]
    for name, start, end in zip(names, starts, after, strict=True):
        body.line(f"{name} = phi {kind} [ {start}, %entry ], [ {end}, %turn ]")
    total, square, rest = (Value(body, a.dtype, a.width, name) for name in names)
    odd, product = (rest & 1).ne(0), total * square
    chosen = Value(body, a.dtype, a.width, after[0])
    condition = f"{odd.type} {odd.text}"
    body.line(f"{chosen.text} = select {condition}, {kind} {product.text}, {kind} {total.text}")
    body.line(f"{after[1]} = mul {kind} {square.text}, {square.text}")
    body.line(f"{after[2]} = lshr {kind} {rest.text}, {rest.number(1).text}")
    more = Value(body, b.dtype, b.width, after[2]).ne(0).any()
    body.line(f"br i1 {more}, label %turn, label %done")
    body.label("done")
    if b.dtype.kind == "u":
        return chosen
    signs = (b & 1).ne(0).where(a, 1)
    inverse = a.eq(1).where(a, a.eq(-1).where(signs, 0))
    return (b < 0).where(inverse, chosen)
