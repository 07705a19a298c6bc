"""The best elements, their ranks, fits of rows, and what is computed along an axis with a maximum.

    top_k(x, k)         the first k of a stable sort, NaN last
    rank(x)             positions in the sorted array, the mean for equals
    logsumexp(x)        m + log(sum(exp(x - m))), m the greatest element
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import numpy as np

import flatweave as fw
from flatweave.tables.keys import whole
from flatweave.tables.nullable import with_offsets

METHODS = ("average", "min", "max", "dense", "ordinal")


def one_of(chosen: str, known: Collection[str], message: str) -> None:
    """Raise unless a choice is known."""
    if chosen not in known:
        raise fw.ArgumentError.here(message, f"Use one of {', '.join(map(repr, known))}.")


def of_rows(x: Any, function: Callable[[Any], Any]) -> Any:
    """A function of each row of a Ragged, whatever its depth."""
    if isinstance(x.values, fw.Ragged):
        found = function(x.values)
        if isinstance(found, tuple):
            return tuple(with_offsets(part, x.offsets) for part in found)
        return with_offsets(found, x.offsets)
    return fw.map(function, x)


def on_lines(x: Any, axis: int, function: Callable[[Any], Any], who: str) -> Any:
    """A function from each line of an array along an axis to one of as many elements."""
    array = fw.asarray(x)
    if not array.ndim:
        raise fw.ShapeError.here(f"{who} needs an array, got a number.", "Give it an axis.")
    if array.ndim == 1:
        return function(array)
    moved = fw.moveaxis(array, axis, -1)
    flat = fw.reshape(moved, (-1, moved.shape[-1]))
    found = fw.map(function, flat)

    def back(part: Any) -> Any:
        return fw.moveaxis(fw.reshape(part, (*moved.shape[:-1], part.shape[-1])), -1, axis)

    return tuple(map(back, found)) if isinstance(found, tuple) else back(found)


@fw.operation(static="axis largest", any_dtype=True)
def top_k(x: Any, k: Any, axis: int = -1, largest: bool = True) -> Any:
    """The k greatest elements along an axis, best first, and their indices: (values, indices).

    With `largest=False` the least ones. Of equal elements the one of lower index comes first; NaN
    is last. For a Ragged, each row, in rows of at most k.

    Types: `x: t[.., n], k: integer -> t[.., k], i64[.., k]`. Raises ShapeError for a `k` above n,
    ArgumentError for one below 0, AxisError for an axis that is not there. Source: `jax.lax.top_k`.

        >>> fw.top_k([3, 1, 2, 3], 2)
        (Array([3, 3], dtype=int64), Array([0, 3], dtype=int64))
        >>> fw.top_k(fw.ragged([[1, 5], [7]]), 1)[0]
        Ragged([[5], [7]], dtype=int64)
    """
    fw.check(whole(k, "k of top_k") >= 0, "top_k needs a number k of 0 or more, got {0}.", k,
             remedy="Give 0 for no elements, or the number that is wanted.")  # fmt: skip

    def best(line: Any, count: Any) -> Any:
        order = _first_in_order(line, count, largest)
        return line[order], order

    if isinstance(x, fw.Ragged):
        return of_rows(x, lambda row: best(row, fw.minimum(k, row.shape[0])))
    array = fw.asarray(x)
    if array.ndim:
        n = fw.moveaxis(array, axis, 0).shape[0]
        fw.check(fw.asarray(k) <= n, "top_k got a k of {0}, and {1} elements.", k, n,
                 error=fw.ShapeError, remedy="Give fw.minimum(k, n).")  # fmt: skip
    return on_lines(array, axis, lambda line: best(line, k), "top_k")


SAMPLE = 1024
"""Elements of a sample, of lines of four times as many."""


def _first_in_order(line: Any, k: Any, descending: bool) -> Any:
    """The first k indices of a stable sort. Of a long line only those elements are sorted that come
    no later than an element of a sample before which k are expected."""
    n = line.shape[0]
    of_all = lambda: fw.argsort(line, descending=descending)[:k]  # noqa: E731

    def of_some() -> Any:
        sample = fw.sort(line[fw.iota(SAMPLE) * (n // SAMPLE)], descending=descending)
        last = sample[2 * SAMPLE * k // n + 16]
        some = fw.iota(n)[line >= last if descending else line <= last]
        order = lambda: some[fw.argsort(line[some], descending=descending)[:k]]  # noqa: E731
        return fw.cond(some.shape[0] >= k, order, of_all)

    return fw.cond((n >= 4 * SAMPLE) & (n >= 4 * k), of_some, of_all, same=True)


@fw.operation(static="axis")
def argpartition(x: Any, kth: Any, axis: int = -1) -> Any:
    """Indices that put the k-th element in order, no greater ones before and no less ones after it.

    All indices are in order: the result is that of `argsort`.

    Types: `x: t[.., n], kth: integer -> i64[.., n]`. Raises IndexOutOfBounds for a `kth` that is
    no index. Source: `numpy.argpartition`.

        >>> fw.argpartition([3, 1, 2], 1)
        Array([1, 2, 0], dtype=int64)
    """
    array = fw.asarray(x)
    n, last = fw.moveaxis(array, axis, 0).shape[0], fw.max(whole(kth, "kth of argpartition"))
    first = fw.min(fw.asarray(kth))
    fw.check((last < n) & (first >= -n), "argpartition has no element {0}.", last,
             error=fw.IndexOutOfBounds, remedy="Indices go from -n to n - 1.")  # fmt: skip
    return fw.argsort(array, axis=axis)


def lexsort(keys: Any) -> Any:
    """The indices that sort by several keys, of which the last one counts most, as NumPy's.

    Types: `keys:` a tuple of `t[n]`, or `t[k, n] -> i64[n]`. Raises ShapeError for keys of
    different lengths. Source: `numpy.lexsort`.

        >>> fw.lexsort(([1, 2, 3], [5, 4, 4]))
        Array([1, 2, 0], dtype=int64)
    """
    if not isinstance(keys, tuple | list):
        rows = fw.asarray(keys)
        keys = tuple(rows[i] for i in range(len(rows))) if rows.ndim > 1 else (rows,)
    return fw.argsort(tuple(fw.asarray(key) for key in reversed(keys)))


@fw.operation(static="axis method")
def rank(x: Any, axis: int = -1, method: str = "average") -> Any:
    """The rank of each element along an axis, from 1: its position in the sorted array.

    Equal elements get the mean of their positions ("average"), the first or the last of them
    ("min", "max"), the number of the group of equals ("dense"), or successive positions
    ("ordinal"). NaN is equal to NaN, and last. Of a Ragged each row.

    Types: `x: t[..] -> f64[..]` for "average", else `i64[..]`. Raises ArgumentError for another
    method, AxisError for an axis that is not there. Source: `scipy.stats.rankdata`.

        >>> fw.rank([10, 30, 10])
        Array([1.5, 3. , 1.5], dtype=float64)
    """
    one_of(method, METHODS, f"{method!r} is no method of rank.")
    if isinstance(x, fw.Ragged):
        return of_rows(x, lambda row: rank(row, -1, method))
    return on_lines(x, axis, lambda line: _ranks(line, method), "rank")


def _ranks(line: Any, method: str) -> Any:
    """The ranks of the elements of one line."""
    n = line.shape[0]
    order = fw.argsort(line)
    ascending = line[order]
    places = fw.iota(n)
    if method == "ordinal":
        return fw.scatter(fw.full(n, 0), order, places + 1)
    begins = changed(ascending)
    if method == "dense":
        found = fw.cumsum(begins)
    else:
        first = fw.scan(fw.maximum, 0, fw.where(begins, places, 0))
        after = fw.concat([begins[1:], fw.full(fw.minimum(n, 1), True)])
        last = fw.scan(fw.minimum, n, fw.where(after, places, n), reverse=True)
        found = {"min": first + 1, "max": last + 1, "average": (first + last + 2) / 2}[method]
    return fw.scatter(fw.full(n, found.dtype.type(0)), order, found)


@fw.operation()
def changed(x: Any) -> Any:
    """Where an element differs from the one before it: where a run begins. The first one does.

    NaN is equal to NaN. Of a Ragged each row begins with a run.

    Types: `x: t[n] -> bool[n]`. Raises ShapeError for an array of another rank. Source: Flatweave.

        >>> fw.changed([5, 5, 7, 7, 5])
        Array([ True, False,  True, False,  True], dtype=bool)
    """
    if isinstance(x, fw.Ragged):
        return of_rows(x, changed)
    array = fw.asarray(x)
    if array.ndim != 1:
        raise fw.ShapeError.here(
            f"changed compares the elements of one row, got an array of {array.ndim} axes.",
            "Map it over the rows: fw.map(fw.changed, xs).",
        )

    def begins(i: Any) -> Any:
        a, b = array[i], array[fw.where(i == 0, 0, i - 1)]
        return (i == 0) | ~((a == b) | ((a != a) & (b != b)))

    return fw.map(begins, fw.iota(array.shape[0]))


@fw.operation(static="axis")
def cummax(x: Any, axis: int | None = None) -> Any:
    """The greatest of the elements up to each one along an axis; NaN from the first NaN on.

    Of a Ragged each row.

    Types: `x: t[..] -> t[..]`. Raises ArgumentError without an axis for an array of several,
    AxisError for an axis that is not there. Source: `jax.lax.cummax`.

        >>> fw.cummax([1, 3, 2])
        Array([1, 3, 3], dtype=int64)
    """
    return _extreme_so_far("cummax", fw.maximum, x, axis)


@fw.operation(static="axis")
def cummin(x: Any, axis: int | None = None) -> Any:
    """The least of the elements up to each one along an axis; NaN from the first NaN on.

    Of a Ragged each row.

    Types: `x: t[..] -> t[..]`. Raises ArgumentError without an axis for an array of several,
    AxisError for an axis that is not there. Source: `jax.lax.cummin`.

        >>> fw.cummin([3, 1, 2])
        Array([3, 1, 1], dtype=int64)
    """
    return _extreme_so_far("cummin", fw.minimum, x, axis)


def _extreme_so_far(who: str, better: Any, x: Any, axis: int | None) -> Any:
    if isinstance(x, fw.Ragged):
        return of_rows(x, lambda row: _extreme_so_far(who, better, row, axis and axis - 1))
    array = fw.asarray(x)
    if axis is None and array.ndim > 1:
        raise fw.ArgumentError.here(
            f"{who} of an array of {array.ndim} axes goes along one of them.",
            "Name it: axis=0 goes down the columns.",
        )
    start = worst(array.dtype, better is fw.minimum)
    if array.ndim == 1:
        return fw.scan(better, start, array)
    moved = fw.moveaxis(array, axis or 0, 0)
    found = fw.scan(better, fw.full(moved.shape[1:], array.dtype.type(start)), moved)
    return fw.moveaxis(found, 0, axis or 0)


LAST_TIME = 2**63 - 1
"""The greatest tick of a time; NaT has the least integer, -2**63."""


def worst(dtype: Any, is_min: bool) -> Any:
    """What every element is at least as good as: the greatest value for a minimum."""
    if dtype.kind in "mM":
        return np.int64(LAST_TIME if is_min else -LAST_TIME).view(dtype)
    if dtype == fw.bool_:
        return is_min
    if fw.isdtype(dtype, "real floating"):
        return fw.inf if is_min else -fw.inf
    info = fw.iinfo(dtype)
    return info.max if is_min else info.min


@fw.operation(static="axis keepdims")
def logsumexp(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """The logarithm of the sum of exponentials, of all elements or along axes, without overflow.

    -inf where there is no element. Axis 1 of a Ragged is each row.

    Types: `x: t[..] -> t[..]`, without the axes gone along; integers in f64. Raises AxisError for
    an axis that is not there. Source: `scipy.special.logsumexp`.

        >>> fw.logsumexp([1000.0, 1000.0])
        Array(1000.6931471805599, dtype=float64)
    """
    if isinstance(x, fw.Ragged):
        if axis is None:
            return logsumexp(_innermost(x), None, keepdims)
        return of_rows(x, lambda row: logsumexp(row, axis - 1, keepdims))
    array = _floats(x)
    top = fw.stop_gradient(fw.max(array, axis=axis, keepdims=True, initial=-fw.inf))
    top = fw.where(fw.isfinite(top), top, 0)
    total = fw.log(fw.sum(fw.exp(array - top), axis=axis, keepdims=True)) + top
    if keepdims:
        return total
    return fw.reshape(total, fw.sum(array, axis=axis).shape)


@fw.operation(static="axis")
def softmax(x: Any, axis: Any = None) -> Any:
    """Exponentials that add up to 1: of all elements, or along axes.

    Axis 1 of a Ragged is each row.

    Types: `x: t[..] -> t[..]`; integers in f64. Raises AxisError for an axis that is not there.
    Source: `scipy.special.softmax`.

        >>> fw.softmax([0.0, 0.0])
        Array([0.5, 0.5], dtype=float64)
    """
    if isinstance(x, fw.Ragged):
        if axis is None:
            return of_values(x, softmax)
        return of_rows(x, lambda row: softmax(row, axis - 1))
    array = _floats(x)
    top = fw.stop_gradient(fw.max(array, axis=axis, keepdims=True, initial=-fw.inf))
    parts = fw.exp(array - fw.where(fw.isfinite(top), top, 0))
    return parts / fw.sum(parts, axis=axis, keepdims=True)


@fw.operation()
def corr(rows: Any, other: Any) -> Any:
    """The correlation of each row with that of another Ragged."""
    return fw.map(_correlation, rows, other)


def _correlation(x: Any, y: Any) -> Any:
    dx, dy = x - fw.mean(x), y - fw.mean(y)
    return fw.sum(dx * dy) / fw.sqrt(fw.sum(dx * dx) * fw.sum(dy * dy))


@fw.operation()
def linear_fit(rows: Any, other: Any) -> Any:
    """The line through the points of each row."""
    found = fw.map(_fit, rows, other)
    return dict(zip(("intercept", "slope", "intercept_error", "slope_error"), found, strict=True))


def _fit(x: Any, y: Any) -> Any:
    n = fw.asarray(x.shape[0]).astype(fw.f64)
    sx, sy, sxx, sxy = fw.sum(x), fw.sum(y), fw.sum(x * x), fw.sum(x * y)
    delta = n * sxx - sx * sx
    intercept, slope = (sxx * sy - sx * sxy) / delta, (n * sxy - sx * sy) / delta
    return intercept, slope, fw.sqrt(sxx / delta), fw.sqrt(n / delta)


def of_values(rows: Any, function: Callable[[Any], Any]) -> Any:
    """A function of all values of a Ragged, cut into the same rows."""
    if isinstance(rows.values, fw.Ragged):
        return with_offsets(of_values(rows.values, function), rows.offsets)
    return with_offsets(function(rows.values), rows.offsets)


def _innermost(rows: Any) -> Any:
    return _innermost(rows.values) if isinstance(rows, fw.Ragged) else rows


def _floats(x: Any) -> Any:
    array = fw.asarray(x)
    return array if fw.isdtype(array.dtype, "real floating") else array.astype(fw.f64)
