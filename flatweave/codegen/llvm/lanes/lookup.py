"""Compaction out of blocked registers: the places of kept lanes are compressed, then looked up.

    place    lane l of R registers of L lanes is in register l mod R, lane l div R: a byte says
             (l mod R) L + l div R
    kept     the places of the lanes kept, in order: one compress of bytes
    turn     the next L places pick L values out of all registers: a permute for each two registers,
             then selects

It takes one turn for each L lanes kept, usually one; no value is brought into lane order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from flatweave.base.dtypes import DType, u8
from flatweave.codegen.llvm.body.emitter import Emitter
from flatweave.codegen.llvm.lanes.collectives import count_bits
from flatweave.codegen.llvm.memory.access import element
from flatweave.codegen.llvm.text.module import vec


class Blocked(NamedTuple):
    """A buffer, the dtype of its elements in memory, and values in blocked layout."""

    buffer: str
    dtype: DType
    registers: tuple[str, ...]


def store_looked_up(e: Emitter, targets: Sequence[Blocked], base: str, keep: str) -> None:
    """Write the lanes kept from `base` on; `e` is the emitter of all lanes."""
    code, registers = e.code, len(targets[0].registers)
    inner = e.at(e.width // registers)
    count = count_bits(e, e.width, keep)
    kept = code.alloca(vec(u8, e.width))
    code.line(f"store {vec(u8, e.width)} {_places(e, registers, keep)}, ptr {kept}, align 64")
    before, (head,) = code.block, code.names("turn")
    done = code.names("stored")[0]
    code.jump(head)
    code.label(head)
    hole, at = code.hole(), code.fresh("at")
    there = code.let(f"load {vec(u8, inner.width)}, ptr {element(e, kept, u8, at)}, align 1")
    for target in targets:
        value = e.isa.look_up(code, target.dtype, inner.width, target.registers, there)
        place = element(e, target.buffer, target.dtype, code.let(f"add i64 {base}, {at}"))
        kind = vec(target.dtype, inner.width)
        code.line(f"store {kind} {value}, ptr {place}, align {target.dtype.bytes}")
    following = code.let(f"add i64 {at}, {inner.width}")
    code.fill(hole, [(at, "i64", [("0", before), (following, code.block)])])
    code.branch(code.let(f"icmp slt i64 {following}, {count}"), head, done)
    code.label(done)


def _places(e: Emitter, registers: int, keep: str) -> str:
    """Where the values of the lanes kept are among the registers, in order."""
    lanes = e.width // registers
    numbers = [lane % registers * lanes + lane // registers for lane in range(e.width)]
    listed = f"<{', '.join(f'i8 {number}' for number in numbers)}>"
    return e.isa.compress(e.code, u8, e.width, listed, keep)
