"""The storage types of 16 bits in LLVM, a u16 in a program: to an f32, and back.

    of_f16      vcvtph2ps, fcvtl; by integers where a CPU has neither
    to_f16      vcvtps2ph, fcvtn; an f64 through an f32 that rounds to the same
    of_bf16     a shift
    to_bf16     a sum and a shift: vcvtneps2bf16 would make 0 of tiny numbers
"""

from __future__ import annotations

from flatweave.base.dtypes import f32, f64, u16, u32
from flatweave.codegen.llvm.math.cast import cast
from flatweave.codegen.llvm.text.module import vec
from flatweave.codegen.llvm.text.values import Value

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
    # what a tiny one adds to 2**-14 is a number of its own, so it needs no f32 that is tiny
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
    """LLVM's type of so many f16."""
    return "half" if width == 1 else f"<{width} x half>"
