"""A kernel under construction: what its body captures from the host becomes its parameters.

A kernel that is written later is launched before its body is known, so it is *given* up front all
that the body may capture; what it does not use costs nothing.
"""

from __future__ import annotations

from collections.abc import Iterable

from flatweave.base.dtypes import i64
from flatweave.base.errors import CompilerBug
from flatweave.kernel_ir.syntax import Kernel
from flatweave.lower.kernel.scope import HostArray, HostScope, Sites
from flatweave.terms.build import Builder, Names
from flatweave.terms.control import Apply
from flatweave.terms.syntax import Atom, BufferType, Const, Lambda, Type, Var


class KernelBuilder:
    """Collects parameters and, beside each, the host atom that the launch passes for it."""

    def __init__(
        self, name: str, host: Builder, scope: HostScope, warps: int, sites: Sites,
        names: Names | None = None,
    ) -> None:  # fmt: skip
        self.name = name
        self.host = host
        self.scope = scope
        self.warps = warps
        self.sites = sites
        self.body = Builder(names or host.names)
        self.params: list[Var] = []
        self.args: list[Atom] = []
        self._captured: dict[Atom, Atom] = {}
        self._given: dict[Atom, Var] | None = None
        self.inner: tuple[Kernel, ...] | None = None  # see Kernel

    def capture(self, host: Atom) -> Atom:
        """A host value inside the kernel."""
        if not isinstance(host, Var):
            return host
        if host not in self._captured:
            known = self.scope.known(host)
            self._captured[host] = known or self._shifted(host) or self._param(host)
        return self._captured[host]

    def know(self, host: Atom, value: Const) -> None:
        """A host value that is known where this kernel runs."""
        self._captured[host] = value

    def give(self, hosts: Iterable[Var]) -> None:
        """These host values are all that the body may capture."""
        self._given = {host: self._new(host) for host in hosts}

    def _shifted(self, host: Var) -> Atom | None:
        """A sum of an index and a constant, made anew: index algebra must see what it is."""
        made = shift_of(self.host, host)
        if made is None:
            return None
        return self.body.apply(made.fn, self.capture(made.args[0]), made.args[1])

    def _param(self, host: Var) -> Var:
        if self._given is None:
            return self._new(host)
        if host not in self._given:
            raise CompilerBug(f"kernel {self.name} is written later and was not given {host!r}.")
        return self._given[host]

    def _new(self, host: Var) -> Var:
        self.args.append(host)
        return self.own(host.name, host.type)

    def own(self, hint: str, type_: Type) -> Var:
        """A parameter for which each launch passes what it likes, behind the captured ones."""
        self.params.append(self.body.param(hint, type_))
        return self.params[-1]

    def buffer(self, host: Var) -> Var:
        """A host buffer inside the kernel."""
        inside = self.capture(host)
        assert isinstance(inside, Var) and isinstance(inside.type, BufferType)
        return inside

    def scalar(self, var: Atom) -> Atom:
        """A scalar of the program outside the sweep."""
        return self.capture(self.scope.scalar(var))

    def array(self, var: Atom) -> tuple[Var, tuple[Atom, ...]]:
        """An array of the program: its buffer and extents inside the kernel."""
        held: HostArray = self.scope.array(var)
        shape = tuple(self.capture(extent) for extent in held.shape)
        self.body.assume_shape(shape)
        return self.buffer(held.buffer), shape

    def finish(self) -> Kernel:
        """The kernel."""
        body = Lambda((), tuple(self.body.lets), ())
        return Kernel(self.name, tuple(self.params), body, self.warps, self.inner)


def shift_of(host: Builder, atom: Atom) -> Apply | None:
    """How a host value is made, where it is a sum of an index and a constant."""
    made = host.definition(atom)
    if not isinstance(made, Apply) or made.fn not in ("add", "sub") or atom.type is not i64:
        return None
    return made if isinstance(made.args[1], Const) else None


def to_give(host: Builder, atoms: Iterable[Atom]) -> tuple[Var, ...]:
    """The host values that must be given for these to be captured."""
    found: dict[Var, None] = {}
    for atom in atoms:
        while (made := shift_of(host, atom)) is not None:
            atom = made.args[0]
        if isinstance(atom, Var):
            found[atom] = None
    return tuple(found)
