"""Cancellation inside of loops: a loop polls for it each time its fuel is used up.

    %left = load fuel; %less = %left - cost of the body; store %less, fuel
    br borrow, %look, %go                       look: refill; br fw_look(ctx), %stopped, %go

A function has one fuel counter for all of its loops, in a register, so that polls are about the
same work apart however loops are nested: some 0.1 to 30 ms. `fw_look` preserves the general
registers; vector registers are spilled in the cold block alone. (`preserve_allcc` would preserve
those, too, but LLVM zeroes their upper halves on return.)
"""

from __future__ import annotations

from flatweave.codegen.llvm.body.emitter import Emitter

CANCEL_BYTES = 64  # where a context has the flag of its call
TANK = 1 << 19  # how much work goes between two looks, in lets


def look(e: Emitter, cost: int) -> None:
    """Take the cost of some work off the fuel; if none is left, poll, and leave if cancelled."""
    code, pair = e.code, "{ i64, i1 }"
    code.declare("preserve_mostcc i64 @fw_look(ptr) cold nounwind willreturn "
                 "memory(argmem: readwrite, inaccessiblemem: readwrite)")  # fmt: skip
    code.declare(f"{pair} @llvm.usub.with.overflow.i64(i64, i64)")
    fuel = code.fuel(TANK)
    left = code.let(f"load i64, ptr {fuel}")
    spent = code.let(f"call {pair} @llvm.usub.with.overflow.i64(i64 {left}, i64 {cost})")
    code.line(f"store i64 {code.let(f'extractvalue {pair} {spent}, 0')}, ptr {fuel}")
    empty, go = code.names("look", "go")
    code.branch(code.let(f"extractvalue {pair} {spent}, 1"), empty, go)
    code.label(empty)
    code.line(f"store i64 {TANK}, ptr {fuel}")
    cancel = code.let("call preserve_mostcc i64 @fw_look(ptr %ctx)")
    code.branch(code.let(f"icmp ne i64 {cancel}, 0"), code.stop(), go)
    code.label(go)


def leave_if_stopped(e: Emitter) -> None:
    """After a call of a function that polls: leave if the call of the program is cancelled."""
    code = e.code
    at = code.let(f"getelementptr i8, ptr %ctx, i64 {CANCEL_BYTES}")
    flag = code.let(f"load atomic i64, ptr {at} monotonic, align 8")
    (go,) = code.names("go")
    code.branch(code.let(f"icmp ne i64 {flag}, 0"), code.stop(), go)
    code.label(go)
