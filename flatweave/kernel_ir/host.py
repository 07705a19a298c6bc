"""What the host program around the kernels does: memory, launches, failures."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from typing import ClassVar

from flatweave.base.dtypes import DType, bool_, i64
from flatweave.kernel_ir.op import IN_ROWS, ON_HOST, KernelOp, contents_misfit
from flatweave.terms.rules import condition_misfits, index_misfits
from flatweave.terms.syntax import Atom, BufferType, Part, Type, Var, op


@op
class Alloc(KernelOp):
    """A fresh buffer of `count` elements, 64-byte aligned; `site` names the array in errors."""

    dtype: DType
    count: Atom
    site: int
    effect: ClassVar[bool] = True
    stands = ON_HOST

    def result_types(self) -> tuple[Type, ...]:
        return (BufferType(self.dtype),)

    def misfits(self) -> Iterator[str]:
        return index_misfits("the count", (self.count,))


@op
class Adopt(KernelOp):
    """A buffer of the caller's, which the program owns from here on where it is `given` away."""

    buffer: Var
    given: Atom
    effect: ClassVar[bool] = True
    stands = ON_HOST

    def result_types(self) -> tuple[Type, ...]:
        return (self.buffer.type,)

    def misfits(self) -> Iterator[str]:
        yield from contents_misfit((self.buffer,))
        yield from condition_misfits(self.given)


@op
class Retain(KernelOp):
    """One more owner of a buffer."""

    buffer: Var
    effect: ClassVar[bool] = True
    stands = ON_HOST

    def misfits(self) -> Iterator[str]:
        return contents_misfit((self.buffer,))


@op
class Free(KernelOp):
    """One owner less; without owners the memory goes back."""

    buffer: Var
    effect: ClassVar[bool] = True
    stands = ON_HOST

    def misfits(self) -> Iterator[str]:
        return contents_misfit((self.buffer,))


@op
class IsUnique(KernelOp):
    """Whether a buffer has one owner, so that it may be written in place."""

    buffer: Var
    effect: ClassVar[bool] = True
    stands = ON_HOST

    def result_types(self) -> tuple[Type, ...]:
        return (bool_,)

    def misfits(self) -> Iterator[str]:
        return contents_misfit((self.buffer,))


@op
class Trim(KernelOp):
    """Gives back the memory behind the first `count` elements."""

    buffer: Var
    count: Atom
    effect: ClassVar[bool] = True
    stands = ON_HOST

    def misfits(self) -> Iterator[str]:
        yield from index_misfits("the count", (self.count,))
        yield from contents_misfit((self.buffer,))


@op
class AtRow(KernelOp):
    """Says which row a program of rows is at: errors name it."""

    row: Atom
    effect: ClassVar[bool] = True
    stands = IN_ROWS

    def misfits(self) -> Iterator[str]:
        return index_misfits("the row", (self.row,))


@op
class CopyTo(KernelOp):
    """The first `count` elements of `source` go to `target`, from `offset` on."""

    target: Var
    offset: Atom
    source: Var
    count: Atom
    effect: ClassVar[bool] = True
    stands = IN_ROWS

    def misfits(self) -> Iterator[str]:
        yield from index_misfits("the place", (self.offset, self.count))
        yield from contents_misfit((self.target, self.source))


class Role(StrEnum):
    """What a launch is for; people count passes, and the rest belongs to one."""

    PASS = "pass"
    """A pass over data."""
    VARIANT = "variant"
    """The same pass in another way, or a part of one."""
    CARRY_OUT = "carry_out"
    """Joins the segments that warps left open."""
    PARTIALS = "partials"
    """Combines what blocks left."""
    COUNT = "count"
    """Finds how much room the elements of a pass need."""
    SAMPLE = "sample"
    """Looks at some elements, to choose how a pass is done."""
    FILL = "fill"
    """Sets a buffer before a pass."""
    COPY = "copy"
    """Copies a buffer that a pass updates."""
    PACK = "pack"
    """Puts components into words before a pass, or takes them out after it."""


@op
class Choice(Part):
    """A kernel that a launch runs where a condition holds."""

    condition: Atom
    kernel: str


@op
class Launch(KernelOp):
    """Runs a kernel on `grid` blocks; block b + 1 never starts before block b has.

    It is the first of `variants` whose condition holds, or else `kernel`: they take the same.
    """

    kernel: str
    grid: Atom
    args: tuple[Atom, ...]
    role: str = Role.PASS
    variants: tuple[Choice, ...] = ()
    effect: ClassVar[bool] = True
    stands = ON_HOST

    @property
    def roles(self) -> dict[str, str]:
        """The kernels that it may run, and what each is for."""
        return {choice.kernel: str(Role.VARIANT) for choice in self.variants} | {
            self.kernel: str(self.role)
        }

    def misfits(self) -> Iterator[str]:
        yield from index_misfits("the grid", (self.grid,))
        for choice in self.variants:
            yield from condition_misfits(choice.condition)
        if self.role not in set(Role):
            yield f"{self.role} is no role of a launch"


@op
class Fail(KernelOp):
    """Ends the program with an error when `condition` holds."""

    condition: Atom
    code: int
    site: int
    value: Atom
    extent: Atom
    effect: ClassVar[bool] = True
    stands = ON_HOST

    def misfits(self) -> Iterator[str]:
        return condition_misfits(self.condition)


@op
class CallHost(KernelOp):
    """Calls a Python function, number `number` of the plan (`base/plan.py`).

    Its arguments are the values of the call, then the buffers that its results are written to.
    """

    number: int
    args: tuple[Atom, ...]
    effect: ClassVar[bool] = True
    stands = ON_HOST


@op
class Threads(KernelOp):
    """How many threads the launch may use (uniform i64; a host value)."""

    effect: ClassVar[bool] = True
    stands = ON_HOST

    def result_types(self) -> tuple[Type, ...]:
        return (i64,)


@op
class SharedIsApart(KernelOp):
    """Whether blocks have shared memory of their own, not a part of all memory (a host value)."""

    effect: ClassVar[bool] = True
    stands = ON_HOST

    def result_types(self) -> tuple[Type, ...]:
        return (bool_,)
