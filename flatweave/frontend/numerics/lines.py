"""Arrays as lines along the axes that a function goes along, and results where these were; the
arguments that go with an array: floats, single rows, rows along an axis.

    lines(x, (0, 2), "median")     x: t[a, b, c] -> Lines of t[b, a * c]
    along(w, x, [1], "weights")    w: t[b] -> t[1, b, 1], of extents that are checked
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from flatweave.base.dtypes import DType, f64
from flatweave.base.errors import ShapeError
from flatweave.base.records import record
from flatweave.base.source import user_location
from flatweave.frontend.arrays.axes import axes_of
from flatweave.frontend.arrays.shapes import expand_dims, reshape, transpose
from flatweave.frontend.complex.rules import either
from flatweave.frontend.trace import extents
from flatweave.frontend.trace.tracers import as_tracer
from flatweave.frontend.values.array import Array, Tracer, describe
from flatweave.frontend.values.number_formats import Composed
from flatweave.frontend.values.promotion import common


@record
class Lines:
    """The elements along some axes, in row-major order, as the last axis of an array."""

    array: Array
    axes: list[int]

    def result(self, found: Array, keepdims: bool, before: int = 0) -> Array:
        """The result for each line, after `before` leading axes."""
        for axis in self.axes if keepdims else ():
            found = expand_dims(found, before + axis)
        return found


def lines(x: Any, axis: Any, who: str) -> Lines:
    """An array as lines; all of it is one where no axis is named."""
    array = as_tracer(x, f"x of {who}")
    axes = axes_of(array, axis, who)
    rest = [k for k in range(array.ndim) if k not in axes]
    if len(axes) == 1 and axes[0] == array.ndim - 1:
        return Lines(array, axes)
    shape = array.shape
    moved = transpose(array, (*rest, *axes)) if rest + axes != sorted(rest + axes) else array
    whole = math.prod((shape[k] for k in axes), start=1)
    return Lines(reshape(moved, (*(shape[k] for k in rest), whole)), axes)


def parts_of(array: Any) -> Tracer:
    """The words or the real part of what is composed of them, of the same shape."""
    part: Tracer = getattr(array, array.parts[0]) if isinstance(array, Composed) else array
    return part


def floating(x: Any, what: str) -> Array:
    """An array whose differences and products fit: of floats as it is, any other in f64."""
    array = either(x, what)
    if isinstance(array, Composed) or array.element.is_float or array.weak:
        return array
    return array.astype(f64)


def strong(x: Any, what: str) -> Array:
    """An argument as an array of its dtype; a Python number has one, too."""
    array = either(x, what)
    return array.astype(array.dtype) if parts_of(array).weak else array


def together(*arrays: Any) -> DType | np.dtype[Any]:
    """The dtype that several arrays have together, real or complex."""
    if not any(isinstance(array, Composed) for array in arrays):
        return common(arrays)[0]
    weak = {"b": 0, "i": 0, "u": 0, "f": 0.0, "c": 0j}
    dtypes = [(array.dtype, parts_of(array)) for array in arrays]
    known = [weak[t.kind] if part.weak and t.kind in weak else t for t, part in dtypes]
    return np.result_type(*known)


def float_dtype(*arrays: Any) -> DType | np.dtype[Any]:
    """The dtype of floats, or of complex numbers, that several arrays have together."""
    dtype = together(*arrays)
    return f64 if isinstance(dtype, DType) and not dtype.is_float else dtype


def row_of(x: Any, what: str) -> Array:
    """An array of one axis; ShapeError for any other."""
    array = either(x, what)
    if array.ndim != 1:
        raise ShapeError(
            f"{what} must be one row, got {describe(array)}.",
            where=user_location(),
            remedy="Map the function over the rows, or reshape it: x.reshape(-1).",
        )
    return array


def along(given: Any, array: Any, axes: Sequence[int], what: str) -> Array:
    """An array over some axes of another one, shaped to meet its elements; ShapeError where it has
    other axes or extents."""
    if given.ndim != len(axes):
        raise ShapeError(
            f"{what} must have {len(axes)} axes for an array of type {describe(array)}, got"
            f" {describe(given)}.",
            where=user_location(), remedy="Give an element for each index along these axes.",
        )  # fmt: skip
    whole = parts_of(array).extents
    for own, axis in zip(parts_of(given).extents, axes, strict=True):
        extents.same(
            own, whole[axis],
            f"{what} must have {{1}} elements along axis {axis} of the array, got {{0}}.",
            remedy="Give one for each element along that axis.",
        )  # fmt: skip
    order = sorted(range(len(axes)), key=lambda k: axes[k])
    shape = [array.shape[k] if k in axes else 1 for k in range(array.ndim)]
    return reshape(transpose(given, tuple(order)), tuple(shape))
