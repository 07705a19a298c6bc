"""What the host program around the kernels does, and which kernels are compiled later."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from enum import StrEnum

from flatweave.base.dtypes import DType, bool_, i64
from flatweave.base.records import record
from flatweave.kernel_ir import IN_ROWS, ON_HOST, Action, KernelOp
from flatweave.terms.build import Builder
from flatweave.terms.control import If
from flatweave.terms.syntax import (
    Atom,
    BufferType,
    Const,
    Lambda,
    Part,
    Type,
    Var,
    condition_misfits,
    op,
)
from flatweave.terms.traverse import lambdas_in, walk_lets

# What the host program around the kernels does: memory, launches, failures.


class HostAction(Action):
    """What the host does."""

    __slots__ = ()
    stands = ON_HOST


@op
class Alloc(HostAction):
    """A fresh buffer of `count` elements, 64-byte aligned; `site` names the array in errors."""

    dtype: DType
    count: Atom
    site: int

    def result_types(self) -> tuple[Type, ...]:
        return (BufferType(self.dtype),)


@op
class Adopt(HostAction):
    """A buffer of the caller's, which the program owns from here on where it is `donated`."""

    buffer: Var
    donated: Atom

    def result_types(self) -> tuple[Type, ...]:
        return (self.buffer.type,)


@op
class Retain(HostAction):
    """One more owner of a buffer."""

    buffer: Var


@op
class Free(HostAction):
    """One owner less; without owners the memory goes back."""

    buffer: Var


def free(host: Builder, *buffers: Var) -> None:
    """One owner less of each."""
    for buffer in buffers:
        host.emit(Free(buffer))


@op
class IsUnique(HostAction):
    """Whether a buffer has one owner, so that it may be written in place."""

    buffer: Var
    typed_as = (bool_,)


@op
class Trim(HostAction):
    """Frees the memory after the first `count` elements."""

    buffer: Var
    count: Atom


@op
class AtRow(Action):
    """Says which row a program of rows is at: errors name it."""

    row: Atom
    stands = IN_ROWS


@op
class CopyTo(Action):
    """The first `count` elements of `source` go to `target`, from `offset` on."""

    target: Var
    offset: Atom
    source: Var
    count: Atom
    stands = IN_ROWS


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
class Launch(HostAction):
    """Runs a kernel on `grid` blocks; block b + 1 never starts before block b has.

    It is the first of `variants` whose condition holds, or else `kernel`: they take the same.
    """

    kernel: str
    grid: Atom
    args: tuple[Atom, ...]
    role: str = Role.PASS
    variants: tuple[Choice, ...] = ()

    @property
    def roles(self) -> dict[str, str]:
        """The kernels that it may run, and what each is for."""
        return {choice.kernel: str(Role.VARIANT) for choice in self.variants} | {
            self.kernel: str(self.role)
        }

    def misfits(self) -> Iterator[str]:
        yield from KernelOp.misfits(self)
        for choice in self.variants:
            yield from condition_misfits(choice.condition)
        if self.role not in set(Role):
            yield f"{self.role} is no role of a launch"


@op
class Fail(HostAction):
    """Ends the program with an error when `condition` holds."""

    condition: Atom
    code: int
    site: int
    value: Atom
    extent: Atom


@op
class CallHost(HostAction):
    """Calls a Python function, number `number` of the plan (`base/plan.py`).

    Its arguments are the values of the call, then the buffers that its results are written to.
    """

    number: int
    args: tuple[Atom, ...]


@op
class HasProducts(KernelOp):
    """Whether the device has a library of matrix products, where one is `wanted` (a host value)."""

    wanted: Atom
    stands = ON_HOST
    typed_as = (bool_,)

    def misfits(self) -> Iterator[str]:
        yield from KernelOp.misfits(self)
        yield from condition_misfits(self.wanted)


@op
class Threads(HostAction):
    """How many threads of a launch run at once (uniform i64; a host value)."""

    typed_as = (i64,)


# Which kernels of a unit are made with the host, and which when they are launched.
#
#     launch a ..                     first    a, d        whatever happens, they run
#     if small                        later    [b], [c, e], [f], [g]
#         launch b ..                          a branch's kernels are made together
#     else
#         launch c ..
#         if true: launch d ..
#         launch e ..
#     launch g .. [choice small f]             [f], [g]: one of them runs
#
# A kernel that several branches launch is made alone. Launches of one body that choose among as
# many kernels mostly choose alike, as they go over the same arrays: when one kernel is made, the
# others of its suffix are compiled with it, side by side, and wait (`alike`).


@record(eq=True)
class Parts:
    """Names of kernels: those made with the host, and groups of those made later."""

    first: tuple[str, ...]
    later: tuple[tuple[str, ...], ...]
    alike: tuple[tuple[str, ...], ...] = ()

    @property
    def groups(self) -> tuple[tuple[str, ...], ...]:
        """All that are made together; the first ones first, if there are any."""
        return (self.first, *self.later) if self.first else self.later

    @property
    def numbers(self) -> dict[str, int]:
        """The number of each kernel in the program's table, from 1 on."""
        names = [name for group in self.groups for name in group]
        return {name: number for number, name in enumerate(names, 1)}


def parts_of(host: Lambda) -> Parts:
    """The parts of a unit with this host program."""
    found = list(_bodies(host))
    bodies = [list(dict.fromkeys(names)) for names in _branches(found)]
    chosen = {
        name for let in walk_lets(host) if isinstance(let.op, Launch) and let.op.variants
        for name in let.op.roles
    }  # fmt: skip
    first = tuple(name for name in bodies[0] if name not in chosen)
    often = Counter(name for body in bodies[1:] for name in body if name not in first)
    groups = [[name for name in body if often[name] == 1] for body in bodies[1:]]
    groups += [[name] for name, times in often.items() if times > 1]
    alone = {group[0] for group in groups if len(group) == 1}
    alike = [[name for name in names if name in alone] for names in _alike(found)]
    return Parts(
        first, tuple(tuple(group) for group in groups if group),
        tuple(tuple(names) for names in alike if len(names) > 1),
    )  # fmt: skip


@record
class _Body:
    """What a body launches for sure, and the launches that choose."""

    sure: list[str]
    choosing: list[Launch]


def _branches(bodies: Iterable[_Body]) -> Iterator[list[str]]:
    """The kernels that a body launches for sure, then those of each launch that chooses."""
    for body in bodies:
        yield body.sure
        yield from ([name] for launch in body.choosing for name in launch.roles)


def _alike(bodies: Iterable[_Body]) -> Iterator[list[str]]:
    """The kernels of one suffix, of launches that choose among as many."""
    for body in bodies:
        found: dict[tuple[int, str], list[str]] = {}
        for launch in body.choosing:
            for name in launch.roles:
                suffix = name.removeprefix(launch.kernel)
                found.setdefault((len(launch.roles), suffix), []).append(name)
        yield from (list(dict.fromkeys(names)) for names in found.values())


def _bodies(host: Lambda) -> Iterator[_Body]:
    """The body of a program, then those of each branch in it."""
    sure: list[str] = []
    choosing: list[Launch] = []
    branches: list[Lambda] = []
    pending = [host]
    while pending:
        fn = pending.pop()
        for let in fn.lets:
            if isinstance(let.op, Launch):
                if let.op.variants:
                    choosing.append(let.op)
                else:
                    sure.extend(let.op.roles)
            elif isinstance(let.op, If) and isinstance(let.op.condition, Const):
                ways = [let.op.then, let.op.other]
                pending.append(ways.pop(0 if let.op.condition.value else 1))
                branches += ways
            elif isinstance(let.op, If):
                branches += lambdas_in(let.op)
            else:
                pending += lambdas_in(let.op)
    yield _Body(sure, choosing)
    for branch in branches:
        yield from _bodies(branch)
