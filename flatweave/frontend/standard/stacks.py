"""Stacks of matrices as arrays of three axes: the last two of an array, and all others as one."""

from __future__ import annotations

from typing import Any

from flatweave.base.dtypes import f64
from flatweave.base.errors import ShapeError
from flatweave.base.source import user_location
from flatweave.frontend.arrays.shapes import reshape
from flatweave.frontend.complex.rules import either
from flatweave.frontend.trace import extents
from flatweave.frontend.trace.faults import check_message
from flatweave.frontend.trace.sizes import check
from flatweave.frontend.values.array import describe
from flatweave.frontend.values.complex import Complex

ARGUMENT = "argument"


def matrices(x: Any, who: str, square: bool = False) -> tuple[Any, tuple[Any, ...]]:
    """An array of floats as [s, m, n], and the extents that s stands for."""
    array = either(x, f"x of {who}")
    plain = array.real if isinstance(array, Complex) else array
    if plain.ndim < 2:
        raise ShapeError(
            f"{who} takes matrices, got {describe(array)}.",
            where=user_location(), remedy="Give an array of two axes or more.",
        )  # fmt: skip
    if square:
        extents.same(
            plain.extents[-2], plain.extents[-1],
            f"{who} takes square matrices, got {{0}} rows and {{1}} columns.",
            remedy="Look at how the matrix was made.",
        )  # fmt: skip
    if not plain.element.is_float:
        array = array.astype(f64)
    others = array.shape[:-2]
    count: Any = 1
    for extent in others:
        count = count * extent
    return reshape(array, (count, *array.shape[-2:])), others


def unstacked(found: Any, others: tuple[Any, ...]) -> Any:
    """An array of [s, ..] with the extents that s stands for."""
    return reshape(found, (*others, *found.shape[1:]))


def must_hold(condition: Any, message: str, remedy: str) -> None:
    """Stop the program with an ArgumentError where a computed condition does not hold."""
    check(condition.atom, ARGUMENT, (), check_message(message, [], remedy))
