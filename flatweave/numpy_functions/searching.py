"""Where values are and how often they occur, under NumPy's names."""

from __future__ import annotations

from typing import Any

import flatweave as fw
from flatweave.numpy_functions.arguments import along, row_of


@fw.operation()
def bincount(x: Any, weights: Any = None, minlength: Any = 0) -> fw.Array:
    """How often each number from 0 to the greatest occurs, or the sum of the weights there.

    Types: `x: integer[n], weights: t[n] -> i64[k]`, of weights `f64[k]`; k is the greatest number
    and 1, or `minlength` if that is more. Raises ArgumentError for a number below 0, ShapeError
    unless x and the weights are rows of one length, NegativeExtentError for a `minlength` below 0.
    Source: `numpy.bincount`.

        >>> fw.bincount([1, 3, 1])
        Array([0, 2, 0, 1], dtype=int64)
    """
    array = row_of(x, "x of bincount")
    if array.dtype == fw.bool_:
        array = array.astype(fw.i64)
    counted: Any = 1
    if weights is not None:
        row = row_of(weights, "the weights of bincount")
        counted = along(row, array, [0], "the weights of bincount").astype(fw.f64)
    least = fw.min(array, initial=0)
    fw.check(
        least >= 0, "bincount counts numbers from 0 on, the least is {0}.", least,
        remedy="Subtract the least first.",
    )  # fmt: skip
    fw.check(
        fw.greater_equal(minlength, 0), "minlength of bincount must not be negative, got {0}.",
        minlength, error=fw.NegativeExtentError, remedy="Leave it out for 0.",
    )  # fmt: skip
    most = fw.max(array, initial=0).astype(fw.i64)
    return fw.histogram(fw.maximum(most + (array.shape[0] > 0), minlength), array, counted)


@fw.operation(static="right")
def digitize(x: Any, bins: Any, right: bool = False) -> fw.Array:
    """In which bin each value lies: how many of the edges, which ascend or descend, are before it.

    With `right` an edge belongs to the bin before it. NaN is greater than every number.

    Types: `x: t[..], bins: t[n] -> i64[..]`. Raises ShapeError unless bins has one axis,
    ArgumentError for edges that neither ascend nor descend. Source: `numpy.digitize`.

        >>> fw.digitize([0.5, 1.0, 7.0], [0.0, 1.0, 2.0])
        Array([1, 2, 3], dtype=int64)
    """
    edges = row_of(bins, "bins of digitize")
    n = edges.shape[0]
    before, after = edges[:-1], edges[1:]
    ascends = fw.all((before <= after) | fw.isnan(after))
    descends = fw.all((before >= after) | fw.isnan(before))
    message = "the edges of digitize neither ascend nor descend."
    fw.check(ascends | descends, message, remedy="Sort them.")
    side = "left" if right else "right"
    return fw.cond(
        ~ascends,
        lambda: n - fw.searchsorted(edges[::-1], x, side=side),
        lambda: fw.searchsorted(edges, x, side=side),
    )


@fw.operation()
def argwhere(x: Any) -> fw.Array:
    """The indices of the elements that are not 0, a row for each.

    Types: `x: t[..] -> i64[k, rank]`. Raises ArgumentError for what is no array.
    Source: `numpy.argwhere`.

        >>> fw.argwhere([[0, 3], [5, 0]])
        Array([[0, 1],
               [1, 0]], dtype=int64)
    """
    array = fw.asarray(x)
    if not array.ndim:
        return argwhere(fw.reshape(array, 1))[:, :0]
    return fw.stack(fw.nonzero(array), axis=1)


@fw.operation()
def flatnonzero(x: Any) -> fw.Array:
    """Where the elements are not 0, counted in row-major order.

    Types: `x: t[..] -> i64[k]`. Raises ArgumentError for what is no array.
    Source: `numpy.flatnonzero`.

        >>> fw.flatnonzero([[0, 3], [5, 0]])
        Array([1, 2], dtype=int64)
    """
    return fw.nonzero(fw.reshape(fw.asarray(x), -1))[0]
