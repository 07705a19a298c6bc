"""What derivatives must satisfy: both modes are transposes, and central differences agree.

    <jvp v, u> = <v, vjp u>        (f(x + h v) - f(x - h v)) / 2 h = jvp v
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import flatweave as fw

STEP = 1e-6


def floats_of(value: Any) -> list[np.ndarray]:
    """The floats in a structure, as arrays."""
    if isinstance(value, fw.Ragged):
        return floats_of(value.values)
    if isinstance(value, dict):
        return [leaf for part in value.values() for leaf in floats_of(part)]
    if isinstance(value, tuple | list) and not isinstance(value, np.ndarray):
        return [leaf for part in value for leaf in floats_of(part)]
    if value is None:
        return []
    found = np.asarray(value)
    return [found] if found.dtype.kind in "f" else []


def mapped(value: Any, fn: Callable[[np.ndarray], Any]) -> Any:
    """The same structure with each float array replaced, and None for everything else."""
    if isinstance(value, fw.Ragged):
        values = mapped(value.values, fn)
        return None if values is None else fw.Ragged(values, value.offsets)
    if isinstance(value, dict):
        return {name: mapped(part, fn) for name, part in value.items()}
    if isinstance(value, tuple | list):
        return type(value)(mapped(part, fn) for part in value)
    found = np.asarray(value)
    return fn(found) if found.dtype.kind == "f" else None


def inner(a: Any, b: Any) -> float:
    """The inner product of two values of one structure."""
    return sum(float(np.sum(x * y)) for x, y in zip(floats_of(a), floats_of(b), strict=True))


def moved(value: Any, direction: Any, step: float) -> Any:
    """A value moved along a direction."""
    if isinstance(value, fw.Ragged):
        return fw.Ragged(moved(value.values, direction.values, step), value.offsets)
    if isinstance(value, dict):
        return {name: moved(part, direction[name], step) for name, part in value.items()}
    if isinstance(value, tuple | list):
        pairs = zip(value, direction, strict=True)
        return type(value)(moved(x, v, step) for x, v in pairs)
    return value if direction is None else np.asarray(value) + step * np.asarray(direction)


def check(
    f: Callable[..., Any], *args: Any, tolerance: float = 1e-6, differences: bool = True,
    seed: int = 0,
) -> Any:  # fmt: skip
    """Both modes of a function agree, and with central differences; the gradient."""
    rng = np.random.default_rng(seed)

    def random(like: np.ndarray) -> Any:
        return rng.normal(size=like.shape).astype(like.dtype) if like.ndim else float(rng.normal())

    directions = mapped(args, random)
    with fw.target("interp"):
        out, along = fw.jvp(f, args, directions)
        cotangents = mapped(out, random)
        value, back = fw.vjp(f, *args)
        gradient = back(cotangents)
        for one, other in zip(floats_of(out), floats_of(value), strict=True):
            np.testing.assert_array_equal(one, other)
        plain = fw.jit(f)(*args)
        for one, other in zip(floats_of(out), floats_of(plain), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)
        forward, reverse = inner(along, cotangents), inner(directions, gradient)
        assert np.isclose(forward, reverse, rtol=1e-9, atol=1e-9), (forward, reverse)
        if differences:
            ahead = fw.jit(f)(*moved(args, directions, STEP))
            behind = fw.jit(f)(*moved(args, directions, -STEP))
            triples = zip(floats_of(ahead), floats_of(behind), floats_of(along), strict=True)
            for a, b, d in triples:
                np.testing.assert_allclose((a - b) / (2 * STEP), d, rtol=1e-4, atol=tolerance * 100)
    return gradient
