"""The arrays that a function goes through, and what its element function may give for each.

    elements_of((xs, ys), "sort")       [xs, ys], of one length, and the tree of an element
    check_regular(row, f, "generate")   refuses rows whose length depends on the element
"""

from __future__ import annotations

from typing import Any

from flatweave.base.errors import NestingError, ShapeError
from flatweave.base.source import user_location
from flatweave.frontend.call.operation import OPERATIONS
from flatweave.frontend.elements.lambdas import call_form, name_of
from flatweave.frontend.trace.extents import same_length
from flatweave.frontend.trace.tracers import arrays_of
from flatweave.frontend.values.array import Tracer, describe
from flatweave.frontend.values.operators import METHODS
from flatweave.frontend.values.scope import Scope, current
from flatweave.frontend.values.tree import Tree, paths
from flatweave.terms.syntax import Atom, Var


def arrays_of_one_length(xs: Any, who: str, name: str = "xs") -> tuple[list[Tracer], Tree]:
    """The arrays of a structured argument, all of one length, and their tree."""
    leaves, tree = arrays_of(xs, f"{name} of {who}")
    names = [name + path for path in paths(tree)]
    for leaf, label in zip(leaves, names, strict=True):
        if not leaf.ndim:
            goes_last = name in (OPERATIONS[METHODS[who]].positional if who in METHODS else ())[-1:]
            raise ShapeError(
                f"{who} goes through arrays, but {label} is a scalar, {describe(leaf)}.",
                where=user_location(),
                remedy=f"Arrays come last: {call_form(who)}."
                if goes_last
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
        raise NestingError(
            f"{name_of(fn)} gives {who} rows whose lengths differ from element to element.",
            where=user_location(),
            remedy="fw.map gives a Ragged of such rows, fw.expand(size, get, xs) their elements one"
            " after the other.",
        )
