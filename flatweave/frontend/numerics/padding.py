"""Arrays with more elements before and after them, under NumPy's name.

    pad(x, 2, "edge")  concat [generate 2 (i => x[clip(i - 2, 0, n - 1)]), x, ..]
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from flatweave.base.errors import ArgumentError
from flatweave.base.pretty import counted
from flatweave.base.source import user_location
from flatweave.frontend.arrays.joining import concat
from flatweave.frontend.arrays.shapes import axis_of
from flatweave.frontend.call.operation import operation
from flatweave.frontend.complex.rules import either, for_complex
from flatweave.frontend.elements.broadcasting import taken
from flatweave.frontend.elements.elementwise import maximum, minimum
from flatweave.frontend.elements.scalars import astype, where
from flatweave.frontend.functions.combinators import generate
from flatweave.frontend.trace import extents
from flatweave.frontend.trace.run_time_checks import check, check_message
from flatweave.frontend.trace.tracers import as_tracer, scalar_of
from flatweave.frontend.values.array import Array
from flatweave.frontend.values.number_formats import Composed


def element_of(value: Any, array: Any) -> Array:
    """A number as an element of an array; an error where it is no value of its dtype."""
    if isinstance(array, Composed):
        return astype(value, array.dtype)
    return taken(scalar_of(value, "a constant"), array.element, "pad")


@for_complex
@operation(static="mode", numbers="pad_width constant_values")
def pad(x: Any, pad_width: Any, mode: str = "constant", constant_values: Any = None) -> Array:
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
    array: Array = either(x, "x of pad")
    if mode != "constant" and mode not in PLACES:
        names = ", ".join(f'"{name}"' for name in PLACES)
        raise ArgumentError(
            f"{mode!r} is not a mode of pad.",
            where=user_location(), remedy=f'Use one of "constant", {names}.',
        )  # fmt: skip
    if mode != "constant" and constant_values is not None:
        raise ArgumentError(
            f"the mode {mode!r} of pad takes no constant_values.",
            where=user_location(), remedy='Leave them out, or use mode="constant".',
        )  # fmt: skip
    if not array.ndim:
        _must_be_lengths(pad_width)
    widths = _pairs(pad_width, array, "width")
    fillers = _pairs(0 if constant_values is None else constant_values, array, "constant")
    for axis, (width, filler) in enumerate(zip(widths, fillers, strict=True)):
        if mode == "constant":
            array = _with_constants(array, axis, width, [element_of(v, array) for v in filler])
        else:
            array = _repeated(array, axis, *width, PLACES[mode])
    return array


def _must_be_lengths(widths: Any) -> None:
    """Refuse negative widths where there is no axis to pad."""
    if isinstance(widths, list | tuple):
        for width in widths:
            _must_be_lengths(width)
    elif not isinstance(widths, Mapping):
        extents.length_of(widths, "a width of pad")


def _pairs(given: Any, array: Any, what: str) -> list[tuple[Any, Any]]:
    """The values for before and after the array, along each axis."""
    rank, nested = array.ndim, list | tuple
    if isinstance(given, Mapping):
        own = {axis_of(array, axis, "pad"): pair for axis, pair in given.items()}
        rows: Any = [own.get(axis, 0) for axis in range(rank)]
    else:
        is_row = isinstance(given, nested) and not any(isinstance(row, nested) for row in given)
        rows = given if isinstance(given, nested) and not is_row else [given] * rank
    pairs = [row if isinstance(row, nested) else [row] for row in rows]
    if len(pairs) == 1:
        pairs = pairs * rank
    if len(pairs) != rank or any(len(pair) not in (1, 2) for pair in pairs):
        axes, sizes = counted(rank, "axis", "axes"), ", ".join(str(len(pair)) for pair in pairs)
        raise ArgumentError(
            f"the {what} of pad does not fit {axes}: it has parts of {sizes} numbers.",
            where=user_location(),
            remedy="Give a number, a pair (before, after), or such a pair for each axis.",
        )
    return [(pair[0], pair[-1]) for pair in pairs]


def _with_constants(
    array: Array, axis: int, widths: Sequence[Any], fillers: Sequence[Any]
) -> Array:
    shape = list(array.shape)
    parts = []
    for width, filler in zip(widths, fillers, strict=True):
        shape[axis] = extents.scalar_i64(extents.length_of(width, "a width of pad"))
        parts.append(generate(tuple(shape), lambda *at, filler=filler: filler))
    return concat([parts[0], array, parts[1]], axis)


def _symmetric(i: Any, n: Any) -> Array:
    turn = i % (2 * n)
    return where(turn < n, turn, 2 * n - 1 - turn)


def _reflected(i: Any, n: Any) -> Array:
    period = maximum(2 * n - 2, 1)
    turn = i % period
    return where(turn < n, turn, period - turn)


PLACES: dict[str, Callable[[Any, Any], Array]] = {
    "edge": lambda i, n: minimum(maximum(i, 0), n - 1),
    "reflect": _reflected, "symmetric": _symmetric, "wrap": lambda i, n: i % n,
}  # fmt: skip
"""Where the element at `i` comes from, of an axis of `n`."""


def _repeated(array: Array, axis: int, before: Any, behind: Any, place: Any) -> Array:
    before, behind = (
        as_tracer(extents.scalar_i64(extents.length_of(width, "a width of pad")))
        for width in (before, behind)
    )
    n = as_tracer(array.shape[axis])
    check(
        as_tracer((n > 0) | (before + behind == 0)).atom, "shape", (),
        check_message("pad has no element to repeat.", [], 'Use mode="constant".'),
    )  # fmt: skip
    parts = []
    for width, first in ((before, -before), (behind, n)):

        def element(*at: Any, first: Any = first) -> Array:
            return array[(*at[:axis], place(at[axis] + first, n), *at[axis + 1 :])]

        shape = list(array.shape)
        shape[axis] = width
        parts.append(generate(tuple(shape), element))
    return concat([parts[0], array, parts[1]], axis)
