"""What an operator of the program reads from outside, as parameters of a program of its own."""

from __future__ import annotations

from flatweave.terms.build import Builder
from flatweave.terms.syntax import ArrayType, Atom, Lambda, Var
from flatweave.terms.traverse import Substitution, free_vars


def with_beside(b: Builder, *read: Lambda | Atom) -> tuple[list[Var], list[Var], Substitution]:
    """What functions and values need from outside, scalars first; new parameters for these; and
    what puts the parameters in their place."""
    found = free_vars(read)
    beside = sorted(found, key=lambda var: isinstance(var.type, ArrayType))
    renamed = Substitution(fresh=lambda var, type_: b.var(var.name, type_))
    params = []
    for var in beside:
        params.append(b.param(var.name, renamed.type(var.type)))
        renamed.mapping[var] = params[-1]
    return beside, params, renamed
