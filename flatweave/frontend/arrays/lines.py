"""Sorting along an axis: each line is a row; or elements keep to their line by its number.

    along("sort", xs: t[2, 3, 4], axis=1)      map sort (reshape (transpose xs [0, 2, 1]) [8, 3]),
                                               reshaped and transposed back
    in_lines("sort", [3, 1, 2, 0], [0, 1, 0, 1])
                                               sort ((line, x) => line, x)    [2, 3, 0, 1]
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flatweave.frontend.arrays.shapes import axis_of, reshaped, transposed
from flatweave.frontend.trace import extents
from flatweave.frontend.trace.extents import product
from flatweave.frontend.trace.tracers import arrays_of, as_tracer, restructured
from flatweave.frontend.values.array import METHODS, Array, Tracer
from flatweave.frontend.values.tree import flatten, unflatten

Key = Callable[[Any], Any] | None


def in_lines(who: str, values: Any, lines: Tracer, key: Key, descending: bool) -> Array:
    """Sorted elements, or their indices, first by the number of their line, which ascends."""

    def line_first(element: tuple[Any, Any]) -> tuple[Any, Any]:
        line, value = element
        own = tuple(flatten(value)[0]) if key is None else key(value)
        return (~line if descending else line), own

    found: Any = METHODS[who]((lines, values), line_first, descending)
    order: Array = found[1] if who == "sort" else found
    return order


def along(who: str, xs: Any, key: Key, descending: bool, axis: Any) -> Array:
    """Every line of an array along an axis, sorted separately, or the indices within it."""
    leaves, tree = arrays_of(xs, f"xs of {who}")
    first = leaves[0]
    number = axis_of(first, axis, who)
    for other in leaves[1:]:
        axis_of(other, axis, who)
        for a, b in zip(first.extents, other.extents, strict=False):
            extents.same(a, b, f"{who} needs arrays of one shape, got extents {{0}} and {{1}}.")
    if first.ndim == 1:
        return METHODS[who](xs, key, descending)
    order = [a for a in range(first.ndim) if a != number] + [number]
    shape = [first.extents[a] for a in order]
    rows = product(shape[:-1])
    extents.known_extent(rows)
    flat = [reshaped(transposed(x, order), [rows, shape[-1]]) for x in leaves]
    found = METHODS["map"](lambda row: METHODS[who](row, key, descending), unflatten(tree, flat))

    def back(x: Tracer) -> Tracer:
        return transposed(reshaped(x, shape), [order.index(a) for a in range(first.ndim)])

    leaves, tree = flatten(found)
    return restructured(tree, [back(as_tracer(x)) for x in leaves])
