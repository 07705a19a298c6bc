"""Bodies of users' functions: what they go through and may give, and two of which one runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from flatweave.base.errors import DTypeError, NestingError, OperatorError, ShapeError
from flatweave.base.records import record
from flatweave.frontend.call.operation import OPERATIONS
from flatweave.frontend.elements.broadcasting import cast
from flatweave.frontend.elements.lambdas import call_form, name_of, shape_text
from flatweave.frontend.trace import extents
from flatweave.frontend.trace.extents import same_length
from flatweave.frontend.trace.trace import lifted
from flatweave.frontend.trace.tracers import arrays_of, as_tracer, as_tracers, tracer_of
from flatweave.frontend.values.arguments import common
from flatweave.frontend.values.array import METHODS, Tracer, describe
from flatweave.frontend.values.number_formats import Complex, Composed, is_complex
from flatweave.frontend.values.scope import Scope, current, entered
from flatweave.frontend.values.tree import Tree, flatten, is_structure, map_leaves, paths, unflatten
from flatweave.terms.control import If
from flatweave.terms.syntax import Atom, Lambda, Var
from flatweave.terms.traverse import free_vars, needed_for

# -- element arguments ----------------------------------------------------------------------------
#
# The arrays that a function goes through, what it may give for each, and operators in parts.
#
#     elements_of((xs, ys), "sort")              [xs, ys], of one length, and the tree of an element
#     check_regular(row, f, "generate")          refuses rows whose length depends on the element
#     op((n, xs), (m, ys)) = (n + m, xs + ys)    [[0], [1]]: one on numbers, and one on rows
#     op((m, s), (k, t)) = (max(m, k), s + t*m)  [[0, 1]]: the second part needs the first


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
            raise ShapeError.here(
                f"{who} goes through arrays, but {label} is a scalar, {describe(leaf)}.",
                _instead_of_scalars(xs, leaves, who, name),
            )
    same_length(leaves, who, names)
    return leaves, tree


def _instead_of_scalars(xs: Any, leaves: Sequence[Tracer], who: str, name: str) -> str:
    """What to give instead of an argument with scalars in it."""
    if name in (OPERATIONS[METHODS[who]].positional if who in METHODS else ())[-1:]:
        return f"Arrays come last: {call_form(who)}."
    if not isinstance(xs, list | tuple) or any(each.ndim for each in leaves):
        return "Use the scalar inside the function: it may be read from outside."
    if type(xs) in (list, tuple) and any(map(is_structure, xs)):
        kind = type(next(filter(is_structure, xs))).__name__
        return f"Give one {kind} of arrays, whose element i is {name}[i]."
    return f"Make one array of the numbers, np.array({name}), or give a tuple of arrays."


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


# -- branches -------------------------------------------------------------------------------------
#
# Two bodies of which one runs: what `cond` emits.
#
#     cond(p, f, g, xs)      n, ys = if p (() => .. in m, fs) (() => .. in k, gs)
#
# The extents of each array are extra results before it: the bodies may give different ones. A body
# that is not chosen does not run, so nothing of it is checked outside (`values/scope.py`).
#
#     cond(p, lambda: 1, lambda: z)      a Python number becomes complex where the other one is
#     cond(p, lambda: x, lambda: z)      an array of floats does not: DTypeError
#
# A complex number is two floats to a program, so these are different structures to it; to the user
# they are two dtypes.


@record
class Difference:
    """Numbers of two kinds at one position of two trees: their dtypes and the position."""

    first: str
    second: str
    path: str


def leaves_and_tree(value: Any, name: str) -> tuple[list[Tracer], Tree]:
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
    """The first position where numbers of two trees are of different kinds; None if the trees are
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
    text: str = type(x).spelled(*(part.element.name for part in flatten(x)[0]))
    return text


Leaves = list[Tracer]
R = TypeVar("R")


class Body:
    """One of the two bodies, traced: the first runs where the condition holds."""

    def __init__(self, fn: Callable[[], Any], name: str, condition: Atom) -> None:
        self.scope = current().inner(optional=True)
        self.scope.builder.assume_condition(condition, name == "then")
        with entered(self.scope):
            self.leaves, self.tree = leaves_and_tree(fn(), f"the result of {name}")

    def close(self, atoms: Sequence[Atom]) -> Lambda:
        """The body as a lambda."""
        self.scope.closed = True
        return self.scope.builder.close((), atoms)


def branch(condition: Tracer, then: Callable[[], R], other: Callable[[], R]) -> R:
    """The results of the body that the condition chooses."""
    first = Body(then, "then", condition.atom)
    second = Body(other, "other", condition.atom)
    if first.tree != second.tree:
        _of_one_kind(first, second)
    if first.tree != second.tree:
        given = [shape_text(body.tree, body.leaves) for body in (first, second)]
        raise OperatorError.here(
            f"the functions of cond give different structures, {given[0]} and {given[1]}.",
            "Return the same tuple or dict from both.",
        )
    names = paths(first.tree)
    weak: list[bool] = []
    for i, name in enumerate(names):
        weak.append(_one_dtype(first, second, i, name))
    shapes = [_shape(first.leaves[i], second.leaves[i]) for i in range(len(names))]
    bodies = [body.close(_results(body.leaves, shapes)) for body in (first, second)]
    results = current().emit(If(condition.atom, *bodies), "y")
    found: R = bound_results(results, [leaf.ndim for leaf in first.leaves], weak, first.tree)
    return found


def _of_one_kind(first: Body, second: Body) -> None:
    """Python numbers as complex ones where the other body gives these; DTypeError for others."""
    for body, other in ((first, second), (second, first)):
        with entered(body.scope):
            body.leaves, body.tree = as_kinds_of(body.tree, body.leaves, other.tree, other.leaves)
    if found := difference(first.tree, first.leaves, second.tree, second.leaves):
        raise _dtypes(found.path, found.first, found.second)


def _dtypes(name: str, first: Any, second: Any) -> DTypeError:
    return DTypeError.here(
        f"the functions of cond give different dtypes{_at(name)}, {first} and {second}.",
        "Convert the results to one dtype with astype.",
    )


def _one_dtype(first: Body, second: Body, i: int, name: str) -> bool:
    """Bring leaf `i` of both bodies to one dtype; whether it is weak."""
    a, b = first.leaves[i], second.leaves[i]
    if a.ndim != b.ndim:
        raise ShapeError.here(
            f"the functions of cond give different ranks{_at(name)}, {describe(a)} and"
            f" {describe(b)}.",
            "Give arrays of one rank from both.",
        )
    if a.element is b.element and a.weak == b.weak:
        return a.weak
    dtype, weak = common((a, b))
    for body, leaf in ((first, a), (second, b)):
        if leaf.element is not dtype and not leaf.weak:
            raise _dtypes(name, a.element, b.element)
        if not leaf.ndim:
            with entered(body.scope):
                body.leaves[i] = cast(leaf, dtype)
    return weak


def _at(name: str) -> str:
    return f" at result{name}" if name else ""


def _shape(a: Tracer, b: Tracer) -> list[Atom | None]:
    """The extents that both bodies are known to give; None for others."""
    pairs = zip(a.extents, b.extents, strict=True)
    return [x if extents.are_same(x, y) else None for x, y in pairs]


def _results(leaves: Leaves, shapes: Sequence[Sequence[Atom | None]]) -> list[Atom]:
    """A body's atoms: for each leaf its extents, then the leaf."""
    found: list[Atom] = []
    for leaf, shape in zip(leaves, shapes, strict=True):
        pairs = zip(leaf.extents, shape, strict=True)
        found += [own if common is None else common for own, common in pairs]
        found.append(leaf.atom)
    return found


def bound_results(
    vars_: Sequence[Var], ranks: Sequence[int], weak: Sequence[bool], tree: Tree
) -> Any:
    """The results as the user sees them."""
    rest = iter(vars_)
    leaves: Leaves = []
    for rank, is_weak in zip(ranks, weak, strict=True):
        for _ in range(rank):
            extents.known_extent(next(rest))
        leaves.append(tracer_of(next(rest), is_weak))
    return unflatten(tree, leaves)
