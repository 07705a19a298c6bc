"""Orders and samples: permutation, choice."""

from __future__ import annotations

from typing import Any

from flatweave.base.dtypes import f64
from flatweave.base.errors import ShapeError
from flatweave.frontend.arrays.sorting import argsort
from flatweave.frontend.call.operation import operation
from flatweave.frontend.elements.elementwise import minimum
from flatweave.frontend.elements.scalars import astype
from flatweave.frontend.functions.scans import cumsum
from flatweave.frontend.standard.searching import searchsorted
from flatweave.frontend.trace.extents import length_of, product, same, scalar_i64, shape_of
from flatweave.frontend.trace.tracers import as_tracer
from flatweave.frontend.values.array import describe
from flatweave.random.continuous import exponential, uniform
from flatweave.random.discrete import bits, integers


@operation()
def permutation(key: Any, x: Any) -> Any:
    """0, 1, .. x - 1 in a random order, or the rows of an array along axis 0.

    Sorted by 64 random bits each; two of n are equal, and stay in order, with a chance of
    n*n / 2**65.

    Types: `key, x: n or t[n, ..] -> i64[n]` or `t[n, ..]`. Raises ArgumentError for what is no key.
    Source: `jax.random.permutation`.

        >>> fw.sort(fw.random.permutation(fw.random.key(0), 4))
        Array([0, 1, 2, 3], dtype=int64)
    """
    array: Any = as_tracer(x, "what permutation permutes")
    if array.ndim:
        return array[argsort(bits(key, array.shape[0]))]
    return argsort(bits(key, array))


@operation(static="replace")
def choice(key: Any, a: Any, shape: Any = (), replace: bool = True, p: Any = None) -> Any:
    """Elements of an array along axis 0, or of 0, 1, .. a - 1, drawn at random.

    `p` has a weight for each, which need not add up to 1; by default all are as likely. Without
    `replace` none is drawn twice. Raises ShapeError where more are drawn so than there are, or
    where weights and elements differ in number.

    Types: `key, a: t[n, ..] or n, shape: extents -> t[shape, ..]`. Source: `jax.random.choice`.

        >>> fw.random.choice(fw.random.key(0), [7], 3)
        Array([7, 7, 7], dtype=int64)
    """
    array: Any = as_tracer(a, "what choice chooses from")
    count = array.shape[0] if array.ndim else array
    extents = shape_of(shape, "choice")
    if p is not None:
        weights: Any = astype(as_tracer(p, "the weights of choice"), f64)
        if weights.ndim != 1:
            raise ShapeError.here(
                f"choice takes a row of weights, got {describe(weights)}.",
                "Give one weight for each element.",
            )
        same(
            array.extents[0] if array.ndim else length_of(array, "a of choice"),
            weights.extents[0],
            "choice needs a weight for each element, got {0} elements and {1} weights.",
            remedy="Give p= as many weights as there are elements.",
        )
    if replace:
        if p is None:
            at = integers(key, 0, count, shape)
        else:
            sums = cumsum(weights)
            found = searchsorted(sums, uniform(key, shape) * sums[-1], "right")
            at = minimum(found, count - 1)
    else:
        if p is None:
            order = permutation(key, count)
        else:
            order = argsort(exponential(key, count) / weights)
        total = scalar_i64(product(extents))
        at = order[:total].reshape(*[scalar_i64(e) for e in extents]) if extents else order[0]
    return array[at] if array.ndim else at
