"""Forward mode: after each operation, its tangent.

    y = mul a b                 y = mul a b
    z = map f ys      ==>       dy = add (mul da b) (mul db a)
                                z, dz = map (y, dy => .. in f(y), f'(y) dy) ys dys

Operations on functions get functions of pairs, a value and its tangent: a reduction combines such
pairs, a sort moves them. What does not depend on the inputs has no tangent, and costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from flatweave.gradients.activity import is_read, results_of
from flatweave.gradients.values import type_of_tangents, zero_tangent
from flatweave.terms.build import Builder
from flatweave.terms.syntax import Atom, Let, Op, Var

Rules = Callable[[Let], Any]


class Forward:
    """A body whose operations are emitted with their tangents."""

    def __init__(self, b: Builder, rules: Rules) -> None:
        self.b = b
        self.rules = rules
        self.tangents: dict[Var, Atom] = {}

    def of(self, atom: Atom) -> Atom | None:
        """The tangent of an atom; None where it is zero."""
        return self.tangents.get(atom) if isinstance(atom, Var) else None

    def dense(self, atom: Atom) -> Atom:
        """The tangent of an atom; zeros for a constant."""
        found = self.of(atom)
        return zero_tangent(self.b, atom) if found is None else found

    def run(self, lets: Sequence[Let]) -> None:
        """Emit operations, each with its tangent."""
        for let in lets:
            self.b.where = let.where or self.b.where
            if not is_read(let.op, self.tangents):
                self.keep(let)
                continue
            self.rules(let).forward(self, let, let.op)

    def keep(self, let: Let) -> None:
        """Emit an operation as it is."""
        self.b.append(let)
        self.b.adopt(let)

    def active(self, let: Let) -> list[Var]:
        """The results of an operation that have tangents."""
        return results_of(let, set(self.tangents))

    @contextmanager
    def inside(self, params: Sequence[Var], optional: bool = False) -> Iterator[Builder]:
        """Emit into the body of a function with these parameters."""
        around, self.b = self.b, self.b.inner(optional)
        for param in params:
            self.b.bind(param, None)
        try:
            yield self.b
        finally:
            self.b = around

    def params(self, of: Sequence[Var]) -> list[Var]:
        """Parameters for the tangents of parameters of the body at hand."""
        made: list[Var] = []
        for var in of:
            made.append(self.b.param(f"d{var.name}", type_of_tangents(var)))
            self.tangents[var] = made[-1]
        return made

    def emit(self, let: Let, op: Op, with_tangent: Sequence[Var]) -> None:
        """Emit an operation that binds the results of `let`, then the tangents of some of them."""
        made: list[Var] = []
        for var in with_tangent:
            made.append(self.b.var(f"d{var.name}", type_of_tangents(var)))
            self.tangents[var] = made[-1]
        self.b.append(Let((*let.vars, *made), op, let.where))

    def set(self, var: Var, tangent: Atom | None) -> None:
        """The tangent of a variable, if it has one."""
        if tangent is not None:
            self.tangents[var] = tangent
