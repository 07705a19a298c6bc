"""What a row of the scalar table states, its spelling in C, and conversions of dtypes."""

from __future__ import annotations

from collections.abc import Callable
from string import Template
from typing import Any, Literal

import numpy as np

from flatweave.base.dtypes import DType, bool_
from flatweave.base.records import record

# -- function -------------------------------------------------------------------------------------
#
# What a row of the scalar table states, and conversions between dtypes.


# What one row of the scalar table states: types, meaning, C spelling, laws and cost.
#
# A row is applied to operands of ONE dtype; bringing them there is the caller's part, and the
# row's `promotion` says how.


Values = np.ndarray[Any, np.dtype[Any]]
Meaning = Callable[..., Any]
# bits: the unsigned integer of the operand's width; float: the float of it, at least an f32;
# a dtype's name: that dtype
Result = Literal["same", "bool", "bits", "float", "f32", "u16"]

# common:  the NumPy common type of the operands (NEP 50)
# float:   as common, then bool, i8, u8, i16, u16 become f32 and wider integers f64
# number:  as common, then bools become i8
# truediv: as common, then bools and integers become f64
# none:    the last two operands are brought to their common type, the first stays (select)
Promotion = Literal["common", "float", "number", "truediv", "none"]


@record(eq=True)
class ScalarFn:
    """A scalar function: one row of the table."""

    name: str
    arity: int
    kinds: str  # the operand kinds accepted, out of "biuf"
    numpy: Meaning  # the meaning on NumPy arrays of one accepted dtype
    c: Callable[[DType], CText]
    result: Result = "same"
    promotion: Promotion = "common"
    commutative: bool = False
    associative: bool = False  # as in mathematics: rounding of floats aside
    ulps: int = 0  # how far targets may be from the exact value; 0: every target, the same bits
    cost: int = 1  # in additions, for one float or integer in a vector loop


# Conversions between dtypes: their meaning in NumPy and their C spelling.
#
#     f32 -> i8     toward zero; what does not fit becomes the nearest end, NaN becomes 0
#     f64 -> bool   x != 0, so NaN is True
#     i32 -> i8     the low bits
#     i64 -> f32    rounded to nearest
#
# NumPy leaves the first case to the C compiler; this one is the same on every target.


def evaluate_cast(x: Any, target: DType) -> Values:
    """The meaning of a conversion, as an array of the target dtype."""
    array = np.asarray(x)
    with np.errstate(all="ignore"):
        if target.is_integer and array.dtype.kind == "f":
            return _saturated(array, target)
        if target == bool_:
            return np.asarray(array != 0)
        return array.astype(target.numpy)


def _saturated(array: Values, target: DType) -> Values:
    """Floats to integers: toward zero, ends for what is too great, 0 for NaN."""
    low, high = int(target.low), int(target.high)
    fits = (array > float(low) - 1) & (array < float(high) + 1)
    if target.bits == 64:
        fits = (array >= float(low)) & (array < float(high))
    inside = np.where(fits, array, 0).astype(target.numpy)
    ends = np.where(array > 0, np.asarray(high, target.numpy), np.asarray(low, target.numpy))
    return np.where(fits | np.isnan(array), inside, ends)


def c_cast(source: DType, target: DType) -> CText:
    """The C spelling of a conversion."""
    if source == target:
        return CText("{0}")
    if target == bool_:
        return CText("({0} != 0)")
    if not (source.is_float and target.is_integer):
        return CText(f"(({target.c}){{0}})")
    name = f"fw_cast_{source.name}_{target.name}"
    below, above = int(target.low) - 1, int(target.high) + 1
    if target.bits == 64 or (target.bits == 32 and source.bits == 32):
        below = int(target.low)  # the number below it is not a float of this width
    text = (
        f"FW_FN {target.c} {name}({source.c} x) {{\n"
        f"    if (x != x) return 0;\n"
        f"    if (x <= ({source.c}){below}.0) return {_c_integer(target, int(target.low))};\n"
        f"    if (x >= ({source.c}){above}.0) return {_c_integer(target, int(target.high))};\n"
        f"    return ({target.c})x;\n"
        f"}}\n"
    )
    return CText(f"{name}({{0}})", (text,))


def _c_integer(dtype: DType, value: int) -> str:
    """An integer as a C expression; the minima have no literal."""
    if value == -(2**63) or value == -(2**31):
        return f"({dtype.c})({value + 1}{'L' if dtype.bits == 64 else ''} - 1)"
    suffix = "UL" if value > 2**63 - 1 else "L" if dtype.bits == 64 else "U" * (value > 2**31 - 1)
    return f"({dtype.c}){value}{suffix}"


# -- c text ---------------------------------------------------------------------------------------
#
# C spellings of scalar functions, valid in CUDA C, OpenCL C and C99.
#
#     operator("+")(i32)    ==>    ((int32_t)((uint32_t){0} + (uint32_t){1}))
#     helper(FLOORDIV)(i32) ==>    fw_floordiv_i32({0}, {1}), with the source of that function
#
# Operands are names or literals. A text needs its `helpers` written once before it, after
# `C_PRELUDE` and after the emitter's typedefs of int8_t .. uint64_t.


C_PRELUDE = """\
#if defined(__CUDACC__)
#define FW_FN static __device__ __forceinline__
#define FW_POPCOUNT(x) __popcll((uint64_t)(x))
#define FW_MUL_HI64(x, y) __umul64hi(x, y)
#elif defined(__OPENCL_VERSION__)
#define FW_FN static inline
#define FW_POPCOUNT(x) popcount((uint64_t)(x))
#define FW_MUL_HI64(x, y) mul_hi(x, y)
#else
#define FW_FN static inline
#define FW_POPCOUNT(x) __builtin_popcountll((uint64_t)(x))
#define FW_MUL_HI64(x, y) ((uint64_t)((unsigned __int128)(x) * (y) >> 64))
#endif
"""


@record(eq=True)
class CText:
    """A C expression over operands {0}, {1}, .. and the functions it calls."""

    template: str
    helpers: tuple[str, ...] = ()


Spelling = Callable[[DType], CText]


def unsigned(dtype: DType) -> str:
    """The unsigned C type of a dtype's width."""
    return f"uint{dtype.bits}_t"


def wide_unsigned(dtype: DType) -> str:
    """The unsigned C type in which arithmetic of a dtype wraps without promotion to int."""
    return "uint64_t" if dtype.bits == 64 else "uint32_t"


def by_kind(**spellings: Spelling) -> Spelling:
    """One spelling per set of kinds: by_kind(b=.., iu=.., f=..)."""

    def spell(dtype: DType) -> CText:
        return next(text for kinds, text in spellings.items() if dtype.kind in kinds)(dtype)

    return spell


def plain(template: str) -> Spelling:
    """The same expression for every dtype."""
    return lambda dtype: CText(template)


def call(name: str, arity: int = 1) -> Spelling:
    """A call of a function that C++ and OpenCL overload over float and double."""
    operands = ", ".join(f"{{{i}}}" for i in range(arity))
    return lambda dtype: CText(f"{name}({operands})")


def operator(symbol: str) -> Spelling:
    """An infix operator on floats, or on integers that wrap."""

    def spell(dtype: DType) -> CText:
        if dtype.is_float:
            return CText(f"({{0}} {symbol} {{1}})")
        wide = wide_unsigned(dtype)
        return CText(f"(({dtype.c})(({wide}){{0}} {symbol} ({wide}){{1}}))")

    return spell


def negated(dtype: DType) -> CText:
    """Zero minus an integer, wrapping."""
    wide = wide_unsigned(dtype)
    return CText(f"(({dtype.c})(({wide})0 - ({wide}){{0}}))")


def narrowed(template: str) -> Spelling:
    """An expression whose value C promotes to int, brought back to the operands' type."""
    return lambda dtype: CText(f"(({dtype.c}){template})")


def helper(source: str, arity: int = 2) -> Spelling:
    """A call of our own function; $n is the dtype's name, $t its C type, $u, $w unsigned ones."""

    def spell(dtype: DType) -> CText:
        text = Template(source).substitute(
            n=dtype.name,
            t=dtype.c,
            u=unsigned(dtype),
            w=wide_unsigned(dtype),
            bits=dtype.bits,
        )
        name = text[text.index("fw_") : text.index("(")]
        operands = ", ".join(f"{{{i}}}" for i in range(arity))
        return CText(f"{name}({operands})", (text,))

    return spell


def mul_hi(dtype: DType) -> CText:
    """The upper half of a product: of integers of 64 bits by the machine's instruction."""
    if dtype.bits == 64:
        return helper(MUL_HI_I64 if dtype.kind == "i" else MUL_HI_U64)(dtype)
    return helper(MUL_HI_SIGNED if dtype.kind == "i" else MUL_HI_UNSIGNED)(dtype)


def short_float(source: str) -> Spelling:
    """A conversion of a float to one of 16 bits, an f64 by way of an f32 that rounds to the same.
    """

    def spell(dtype: DType) -> CText:
        text = Template(source).substitute(n=dtype.name, t=dtype.c)
        name = text[text.index("fw_to") : text.index("(")]
        return CText(f"{name}({{0}})", (ODD_F64 if dtype.bits == 64 else ODD_F32, text))

    return spell


FLOORDIV_SIGNED = """\
FW_FN $t fw_floordiv_$n($t a, $t b) {
    if (b == 0) return 0;
    if (b == -1) return ($t)(($w)0 - ($w)a);
    return ($t)(a / b - ((a % b != 0) & ((a < 0) != (b < 0))));
}
"""
MOD_SIGNED = """\
FW_FN $t fw_mod_$n($t a, $t b) {
    if (b == 0 || b == -1) return 0;
    $t m = ($t)(a % b);
    return ($t)(m != 0 && (m < 0) != (b < 0) ? m + b : m);
}
"""
FLOORDIV_UNSIGNED = "FW_FN $t fw_floordiv_$n($t a, $t b) { return b == 0 ? 0 : ($t)(a / b); }\n"
MOD_UNSIGNED = "FW_FN $t fw_mod_$n($t a, $t b) { return b == 0 ? 0 : ($t)(a % b); }\n"
FLOORDIV_FLOAT = """\
FW_FN $t fw_floordiv_$n($t a, $t b) {
    if (b == 0) return a / b;
    $t m = fmod(a, b);
    $t d = (a - m) / b;
    if (m != 0 && (b < 0) != (m < 0)) d -= 1;
    if (d == 0) return copysign(($t)0, a / b);
    $t q = floor(d);
    return d - q > ($t)0.5 ? q + 1 : q;
}
"""
MOD_FLOAT = """\
FW_FN $t fw_mod_$n($t a, $t b) {
    $t m = fmod(a, b);
    if (m == 0) return copysign(($t)0, b);
    return (b < 0) != (m < 0) ? m + b : m;
}
"""
POW_SIGNED = """\
FW_FN $t fw_pow_$n($t a, $t b) {
    $w x = ($w)a, r = 1;
    if (b < 0) return a == 1 ? 1 : a == -1 ? (b & 1 ? -1 : 1) : 0;
    for ($u e = ($u)b; e != 0; e >>= 1) { if (e & 1) r *= x; x *= x; }
    return ($t)r;
}
"""
POW_UNSIGNED = """\
FW_FN $t fw_pow_$n($t a, $t b) {
    $w x = a, r = 1;
    for ($u e = b; e != 0; e >>= 1) { if (e & 1) r *= x; x *= x; }
    return ($t)r;
}
"""
MUL_HI_SIGNED = "FW_FN $t fw_mul_hi_$n($t a, $t b) { return ($t)((int64_t)a * b >> $bits); }\n"
MUL_HI_UNSIGNED = "FW_FN $t fw_mul_hi_$n($t a, $t b) { return ($t)((uint64_t)a * b >> $bits); }\n"
MUL_HI_I64 = """\
FW_FN $t fw_mul_hi_$n($t a, $t b) {
    uint64_t x = (uint64_t)a, y = (uint64_t)b;
    return ($t)(FW_MUL_HI64(x, y) - (a < 0 ? y : 0) - (b < 0 ? x : 0));
}
"""
MUL_HI_U64 = "FW_FN $t fw_mul_hi_$n($t a, $t b) { return FW_MUL_HI64(a, b); }\n"
ABS = "FW_FN $t fw_abs_$n($t a) { return a < 0 ? ($t)(($w)0 - ($w)a) : a; }\n"
SIGN = "FW_FN $t fw_sign_$n($t a) { return a > 0 ? 1 : a < 0 ? -1 : a == 0 ? 0 : a; }\n"
SIGN_UNSIGNED = "FW_FN $t fw_sign_$n($t a) { return a != 0; }\n"
ONES_COMPLEMENT = """\
FW_FN $t fw_ones_complement_$n($t a) {
    return a < 0 ? ($t)(~($u)a ^ ($u)1 << ($bits - 1)) : a;
}
"""
SHL = """\
FW_FN $t fw_shl_$n($t a, $t b) { return ($u)b < $bits ? ($t)(($w)a << ($u)b) : 0; }
"""
SHR = """\
FW_FN $t fw_shr_$n($t a, $t b) { return ($t)(a >> (($u)b < $bits ? ($u)b : $bits - 1)); }
"""
SHR_UNSIGNED = "FW_FN $t fw_shr_$n($t a, $t b) { return b < $bits ? ($t)(a >> b) : 0; }\n"
POPCOUNT = """\
FW_FN $t fw_popcount_$n($t a) { return ($t)FW_POPCOUNT(($u)a); }
"""
CLZ = """\
FW_FN $t fw_clz_$n($t a) {
    uint64_t x = ($u)a;
    for (int s = 1; s < $bits; s *= 2) x |= x >> s;
    return ($t)($bits - FW_POPCOUNT(x));
}
"""
CTZ = """\
FW_FN $t fw_ctz_$n($t a) { return ($t)FW_POPCOUNT(($u)(~a & (a - ($t)1))); }
"""
# the exponent's bias differs by 112; tiny ones are what they add to 2**-14
OF_F16 = """\
FW_FN float fw_of_f16_$n($t a) {
    uint32_t size = ((uint32_t)a & 0x7FFF) << 13, sign = ((uint32_t)a & 0x8000) << 16;
    uint32_t bits = size + (112U << 23);
    if (size < 1U << 23) bits = FW_BITS32(FW_F32(size + (113U << 23)) - FW_F32(113U << 23));
    if (size >= 31U << 23) bits |= 255U << 23;
    if (size > 31U << 23) bits |= 1U << 22;
    return FW_F32(sign | bits);
}
"""
OF_BF16 = """\
FW_FN float fw_of_bf16_$n($t a) {
    uint32_t bits = (uint32_t)a << 16;
    return FW_F32((bits << 1) > 255U << 24 ? bits | 1U << 22 : bits);
}
"""
ODD_F32 = "FW_FN uint32_t fw_odd_f32(float x) { return FW_BITS32(x); }\n"
ODD_F64 = """\
FW_FN uint32_t fw_odd_f64(double x) {
    float near = (float)x;
    uint32_t bits = FW_BITS32(near);
    if (!((double)near < x) && !((double)near > x)) return bits;
    return (fabs((double)near) > fabs(x) ? bits - 1 : bits) | 1;
}
"""
# the sum with 0.5 has the last bit of a tiny f16 as its own last bit
TO_F16 = """\
FW_FN uint16_t fw_to_f16_$n($t x) {
    uint32_t bits = fw_odd_$n(x), size = bits & 0x7FFFFFFF, sign = bits >> 16 & 0x8000;
    uint32_t found = (size - (112U << 23) + 0xFFF + (size >> 13 & 1)) >> 13;
    if (size > 255U << 23) found = 0x7E00 | (size >> 13 & 0x3FF);
    else if (size >= 143U << 23) found = 0x7C00;
    else if (size < 113U << 23) found = FW_BITS32(FW_F32(size) + 0.5f) - (126U << 23);
    return (uint16_t)(sign | found);
}
"""
TO_BF16 = """\
FW_FN uint16_t fw_to_bf16_$n($t x) {
    uint32_t bits = fw_odd_$n(x);
    if ((bits << 1) > 255U << 24) return (uint16_t)(bits >> 16 | 0x40);
    return (uint16_t)((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}
"""
