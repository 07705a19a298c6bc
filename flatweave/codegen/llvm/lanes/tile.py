"""LoadTile: rows along memory, transposed in registers so that each lane gets a row of its own.

    rows       a0 a1 a2 a3      distance 2     a0 a1 b.. ->      distance 1    a0 b0 c0 d0
    of memory  b0 b1 b2 b3      swaps halves                     swaps         a1 b1 c1 d1
               ..               between rows                     elements      ..

log2 W stages of W shuffles each, whatever the element.
"""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.codegen.llvm.body.emitter import Emitter, Handlers, Held
from flatweave.codegen.llvm.body.shapes import VARYING
from flatweave.codegen.llvm.memory.access import element, element_dtype, from_memory, stored
from flatweave.codegen.llvm.text.module import vec
from flatweave.kernel_ir.load_tile import LoadTile
from flatweave.terms.syntax import Let


def emit_tile(e: Emitter, let: Let) -> Sequence[Held]:
    """One vector for each column of the tile."""
    op: LoadTile = let.op  # type: ignore[assignment]
    dtype, buffer = element_dtype(op.buffer), e.held[op.buffer].text
    kept, kind = stored(dtype), vec(stored(dtype), e.width)
    rows, at = [], e.uniform(op.base)
    for row in range(e.width):
        if row:
            at = e.code.let(f"add i64 {at}, {e.uniform(op.stride)}")
        place = element(e, buffer, kept, at)
        rows.append(e.code.let(f"load {kind}, ptr {place}, align {kept.bytes}"))
    columns = _transposed(e, kind, rows)
    return [Held(VARYING, from_memory(e, dtype, e.width, column)) for column in columns]


def _transposed(e: Emitter, kind: str, rows: list[str]) -> list[str]:
    """The transpose of a square of vectors."""
    width, distance = len(rows), len(rows) // 2
    while distance:
        low = [j if not j & distance else width + j - distance for j in range(width)]
        high = [j + distance if not j & distance else width + j for j in range(width)]
        for row in (r for r in range(width) if not r & distance):
            a, b = rows[row], rows[row + distance]
            rows[row] = _shuffle(e, kind, a, b, low)
            rows[row + distance] = _shuffle(e, kind, a, b, high)
        distance //= 2
    return rows


def _shuffle(e: Emitter, kind: str, a: str, b: str, order: Sequence[int]) -> str:
    mask = ", ".join(f"i32 {j}" for j in order)
    return e.code.let(f"shufflevector {kind} {a}, {kind} {b}, <{len(order)} x i32> <{mask}>")


HANDLERS: Handlers = {
    LoadTile: emit_tile,
}
