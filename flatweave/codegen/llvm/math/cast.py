"""Conversions between dtypes in LLVM, with no undefined values.

    f32 -> i8     toward zero, the nearest end for what does not fit, 0 for NaN; three compares
                  and selects, because llvm.fptosi.sat converts vectors lane by lane
    f64 -> bool   fcmp une 0.0
    bool -> i32   zext
"""

from __future__ import annotations

from flatweave.base.dtypes import DType, bool_, i32
from flatweave.codegen.llvm.math import cast_64
from flatweave.codegen.llvm.text.values import Value
from flatweave.terms.bounds import Bounds


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
            return cast_64.to_integer(x, target, lambda: _saturated(x, target))
        return _saturated(x, target)
    if target.is_float:
        if source.bits == 64 and _leaves_vectors(x):
            return cast_64.to_float(x, target, bounds)
        return x.convert("sitofp" if source.kind == "i" else "uitofp", target)
    if target.bits == source.bits:
        return Value(x.body, target, x.width, x.text)
    if target.bits < source.bits:
        return x.convert("trunc", target)
    return x.convert("sext" if source.kind == "i" else "zext", target)


def cast_whole(x: Value, target: DType) -> Value:
    """A whole f64 between -2**51 and 2**51, as 64 bits; anything for others."""
    if _leaves_vectors(x):
        return cast_64.of_whole(x, target)
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
