"""Arrays with more elements before and after them, under NumPy's name.

    pad(x, 2, "edge")  concat [generate 2 (i => x[clip(i - 2, 0, n - 1)]), x, ..]
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import flatweave as fw


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
    fillers = _pairs(0 if constant_values is None else constant_values, array, "constant")
    for axis, (width, filler) in enumerate(zip(widths, fillers, strict=True)):
        if mode == "constant":
            array = _with_constants(array, axis, width, filler)
        else:
            array = _repeated(array, axis, *width, PLACES[mode])
    return array


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


def _with_constants(
    array: fw.Array, axis: int, widths: Sequence[Any], fillers: Sequence[Any]
) -> fw.Array:
    shape = list(array.shape)
    parts = []
    for width, filler in zip(widths, fillers, strict=True):
        shape[axis] = width
        element = fw.replace(fw.zeros((), array.dtype), ..., filler)
        parts.append(fw.generate(tuple(shape), lambda *at, element=element: element))
    return fw.concat([parts[0], array, parts[1]], axis)


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


def _repeated(array: fw.Array, axis: int, before: Any, behind: Any, place: Any) -> fw.Array:
    n = array.shape[axis]
    fw.check(
        fw.bitwise_or(n > 0, before + behind == 0), "pad has no element to repeat.",
        error=fw.ShapeError, remedy='Use mode="constant".',
    )  # fmt: skip
    parts = []
    for width, first in ((before, -before), (behind, n)):

        def element(*at: Any, first: Any = first) -> fw.Array:
            return array[(*at[:axis], place(at[axis] + first, n), *at[axis + 1 :])]

        shape = list(array.shape)
        shape[axis] = width
        parts.append(fw.generate(tuple(shape), element))
    return fw.concat([parts[0], array, parts[1]], axis)
