"""The arrays that a function goes through, what it may give for each, and operators in parts.

    elements_of((xs, ys), "sort")              [xs, ys], of one length, and the tree of an element
    check_regular(row, f, "generate")          refuses rows whose length depends on the element
    op((n, xs), (m, ys)) = (n + m, xs + ys)    [[0], [1]]: one on numbers, and one on rows
    op((m, s), (k, t)) = (max(m, k), s + t*m)  [[0, 1]]: the second part needs the first
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from flatweave.base.errors import NestingError, ShapeError
from flatweave.frontend.call.operation import OPERATIONS
from flatweave.frontend.elements.lambdas import call_form, name_of
from flatweave.frontend.trace.extents import same_length
from flatweave.frontend.trace.tracers import arrays_of
from flatweave.frontend.values.array import METHODS, Tracer, describe
from flatweave.frontend.values.scope import Scope, current
from flatweave.frontend.values.tree import Tree, paths
from flatweave.terms.syntax import Atom, Lambda, Var
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


def arrays_of_one_length(xs: Any, who: str, name: str = "xs") -> tuple[list[Tracer], Tree]:
    """The arrays of a structured argument, all of one length, and their tree."""
    leaves, tree = arrays_of(xs, f"{name} of {who}")
    names = [name + path for path in paths(tree)]
    for leaf, label in zip(leaves, names, strict=True):
        if not leaf.ndim:
            goes_last = name in (OPERATIONS[METHODS[who]].positional if who in METHODS else ())[-1:]
            raise ShapeError.here(
                f"{who} goes through arrays, but {label} is a scalar, {describe(leaf)}.",
                f"Arrays come last: {call_form(who)}."
                if goes_last
                else f"Make one array of the numbers, np.array({name}), or give a tuple of arrays."
                if isinstance(xs, list | tuple) and not any(each.ndim for each in leaves)
                else "Use the scalar inside the function: it may be read from outside.",
            )
    same_length(leaves, who, names)
    return leaves, tree


def outside(atom: Atom, scope: Scope) -> bool:
    """Whether an atom is known outside the element functions of `scope`."""
    return not isinstance(atom, Var) or scope.holds(scope.trace.homes[atom])


def check_regular(leaf: Tracer, fn: Any, who: str) -> None:
    """Refuse rows whose length depends on the element: the result would be no n-d array."""
    for extent in leaf.extents:
        if outside(extent, current()):
            continue
        raise NestingError.here(
            f"{name_of(fn)} gives {who} rows whose lengths differ from element to element.",
            "fw.map gives a Ragged of such rows, fw.expand(size, get, xs) their elements one"
            " after the other.",
        )
