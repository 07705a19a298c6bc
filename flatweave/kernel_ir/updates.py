"""Updates of one element in memory that are indivisible, whoever else is at it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from flatweave.base.dtypes import u32, u64
from flatweave.kernel_ir.op import BY_LANE, KernelOp, contents_misfit, dtype_in
from flatweave.terms.rules import index_misfits, operator_misfits
from flatweave.terms.syntax import Atom, Const, Lambda, Type, Var, op, types_of

ATOMIC = ("add", "minimum", "maximum", "and", "or", "xor")
"""The functions by which `atomic` combines."""
EXCHANGE = "exchange"
"""What `atomic` does that only replaces."""


@op
class Atomic(KernelOp):
    """buffer[index] = buffer[index] `fn` value, indivisibly; gives what was there before.

    With `exchange`, buffer[index] = value.
    """

    fn: str
    buffer: Var
    index: Atom
    value: Atom
    effect: ClassVar[bool] = True
    gives = BY_LANE

    def result_types(self) -> tuple[Type, ...]:
        return (dtype_in(self.buffer),)

    def misfits(self) -> Iterator[str]:
        yield from index_misfits("the index", (self.index,))
        yield from contents_misfit((self.buffer,), (self.value,))
        if self.fn not in (*ATOMIC, EXCHANGE):
            yield f"there is no atomic {self.fn}"


@op
class AtomicUpdate(KernelOp):
    """Element `index` of `buffer` becomes fn(element, values), indivisibly, by any `fn` that
    commutes. An element is one word, or on a CPU two neighbouring u64, aligned as one."""

    fn: Lambda
    buffer: Var
    index: Atom
    values_: tuple[Atom, ...]
    effect: ClassVar[bool] = True

    def misfits(self) -> Iterator[str]:
        values = self.values_
        yield from index_misfits("the index", (self.index,))
        yield from contents_misfit((self.buffer,) * len(values), values)
        yield from operator_misfits(self.fn, types_of(values))
        if len(values) != 1 and (len(values) != 2 or values[0].type is not u64):
            yield f"{len(values)} words are no element"


@op
class LockedUpdate(KernelOp):
    """buffers[index] = fn(buffers[index].., values..), indivisibly, by any `fn` that commutes.

    Whoever does it holds the lock of its place: locks[index mod stripes], 1 while it is held. There
    are `stripes` of them, a power of two.
    """

    fn: Lambda
    locks: Var
    stripes: int
    buffers: tuple[Var, ...]
    index: Atom
    values_: tuple[Atom, ...]
    effect: ClassVar[bool] = True

    def misfits(self) -> Iterator[str]:
        yield from index_misfits("the index", (self.index,))
        yield from contents_misfit(self.buffers, self.values_)
        yield from contents_misfit((self.locks,), (Const(0, u32),))
        yield from operator_misfits(self.fn, types_of(self.values_))
        if self.stripes < 1 or self.stripes & (self.stripes - 1):
            yield f"{self.stripes} locks are no power of two"
