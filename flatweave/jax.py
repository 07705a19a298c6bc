"""`fw.jax.function(f)`: a function of ours in a program of JAX, with its gradient.

    layer = fw.jax.function(f)
    jax.jit(jax.grad(lambda x: layer(x).sum()))(x)      by fw.vjp

Where JAX traces, the function is a `jax.pure_callback`, and JAX copies its results.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

import numpy as np

from flatweave.cotangents import Flat, arrays_of
from flatweave.frontend.functions.derivatives import need_function
from flatweave.frontend.values.array import Array
from flatweave.frontend.values.tree import unflatten


def function(f: Callable[..., Any]) -> Callable[..., Any]:
    """`f` as a function of JAX's arrays: a `jax.custom_vjp`, whose gradient is `fw.vjp`.

    Arguments are arrays or structures of them; what is no array in them is a constant. Under
    `jax.jit` the extents of the results must follow from those of the arguments: `f` is called with
    zeros to find them out. It works in `jax.vmap`, one row after the other. Floats have JAX's
    default width.

    Raises ArgumentError for what is no function, Unsupported where `f` gives a Ragged, ImportError
    without JAX.
    """
    need_function(f, "jax.function(f)")
    known: dict[Any, Flat] = {}

    @functools.wraps(f, updated=())
    def call(*args: Any, **kwargs: Any) -> Any:
        jax = _jax()
        arrays, rebuild, rest = arrays_of((args, kwargs), functools.partial(_is_array, jax))
        moving = tuple(k for k, x in enumerate(arrays) if x.dtype.kind in "fcV")

        def of_arrays(*values: Any) -> Any:
            positional, named = rebuild(values)
            return f(*positional, **named)

        flat = known.setdefault((rest, moving), Flat(of_arrays, moving))
        results = _bridge(flat)(*arrays)
        return unflatten(flat.out, results)

    return call


def _jax() -> ModuleType:
    import jax  # optional dependency

    found: ModuleType = jax
    return found


def _is_array(jax: Any, value: Any) -> bool:
    return isinstance(value, jax.Array | np.ndarray | Array)


@functools.lru_cache(maxsize=1024)
def _bridge(flat: Flat) -> Any:
    """The `jax.custom_vjp` that calls a Flat; its gradient is another one."""
    jax: Any = _jax()

    def fwd(*arrays: Any) -> Any:
        return bridge(*arrays), arrays  # itself, which has a gradient

    def bwd(arrays: Any, cotangents: Any) -> Any:
        given = [cotangents[k] for k in flat.floats]
        gradients: list[Any] = [None] * len(arrays)
        found = _bridge(flat.back)(*arrays, *given) if given and flat.moving else ()
        for k, gradient in zip(flat.moving, found, strict=False):
            gradients[k] = gradient.astype(arrays[k].dtype)
        return tuple(gradients)

    bridge = jax.custom_vjp(lambda *arrays: _called(flat, arrays))
    bridge.defvjp(fwd, bwd)
    return bridge


def _called(flat: Flat, arrays: Sequence[Any]) -> list[Any]:
    """What a function gives: at once where the values are known, else as a callback."""
    jax: Any = _jax()

    def host(*values: Any) -> list[Any]:
        found = [np.asarray(x) for x in flat(*map(np.asarray, values))]
        return [x.astype(jax.dtypes.canonicalize_dtype(x.dtype), copy=False) for x in found]

    if not any(isinstance(x, jax.core.Tracer) for x in arrays):
        return [jax.numpy.asarray(x) for x in host(*arrays)]
    like = host(*(np.zeros(x.shape, x.dtype) for x in arrays))
    shapes = [jax.ShapeDtypeStruct(x.shape, x.dtype) for x in like]
    found: list[Any] = jax.pure_callback(host, shapes, *arrays, vmap_method="sequential")
    return found
