"""Walking and rebuilding terms, derived from the fields of the records."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from flatweave.terms.syntax import ArrayType, Atom, Const, Lambda, Let, Op, Part, Type, Var

Rename = Callable[[Atom], Atom]


def atoms_in(field: Any) -> Iterator[Atom]:
    """Every atom of a field or op, but for those inside its lambdas."""
    if isinstance(field, Var | Const):
        yield field
    elif isinstance(field, tuple):
        for item in field:
            yield from atoms_in(item)
    elif isinstance(field, Op | Part):
        for value in field.values():
            yield from atoms_in(value)


def lambdas_in(field: Any) -> Iterator[Lambda]:
    """Every lambda that is directly part of a field or op."""
    if isinstance(field, Lambda):
        yield field
    elif isinstance(field, tuple):
        for item in field:
            yield from lambdas_in(item)
    elif isinstance(field, Op | Part):
        for value in field.values():
            yield from lambdas_in(value)


def free_vars(node: Any) -> dict[Var, None]:
    """Variables that a lambda, op or let reads but does not bind, in order of first use."""
    found: dict[Var, None] = {}
    _collect_free(node, set(), found)
    return found


def _collect_free(node: Any, bound: set[Var], found: dict[Var, None]) -> None:
    if isinstance(node, Lambda):
        inner = bound | set(node.params)
        for param in node.params:
            _collect_type(param.type, inner, found)
        for let in node.lets:
            _collect_free(let.op, inner, found)
            inner.update(let.vars)
        for atom in node.results:
            _collect_atom(atom, inner, found)
        return
    for atom in atoms_in(node):
        _collect_atom(atom, bound, found)
    for fn in lambdas_in(node):
        _collect_free(fn, bound, found)


def _collect_atom(atom: Atom, bound: set[Var], found: dict[Var, None]) -> None:
    if isinstance(atom, Var) and atom not in bound:
        found.setdefault(atom)
        _collect_type(atom.type, bound, found)


def _collect_type(type_: Type, bound: set[Var], found: dict[Var, None]) -> None:
    if isinstance(type_, ArrayType):
        for extent in type_.shape:
            _collect_atom(extent, bound, found)


def map_field(field: Any, on_atom: Rename, on_lambda: Callable[[Lambda], Lambda]) -> Any:
    """A copy of a field or op with its atoms and lambdas replaced."""
    if isinstance(field, Var | Const):
        return on_atom(field)
    if isinstance(field, Lambda):
        return on_lambda(field)
    if isinstance(field, tuple):
        mapped = tuple(map_field(item, on_atom, on_lambda) for item in field)
        return field if all(a is b for a, b in zip(mapped, field, strict=True)) else mapped
    if isinstance(field, Op | Part):
        return rebuild(field, [map_field(v, on_atom, on_lambda) for v in field.values()])
    return field


def rebuild(node: Op | Part, values: list[Any]) -> Any:
    """The same kind of node over new field values; the node itself when nothing changed."""
    if all(new is old for new, old in zip(values, node.values(), strict=True)):
        return node
    return type(node)(*values)


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
        for inner in lambdas_in(let.op):
            yield from walk_lets(inner)


def needed_for(lets: Sequence[Let], roots: Sequence[Atom]) -> tuple[Let, ...]:
    """The lets that `roots` depend on, in order."""
    wanted: set[Var] = {root for root in roots if isinstance(root, Var)}
    kept: list[Let] = []
    for let in reversed(lets):
        if any(var in wanted for var in let.vars):
            wanted.update(free_vars(let.op))
            kept.append(let)
    return tuple(reversed(kept))
