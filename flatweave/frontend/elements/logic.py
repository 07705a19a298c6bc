"""Functions of truth values: of every number whether it is not zero.

    logical_and([1, 1, 0], [1, 0, 0])       [True, False, False]
"""

from __future__ import annotations

from typing import Any

from flatweave.frontend.call.operation import operation
from flatweave.frontend.elements.broadcast import zipped
from flatweave.frontend.elements.scalars import apply, operand, truth
from flatweave.frontend.trace.tracers import as_tracer
from flatweave.frontend.values.array import Tracer


def _logical(fn: str, *values: Any) -> Tracer:
    """A function of truth values."""
    traced = [as_tracer(value, operand(f"logical_{fn}")) for value in values]
    return zipped(lambda *xs: apply(fn, *map(truth, xs)), traced, f"logical_{fn}")[0]


@operation(elementwise=True)
def logical_and(x: Any, y: Any) -> Any:
    """Whether both are not zero.

    Types: `x: s[..], y: t[..] -> bool[..]`, broadcast. Raises ShapeError for shapes that do not
    fit.

        >>> fw.logical_and([1, 1, 0], [1, 0, 0])
        Array([ True, False, False], dtype=bool)
    """
    return _logical("and", x, y)


@operation(elementwise=True)
def logical_or(x: Any, y: Any) -> Any:
    """Whether one of them is not zero.

    Types: `x: s[..], y: t[..] -> bool[..]`, broadcast. Raises ShapeError for shapes that do not
    fit.

        >>> fw.logical_or([1, 1, 0], [1, 0, 0])
        Array([ True,  True, False], dtype=bool)
    """
    return _logical("or", x, y)


@operation(elementwise=True)
def logical_xor(x: Any, y: Any) -> Any:
    """Whether one of them, but not both, is not zero.

    Types: `x: s[..], y: t[..] -> bool[..]`, broadcast. Raises ShapeError for shapes that do not
    fit.

        >>> fw.logical_xor([1, 1, 0], [1, 0, 0])
        Array([False,  True, False], dtype=bool)
    """
    return _logical("xor", x, y)


@operation(elementwise=True)
def logical_not(x: Any) -> Any:
    """Whether it is zero.

    Types: `x: t[..] -> bool[..]`. Raises ArgumentError for what is no array.

        >>> fw.logical_not([1, 0])
        Array([False,  True], dtype=bool)
    """
    return _logical("not", x)
