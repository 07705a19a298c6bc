"""What an operator of the program reads from outside, as parameters of a program of its own."""

from __future__ import annotations

from flatweave.terms.build import Builder
from flatweave.terms.syntax import ArrayType, Lambda, Var
from flatweave.terms.traverse import Substitution, free_vars


def with_beside(b: Builder, fn: Lambda) -> tuple[list[Var], list[Var], Lambda]:
    """What a function reads from outside, scalars first; new parameters for these; and the function
    that reads them instead."""
    beside = sorted(free_vars(fn), key=lambda var: isinstance(var.type, ArrayType))
    renamed = Substitution(fresh=lambda var, type_: b.var(var.name, type_))
    params = []
    for var in beside:
        params.append(b.param(var.name, renamed.type(var.type)))
        renamed.mapping[var] = params[-1]
    return beside, params, renamed.function(fn)
