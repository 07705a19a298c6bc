"""Prefetches: what asks for cache lines that will be loaded soon. One that is not there does no
harm."""

from __future__ import annotations

from flatweave.codegen.llvm.body.emitter import Emitter

LINE = 64
"""Bytes that one prefetch brings."""


def prefetch(e: Emitter, at: str, first: int, size: int) -> None:
    """Ask for `size` bytes, from `first` bytes behind the address `at` on."""
    e.code.declare("void @llvm.prefetch.p0(ptr, i32, i32, i32)")
    for offset in range(first, first + size, LINE):
        line = e.code.let(f"getelementptr i8, ptr {at}, i64 {offset}")
        e.code.line(f"call void @llvm.prefetch.p0(ptr {line}, i32 0, i32 3, i32 1)")
