"""What several type rules share: the parts of an array's type."""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.base.dtypes import DType
from flatweave.terms.syntax import ArrayType, Atom, Type


def array_type(atom: Atom) -> ArrayType:
    """The type of an atom that must be an array."""
    if not isinstance(atom.type, ArrayType):
        raise TypeError(f"{atom!r} is not an array")
    return atom.type


def scalar_type(atom: Atom) -> DType:
    """The type of an atom that must be a scalar."""
    if not isinstance(atom.type, DType):
        raise TypeError(f"{atom!r} is not a scalar")
    return atom.type


def under(shape: Sequence[Atom], element: Type) -> ArrayType:
    """An array of `shape` whose elements are of type `element` (a scalar or a row)."""
    if isinstance(element, ArrayType):
        return ArrayType(element.dtype, (*shape, *element.shape))
    if not isinstance(element, DType):
        raise TypeError(f"{element!r} cannot be an element")
    return ArrayType(element, tuple(shape))


def row_type(array: ArrayType) -> Type:
    """The type of one element along axis 0."""
    return array.dtype if array.rank == 1 else ArrayType(array.dtype, array.shape[1:])
