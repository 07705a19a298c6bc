"""Derivatives as linear functions that are called later: `linearize`, and `linear_transpose`.

    out, f_jvp = linearize(f, x)         f(x), and v to the derivative of f at x along v
    transpose = linear_transpose(f, x)   of a linear f: the cotangent of f(x) to that of x

`check_grads` compares the derivatives of a function with differences of its values:

    forward    jvp f x v    =  (f(x + h v) - f(x - h v)) / 2 h
    reverse    <jvp f x v, u>  =  <v, vjp f x u>, or that difference where forward is left out

A complex number counts as two floats: `<a, b>` is the real part of the sum of `a * b`, because
cotangents are conjugates.
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
    jvp,
    need_function,
    tangent_atoms,
    traced,
    vjp,
    with_aux,
)
from flatweave.frontend.functions.differentiable import need_inside, splice
from flatweave.frontend.values.scope import current, innermost
from flatweave.frontend.values.tree import flatten, map_leaves, unflatten
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
    return linearize(f, *primals, has_aux=has_aux)[1](*tangents)


def _of_cotangent(f: Function, cotangent: Any, *primals: Any) -> object:
    return linear_transpose(f, *primals)(cotangent)


_of_primals.__name__ = _of_tangents.__name__ = "linearize"
_of_cotangent.__name__ = "linear_transpose"
_call, _slope = operation()(_of_primals), operation(static="has_aux")(_of_tangents)
_transpose = operation()(_of_cotangent)


MODES = ("fwd", "rev")


def check_grads(
    f: Callable[..., Any], args: Sequence[Any], order: int, modes: Sequence[str] = MODES,
    atol: float | None = None, rtol: float | None = None, eps: float | None = None,
) -> None:  # fmt: skip
    """Compare derivatives of `f` at `args` with central differences along a random direction.

    `order` derivatives are compared, each of the one before; `modes` are "fwd" and "rev". `eps` is
    the step, by default 1e-6 for f64 and 1e-3 for f32; choose arguments that are further than that
    from ties and predicates. Raises AssertionError where derivatives differ by more than `atol`
    and `rtol` allow, ArgumentError for another mode.

    Types: `f: (a, b, ..) -> r, args: (a, b, ..)`. Source: JAX's `jax.test_util.check_grads`.

        >>> fw.check_grads(fw.sin, (0.5,), order=2)
    """
    need_function(f, "check_grads(f, (x,), order=1)")
    if not isinstance(args, tuple | list) or any(mode not in MODES for mode in modes):
        raise ArgumentError.here(
            "check_grads needs a tuple of arguments, and modes out of 'fwd' and 'rev'.",
            "Call it as fw.check_grads(f, (x,), order=1).",
        )
    point = tuple(args)
    narrow = any(np.finfo(x.dtype).bits < 64 for x in _floats(point))
    step = eps or (1e-3 if narrow else 1e-6)
    close = atol or (1e-2 if narrow else 1e-5), rtol or (1e-2 if narrow else 1e-5)
    rng = np.random.default_rng(order)
    along = _random(point, rng)
    ends = (f(*_moved(point, along, sign * step)) for sign in (1, -1))
    pairs = zip(*map(_floats, ends), strict=True)
    slopes = [(ahead - behind) / (2 * step) for ahead, behind in pairs]
    if "fwd" in modes:
        tangents = _floats(jvp(f, point, along)[1])
        for slope, tangent in zip(slopes, tangents, strict=True):
            _must_be_close(slope, tangent, close, f"jvp of order {order}")
        slopes = tangents
    value, back_of = vjp(f, *point)
    across = _random(value, rng)
    if "rev" in modes:
        back = back_of(across)
        pairs = zip(_floats(across), slopes, strict=True)
        expected = sum(float(np.sum(u * d).real) for u, d in pairs)
        pairs = zip(_floats(along), _floats(back), strict=True)
        found = sum(float(np.sum(v * c).real) for v, c in pairs)
        _must_be_close(expected, found, close, f"vjp of order {order}")
    if order > 1 and "fwd" in modes:
        check_grads(lambda *xs: jvp(f, xs, along)[1], point, order - 1, modes, atol, rtol, eps)
    if order > 1 and "rev" in modes:
        check_grads(lambda *xs: vjp(f, *xs)[1](across), point, order - 1, modes, atol, rtol, eps)


def _must_be_close(expected: Any, found: Any, close: tuple[float, float], what: str) -> None:
    """AssertionError for numbers that differ."""
    np.testing.assert_allclose(found, expected, atol=close[0], rtol=close[1], err_msg=what)


def _is_float(leaf: Any) -> bool:
    return np.asarray(leaf).dtype.kind in "fc"


def _normal(rng: np.random.Generator, like: Any) -> Any:
    """Random numbers of the shape and dtype of some."""
    found = rng.normal(size=np.shape(like))
    if np.asarray(like).dtype.kind == "c":
        found = found + 1j * rng.normal(size=np.shape(like))
    return found.astype(np.asarray(like).dtype)


T = TypeVar("T")


def _floats(value: Any) -> list[Any]:
    """The floats of a structure."""
    return [np.asarray(leaf) for leaf in flatten(value)[0] if _is_float(leaf)]


def _random(value: T, rng: np.random.Generator) -> T:
    """A value of the same structure with random floats; the rest of it stays as it is."""
    leaves, tree = flatten(value)
    same: T = unflatten(tree, [
        _normal(rng, leaf) if _is_float(leaf) else leaf for leaf in leaves
    ])  # fmt: skip
    return same


def _moved(value: T, along: T, step: float) -> T:
    """The floats of a structure moved along a direction."""
    leaves, tree = flatten(value)
    pairs = zip(leaves, flatten(along)[0], strict=True)
    same: T = unflatten(tree, [
        np.asarray(np.asarray(x) + step * v, np.asarray(x).dtype) if _is_float(x) else x
        for x, v in pairs
    ])  # fmt: skip
    return same
