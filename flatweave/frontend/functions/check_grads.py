"""Derivatives of a function compared with differences of its values.

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
from flatweave.frontend.functions.derivatives import jvp, need_function, vjp
from flatweave.frontend.values.tree import flatten, unflatten

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
