"""Conversions between dtypes in LLVM: integers, floats, and floats of 16 bits."""

from __future__ import annotations

from collections.abc import Callable

from flatweave.base.dtypes import DType, bool_, f32, f64, i32, u16, u32, u64
from flatweave.codegen.llvm.module import vec
from flatweave.codegen.llvm.values import Value, rarely
from flatweave.terms.bounds import Bounds

# Conversions between floats and integers of 64 bits, where only single numbers have instructions.
#
#     i64 -> f64    x and the bits of 1.5 * 2**52, added as integers, less that number, as floats
#     f64 -> i64    trunc x and 1.5 * 2**52, added as floats, less the bits of that number
#     i64 -> f32    i64 -> f64 -> f32, exact as far as the mantissa of an f64 goes
#
# What does not fit the mantissa is seen in the exponent of the sum, and goes another way: to
# floats by the halves of x, each the mantissa of a number, one sum of which is rounded; from
# floats lane by lane. In the first case that costs as many instructions again, where most
# integers are large.


_ONES = 2.0**52
"""A number whose mantissa counts ones: from here to its double for integers without a sign."""
_MIDDLE = 1.5 * 2.0**52
"""The middle of these, for integers with one."""
_ONES_BITS, _MIDDLE_BITS = 0x4330 << 48, 0x4338 << 48
_HIGH_BITS = 0x4530 << 48  # of 2**84, whose mantissa counts 2**32
_LOW = (1 << 32) - 1
_EXACT = 1 << 53
"""Integers up to here, and down to its opposite, are f64."""
_TAIL = (1 << 11) - 1
"""The most bits of an integer below the mantissa of an f64."""


def to_float(x: Value, target: DType, bounds: Bounds | None = None) -> Value:
    """An i64 or u64, rounded to the nearest float; it is within bounds, where these are known."""
    is_signed = x.dtype.kind == "i"
    moved = _bits(x) + _MIDDLE_BITS if is_signed else _bits(x) | _ONES_BITS
    usual = moved.as_float() - (_MIDDLE if is_signed else _ONES)
    usual = usual if target == f64 else usual.convert("fptrunc", f32)
    if bounds is not None and bounds.low >= -(2**51) * is_signed and bounds.high < 2**51:
        return usual
    leaves = _leaves(moved) if is_signed else (_bits(x) >> 52).ne(0)
    return rarely(leaves, usual, lambda: _rounded(x, target))


def to_integer(x: Value, target: DType, rare: Callable[[], Value]) -> Value:
    """A float toward zero; what may not fit is `rare`."""
    whole = (x if x.dtype == f64 else x.convert("fpext", f64)).intrinsic("trunc")
    if target.kind == "i":
        moved = _bits(whole + _MIDDLE)
        usual = moved - _MIDDLE_BITS
    else:
        moved = _bits(whole + _ONES)
        usual = moved ^ _ONES_BITS
    return rarely(_leaves(moved), Value(x.body, target, x.width, usual.text), rare)


def of_whole(x: Value, target: DType) -> Value:
    """A whole f64 between -2**51 and 2**51."""
    moved = _bits(x + _MIDDLE) - _MIDDLE_BITS
    return Value(x.body, target, x.width, moved.text)


def _bits(x: Value) -> Value:
    """Bits without a sign."""
    return x.convert("bitcast", u64) if x.dtype == f64 else Value(x.body, u64, x.width, x.text)


def _leaves(moved: Value) -> Value:
    """Whether a sum has left the numbers from 2**52 to 2**53, as NaN does, too."""
    return ((moved ^ _ONES_BITS) >> 52).ne(0)


def _rounded(x: Value, target: DType) -> Value:
    """Any integer as a float."""
    if target == f64:
        return _from_halves(x)
    return _from_halves(_odd_sum(x)).convert("fptrunc", f32)


def _from_halves(x: Value) -> Value:
    """2**84 + 2**32 * (high + 2**31), less the numbers too many, exactly, and then 2**52 + low."""
    low = ((_bits(x) & _LOW) | _ONES_BITS).as_float()
    if x.dtype.kind == "i":
        high, offset = _bits(x) >> 32 ^ (_HIGH_BITS | 1 << 31), 2.0**84 + 2.0**63 + _ONES
    else:
        high, offset = _bits(x) >> 32 | _HIGH_BITS, 2.0**84 + _ONES
    return (high.as_float() - offset) + low


def _odd_sum(x: Value) -> Value:
    """The integer that f64 holds and that is rounded to f32 as this one is.

    Where f64 would round, the bits below its mantissa become one sticky bit, their disjunction.
    """
    short = (x | ((x & _TAIL) + _TAIL)) & ~_TAIL
    fits = (x >= -_EXACT) & (x <= _EXACT) if x.dtype.kind == "i" else x <= _EXACT
    return fits.where(x, short)


# Conversions between dtypes in LLVM, with no undefined values.
#
# f32 -> i8     toward zero, the nearest end for what does not fit, 0 for NaN; three compares
#               and selects, because llvm.fptosi.sat converts vectors lane by lane
# f64 -> bool   fcmp une 0.0
# bool -> i32   zext


def cast(x: Value, target: DType, bounds: Bounds | None = None) -> Value:
    """The value converted to another dtype; an integer may be known to be within bounds."""
    source = x.dtype
    if source == target:
        return x
    if target == bool_:
        return x.ne(0)
    if source.is_float and target.is_float:
        return x.convert("fpext" if target.bits > source.bits else "fptrunc", target)
    if source.is_float:
        if target.bits == 64 and _leaves_vectors(x):
            return to_integer(x, target, lambda: _saturated(x, target))
        return _saturated(x, target)
    if target.is_float:
        if source.bits == 64 and _leaves_vectors(x):
            return to_float(x, target, bounds)
        return x.convert("sitofp" if source.kind == "i" else "uitofp", target)
    if target.bits == source.bits:
        return Value(x.body, target, x.width, x.text)
    if target.bits < source.bits:
        return x.convert("trunc", target)
    return x.convert("sext" if source.kind == "i" else "zext", target)


def cast_whole(x: Value, target: DType) -> Value:
    """A whole f64 between -2**51 and 2**51, as 64 bits; anything for others."""
    if _leaves_vectors(x):
        return of_whole(x, target)
    return x.convert("fptosi" if target.kind == "i" else "fptoui", target)


def _leaves_vectors(x: Value) -> bool:
    """Whether LLVM converts these lanes to or from 64 bits one by one."""
    return x.width > 1 and not x.body.module.isa.converts_64


def _saturated(x: Value, target: DType) -> Value:
    """A float to an integer; the select keeps the poison of what does not fit out of the result."""
    narrow = target.bits < 32
    through = i32 if narrow else target  # vector instructions convert to 32 and 64 bits
    inside = x.convert("fptoui" if through.kind == "u" else "fptosi", through)
    low, high = int(target.low), int(target.high)
    # high + 1 is a power of two, so a float; low - 1 is not, where low itself is the last to fit
    exact_below = float(x.dtype.numpy.type(low - 1)) == low - 1
    fits_below = x > float(low - 1) if exact_below else x >= float(low)
    fits_above = x < float(high + 1)
    upper = fits_above.where(inside, high)
    clamped = fits_below.where(upper, low)
    safe = x.eq(x).where(clamped, 0)
    return safe.convert("trunc", target) if narrow else safe


# The storage types of 16 bits in LLVM, a u16 in a program: to an f32, and back.
#
# of_f16      vcvtph2ps, fcvtl; by integers where a CPU has neither
# to_f16      vcvtps2ph, fcvtn; an f64 through an f32 that rounds to the same
# of_bf16     a shift
# to_bf16     a sum and a shift: vcvtneps2bf16 would make 0 of tiny numbers


_QUIET = 1 << 22
_INFINITE = 255 << 23
_MOVED = 112 << 23
"""What the exponents' biases of an f32 and of an f16 differ by."""
_SIZE = 0x7FFFFFFF


def of_f16(a: Value) -> Value:
    """The f32 with the value of the low 16 bits, read as an f16."""
    short = cast(a, u16)
    if a.body.module.isa.converts_f16:
        half = a.body.let(f"bitcast {short.type} {short.text} to {_halves(a.width)}")
        return a.let(f"fpext {_halves(a.width)} {half} to {vec(f32, a.width)}", f32)
    wide = cast(short, u32)
    size, sign = (wide & 0x7FFF) << 13, (wide & 0x8000) << 16
    # the sum of a subnormal f16 and 2**-14 is a normal f32, so no f32 here is subnormal
    tiny = (size + (113 << 23)).as_float() - 2.0**-14
    bits = (size < 1 << 23).where(tiny.convert("bitcast", u32), size + _MOVED)
    bits = bits | (size >= 31 << 23).where(size.number(_INFINITE), 0)
    bits = bits | (size > 31 << 23).where(size.number(_QUIET), 0)
    return (sign | bits).as_float()


def of_bf16(a: Value) -> Value:
    """The f32 with the value of the low 16 bits, read as a bf16."""
    bits = cast(cast(a, u16), u32) << 16
    return ((bits & _SIZE) > _INFINITE).where(bits | _QUIET, bits).as_float()


def to_f16(x: Value) -> Value:
    """The bits of the nearest f16."""
    bits = _odd(x)
    if x.body.module.isa.converts_f16:
        kind = _halves(x.width)
        half = x.body.let(f"fptrunc {vec(f32, x.width)} {bits.as_float().text} to {kind}")
        return x.let(f"bitcast {kind} {half} to {vec(u16, x.width)}", u16)
    size, sign = bits & _SIZE, (bits >> 16) & 0x8000
    usual = (size - _MOVED + 0xFFF + ((size >> 13) & 1)) >> 13
    # the sum with 0.5 has the last bit of a tiny f16 as its own last bit
    tiny = (size.as_float() + 0.5).convert("bitcast", u32) - (126 << 23)
    found = (size < 113 << 23).where(tiny, usual)
    found = (size >= 143 << 23).where(found.number(0x7C00), found)
    nan = ((size >> 13) & 0x3FF) | 0x7E00
    return cast((size > _INFINITE).where(nan, found) | sign, u16)


def to_bf16(x: Value) -> Value:
    """The bits of the nearest bf16."""
    bits = _odd(x)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
    is_nan = (bits & _SIZE) > _INFINITE
    return cast(is_nan.where((bits >> 16) | 0x40, rounded), u16)


def _odd(x: Value) -> Value:
    """The bits of an f32: for an f64, those of the odd one of the two around it."""
    if x.dtype == f32:
        return x.convert("bitcast", u32)
    near = x.convert("fptrunc", f32)
    bits, back = near.convert("bitcast", u32), near.convert("fpext", f64)
    inner = (back.abs() > x.abs()).where(bits - 1, bits)
    return ((back < x) | (back > x)).where(inner | 1, bits)


def _halves(width: int) -> str:
    """LLVM's type of `width` f16."""
    return "half" if width == 1 else f"<{width} x half>"
