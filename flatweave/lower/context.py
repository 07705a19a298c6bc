"""The host program under construction: buffers with owners, launches, error sites.

Every array variable owns one reference to its buffer. A body gives the reference back after the
variable's last use; arrays from outside the body are borrowed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from flatweave.base.dtypes import DType, i64
from flatweave.base.locks import Lock
from flatweave.base.plan import HostCall, Site
from flatweave.base.pretty import Note
from flatweave.base.records import fields, is_record, record
from flatweave.base.schedule import Schedule, Thresholds
from flatweave.base.source import Location
from flatweave.kernel_ir import dtype_in
from flatweave.kernel_ir.host import Alloc, Choice, Free, IsUnique, Launch, Role
from flatweave.kernel_ir.syntax import Kernel, Later, Store
from flatweave.kernel_passes.distribute import distribute_kernel
from flatweave.lower.kernel_builder import (
    HostArray,
    HostScope,
    KernelBuilder,
    Sites,
    place_blocks,
    to_give,
    write_copy,
    write_places,
)
from flatweave.lower.machine import Machine
from flatweave.lower.schedule.plan import SweepPlan
from flatweave.lower.schedule.verify import read_forced
from flatweave.ops import Sweep
from flatweave.terms.build import FALSE, TRUE, Builder, Names, index
from flatweave.terms.syntax import ArrayType, Atom, BufferType, Const, Lambda, Let, Op, Type, Var
from flatweave.terms.traverse import free_vars, lambdas_in

LowerLets = Callable[["Lowering", Lambda], None]
Write = Callable[[KernelBuilder, Sequence[Var]], None]
"""Writes the body of a kernel with these private parameters."""
Own = Sequence[tuple[str, Type]]
"""Parameters of a kernel in addition to those that it captures: their names and types."""


AGAIN = "it is needed again; keep the elements that are, not the array as it was before this write"
READ = "the pass that writes as many elements as it has also reads it"


@record
class Declared:
    """A kernel that is written later, as launches know it."""

    name: str
    args: tuple[Atom, ...]


class Program:
    """The state that all bodies of one program share."""

    def __init__(
        self, machine: Machine, checks: bool, lower_lets: LowerLets, schedule: Schedule,
        plans: dict[str, SweepPlan],
    ) -> None:  # fmt: skip
        self.machine = machine
        self.lower_lets = lower_lets
        self.checks = checks
        self.schedule = schedule
        self.plans = plans
        self.forced = read_forced(schedule.text)
        self.measured = read_forced(schedule.tuned_text)
        self.sites = Sites()
        self.names = Names()
        self.kernels: list[Kernel] = []
        self.later: list[Later] = []
        self.kept_by_caller: frozenset[Var] = frozenset()
        self.donated: dict[Var, str] = {}  # buffers that the caller donates, and their names
        self.taken: set[Var] = set()  # those of them that are written, or returned
        self.until: Let | None = None  # until then they have a second owner
        self.tuned: Mapping[Op, Thresholds | None] = {}
        self.notes: list[Note] = []
        self.calls: list[tuple[HostCall, int]] = []
        self.lock = Lock()


def name_of(let: Let) -> str:
    """The name of a sweep: that of its first result."""
    return let.vars[0].name if let.vars else "sweep"


class Lowering:
    """One host body: its builder, its variables' values, and those whose buffers it reused."""

    def __init__(self, program: Program, host: Builder, scope: HostScope) -> None:
        self.program = program
        self.machine = program.machine
        self.sites = program.sites
        self.checks = program.checks
        self.schedule = program.schedule
        self.host = host
        self.scope = scope
        self.where: Location | None = None
        self.last_uses: dict[Let, set[Var]] = {}
        self.given_up: set[Var] = set()
        self.sole: set[Var] = set()  # buffers that have one owner, whatever the data
        self.state: set[Var] = set()  # buffers of the state of the loop whose body this is
        self.may_not_run = self.in_loop = False

    def inner(self, *, optional: bool = False) -> Lowering:
        """A body inside this one; an `optional` one may not run at all."""
        made = Lowering(self.program, self.host.inner(), self.scope.inner())
        made.may_not_run, made.in_loop = self.may_not_run or optional, self.in_loop
        return made

    def site(self, kind: str = "memory", message: str = "", count: int = 0) -> int:
        return self.sites.add(Site(kind, self.where, message, count))

    def note(self, said: str) -> None:
        """Report to the user a decision made here."""
        self.program.notes.append(_said(self.where, said))

    def take(self, buffer: Var) -> None:
        """Mark a buffer as used up; for one that the caller donates, the donation has effect."""
        program = self.program
        if buffer in program.donated:
            program.taken.add(buffer)
            if program.until is not None:
                name, line = program.donated[buffer], program.until.where
                self.note(f"{name} is donated, but copied: till {line} a call is tried again")

    # -- memory ---------------------------------------------------------------------------------

    def alloc_like(self, like: Atom, count: Atom) -> Var:
        """A buffer of `count` elements of the dtype of an array or scalar."""
        dtype = like.type.dtype if isinstance(like.type, ArrayType) else like.type
        assert isinstance(dtype, DType)
        return self.alloc(dtype, count, "buffer")

    def alloc(self, dtype: DType, count: Atom, hint: str = "t", host: Builder | None = None) -> Var:
        """A buffer of `count` elements of a dtype."""
        return (host or self.host).emit(Alloc(dtype, count, self.site()), hint)[0]

    def own(self, dest: Atom, let: Let) -> Var:
        """A buffer with the elements of `dest` that the op of `let` may write.

        It is the buffer itself when this is its last use, the sweep does not read it, and it has no
        other owner; else a copy, as of arrays that the caller of the program keeps.
        """
        assert isinstance(dest, Var)
        held = self.scope.array(dest)
        count = self.host.product(held.shape)
        assert isinstance(let.op, Sweep)
        needed = dest not in self.last_uses.get(let, ()) or dest in free_vars(let.op.body)
        if needed or held.buffer in self.program.kept_by_caller:
            if held.buffer in self.program.donated:
                name = self.program.donated[held.buffer]
                self.note(f"{name} is donated, but needed again: a copy is written")
            else:
                self._tell_copy(held, let, needed)
            return self._copy(self.host, dest, held, count)
        self._tell_copy(held, let, needed)
        self.given_up.add(dest)
        self.take(held.buffer)
        return held.buffer if held.buffer in self.sole else self.alone(dest, held)

    def _tell_copy(self, held: HostArray, let: Let, needed: bool) -> None:
        """Report that an array is copied in each iteration of a loop, if it is: for later reads of
        it, or of another shape of it, or for those of this pass."""
        sharing = self.scope.sharing(held.buffer)
        is_last = sharing <= self.last_uses.get(let, set())
        is_read = any(sharing & free_vars(fn).keys() for fn in lambdas_in(let.op))
        if self.in_loop and (needed or is_read or not is_last):
            name, why = held.buffer.name.split("_")[0], READ if is_read and is_last else AGAIN
            self.note(f"{name} is copied in each iteration, as {why}")

    def alone(self, dest: Atom, held: HostArray) -> Var:
        """The buffer of an array that this body owns, or a copy where it has another owner, too."""
        count = self.host.product(held.shape)
        unique = self.host.emit(IsUnique(held.buffer))[0]

        def copied(b: Builder) -> tuple[Atom, ...]:
            fresh = self._copy(b, dest, held, count)
            b.emit(Free(held.buffer))
            return (fresh,)

        return self.host.choose(unique, lambda _: (held.buffer,), copied, "buffer")[0]

    def own_all(self, arrays: Sequence[Atom], let: Let) -> tuple[Var, ...]:
        """A buffer for each array that the op of `let` writes; one given twice is copied."""
        return tuple(
            self.copy(array) if array in arrays[k + 1 :] else self.own(array, let)
            for k, array in enumerate(arrays)
        )

    def copy(self, array: Atom) -> Var:
        """A fresh buffer with the elements of an array."""
        held = self.scope.array(array)
        return self._copy(self.host, array, held, self.host.product(held.shape))

    def _copy(self, host: Builder, dest: Atom, held: HostArray, count: Atom) -> Var:
        assert isinstance(dest.type, ArrayType)
        fresh = self.alloc(dest.type.dtype, count, "buffer", host)
        self.copy_elements(host, held.buffer, fresh, count)
        return fresh

    def copy_elements(self, host: Builder, source: Var, target: Var, count: Atom) -> None:
        """Launch a kernel that copies elements from one buffer to another, as its dtype."""
        dtypes = [dtype_in(source), dtype_in(target)]
        blocks = place_blocks(host, self.machine, count, [max(dtypes, key=lambda d: d.bytes)])
        args = (count, source, target)
        host.emit(Launch(self._copy_kernel(*dtypes), blocks, args, Role.COPY))

    def _copy_kernel(self, source: DType, target: DType) -> str:
        name = "_".join(dict.fromkeys(["copy", source.name, target.name]))
        if name not in self._taken():
            own: Own = [
                ("count", i64), ("source", BufferType(source)), ("target", BufferType(target))
            ]  # fmt: skip
            self._declare(name, (), own, lambda kernel, own: write_copy(self.machine, kernel, own))
        return name

    # -- kernels --------------------------------------------------------------------------------

    def kernel(self, let: Let, suffix: str = "") -> KernelBuilder:
        """A new kernel named after what it computes."""
        name = self._name(let, suffix)
        kb = KernelBuilder(name, self.host, self.scope, self.machine.warps, self.sites)
        kb.body.where = let.where
        return kb

    def later(
        self, let: Let, suffix: str, needs: Iterable[Atom], write: Write,
        own: Own = (), why: str = "",
    ) -> Declared:  # fmt: skip
        """A lazily compiled kernel, written by `write`. From the host it captures only the values
        in `needs`. `why` tells the user why it runs."""
        given = to_give(self.host, needs)
        return self._declare(self._name(let, suffix), given, own, write, let.where, why)

    def _declare(
        self, name: str, given: Sequence[Var], own: Own, write: Write,
        where: Location | None = None, why: str = "",
    ) -> Declared:  # fmt: skip
        program, names = self.program, self.program.names.fork()
        number = len(program.later) + 1

        def made() -> Kernel:
            kernel = KernelBuilder(
                name, self.host, self.scope, self.machine.warps, program.sites.of_kernel(number),
                names.fork(),
            )  # fmt: skip
            kernel.body.where = where
            kernel.give(given)
            write(kernel, [kernel.own(*param) for param in own])
            return self._finish(kernel)

        types = tuple(var.type for var in given) + tuple(type_ for _, type_ in own)
        program.later.append(Later(name, types, made, program.lock, _said(where, why)))
        return Declared(name, tuple(given))

    def _finish(self, kernel: KernelBuilder) -> Kernel:
        """The kernel, with work for all units of a level spread over the warps of the machine."""
        return distribute_kernel(kernel.finish(), self.machine.block_shape)

    def _name(self, let: Let, suffix: str) -> str:
        name, taken = f"{name_of(let)}{suffix}", self._taken()
        while name in taken:
            name += "_"
        return name

    def _taken(self) -> set[str]:
        program = self.program
        return {k.name for k in program.kernels} | {later.name for later in program.later}

    def reads(self, op: Op | Lambda) -> list[Atom]:
        """The host values that an operation or a function reads."""
        found: list[Atom] = []
        for var in free_vars(op):
            value = self.scope.find(var)
            if isinstance(value, HostArray):
                found += [value.buffer, *value.shape]
            else:
                found.append(value)
        return found

    def launch(
        self, kernel: KernelBuilder | Declared, blocks: Atom, role: Role = Role.PASS,
        host: Builder | None = None, own: Sequence[Atom] = (),
    ) -> None:  # fmt: skip
        """Launch a kernel; `own` are its arguments in addition to the captured host values."""
        if isinstance(kernel, KernelBuilder) and kernel.name not in self._taken():
            self.program.kernels.append(self._finish(kernel))
        (host or self.host).emit(Launch(kernel.name, blocks, (*kernel.args, *own), role))

    def launch_first(
        self, variants: Sequence[tuple[Atom, Declared]], last: Declared, blocks: Atom,
        role: Role = Role.PASS, host: Builder | None = None, own: Sequence[Atom] = (),
    ) -> None:  # fmt: skip
        """Launch the first variant of a pass whose condition holds at run time, else the last.

        All take the same arguments: those that their sweep needs.
        """
        choices = []
        for condition, variant in variants:
            if condition == TRUE:
                last = variant
                break
            assert variant.args == last.args
            if condition != FALSE:
                choices.append(Choice(condition, variant.name))
        args = (*last.args, *own)
        (host or self.host).emit(Launch(last.name, blocks, args, role, tuple(choices)))

    # -- host bodies ----------------------------------------------------------------------------

    def call(self, b: Builder, fn: Lambda, args: Sequence[Atom]) -> tuple[Atom, ...]:
        """A scalar function on host values, emitted into `b`."""
        inside = Lowering(self.program, b, self.scope.inner())
        for param, arg in zip(fn.params, args, strict=True):
            inside.scope.bind(param, arg)
        self.program.lower_lets(inside, fn)
        return tuple(inside.scope.scalar(result) for result in fn.results)


def _said(where: Location | None, why: str) -> Note:
    """A reason, with the user's line; "" where there is none."""
    text = f"{where}: {why}" if where is not None and why else why
    return Note(text, where, reason=why)


def buffer_type(type_: Type) -> Type:
    """The type of the host value of a variable."""
    return BufferType(type_.dtype) if isinstance(type_, ArrayType) else type_


# -- One launch over the positions of an array: for actions before and after a sweep ---------------


Act = Callable[[Builder, KernelBuilder, Atom], None]


def each_place(
    lowering: Lowering, let: Let, suffix: str, role: Role, extent: Atom, dtypes: Sequence[DType],
    act: Act,
) -> None:  # fmt: skip
    """Launch a kernel that acts at 0, 1, .. below `extent`, on elements of these dtypes."""
    kernel = lowering.kernel(let, suffix)
    write_places(
        lowering.machine, kernel, kernel.capture(extent), dtypes, lambda b, i: act(b, kernel, i)
    )
    lowering.launch(kernel, place_blocks(lowering.host, lowering.machine, extent, dtypes), role)


# -- Filling a buffer by a launch: on machines whose host cannot write to it at no cost ------------


def fill(lowering: Lowering, let: Let, buffer: Var, count: Atom, first: Atom, others: Atom) -> None:
    """buffer[0] = first; buffer[t] = others for the t from 1 on below `count`."""
    assert isinstance(buffer.type, BufferType)

    def act(b: Builder, kernel: KernelBuilder, t: Atom) -> None:
        begins, follows = kernel.capture(first), kernel.capture(others)
        value = b.apply("select", b.apply("eq", t, index(0)), begins, follows)
        b.emit(Store(kernel.buffer(buffer), t, value))

    each_place(lowering, let, "_fill", Role.FILL, count, [buffer.type.dtype], act)


# -- The host values in records of the lowering: what a lazily compiled kernel may need ------------


def held(thing: object) -> Iterator[Atom]:
    """The variables among the parts of a tuple, list or record, and of theirs."""
    match thing:
        case Var():
            yield thing
        case Const() | Lambda() | DType():
            return
        case tuple() | list():
            for part in thing:
                yield from held(part)
        case _ if is_record(thing):
            for field in fields(thing):
                yield from held(getattr(thing, field.name))
