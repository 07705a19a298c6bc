"""Lanes kept out of turned registers: their places are compressed, as bytes, then looked up.

    lane l of R registers of L lanes stands in register l mod R, lane l div R      (segmented.py)
    kept    the bytes (l mod R) L + l div R of the lanes kept, in order: one compress
    turn    L of these bytes pick L values out of all registers: a permute for each two, selects

There are as many turns as it takes, one where few lanes are kept; no value is turned back.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from flatweave.base.dtypes import DType, u8
from flatweave.codegen.llvm.body.emitter import Emitter
from flatweave.codegen.llvm.lanes.collectives import count_bits
from flatweave.codegen.llvm.memory.access import element
from flatweave.codegen.llvm.text.module import vec


class Turned(NamedTuple):
    """A buffer, the dtype of its elements in memory, and turned registers."""

    buffer: str
    dtype: DType
    registers: tuple[str, ...]


def store_looked_up(e: Emitter, targets: Sequence[Turned], base: str, keep: str) -> None:
    """Write the lanes kept from `base` on; `e` is the emitter of all lanes."""
    code, runs = e.code, len(targets[0].registers)
    inner = e.at(e.width // runs)
    count = count_bits(e, e.width, keep)
    kept = code.alloca(vec(u8, e.width))
    code.line(f"store {vec(u8, e.width)} {_places(e, runs, keep)}, ptr {kept}, align 64")
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


def _places(e: Emitter, runs: int, keep: str) -> str:
    """Where the lanes kept stand among the turned registers, in order."""
    lanes = e.width // runs
    numbers = [lane % runs * lanes + lane // runs for lane in range(e.width)]
    listed = f"<{', '.join(f'i8 {number}' for number in numbers)}>"
    return e.isa.compress(e.code, u8, e.width, listed, keep)
