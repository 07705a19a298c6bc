"""Arrays put together, cut, padded and turned, under NumPy's names.

    hstack([a, b])     concat([a, b], axis=1)
    pad(x, 2, "edge")  generate (n + 4) (i => x[clip(i - 2, 0, n - 1)])
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from flatweave.base.errors import ArgumentError, ShapeError
from flatweave.base.source import user_location
from flatweave.frontend.arrays.joining import concat
from flatweave.frontend.arrays.shapes import axis_of, expand_dims, reshape, transpose
from flatweave.frontend.arrays.sources import full
from flatweave.frontend.call.operation import operation
from flatweave.frontend.complex.rules import either, for_complex
from flatweave.frontend.elements.elementwise import maximum, minimum
from flatweave.frontend.elements.scalars import where
from flatweave.frontend.functions.generate import generate
from flatweave.frontend.standard.arrangement import flip
from flatweave.frontend.standard.norms import diagonal as matrix_diagonal
from flatweave.frontend.trace import extents
from flatweave.frontend.trace.faults import check_message
from flatweave.frontend.trace.sizes import check
from flatweave.frontend.trace.tracers import as_tracer
from flatweave.frontend.values.array import describe


@for_complex
@operation()
def ravel(x: Any) -> Any:
    """The elements in row-major order, along one axis.

    Types: `x: t[..] -> t[n]`. Raises ArgumentError for what is no array.

        >>> fw.ravel([[1, 2], [3, 4]])
        Array([1, 2, 3, 4], dtype=int64)
    """
    return reshape(either(x, "x of ravel"), -1)


@for_complex
@operation(static="axis1 axis2")
def swapaxes(x: Any, axis1: int, axis2: int) -> Any:
    """The array with two axes in each other's place.

    Types: `x: t[.., m, .., n, ..] -> t[.., n, .., m, ..]`. Raises AxisError for an axis that is not
    there.

        >>> fw.swapaxes([[1, 2, 3]], 0, 1).shape
        (3, 1)
    """
    array = either(x, "x of swapaxes")
    first, second = (axis_of(array, axis, "swapaxes") for axis in (axis1, axis2))
    order = list(range(array.ndim))
    order[first], order[second] = second, first
    return transpose(array, tuple(order))


def _of_rank(x: Any, least: int, who: str) -> Any:
    """An array of `least` axes or more, new ones in front."""
    array = either(x, f"an array of {who}")
    for _ in range(least - array.ndim):
        array = expand_dims(array, 0)
    return array


@for_complex
@operation()
def atleast_1d(x: Any) -> Any:
    """The array, or a number as an array of one element.

    Types: `x: t[..] -> t[..]`. Raises ArgumentError for what is no array.

        >>> fw.atleast_1d(3)
        Array([3], dtype=int64)
    """
    return _of_rank(x, 1, "atleast_1d")


@for_complex
@operation()
def atleast_2d(x: Any) -> Any:
    """The array, or what has one axis as a row of a matrix.

    Types: `x: t[..] -> t[..]`. Raises ArgumentError for what is no array.

        >>> fw.atleast_2d([1, 2])
        Array([[1, 2]], dtype=int64)
    """
    return _of_rank(x, 2, "atleast_2d")


def _several(arrays: Any, who: str) -> Sequence[Any]:
    if not isinstance(arrays, list | tuple) or not arrays:
        raise ArgumentError(
            f"{who} needs a list of at least one array.",
            where=user_location(), remedy=f"Call it as fw.{who}([xs, ys]).",
        )  # fmt: skip
    return arrays


@for_complex
@operation()
def hstack(arrays: Sequence[Any]) -> Any:
    """Arrays beside each other: along axis 1, those of one axis end to end.

    Types: a list of `t[m, k, ..]`, `t[m, l, ..]`, .. `-> t[m, k + l + .., ..]`. Raises ShapeError
    where other extents differ, or ranks do; ArgumentError for an empty list.

        >>> fw.hstack([[[1], [2]], [[3], [4]]])
        Array([[1, 3],
               [2, 4]], dtype=int64)
    """
    parts = [_of_rank(x, 1, "hstack") for x in _several(arrays, "hstack")]
    return concat(parts, axis=0 if parts[0].ndim == 1 else 1)


@for_complex
@operation()
def vstack(arrays: Sequence[Any]) -> Any:
    """Arrays below each other: along axis 0, those of one axis as rows.

    Types: a list of `t[m, ..]`, `t[n, ..]`, .. `-> t[m + n + .., ..]`. Raises ShapeError where
    other extents differ, or ranks do; ArgumentError for an empty list.

        >>> fw.vstack([[1, 2], [3, 4]])
        Array([[1, 2],
               [3, 4]], dtype=int64)
    """
    return concat([_of_rank(x, 2, "vstack") for x in _several(arrays, "vstack")], axis=0)


@for_complex
@operation()
def column_stack(arrays: Sequence[Any]) -> Any:
    """Columns beside each other as a matrix; matrices among them stay as they are.

    Types: a list of `t[n]`, `t[n, k]`, .. `-> t[n, 1 + k + ..]`. Raises ShapeError where lengths
    differ, ArgumentError for an empty list.

        >>> fw.column_stack([[1, 2], [3, 4]])
        Array([[1, 3],
               [2, 4]], dtype=int64)
    """
    parts = [_of_rank(x, 1, "column_stack") for x in _several(arrays, "column_stack")]
    return concat([expand_dims(x, 1) if x.ndim == 1 else x for x in parts], axis=1)


@for_complex
@operation(static="axis")
def append(x: Any, values: Any, axis: Any = None) -> Any:
    """The array with values behind it, along `axis`, or both in row-major order.

    Types: `x: t[m, ..], values: t[n, ..] -> t[m + n, ..]`. Raises ShapeError where other extents
    differ, AxisError for an axis that is not there.

        >>> fw.append([1, 2], 3)
        Array([1, 2, 3], dtype=int64)
    """
    parts = [either(x, "x of append"), either(values, "the values of append")]
    return concat([reshape(part, -1) for part in parts]) if axis is None else concat(parts, axis)


@for_complex
@operation(static="indices_or_sections axis")
def split(x: Any, indices_or_sections: Any, axis: int = 0) -> Any:
    """The array in so many parts of one length, or cut in front of each index of a list.

    Types: `x: t[.., n, ..] ->` a list of `t[.., k, ..]`. Raises ShapeError where the parts cannot
    be of one length, AxisError for an axis that is not there.

        >>> fw.split([1, 2, 3, 4], 2)
        [Array([1, 2], dtype=int64), Array([3, 4], dtype=int64)]
    """
    array = either(x, "x of split")
    at = axis_of(array, axis, "split")
    n = array.shape[at]
    if isinstance(indices_or_sections, list | tuple):
        cuts = list(indices_or_sections)
    else:
        count = indices_or_sections
        if not isinstance(count, int) or count < 1:
            raise ArgumentError(
                f"split makes a whole number of parts, from 1 on, got {count!r}.",
                where=user_location(), remedy="Give the number, or a list of indices.",
            )  # fmt: skip
        extents.same(
            extents.mod(array.extents[at], as_tracer(count).atom), extents.ZERO,
            f"{{0}} elements are left over when an axis is split into {count} parts."
        )
        cuts = [n // count * k for k in range(1, count)]
    ends = zip([None, *cuts], [*cuts, None], strict=True)
    return [array[(*[slice(None)] * at, slice(start, end))] for start, end in ends]


@for_complex
@operation()
def fliplr(x: Any) -> Any:
    """The columns, along axis 1, from last to first.

    Types: `x: t[m, n, ..] -> t[m, n, ..]`. Raises AxisError for fewer than two axes.

        >>> fw.fliplr([[1, 2], [3, 4]])
        Array([[2, 1],
               [4, 3]], dtype=int64)
    """
    return flip(either(x, "x of fliplr"), axis=1)


@for_complex
@operation()
def flipud(x: Any) -> Any:
    """The rows, along axis 0, from last to first.

    Types: `x: t[m, ..] -> t[m, ..]`. Raises AxisError for a number.

        >>> fw.flipud([[1, 2], [3, 4]])
        Array([[3, 4],
               [1, 2]], dtype=int64)
    """
    return flip(either(x, "x of flipud"), axis=0)


@for_complex
@operation(static="k axes")
def rot90(x: Any, k: int = 1, axes: tuple[int, int] = (0, 1)) -> Any:
    """The array turned `k` times by 90 degrees, from the first of two axes to the second.

    Types: `x: t[m, n, ..] -> t[n, m, ..]` for odd k. Raises AxisError for an axis that is not
    there, ArgumentError for one named twice.

        >>> fw.rot90([[1, 2], [3, 4]])
        Array([[2, 4],
               [1, 3]], dtype=int64)
    """
    array = either(x, "x of rot90")
    first, second = (axis_of(array, axis, "rot90") for axis in axes)
    if first == second:
        raise ArgumentError(
            f"rot90 turns from one axis to another, got axes={tuple(axes)}.",
            where=user_location(), remedy="Name two axes, as in axes=(0, 1).",
        )  # fmt: skip
    if k % 4 == 2:
        return flip(array, axis=(first, second))
    if k % 4 == 0:
        return array
    if k % 4 == 1:
        return swapaxes(flip(array, axis=second), first, second)
    return flip(swapaxes(array, first, second), axis=second)


@operation(static="k")
def diag(x: Any, k: int = 0) -> Any:
    """A matrix with these elements on its diagonal, or the diagonal of a matrix; `k` above it.

    Types: `x: t[n] -> t[n + |k|, n + |k|]`, or `x: t[m, n] -> t[l]`. Raises ShapeError for other
    ranks.

        >>> fw.diag([1, 2])
        Array([[1, 0],
               [0, 2]], dtype=int64)
        >>> fw.diag([[1, 2], [3, 4]])
        Array([1, 4], dtype=int64)
    """
    array: Any = as_tracer(x, "x of diag")
    if array.ndim == 2:
        return matrix_diagonal(array, offset=k)
    if array.ndim != 1:
        raise ShapeError(
            f"diag takes a row or a matrix, got {describe(array)}.",
            where=user_location(), remedy="Of stacks of matrices take fw.linalg.diagonal.",
        )  # fmt: skip
    n = array.shape[0]
    size = n + abs(k)
    down, right = max(-k, 0), max(k, 0)
    zero = as_tracer(0).astype(array.dtype)

    def element(i: Any, j: Any) -> Any:
        own = i - down
        on = (own == j - right) & (own >= 0) & (own < n)
        return where(on, array[where(on, own, 0)], zero)

    return generate((size, size), element)


@operation(static="mode")
def pad(x: Any, pad_width: Any, mode: str = "constant", constant_values: Any = 0) -> Any:
    """The array with more elements before and behind it, along each axis.

    `pad_width` is a number for all of them, a pair (before, behind), or a pair for each axis. What
    is added is `constant_values`, or, by NumPy's names of `mode`, the nearest element ("edge"), or
    the array mirrored at its edge ("symmetric"), at its last element ("reflect"), or begun anew
    ("wrap").

    Types: `x: t[n, ..] -> t[before + n + behind, ..]`. Raises ArgumentError for another mode,
    NegativeExtentError for a width below 0, ShapeError where there is no element to repeat.

        >>> fw.pad([1, 2, 3], (1, 2))
        Array([0, 1, 2, 3, 0, 0], dtype=int64)
        >>> fw.pad([1, 2, 3], 2, mode="reflect")
        Array([3, 2, 1, 2, 3, 2, 1], dtype=int64)
    """
    array: Any = as_tracer(x, "x of pad")
    if mode != "constant" and mode not in PLACES:
        names = ", ".join(f'"{name}"' for name in PLACES)
        raise ArgumentError(
            f"{mode!r} is not a mode of pad.",
            where=user_location(), remedy=f'Use one of "constant", {names}.',
        )  # fmt: skip
    widths = _widths(pad_width, array.ndim)
    for axis, (before, behind) in enumerate(widths):
        if mode == "constant":
            array = _with_constants(array, axis, before, behind, constant_values)
        else:
            array = _repeated(array, axis, before, behind, PLACES[mode])
    return array


def _widths(given: Any, rank: int) -> list[tuple[Any, Any]]:
    """How much is added before and behind, along each axis."""
    parts = list(given) if isinstance(given, list | tuple) else [given]
    pairs = [list(p) if isinstance(p, list | tuple) else p for p in parts]
    if len(pairs) == 2 and not any(isinstance(p, list) for p in pairs):
        pairs = [pairs]
    if len(pairs) == 1:
        pairs *= rank
    pairs = [p if isinstance(p, list) else [p] for p in pairs]
    if len(pairs) != rank or any(len(p) not in (1, 2) for p in pairs):
        raise ArgumentError(
            f"the width of pad does not fit {rank} axes: {given!r}.",
            where=user_location(),
            remedy="Give a number, a pair (before, behind), or such a pair for each axis.",
        )
    return [(p[0], p[-1]) for p in pairs]


def _with_constants(array: Any, axis: int, before: Any, behind: Any, value: Any) -> Any:
    filler = as_tracer(value, "the constant of pad").astype(array.dtype)
    shape = list(array.shape)
    parts = []
    for width in (before, behind):
        shape[axis] = width
        parts.append(full(tuple(shape), filler))
    return concat([parts[0], array, parts[1]], axis)


def _symmetric(i: Any, n: Any) -> Any:
    turn = i % (2 * n)
    return where(turn < n, turn, 2 * n - 1 - turn)


def _reflected(i: Any, n: Any) -> Any:
    period = maximum(2 * n - 2, 1)
    turn = i % period
    return where(turn < n, turn, period - turn)


PLACES: dict[str, Callable[[Any, Any], Any]] = {
    "edge": lambda i, n: minimum(maximum(i, 0), n - 1),
    "reflect": _reflected, "symmetric": _symmetric, "wrap": lambda i, n: i % n,
}  # fmt: skip
"""Where the element at `i` comes from, of an axis of `n`."""


def _repeated(array: Any, axis: int, before: Any, behind: Any, place: Any) -> Any:
    before, behind = (
        as_tracer(extents.scalar_i64(extents.length_of(width, "a width of pad")))
        for width in (before, behind)
    )
    n: Any = as_tracer(array.shape[axis])
    check(
        as_tracer((n > 0) | (before + behind == 0)).atom, "shape", (),
        check_message("pad has no element to repeat.", [], 'Use mode="constant".'),
    )  # fmt: skip
    parts = []
    for width, first in ((before, -before), (behind, n)):

        def element(*at: Any, first: Any = first) -> Any:
            return array[(*at[:axis], place(at[axis] + first, n), *at[axis + 1 :])]

        shape = list(array.shape)
        shape[axis] = width
        parts.append(generate(tuple(shape), element))
    return concat([parts[0], array, parts[1]], axis)
