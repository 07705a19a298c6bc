"""Arrays that are known element by element, as they are read.

    xs = Lazy(f32, (None, 3), at)      xs.at(i, j)      the elements at these indices, one each

Reading an element computes it. An extent that is known only at run time is None.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from flatweave.array_ir.fault import Fault
from flatweave.base.errors import CompilerBug
from flatweave.terms.batch import Value

T = TypeVar("T")
Shape = tuple[int | None, ...]
At = Callable[..., Value]
MANY = 1 << 17
"""Arrays of more elements are never computed as a whole."""


class Unknown(Exception):
    """A value that is not known before the program runs, or that takes long to find."""


FAILED = (
    Unknown, Fault, CompilerBug, ValueError, IndexError, OverflowError, MemoryError, RecursionError,
)  # fmt: skip
"""What raises where values are not what the program's own checks make sure that they are."""


def once(f: Callable[..., T]) -> Callable[..., T]:
    """A function of indices that computes nothing again for those of the last call."""
    last: list[Any] = [None, None]

    def at(*indices: Value) -> T:
        key = tuple([i.tobytes() for i in indices])
        if last[0] != key:
            last[:] = key, f(*indices)
        return last[1]  # type: ignore[no-any-return]

    return at


class Lazy:
    """An array of which elements are computed as they are read: `at(i, j)` gives some of them,
    whose indices are given axis by axis, all of one length."""

    __slots__ = ("at", "dtype", "shape")

    def __init__(self, dtype: Any, shape: Shape, at: At) -> None:
        self.dtype = np.dtype(dtype)
        self.shape = shape
        self.at = at

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int | None:
        """The number of elements, where that is known."""
        known = [extent for extent in self.shape if extent is not None]
        return math.prod(known) if len(known) == len(self.shape) else None

    def whole(self) -> Value:
        """All elements, if they are few."""
        if self.size is None or self.size > MANY:
            raise Unknown
        shape = [extent for extent in self.shape if extent is not None]
        return self.at(*(axis.reshape(-1) for axis in np.indices(shape))).reshape(shape)

    def row(self, i: int) -> Lazy:
        """One element along axis 0 of an array of two axes or more."""
        return Lazy(
            self.dtype, self.shape[1:], lambda *at: self.at(np.full(len(at[0]), i), *at)
        )


Array = Value | Lazy


def read(array: Array, indices: Sequence[Value]) -> Value:
    """The elements at some indices; Unknown for those that are outside."""
    for i, extent in zip(indices, array.shape, strict=True):
        if (i < 0).any() or (extent is not None and (i >= extent).any()):
            raise Unknown
    return elements(array, indices)


def elements(array: Array, indices: Sequence[Value]) -> Value:
    """The elements at some indices that are inside, as those of a result are in its operands."""
    return array.at(*indices) if isinstance(array, Lazy) else np.asarray(array[tuple(indices)])


def row_of(array: Array, i: int) -> Array:
    """Element i along axis 0."""
    if isinstance(array, Lazy) and array.ndim == 1:
        return np.asarray(elements(array, [np.array([i])])[0])
    return array.row(i) if isinstance(array, Lazy) else np.asarray(array[i])


def raveled(shape: Shape, indices: Sequence[Value]) -> Value:
    """The number of an element in row-major order."""
    linear = np.zeros_like(indices[0])
    for i, extent in zip(indices, (1, *shape[1:]), strict=True):
        if extent is None:
            raise Unknown
        linear = linear * extent + i
    return linear


def unraveled(shape: Shape, linear: Value) -> list[Value]:
    """The indices of elements from their numbers in row-major order."""
    found: list[Value] = []
    for extent in reversed(shape[1:]):
        if extent is None:
            raise Unknown
        found.append(linear % max(extent, 1))
        linear = linear // max(extent, 1)
    return [linear, *reversed(found)]
