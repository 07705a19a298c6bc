"""Windows: rows of an array that may overlap, given by where each begins and ends.

    slices(xs, starts, ends)          map (s, e => xs[s:e]) starts ends
    rolling(xs, 3)                    the last three elements up to each one
    rolling_by(times, xs, width)      the elements of the last `width` of time

Nothing of a window is stored: what maps over them reads the array.
"""

from __future__ import annotations

from typing import Any

import flatweave as fw
from flatweave.tables.keys import ascend, far, in_unit_of, one_length, plain, whole
from flatweave.tables.selection import one_of, worst

CLOSED = {  # the sides on which times equal to the ends of a window are searched
    "right": ("right", "right"), "left": ("left", "left"), "both": ("left", "right"),
    "neither": ("right", "left"),
}  # fmt: skip


@fw.operation()
def slices(xs: Any, starts: Any, ends: Any) -> Any:
    """Rows `xs[starts[i]:ends[i]]`, which may overlap. Maps over them fuse, and store none of them.

    Types: `xs: t[n, ..], starts: integer[k], ends: integer[k] ->` k rows. Raises IndexOutOfBounds
    unless `0 <= start <= end <= n`, ShapeError where there are more starts or ends.
    Source: Flatweave.

        >>> fw.slices([1, 2, 3, 4], [0, 1, 3], [2, 4, 3])
        Ragged([[1, 2], [2, 3, 4], []], dtype=int64)
    """
    array, first, last = fw.asarray(xs), fw.asarray(starts), fw.asarray(ends)
    one_length([first, last], "slices", "starts and ends")
    n = array.shape[0]
    fw.check((first >= 0) & (first <= last), "slice {0} begins at {1}, before 0 or after its end.",
             first, error=fw.IndexOutOfBounds, remedy=INSIDE)  # fmt: skip
    fw.check(last <= n, "slice {0} ends at {1}, after the end of the array.", last,
             error=fw.IndexOutOfBounds, remedy=INSIDE)  # fmt: skip
    return _cut(array, first, last)


INSIDE = "Bring the ends inside: fw.clip(ends, 0, n)."


def _cut(array: Any, starts: Any, ends: Any) -> Any:
    """Rows whose ends are known to be inside."""
    return fw.map(lambda start, end: array[start:end], starts, ends)


@fw.operation()
def rolling(xs: Any, size: Any, min_periods: Any = None) -> Any:
    """The window of the last `size` elements up to each one, cut at the start, as rows.

    Windows of fewer than `min_periods` elements are empty rows; by default that is `size`.

    Types: `xs: t[n, ..], size: integer ->` n rows. Raises ArgumentError for a size below 1.
    Source: `pandas.Series.rolling`.

        >>> fw.rolling([1, 2, 3, 4], 3)
        Ragged([[], [], [1, 2, 3], [2, 3, 4]], dtype=int64)
        >>> fw.sum(fw.rolling([1, 2, 3, 4], 3, min_periods=1), axis=1)
        Array([1, 3, 6, 9], dtype=int64)
    """
    array, length = fw.asarray(xs), whole(size, "the size of rolling")
    fw.check(length >= 1, "rolling needs windows of 1 element or more, got {0}.", length,
             remedy="Give the number of elements of a window.")  # fmt: skip
    least = length if min_periods is None else whole(min_periods, "min_periods of rolling")
    fw.check(least >= 0, "min_periods of rolling is negative: {0}.", least,
             remedy="Give the number of elements that a window has at least.")  # fmt: skip
    ends = fw.iota(array.shape[0]) + 1
    starts = fw.maximum(ends - length, 0)
    return _cut(array, fw.where(ends - starts < least, ends, starts), ends)


def rolling_by(times: Any, xs: Any, width: Any, closed: str = "right") -> Any:
    """The window of the elements whose time is at most `width` before that of each one, as rows.

    The window of the element at time t is `(t - width, t]`; `closed` is "right", "left", "both" or
    "neither". Elements of equal time are in the same windows.

    Types: `times: k[n], xs: t[n, ..], width: k ->` n rows. Raises ArgumentError for times that
    descend, for a negative width and for another `closed`, ShapeError for different lengths.
    Source: polars' `rolling`.

        >>> fw.rolling_by([0, 1, 1, 5], [1, 2, 3, 4], 2)
        Ragged([[1], [1, 2, 3], [1, 2, 3], [4]], dtype=int64)
    """
    one_of(closed, CLOSED, f"closed of rolling_by is no {closed!r}.")
    width = in_unit_of(times, width, "the width of rolling_by")
    return _rolling_by(xs, times, width, closed=closed)


@fw.operation(static="closed", name="rolling_by")
def _rolling_by(xs: Any, times: Any, width: Any, closed: str) -> Any:
    array = fw.asarray(xs)
    now, then, span = map(plain, (times, times - width, width))
    one_length([now, array], "rolling_by", "times and elements")
    ascend(now, "times of rolling_by")
    fw.check(fw.asarray(span) >= 0, "the width of rolling_by is negative, or NaN.",
             remedy="Give a width of 0 or more.")  # fmt: skip
    first, last = CLOSED[closed]
    starts = fw.searchsorted(now, then, side=first)
    if not fw.isdtype(then.dtype, "real floating"):  # where no integer is early enough, from 0 on
        room = far(now, fw.asarray(worst(now.dtype, is_min=False)).astype(now.dtype))
        starts = fw.where(room < span.astype(fw.u64), 0, starts)
    ends = fw.searchsorted(now, now, side=last)
    return _cut(array, fw.minimum(starts, ends), ends)
