"""Prefetches: what asks for cache lines that will be loaded soon. One that is not there does no
harm."""

from __future__ import annotations

from flatweave.codegen.llvm.body.emitter import Emitter

LINE = 64
"""Bytes that one prefetch brings."""


def prefetch(e: Emitter, buffer: str, size: int, index: str, first: int, count: int) -> None:
    """Ask for `count` bytes, from `first` bytes behind an element of `size` bytes on."""
    e.code.declare("void @llvm.prefetch.p0(ptr, i32, i32, i32)")
    for offset in range(first, first + count, LINE):
        place = f"[{size} x i8], ptr {buffer}, i64 {index}, i64 {offset}"
        line = e.code.let(f"getelementptr {place}")
        e.code.line(f"call void @llvm.prefetch.p0(ptr {line}, i32 0, i32 3, i32 1)")
