"""LLVM text under construction: a module's declarations and functions, and one function's body.

    module = Module(isa.here())
    body = Body(module)
    a = body.let("fadd <16 x float> %x, %y")              # %t0 = fadd <16 x float> %x, %y
    module.declare("float @llvm.sqrt.f32(float)")         # once, however often it is asked for
    module.define("@kernel", "define void @kernel(ptr %p) {", body)
    module.text()                                         # declarations, constants, functions

Order of declaration is order of first use, so the same calls give the same text.
"""

from __future__ import annotations

import struct
from math import copysign
from typing import Protocol

from flatweave.base.dtypes import DType


class Instructions(Protocol):
    """What functions of values ask of the CPU that a module is for (isa/portable.py)."""

    register_bits: int
    converts_64: bool
    converts_f16: bool
    libmvec: frozenset[str]
    libmvec_letters: tuple[tuple[str, int], ...]

    def scale(self, body: Body, dtype: DType, width: int, text: str, exponent: str) -> str | None:
        """x * 2**k in one instruction, if there is one."""

    def extreme(
        self, body: Body, name: str, dtype: DType, width: int, text: str, other: str
    ) -> str | None:
        """The minimum or maximum, as IEEE 754 has them, if there are instructions for it."""

    def unless_nan(
        self, body: Body, dtype: DType, width: int, text: str, other: str
    ) -> str | None:
        """Floats, or `other` where that is NaN, in one instruction, if there is one."""


class Module:
    """One LLVM module: what it declares, its constants and functions, and the CPU it is for."""

    def __init__(self, isa: Instructions) -> None:
        self.isa = isa
        self._declarations: dict[str, None] = {}
        self._constants: dict[str, str] = {}
        self._functions: dict[str, str] = {}
        self._shared: dict[tuple[str, str], str] = {}
        self._names: dict[str, str] = {}

    def declare(self, signature: str) -> None:
        """State an external function: `float @llvm.sqrt.f32(float)`, attributes may follow."""
        self._declarations[signature] = None

    def constant(self, name: str, value: str, *, align: int) -> None:
        """State what stands in memory under this name, once and for all: its type and value."""
        self._constants[name] = f"{name} = internal unnamed_addr constant {value}, align {align}\n"

    def defines(self, name: str) -> bool:
        """Whether a function of this name is here already."""
        return name in self._functions or name in self._names

    def define(self, name: str, head: str, body: Body) -> None:
        """Add a function: its `define .. {` line and its body."""
        self._functions[name] = f"{head}\n{body.text()}}}\n"

    def define_text(self, name: str, text: str) -> None:
        """Add a function that is written out."""
        self._functions[name] = text

    def define_once(self, name: str, head: str, body: Body) -> None:
        """Add a function, unless one with the same head and body is here: then it is that one.

        `head` has {name} where the name belongs; calls ask `name_of`.
        """
        text = body.text()
        self._names[name] = self._shared.setdefault((head, text), name)
        if self._names[name] == name:
            self._functions[name] = f"{head.replace('{name}', name)}\n{text}}}\n"

    def name_of(self, name: str) -> str:
        """The name under which a function stands here."""
        return self._names.get(name, name)

    def text(self) -> str:
        """The whole module."""
        declarations = "".join(f"declare {signature}\n" for signature in self._declarations)
        constants = "".join(self._constants.values())
        return declarations + constants + "\n" + "\n".join(self._functions.values())


class Body:
    """The text of one function under construction, line by line."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.block = "entry"
        self._lines: list[str] = []
        self._count = 0

    def fresh(self, stem: str = "t") -> str:
        """A local name that nothing else has: %t12."""
        self._count += 1
        return f"%{stem}{self._count - 1}"

    def let(self, rhs: str, stem: str = "t") -> str:
        """Name the value of an instruction."""
        name = self.fresh(stem)
        self.line(f"{name} = {rhs}")
        return name

    def line(self, text: str) -> None:
        """Append one instruction."""
        self._lines.append(f"  {text}")

    def label(self, name: str) -> None:
        """Begin a block (the name without %)."""
        self.block = name
        self._lines.append(f"{name}:")

    def declare(self, signature: str) -> None:
        """State an external function in the module."""
        self.module.declare(signature)

    def text(self) -> str:
        """All lines so far."""
        return "".join(f"{line}\n" for line in self._lines)


def vec(dtype: DType, width: int) -> str:
    """The LLVM type of `width` values in registers: float, <16 x float>, <4 x i1>."""
    return dtype.llvm if width == 1 else f"<{width} x {dtype.llvm}>"


def suffix(dtype: DType, width: int) -> str:
    """The type as intrinsics spell it: f32, v16f32, i8, v4i1."""
    scalar = f"{'f' if dtype.is_float else 'i'}{dtype.bits}"
    return scalar if width == 1 else f"v{width}{scalar}"


def constant(dtype: DType, width: int, value: int | float | bool) -> str:
    """A literal of a dtype, the same in every lane."""
    literal = _literal(dtype, value)
    return literal if width == 1 else f"splat ({dtype.llvm} {literal})"


def is_constant(text: str) -> bool:
    """Whether an operand's text is a literal, not a name."""
    return not text.startswith("%")


def integer_of(text: str, dtype: DType) -> int | None:
    """The integer that `constant` gave this text for; None for any other operand."""
    if text.startswith("splat ("):
        text = text[len(f"splat ({dtype.llvm} ") : -1]
    if not dtype.is_integer or not text.lstrip("-").isdecimal():
        return None
    number = int(text)
    return number + (1 << dtype.bits) if number < 0 and dtype.kind == "u" else number


def _literal(dtype: DType, value: int | float | bool) -> str:
    """One value: floats as the hexadecimal bits of their double, integers as signed ones."""
    if dtype.is_float:
        rounded = float(dtype.numpy.type(value))
        if rounded != rounded:
            return "0xFFF8000000000000" if copysign(1, rounded) < 0 else "0x7FF8000000000000"
        return f"0x{struct.unpack('<Q', struct.pack('<d', rounded))[0]:016X}"
    if dtype.kind == "b":
        return "true" if value else "false"
    number = int(value) & ((1 << dtype.bits) - 1)
    return str(number - (1 << dtype.bits) if number >> (dtype.bits - 1) else number)
