"""Arrays written by a Python function of the index, and their elements.

    each(b, n, lambda c, i: c.add(i, one))      generate [n] (i => add i 1)
    at(b, xs, i)                                index xs [i]
    or_zero(b, there, lambda c: at(c, xs, i))   if there (index xs [i]) 0
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from flatweave.base.dtypes import i64
from flatweave.ops import Generate, Index
from flatweave.terms.build import Builder, index
from flatweave.terms.control import If
from flatweave.terms.syntax import ArrayType, Atom, Lambda


def array_of(
    b: Builder, shape: Sequence[Atom], fn: Callable[..., Atom], *operands: Any, hint: str = "t"
) -> Atom:
    """An array whose element is `fn(builder, indices, *operands)`."""
    inside = b.inner()
    place = [inside.param("i", i64, extent) for extent in shape]
    element = fn(inside, place, *operands)
    return b.emit(Generate(tuple(shape), inside.close(place, [element])), hint)[0]


def each(
    b: Builder, extent: Atom, fn: Callable[[Builder, Atom], Atom], hint: str = "t"
) -> Atom:
    """An array of one axis whose element is `fn(builder, index)`."""
    return array_of(b, (extent,), lambda c, place: fn(c, place[0]), hint=hint)


def at(b: Builder, array: Atom, *place: Atom) -> Atom:
    """An element of an array."""
    return b.emit(Index(array, place, checked=False))[0]


def branch(b: Builder, results: Sequence[Atom]) -> Lambda:
    """A branch that returns these, each array after its extents."""
    given: list[Atom] = []
    for result in results:
        if isinstance(result.type, ArrayType):
            given += result.type.shape
        given.append(result)
    return b.close([], given)


def or_zero(b: Builder, there: Atom, value: Callable[[Builder], Atom]) -> Atom:
    """An i64 that is computed only where a condition holds; elsewhere it is 0."""
    some, none = b.inner(optional=True), b.inner(optional=True)
    found = value(some)
    return b.emit(If(there, some.close([], [found]), none.close([], [index(0)])))[0]
