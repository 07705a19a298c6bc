"""vmap: a function of single values becomes a function of arrays, each mapped along one axis.

    vmap(f)(xs, ys)                        [f(xs[0], ys[0]), f(xs[1], ys[1]), ..]
    vmap(f, in_axes=(1, None))(xs, w)      [f(xs[:, 0], w), f(xs[:, 1], w), ..]
    vmap(f, out_axes=1)(xs)                the same, side by side as columns

It is `map` of arrays that are turned so that the axis comes first. What has no axis is read from
around the function; what has none among the results is moved out of its body (`move_out`):

    map (x => let s = reduce add 0 w        let s = reduce add 0 w
              let y = mul x s        ==>    in map (x => let y = mul x s
              in y) xs                                   in y) xs
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Generic, NamedTuple, ParamSpec, TypeVar

import numpy as np

from flatweave.base.errors import ArgumentError, ShapeError
from flatweave.base.pretty import counted
from flatweave.frontend.arrays.shapes import axis_below, axis_number, transpose
from flatweave.frontend.call.operation import operation
from flatweave.frontend.elements.bodies import arrays_of_one_length
from flatweave.frontend.elements.lambdas import name_of
from flatweave.frontend.ragged.map_rows import is_irregular, map_rows, mapped
from flatweave.frontend.ragged.ragged import Ragged
from flatweave.frontend.trace.extents import same_length
from flatweave.frontend.trace.tracers import as_tracer, restructured
from flatweave.frontend.values.array import Array, Tracer, describe, kind_of, shown
from flatweave.frontend.values.asarray import is_number_list
from flatweave.frontend.values.scope import Scope, current
from flatweave.frontend.values.tree import Tree, flatten, paths, unflatten
from flatweave.frontend.values.untraceable import SAME_LENGTH
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


P = ParamSpec("P")
R = TypeVar("R")
Axis = int | None


class Plan(NamedTuple):
    """Along which axis each argument goes, what messages call it, and where the axis of the results
    is: an int, None, or a tree of these."""

    who: str
    axes: tuple[Axis, ...]
    names: tuple[str, ...]
    out_axes: Any


def vmap(f: Callable[P, R], in_axes: Any = 0, out_axes: Any = 0) -> Callable[P, R]:
    """`f` for all values along an axis at once: `vmap(f)(xs, ys)[i] = f(xs[i], ys[i])`.

    `in_axes` is the mapped axis of each positional argument, below 0 from its
    end, or None for an argument that is the same for all of them: one for all arguments, or a tuple
    with one for each. Where an argument is a tuple, list or dict of arrays, its axis may be such a
    structure, too. Arguments by name go along axis 0. A Ragged goes along its rows. `out_axes` says
    likewise where the new axis is among those of the results; None for one that is the same for all
    values. Inside, `f` may use every function, `vmap` again, and Python values that have no axis.

        per_row = fw.vmap(fw.dot, in_axes=(0, None))        # each row of a matrix with one vector

    Raises ShapeError when the arrays differ in length along their axes, or have no such axis;
    ArgumentError for axes that are not like the arguments.

    Types: `f: (a, b, ..) -> r ->` a function `a[n, ..], b[n, ..], .. -> r[n]`. Source: `jax.vmap`.

        >>> fw.vmap(fw.dot, in_axes=(0, None))(np.array([[1, 2], [3, 4]]), np.array([1, 1]))
        Array([3, 7], dtype=int64)
    """
    if not callable(f):
        raise ArgumentError.here(
            f"vmap needs a function, got {kind_of(f)}.", "Call it as fw.vmap(f)(xs)."
        )
    who = name_of(f)
    for axes, what in ((in_axes, "in_axes"), (out_axes, "out_axes")):
        for axis in flatten(axes, _is_none)[0]:
            if axis is not None:
                axis_number(axis, f"vmap in {what}")

    @functools.wraps(f, updated=())
    def over_axes(*args: P.args, **kwargs: P.kwargs) -> R:
        leaves, tree = flatten((args, kwargs), _is_value)
        axes = [*_axes_of(in_axes, args, tree.children[0]), *([0] * tree.children[1].size)]
        names = _names_of(tree)
        if all(axis is None for axis in axes):
            raise ArgumentError.here(
                "vmap has no argument to go along: the axes of all are None.",
                "Call the function itself, or give an axis.",
            )

        arrays = tuple(
            i for i, leaf in enumerate(leaves) if axes[i] is not None or _is_array(leaf)
        )
        others = tuple(None if i in arrays else leaf for i, leaf in enumerate(leaves))

        def of_elements(*elements: Any) -> R:
            values = [*others]
            for i, value in zip(arrays, elements, strict=True):
                values[i] = value
            positional, named = unflatten(tree, values)
            return f(*positional, **named)

        plan = Plan(who, tuple(axes[i] for i in arrays), tuple(names[i] for i in arrays), out_axes)
        return _along_axes(of_elements, plan, *(leaves[i] for i in arrays))

    return over_axes


def _is_none(value: Any) -> bool:
    return value is None


def _is_value(value: Any) -> bool:
    """Whether a value is one leaf to go along: an array, rows, or a list of numbers."""
    return isinstance(value, Array | Ragged) or is_number_list(value)


def _is_array(value: Any) -> bool:
    """Whether a value without an axis is an array; a Python number stays one for the function."""
    is_ours = isinstance(value, Array | Ragged | np.ndarray | np.generic)
    return is_ours or hasattr(value, "__array__") or hasattr(value, "__dlpack__")


def _names_of(tree: Tree) -> list[str]:
    """What messages call each leaf of the arguments: `argument 1['w']`, `speed`."""
    positional, named = tree.children
    places = [f"argument {i + 1}" for i in range(len(positional.children))]
    called = [*zip(places, positional.children), *zip(map(str, named.names), named.children)]
    return [path for name, part in called for path in paths(part, name)]


def _axes_of(in_axes: Any, args: Sequence[Any], tree: Tree) -> list[Axis]:
    """The axis of each leaf of the arguments by position."""
    if type(in_axes) not in (tuple, list):
        return _spread(in_axes, tree, "in_axes")
    if len(in_axes) != len(args):
        raise ArgumentError.here(
            f"in_axes of vmap has {counted(len(in_axes), 'axis', 'axes')}, but the call"
            f" {counted(len(args), 'argument')} by position.",
            "Give one axis, or None, for each; arguments by name go along axis 0.",
        )
    return _spread(tuple(in_axes), tree, "in_axes")


def _spread(axes: Any, tree: Tree, what: str) -> list[Axis]:
    """The axis of each leaf of a tree, given one for each leaf or for whole parts of the tree."""
    given, prefix = flatten(axes, _is_none)
    found: list[Axis] = []

    def go(prefix: Tree, part: Tree, rest: Iterator[Axis]) -> None:
        if prefix.kind == "leaf":
            found.extend([next(rest)] * part.size)
            return
        alike = (prefix.kind, prefix.names) == (part.kind, part.names)
        if not alike or len(prefix.children) != len(part.children):
            raise ArgumentError.here(
                f"{what} of vmap is {shown(axes)}, which is not like {tree}.",
                "Give one axis, or a structure like it with an axis or None for each part.",
            )
        for inner, child in zip(prefix.children, part.children, strict=True):
            go(inner, child, rest)

    go(prefix, tree, iter(given))
    return found


def _over_axes(f: Callable[..., R], plan: Plan, *xs: Any) -> R:
    """`f` on the values along an axis of each array."""
    each: _Each[R] = _Each(f, plan, xs)
    turned = [
        _turned(x, axis, name)
        for x, axis, name in zip(xs, plan.axes, plan.names, strict=True) if axis is not None
    ]  # fmt: skip
    if is_irregular(turned):
        return each.results(map_rows(each, turned))
    arrays: list[Tracer] = []
    trees: list[Tree] = []
    names: list[str] = []
    called = [name for name, axis in zip(plan.names, plan.axes, strict=True) if axis is not None]
    for x, name in zip(turned, called, strict=True):
        leaves, tree = arrays_of_one_length(x, "vmap", name)
        arrays += leaves
        trees.append(tree)
        names += [name] * len(leaves)
    same_length(arrays, "vmap", names)
    return each.results(mapped(each, arrays, trees))


_over_axes.__name__ = "vmap"  # what messages call it
_along_axes = operation(static="plan")(_over_axes)


def _turned(x: Any, axis: int, name: str) -> Array | Ragged:
    """An argument with the axis that is gone along first."""
    if isinstance(x, Ragged):
        if axis != 0:
            raise ArgumentError.here(
                f"vmap goes along the rows of {name}, a Ragged: along axis 0, not {axis}.",
                "Give 0 as its axis.",
            )
        return x
    array = _traced(x, name)
    if not array.ndim:
        raise ShapeError.here(
            f"vmap goes along an axis of {name}, but it is a scalar, {describe(array)}.",
            "Give None as its axis in in_axes where it is the same for all.",
        )
    what = f"{name}, of type {describe(array)}"
    at = axis_below(array.ndim, axis, "vmap", what)
    return transpose(array, [at, *(k for k in range(array.ndim) if k != at)]) if at else array


def _traced(x: Any, name: str) -> Array | Ragged:
    """An array as a value of the trace."""
    return x if isinstance(x, Array | Ragged) else as_tracer(x, f"{name} of vmap")


class _Each(Generic[R]):
    """The function of the elements: it gives what differs from element to element, and keeps what
    does not."""

    def __init__(self, f: Callable[..., R], plan: Plan, xs: Sequence[Any]) -> None:
        self.f = f
        self.plan = plan
        self.fixed = [
            _traced(x, name) if axis is None else None
            for x, name, axis in zip(xs, plan.names, plan.axes, strict=True)
        ]
        self.tree: Tree | None = None
        self.axes: list[Axis] = []
        self.same: list[Any] = []

    def __call__(self, *elements: Any) -> tuple[Any, ...]:
        each = iter(elements)
        values = [
            fixed if axis is None else next(each)
            for fixed, axis in zip(self.fixed, self.plan.axes, strict=True)
        ]
        leaves, self.tree = flatten(self.f(*values), _is_value)
        self.axes = _spread(self.plan.out_axes, self.tree, "out_axes")
        if None in self.axes:
            move_out(current())
        parts = list(zip(leaves, self.axes, paths(self.tree), strict=True))
        self.same = [
            self._outside(leaf, path, current()) for leaf, axis, path in parts if axis is None
        ]
        return tuple(leaf for leaf, axis, _ in parts if axis is not None)

    def _outside(self, value: Any, path: str, inside: Scope) -> Array:
        """A result that is the same for all elements, as a value of the body around."""
        leaves, tree = flatten(value, is_number_list)
        outer = inside.outer
        assert outer is not None
        found: list[Tracer] = []
        for leaf in leaves:
            traced = as_tracer(leaf)
            if inside.home((traced.atom,)) is inside:
                raise ArgumentError.here(
                    f"result{path} of {self.plan.who} differs from element to element, so that its"
                    " axis cannot be None.",
                    "Give an axis for it in out_axes.",
                )
            found.append(Tracer(traced.atom, outer, traced.weak))
        return restructured(tree, found)

    def results(self, found: Sequence[Any]) -> R:
        """The results of all elements in the structure of the function's result, with each mapped
        axis at its position.
        """
        assert self.tree is not None
        made, same = iter(found), iter(self.same)
        parts = zip(self.axes, paths(self.tree), strict=True)
        whole: R = unflatten(self.tree, [
            next(same) if axis is None else self._placed(next(made), axis, path)
            for axis, path in parts
        ])  # fmt: skip
        return whole

    def _placed(self, result: Any, axis: int, path: str) -> Array | Ragged:
        """A result with its first axis moved."""
        what = f"result{path} of {self.plan.who}"
        if isinstance(result, Ragged):
            if axis != 0:
                raise ArgumentError.here(
                    f"{what} has rows that may differ in length, whose axis is 0, not {axis}.",
                    f"Give 0 as its axis in out_axes. {SAME_LENGTH}",
                )
            return result
        at = axis_below(result.ndim, axis, "vmap", f"{what} for all elements")
        order = [*range(1, at + 1), 0, *range(at + 1, result.ndim)]
        array: Array = result
        return transpose(array, order) if at else array
