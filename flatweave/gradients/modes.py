"""Both modes on a body: each operation's tangents after it, and in reverse its cotangents."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from flatweave.gradients.scalars import NONE
from flatweave.gradients.sinks import Sink, gathered, whole
from flatweave.gradients.values import add, bound, tangent_type, type_of_tangents, zero_tangent
from flatweave.ops import (
    Custom,
    Filter,
    Generate,
    Map,
    Nest,
    Permute,
    Reduce,
    ReduceSegments,
    Scan,
    Scatter,
    Sort,
    SortRows,
)
from flatweave.terms.build import Builder
from flatweave.terms.control import Apply, Cast, For, If, While
from flatweave.terms.syntax import Atom, Const, Lambda, Let, Op, Var
from flatweave.terms.traverse import free_vars, lambdas_in

# -- forward: after each operation, its tangent ---------------------------------------------------
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
        params = [self.b.param(f"d{var.name}", type_of_tangents(var)) for var in of]
        self.tangents.update(zip(of, params, strict=True))
        return params

    def emit(self, let: Let, op: Op, with_tangent: Sequence[Var]) -> None:
        """Emit an operation that binds the results of `let`, then the tangents of some of them."""
        results = [self.b.var(f"d{var.name}", type_of_tangents(var)) for var in with_tangent]
        self.tangents.update(zip(with_tangent, results, strict=True))
        self.b.append(Let((*let.vars, *results), op, let.where))

    def set(self, var: Var, tangent: Atom | None) -> None:
        """The tangent of a variable, if it has one."""
        if tangent is not None:
            self.tangents[var] = tangent


# -- reverse: from the last operation to the first, what each adds to cotangents -------------------
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


# -- activity: which variables depend on what is differentiated -----------------------------------
#
#     active = {x};   y = mul x 2.0;  i = cast i64 y;  z = cast f64 i         active = {x, y}
#
# Most operations on functions are taken to pass on to all results what any of their operands is.
# The functions in them are searched: often only one array, or one part of a state, is active.


def is_read(op: Op, active: Container[Var]) -> bool:
    """Whether an operation, or a function in it, reads an active variable."""
    return any(var in active for var in free_vars(op))


def add_dependents(lets: Sequence[Let], active: set[Var]) -> None:
    """Add what depends on active variables; what stands before the lets is there already."""
    for let in lets:
        if is_read(let.op, active):
            active.update(results_of(let, active))


def results_of(let: Let, active: set[Var]) -> list[Var]:
    """The results of an operation that are active, given that something it reads is."""
    match let.op:
        case Apply(fn=fn):
            return [] if fn in NONE else bound(let)
        case Cast(dtype=dtype, arg=arg):
            return bound(let) if dtype.is_float and tangent_type(arg.type) else []
        case If(then=then, other=other):
            flags = [a or b for a, b in zip(*(given(fn, active) for fn in (then, other)))]
        case While(body=body, init=init):
            flags = state_of(body, body.params, init, active)
        case For(body=body, init=init):
            flags = state_of(body, body.params[1:], init, active)
        case Reduce(fn=fn, neutral=neutral, xs=xs) | Scan(fn=fn, neutral=neutral, xs=xs):
            flags = components(fn, neutral, xs, active)
        case Map(fn=fn, xs=xs):
            flags = given(fn, _with(active, fn.params, [is_active(x, active) for x in xs]))
        case Generate(fn=fn):
            flags = given(fn, active.copy())
        case Nest(fn=fn, groups=groups):
            first = len(let.vars) - len(groups)
            flags = [False] * first + given(fn, active.copy())[len(fn.results) - len(groups) :]
        case Sort(xs=xs) | SortRows(xs=xs):
            flags = [is_active(x, active) for x in xs]
        case Filter(xs=xs):
            flags = [False, *(is_active(x, active) for x in xs)]
        case Scatter(dest=dest, xs=xs):
            flags = _either(dest, xs, active)
        case ReduceSegments(fn=fn, neutral=neutral, xs=xs):
            flags = [False, *components(fn, neutral, xs, active)]
        case _:
            return bound(let)
    return [var for var, flag in zip(let.vars, flags, strict=True) if flag]


def given(fn: Lambda, active: set[Var]) -> list[bool]:
    """Which results of a function are active."""
    add_dependents(fn.lets, active)
    return [is_active(atom, active) for atom in fn.results]


def is_active(atom: Atom, active: set[Var]) -> bool:
    """Whether an atom depends on what is differentiated."""
    return not isinstance(atom, Const) and atom in active


def state_of(
    body: Lambda, params: Sequence[Var], init: Sequence[Atom], active: set[Var]
) -> list[bool]:
    """Which parts of a loop's state are active: at its beginning, or after some iteration."""
    return _settled(body, params, [is_active(atom, active) for atom in init], active)


def components(
    fn: Lambda, neutral: Sequence[Atom], xs: Sequence[Atom], active: set[Var]
) -> list[bool]:
    """Which components of what an operator combines are active."""
    return _settled(fn, fn.params, _either(neutral, xs, active), active)


def _either(xs: Sequence[Atom], ys: Sequence[Atom], active: set[Var]) -> list[bool]:
    return [is_active(x, active) or is_active(y, active) for x, y in zip(xs, ys, strict=True)]


def _settled(
    fn: Lambda, params: Sequence[Var], flags: list[bool], active: set[Var]
) -> list[bool]:
    """The flags of results that become parameters again, once or twice each, in the end."""
    while True:
        inside = _with(active, params, flags * (len(params) // max(1, len(flags))))
        found = [a or b for a, b in zip(flags, given(fn, inside), strict=True)]
        if found == flags:
            return flags
        flags = found


LINEAR = frozenset({"add", "sub", "neg", "select", "of_f16", "of_bf16", "to_f16", "to_bf16"})


def first_not_linear(lets: Sequence[Let], active: set[Var]) -> Let | None:
    """The first scalar operation that is not linear in the active variables; None if all are."""
    for let in lets:
        if not is_read(let.op, active):
            continue
        if isinstance(let.op, Apply) and not _is_linear(let.op, active):
            return let
        for fn, inside in _bodies(let.op, active):
            if (found := first_not_linear(fn.lets, inside)) is not None:
                return found
        active.update(results_of(let, active))
    return None


def _is_linear(op: Apply, active: Container[Var]) -> bool:
    depends = [isinstance(arg, Var) and arg in active for arg in op.args]
    if not any(depends) or op.fn in ("eq", "ne"):  # as in the tests of `values.times`
        return True
    if op.fn in ("mul", "fma"):
        return not (depends[0] and depends[1])
    if op.fn == "truediv":
        return not depends[1]
    is_shifted = any(isinstance(arg, Const) and arg.value != 0 for arg in op.args)
    return op.fn in LINEAR and not (is_shifted and op.fn in ("add", "sub"))


def _bodies(op: Op, active: set[Var]) -> list[tuple[Lambda, set[Var]]]:
    """The functions in an operation, each with what is active in it. A custom function with a rule
    has none, as its derivative comes from the rule."""
    match op:
        case Custom() if op.jvp or op.vjp or op.transpose:
            return []
        case (
            Custom(fn=fn, operands=xs) | Map(fn=fn, xs=xs)
            | Sort(fn=fn, xs=xs) | SortRows(fn=fn, xs=xs)
        ):  # fmt: skip
            return [(fn, _with(active, fn.params, [is_active(x, active) for x in xs]))]
        case For(body=body, init=init):
            params = body.params[1:]
            return [(body, _with(active, params, state_of(body, params, init, active)))]
        case While(condition=cond, body=body, init=init):
            flags = state_of(body, body.params, init, active)
            return [(fn, _with(active, fn.params, flags)) for fn in (cond, body)]
        case (
            Reduce(fn=fn, neutral=ne, xs=xs) | Scan(fn=fn, neutral=ne, xs=xs)
            | ReduceSegments(fn=fn, neutral=ne, xs=xs) | Permute(fn=fn, dest=ne, xs=xs)
        ):  # fmt: skip
            return [(fn, _with(active, fn.params, components(fn, ne, xs, active) * 2))]
    return [(fn, active.copy()) for fn in lambdas_in(op)]


def _with(active: set[Var], params: Sequence[Var], flags: Sequence[bool]) -> set[Var]:
    """The active variables, with the parameters that are."""
    return active.union(param for param, flag in zip(params, flags, strict=True) if flag)
