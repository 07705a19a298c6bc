"""Compress by tables: the mask as a number says which bytes of a register come to the front.

    mask of 4 lanes, 32 bits each     0b1010
    entry 10 of a table of 16         04 05 06 07  0c 0d 0e 0f  then anything: lanes 1 and 3
    pshufb, tbl                       moves the bytes

Lanes of 8 and 16 bits are taken eight at a time: a table for sixteen has 65,536 entries.
"""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.base.dtypes import DType, u8
from flatweave.codegen.llvm.text.module import Body, vec
from flatweave.codegen.llvm.text.vectors import padded, shuffle, word_of_mask

_BYTES = 16
"""Of the registers whose bytes are moved."""
_MOST_LANES = 8


def lanes_of(kept: DType) -> int:
    """How many lanes are compressed at once."""
    return min(_MOST_LANES, _BYTES // kept.bytes)


def compress(
    body: Body, kept: DType, lanes: int, text: str, mask: str, move_bytes: str
) -> str:
    """The lanes of the mask, moved to the front by the intrinsic `move_bytes`."""
    there = lanes * kept.bytes
    register, part = vec(u8, _BYTES), vec(u8, there)
    order = entry(body, lanes_of(kept), kept.bytes, mask, lanes)
    whole = lanes_of(kept) * kept.bytes
    if whole < _BYTES:
        order = padded(body, vec(u8, whole), order, whole, _BYTES)
    text = body.let(f"bitcast {vec(kept, lanes)} {text} to {part}")
    if there < _BYTES:
        text = padded(body, part, text, there, _BYTES)
    body.declare(f"{register} {move_bytes}({register}, {register})")
    text = body.let(f"call {register} {move_bytes}({register} {text}, {register} {order})")
    if there < _BYTES:
        text = shuffle(body, register, text, range(there))
    return body.let(f"bitcast {part} {text} to {vec(kept, lanes)}")


def entry(body: Body, lanes: int, parts: int, mask: str, used: int) -> str:
    """The parts of the lanes in the mask, lowest first, as <lanes * parts x i8>.

    The mask has only the first `used` of the lanes.
    """
    size = lanes * parts
    table = f"@fw_front_{lanes}_of_{parts}"
    listed = "".join(f"\\{number:02X}" for number in _numbers(lanes, parts))
    body.module.constant(table, f"[{size << lanes} x i8] c\"{listed}\"", align=_BYTES)
    word = word_of_mask(body, used, mask)
    place = body.let(f"getelementptr inbounds [{size} x i8], ptr {table}, i64 {word}")
    return body.let(f"load {vec(u8, size)}, ptr {place}, align {min(size, _BYTES)}")


def _numbers(lanes: int, parts: int) -> Sequence[int]:
    """All entries, one behind the other: what is not kept stands behind."""
    numbers: list[int] = []
    for mask in range(1 << lanes):
        order = sorted(range(lanes), key=lambda lane: not mask >> lane & 1)
        numbers.extend(parts * lane + part for lane in order for part in range(parts))
    return numbers
