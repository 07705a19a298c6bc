"""Every row of the scalar table as LLVM text, at any width.

    emit_scalar(body, "add", f32, 16, ["%x", "%y"])    appends  %t0 = fadd <16 x float> %x, %y
    emit_cast(body, i32, f64, 16, "%x")                appends  %t0 = sitofp <16 x i32> %x to ..

A width is a power of two. A lane's result depends on that lane's operands alone and is the same
at every width, bit for bit, so that tails and vector bodies of a loop agree.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from flatweave.base.dtypes import BY_NAME, DType, bool_
from flatweave.codegen.llvm.math import elementary, floats, integers, short_floats
from flatweave.codegen.llvm.math.cast import cast
from flatweave.codegen.llvm.text.module import Body
from flatweave.codegen.llvm.text.values import Value

Emit = Callable[..., Value]


def emit_scalar(body: Body, name: str, dtype: DType, width: int, args: Sequence[str]) -> str:
    """Append `name` applied to operands of one dtype (select: a bool before them)."""
    values = [Value(body, dtype, width, text) for text in args]
    if name == "select":
        values[0] = Value(body, bool_, width, args[0])
    if name in elementary.NAMES and dtype.is_float:
        return elementary.elementary(name, values).text
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
    "floor": _same,
    "ceil": _same,
    "round": _same,
    "trunc": _same,
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
    "not": lambda a: ~a,
    "shl": integers.shl,
    "shr": integers.shr,
    "from_bits": integers.from_bits,
    "popcount": integers.popcount,
    "clz": integers.clz,
    "ctz": integers.ctz,
    "of_f16": short_floats.of_f16,
    "of_bf16": short_floats.of_bf16,
}
_FLOATS: Mapping[str, Emit] = {
    **_BOTH,
    "add": lambda a, b: a + b,
    "mul": lambda a, b: a * b,
    "truediv": lambda a, b: a / b,
    "floordiv": floats.floordiv,
    "mod": floats.mod,
    "abs": _intrinsic("fabs"),
    "sign": floats.sign,
    "minimum": floats.minimum,
    "maximum": floats.maximum,
    "floor": _intrinsic("floor"),
    "ceil": _intrinsic("ceil"),
    "round": _intrinsic("roundeven"),
    "trunc": _intrinsic("trunc"),
    "fma": _intrinsic("fma"),
    "copysign": _intrinsic("copysign"),
    "sqrt": _intrinsic("sqrt"),
    "rsqrt": floats.rsqrt,
    "bits": lambda a: a.convert("bitcast", BY_NAME[f"u{a.dtype.bits}"]),
    "isnan": lambda a: a.is_nan(),
    "isinf": floats.is_infinite,
    "isfinite": floats.is_finite,
    "to_f16": short_floats.to_f16,
    "to_bf16": short_floats.to_bf16,
}
