"""Both modes on a body: each operation's tangents after it, and in reverse its cotangents."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from flatweave.gradients.activity import is_active, is_read, results_of
from flatweave.gradients.sinks import Sink, gathered, whole
from flatweave.gradients.values import add, tangent_type, type_of_tangents, zero_tangent
from flatweave.terms.build import Builder
from flatweave.terms.syntax import Atom, Let, Op, Var

# -- forward --------------------------------------------------------------------------------------
#
# Forward mode: after each operation, its tangent.
#
#     y = mul a b                 y = mul a b
#     z = map f ys      ==>       dy = add (mul da b) (mul db a)
#                                 z, dz = map (y, dy => .. in f(y), f'(y) dy) ys dys
#
# Operations on functions get functions of pairs, a value and its tangent: a reduction combines such
# pairs, a sort moves them. What does not depend on the inputs has no tangent, and costs nothing.


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


# -- reverse --------------------------------------------------------------------------------------
#
# Reverse mode: after all operations, from the last to the first, what each adds to cotangents.
#
#     y = sin x                    y = sin x
#     z = mul y a         ==>      z = mul y a
#     in z                         y' = mul z' a
#                                  x' = mul y' (cos x)
#
# A rule emits the operation, perhaps with more results to save, and gives a function that is called
# when the cotangents of the results are known; or it runs simpler operations instead. Inside a
# body, contributions to variables from around it are collected as sinks (`sinks.py`).


Back = Callable[[], None]


class Reverse:
    """A body whose operations are emitted, and then what they add to cotangents.

    `active` has the active variables of the whole program. Between the first part and the second
    `b` may become another builder.
    """

    def __init__(self, b: Builder, rules: Rules, active: set[Var]) -> None:
        self.b = b
        self.rules = rules
        self.active = active
        self.on_host = True
        self.own: set[Var] = set()
        self.tape: list[tuple[Let, Back]] = []
        self.found: dict[Var, Atom] = {}
        self.waiting: dict[Var, list[Sink]] = {}
        self.sinks: list[Sink] = []

    def inner(self, params: Sequence[Var], optional: bool = False) -> Reverse:
        """A body inside this one, with these parameters: an element function, or an `optional`
        one, a branch or a loop's."""
        made = Reverse(self.b.inner(optional), self.rules, self.active)
        made.on_host = self.on_host and optional
        made.bind(params)
        return made

    def bind(self, params: Sequence[Var]) -> None:
        """Enter variables as parameters of this body."""
        for param in params:
            self.b.bind(param, None)
        self.own.update(params)

    def is_active(self, atom: Atom) -> bool:
        """Whether an atom depends on what is differentiated."""
        return is_active(atom, self.active)

    def run(self, lets: Sequence[Let]) -> None:
        """Emit operations; remember what those that are active will do in reverse."""
        for let in lets:
            self.b.where = let.where or self.b.where
            self.own.update(let.vars)
            if not is_read(let.op, self.active) or not (made := results_of(let, self.active)):
                self.keep(let)
                continue
            self.active.update(made)
            back = self.rules(let).reverse(self, let, let.op)
            if back is not None:  # else it was rewritten
                self.tape.append((let, back))

    def keep(self, let: Let) -> None:
        """Emit an operation as it is."""
        self.b.append(let)
        self.b.adopt(let)

    def pull(self, seeds: Sequence[tuple[Atom, Atom]]) -> None:
        """Propagate cotangents of some values back to the parameters. Each call starts anew."""
        self.found, self.waiting, self.sinks = {}, {}, []
        for atom, cotangent in seeds:
            self.add(atom, cotangent)
        for let, back in reversed(self.tape):
            if any(var in self.found or var in self.waiting for var in let.vars):
                self.b.where = let.where or self.b.where
                back()

    def add(self, atom: Atom, cotangent: Atom) -> None:
        """Add to the cotangent of a value."""
        if not self.is_active(atom):
            return
        assert isinstance(atom, Var)
        if atom not in self.own:
            self.sinks.append(whole(atom, cotangent))
            return
        known = self.found.get(atom)
        self.found[atom] = cotangent if known is None else add(self.b, known, cotangent)

    def add_at(self, xs: Atom, indices: Sequence[Atom], cotangent: Atom) -> None:
        """Add to the cotangent of one element of an array."""
        if self.is_active(xs):
            assert isinstance(xs, Var)
            self.sink(Sink(xs, tuple(indices), cotangent))

    def sink(self, sink: Sink) -> None:
        """Add contributions to a variable of this body, or of one around it."""
        if not self.is_active(sink.target):
            return
        if sink.target in self.own:
            self.waiting.setdefault(sink.target, []).append(sink)
        else:
            self.sinks.append(sink)

    def known(self, atom: Atom) -> Atom | None:
        """The cotangent of a value; None where it is zero."""
        if not isinstance(atom, Var):
            return None
        for sink in self.waiting.pop(atom, ()):
            part = gathered(self.b, sink)
            before = self.found.get(atom)
            self.found[atom] = part if before is None else add(self.b, before, part)
        return self.found.get(atom)

    def known_among(self, vars_: Sequence[Var]) -> dict[int, Atom]:
        """The cotangents of those variables that have one, by number."""
        found = [(k, self.known(var)) for k, var in enumerate(vars_) if tangent_type(var.type)]
        return {k: c for k, c in found if c is not None}

    def cotangent(self, atom: Atom) -> Atom:
        """The cotangent of a value; zeros if nothing contributes to it."""
        found = self.known(atom)
        return zero_tangent(self.b, atom) if found is None else found

    @contextmanager
    def emitting(self, b: Builder) -> Iterator[None]:
        """Emit into another builder."""
        before, self.b = self.b, b
        try:
            yield
        finally:
            self.b = before
