"""What a body computes without its parameters, moved to the body around it.

    map (x => let s = reduce add 0 w        let s = reduce add 0 w
              let y = mul x s        ==>    in map (x => let y = mul x s
              in y) xs                                   in y) xs
"""

from __future__ import annotations

from flatweave.frontend.values.scope import Scope
from flatweave.terms.syntax import Let
from flatweave.terms.traverse import free_vars


def move_out(inside: Scope) -> None:
    """Move every let that reads no variable of this body out of it, checks included, in order."""
    outer = inside.outer
    assert outer is not None
    kept: list[Let] = []
    for let in inside.builder.lets:
        if any(inside.trace.homes.get(var) is inside for var in free_vars(let.op)):
            kept.append(let)
        else:
            _move(let, inside, outer)
    inside.builder.lets[:] = kept


def _move(let: Let, inside: Scope, outer: Scope) -> None:
    """Append a let to the outer body, with what is known of its variables."""
    outer.builder.append(let)
    for var in let.vars:
        inside.builder.own.pop(var, None)
        outer.adopt(var)
        for here, there in zip(inside.facts(), outer.facts(), strict=True):
            if var in here:
                there.add(var)
