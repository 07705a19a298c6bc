"""Loads and scalars that nobody reads go away: those of a tuple's components that are not used."""

from __future__ import annotations

from flatweave.base.records import replace
from flatweave.kernel_ir.syntax import Load
from flatweave.terms.control import Apply, Cast
from flatweave.terms.syntax import Lambda, Let, Var
from flatweave.terms.traverse import free_vars, map_field


def without_unused(fn: Lambda) -> Lambda:
    """A body, and the bodies in it, of which every load and scalar is read."""
    read: set[Var] = {atom for atom in fn.results if isinstance(atom, Var)}
    kept: list[Let] = []
    for let in reversed(fn.lets):
        if isinstance(let.op, Load | Apply | Cast) and not read.intersection(let.vars):
            continue
        new = replace(let, op=map_field(let.op, lambda atom: atom, without_unused))
        read.update(free_vars(new.op))
        kept.append(new)
    return replace(fn, lets=tuple(reversed(kept)))
