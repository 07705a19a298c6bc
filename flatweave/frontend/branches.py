"""Two bodies of which one runs: what `cond` emits.

    cond(p, f, g, xs)      n, ys = if p (() => .. in m, fs) (() => .. in k, gs)

Extents that differ between the bodies are results of their own, before the array that has them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from flatweave.base.errors import DTypeError, OperatorError, ShapeError
from flatweave.base.source import user_location
from flatweave.frontend import extents
from flatweave.frontend.array import Tracer, describe
from flatweave.frontend.conversion import cast
from flatweave.frontend.elements import shape_text
from flatweave.frontend.promotion import common
from flatweave.frontend.scope import Scope, current, entered
from flatweave.frontend.tree import Tree, paths, unflatten
from flatweave.frontend.values import lift_leaves, wrap
from flatweave.ops import Reshape
from flatweave.terms.control import Apply, If
from flatweave.terms.syntax import Atom, Var

Leaves = list[Tracer]


class Body:
    """One of the two bodies, traced."""

    def __init__(self, fn: Callable[[], Any], name: str) -> None:
        self.scope = current().inner()
        with entered(self.scope):
            self.leaves, self.tree = lift_leaves(fn(), f"the result of {name}", True)

    def close(self, atoms: Sequence[Atom]) -> Any:
        """The body as a lambda."""
        self.scope.closed = True
        return self.scope.builder.close((), atoms)


def branch(condition: Tracer, then: Callable[[], Any], other: Callable[[], Any]) -> Any:
    """The results of the body that the condition chooses."""
    first, second = Body(then, "then"), Body(other, "other")
    if first.tree != second.tree:
        given = [shape_text(body.tree, body.leaves) for body in (first, second)]
        raise OperatorError(
            f"the functions of cond give different structures, {given[0]} and {given[1]}.",
            where=user_location(), remedy="Return the same tuple or dict from both.",
        )  # fmt: skip
    names = paths(first.tree)
    weak: list[bool] = []
    for i, name in enumerate(names):
        weak.append(_one_dtype(first, second, i, name))
    varying = [
        [not _fixed(a, b) for a, b in zip(x.extents, y.extents, strict=True)]
        for x, y in zip(first.leaves, second.leaves, strict=True)
    ]
    results = [_results(body, varying, body is first) for body in (first, second)]
    op = If(condition.atom, first.close(results[0]), second.close(results[1]))
    return _bound(current().emit(op, "y"), varying, weak, first.tree)


def _one_dtype(first: Body, second: Body, i: int, name: str) -> bool:
    """Bring leaf `i` of both bodies to one dtype; whether it is weak."""
    a, b = first.leaves[i], second.leaves[i]
    if a.ndim != b.ndim:
        raise ShapeError(
            f"the functions of cond give different ranks{_at(name)}, {describe(a)} and"
            f" {describe(b)}.",
            where=user_location(), remedy="Give arrays of one rank from both.",
        )  # fmt: skip
    if a.element is b.element and a.weak == b.weak:
        return a.weak
    dtype, weak = common((a, b))
    for body, leaf in ((first, a), (second, b)):
        if leaf.element is not dtype and not leaf.weak:
            raise DTypeError(
                f"the functions of cond give different dtypes{_at(name)}, {a.element} and"
                f" {b.element}.",
                where=user_location(), remedy="Convert the results to one dtype with astype.",
            )  # fmt: skip
        if not leaf.ndim:
            with entered(body.scope):
                body.leaves[i] = cast(leaf, dtype)
    return weak


def _at(name: str) -> str:
    return f" at result{name}" if name else ""


def _fixed(a: Atom, b: Atom) -> bool:
    """Whether both bodies give the same extent, known before them."""
    if a != b:
        return False
    return not isinstance(a, Var) or current().holds(current().trace.homes[a])


def _results(body: Body, varying: Sequence[Sequence[bool]], name_extents: bool) -> list[Atom]:
    """A body's atoms: for each leaf the extents that vary, then the leaf."""
    atoms: list[Atom] = []
    shared = {extent for leaf in body.leaves for extent in leaf.extents}
    with entered(body.scope):
        for leaf, changes in zip(body.leaves, varying, strict=True):
            if any(changes):
                leaf = _renamed(leaf, changes, body.scope) if name_extents else leaf
                atoms += [e for e, moves in zip(leaf.extents, changes, strict=True) if moves]
            elif name_extents and leaf.atom in shared:
                leaf = wrap(body.scope.emit(Apply("add", (leaf.atom, extents.ZERO)), "n")[0])
            atoms.append(leaf.atom)
    return atoms


def _renamed(leaf: Tracer, changes: Sequence[bool], scope: Scope) -> Tracer:
    """The array with names of their own for the extents that vary.

    The results' types are made from those of the first body: an extent that it shares with
    something else would tie the two together.
    """
    shape: list[Atom] = []
    for extent, moves in zip(leaf.extents, changes, strict=True):
        if moves:
            extent = scope.emit(Apply("add", (extent, extents.ZERO)), "n")[0]
        shape.append(extent)
    return wrap(scope.emit(Reshape(leaf.atom, tuple(shape)))[0])


def _bound(
    vars_: Sequence[Var], varying: Sequence[Sequence[bool]], weak: Sequence[bool], tree: Tree
) -> Any:
    """The results as the user sees them."""
    rest = iter(vars_)
    leaves: Leaves = []
    for changes, is_weak in zip(varying, weak, strict=True):
        for _ in range(sum(changes)):
            extents.known_extent(next(rest))
        leaves.append(wrap(next(rest), is_weak))
    return unflatten(tree, leaves)
