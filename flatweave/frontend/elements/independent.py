"""Operators on tuples as several operators, each on the parts that it needs.

    op((n, xs), (m, ys)) = (n + m, xs + ys)     [[0], [1]]: one on numbers, and one on rows
    op((m, s), (k, t)) = (max(m, k), s + t*m)   [[0, 1]]: the second part needs the first
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from flatweave.frontend.values.array import Tracer
from flatweave.terms.syntax import Lambda, Var
from flatweave.terms.traverse import free_vars, needed_for


def independent(fn: Lambda) -> list[list[int]]:
    """The parts of an operator's elements, in groups of which none is computed from another."""
    width = len(fn.results)
    everything = list(range(width))
    needs: dict[Var, set[int]] = {var: {k % width} for k, var in enumerate(fn.params)}
    for let in fn.lets:
        if let.op.effect:
            return [everything]
        found = set().union(*(needs.get(var, ()) for var in free_vars(let.op)))
        needs.update((var, found) for var in let.vars)
    groups: list[set[int]] = []
    for k, result in enumerate(fn.results):
        joined = {k, *(needs.get(result, ()) if isinstance(result, Var) else ())}
        met = [group for group in groups if group & joined]
        groups = [group for group in groups if not group & joined]
        groups.append(joined.union(*met))
    return sorted(sorted(group) for group in groups)


def restricted(fn: Lambda, group: Sequence[int]) -> Lambda:
    """The operator of one group of parts."""
    width = len(fn.results)
    params = [fn.params[k] for k in group] + [fn.params[width + k] for k in group]
    results = tuple(fn.results[k] for k in group)
    return Lambda(tuple(params), needed_for(fn.lets, results), results)


def by_rank(
    fn: Lambda,
    start: Sequence[Tracer],
    arrays: Sequence[Tracer],
    one: Callable[[Lambda, list[Tracer], list[Tracer]], list[Tracer]],
) -> list[Tracer]:
    """What `one` makes of an operator, its neutral element and its arrays.

    Where ranks differ, it is asked for each group of parts that is independent of the others.
    """
    if len({x.ndim for x in arrays}) == 1:
        return one(fn, list(start), list(arrays))
    results: dict[int, Tracer] = {}
    for group in independent(fn):
        made = one(restricted(fn, group), [start[k] for k in group], [arrays[k] for k in group])
        results.update(zip(group, made, strict=True))
    return [results[k] for k in range(len(arrays))]
