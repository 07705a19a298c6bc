"""Programs written as LLVM text, for the tests of the CPU runtime: slots in, slots out."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

from flatweave.base.plan import Status
from flatweave.runtime.execute import NativeProgram
from flatweave.runtime.native import compile_text

DECLARATIONS = """
declare ptr @fw_alloc(ptr, i64)
declare void @fw_retain(ptr)
declare void @fw_release(ptr, ptr)
declare i64 @fw_is_unique(ptr)
declare void @fw_escape(ptr, ptr)
declare void @fw_drop(ptr)
declare void @fw_trim(ptr, i64)
declare i1 @fw_launch(ptr, ptr, ptr, i64)
declare void @fw_report(ptr, i64, i64, i64, i64, i64)
declare void @fw_backoff(i64)
declare i64 @fw_poll(ptr)
declare i32 @usleep(i32)
"""

# slots: number of blocks, address of one i64 per block
LAUNCH = """
define i64 @entry(ptr %ctx, ptr %slots) {
  %n = load i64, ptr %slots
  call i1 @fw_launch(ptr %ctx, ptr @kernel, ptr %slots, i64 %n)
  %stopped = call i64 @stopped(ptr %ctx)
  ret i64 %stopped
}
define i64 @stopped(ptr %ctx) {
  %code = load i64, ptr %ctx
  %cancel.at = getelementptr i64, ptr %ctx, i64 8
  %cancel = load i64, ptr %cancel.at
  %either = or i64 %code, %cancel
  ret i64 %either
}
define ptr @word(ptr %slots, i64 %block) {
  %words.at = getelementptr i64, ptr %slots, i64 1
  %words = load ptr, ptr %words.at
  %at = getelementptr i64, ptr %words, i64 %block
  ret ptr %at
}
"""

COUNT = """
define void @kernel(ptr %ctx, ptr %slots, i64 %block) {
  %at = call ptr @word(ptr %slots, i64 %block)
  %next = add i64 %block, 1
  atomicrmw add ptr %at, i64 %next monotonic
  ret void
}
"""

# slots: .., a counter; word[block] = how many blocks had begun before this one
TICKET = """
define void @kernel(ptr %ctx, ptr %slots, i64 %block) {
  %at = call ptr @word(ptr %slots, i64 %block)
  %counter = getelementptr i64, ptr %slots, i64 2
  %ticket = atomicrmw add ptr %counter, i64 1 monotonic
  store i64 %ticket, ptr %at
  ret void
}
"""

# every block launches 8 inner blocks
NESTED = """
define void @kernel(ptr %ctx, ptr %slots, i64 %block) {
  %at = call ptr @word(ptr %slots, i64 %block)
  call i1 @fw_launch(ptr %ctx, ptr @inner, ptr %at, i64 8)
  ret void
}
define void @inner(ptr %ctx, ptr %at, i64 %block) {
  atomicrmw add ptr %at, i64 %block monotonic
  ret void
}
"""

# blocks from slots[2] on report an error about element 10 * block, at sites 7 and 5
FAIL = """
define void @kernel(ptr %ctx, ptr %slots, i64 %block) {
  %first.at = getelementptr i64, ptr %slots, i64 2
  %first = load i64, ptr %first.at
  %bad = icmp sge i64 %block, %first
  br i1 %bad, label %report, label %fine
report:
  %index = mul i64 %block, 10
  call void @fw_report(ptr %ctx, i64 3, i64 7, i64 %index, i64 -1, i64 99)
  call void @fw_report(ptr %ctx, i64 3, i64 5, i64 %index, i64 -2, i64 99)
  ret void
fine:
  %at = call ptr @word(ptr %slots, i64 %block)
  store i64 1, ptr %at
  ret void
}
"""

# word[block] = 1 + the sum of the words before it, as single-pass scan passes its prefixes on
LOOK_BACK = """
define void @kernel(ptr %ctx, ptr %slots, i64 %block) {
entry:
  %at = call ptr @word(ptr %slots, i64 %block)
  %first = icmp eq i64 %block, 0
  br i1 %first, label %publish, label %look
look:
  %attempt = phi i64 [ 0, %entry ], [ %again, %wait ]
  %before = getelementptr i64, ptr %at, i64 -1
  %prefix = load atomic i64, ptr %before acquire, align 8
  %ready = icmp ne i64 %prefix, 0
  br i1 %ready, label %publish, label %wait
wait:
  call void @fw_backoff(i64 %attempt)
  %again = add i64 %attempt, 1
  br label %look
publish:
  %sum = phi i64 [ 0, %entry ], [ %prefix, %look ]
  %more = add i64 %sum, 1
  store atomic i64 %more, ptr %at release, align 8
  ret void
}
"""

# word[block] = 1, after one wait, as if there had been one for each number up to the block's
PATIENT = """
define void @kernel(ptr %ctx, ptr %slots, i64 %block) {
  call void @fw_backoff(i64 %block)
  %at = call ptr @word(ptr %slots, i64 %block)
  store i64 1, ptr %at
  ret void
}
"""

# word[block] = the CPU it ran on, after some 50 us there
WHERE = """
declare i32 @sched_getcpu()
define void @kernel(ptr %ctx, ptr %slots, i64 %block) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  call void @fw_backoff(i64 0)
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, 2000
  br i1 %more, label %loop, label %done
done:
  %cpu = call i32 @sched_getcpu()
  %number = sext i32 %cpu to i64
  %at = call ptr @word(ptr %slots, i64 %block)
  store i64 %number, ptr %at
  ret void
}
"""

# each block says which thread ran it
WHO = """
declare i64 @pthread_self()
define void @kernel(ptr %ctx, ptr %slots, i64 %block) {
  %self = call i64 @pthread_self()
  %at = call ptr @word(ptr %slots, i64 %block)
  store i64 %self, ptr %at
  call i32 @usleep(i32 100)
  ret void
}
"""

SLEEP = """
define void @kernel(ptr %ctx, ptr %slots, i64 %block) {
  call i32 @usleep(i32 1000)
  ret void
}
"""

# slots: bytes, then out: the escaped buffer; slots[1] = what to do, see the labels
BUFFER = """
define i64 @entry(ptr %ctx, ptr %slots) {
  %bytes = load i64, ptr %slots
  %what.at = getelementptr i64, ptr %slots, i64 1
  %what = load i64, ptr %what.at
  %data = call ptr @fw_alloc(ptr %ctx, i64 %bytes)
  store ptr %data, ptr %slots
  %none = icmp eq ptr %data, null
  br i1 %none, label %full, label %made
full:
  call void @fw_report(ptr %ctx, i64 9, i64 1, i64 0, i64 %bytes, i64 0)
  ret i64 1
made:
  switch i64 %what, label %escape [
    i64 1, label %release
    i64 2, label %fail
    i64 3, label %twice
    i64 4, label %forget
    i64 5, label %trim
  ]
escape:
  call void @fw_escape(ptr %ctx, ptr %data)
  ret i64 0
release:
  call void @fw_retain(ptr %data)
  %shared = call i64 @fw_is_unique(ptr %data)
  call void @fw_release(ptr %ctx, ptr %data)
  %unique = call i64 @fw_is_unique(ptr %data)
  call void @fw_release(ptr %ctx, ptr %data)
  store i64 %shared, ptr %slots
  store i64 %unique, ptr %what.at
  ret i64 0
fail:
  call void @fw_retain(ptr %data)
  %more = call ptr @fw_alloc(ptr %ctx, i64 %bytes)
  call void @fw_report(ptr %ctx, i64 4, i64 1, i64 0, i64 0, i64 0)
  ret i64 1
twice:
  call void @fw_retain(ptr %data)
  call void @fw_escape(ptr %ctx, ptr %data)
  call void @fw_escape(ptr %ctx, ptr %data)
  ret i64 0
forget:
  ret i64 0
trim:
  call void @fw_trim(ptr %data, i64 100)
  call void @fw_escape(ptr %ctx, ptr %data)
  ret i64 0
}
"""


def launching(kernel: str, before: int = 0) -> NativeProgram:
    """A program that launches `kernel` over slots[0] blocks, and `before` that over 2, so often."""
    one = "  call i1 @fw_launch(ptr %ctx, ptr @kernel, ptr %slots, i64 {})\n"
    last = one.format("%n")
    text = LAUNCH.replace(last, one.format("2") * before + last)
    return NativeProgram(compile_text(DECLARATIONS + text + kernel))


def allocating() -> NativeProgram:
    """The program that makes a buffer of slots[0] bytes."""
    return NativeProgram(compile_text(DECLARATIONS + BUFFER))


def run(program: NativeProgram, blocks: int, *rest: int) -> tuple[Status, list[int]]:
    """Launch over `blocks` words of zero; the status and what became of the words."""
    words = (ctypes.c_int64 * max(1, blocks))()
    slots = (ctypes.c_int64 * (2 + len(rest)))(blocks, ctypes.addressof(words), *rest)
    return program.run(slots), list(words)[:blocks]


def call(program: NativeProgram, values: Sequence[int]) -> tuple[Status, list[int]]:
    """Call a program with these slots; the status and the slots afterwards."""
    slots = (ctypes.c_int64 * len(values))(*values)
    return program.run(slots), list(slots)
