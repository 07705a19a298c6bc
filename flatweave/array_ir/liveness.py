"""After which let each array of a body is needed no more."""

from __future__ import annotations

from flatweave.terms.syntax import ArrayType, Lambda, Let, Var
from flatweave.terms.traverse import free_vars


def find_last_uses(fn: Lambda) -> dict[Let, set[Var]]:
    """For each let, the arrays of this body (its parameters too) that it is the last to use.

    An array that nobody uses ends at the let that makes it.
    """
    own = {param for param in fn.params if isinstance(param.type, ArrayType)}
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
