"""The host program under construction: buffers with owners, launches, error sites.

Every array variable owns one reference to its buffer. A body gives the reference back after the
variable's last use; arrays from outside the body are borrowed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from flatweave.base.dtypes import DType
from flatweave.base.plan import Site
from flatweave.base.schedule import Schedule
from flatweave.base.source import Location
from flatweave.kernel_ir.host import Alloc, Free, IsUnique, Launch, Role
from flatweave.kernel_ir.syntax import Kernel
from flatweave.lower.host.copy import copy_kernel
from flatweave.lower.kernel.builder import KernelBuilder
from flatweave.lower.kernel.scope import HostArray, HostScope, Sites
from flatweave.lower.machine.machine import Machine
from flatweave.lower.schedule.choose import plan_sweep
from flatweave.lower.schedule.facts import SweepFacts
from flatweave.lower.schedule.plan import SweepPlan
from flatweave.lower.schedule.verify import verify_plan
from flatweave.ops import Sweep
from flatweave.terms.build import Builder, Names, index
from flatweave.terms.control import If
from flatweave.terms.syntax import ArrayType, Atom, BufferType, Lambda, Let, Type, Var
from flatweave.terms.traverse import free_vars

LowerLets = Callable[["Lowering", Lambda], None]


class Program:
    """What all bodies of one program share."""

    def __init__(
        self, machine: Machine, checks: bool, lower_lets: LowerLets, schedule: Schedule,
        plans: dict[str, SweepPlan],
    ) -> None:  # fmt: skip
        self.machine = machine
        self.lower_lets = lower_lets
        self.checks = checks
        self.schedule = schedule
        self.plans = plans
        self.sites = Sites()
        self.names = Names()
        self.kernels: list[Kernel] = []

    def plan(self, let: Let, facts: SweepFacts) -> SweepPlan:
        """The plan of a sweep: the one given under its name, or one made now."""
        name = name_of(let)
        if name not in self.plans:
            self.plans[name] = plan_sweep(facts, self.machine, self.schedule, let.where)
        verify_plan(self.plans[name], facts, self.machine)
        return self.plans[name]


def name_of(let: Let) -> str:
    """What a sweep is called: as the first of its results."""
    return let.vars[0].name if let.vars else "sweep"


class Lowering:
    """One host body: its builder, what its variables are, which of them may be given up."""

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

    def inner(self) -> Lowering:
        return Lowering(self.program, self.host.inner(), self.scope.inner())

    def site(self, kind: str = "memory", message: str = "", count: int = 0) -> int:
        return self.sites.add(Site(kind, self.where, message, count))

    # -- memory ---------------------------------------------------------------------------------

    def alloc_like(self, like: Atom, count: Atom) -> Var:
        """A buffer of `count` elements of the dtype of an array or scalar."""
        dtype = like.type.dtype if isinstance(like.type, ArrayType) else like.type
        assert isinstance(dtype, DType)
        return self.host.emit(Alloc(dtype, count, self.site()), "buffer")[0]

    def own(self, dest: Atom, let: Let) -> Var:
        """A buffer with the elements of `dest` that the op of `let` may write.

        It is the buffer itself when this is its last use, the sweep does not read it, and nobody
        else owns it; else a copy.
        """
        assert isinstance(dest, Var)
        held = self.scope.array(dest)
        count = self.host.product(held.shape)
        assert isinstance(let.op, Sweep)
        if dest not in self.last_uses.get(let, ()) or dest in free_vars(let.op.body):
            return self._copy(self.host, dest, held, count)
        self.given_up.add(dest)
        unique = self.host.emit(IsUnique(held.buffer))[0]
        keep = self.host.inner()
        copy = self.host.inner()
        fresh = self._copy(copy, dest, held, count)
        copy.emit(Free(held.buffer))
        choice = If(unique, keep.close([], [held.buffer]), copy.close([], [fresh]))
        return self.host.emit(choice, "buffer")[0]

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
        fresh = host.emit(Alloc(dest.type.dtype, count, self.site()), "buffer")[0]
        kernel = self._copy_kernel(dest.type.dtype)
        size = index(max(1, self.machine.block_bytes // dest.type.dtype.bytes))
        blocks = host.apply("floordiv", host.add(count, host.sub(size, index(1))), size)
        host.emit(Launch(kernel.name, blocks, (count, held.buffer, fresh), Role.COPY))
        return fresh

    def _copy_kernel(self, dtype: DType) -> Kernel:
        name = f"copy_{dtype.name}"
        for kernel in self.program.kernels:
            if kernel.name == name:
                return kernel
        made = copy_kernel(self.machine, self.program.names, name, dtype)
        self.program.kernels.append(made)
        return made

    # -- kernels --------------------------------------------------------------------------------

    def kernel(self, let: Let, suffix: str = "") -> KernelBuilder:
        """A new kernel named after what it computes."""
        stem = name_of(let)
        name = f"{stem}{suffix}"
        taken = {kernel.name for kernel in self.program.kernels}
        while name in taken:
            name += "_"
        kb = KernelBuilder(name, self.host, self.scope, self.machine.warps)
        kb.body.where = let.where
        return kb

    def launch(
        self, kernel: KernelBuilder, blocks: Atom, role: Role = Role.PASS,
        host: Builder | None = None,
    ) -> None:  # fmt: skip
        if kernel.name not in {known.name for known in self.program.kernels}:
            self.program.kernels.append(kernel.finish())
        (host or self.host).emit(Launch(kernel.name, blocks, tuple(kernel.args), role))

    def launch_one_of(
        self, condition: Atom, then: KernelBuilder, other: KernelBuilder, blocks: Atom
    ) -> None:
        """Launch a variant of a pass or the pass itself, as the host finds at run time."""
        yes, no = self.host.inner(), self.host.inner()
        self.launch(then, blocks, Role.VARIANT, yes)
        self.launch(other, blocks, Role.PASS, no)
        self.host.emit(If(condition, yes.close([], []), no.close([], [])))

    # -- host bodies ----------------------------------------------------------------------------

    def call(self, b: Builder, fn: Lambda, args: Sequence[Atom]) -> tuple[Atom, ...]:
        """A scalar function on host values, emitted into `b`."""
        inside = Lowering(self.program, b, self.scope.inner())
        for param, arg in zip(fn.params, args, strict=True):
            inside.scope.bind(param, arg)
        self.program.lower_lets(inside, fn)
        return tuple(inside.scope.scalar(result) for result in fn.results)


def buffer_type(type_: Type) -> Type:
    """The type of the host value of a variable."""
    return BufferType(type_.dtype) if isinstance(type_, ArrayType) else type_
