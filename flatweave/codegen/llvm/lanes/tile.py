"""Squares of elements in memory, a row for each lane: LoadTile transposes them in registers, and
ReduceRows combines each row as it is transposed.

    rows       a0 a1 a2 a3      distance 2     a0 a1 b.. ->      distance 1    a0 b0 c0 d0
    of memory  b0 b1 b2 b3      swaps halves                     swaps         a1 b1 c1 d1
               ..               between rows                     elements      ..

log2 W stages of W shuffles each, whatever the element. Rows that are combined become fewer: a
stage takes two of them, and leaves half of each combined with its other half, side by side.

    a0 a1 a2 a3   b0 ..     distance 2    a0 + a2   a1 + a3   b0 + b2   b1 + b3
"""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.codegen.llvm.body.emitter import Emitter, Handlers, Held
from flatweave.codegen.llvm.body.prefetch import prefetch
from flatweave.codegen.llvm.body.shapes import VARYING
from flatweave.codegen.llvm.lanes.collectives import combine
from flatweave.codegen.llvm.memory.access import element, element_dtype, from_memory, stored
from flatweave.codegen.llvm.text.module import vec
from flatweave.kernel_ir.load_tile import LoadTile
from flatweave.kernel_ir.reduce_rows import ReduceRows
from flatweave.terms.syntax import Let, Var

TILES_AHEAD = 2
"""The tile whose rows are fetched ahead: memory takes about as long as so many tiles."""


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
        if e.isa.read_ahead:
            size = e.width * kept.bytes  # no CPU's prefetcher follows as many streams as rows
            prefetch(e, place, 1, "0", TILES_AHEAD * size, size)
    columns = _transposed(e, kind, rows)
    return [Held(VARYING, from_memory(e, dtype, e.width, column)) for column in columns]


def emit_reduce_rows(e: Emitter, let: Let) -> Sequence[Held]:
    """Each row combined in the order in which `reduce_lanes` combines halves."""
    op: ReduceRows = let.op  # type: ignore[assignment]
    dtypes = [element_dtype(buffer) for buffer in op.buffers]
    base = e.uniform(op.base)
    rows = [[_row(e, buffer, base, row) for buffer in op.buffers] for row in range(e.width)]
    distance = e.width // 2
    while distance:
        low, high = _exchanges(e.width, distance)
        joined = []
        for a, b in zip(rows[:distance], rows[distance:], strict=True):
            pairs = list(zip(dtypes, a, b, strict=True))
            first = [_shuffle(e, vec(dtype, e.width), x, y, low) for dtype, x, y in pairs]
            second = [_shuffle(e, vec(dtype, e.width), x, y, high) for dtype, x, y in pairs]
            joined.append(combine(e.at(e.width), op.fn, dtypes, first, second))
        rows, distance = joined, distance // 2
    return [Held(VARYING, text) for text in rows[0]]


def _row(e: Emitter, buffer: Var, base: str, row: int) -> str:
    """One row of a square, in registers."""
    dtype = element_dtype(buffer)
    kept, kind = stored(dtype), vec(stored(dtype), e.width)
    at = e.code.let(f"add i64 {base}, {row * e.width}")
    place = element(e, e.held[buffer].text, kept, at)
    loaded = e.code.let(f"load {kind}, ptr {place}, align {kept.bytes}")
    return from_memory(e, dtype, e.width, loaded)


def _exchanges(width: int, distance: int) -> tuple[list[int], list[int]]:
    """Which lanes of two rows one next to the other meet so far apart: the lower, and the upper."""
    lanes = range(width)
    low = [j if not j & distance else width + j - distance for j in lanes]
    high = [j + distance if not j & distance else width + j for j in lanes]
    return low, high


def _transposed(e: Emitter, kind: str, rows: list[str]) -> list[str]:
    """The transpose of a square of vectors."""
    width, distance = len(rows), len(rows) // 2
    while distance:
        low, high = _exchanges(width, distance)
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
    ReduceRows: emit_reduce_rows,
}
