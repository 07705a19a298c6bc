"""Conversions between dtypes in LLVM, with no undefined values.

    f32 -> i8     llvm.fptosi.sat: toward zero, the nearest end for what does not fit, 0 for NaN
    f64 -> bool   fcmp une 0.0
    bool -> i32   zext
"""

from __future__ import annotations

from flatweave.base.dtypes import DType, bool_
from flatweave.codegen.llvm_text import suffix, vec
from flatweave.codegen.llvm_values import Value


def cast(x: Value, target: DType) -> Value:
    """The value converted to another dtype."""
    source = x.dtype
    if source == target:
        return x
    if target == bool_:
        return x.ne(0)
    if source.is_float and target.is_float:
        return x.convert("fpext" if target.bits > source.bits else "fptrunc", target)
    if source.is_float:
        return _saturated(x, target)
    if target.is_float:
        return x.convert("sitofp" if source.kind == "i" else "uitofp", target)
    if target.bits == source.bits:
        return Value(x.body, target, x.width, x.text)
    if target.bits < source.bits:
        return x.convert("trunc", target)
    return x.convert("sext" if source.kind == "i" else "zext", target)


def _saturated(x: Value, target: DType) -> Value:
    """A float to an integer, by LLVM's saturating conversion."""
    opcode = "fptosi" if target.kind == "i" else "fptoui"
    result = vec(target, x.width)
    symbol = f"@llvm.{opcode}.sat.{suffix(target, x.width)}.{suffix(x.dtype, x.width)}"
    x.body.declare(f"{result} {symbol}({x.type})")
    return x.let(f"call {result} {symbol}({x.type} {x.text})", target)
