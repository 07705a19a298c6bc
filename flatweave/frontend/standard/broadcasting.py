"""Arrays repeated to a shape, or to the shape that they have together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from flatweave.base.errors import ShapeError
from flatweave.base.source import user_location
from flatweave.frontend.arrays.shapes import broadcast
from flatweave.frontend.call.operation import operation
from flatweave.frontend.elements.broadcast import zipped
from flatweave.frontend.trace.tracers import as_tracer


@operation()
def broadcast_to(x: Any, shape: Any) -> Any:
    """`broadcast`, under the standard's name.

    Types: `x: t[..], shape: extents -> t[shape]`. Raises ShapeError as `broadcast` does.

        >>> fw.broadcast_to(np.array([1, 2]), (2, 2))
        Array([[1, 2],
               [1, 2]], dtype=int64)
    """
    return broadcast(x, shape)


@operation()
def broadcast_arrays(*arrays: Any) -> Any:
    """The arrays, each repeated to the shape that all of them have together.

    Types: `t[..], .. -> ` a tuple of `t[shape]`, each of its dtype. Raises ShapeError where they
    have no shape together.

        >>> fw.broadcast_arrays(np.array([1, 2]), 0)
        (Array([1, 2], dtype=int64), Array([0, 0], dtype=int64))
    """
    leaves = [as_tracer(array, "an array of broadcast_arrays") for array in arrays]
    return tuple(zipped(lambda *values: list(values), leaves, "broadcast_arrays"))


def broadcast_shapes(*shapes: Sequence[int]) -> tuple[int, ...]:
    """The shape that arrays of these shapes have together. Raises ShapeError if there is none.

    Types: tuples of ints `->` a tuple of ints.

        >>> fw.broadcast_shapes((3, 1), (2,))
        (3, 2)
    """
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError as failure:
        raise ShapeError(
            f"broadcast_shapes: {failure}.",
            where=user_location(), remedy="Extents are equal, or one of them is 1.",
        ) from None  # fmt: skip
