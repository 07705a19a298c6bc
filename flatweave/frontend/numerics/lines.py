"""Arrays as lines along the axes that a function goes along, and results where these were.

    lines(x, (0, 2), "median")     x: t[a, b, c] -> Lines of t[b, a * c]
"""

from __future__ import annotations

import math
from typing import Any

from flatweave.base.records import record
from flatweave.frontend.arrays.axes import axes_of
from flatweave.frontend.arrays.shapes import expand_dims, reshape, transpose
from flatweave.frontend.trace.tracers import as_tracer


@record
class Lines:
    """The elements along some axes, in row-major order, as the last axis of an array."""

    array: Any
    axes: list[int]

    def result(self, found: Any, keepdims: bool, before: int = 0) -> Any:
        """What was found for each line; `before` axes of its own stand in front."""
        for axis in self.axes if keepdims else ():
            found = expand_dims(found, before + axis)
        return found


def lines(x: Any, axis: Any, who: str) -> Lines:
    """An array as lines; all of it is one where no axis is named."""
    array: Any = as_tracer(x, f"x of {who}")
    axes = sorted(axes_of(array, axis, who))
    rest = [k for k in range(array.ndim) if k not in axes]
    if len(axes) == 1 and axes[0] == array.ndim - 1:
        return Lines(array, axes)
    shape = array.shape
    moved = transpose(array, (*rest, *axes)) if rest + axes != sorted(rest + axes) else array
    whole = math.prod((shape[k] for k in axes), start=1)
    return Lines(reshape(moved, (*(shape[k] for k in rest), whole)), axes)
