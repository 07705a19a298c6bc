"""Where a kernel's code goes while it is traced: its level, the user's line, launches, the end."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

from flatweave.base.dtypes import i64
from flatweave.base.errors import ArgumentError, EscapedArrayError, Unsupported
from flatweave.base.plan import CHECK_ERROR, Site
from flatweave.base.records import replace
from flatweave.base.source import UNKNOWN, Location, asides, user_location
from flatweave.frontend.elements.broadcasting import cast
from flatweave.frontend.trace.tracers import as_tracer
from flatweave.frontend.values.array import Tracer, kind_of
from flatweave.frontend.values.scope import STATE, Scope, Trace, entered
from flatweave.kernel_ir import KernelOp
from flatweave.kernel_ir.hierarchy import GRID, Level, UnitCode, level_of, tries_in, without_tries
from flatweave.kernel_ir.host import Fail, Free, Launch, Retain
from flatweave.kernel_ir.syntax import BlockIndex, Kernel, Report, Unit
from flatweave.kernel_ir.units import SCALAR
from flatweave.kernel_passes.sequentialize import sequentialize
from flatweave.lower.kernel_builder import Sites
from flatweave.lower.machine import Machine
from flatweave.terms.build import Builder, index
from flatweave.terms.control import NO_BODY, Apply, If
from flatweave.terms.syntax import Atom, Const, Lambda, Let, Op, Var
from flatweave.terms.traverse import Substitution, free_vars, walk_lets, with_bodies, with_lets

# Where a kernel's code goes while it is traced: the level it is for, and the user's line.
#
# A kernel is written for the grid. Its code is that of the host; `for_all` over blocks in it is
# one launch, and the body of that is code of a block; `for_all` in there is code of warps or
# threads. Scalars are the tracers of the array language, so that all its functions on them work
# here.


Extent = int | Tracer
"""A length: an int where it is known when the kernel is written, else a number of the host."""

UNITS = 1 << 16
"""Units of one level that reports number separately."""
PER_THREAD, PER_LANE = 4, 64
"""Elements of an array of the grid for each thread on a GPU, and for each lane on a CPU."""


class NotElements(Exception):
    """A function of the kernel tier needs units or memory, where it may only compute elements."""


class Writing(Protocol):
    """A kernel, or elements that need none."""

    sites: Sites
    checks: bool

    def must(self, scope: Scope, holds: Atom, site: Site, values: tuple[Atom, Atom]) -> bool:
        """End the program with an error unless a condition of a scope holds; whether the code goes
        on where it does not."""

    def scope_of(self, b: Builder) -> Scope:
        """The scope whose code goes to a builder."""


class Scopes:
    """The scopes whose code goes to builders: those that are open, and new ones inside of them."""

    def __init__(self) -> None:
        self._made: dict[int, Scope] = {}

    def of(self, b: Builder) -> Scope:
        """The scope of a builder, made as one inside that of the builder around."""
        assert STATE.scope is not None
        known = {id(scope.builder): scope for scope in STATE.scope.around()}
        return self._of(b, known)

    def _of(self, b: Builder, known: dict[int, Scope]) -> Scope:
        found = known.get(id(b)) or self._made.get(id(b))
        if found is None:
            assert b.outer is not None
            around = self._of(b.outer, known)
            found = self._made[id(b)] = Scope(around.trace, b, around, b.optional)
        return found


class KernelTrace(Trace):
    """A kernel under construction: its host code, and the kernels that it launches.

    `threads` is how many a block has on machines whose threads are lanes; `each` how many elements
    a thread of a block takes, 0 if the machine decides, None if it is not set.
    """

    def __init__(self, name: str, machine: Machine, threads: int, checks: bool = True) -> None:
        super().__init__(name)
        self.checks = checks  # whether indices are tested when it runs
        self.endless = 0  # loops around that go on until a condition is false
        self._failed: dict[Scope, Atom] = {}
        self.root = Scope(self, UnitCode(None, GRID), None)
        self.machine = machine
        self.threads = threads
        self.each: int | None = None
        self.kernels: list[Kernel] = []
        self.buffers: list[Var] = []  # that the host has made
        self.locks: dict[Scope, Var] = {}  # of the code of a block, or of the host (`atomics.py`)
        self.sites = Sites()
        self.scopes = Scopes()
        self.caller = UNKNOWN  # the line that calls the kernel
        self.returned: Location | None = None  # where what it returns was made

    @property
    def block_elements(self) -> int:
        """How many elements a block gets of an array of the grid that nobody has divided."""
        per_thread = PER_THREAD if self.machine.simt else PER_LANE
        return self.threads * (self.each or per_thread)

    def must(self, scope: Scope, holds: Atom, site: Site, values: tuple[Atom, Atom]) -> bool:
        """End the program with an error unless a condition holds; once for each condition. Whether
        the code goes on where it does not hold."""
        home = scope.check_home((holds, *values))
        on_host = level_of(home.builder) is GRID
        if home.is_checked(holds) or not (on_host or self.checks):
            return not on_host
        home.checked.add(holds)
        number = self.sites.add(site)
        if on_host:
            home.emit(Fail(home.apply("not", holds), CHECK_ERROR, number, *values))
            return False
        report = home.builder.inner(optional=True)
        report.emit(Report(CHECK_ERROR, number, unit_of(report), *values))
        home.emit(If(holds, NO_BODY, report.close([], [])))
        if self.endless:
            self.failed_at(scope, scope.apply("not", holds))
        return True

    def failed_at(self, scope: Scope, failed: Atom) -> None:
        """A check of a scope has found something wrong where this holds: loops around it end."""
        before = self._failed.get(scope)
        self._failed[scope] = failed if before is None else scope.apply("or", before, failed)

    def failed_in(self, scope: Scope) -> Atom | None:
        """Where a check in the code of a scope has failed, which ends here; None for nowhere."""
        return self._failed.pop(scope, None)

    def scope_of(self, b: Builder) -> Scope:
        """The scope whose code goes to a builder."""
        return self.scopes.of(b)

    @contextmanager
    def taking(self, each: int | None) -> Iterator[None]:
        """Threads of blocks take `each` elements inside the `with`; None changes nothing."""
        around = self.each
        self.each = around if each is None else each
        try:
            yield
        finally:
            self.each = around

    @contextmanager
    def running(self) -> Iterator[None]:
        """Trace inside the `with`."""
        self.where = self.caller = user_location()
        self.frame, self.asides = sys._getframe(2), asides()
        try:
            with entered(self.root):
                yield
        finally:
            self.root.closed, self.frame = True, None


def here() -> Scope:
    """The code that is being written, of whatever level; from now on it comes from this line."""
    scope = STATE.scope
    if scope is None or _writing(scope.trace) is None:
        raise ArgumentError.here(
            "this function writes a kernel's code, and no kernel is being written.",
            "Call it inside a function with the decorator @fk.kernel.",
        )
    where = user_location()
    made = scope.trace
    if isinstance(made, KernelTrace) and made.returned and where._code is made.caller._code:
        where = made.returned  # results are written after the function's lines
    made.where = scope.builder.where = where
    return scope


def _writing(made: Trace) -> Writing | None:
    """What is being written to a trace: a kernel, or elements that need none; or nothing of ours.
    """
    return made if isinstance(made, KernelTrace) else getattr(made, "elements", None)


def unit_of(b: Builder) -> Atom:
    """The number of the unit whose code this is: of several that fail the first one reports."""
    around: Builder | None = b
    units: list[Atom] = []
    while around is not None:
        if isinstance(around, UnitCode) and around.index is not None:
            units.append(around.index)
        around = around.outer
    found = units.pop() if units else index(0)
    while units:
        (scaled,) = b.emit(Apply("mul", (found, index(UNITS))))
        (found,) = b.emit(Apply("add", (scaled, units.pop())))
    return found


def is_writing(scope: Scope) -> bool:
    """Whether a kernel's code is being written, or that of its elements."""
    return _writing(scope.trace) is not None


def trace() -> KernelTrace:
    """The kernel that is being written. Raises NotElements where it is elements alone."""
    found = _writing(here().trace)
    if not isinstance(found, KernelTrace):
        raise NotElements
    return found


def writing() -> Writing:
    """What is being written: a kernel, or elements that need none."""
    found = _writing(here().trace)
    assert found is not None
    return found


def level() -> Level:
    """The level whose code is being written. Raises NotElements outside kernels."""
    trace()
    return level_of(here().builder)


def numbers(atoms: Sequence[Atom]) -> list[Tracer]:
    """Atoms of the code being written, as numbers."""
    scope = here()
    homes = scope.trace.homes
    for atom in atoms:
        if isinstance(atom, Var) and atom not in homes:
            homes[atom] = scope
    return [Tracer(atom, scope.home((atom,))) for atom in atoms]


def emit(op: Op, hint: str = "t") -> tuple[Var, ...]:
    """Append an operation to the code being written."""
    return here().emit(op, hint)


def number(value: Any, what: str) -> Tracer:
    """A value as a number of the code being written."""
    if isinstance(value, Tracer) and value.is_gone:
        scope = STATE.scope
        if scope is not None and value.scope.trace is scope.trace:
            raise EscapedArrayError.here(
                f"{what} is a number of one {_word(value)}, and is used outside of its code.",
                "Bring it out by an array: force what each of them computes.",
            )
    found = as_tracer(value, what)
    if found.ndim:
        raise ArgumentError.here(
            f"{what} must be one number, got {kind_of(value)}.",
            "Pass arrays as arguments of the kernel.",
        )
    return found


def _word(value: Tracer) -> str:
    return level_of(value.scope.builder).word


def place(value: Any, what: str = "an index") -> Atom:
    """A number as an i64: an index."""
    found = number(value, what)
    if not found.element.is_integer:
        raise ArgumentError.here(
            f"{what} must be an integer, got {found.element.name}.",
            "Convert it with astype(fw.i64).",
        )
    return cast(found, i64).atom


def extent_of(extent: Extent) -> Atom:
    """A length as an atom."""
    return index(extent) if isinstance(extent, int) else number(extent, "a length").atom


def simplest(value: Any) -> Extent:
    """A length as an int where it is known."""
    if isinstance(value, Tracer):
        return int(value.atom.value) if isinstance(value.atom, Const) else value
    return int(value)


# Code of blocks becomes a kernel, and a launch in the code of the host.


def launch(made: KernelTrace, count: Atom, fn: Lambda) -> None:
    """Run `fn(block)` for each block below `count`: what it reads of the host is passed to it."""
    number = len(made.kernels)  # names in C have no other letters, as `<lambda>` does
    said = re.sub(r"\W+", "_", made.name, flags=re.ASCII).strip("_") or "kernel"
    name = f"{said}_{number}" if number else said
    read = tuple(free_vars(fn))
    fresh = Substitution(fresh=lambda var, type_: made.root.builder.var(var.name, type_))
    params = tuple(Var(made.root.builder.names.fresh(var.name), var.type) for var in read)
    fresh.mapping.update(zip(read, params, strict=True))
    block = fn.params[0]
    body = Lambda((), (Let((block,), BlockIndex(), made.where), *fn.lets), ())
    made.kernels.append(Kernel(name, params, fresh.function(body)))
    here().emit(Launch(name, count, read))


# The end of a kernel's host code: memory that is not a result is freed after its last read.


def finish(made: KernelTrace, results: Sequence[Atom]) -> tuple[Unit, Unit | None]:
    """The unit of a traced kernel; its host gives these results. And the same with the operators
    that are tried, if there are any."""
    builder = made.root.builder
    _only_kernel_code(made)
    kept: set[Var] = set()
    for atom in results:
        if atom in kept and isinstance(atom, Var) and atom in made.buffers:
            builder.emit(Retain(atom))
        if isinstance(atom, Var):
            kept.add(atom)
    builder.lets = _freeing(builder.lets, set(made.buffers) - kept)
    host = builder.close(made.params, results)
    shape = made.machine.block_of(made.threads)
    names = builder.names.fork()
    kernels = [
        replace(kernel, body=without_tries(kernel.body)) for kernel in made.kernels
    ]
    unit = Unit(host, tuple(sequentialize(kernel, builder.names, shape) for kernel in kernels))
    if not any(tries_in(kernel.body) for kernel in made.kernels):
        return unit, None
    return unit, Unit(host, tuple(sequentialize(k, names, shape) for k in made.kernels))


def _freeing(lets: Sequence[Let], buffers: set[Var]) -> list[Let]:
    """Code of the host that frees each of these buffers that it allocates after the last use; in a
    loop, in the body of each iteration."""
    inner = [
        with_bodies(let, lambda fn: with_lets(fn, _freeing(fn.lets, buffers))) for let in lets
    ]
    own = {var for let in lets for var in let.vars if var in buffers}
    last = {
        var: number
        for number, let in enumerate(lets) for var in (*let.vars, *free_vars(let.op)) if var in own
    }  # fmt: skip
    freed: list[Let] = []
    for number, let in enumerate(inner):
        freed.append(let)
        freed += [Let((), Free(var), let.where) for var in last if last[var] == number]
    return freed


def _only_kernel_code(made: KernelTrace) -> None:
    """Refuse operations of the array language, which make arrays where there are none."""
    bodies = [kernel.body for kernel in made.kernels]
    for let in [*walk_lets(made.root.builder.close([], [])), *(
        let for body in bodies for let in walk_lets(body)
    )]:
        if not isinstance(let.op, KernelOp) and let.op.name not in SCALAR:
            raise Unsupported(
                f"{let.op.name} is an operation on arrays, and a kernel has pull and push arrays.",
                where=let.where,
                remedy="Use the function of fk, such as fk.map, fk.iterations or fk.seq_reduce.",
            )
