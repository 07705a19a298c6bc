"""How often values occur, and sets of them, under NumPy's names."""

from __future__ import annotations

from typing import Any

from flatweave.base.dtypes import bool_, f64, i64
from flatweave.frontend.arrays.joining import concat
from flatweave.frontend.arrays.shapes import reshape
from flatweave.frontend.arrays.writing import histogram
from flatweave.frontend.call.operation import operation
from flatweave.frontend.complex.rules import either, for_complex
from flatweave.frontend.elements.elementwise import isnan, maximum
from flatweave.frontend.functions.control import cond
from flatweave.frontend.functions.reductions import all, max, min
from flatweave.frontend.numerics.lines import along, row_of, together
from flatweave.frontend.standard.arrangement import stack
from flatweave.frontend.standard.searching import UniqueAll, distinct, isin, nonzero, searchsorted
from flatweave.frontend.trace import extents
from flatweave.frontend.trace.run_time_checks import check, check_message
from flatweave.frontend.trace.tracers import as_tracer
from flatweave.frontend.values.array import Array


@operation()
def bincount(x: Any, weights: Any = None, minlength: Any = 0) -> Array:
    """How often each number from 0 to the greatest occurs, or the sum of the weights there.

    Types: `x: integer[n], weights: t[n] -> i64[k]`, of weights `f64[k]`; k is the greatest number
    and 1, or `minlength` if that is more. Raises ArgumentError for a number below 0, ShapeError
    unless x and the weights are rows of one length, NegativeExtentError for a `minlength` below 0.
    Source: `numpy.bincount`.

        >>> fw.bincount([1, 3, 1])
        Array([0, 2, 0, 1], dtype=int64)
    """
    array = as_tracer(row_of(x, "x of bincount"))
    if array.element is bool_:
        array = array.astype(i64)
    counted: Any = 1
    if weights is not None:
        row = row_of(weights, "the weights of bincount")
        counted = along(row, array, [0], "the weights of bincount").astype(f64)
    message = check_message(
        "bincount counts numbers from 0 on, the least is {0}.", [], "Subtract the least first."
    )
    least = as_tracer(min(array, initial=0))
    found = least.astype(i64)
    check(as_tracer(least >= 0).atom, "argument", (found.atom,), message)
    most = max(array, initial=0).astype(i64)
    least_length = extents.scalar_i64(extents.length_of(minlength, "minlength of bincount"))
    length = maximum(most + (as_tracer(array.shape[0]) > 0), least_length)
    return histogram(length, array, counted)


@operation(static="right")
def digitize(x: Any, bins: Any, right: bool = False) -> Array:
    """In which bin each value lies: how many of the edges, which ascend or descend, are before it.

    With `right` an edge belongs to the bin before it. NaN is greater than every number.

    Types: `x: t[..], bins: t[n] -> i64[..]`. Raises ShapeError unless bins has one axis,
    ArgumentError for edges that neither ascend nor descend. Source: `numpy.digitize`.

        >>> fw.digitize([0.5, 1.0, 7.0], [0.0, 1.0, 2.0])
        Array([1, 2, 3], dtype=int64)
    """
    edges = row_of(bins, "bins of digitize")
    values = as_tracer(x, "x of digitize")
    n = as_tracer(edges.shape[0])
    before, after = edges[:-1], edges[1:]
    ascends = all((before <= after) | isnan(after))
    descends = all((before >= after) | isnan(before))
    message = check_message("the edges of digitize neither ascend nor descend.", [], "Sort them.")
    check(as_tracer(ascends | descends).atom, "argument", (), message)
    return cond(
        ~ascends,
        lambda: n - searchsorted(edges[::-1], values, side="left" if right else "right"),
        lambda: searchsorted(edges, values, side="left" if right else "right"),
    )


@for_complex
@operation()
def argwhere(x: Any) -> Array:
    """The indices of the elements that are not 0, a row for each.

    Types: `x: t[..] -> i64[k, rank]`. Raises ArgumentError for what is no array.
    Source: `numpy.argwhere`.

        >>> fw.argwhere([[0, 3], [5, 0]])
        Array([[0, 1],
               [1, 0]], dtype=int64)
    """
    array = either(x, "x of argwhere")
    if not array.ndim:
        return argwhere(reshape(array, 1))[:, :0]
    return stack(nonzero(array), axis=1)


@for_complex
@operation()
def flatnonzero(x: Any) -> Array:
    """Where the elements are not 0, counted in row-major order.

    Types: `x: t[..] -> i64[k]`. Raises ArgumentError for what is no array.
    Source: `numpy.flatnonzero`.

        >>> fw.flatnonzero([[0, 3], [5, 0]])
        Array([1, 2], dtype=int64)
    """
    return nonzero(reshape(either(x, "x of flatnonzero"), -1))[0]


def _in_one(a: Any, b: Any, who: str) -> UniqueAll:
    """The different values of two arrays; of each in how many of them it is, a NaN in one."""
    return distinct(concat([distinct(x, who, equal_nan=True).values for x in (a, b)]), who)


@for_complex
@operation(static="return_index return_inverse return_counts equal_nan")
def unique(
    x: Any, return_index: bool = False, return_inverse: bool = False, return_counts: bool = False,
    *, equal_nan: bool = True,
) -> Array | tuple[Array, ...]:  # fmt: skip
    """The different values, ascending; asked for, also where each is first, which one each element
    is, and how many there are of each, in a tuple.

    Types: `x: t[..] -> t[k]`, or `(t[k], i64[k], i64[..], i64[k])`. Raises ArgumentError for what
    is no array. Source: `numpy.unique`.

        >>> fw.unique([3, 1, 3], return_counts=True)
        (Array([1, 3], dtype=int64), Array([1, 2], dtype=int64))
    """
    found = distinct(x, "unique", equal_nan)
    wanted = (True, return_index, return_inverse, return_counts)
    parts = tuple(part for part, is_wanted in zip(found, wanted, strict=True) if is_wanted)
    return parts[0] if len(parts) == 1 else parts


@for_complex
@operation()
def union1d(a: Any, b: Any) -> Array:
    """The different values in either array, ascending.

    Types: `a: t[..], b: t[..] -> t[k]`. Raises ArgumentError for what is no array.
    Source: `numpy.union1d`.

        >>> fw.union1d([3, 1], [2, 3])
        Array([1, 2, 3], dtype=int64)
    """
    arrays = [either(x, "an array of union1d") for x in (a, b)]
    dtype = together(*arrays)
    both = concat([reshape(x.astype(dtype), -1) for x in arrays])
    return distinct(both, "union1d", equal_nan=True).values


@for_complex
@operation()
def intersect1d(a: Any, b: Any) -> Array:
    """The different values that are in both arrays, ascending.

    Types: `a: t[..], b: t[..] -> t[k]`. Raises ArgumentError for what is no array.
    Source: `numpy.intersect1d`.

        >>> fw.intersect1d([3, 1, 3], [2, 3])
        Array([3], dtype=int64)
    """
    found = _in_one(a, b, "intersect1d")
    return found.values[found.counts == 2]


@for_complex
@operation()
def setdiff1d(a: Any, b: Any) -> Array:
    """The different values of the first array that are not in the second, ascending.

    Types: `a: t[..], b: t[..] -> t[k]`. Raises ArgumentError for what is no array.
    Source: `numpy.setdiff1d`.

        >>> fw.setdiff1d([3, 1, 3], [2, 3])
        Array([1], dtype=int64)
    """
    values = distinct(a, "setdiff1d", equal_nan=True).values
    return values[~isin(values, b)]


@for_complex
@operation()
def setxor1d(a: Any, b: Any) -> Array:
    """The different values that are in one of two arrays, ascending.

    A NaN is equal to no other: where both have one, so has the result twice.

    Types: `a: t[..], b: t[..] -> t[k]`. Raises ArgumentError for what is no array.
    Source: `numpy.setxor1d`.

        >>> fw.setxor1d([3, 1], [2, 3])
        Array([1, 2], dtype=int64)
    """
    found = _in_one(a, b, "setxor1d")
    return found.values[found.counts == 1]
