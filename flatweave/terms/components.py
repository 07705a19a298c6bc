"""Operators that combine the components of two elements one by one."""

from __future__ import annotations

from flatweave.scalar.ops import TABLE
from flatweave.terms.control import Apply
from flatweave.terms.syntax import Lambda, Var


def component_functions(fn: Lambda) -> list[str] | None:
    """The scalar function of each component when `fn` combines its components one by one."""
    half = len(fn.results)
    made = {let.vars[0]: let.op for let in fn.lets if isinstance(let.op, Apply)}
    names = []
    for k, result in enumerate(fn.results):
        pair = (fn.params[k], fn.params[half + k])
        op = made.get(result) if isinstance(result, Var) else None
        if op is None or op.args not in (pair, pair[::-1]):
            return None
        if op.args != pair and not TABLE[op.fn].commutative:
            return None
        names.append(op.fn)
    return names


def is_lawful(fn: Lambda) -> bool:
    """Whether an operator is known to be associative: each of its components is."""
    names = component_functions(fn)
    return names is not None and all(TABLE[name].associative for name in names)
