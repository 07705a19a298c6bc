"""Every row of the scalar table as LLVM text, at any width: floats, and tables of all functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from flatweave.base.dtypes import BY_NAME, DType, bool_, f32, f64
from flatweave.codegen.llvm.isa import shared
from flatweave.codegen.llvm.math import casts, exponentials, integers, logarithms, trigonometry
from flatweave.codegen.llvm.math.casts import cast
from flatweave.codegen.llvm.module import Body
from flatweave.codegen.llvm.values import Value, call_function, rarely

# Floats in LLVM: order, rounding, sign, quotients and remainders as NumPy has them.
#
# minimum(x, y)    NaN wins, -0.0 is below 0.0: x86's vrangeps, or vminps with operands by sign
# mod(x, y)        exact by one fma while |x / y| is small, by `frem` in the lanes where it is not


def minimum(a: Value, b: Value) -> Value:
    """The smaller operand: NaN wins; -0.0 is below 0.0."""
    return _extreme("minimum", a, b)


def maximum(a: Value, b: Value) -> Value:
    """The greater operand: NaN wins; -0.0 is below 0.0."""
    return _extreme("maximum", a, b)


def _extreme(name: str, a: Value, b: Value) -> Value:
    """One of the two. A literal comes first: LLVM knows its sign, which leaves vminps alone."""
    if b.is_constant or a.is_constant:
        first, second = (b, a) if b.is_constant else (a, b)
        return _in_one_line(f"{name}_by_sign", partial(_by_sign, name), first, second)
    return _in_one_line(name, partial(_by_range, name), a, b)


def _by_range(name: str, a: Value, b: Value) -> Value:
    """By an instruction that orders zeros, where there is one."""
    text = a.body.module.isa.extreme(a.body, name, a.dtype, a.width, a.text, b.text)
    return _by_sign(name, a, b) if text is None else Value(a.body, a.dtype, a.width, text)


def _by_sign(name: str, a: Value, b: Value) -> Value:
    """vminps and vmaxps give the second of equal operands: of zeros the right one, if a negative
    one is the second of a minimum, and the first of a maximum."""
    is_negative = a.bits() < 0
    low, high = is_negative.where(b, a), is_negative.where(a, b)
    first, second = (low, high) if name == "minimum" else (high, low)
    smaller = first < second if name == "minimum" else first > second
    return _unless_nan(smaller.where(first, second), first)


def _unless_nan(found: Value, a: Value) -> Value:
    """What vminps or vmaxps found, kept from being merged with the test that follows; where a is
    NaN, that."""
    found = found.intrinsic("arithmetic.fence")
    text = a.body.module.isa.unless_nan(a.body, a.dtype, a.width, found.text, a.text)
    return a.is_nan().where(a, found) if text is None else Value(a.body, a.dtype, a.width, text)


def _in_one_line(name: str, build: Callable[[Value, Value], Value], a: Value, b: Value) -> Value:
    """A call where operands fill several registers, so that each may take several lines."""
    if a.width * a.dtype.bits <= a.body.module.isa.register_bits:
        return build(a, b)
    return call_function(name, build, (a, b), "alwaysinline nounwind")


def sign(a: Value) -> Value:
    """-1, 0 or 1; NaN stays."""
    negative = (a < 0.0).where(a.number(-1.0), a.eq(0.0).where(a.number(0.0), a))
    return (a > 0.0).where(a.number(1.0), negative)


def rsqrt(a: Value) -> Value:
    """1 / sqrt(a), each rounded."""
    return 1.0 / a.sqrt()


def is_infinite(a: Value) -> Value:
    """Whether a is inf or -inf."""
    return a.abs().eq(float("inf"))


def is_finite(a: Value) -> Value:
    """Whether a is neither inf nor NaN."""
    return a.abs() < float("inf")


def mod(a: Value, b: Value) -> Value:
    """Remainder with the divisor's sign."""
    return call_function("mod", _mod, (a, b), "nounwind")


def floordiv(a: Value, b: Value) -> Value:
    """Quotient rounded down, from the exact remainder."""
    return call_function("floordiv", _floordiv, (a, b), "nounwind")


def _fmod(a: Value, b: Value) -> Value:
    """The exact remainder with a's sign, as C's fmod."""
    ratio = (a / b).abs()
    quotient = ratio.intrinsic("trunc")
    size, divisor = a.abs(), b.abs()
    rest = (-quotient).fma(divisor, size)
    # The quotient was rounded, so it may be one too great.
    rest = (rest < 0.0).where(rest + divisor, rest)
    rest = quotient.eq(0.0).where(size, rest)  # 0 * inf would be NaN
    near = ratio < 2.0 ** (22 if a.dtype.bits == 32 else 51)
    usual = near.where(rest, 0.0).copysign(a)
    return rarely(~near, usual, lambda: a.binary("frem", b))


def _mod(a: Value, b: Value) -> Value:
    """Python's sign rule on top of fmod."""
    rest = _fmod(a, b)
    moved = ((b < 0.0) ^ (rest < 0.0)).where(rest + b, rest)
    return rest.eq(0.0).where(rest.number(0.0).copysign(b), moved)


def _floordiv(a: Value, b: Value) -> Value:
    """NumPy's steps, in its order."""
    rest = _fmod(a, b)
    whole = (a - rest) / b
    down = rest.ne(0.0) & ((b < 0.0) ^ (rest < 0.0))
    whole = down.where(whole - 1.0, whole)
    floor = whole.intrinsic("floor")
    nearest = ((whole - floor) > 0.5).where(floor + 1.0, floor)
    ratio = a / b
    signed = whole.eq(0.0).where(whole.number(0.0).copysign(ratio), nearest)
    return b.eq(0.0).where(ratio, signed)


# Elementary functions in LLVM: our own inlined polynomials, and four of libmvec's.
#
#     @fw.exp.f32x16        our own, an internal function that is always inlined
#     @_ZGVeN16v_cbrtf      libmvec's, where the host has it and it is clearly faster
#
# A call of libmvec spills every vector register around it; inlined code shares registers and
# constants with its neighbours. So ours is used unless libmvec's alone is a fifth faster.


NAMES = tuple(shared.FUNCTIONS)

# Nanoseconds per element on Zen 4, theirs to ours: cbrt f32 0.34 to 0.66, cbrt f64 0.95 to 1.65,
# erf f64 1.45 to 2.34, erfc f64 1.77 to 2.38.
FASTER_IN_LIBMVEC = frozenset({("cbrt", f32), ("cbrt", f64), ("erf", f64), ("erfc", f64)})

_MADE_BY = {
    name: module
    for module, names in (
        (exponentials, "exp exp2 expm1 sinh cosh tanh erf erfc"),
        (logarithms, "log log2 log10 log1p asinh acosh atanh pow cbrt hypot"),
        (trigonometry, "sin cos tan asin acos atan atan2"),
    )
    for name in names.split()
}


def elementary(name: str, operands: Sequence[Value]) -> Value:
    """The function on values of any width."""
    first = operands[0]
    if name == "pow" and (short := logarithms.power_by_literal(*operands)) is not None:
        return short
    if (name, first.dtype) in FASTER_IN_LIBMVEC:
        found = shared.find(first.body.module.isa, name, first.dtype)
        if found is not None:
            return shared.call(*found, operands)
    build = getattr(_MADE_BY[name], name)
    return call_function(name, build, operands, "alwaysinline nounwind")


# Every row of the scalar table as LLVM text, at any width.
#
#     emit_scalar(body, "add", f32, 16, ["%x", "%y"])    appends  %t0 = fadd <16 x float> %x, %y
#     emit_cast(body, i32, f64, 16, "%x")                appends  %t0 = sitofp <16 x i32> %x to ..
#
# A width is a power of two. A lane's result depends on that lane's operands alone and is the same
# at every width, bit for bit, so that tails and vector bodies of a loop agree.


Emit = Callable[..., Value]


def emit_scalar(body: Body, name: str, dtype: DType, width: int, args: Sequence[str]) -> str:
    """Append `name` applied to operands of one dtype (select: a bool before them)."""
    values = [Value(body, dtype, width, text) for text in args]
    if name == "select":
        values[0] = Value(body, bool_, width, args[0])
    if name in NAMES and dtype.is_float:
        return elementary(name, values).text
    table = _FLOATS if dtype.is_float else _INTEGERS
    return table[name](*values).text


def emit_cast(body: Body, source: DType, target: DType, width: int, x: str) -> str:
    """Append a conversion."""
    return cast(Value(body, source, width, x), target).text


def _intrinsic(name: str) -> Emit:
    return lambda x, *others: x.intrinsic(name, *others)


def _same(x: Value) -> Value:
    return x


def _select(p: Value, a: Value, b: Value) -> Value:
    return p.where(a, b)


_BOTH: Mapping[str, Emit] = {
    "sub": lambda a, b: a - b,
    "neg": lambda a: -a,
    "eq": lambda a, b: a.eq(b),
    "ne": lambda a, b: a.ne(b),
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
    "select": _select,
}
_INTEGERS: Mapping[str, Emit] = {
    **_BOTH,
    "add": integers.add,
    "mul": integers.mul,
    "mul_hi": integers.mul_hi,
    "floordiv": integers.floordiv,
    "mod": integers.mod,
    "abs": integers.absolute,
    "sign": integers.sign,
    "pow": integers.power,
    "minimum": integers.minimum,
    "maximum": integers.maximum,
    **dict.fromkeys(("floor", "ceil", "round", "trunc"), _same),
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
    "not": lambda a: ~a,
    "shl": integers.shl,
    "shr": integers.shr,
    "from_bits": integers.from_bits,
    "ones_complement": integers.ones_complement,
    "popcount": integers.popcount,
    "clz": integers.clz,
    "ctz": integers.ctz,
    "of_f16": casts.of_f16,
    "of_bf16": casts.of_bf16,
}
_FLOATS: Mapping[str, Emit] = {
    **_BOTH,
    "add": lambda a, b: a + b,
    "mul": lambda a, b: a * b,
    "truediv": lambda a, b: a / b,
    "floordiv": floordiv,
    "mod": mod,
    "abs": _intrinsic("fabs"),
    "sign": sign,
    "minimum": minimum,
    "maximum": maximum,
    "round": _intrinsic("roundeven"),
    **{name: _intrinsic(name) for name in ("floor", "ceil", "trunc", "fma", "copysign", "sqrt")},
    "rsqrt": rsqrt,
    "bits": lambda a: a.convert("bitcast", BY_NAME[f"u{a.dtype.bits}"]),
    "isnan": lambda a: a.is_nan(),
    "isinf": is_infinite,
    "isfinite": is_finite,
    "to_f16": casts.to_f16,
    "to_bf16": casts.to_bf16,
}
