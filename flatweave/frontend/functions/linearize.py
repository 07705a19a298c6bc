"""Derivatives as linear functions that are called later: `linearize`, and `linear_transpose`.

    out, f_jvp = linearize(f, x)         f(x), and v to the derivative of f at x along v
    transpose = linear_transpose(f, x)   of a linear f: the cotangent of f(x) to that of x
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from flatweave.base.errors import ArgumentError
from flatweave.frontend.call.operation import operation
from flatweave.frontend.elements.lambdas import name_of
from flatweave.frontend.functions.callbacks import ShapeDtypeStruct
from flatweave.frontend.functions.derivatives import (
    cotangent_atoms,
    need_function,
    tangent_atoms,
    traced,
    with_aux,
)
from flatweave.frontend.functions.differentiable import need_inside, splice
from flatweave.frontend.values.scope import current, innermost
from flatweave.frontend.values.tree import map_leaves
from flatweave.runtime.lazy_import import opened as module

Function = Callable[..., Any]
R = TypeVar("R")


def linearize(f: Callable[..., Any], *primals: Any, has_aux: bool = False) -> tuple[Any, ...]:
    """`f(*primals)`, and its derivative there as a function of tangents.

    That function takes a tangent for each primal, of its structure, and None for integers. In a
    program what does not depend on tangents is computed once, however often the function is called;
    outside of one, each call computes `f` once more. With `has_aux`, `f` gives a pair, of which the
    second part is not differentiated and comes third. Raises ShapeError for tangents that are not
    like the primals.

    Types: `f: (a, b, ..) -> r, primals: a, b, .. -> (r, (a, b, ..) -> r)`. Source: `jax.linearize`.

        >>> value, slope = fw.linearize(fw.sin, 0.0)
        >>> slope(2.0), slope(3.0)
        (Array(2.0, dtype=float64), Array(3.0, dtype=float64))
    """
    need_function(f, "linearize(f, x)")
    if innermost() is None:
        out = _call(f, *primals)
        value, rest = (out[0], (out[1],)) if has_aux else (out, ())
        return value, lambda *tangents: _slope(f, has_aux, tangents, *primals), *rest
    return linearize_in_trace(f, primals, "linearize", has_aux)


def linearize_in_trace(
    f: Callable[..., Any], primals: Sequence[Any], who: str, has_aux: bool = False
) -> tuple[Any, ...]:
    """The value and the function of tangents, in a trace."""
    scope = current()
    function = traced(f, primals, who, has_aux)
    made = module("gradients").linearized(scope.builder, function.fn, function.moving_results)
    splice(made.lets, function.primals)

    def along(*tangents: Any) -> object:
        need_inside(scope, who)
        atoms = tangent_atoms(function, tangents, who)
        found = made.along(current().builder, atoms)
        splice(found.lets, function.primals)
        return function.tangents(function.out, found.atoms)

    return with_aux(function, function.value(), along) if has_aux else (function.value(), along)


def linear_transpose(f: Callable[..., Any], *primals: Any) -> Callable[..., Any]:
    """The transpose of a linear function: from cotangents of its result to a tuple of those of its
    arguments.

    Of the primals, only shapes and dtypes matter: outside of programs a `ShapeDtypeStruct` will do.
    Raises ArgumentError for a function that is not linear.

    Types: `f: (a, b, ..) -> r, primals: a, b, .. ->` a function `r -> (a, b, ..)`.
    Source: `jax.linear_transpose`.

        >>> fw.linear_transpose(lambda x: 3 * x[:2], np.zeros(3))(np.array([1.0, 2.0]))
        (Array([3., 6., 0.], dtype=float64),)
    """
    need_function(f, "linear_transpose(f, x)")
    if innermost() is None:
        given = [map_leaves(_zeros, primal) for primal in primals]
        return lambda cotangent: _transpose(f, cotangent, *given)
    scope = current()
    function = traced(f, primals, "linear_transpose")
    taped = module("gradients").reverse(scope.builder, function.fn)

    splice(taped.lets, function.primals)

    def transpose(cotangent: object) -> object:
        need_inside(scope, "linear_transpose")
        made = taped.back(current().builder, cotangent_atoms(function, cotangent))
        if not taped.is_linear(made):
            raise ArgumentError.here(
                f"linear_transpose of {name_of(f)}, which is not linear.",
                "Use fw.vjp, or fw.linearize before.",
            )
        splice(made.lets, function.primals)
        return function.tangents(function.args, made.atoms, conjugate=True)

    return transpose


def _zeros(primal: object) -> object:
    """An argument for its shape and dtype."""
    if not isinstance(primal, ShapeDtypeStruct):
        return primal
    return np.zeros(primal.shape, primal.dtype.dtype)


def _of_primals(f: Callable[..., R], *primals: Any) -> R:
    return f(*primals)


def _of_tangents(f: Function, has_aux: bool, tangents: Any, *primals: Any) -> object:
    found: object = linearize(f, *primals, has_aux=has_aux)[1](*tangents)
    return found


def _of_cotangent(f: Function, cotangent: Any, *primals: Any) -> object:
    return linear_transpose(f, *primals)(cotangent)


_of_primals.__name__ = _of_tangents.__name__ = "linearize"
_of_cotangent.__name__ = "linear_transpose"
_call, _slope = operation()(_of_primals), operation(static="has_aux")(_of_tangents)
_transpose = operation()(_of_cotangent)
