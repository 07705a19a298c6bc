"""Constants, names and types as C spells them, for every language of the C family.

    1.5f32 -> 1.5f      -1i64 -> (-1L)      inf f64 -> FW_F64(0x7ff0000000000000UL)
"""

from __future__ import annotations

import re
import struct

from flatweave.base.dtypes import DType, bool_, i64, u8
from flatweave.base.errors import CompilerBug
from flatweave.terms.syntax import BufferType, Const, Type, Var

_SUFFIX = {"i32": "", "i64": "L", "u32": "U", "u64": "UL"}


def stored(dtype: DType) -> DType:
    """How a dtype lies in memory: a bool takes a byte."""
    return u8 if dtype is bool_ else dtype


def scalar_type(type_: Type) -> DType:
    """The type of a scalar variable."""
    if not isinstance(type_, DType):
        raise CompilerBug(f"{type_} is no scalar type")
    return type_


def buffer_dtype(var: Var) -> DType:
    """The dtype of what a buffer holds."""
    if not isinstance(var.type, BufferType):
        raise CompilerBug(f"{var} is not a buffer")
    return var.type.dtype


def literal(const: Const) -> str:
    """A constant as an expression of its C type."""
    dtype, value = const.dtype, const.value
    if dtype is bool_:
        return "true" if value else "false"
    if dtype.is_float:
        return _float_literal(dtype, float(value))
    return _integer_literal(dtype, int(value))


def _float_literal(dtype: DType, value: float) -> str:
    if value != value or value in (float("inf"), float("-inf")):
        code, word, tail = ("<f", "<I", "U") if dtype.bits == 32 else ("<d", "<Q", "UL")
        bits = struct.unpack(word, struct.pack(code, value))[0]
        return f"FW_F{dtype.bits}({bits:#x}{tail})"
    text = repr(dtype.numpy.type(value).item()) if dtype.bits == 64 else f"{value:.9g}"
    if not re.search(r"[.e]", text):
        text += ".0"
    text += "f" if dtype.bits == 32 else ""
    return f"({text})" if text.startswith("-") else text


def _integer_literal(dtype: DType, value: int) -> str:
    if dtype.bits < 32:
        return f"(({dtype.c}){value})"
    if dtype.is_signed and value == -(1 << (dtype.bits - 1)):
        return f"({value + 1}{_SUFFIX[dtype.name]} - 1)"
    text = f"{value}{_SUFFIX[dtype.name]}"
    if dtype is not i64 and dtype.bits == 64:
        return f"(({dtype.c}){text})"
    return f"({text})" if value < 0 else text


class VariableNames:
    """A C name for each variable, given once."""

    def __init__(self) -> None:
        self._names: dict[Var, str] = {}
        self._taken: set[str] = set()

    def of(self, var: Var) -> str:
        """The variable's own name, made fit and unlike all others."""
        if var not in self._names:
            self._names[var] = self.fresh(var.name)
        return self._names[var]

    def share(self, var: Var, other: Var) -> str:
        """One name for two variables: a loop's state inside the loop, and its result behind."""
        self._names[var] = self.of(other)
        return self._names[var]

    def fresh(self, hint: str) -> str:
        """A name that nothing has; every one ends in a number or _, so none is a keyword."""
        name = re.sub(r"\W", "_", hint)
        if name.startswith("fw_"):
            name += str(len(self._taken))
        elif not re.search(r"_\d+$", name):
            name += "_"
        while name in self._taken:
            name += "_"
        self._taken.add(name)
        return name
