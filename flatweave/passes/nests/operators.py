"""Operators and keys that need memory: what does not depend on their elements is made before them.

    scan ((a, b) => .. sort r ..) ne xs     s = sort r; scan ((a, b) => .. s ..) ne xs
    sort (x => .. sort x ..) xs             k = map (x => .. sort x ..) xs; sort (k, x => k) [k, xs]
"""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.ops import Map, Permute, Reduce, ReduceSegments, Scan, Sort
from flatweave.ops.rows import array_type
from flatweave.passes.nests.hard import has_hard, may_fail
from flatweave.terms.syntax import Atom, Lambda, Let, Op, Var
from flatweave.terms.traverse import free_vars, lambdas_in, map_field

WITH_OPERATORS = (Permute, Reduce, ReduceSegments, Scan, Sort)


def needs_memory(op: Op) -> bool:
    """Whether an operation has an operator or keys that need memory."""
    return isinstance(op, WITH_OPERATORS) and any(
        has_hard(fn, repeats=False) for fn in lambdas_in(op)
    )


def apart(op: Op) -> tuple[list[Let], Op]:
    """The lets of an operator that are the same for all its calls, and the operation without."""
    before: list[Let] = []

    def rest(fn: Lambda) -> Lambda:
        own = set(fn.params)
        left: list[Let] = []
        for let in fn.lets:
            if let.op.effect or may_fail(let.op) or own & free_vars(let.op).keys():
                own.update(let.vars)
                left.append(let)
            else:
                before.append(let)
        return Lambda(fn.params, tuple(left), fn.results)

    made: Op = map_field(op, lambda atom: atom, rest)
    return before, made


def keys_of(op: Sort) -> Map:
    """The keys of all elements."""
    return Map(op.fn, op.xs, 1)


def by_keys(keys: Sequence[Atom], xs: Sequence[Atom]) -> Sort:
    """Keys, and elements with them, in order of the keys."""
    params = [Var("k", array_type(key).dtype) for key in keys]
    rest = [Var("x", array_type(x).dtype) for x in xs]
    return Sort(Lambda((*params, *rest), (), tuple(params)), (*keys, *xs))
