"""Terms are walked by the fields of their records: to rebuild and verify them, and to find uses."""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any, NoReturn

from flatweave.base.dtypes import DType, i64
from flatweave.base.errors import CompilerBug, DTypeError
from flatweave.terms.print import Printer, print_let, print_type
from flatweave.terms.syntax import (
    ATOM,
    ATOMS,
    LAMBDA,
    ArrayType,
    Atom,
    Const,
    Lambda,
    Let,
    Node,
    Op,
    Type,
    Var,
    constant,
)

# -- traverse -------------------------------------------------------------------------------------
#
# Walking and rebuilding terms, derived from the fields of the records.


Rename = Callable[[Atom], Atom]


def same(a: Sequence[object], b: Sequence[object]) -> bool:
    """Whether two sequences hold the same things, not only equal ones: what nothing has changed is
    not built again, and keeps what is known of it."""
    return len(a) == len(b) and all(map(operator.is_, a, b))


def atoms_in(field: Any) -> list[Atom]:
    """Every atom of a field or op, but for those inside its lambdas."""
    atoms: list[Atom] = []
    _collect(field, atoms, [])
    return atoms


def lambdas_in(field: Any) -> list[Lambda]:
    """Every lambda that is directly part of a field or op."""
    lambdas: list[Lambda] = []
    if getattr(field, "has_bodies", True):
        _collect(field, [], lambdas)
    return lambdas


def _collect(field: Any, atoms: list[Atom], lambdas: list[Lambda]) -> None:
    if isinstance(field, Node):
        values = field.values()
        for k, what in field.held:
            if what is ATOMS:
                atoms.extend(values[k])
            elif what is ATOM:
                atoms.append(values[k])
            elif what is LAMBDA:
                lambdas.append(values[k])
            else:
                _collect(values[k], atoms, lambdas)
        return
    kind = type(field)
    if kind is Var or kind is Const:
        atoms.append(field)
    elif kind is Lambda:
        lambdas.append(field)
    elif kind is tuple:
        for item in field:
            _collect(item, atoms, lambdas)


def free_vars(node: Any) -> dict[Var, None]:
    """Variables that a lambda, op or field reads but does not bind, in order of first use.

    Lets are not included: ask for those of their ops.
    """
    if type(node) is Lambda:
        return dict(_free_in(node))
    found: dict[Var, None] = {}
    _collect_free(node, (), found)
    return found


def _free_in(fn: Lambda) -> dict[Var, None]:
    """The free variables of a lambda: found once, then kept with it, as a lambda never changes."""
    if fn.free is None:
        found: dict[Var, None] = {}
        bound = set(fn.params)
        for param in fn.params:
            _collect_type(param.type, bound, found)
        for let in fn.lets:
            _collect_free(let.op, bound, found)
            bound.update(let.vars)
        for atom in fn.results:
            _collect_atom(atom, bound, found)
        object.__setattr__(fn, "free", found)
        return found
    return fn.free


def _collect_free(node: Any, bound: Collection[Var], found: dict[Var, None]) -> None:
    atoms: list[Atom] = []
    lambdas: list[Lambda] = []
    _collect(node, atoms, lambdas)
    for atom in atoms:
        if type(atom) is Var and atom not in found and atom not in bound:
            found[atom] = None
            if isinstance(atom.type, ArrayType):
                _collect_type(atom.type, bound, found)
    for fn in lambdas:
        for var in _free_in(fn):
            if var not in bound:
                found.setdefault(var)


def _collect_atom(atom: Atom, bound: Collection[Var], found: dict[Var, None]) -> None:
    if isinstance(atom, Var) and atom not in bound:
        found.setdefault(atom)
        _collect_type(atom.type, bound, found)


def _collect_type(type_: Type, bound: Collection[Var], found: dict[Var, None]) -> None:
    if isinstance(type_, ArrayType):
        for extent in type_.shape:
            _collect_atom(extent, bound, found)


def map_field(field: Any, on_atom: Rename, on_lambda: Callable[[Lambda], Lambda]) -> Any:
    """A copy of a field or op with its atoms and lambdas replaced."""
    if isinstance(field, Node):
        return _map_node(field, on_atom, on_lambda)
    kind = type(field)
    if kind is Var or kind is Const:
        return on_atom(field)
    if kind is Lambda:
        return on_lambda(field)
    if kind is tuple:
        mapped = [map_field(item, on_atom, on_lambda) for item in field]
        return field if same(mapped, field) else tuple(mapped)
    return field


def _map_node(node: Node, on_atom: Rename, on_lambda: Callable[[Lambda], Lambda]) -> Any:
    before = node.values()
    after = list(before)
    for k, what in node.held:
        if what is ATOMS:
            atoms = tuple(map(on_atom, before[k]))
            if not same(atoms, before[k]):
                after[k] = atoms
        elif what is ATOM:
            after[k] = on_atom(before[k])
        elif what is LAMBDA:
            after[k] = on_lambda(before[k])
        else:
            after[k] = map_field(before[k], on_atom, on_lambda)
    return node if same(after, before) else type(node)(*after)


def with_bodies(let: Let, change: Callable[[Lambda], Lambda]) -> Let:
    """A let whose lambdas are changed; the same one where none is."""
    op = map_field(let.op, lambda atom: atom, change)
    return let if op is let.op else Let(let.vars, op, let.where)


def with_lets(fn: Lambda, lets: Iterable[Let]) -> Lambda:
    """A lambda with other lets; the same one where these are its own."""
    made = tuple(lets)
    return fn if same(made, fn.lets) else Lambda(fn.params, made, fn.results)


class Substitution:
    """Replaces variables by atoms; binders are renamed by `fresh` where one is given."""

    def __init__(
        self,
        mapping: dict[Var, Atom] | None = None,
        fresh: Callable[[Var, Type], Var] | None = None,
    ) -> None:
        self.mapping: dict[Var, Atom] = dict(mapping or {})
        self.fresh = fresh

    def atom(self, atom: Atom) -> Atom:
        return self.mapping.get(atom, atom) if isinstance(atom, Var) else atom

    def type(self, type_: Type) -> Type:
        if not isinstance(type_, ArrayType):
            return type_
        shape = tuple(self.atom(extent) for extent in type_.shape)
        return type_ if shape == type_.shape else ArrayType(type_.dtype, shape)

    def op(self, op: Any) -> Any:
        return map_field(op, self.atom, self.function)

    def binder(self, var: Var) -> Var:
        type_ = self.type(var.type)
        if self.fresh is None and type_ is var.type:
            return var
        renamed = self.fresh(var, type_) if self.fresh else Var(var.name, type_)
        self.mapping[var] = renamed
        return renamed

    def let(self, let: Let) -> Let:
        op = self.op(let.op)
        return Let(tuple(self.binder(var) for var in let.vars), op, let.where)

    def function(self, fn: Lambda) -> Lambda:
        params = tuple(self.binder(param) for param in fn.params)
        lets = tuple(self.let(let) for let in fn.lets)
        return Lambda(params, lets, tuple(self.atom(atom) for atom in fn.results))


def walk_lets(fn: Lambda) -> Iterator[Let]:
    """Every let of a lambda and of the lambdas inside it, outermost first."""
    for let in fn.lets:
        yield let
        if let.op.has_bodies:
            for inner in lambdas_in(let.op):
                yield from walk_lets(inner)


def makers(lets: Iterable[Let]) -> dict[Atom, Op]:
    """The operation of each variable that is the only result of one; a check has no results."""
    return {let.vars[0]: let.op for let in lets if len(let.vars) == 1}


def needed_for(lets: Sequence[Let], roots: Sequence[Atom]) -> tuple[Let, ...]:
    """The lets that `roots` depend on, in order."""
    wanted: set[Var] = {root for root in roots if isinstance(root, Var)}
    kept: list[Let] = []
    for let in reversed(lets):
        if any(var in wanted for var in let.vars):
            wanted.update(free_vars(let.op))
            kept.append(let)
    return tuple(reversed(kept))


# -- verify ---------------------------------------------------------------------------------------
#
# What must hold of every term in both IRs: scope and types, and the fields of an op.


class Verifier:
    """Walks a term with the variables in scope; subclasses add the rules of their IR."""

    def __init__(self) -> None:
        self.scope: set[Var] = set()
        self.entered: list[Var] = []  # the variables in scope, the innermost last
        self.bound: dict[Var, Op | str] = {}
        self.let: Let | None = None

    def fail(self, message: str) -> NoReturn:
        """Refuse the term, showing the let that is to blame."""
        text = print_let(self.let) if self.let is not None else ""
        where = self.let.where if self.let is not None else None
        raise CompilerBug(f"verify: {message}.", where=where, program=text)

    def function(self, fn: Lambda) -> None:
        """A lambda: its parameters, lets and results; what it binds is out of scope afterwards."""
        around_it = len(self.entered)
        for param in fn.params:
            self.bind(param, "")
        for let in fn.lets:
            around, self.let = self.let, let
            self.visit(let)
            self.let = around
        for result in fn.results:
            self.atom(result)
        self.scope.difference_update(self.entered[around_it:])
        del self.entered[around_it:]

    def visit(self, let: Let) -> None:
        """A let: what it reads, the lambdas in it, its types, then its variables."""
        for atom in atoms_in(let.op):
            self.atom(atom)
        for fn in lambdas_in(let.op):
            self.function(fn)
        self._types(let)
        for var in let.vars:
            self.bind(var, let.op)

    def bind(self, var: Var, meaning: Op | str) -> None:
        """A variable comes into scope; `meaning` is the op that binds it, "" for a parameter."""
        if var in self.scope:
            self.fail(f"{var} is bound again while it is in scope")
        first = self.bound.setdefault(var, meaning)
        if first is not meaning and _text(first) != _text(meaning):
            self.fail(f"{var} is bound twice, to different things")
        self.type(var.type)
        self.scope.add(var)
        self.entered.append(var)

    def atom(self, atom: Atom) -> None:
        """A variable in scope, or a constant that is a value of its dtype."""
        if isinstance(atom, Const):
            if constant(atom.value, atom.dtype) != atom:
                self.fail(f"{atom!r} is not a value of {atom.dtype}")
        elif atom not in self.scope:
            self.fail(f"{atom} is read where it is not in scope")

    def type(self, type_: Type) -> None:
        """Extents are i64 in scope."""
        if isinstance(type_, ArrayType):
            for extent in type_.shape:
                self.atom(extent)
                if extent.type is not i64:
                    self.fail(f"the extent {extent!r} is no i64")

    def _types(self, let: Let) -> None:
        """The variables are what the op binds, up to their names."""
        try:
            binders = let.op.binders()
            misfits = list(let.op.misfits())
        except (TypeError, DTypeError, AssertionError, ValueError) as error:
            self.fail(f"{let.op.name} does not fit its operands: {error}")
        if misfits:
            self.fail(f"{let.op.name}: {misfits[0]}")
        if len(binders) != len(let.vars):
            self.fail(f"{let.op.name} binds {len(binders)} variables, not {len(let.vars)}")
        renaming = Substitution()
        for var, binder in zip(let.vars, binders, strict=True):
            expected = renaming.type(binder.type)
            if expected != var.type:
                self.fail(f"{var} is {print_type(var.type)}, not {print_type(expected)}")
            renaming.mapping[binder] = var


def _text(meaning: Op | str) -> str:
    """What is compared where a variable is bound twice."""
    return meaning if isinstance(meaning, str) else Printer(canonical=True).op(meaning, "")


def scalars_only(vars_: Sequence[Atom]) -> bool:
    """Whether none is an array or a buffer."""
    return all(isinstance(var.type, DType) for var in vars_)


def find_last_uses(fn: Lambda, given: Iterable[Var] = ()) -> dict[Let, set[Var]]:
    """For each let, the arrays of this body that it is the last to use: its parameters, too, and
    those that it is given from outside. They are needed no more.

    An array that nobody uses ends at the let that makes it.
    """
    own = {param for param in (*fn.params, *given) if isinstance(param.type, ArrayType)}
    last: dict[Var, Let] = {}
    for let in fn.lets:
        for var in let.vars:
            if isinstance(var.type, ArrayType):
                own.add(var)
                last[var] = let
        for var in free_vars(let.op):
            if var in own:
                last[var] = let
    ends: dict[Let, set[Var]] = {}
    for var, let in last.items():
        if var not in fn.results:
            ends.setdefault(let, set()).add(var)
    return ends
