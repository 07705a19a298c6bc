"""Two trees that hold numbers of different kinds at one place: complex ones, and real ones.

    cond(p, lambda: 1, lambda: z)      a Python number becomes complex where the other one is
    cond(p, lambda: x, lambda: z)      an array of floats does not: DTypeError

A complex number is two floats to a program, so these are different structures to it; to the user
they are two dtypes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flatweave.base.records import record
from flatweave.frontend.trace.trace import lifted
from flatweave.frontend.trace.tracers import as_tracer, as_tracers
from flatweave.frontend.values.array import Tracer
from flatweave.frontend.values.number_formats import Complex, Composed, is_complex
from flatweave.frontend.values.tree import Tree, flatten, map_leaves, paths, unflatten


@record
class Difference:
    """Numbers of two kinds in one place, their dtypes and the place."""

    first: str
    second: str
    path: str


def taken_apart(value: Any, name: str) -> tuple[list[Tracer], Tree]:
    """What a user's function gives, or a loop begins with: rows and complex numbers, too."""
    if any(map(is_complex, flatten(value)[0])):
        value = map_leaves(lifted, value)
    return as_tracers(value, name, True, True)


def _numbers(tree: Tree, leaves: Sequence[Tracer]) -> tuple[list[Any], Tree]:
    """The arrays as users see them, and the structure around these."""
    return flatten(unflatten(tree, leaves), lambda value: isinstance(value, Composed))


def as_kinds_of(
    tree: Tree, leaves: Sequence[Tracer], other: Tree, others: Sequence[Tracer]
) -> tuple[list[Tracer], Tree]:
    """Leaves of which Python numbers are complex where those of another tree are."""
    mine, around = _numbers(tree, leaves)
    theirs, other_around = _numbers(other, others)
    if around != other_around:
        return list(leaves), tree
    made = [
        Complex(x, as_tracer(0.0)) if isinstance(y, Complex) and _is_python_number(x) else x
        for x, y in zip(mine, theirs, strict=True)
    ]
    return flatten(unflatten(around, made))


def difference(
    tree: Tree, leaves: Sequence[Tracer], other: Tree, others: Sequence[Tracer]
) -> Difference | None:
    """The first place where numbers of two trees are of different kinds; None where the trees are
    of different structures."""
    mine, around = _numbers(tree, leaves)
    theirs, other_around = _numbers(other, others)
    if around != other_around:
        return None
    return next(
        (
            Difference(_dtype(x), _dtype(y), path)
            for x, y, path in zip(mine, theirs, paths(around), strict=True)
            if type(x) is not type(y)
        ),
        None,
    )


def _is_python_number(x: Any) -> bool:
    return isinstance(x, Tracer) and x.weak and not x.ndim


def _dtype(x: Any) -> str:
    """The dtype as messages name it."""
    if isinstance(x, Tracer):
        return x.element.name
    name: str = type(x).spelled(*(part.element.name for part in flatten(x)[0]))
    return name
