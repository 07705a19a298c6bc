"""What the operands of each operation of a kernel or host must be, beyond its result types."""

from __future__ import annotations

from collections.abc import Iterator

from flatweave.base.dtypes import bool_, i64, u64
from flatweave.kernel_ir import collectives as c
from flatweave.kernel_ir import host as h
from flatweave.kernel_ir import syntax as ir
from flatweave.kernel_ir.hierarchy import LEVELS, ForAll, Local, WarpShared
from flatweave.kernel_ir.op import contents_misfit
from flatweave.terms.rules import (
    condition_misfits,
    function_misfits,
    index_misfits,
    operator_misfits,
    starts_misfits,
    types_misfit,
)
from flatweave.terms.syntax import Op, types_of


def misfits(op: Op) -> Iterator[str]:
    """A sentence for each thing about an operation's fields that does not fit."""
    match op:
        case ir.Lane(base=base):
            yield from index_misfits("the base", (base,))
        case ir.Lanes(width=width, body=body):
            yield from function_misfits("the body", body, ())
            if width < 1 or width & (width - 1):
                yield f"{width} lanes are no power of two"
        case ForAll(level=level, count=count, body=body):
            yield from _level_misfits(level)
            yield from index_misfits("the count", (count,))
            yield from function_misfits("the body", body, (i64,), ())
        case ir.Sync(level=level):
            yield from _level_misfits(level)
        case ir.Call(fn=fn, args=args):
            yield from function_misfits("the function", fn, types_of(args))
        case c.ReduceLanes(fn=fn, args=args):
            yield from operator_misfits(fn, types_of(args))
        case c.ScanLanes(fn=fn, neutral=neutral, args=args, starts=starts):
            yield from types_misfit("the neutral element", neutral, types_of(args))
            yield from operator_misfits(fn, types_of(args))
            yield from starts_misfits(starts)
        case c.ShiftLanes(fill=fill, args=args):
            yield from types_misfit("what fills lane 0", fill, types_of(args))
        case c.CountLanes(flag=flag) | c.Ballot(flag=flag):
            yield from condition_misfits(flag)
        case c.InSet(lanes=lanes):
            yield from types_misfit("the set of lanes", (lanes,), (u64,))
        case c.SelectZero(mask=mask):
            yield from types_misfit("the mask", (mask,), (u64,))
        case _:
            yield from _memory_misfits(op)


def _level_misfits(level: str) -> Iterator[str]:
    if level not in LEVELS:
        yield f"there is no level {level}, only {', '.join(LEVELS)}"


def _memory_misfits(op: Op) -> Iterator[str]:
    match op:
        case ir.Load(buffer=buffer, index=index) | ir.Acquire(buffer=buffer, index=index):
            yield from index_misfits("the index", (index,))
            yield from contents_misfit((buffer,))
        case ir.LoadNear(buffer=buffer, base=base, offset=offset, span=span):
            yield from index_misfits("the place", (base, offset, span))
            yield from contents_misfit((buffer,))
        case (
            ir.Store(buffer=buffer, index=index, value=value)
            | ir.Release(buffer=buffer, index=index, value=value)
        ):
            yield from index_misfits("the index", (index,))
            yield from contents_misfit((buffer,), (value,))
        case ir.StoreCompact(buffers=buffers, base=base, limit=limit, keep=keep, values_=values):
            yield from index_misfits("the place", (base, limit))
            yield from condition_misfits(keep)
            yield from contents_misfit(buffers, values)
        case ir.Shared(count=count) | WarpShared(count=count) | Local(count=count):
            if count < 1:
                yield f"memory for {count} elements: it takes at least 1"
        case ir.Report(index=index):
            yield from index_misfits("the element", (index,))
        case ir.Backoff(attempt=attempt):
            yield from index_misfits("the attempt", (attempt,))
        case _:
            yield from _host_misfits(op)


def _host_misfits(op: Op) -> Iterator[str]:
    match op:
        case h.Alloc(count=count):
            yield from index_misfits("the count", (count,))
        case h.Trim(buffer=buffer, count=count):
            yield from index_misfits("the count", (count,))
            yield from contents_misfit((buffer,))
        case h.Retain(buffer=buffer) | h.Free(buffer=buffer) | h.IsUnique(buffer=buffer):
            yield from contents_misfit((buffer,))
        case h.Launch(grid=grid, role=role, variants=variants):
            yield from index_misfits("the grid", (grid,))
            for choice in variants:
                yield from types_misfit("the condition", (choice.condition,), (bool_,))
            if role not in set(h.Role):
                yield f"{role} is no role of a launch"
        case h.Fail(condition=condition):
            yield from types_misfit("the condition", (condition,), (bool_,))
        case _:
            yield from op.misfits()
