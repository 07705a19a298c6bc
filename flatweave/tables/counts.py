"""How often values occur, runs of equal ones, and folds by a number for each element.

    value_counts([3, 1, 3])          ([1, 3], [1, 2])
    run_lengths([5, 5, 7])           ([5, 7], [2, 1])
    segment_sum(x, ids)              reduce_by_index zeros add 0 ids x
"""

from __future__ import annotations

from typing import Any

import flatweave as fw
from flatweave.tables.selection import changed, of_rows, worst


@fw.operation()
def value_counts(x: Any) -> Any:
    """The different values, ascending, and how often each occurs: (values, counts). All NaN are
    one value, and the last.

    Types: `x: t[..] -> t[k], i64[k]`. Raises ArgumentError for what is no array.
    Source: `pandas.Series.value_counts`.

        >>> fw.value_counts([3, 1, 3])
        (Array([1, 3], dtype=int64), Array([1, 2], dtype=int64))
    """
    return fw.unique(x, return_counts=True)


@fw.operation(static="axis")
def n_unique(x: Any, axis: int | None = None) -> Any:
    """How many different values there are, of all or along an axis. All NaN are one value.

    Axis 1 of a Ragged is each row.

    Types: `x: t[..] -> i64[..]`, without the axis gone along. Raises AxisError for an axis that is
    not there. Source: polars' `n_unique`.

        >>> fw.n_unique([3, 1, 3])
        Array(2, dtype=int64)
        >>> fw.n_unique(fw.ragged([[1, 1], [], [2, 3]]), axis=1)
        Array([1, 0, 2], dtype=int64)
    """
    if isinstance(x, fw.Ragged):
        if axis is None:
            return n_unique(x.values)
        return of_rows(x, lambda row: n_unique(row, axis - 1 if axis > 0 else axis))
    array = fw.asarray(x)
    if axis is None or array.ndim == 1:
        return fw.asarray(fw.unique(array).shape[0])
    moved = fw.moveaxis(array, axis, -1)
    flat = fw.reshape(moved, (-1, moved.shape[-1]))
    return fw.reshape(fw.map(lambda line: fw.sum(changed(fw.sort(line))), flat), moved.shape[:-1])


@fw.operation()
def run_lengths(x: Any) -> Any:
    """Runs of equal elements: (values, lengths). NaN is equal to NaN. Of a Ragged each row.

    Types: `x: t[n] -> t[k], i64[k]`. Raises ShapeError for an array of another rank.
    Source: Awkward's `ak.run_lengths`.

        >>> fw.run_lengths([5, 5, 7, 5])
        (Array([5, 7, 5], dtype=int64), Array([2, 1, 1], dtype=int64))
    """
    if isinstance(x, fw.Ragged):
        return of_rows(x, run_lengths)
    array = fw.asarray(x)
    begins = changed(array)
    n = array.shape[0]
    places = fw.iota(n)[begins]
    return array[places], fw.diff(places, append=n)


@fw.operation()
def segment_sum(data: Any, segment_ids: Any, num_segments: Any = None) -> Any:
    """The sum of the elements, or rows, of each segment, as `jax.ops.segment_sum`.

    There are `num_segments` of them, by default one more than the greatest id; ids outside are
    dropped, negative ones, too.

    Types: `data: t[n, ..], segment_ids: integer[n] -> t[k, ..]`. Raises ShapeError where the
    lengths differ, NegativeExtentError for a negative number of segments.
    Source: `jax.ops.segment_sum`.

        >>> fw.segment_sum([1, 2, 3], [0, 2, 0])
        Array([4, 0, 2], dtype=int64)
    """
    return _segments(fw.add, 0, data, segment_ids, num_segments)


@fw.operation()
def segment_prod(data: Any, segment_ids: Any, num_segments: Any = None) -> Any:
    """The product of the elements, or rows, of each segment; everything else is as for
    `segment_sum`.

    Types: `data: t[n, ..], segment_ids: integer[n] -> t[k, ..]`. Raises as `segment_sum`.
    Source: `jax.ops.segment_prod`.

        >>> fw.segment_prod([2, 3, 4], [0, 2, 0])
        Array([8, 1, 3], dtype=int64)
    """
    return _segments(fw.mul, 1, data, segment_ids, num_segments)


@fw.operation()
def segment_max(data: Any, segment_ids: Any, num_segments: Any = None) -> Any:
    """The greatest element of each segment, the dtype's minimum for an empty one; everything else
    is as for `segment_sum`.

    Types: `data: t[n, ..], segment_ids: integer[n] -> t[k, ..]`. Raises as `segment_sum`.
    Source: `jax.ops.segment_max`.

        >>> fw.segment_max([1.0, 2.0, 3.0], [0, 2, 0])
        Array([  3., -inf,   2.], dtype=float64)
    """
    start = worst(fw.asarray(data).dtype, is_min=False)
    return _segments(fw.maximum, start, data, segment_ids, num_segments)


@fw.operation()
def segment_min(data: Any, segment_ids: Any, num_segments: Any = None) -> Any:
    """The least element of each segment, the dtype's maximum for an empty one; everything else
    is as for `segment_sum`.

    Types: `data: t[n, ..], segment_ids: integer[n] -> t[k, ..]`. Raises as `segment_sum`.
    Source: `jax.ops.segment_min`.

        >>> fw.segment_min([1.0, 2.0, 3.0], [0, 2, 0])
        Array([ 1., inf,  2.], dtype=float64)
    """
    start = worst(fw.asarray(data).dtype, is_min=True)
    return _segments(fw.minimum, start, data, segment_ids, num_segments)


def _segments(op: Any, start: Any, data: Any, ids: Any, count: Any) -> Any:
    array, index = fw.asarray(data), fw.asarray(ids)
    if count is None:
        count = fw.max(index.astype(fw.i64), initial=-1) + 1
    bins = fw.full((count, *array.shape[1:]), array.dtype.type(start))
    return fw.reduce_by_index(bins, op, start, index, array)
