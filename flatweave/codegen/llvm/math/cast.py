"""Conversions between dtypes in LLVM, with no undefined values.

    f32 -> i8     toward zero, the nearest end for what does not fit, 0 for NaN; three compares
                  and selects, because llvm.fptosi.sat converts vectors lane by lane
    f64 -> bool   fcmp une 0.0
    bool -> i32   zext
"""

from __future__ import annotations

from flatweave.base.dtypes import DType, bool_, i32
from flatweave.codegen.llvm.text.values import Value


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
