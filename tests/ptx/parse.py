"""PTX as data: the functions of a module, their instructions, and what they declare.

    module = parse(text)
    module.entries["k_t_12"].params     [Param("k_t_12_param_0", 8, 0), ..]
    module.code[17]                     Instruction(("add", "s64"), (Register, Register, 8), ..)

The syntax is that of NVIDIA's manual "Parallel Thread Execution ISA", version 9; of it, what NVRTC
writes. Functions share one list of instructions, so that a position in it is a program counter.
Parameters of calls are registers of the function that is called: no function calls itself.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

BYTES = {"pred": 1} | {
    f"{kind}{bits}": bits // 8 for kind in "busf" for bits in (8, 16, 32, 64, 128)
}
SPECIAL = ("%tid.", "%ntid.", "%ctaid.", "%nctaid.", "%laneid", "%warpid", "%clock", "%globaltimer")


@dataclass(frozen=True)
class Register:
    """A register of a function, or a parameter of one: the same name in two functions is two."""

    name: str
    bits: int


@dataclass(frozen=True)
class Special:
    """What the machine says: `%tid.x`."""

    name: str


@dataclass(frozen=True)
class Symbol:
    """The address of a variable."""

    name: str


@dataclass(frozen=True)
class Address:
    """`[%rd1+8]`."""

    base: Operand
    offset: int


Operand = int | str | Register | Special | Symbol | Address | tuple["Operand", ...]
"""Bits of a constant; a label or function; what is read or written; several in braces."""


@dataclass
class Instruction:
    """`@%p1 add.s64 %rd1, %rd2, 8;`."""

    op: tuple[str, ...]
    operands: list[Operand]
    guard: Register | None
    negated: bool
    text: str
    line: int = 0
    """Of the module's text, from 1 on."""


@dataclass(frozen=True)
class Param:
    """A parameter of a function, and its bytes."""

    name: str
    size: int


@dataclass
class Function:
    """Its first instruction, its parameters, and how many bytes of shared memory it takes."""

    name: str
    params: list[Param]
    start: int = 0
    shared: int = 0
    results: list[Param] = field(default_factory=list)


@dataclass
class Module:
    """All functions; where each variable of a space is, and how many bytes the space takes."""

    code: list[Instruction] = field(default_factory=list)
    functions: dict[str, Function] = field(default_factory=dict)
    entries: dict[str, Function] = field(default_factory=dict)
    labels: dict[str, int] = field(default_factory=dict)
    shared: dict[str, int] = field(default_factory=dict)
    local: dict[str, int] = field(default_factory=dict)
    constant: dict[str, tuple[int, bytes]] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=lambda: {"shared": 0, "local": 0, "const": 0})

    def place(self, space: str, align: int, size: int) -> int:
        """Room for a variable."""
        at = -(-self.sizes[space] // align) * align
        self.sizes[space] = at + size
        return at


_HEADER = re.compile(
    r"^(?:\.visible\s+|\.weak\s+|\.extern\s+)*\.(entry|func)\s*(\([^)]*\))?\s*([\w$]+)\s*"
    r"(?:\(([^)]*)\))?[^{;]*?([{;])", re.MULTILINE | re.DOTALL,
)  # fmt: skip
_PARAM = re.compile(r"\.param\s+(?:\.align\s+\d+\s+)?\.(\w+)\s+([\w$]+)(?:\[(\d+)\])?")
_VARIABLE = re.compile(
    r"^\s*(?:\.visible\s+|\.weak\s+)*\.(shared|local|const|global)\s+(?:\.align\s+(\d+)\s+)?\.(\w+)\s+"
    r"([\w$]+)(?:\[(\d*)\])?(?:\s*=\s*(.*))?$", re.DOTALL,
)  # fmt: skip
_REGISTERS = re.compile(r"^\.reg\s+\.(\w+)\s+(.*)$", re.DOTALL)
_GUARD = re.compile(r"^@(!?)(%\w+)\s+(.*)$", re.DOTALL)


def parse(text: str) -> Module:
    """A module of what NVRTC wrote."""
    text = re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.DOTALL)
    module = Module()
    at = 0
    for found in _HEADER.finditer(text):
        _globals(module, text[at : found.start()])
        at = found.end()
        name = found[3]
        function = Function(name, _params(found[4] or ""), results=_params(found[2] or ""))
        module.functions[name] = function
        if found[5] == ";":
            continue  # declared only; its body follows
        end = _closing(text, found.end())
        if found[1] == "entry":
            module.entries[name] = function
        module.sizes["shared"] = 0
        _Body(module, function, 1 + text.count("\n", 0, found.end())).read(text[found.end() : end])
        function.shared = module.sizes["shared"]
        at = end + 1
    _globals(module, text[at:])
    return module


def _params(text: str) -> list[Param]:
    return [Param(m[2], BYTES[m[1]] * int(m[3] or 1)) for m in _PARAM.finditer(text)]


def _closing(text: str, at: int) -> int:
    """Where the brace closes that was opened before `at`."""
    depth = 1
    for found in re.compile("[{}]").finditer(text, at):
        depth += 1 if found[0] == "{" else -1
        if not depth:
            return found.start()
    raise ValueError("a body without an end")


def _globals(module: Module, text: str) -> None:
    for statement in text.split(";"):
        _declare(module, statement)


def _declare(module: Module, statement: str) -> bool:
    """Whether a statement declares a variable, for which memory is reserved."""
    found = _VARIABLE.match(statement)
    if not found:
        return False
    space, align, kind, name, count, values = found.groups()
    size = BYTES[kind] * int(count or 1)
    if space in ("const", "global"):
        at = module.place("const", int(align or BYTES[kind]), size)
        each = re.findall(r"-?(?:0x)?[0-9a-fA-F]+", values or "")
        raw = b"".join(
            (int(v, 0) % (1 << 8 * BYTES[kind])).to_bytes(BYTES[kind], "little") for v in each
        )
        module.constant[name] = at, raw.ljust(size, b"\0")
    else:
        where = module.shared if space == "shared" else module.local
        where[name] = module.place(space, int(align or BYTES[kind]), size)
    return True


class _Body:
    """Reads the statements of one function."""

    def __init__(self, module: Module, function: Function, line: int) -> None:
        self.module, self.function, self.line = module, function, line
        function.start = len(module.code)
        # bits of the registers that have a name or a prefix, in each block around a statement
        self.inside: list[dict[str, int]] = [{}]
        self.stored: list[tuple[Instruction, str]] = []  # to parameters of the call that follows
        self.returned: dict[str, str] = {}  # parameters of this function for what a call gave

    def read(self, text: str) -> None:
        """All statements; a block's registers hide those of the same name outside."""
        at = 0
        while True:
            while at < len(text) and (text[at].isspace() or text[at] in "{}"):
                self.line += text[at] == "\n"
                if text[at] == "{":
                    self.inside.append({})
                elif text[at] == "}":
                    self.inside.pop()
                at += 1
            if at == len(text):
                return
            label = re.compile(r"([$\w]+):").match(text, at)
            if label:
                self.module.labels[label[1]] = len(self.module.code)
                at = label.end()
                continue
            end = text.index(";", at)
            self.statement(" ".join(text[at:end].split()))
            self.line += text.count("\n", at, end)
            at = end + 1

    def statement(self, text: str) -> None:
        """One declaration or instruction."""
        registers = _REGISTERS.match(text)
        if registers:
            for name in registers[2].split(","):
                self.inside[-1][name.strip().partition("<")[0]] = 8 * BYTES[registers[1]]
        elif not text.startswith((".param", ".pragma", ".loc ", ".file")) and not _declare(
            self.module, text
        ):
            guard = _GUARD.match(text)
            negated, name, rest = guard.groups() if guard else ("", "", text)
            op, _, operands = rest.partition(" ")
            made = Instruction(tuple(op.split(".")), [], None, bool(negated), text, self.line)
            if name:
                guards = self.register(name)
                assert isinstance(guards, Register)
                made.guard = guards
            self.module.code.append(made)
            if made.op[0] == "call":
                self.call(made, operands)
            else:
                made.operands = [self.operand(part) for part in _split(operands)]
                if made.op[1:2] == ("param",):
                    self.passed(made)

    def passed(self, made: Instruction) -> None:
        """A parameter is stored or loaded; one of a call is known when the call is read."""
        side = 0 if made.op[0] == "st" else 1
        address = made.operands[side]
        assert isinstance(address, Address) and isinstance(address.base, Symbol)
        name = address.base.name
        if side == 0 and name not in [each.name for each in self.function.results]:
            self.stored.append((made, name))
        elif self.function.name not in self.module.entries or name in self.returned:
            made.operands[side] = self.parameter(name, address.offset)

    def call(self, made: Instruction, text: str) -> None:
        """`(retval0), name, (param0, param1)`: parameters are the registers of what is called."""
        results, name, args = re.fullmatch(
            r"(?:\(([^)]*)\)\s*,\s*)?([\w$]+)\s*(?:,\s*\(([^)]*)\))?", text
        ).groups()  # type: ignore[union-attr]
        callee = self.module.functions[name]
        made.operands = [name]
        names = [each.strip() for each in (args or "").split(",")]
        for store, param in self.stored:
            if param in names:
                inside = callee.params[names.index(param)].name
                store.operands[0] = self.parameter(inside, store.operands[0].offset)  # type: ignore[union-attr]
        self.stored = []
        for mine, theirs in zip((results or "").split(","), callee.results, strict=False):
            self.returned[mine.strip()] = theirs.name

    def parameter(self, name: str, offset: int) -> Operand:
        """A parameter's bytes from `offset` on, as a register."""
        return Register(f"{self.returned.get(name, name)}+{offset}", 64)

    def register(self, name: str) -> Operand:
        """A register of this function; one of 128 bits is a pair."""
        depth, bits = self.declared(name) or (0, 0)
        name = f"{self.function.name}:{name}" + f"@{depth}" * (depth > 0)
        if bits == 128:
            return tuple(Register(f"{name}.{k}", 64) for k in range(2))
        return Register(name, bits)

    def declared(self, name: str) -> tuple[int, int] | None:
        """How deep the block is that declares a register, and its bits."""
        for depth, kinds in reversed(list(enumerate(self.inside))):
            for each in (name, name.rstrip("0123456789")):
                if each in kinds:
                    return depth, kinds[each]
        return None

    def operand(self, text: str) -> Operand:
        """One operand."""
        text = text.strip()
        if text[0] == "{":
            return tuple(self.operand(part) for part in text[1:-1].split(","))
        if "|" in text:
            return tuple(self.operand(part) for part in text.split("|"))
        if text[0] == "[":
            base, _, offset = text[1:-1].partition("+")
            return Address(self.operand(base), int(offset or 0))
        if text.startswith(SPECIAL):
            return Special(text)
        if text[0] == "%" or self.declared(text):
            return self.register(text)
        if text[:2] in ("0d", "0f", "0D", "0F"):
            return int(text[2:], 16)
        if text == "_":
            return ()
        try:
            return int(text.removesuffix("U"), 0)
        except ValueError:
            return text if text.startswith("$") else Symbol(text)


def _split(text: str) -> list[str]:
    """At commas outside of braces."""
    return [part for part in re.split(r",\s*(?![^{]*\})", text) if part.strip()]
