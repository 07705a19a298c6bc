"""LLVM text under construction: modules, functions with their blocks, vectors rearranged."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from math import copysign
from typing import Protocol

from flatweave.base.dtypes import DType, i64
from flatweave.base.plan import OUT_OF_MEMORY

#     module = Module(isa.here())
#     body = Body(module)
#     a = body.let("fadd <16 x float> %x, %y")              # %t0 = fadd <16 x float> %x, %y
#     module.declare("float @llvm.sqrt.f32(float)")         # once, however often it is asked for
#     module.define("@kernel", "define void @kernel(ptr %p) {", body)
#     module.text()                                         # declarations, constants, functions
#
# Order of declaration is order of first use, so the same calls give the same text.


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
    """One LLVM module: what it declares, its constants and functions, and the CPU it is for.

    With `sites`, the sites of errors are numbered by kernel, of which each has that many: the
    launch knows which kernel it is, and equal kernels have one text.
    """

    def __init__(self, isa: Instructions, sites: int | None = None) -> None:
        self.isa = isa
        self._sites = sites
        self._declarations: dict[str, None] = {}
        self._constants: dict[str, str] = {}
        self._functions: dict[str, str] = {}
        self._shared: dict[tuple[str, str], str] = {}
        self._names: dict[str, str] = {}

    def site(self, number: int) -> int:
        """The number of a site in this module."""
        return number if self._sites is None else number % self._sites

    def declare(self, signature: str) -> None:
        """State an external function: `float @llvm.sqrt.f32(float)`, attributes may follow."""
        self._declarations[signature] = None

    def constant(self, name: str, value: str, *, align: int) -> None:
        """Define a constant of this name in memory, once: its type and value."""
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
        """The name of a function in this module."""
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
        self.words: dict[str, str] = {}  # masks whose lanes are the low bits of an i64, too
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

    def call(self, result: str, symbol: str, *operands: str) -> str:
        """The value of an external function, which is declared; of operands with their types. The
        runtime's functions raise nothing."""
        types = ", ".join(map(_type_of, operands))
        raises = " nounwind" if symbol.startswith("@fw_") else ""
        self.declare(f"{result} {symbol}({types}){raises}")
        call = f"call {result} {symbol}({', '.join(operands)})"
        if result != "void":
            return self.let(call)
        self.line(call)
        return ""

    def text(self) -> str:
        """All lines so far."""
        return "".join(f"{line}\n" for line in self._lines)


def _type_of(operand: str) -> str:
    """The type before a value: <4 x float> before %x."""
    end = operand.index(">") + 1 if operand[0] == "<" else operand.index(" ")
    return operand[:end]


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


# The text of one LLVM function with its blocks, branches, phis and stack slots.


# Reports write nothing that programs read, so loads may move across them.
_EFFECTS = "cold nounwind willreturn memory(argmem: readwrite, inaccessiblemem: readwrite)"
REPORT = f"void @fw_report(ptr, i64, i64, i64, i64, i64) {_EFFECTS}"
STOPPED = "stopped"  # the block that leaves a function whose call has been cancelled
Phi = tuple[str, str, Sequence[tuple[str, str]]]  # name, type, (value, block it comes from)..


class Code(Body):
    """A function's body: blocks by name, phis filled in once a loop's last values are known."""

    def __init__(self, module: Module) -> None:
        super().__init__(module)
        self.has_streamed = False
        self._stack: list[str] = []
        self.can_stop = False  # whether anything goes to the block `STOPPED`
        self._fuel = ""
        self._scratch: list[tuple[str, int]] = []

    def scratch(self, size: int) -> str:
        """A buffer of `size` bytes, allocated before the function's entry."""
        self.declare("noalias ptr @fw_alloc(ptr, i64) nounwind")
        self.declare(REPORT)
        self._scratch.append((self.fresh("scratch"), size))
        return self._scratch[-1][0]

    def leave(self) -> None:
        """Free scratch buffers and return; a cancelled call frees them at its end."""
        for name, _ in self._scratch:
            self.declare("void @fw_release(ptr, ptr nocapture) nounwind")
            self.line(f"call void @fw_release(ptr %ctx, ptr {name})")
        self.line("ret void")

    def fuel(self, full: int) -> str:
        """The stack slot of the function's fuel counter, `full` at entry (llvm/control.py)."""
        if not self._fuel:
            self._fuel = self.fresh("fuel")
            self._stack.append(f"  {self._fuel} = alloca i64")
            self._stack.append(f"  store i64 {full}, ptr {self._fuel}")
        return self._fuel

    def stop(self) -> str:
        """The block to go to when the call has been cancelled."""
        self.can_stop = True
        return STOPPED

    def begin(self, line: str) -> None:
        """Add an instruction at the function's entry."""
        self._stack.append(f"  {line}")

    def alloca(self, type_: str, align: int = 64) -> str:
        """A stack slot, allocated once at the function's entry."""
        name = self.fresh("stack")
        self._stack.append(f"  {name} = alloca {type_}, align {align}")
        return name

    def names(self, *stems: str) -> list[str]:
        """Fresh names for blocks."""
        self._count += 1
        return [f"{stem}{self._count - 1}" for stem in stems]

    def jump(self, target: str) -> None:
        """End this block by going to another."""
        self.line(f"br label %{target}")

    def enter(self, label: str) -> None:
        """End this block by going to the next one, which begins here."""
        self.jump(label)
        self.label(label)

    def branch(self, condition: str, then: str, other: str) -> None:
        """End this block by going to one of two."""
        self.line(f"br i1 {condition}, label %{then}, label %{other}")

    def choose(
        self, condition: str, type_: str, then: Callable[[], str], other: Callable[[], str]
    ) -> str:
        """The value of one of two; the other's instructions do not run."""
        yes, no, done = self.names("yes", "no", "done")
        self.branch(condition, yes, no)
        self.label(yes)
        arms = [(then(), self.block)]
        self.jump(done)
        self.label(no)
        arms.append((other(), self.block))
        self.enter(done)
        return self.phi(type_, arms)

    def hole(self) -> int:
        """A placeholder for lines that are not known yet."""
        self._lines.append("")
        return len(self._lines) - 1

    def fill(self, hole: int, phis: Sequence[Phi]) -> None:
        """Put phis where a hole was left."""
        self._lines[hole] = "\n".join(_phi(*phi) for phi in phis)

    def phi(self, type_: str, arms: Sequence[tuple[str, str]]) -> str:
        """The value that comes with the block it comes from."""
        if all(value == arms[0][0] for value, _ in arms):
            return arms[0][0]
        name = self.fresh("phi")
        self._lines.append(_phi(name, type_, arms))
        return name

    def text(self) -> str:
        """The whole body."""
        if not self._scratch:
            return "\n".join(("entry:", *self._stack, *filter(None, self._lines), ""))
        return "\n".join((*self._begin(), "entry:", *filter(None, self._lines), ""))

    def _begin(self) -> Iterator[str]:
        """The block before the entry: the stack, and the scratch buffers or the end of the call."""
        yield from ("begin:", *self._stack)
        for name, size in self._scratch:
            good, bad, null = (f"{name[1:]}.{stem}" for stem in ("good", "bad", "null"))
            yield f"  {name} = call ptr @fw_alloc(ptr %ctx, i64 {size})"
            yield f"  %{null} = icmp eq ptr {name}, null"
            yield f"  br i1 %{null}, label %{bad}, label %{good}"
            report = f"i64 {OUT_OF_MEMORY}, i64 0, i64 0, i64 {size}, i64 0"
            yield f"{bad}:\n  call void @fw_report(ptr %ctx, {report})\n  ret void\n{good}:"
        yield "  br label %entry"


def _phi(name: str, type_: str, arms: Sequence[tuple[str, str]]) -> str:
    listed = ", ".join(f"[ {value}, %{block} ]" for value, block in arms)
    return f"  {name} = phi {type_} {listed}"


# Vectors rearranged: broadcasts, shuffles, parts of a vector, masks as words.
#
# splat(body, f32, 4, "%x")            %t0 = insertelement <4 x float> poison, float %x, i64 0
#                                      %t1 = shufflevector .. <4 x i32> zeroinitializer
# shuffle(body, kind, "%x", [1, 0])    %t2 = shufflevector <4 x i32> %x, .. <i32 1, i32 0>


def indices(lanes: Iterable[int]) -> str:
    """The mask of a shuffle."""
    listed = [f"i32 {i}" for i in lanes]
    return f"<{len(listed)} x i32> <{', '.join(listed)}>"


def shuffle(body: Body, kind: str, text: str, lanes: Iterable[int], other: str = "poison") -> str:
    """Lanes of one vector, or of two side by side, in the order given."""
    return body.let(f"shufflevector {kind} {text}, {kind} {other}, {indices(lanes)}")


def padded(
    body: Body, kind: str, text: str, lanes: int, full: int, fill: str = "poison"
) -> str:
    """Append lanes: each of them the first lane of `fill`, or any lanes of it."""
    behind = range(lanes, full) if full <= 2 * lanes else [lanes] * (full - lanes)
    return shuffle(body, kind, text, [*range(lanes), *behind], fill)


def splat(body: Body, dtype: DType, width: int, text: str) -> str:
    """The same value in every lane."""
    if is_constant(text):
        return f"splat ({dtype.llvm} {text})"
    kind = vec(dtype, width)
    one = body.let(f"insertelement {kind} poison, {dtype.llvm} {text}, i64 0")
    zeros = f"<{width} x i32> zeroinitializer"
    return body.let(f"shufflevector {kind} {one}, {kind} poison, {zeros}")


def joined(body: Body, element: str, parts: Sequence[str], lanes: int) -> str:
    """Vectors of `lanes` lanes, concatenated; the number of vectors is a power of two."""
    while len(parts) > 1:
        kind = f"<{lanes} x {element}>"
        pairs = zip(parts[::2], parts[1::2], strict=True)
        parts = [shuffle(body, kind, low, range(2 * lanes), high) for low, high in pairs]
        lanes *= 2
    return parts[0]


def word_of_mask(body: Body, width: int, mask: str) -> str:
    """A mask of at most 64 lanes as an i64, lane 0 lowest."""
    if mask in body.words:
        bits = -1 if width == i64.bits else (1 << width) - 1
        return body.let(f"and i64 {body.words[mask]}, {bits}")
    whole = body.let(f"bitcast <{width} x i1> {mask} to i{width}")
    return whole if width == i64.bits else body.let(f"zext i{width} {whole} to i64")


def mask_of_word(body: Body, width: int, text: str) -> str:
    """The low bits of an i64 as a mask of `width` lanes."""
    bits = text if width == i64.bits else body.let(f"trunc i64 {text} to i{width}")
    mask = body.let(f"bitcast i{width} {bits} to <{width} x i1>")
    body.words[mask] = text
    return mask
