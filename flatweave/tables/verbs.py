"""The verbs of ragged data: methods of Ragged, as maps, expansions and reads that fuse.

    combinations(rows, 2)     expand over all elements: those that follow in the row
    cartesian(a, b)           expand over the elements of a: the row of b
    pad_none(rows, n)         expand over the rows: n or more elements, missing after the end
    slices(xs, starts, ends)  map (s, e => xs[s:e]) starts ends: windows, which may overlap
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import flatweave as fw
from flatweave.tables.keys import ascend, column, far, in_unit_of, one_length, plain, whole
from flatweave.tables.nullable import Nullable, with_offsets
from flatweave.tables.numbering import run_lengths
from flatweave.tables.selection import corr, linear_fit, one_of, rank, softmax, top_k, worst

__all__ = [
    "argcartesian", "argcombinations", "argmax", "argmin", "cartesian", "combinations", "concat",
    "corr", "cut", "drop_none", "fill_none", "firsts", "flatten", "linear_fit", "local_index",
    "mask", "num", "pad_none", "rank", "run_lengths", "singletons", "softmax", "top_k",
]  # fmt: skip


def at(values: Any, index: Any) -> Any:
    """Elements of an array or a structure, or rows, at indices."""
    return values[index] if isinstance(values, fw.Ragged) else fw.gather(values, index)


def made(values: Any, lengths: Any) -> Any:
    """Rows of lengths that are known to fit."""
    zero = fw.full(1, fw.i64(0))
    return with_offsets(values, fw.concat([zero, fw.cumsum(lengths.astype(fw.i64))]))


def cut_alike(parts: tuple[Any, ...], lengths: Any) -> tuple[Any, ...]:
    """Several Ragged values that share offsets."""
    first = made(parts[0], lengths)
    return (first, *(with_offsets(part, first.offsets) for part in parts[1:]))


def num(rows: Any) -> Any:
    """The number of elements in each row."""
    return rows.lengths


def flatten(rows: Any) -> Any:
    """The elements of all rows."""
    return rows.values


@fw.operation(any_dtype=True)
def unflatten(values: Any, counts: Any) -> Any:
    """Rows of the elements of an array with these counts: `fw.ragged(values, lengths=counts)`.

    Types: `values: t[m], counts: integer[n] ->` n rows. Raises ShapeError where the counts do not
    add up to the number of values, NegativeExtentError for one below 0.
    Source: Awkward's `ak.unflatten`.

        >>> fw.unflatten([1, 2, 3], [2, 0, 1])
        Ragged([[1, 2], [], [3]], dtype=int64)
    """
    return fw.ragged(values, lengths=counts)


@fw.operation()
def local_index(rows: Any) -> Any:
    """The index of each element in its row."""
    values = fw.expand(lambda n: n, lambda n, k: k, rows.lengths)
    return with_offsets(values, rows.offsets)


def _ends(rows: Any) -> Any:
    """For each element where its row ends."""
    bounds = rows.offsets[:-1], rows.offsets[1:]
    return fw.expand(lambda e: e[1] - e[0], lambda e, k: e[1], bounds)


def _chosen(rows: Any, n: int, replacement: bool, who: str) -> tuple[tuple[Any, ...], Any]:
    """The indices among all values of every choice of n, and how many each row has."""
    if isinstance(n, bool) or not isinstance(n, int) or n < 1:
        raise fw.ArgumentError.here(
            f"{who} chooses 1 element or more, got {n!r}.", "Give the number as a Python int."
        )
    step = 0 if replacement else 1
    ends = _ends(rows)
    chosen: tuple[Any, ...] = (fw.iota(ends.shape[0]), ends)
    for _ in range(n - 1):
        chosen = fw.expand(
            lambda e: fw.maximum(e[-1] - e[-2] - step, 0),
            lambda e, k: (*e[:-1], e[-2] + step + k, e[-1]), chosen,
        )  # fmt: skip
    length = rows.lengths
    count = length
    for k in range(1, n):
        factor = length + k if replacement else length - k
        count = count * factor // (k + 1)
    return chosen[:-1], fw.where(length >= (1 if replacement else n), count, 0)


@fw.operation(static="n replacement", any_dtype=True)
def combinations(rows: Any, n: int, replacement: bool = False) -> Any:
    """Every choice of n elements of each row."""
    chosen, counts = _chosen(rows, n, replacement, "combinations")
    return cut_alike(tuple(at(rows.values, index) for index in chosen), counts)


@fw.operation(static="n replacement")
def argcombinations(rows: Any, n: int, replacement: bool = False) -> Any:
    """Every choice of n elements of each row, by their indices."""
    chosen, counts = _chosen(rows, n, replacement, "argcombinations")
    local = local_index(rows).values
    return cut_alike(tuple(local[index] for index in chosen), counts)


def _same_count(a: Any, b: Any, who: str) -> None:
    one, other = a.offsets.shape[0] - 1, b.offsets.shape[0] - 1
    fw.check(
        fw.asarray(one == other), f"{who} needs as many rows on both sides, got {{0}} and {{1}}.",
        one, other, error=fw.ShapeError, remedy="Cut both to as many rows, rows[:n].",
    )  # fmt: skip


def _pairs(a: Any, b: Any, who: str) -> tuple[Any, Any]:
    """The indices in the values of every pair of elements of a row, and the number of pairs."""
    _same_count(a, b, who)
    starts, lengths = b.offsets[:-1], b.lengths
    size = fw.expand(lambda e: e[0], lambda e, k: (e[1], e[2]), (a.lengths, starts, lengths))
    places = fw.expand(
        lambda e: e[2], lambda e, k: (e[0], e[1] + k), (fw.iota(size[0].shape[0]), *size)
    )
    return places, a.lengths * lengths


@fw.operation(any_dtype=True)
def cartesian(rows: Any, other: Any) -> Any:
    """Every element of a row with every one of the other's row."""
    (left, right), counts = _pairs(rows, other, "cartesian")
    return cut_alike((at(rows.values, left), at(other.values, right)), counts)


@fw.operation()
def argcartesian(rows: Any, other: Any) -> Any:
    """The same, by their indices."""
    (left, right), counts = _pairs(rows, other, "argcartesian")
    return cut_alike((local_index(rows).values[left], local_index(other).values[right]), counts)


@fw.operation(static="clip", any_dtype=True)
def pad_none(rows: Any, n: Any, clip: bool = False) -> Any:
    """Rows of at least n elements, or of exactly n."""
    least = fw.asarray(n)
    fw.check(least >= 0, "pad_none needs rows of 0 elements or more, got {0}.", least,
             remedy="Give the number of elements that a row has at least.")  # fmt: skip
    lengths = rows.lengths
    wanted = fw.where(lengths == lengths, least, 0) if clip else fw.maximum(lengths, least)
    places, inside = fw.expand(
        lambda e: e[2], lambda e, k: (e[0] + k, k < e[1]), (rows.offsets[:-1], lengths, wanted)
    )
    return made(_known_at(rows.values, places, inside), wanted)


def _known_at(values: Any, places: Any, inside: Any) -> Any:
    """The elements at these indices, missing where an index is not inside."""
    if isinstance(values, Nullable):
        found = _known_at(values.values, places, inside)
        there = fw.gather(values.valid, fw.where(inside, places, -1), default=False)
        return Nullable(found.values, there)
    if isinstance(values, fw.Ragged):
        filler = fw.where(inside, places, 0)
        return Nullable(fw.map(lambda p, i: values[p][: fw.where(i, values.lengths[p], 0)],
                               filler, inside), inside)  # fmt: skip
    return Nullable(_read(values, fw.where(inside, places, -1)), inside)


def _read(values: Any, places: Any) -> Any:
    """Elements of each array of a structure, 0 for the index -1."""
    if isinstance(values, dict):
        return {name: _read(part, places) for name, part in values.items()}
    if isinstance(values, tuple):
        parts = [_read(part, places) for part in values]
        return type(values)(*parts) if hasattr(values, "_fields") else tuple(parts)
    if dataclasses.is_dataclass(values) and not isinstance(values, type):
        names = [field.name for field in dataclasses.fields(values)]
        found = {name: _read(getattr(values, name), places) for name in names}
        return dataclasses.replace(values, **found)
    return fw.gather(values, places, default=0)


def fill_none(rows: Any, value: Any) -> Any:
    """The rows with a value where an element is missing."""
    if isinstance(rows.values, fw.Ragged | Nullable):
        return with_offsets(rows.values.fill_none(value), rows.offsets)
    return rows


@fw.operation(any_dtype=True)
def drop_none(rows: Any) -> Any:
    """The rows without elements that are missing."""
    if isinstance(rows.values, fw.Ragged):
        return with_offsets(drop_none(rows.values), rows.offsets)
    if not isinstance(rows.values, Nullable):
        return rows
    valid = with_offsets(rows.values.valid, rows.offsets)
    return made(rows.values.drop_none(), fw.sum(valid, axis=1))


@fw.operation(any_dtype=True)
def firsts(rows: Any) -> Any:
    """The first element of each row."""
    return _known_at(rows.values, rows.offsets[:-1], rows.lengths > 0)


@fw.operation(any_dtype=True)
def singletons(rows: Any) -> Any:
    """Each element as a row of one element."""
    if isinstance(rows.values, fw.Ragged):
        return with_offsets(singletons(rows.values), rows.offsets)
    if isinstance(rows.values, Nullable):
        return with_offsets(rows.values.singletons(), rows.offsets)
    total = fw.expand(lambda n: n, lambda n, k: k, rows.lengths).shape[0]
    return with_offsets(with_offsets(rows.values, fw.iota(total + 1)), rows.offsets)


@fw.operation(any_dtype=True)
def mask(rows: Any, m: Any) -> Any:
    """Elements, or rows, missing where a mask is False."""
    if not isinstance(m, fw.Ragged):
        return Nullable(rows, m)
    _same_count(rows, m, "mask")
    fw.check(
        rows.lengths == m.lengths, "the mask of row {0} has {1} elements, and the row others.",
        m.lengths, error=fw.ShapeError, remedy="Compare the rows themselves: rows > 0.",
    )  # fmt: skip
    values, flags = rows.values, m.values
    if isinstance(values, fw.Ragged) and isinstance(flags, fw.Ragged):
        return with_offsets(mask(values, flags), rows.offsets)
    if isinstance(values, Nullable):
        return with_offsets(Nullable(values.values, values.valid & flags), rows.offsets)
    return with_offsets(Nullable(values, flags), rows.offsets)


def argmin(rows: Any, axis: Any, keepdims: bool, initial: Any) -> Any:
    """Where the least element is."""
    return _extreme(rows, axis, keepdims, initial, is_min=True)


def argmax(rows: Any, axis: Any, keepdims: bool, initial: Any) -> Any:
    """Where the greatest element is."""
    return _extreme(rows, axis, keepdims, initial, is_min=False)


@fw.operation(static="axis keepdims is_min")
def _extreme(rows: Any, axis: Any, keepdims: bool, initial: Any, is_min: bool) -> Any:
    function = fw.argmin if is_min else fw.argmax
    if axis not in (1, -1) or isinstance(rows.values, fw.Ragged):
        return function(rows, axis=axis, keepdims=keepdims)
    values, known = rows, rows.lengths > 0
    if isinstance(rows.values, Nullable):
        values = with_offsets((rows.values.values, rows.values.valid), rows.offsets)
        known = fw.any(with_offsets(rows.values.valid, rows.offsets), axis=1)
    start = worst(rows.dtype if values is rows else rows.values.dtype, is_min)
    better: Callable[[Any, Any], Any] = fw.less if is_min else fw.greater

    def first(a: Any, b: Any) -> Any:
        (v, i, *has), (w, j, *there) = a, b
        ties = (v == w) | ((v != v) & (w != w))
        wins = better(w, v) | ((w != w) & (v == v)) | (ties & (j < i))
        if not has:
            return fw.where(wins, w, v), fw.where(wins, j, i)
        wins = there[0] & (~has[0] | wins)
        return fw.where(wins, w, v), fw.where(wins, j, i), has[0] | there[0]

    def of_row(row: Any) -> Any:
        x, *there = row if isinstance(row, tuple) else (row,)
        begin = (x.dtype.type(start), 2**63 - 1, *(False for _ in there))
        return fw.reduce(first, begin, (x, fw.iota(x.shape[0]), *there), check=False)[1]

    index = fw.map(of_row, values)
    if keepdims:
        index, known = fw.expand_dims(index, 1), fw.expand_dims(known, 1)
    if initial is not None:
        return fw.where(known, index, initial)
    return Nullable(fw.where(known, index, 0), known)


@fw.operation(any_dtype=True)
def concat(rows: Any, other: Any) -> Any:
    """Each row, then the same row of another Ragged."""
    return fw.concat([rows, other], axis=1)


@fw.operation(any_dtype=True)
def cut(rows: Any, counts: Any) -> Any:
    """Rows cut into rows."""
    _same_count(rows, counts, "cut")
    fw.check(fw.sum(counts, axis=1) == rows.lengths, "the counts of row {0} add up to {1}, and the"
             " row has others.", fw.sum(counts, axis=1), error=fw.ShapeError,
             remedy="Give counts that add up to rows.lengths.")  # fmt: skip
    inner = fw.ragged(rows.values, lengths=counts.values)
    return with_offsets(inner, counts.offsets)


@fw.operation(any_dtype=True)
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


@fw.operation(any_dtype=True)
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
    times, _ = column(times)
    width = in_unit_of(times, width, "the width of rolling_by")
    return _rolling_by(xs, times, width, closed=closed)


CLOSED = {  # the sides on which times equal to the ends of a window are searched
    "right": ("right", "right"), "left": ("left", "left"), "both": ("left", "right"),
    "neither": ("right", "left"),
}  # fmt: skip


@fw.operation(static="closed", name="rolling_by", any_dtype=True)
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
