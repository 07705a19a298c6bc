"""A kernel under construction: what its body captures from the host becomes its parameters."""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.base.dtypes import i64
from flatweave.kernel_ir.syntax import Kernel
from flatweave.lower.kernel.scope import HostArray, HostScope
from flatweave.terms.build import Builder
from flatweave.terms.control import Apply
from flatweave.terms.syntax import Atom, BufferType, Const, Lambda, Var


class KernelBuilder:
    """Collects parameters and, beside each, the host atom that the launch passes for it."""

    def __init__(self, name: str, host: Builder, scope: HostScope, warps: int) -> None:
        self.name = name
        self.host = host
        self.scope = scope
        self.warps = warps
        self.body = Builder(host.names)
        self.params: list[Var] = []
        self.args: list[Atom] = []
        self._captured: dict[Atom, Atom] = {}

    def capture(self, host: Atom) -> Atom:
        """A host value inside the kernel."""
        if not isinstance(host, Var):
            return host
        if host not in self._captured:
            self._captured[host] = self._shifted(host) or self._param(host)
        return self._captured[host]

    def _shifted(self, host: Var) -> Atom | None:
        """A sum of an index and a constant, made anew: index algebra must see what it is."""
        made = self.host.definition(host)
        if not isinstance(made, Apply) or made.fn not in ("add", "sub") or host.type is not i64:
            return None
        if not isinstance(made.args[1], Const):
            return None
        return self.body.apply(made.fn, self.capture(made.args[0]), made.args[1])

    def _param(self, host: Var) -> Var:
        param = self.body.param(host.name, host.type)
        self.params.append(param)
        self.args.append(host)
        return param

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

    def finish(self, own: Sequence[Var] = ()) -> Kernel:
        """The kernel; `own` are parameters beyond the captured ones, set at each launch."""
        body = Lambda((), tuple(self.body.lets), ())
        return Kernel(self.name, (*self.params, *own), body, self.warps)
