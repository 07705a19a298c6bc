"""Functions of NumPy that the array API standard lacks: medians, sums without NaN, sets, samples.

Everything here uses only public names of the package (`import flatweave as fw`). Each module is
imported when the first of its names is asked for.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import flatweave as fw

# -- arguments ------------------------------------------------------------------------------------
#
# What functions of NumPy take: arrays as lines along some axes, rows along others, numbers.
#
#     lines(x, (0, 2), "median")     x: t[a, b, c] -> Lines of t[b, a * c]
#     along(w, x, [1], "weights")    w: t[b] -> t[1, b, 1], of extents that are checked


class Lines(NamedTuple):
    """The elements along some axes, in row-major order, as the last axis of an array."""

    array: fw.Array
    axes: list[int]

    def result(self, found: fw.Array, keepdims: bool, before: int = 0) -> fw.Array:
        """The result for each line, after `before` leading axes."""
        for axis in self.axes if keepdims else ():
            found = fw.expand_dims(found, before + axis)
        return found


def lines(x: Any, axis: Any, who: str) -> Lines:
    """An array as lines; all of it is one where no axis is named."""
    array = fw.asarray(x)
    axes = sorted(fw.normalize_axes(array, axis, who))
    rest = [k for k in range(array.ndim) if k not in axes]
    if axes == [array.ndim - 1]:
        return Lines(array, axes)
    shape = array.shape
    moved = fw.transpose(array, (*rest, *axes)) if rest + axes != sorted(rest + axes) else array
    whole = math.prod(shape[k] for k in axes)
    return Lines(fw.reshape(moved, (*(shape[k] for k in rest), whole)), axes)


def operand(x: Any) -> Any:
    """A Python number as it is, whose dtype is that of what it meets; anything else as an array."""
    return x if isinstance(x, bool | int | float | complex) else fw.asarray(x)


def each(fn: Callable[..., fw.Array], *arrays: fw.Array) -> fw.Array:
    """A function of the elements at each index of arrays of one shape, or of numbers."""
    if not arrays[0].ndim:
        return fn(*arrays)
    return fw.generate(arrays[0].shape, lambda *at: fn(*(x[at] for x in arrays)))


def is_complex(x: Any) -> bool:
    """Whether an array has complex numbers."""
    return fw.isdtype(fw.result_type(x), "complex floating")


def strong(x: Any) -> fw.Array:
    """An argument as an array of its dtype; a Python number has one, too."""
    array = fw.asarray(x)
    return array.astype(array.dtype)


def floating(x: Any) -> fw.Array:
    """An array whose differences and products fit: of floats as it is, any other in f64."""
    array = fw.asarray(x)
    return array.astype(fw.f64) if fw.isdtype(array.dtype, ("bool", "integral")) else array


def row_of(x: Any, what: str) -> fw.Array:
    """An array of one axis; ShapeError for any other."""
    array = fw.asarray(x)
    if array.ndim != 1:
        raise fw.ShapeError.here(
            f"{what} must be one row, got an array of {array.ndim} axes.",
            "Map the function over the rows, or reshape it: x.reshape(-1).",
        )
    return array


def whole(value: Any, what: str, least: int | None = None) -> int:
    """A static integer, `least` or more; ArgumentError for anything else."""
    if isinstance(value, bool) or not isinstance(value, int) or (least or value) > value:
        of = "" if least is None else f" from {least} on"
        raise fw.ArgumentError.here(f"{what} must be an integer{of}, got {value!r}.")
    return value


def along(given: fw.Array, array: fw.Array, axes: Sequence[int], what: str) -> fw.Array:
    """An array over some axes of another one, shaped to meet its elements; ShapeError where it has
    other axes or extents."""
    if given.ndim != len(axes):
        raise fw.ShapeError.here(
            f"{what} must have {len(axes)} axes for an array of {array.ndim}, got {given.ndim}.",
            "Give an element for each index along these axes.",
        )
    for own, axis in zip(given.shape, axes, strict=True):
        fw.check(
            own == array.shape[axis],
            f"{what} must have {{1}} elements along axis {axis} of the array, got {{0}}.",
            own, array.shape[axis], error=fw.ShapeError,
            remedy="Give one for each element along that axis.",
        )  # fmt: skip
    order = sorted(range(len(axes)), key=lambda k: axes[k])
    shape = [array.shape[k] if k in axes else 1 for k in range(array.ndim)]
    return fw.reshape(fw.transpose(given, tuple(order)), tuple(shape))
