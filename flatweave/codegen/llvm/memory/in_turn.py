"""StoreInTurn: the lanes of several vectors woven into one run of memory.

    a0 a1 ..  b0 b1 ..  c0 c1 ..  d0 d1 ..      a with c, b with d: a0 c0 a1 c1 ..  b0 d0 b1 d1 ..
                                                these two:          a0 b0 c0 d0 a1 b1 ..

Two shuffles for each vector of four; where lanes are apart or some do not run, each value is
scattered by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd

from flatweave.base.dtypes import DType, i64
from flatweave.codegen.llvm.body.emitter import Emitter, Handlers, Held
from flatweave.codegen.llvm.body.shapes import LINEAR, UNIFORM, VARYING
from flatweave.codegen.llvm.memory.access import (
    element,
    element_dtype,
    scatter,
    store_scalar,
    stored,
    to_memory,
    uniform_value,
)
from flatweave.codegen.llvm.text.module import vec
from flatweave.kernel_ir.store_in_turn import StoreInTurn
from flatweave.terms.syntax import Let

LINE = 64  # bytes of a cache line


def emit_in_turn(e: Emitter, let: Let) -> Sequence[Held]:
    """buffer[index * count + k] = values[k]"""
    op: StoreInTurn = let.op  # type: ignore[assignment]
    dtype, buffer = element_dtype(op.buffer), e.held[op.buffer].text
    kept, index, count = stored(dtype), e.hold(op.index), len(op.values_)
    if index.shape is UNIFORM:
        first = e.code.let(f"mul i64 {index.text}, {count}")
        for k, value in enumerate(op.values_):
            place = e.code.let(f"add i64 {first}, {k}")
            store_scalar(e, buffer, dtype, place, uniform_value(e, value, dtype))
        return ()
    texts = [to_memory(e, dtype, e.width, e.vector(value)) for value in op.values_]
    if index.shape is not LINEAR or e.mask is not None:
        _apart(e, buffer, kept, e.vector(op.index), texts)
        return ()
    run = _woven(e, kept, texts)
    first = e.code.let(f"mul i64 {e.lowest(index)}, {count}")
    at = element(e, buffer, kept, first)
    hint, align = "", kept.bytes
    if op.streaming:
        e.code.has_streamed = True
        hint, align = ", !nontemporal !0", gcd(LINE, e.width * count * kept.bytes)
    e.code.line(f"store {vec(kept, e.width * count)} {run}, ptr {at}, align {align}{hint}")
    return ()


def _apart(e: Emitter, buffer: str, kept: DType, places: str, texts: Sequence[str]) -> None:
    """Each vector scattered by itself."""
    kind = vec(i64, e.width)
    first = e.code.let(f"mul {kind} {places}, splat (i64 {len(texts)})")
    for k, text in enumerate(texts):
        place = e.code.let(f"add {kind} {first}, splat (i64 {k})")
        scatter(e, buffer, kept, Held(VARYING, place), text)


def _woven(e: Emitter, kept: DType, texts: Sequence[str]) -> str:
    """Lane 0 of each vector, then lane 1 of each, and so on."""
    if len(texts) == 1:
        return texts[0]
    if len(texts) % 2 == 0:
        parts = [_woven(e, kept, texts[half::2]) for half in (0, 1)]
        return _zipped(e, kept, len(texts) // 2 * e.width, parts)
    size = 1 << (len(texts) - 1).bit_length()
    padded, width = [*texts, *["poison"] * (size - len(texts))], e.width
    while len(padded) > 1:
        pairs = zip(padded[::2], padded[1::2], strict=True)
        padded = [_shuffled(e, kept, width, pair, range(2 * width)) for pair in pairs]
        width *= 2
    order = [k * e.width + lane for lane in range(e.width) for k in range(len(texts))]
    return _shuffled(e, kept, width, (padded[0], "poison"), order)


def _zipped(e: Emitter, kept: DType, width: int, pair: Sequence[str]) -> str:
    """The elements of two vectors in turn."""
    order = [lane + half * width for lane in range(width) for half in (0, 1)]
    return _shuffled(e, kept, width, pair, order)


def _shuffled(
    e: Emitter, kept: DType, width: int, pair: Sequence[str], order: Sequence[int]
) -> str:
    """Elements of two vectors of `width`, by their numbers."""
    kind, mask = vec(kept, width), ", ".join(f"i32 {i}" for i in order)
    return e.code.let(
        f"shufflevector {kind} {pair[0]}, {kind} {pair[1]}, <{len(order)} x i32> <{mask}>"
    )


HANDLERS: Handlers = {StoreInTurn: emit_in_turn}
