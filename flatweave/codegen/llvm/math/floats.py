"""Floats in LLVM: order, rounding, sign, quotients and remainders as NumPy has them.

    minimum(x, y)    NaN wins, -0.0 is below 0.0: x86's vrangeps, or vminps with operands by sign
    mod(x, y)        exact by one fma while |x / y| is small, by `frem` in the lanes where it is not
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from flatweave.codegen.llvm.text.values import Value, call_function, rarely


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
    """A call, where operands fill several registers, each of which may take lines of its own."""
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
