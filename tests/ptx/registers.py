"""Registers of all lanes of a grid, and the instructions that only read and write them.

A register is an array with a value for each lane: bits of 16, 32 or 64, or a predicate.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.ptx.memory import LOCAL, SHARED, TABLES
from tests.ptx.parse import Instruction, Module, Operand, Register, Special, Symbol
from tests.ptx.values import COMPUTED, COUNTS, DTYPES, Lanes, converted, kinds_of, unsigned

WARP = 32


class Registers:
    """Lanes of a grid of blocks, each of whole warps, of which the last may have spare lanes."""

    def __init__(self, module: Module, grid: int, threads: int) -> None:
        self.module, self.grid, self.threads = module, grid, threads
        self.warps = -(-threads // WARP)
        count = self.count = grid * self.warps * WARP
        self.lane = np.arange(count)
        self.block = self.lane // (self.warps * WARP)
        self.thread = self.lane % (self.warps * WARP)
        self.clock = np.zeros(count, np.int64)
        self.registers: dict[str, Lanes] = {}

    def compute(self, instruction: Instruction, who: Lanes) -> None:
        """An instruction that only computes."""
        parts, operands = instruction.op, instruction.operands
        kinds = kinds_of(parts, len(operands) - 1)
        values = [self.read(o, k, who) for o, k in zip(operands[1:], kinds, strict=True)]
        result = COMPUTED[parts[0]](parts, kinds[0], *values)
        target = operands[0]
        if isinstance(target, tuple):  # a predicate and its opposite
            self.write(target[1], ~result, who)
            target = target[0]
        assert parts[0] in COUNTS or "wide" in parts or result.dtype in (kinds[0], bool), (
            instruction
        )
        self.write(target, result, who)

    def carried(self, instruction: Instruction, who: Lanes) -> None:
        """Sums, differences and products that take a carry, or leave one (PTX ISA 9.7.2)."""
        name, parts = instruction.op[0], instruction.op
        kind = DTYPES["u" + parts[-1][1:]]
        bits = 8 * kind.itemsize
        flag = self.whole(Register("carry", 8))
        a, b, *rest = (self.read(o, kind, who).astype(object) for o in instruction.operands[1:])
        if name.startswith("mad"):
            product = a * b
            total = (product % 2**bits if "lo" in parts else product >> bits) + rest[0]
        else:
            total = a - b if name.startswith("sub") else a + b
        if name.endswith("c"):
            total = total - flag[who] if name == "subc" else total + flag[who]
        if "cc" in parts:
            flag[who] = (total >> bits) != 0
        self.write(instruction.operands[0], (total % 2**bits).astype(kind), who)

    def read(self, operand: Operand, kind: np.dtype, who: Lanes) -> Lanes:
        """The values of an operand as a type: of a wider register, its low bits."""
        if isinstance(operand, Register):
            found = self.whole(operand)[who]
            if found.dtype == kind:
                return found
            if found.dtype.itemsize != kind.itemsize:
                found = found.astype(f"u{kind.itemsize}")
            return found.view(kind)
        if isinstance(operand, int):
            if kind == np.bool_:
                return np.full(len(who), bool(operand))
            bits = np.array(operand % (1 << 8 * kind.itemsize), f"u{kind.itemsize}")
            return np.full(len(who), bits.view(kind)[()])
        if isinstance(operand, Special):
            return self.special(operand.name, who).astype(kind)
        if isinstance(operand, Symbol):
            module = self.module
            at = module.shared.get(operand.name, module.local.get(operand.name))
            if at is None:
                at = TABLES + module.constant[operand.name][0]
            return np.full(len(who), at, kind)
        raise NotImplementedError(operand)

    def whole(self, register: Register) -> Lanes:
        """All lanes of a register; a pattern where none has written."""
        found = self.registers.get(register.name)
        if found is None:
            kind = unsigned(register.bits)
            odd = True if kind == np.bool_ else int(0xA5A5A5A5A5A5A5A5 % (1 << register.bits))
            found = self.registers[register.name] = np.full(self.count, odd, kind)
        return found

    def write(self, operand: Operand, values: Lanes, who: Lanes) -> None:
        """Set a register; narrow values fill it with zeros or their sign."""
        if operand == ():
            return
        assert isinstance(operand, Register), operand
        into = self.whole(operand)
        if values.dtype != into.dtype:
            if values.dtype.itemsize == into.dtype.itemsize:
                values = values.view(into.dtype)
            elif values.dtype.kind == "f":
                values = values.view(f"u{values.dtype.itemsize}").astype(into.dtype)
            else:
                values = values.astype(f"{values.dtype.kind}{into.dtype.itemsize}").view(into.dtype)
        into[who] = values

    def special(self, name: str, who: Lanes) -> Lanes:
        """What the machine says."""
        kind, _, axis = name.partition(".")
        if axis in ("y", "z"):
            return np.full(len(who), 1 if kind.startswith("%n") else 0)
        table: dict[str, Any] = {
            "%tid": self.thread, "%ctaid": self.block, "%ntid": self.threads, "%nctaid": self.grid,
            "%laneid": self.lane % WARP, "%warpid": self.thread // WARP,
        }  # fmt: skip
        found = table.get(kind, self.clock)
        return found[who] if isinstance(found, np.ndarray) else np.full(len(who), found)

    def mov(self, instruction: Instruction, who: Lanes) -> None:
        """A copy, and halves to a whole or back."""
        to, source = instruction.operands
        kind = DTYPES[instruction.op[-1]]
        if isinstance(to, tuple) and isinstance(source, tuple):
            values = [self.read(part, kind, who) for part in source]
            for part, value in zip(to, values, strict=True):
                self.write(part, value, who)
        elif isinstance(to, tuple):
            whole = self.read(source, kind, who)
            half = np.dtype(f"u{kind.itemsize // len(to)}")
            for k, part in enumerate(to):
                self.write(part, (whole >> kind.type(8 * half.itemsize * k)).astype(half), who)
        elif isinstance(source, tuple):
            half = np.dtype(f"u{kind.itemsize // len(source)}")
            whole = np.zeros(len(who), kind)
            for k, part in enumerate(source):
                whole |= self.read(part, half, who).astype(kind) << kind.type(8 * half.itemsize * k)
            self.write(to, whole, who)
        else:
            self.write(to, self.read(source, kind, who), who)

    def cvt(self, instruction: Instruction, who: Lanes) -> None:
        """A conversion."""
        to, source = (DTYPES[part] for part in instruction.op[-2:])
        values = self.read(instruction.operands[1], source, who)
        self.write(instruction.operands[0], converted(instruction.op, to, values), who)

    def cvta(self, instruction: Instruction, who: Lanes) -> None:
        """Generic addresses of a space's, or back."""
        space = instruction.op[-2]
        base = {"shared": SHARED, "local": LOCAL}.get(space, 0)
        values = self.read(instruction.operands[1], DTYPES["u64"], who)
        change = np.uint64(base)
        values = values - change if "to" in instruction.op else values + change
        self.write(instruction.operands[0], values, who)
