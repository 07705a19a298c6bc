"""Arrays put together, cut and turned, under NumPy's names.

    hstack([a, b])     concat([a, b], axis=1)

Arrays with more elements before and after them, under NumPy's name.

    pad(x, 2, "edge")  concat [generate 2 (i => x[clip(i - 2, 0, n - 1)]), x, ..]
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import flatweave as fw
from flatweave.numpy_functions import whole


@fw.operation(any_dtype=True)
def ravel(x: Any) -> fw.Array:
    """The elements in row-major order, along one axis; of a Ragged the values of all rows.

    Types: `x: t[..] -> t[n]`. Raises ArgumentError for what is no array. Source: `numpy.ravel`.

        >>> fw.ravel([[1, 2], [3, 4]])
        Array([1, 2, 3, 4], dtype=int64)
    """
    while isinstance(x, fw.Ragged):
        x = x.values
    return fw.reshape(fw.asarray(x), -1)


@fw.operation(any_dtype=True, static="axis1 axis2")
def swapaxes(x: Any, axis1: int, axis2: int) -> fw.Array:
    """The array with two axes exchanged.

    Types: `x: t[.., m, .., n, ..] -> t[.., n, .., m, ..]`. Raises AxisError for an axis that is not
    there. Source: `numpy.swapaxes`.

        >>> fw.swapaxes([[1, 2, 3]], 0, 1).shape
        (3, 1)
    """
    array = fw.asarray(x)
    (first,), (second,) = (fw.normalize_axes(array, axis, "swapaxes") for axis in (axis1, axis2))
    exchanged = {first: second, second: first}
    return fw.transpose(array, tuple(exchanged.get(k, k) for k in range(array.ndim)))


def _of_rank(x: Any, least: int) -> fw.Array:
    """An array of `least` axes or more, new ones in front."""
    array = fw.asarray(x)
    for _ in range(least - array.ndim):
        array = fw.expand_dims(array, 0)
    return array


def _each_of_rank(arrays: Sequence[Any], least: int) -> Any:
    """The array; of several a tuple."""
    found = tuple(_of_rank(x, least) for x in arrays)
    return found[0] if len(found) == 1 else found


@fw.operation(any_dtype=True)
def atleast_1d(*arrays: Any) -> Any:
    """The array, or a number as an array of one element; of several a tuple.

    Types: `t[..] -> t[..]`, for each. Raises ArgumentError for what is no array.
    Source: `numpy.atleast_1d`.

        >>> fw.atleast_1d(3)
        Array([3], dtype=int64)
    """
    return _each_of_rank(arrays, 1)


@fw.operation(any_dtype=True)
def atleast_2d(*arrays: Any) -> Any:
    """The array, or what has one axis as a row of a matrix; of several a tuple.

    Types: `t[..] -> t[..]`, for each. Raises ArgumentError for what is no array.
    Source: `numpy.atleast_2d`.

        >>> fw.atleast_2d([1, 2])
        Array([[1, 2]], dtype=int64)
    """
    return _each_of_rank(arrays, 2)


def _each(arrays: Any, least: int, who: str) -> list[fw.Array]:
    """The arrays of a list, each of `least` axes or more."""
    if isinstance(arrays, fw.Array) and arrays.ndim:
        arrays = fw.unstack(arrays)
    if not isinstance(arrays, list | tuple) or not arrays:
        raise fw.ArgumentError.here(
            f"{who} needs a list of at least one array.", f"Call it as fw.{who}([xs, ys])."
        )
    return [_of_rank(x, least) for x in arrays]


@fw.operation(any_dtype=True)
def hstack(arrays: Sequence[Any]) -> fw.Array:
    """Arrays joined along axis 1, or along axis 0 if they have one axis.

    Types: a list of `t[m, k, ..]`, `t[m, l, ..]`, .. `-> t[m, k + l + .., ..]`. Raises ShapeError
    where other extents differ, or ranks do; ArgumentError for an empty list.
    Source: `numpy.hstack`.

        >>> fw.hstack([[[1], [2]], [[3], [4]]])
        Array([[1, 3],
               [2, 4]], dtype=int64)
    """
    parts = _each(arrays, 1, "hstack")
    return fw.concat(parts, axis=0 if parts[0].ndim == 1 else 1)


@fw.operation(any_dtype=True)
def vstack(arrays: Sequence[Any]) -> fw.Array:
    """Arrays below each other: along axis 0, those of one axis as rows.

    Types: a list of `t[m, ..]`, `t[n, ..]`, .. `-> t[m + n + .., ..]`. Raises ShapeError where
    other extents differ, or ranks do; ArgumentError for an empty list. Source: `numpy.vstack`.

        >>> fw.vstack([[1, 2], [3, 4]])
        Array([[1, 2],
               [3, 4]], dtype=int64)
    """
    return fw.concat(_each(arrays, 2, "vstack"))


@fw.operation(any_dtype=True)
def dstack(arrays: Sequence[Any]) -> fw.Array:
    """Arrays joined along axis 2; those of one axis are rows, those of two have one element there.

    Types: a list of `t[m, n, k]`, `t[m, n, l]`, .. `-> t[m, n, k + l + ..]`. Raises ShapeError
    where other extents differ; ArgumentError for an empty list. Source: `numpy.dstack`.

        >>> fw.dstack([[1, 2], [3, 4]])
        Array([[[1, 3],
                [2, 4]]], dtype=int64)
    """
    return _side_by_side(_each(arrays, 2, "dstack"), 2)


@fw.operation(any_dtype=True)
def column_stack(arrays: Sequence[Any]) -> fw.Array:
    """Columns joined into a matrix; matrices among them stay as they are.

    Types: a list of `t[n]`, `t[n, k]`, .. `-> t[n, 1 + k + ..]`. Raises ShapeError where lengths
    differ, ArgumentError for an empty list. Source: `numpy.column_stack`.

        >>> fw.column_stack([[1, 2], [3, 4]])
        Array([[1, 3],
               [2, 4]], dtype=int64)
    """
    return _side_by_side(_each(arrays, 1, "column_stack"), 1)


def _side_by_side(parts: Sequence[Any], axis: int) -> fw.Array:
    """Arrays joined along their last axis, of which those that have one axis less are elements."""
    if all(x.ndim == axis for x in parts):
        return fw.stack(parts, axis=axis)
    return fw.concat([fw.expand_dims(x, axis) if x.ndim == axis else x for x in parts], axis=axis)


@fw.operation(any_dtype=True, structured="nested")
def block(nested: Any) -> fw.Array:
    """Arrays in nested lists joined: those of the innermost lists along the last axis, what they
    give along the axis before it, and so on.

    Types: nested lists of one depth of `t[..] -> t[..]`. Raises ShapeError where other extents
    differ, ArgumentError for an empty list and for lists of several depths. Source: `numpy.block`.

        >>> fw.block([[1, fw.asarray([2, 3])], [fw.asarray([4, 5]), 6]])
        Array([[1, 2, 3],
               [4, 5, 6]], dtype=int64)
    """
    depth, rank = _depth_and_rank(nested)
    return _joined(nested, -depth, max(depth, rank))


def _depth_and_rank(nested: Any) -> tuple[int, int]:
    """How deep lists are, and the most axes of an array in them."""
    if not isinstance(nested, list):
        return 0, fw.asarray(nested).ndim
    found = [_depth_and_rank(part) for part in nested]
    if len({depth for depth, _ in found}) != 1:
        raise fw.ArgumentError.here(
            "block needs nested lists of one depth, none of them empty.",
            "Put single arrays into lists: fw.block([[a, b], [c]]).",
        )
    return found[0][0] + 1, max(rank for _, rank in found)


def _joined(nested: Any, axis: int, rank: int) -> fw.Array:
    if not isinstance(nested, list):
        return _of_rank(nested, rank)
    return fw.concat([_joined(part, axis + 1, rank) for part in nested], axis=axis)


@fw.operation(any_dtype=True, static="axis")
def append(x: Any, values: Any, axis: Any = None) -> fw.Array:
    """The array followed by values, along `axis`, or both flattened.

    Types: `x: t[m, ..], values: t[n, ..] -> t[m + n, ..]`. Raises ShapeError where other extents
    differ, AxisError for an axis that is not there. Source: `numpy.append`.

        >>> fw.append([1, 2], 3)
        Array([1, 2, 3], dtype=int64)
    """
    return fw.concat([fw.asarray(x), fw.asarray(values)], axis)


@fw.operation(any_dtype=True, static="indices_or_sections axis")
def split(x: Any, indices_or_sections: Any, axis: int = 0) -> list[fw.Array]:
    """The array in a number of equal parts, or cut before each index of a list.

    Types: `x: t[.., n, ..] ->` a list of `t[.., k, ..]`. Raises ShapeError where the parts cannot
    be of one length, AxisError for an axis that is not there, ArgumentError for a number of parts
    below 1. Source: `numpy.split`.

        >>> fw.split([1, 2, 3, 4], 2)
        [Array([1, 2], dtype=int64), Array([3, 4], dtype=int64)]
    """
    array = fw.asarray(x)
    (at,) = fw.normalize_axes(array, axis, "split")
    n = array.shape[at]
    if isinstance(indices_or_sections, tuple):
        cuts = list(indices_or_sections)
    else:
        count = whole(indices_or_sections, "the number of parts of split", least=1)
        fw.check(
            n % count == 0,
            f"{{0}} elements are left over when an axis is split into {count} parts.", n % count,
            error=fw.ShapeError, remedy="Give the indices to cut at.",
        )  # fmt: skip
        cuts = [n // count * k for k in range(1, count)]
    ends = zip([None, *cuts], [*cuts, None], strict=True)
    return [array[(*[slice(None)] * at, slice(start, end))] for start, end in ends]


@fw.operation(any_dtype=True)
def fliplr(x: Any) -> fw.Array:
    """The columns, along axis 1, from last to first.

    Types: `x: t[m, n, ..] -> t[m, n, ..]`. Raises AxisError for fewer than two axes.
    Source: `numpy.fliplr`.

        >>> fw.fliplr([[1, 2], [3, 4]])
        Array([[2, 1],
               [4, 3]], dtype=int64)
    """
    return fw.flip(x, axis=1)


@fw.operation(any_dtype=True)
def flipud(x: Any) -> fw.Array:
    """The rows, along axis 0, from last to first.

    Types: `x: t[m, ..] -> t[m, ..]`. Raises AxisError for a number. Source: `numpy.flipud`.

        >>> fw.flipud([[1, 2], [3, 4]])
        Array([[3, 4],
               [1, 2]], dtype=int64)
    """
    return fw.flip(x, axis=0)


@fw.operation(static="mode", numbers="pad_width constant_values", any_dtype=True)
def pad(x: Any, pad_width: Any, mode: str = "constant", constant_values: Any = None) -> fw.Array:
    """The array with more elements before and after it, along each axis.

    `pad_width` is a number for all of them, a pair (before, after), a pair for each axis, or a
    dict of these by axis. What is added is `constant_values`, given in the same ways, or, by
    NumPy's names of `mode`, the nearest element ("edge"), or the array mirrored at its edge
    ("symmetric"), at its last element ("reflect"), or begun anew ("wrap").

    Types: `x: t[n, ..] -> t[before + n + after, ..]`. Raises ArgumentError for another mode and
    for constants where the mode takes none,
    NegativeExtentError for a width below 0, ShapeError where there is no element to repeat,
    OverflowError and DTypeError for a constant that is no value of the dtype of `x`.
    Source: `numpy.pad`.

        >>> fw.pad([1, 2, 3], (1, 2))
        Array([0, 1, 2, 3, 0, 0], dtype=int64)
        >>> fw.pad([1, 2, 3], 2, mode="reflect")
        Array([3, 2, 1, 2, 3, 2, 1], dtype=int64)
    """
    array = fw.asarray(x)
    if mode != "constant" and mode not in PLACES:
        names = ", ".join(f'"{name}"' for name in PLACES)
        raise fw.ArgumentError.here(
            f"{mode!r} is not a mode of pad.", f'Use one of "constant", {names}.'
        )
    if mode != "constant" and constant_values is not None:
        raise fw.ArgumentError.here(
            f"the mode {mode!r} of pad takes no constant_values.",
            'Leave them out, or use mode="constant".',
        )
    _must_be_lengths(pad_width)
    widths = _pairs(pad_width, array, "width")
    if mode != "constant":
        _must_have_elements(array, widths)
    constants = _pairs(0 if constant_values is None else constant_values, array, "constant")
    fillers = [[fw.replace(fw.zeros((), array.dtype), ..., c) for c in pair] for pair in constants]
    def outside(at: Sequence[Any]) -> fw.Array:
        if mode == "constant":
            return _filler(array, fillers, at)
        return array[tuple(map(PLACES[mode], at, array.shape))]

    def element(*i: Any) -> fw.Array:
        at = [k - before for k, (before, _) in zip(i, widths, strict=True)]
        tests = [(k >= 0) & (k < n) for k, n in zip(at, array.shape, strict=True)]
        inside = functools.reduce(operator.and_, tests)
        return fw.cond(inside, lambda: array[tuple(at)], lambda: outside(at))

    shape = [sum(width, n) for width, n in zip(widths, array.shape, strict=True)]
    return fw.generate(tuple(shape), element) if shape else array


def _must_be_lengths(widths: Any) -> None:
    """Refuse negative widths."""
    if isinstance(widths, list | tuple | Mapping):
        for width in widths.values() if isinstance(widths, Mapping) else widths:
            _must_be_lengths(width)
    else:
        fw.check(
            fw.greater_equal(widths, 0), "a width of pad must not be negative, got {0}.", widths,
            error=fw.NegativeExtentError, remedy="Use 0 to add nothing.",
        )  # fmt: skip


def _pairs(given: Any, array: Any, what: str) -> list[tuple[Any, Any]]:
    """The values for before and after the array, along each axis."""
    rank, nested = array.ndim, list | tuple
    if isinstance(given, Mapping):
        axes = fw.normalize_axes(array, tuple(given), "pad")
        own = dict(zip(axes, given.values(), strict=True))
        rows: Any = [own.get(axis, 0) for axis in range(rank)]
    else:
        is_row = isinstance(given, nested) and not any(isinstance(row, nested) for row in given)
        rows = given if isinstance(given, nested) and not is_row else [given] * rank
    pairs = [row if isinstance(row, nested) else [row] for row in rows]
    if len(pairs) == 1:
        pairs = pairs * rank
    if len(pairs) != rank or any(len(pair) not in (1, 2) for pair in pairs):
        room = "1 axis" if rank == 1 else f"{rank} axes"
        sizes = ", ".join(str(len(pair)) for pair in pairs)
        raise fw.ArgumentError.here(
            f"the {what} of pad does not fit {room}: it has parts of {sizes} numbers.",
            "Give a number, a pair (before, after), or such a pair for each axis.",
        )
    return [(pair[0], pair[-1]) for pair in pairs]


def _filler(array: fw.Array, fillers: Any, at: Sequence[Any]) -> fw.Array:
    """A constant before or after an array; later axes decide at its corners."""
    found = fw.zeros((), array.dtype)
    for (before, behind), k, n in zip(fillers, at, array.shape, strict=True):
        found = fw.where(k < 0, before, fw.where(k >= n, behind, found))
    return found


def _must_have_elements(array: fw.Array, widths: Any) -> None:
    for n, (before, behind) in zip(array.shape, widths, strict=True):
        fw.check(
            fw.bitwise_or(n > 0, before + behind == 0), "pad has no element to repeat.",
            error=fw.ShapeError, remedy='Use mode="constant".',
        )  # fmt: skip


def _symmetric(i: Any, n: Any) -> fw.Array:
    turn = i % (2 * n)
    return fw.where(turn < n, turn, 2 * n - 1 - turn)


def _reflected(i: Any, n: Any) -> fw.Array:
    period = fw.maximum(2 * n - 2, 1)
    turn = i % period
    return fw.where(turn < n, turn, period - turn)


PLACES: dict[str, Callable[[Any, Any], fw.Array]] = {
    "edge": lambda i, n: fw.minimum(fw.maximum(i, 0), n - 1),
    "reflect": _reflected, "symmetric": _symmetric, "wrap": lambda i, n: i % n,
}  # fmt: skip
"""Where the element at `i` comes from, of an axis of `n`."""
