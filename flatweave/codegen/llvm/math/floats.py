"""Floats in LLVM: order, rounding, sign, quotients and remainders as NumPy has them.

    minimum(x, y)    x86's vminps and a NaN test: NaN wins; of equal zeros the second
    mod(x, y)        exact by one fma while |x / y| is small, by `frem` in the lanes where it is not
"""

from __future__ import annotations

from collections.abc import Callable

from flatweave.codegen.llvm.text.values import Value, call_function, rarely


def minimum(a: Value, b: Value) -> Value:
    """The smaller operand: NaN wins; of equal operands the second."""
    return _in_one_line("minimum", lambda a, b: _unless_nan((a < b).where(a, b), a), a, b)


def maximum(a: Value, b: Value) -> Value:
    """The greater operand: NaN wins; of equal operands the second."""
    return _in_one_line("maximum", lambda a, b: _unless_nan((a > b).where(a, b), a), a, b)


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
