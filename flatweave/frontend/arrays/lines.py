"""Sorting within lines: elements that belong together by a number keep to their line.

    in_lines("sort", [3, 1, 2, 0], [0, 0, 1, 1])      sort ((line, x) => line, x)    [1, 3, 0, 2]
    along("sort", matrix, axis=1)                     line of p: p // columns, reshaped back
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flatweave.frontend.arrays.shapes import axis_of, reshaped, transposed
from flatweave.frontend.elements.broadcast import generated, read
from flatweave.frontend.trace import extents
from flatweave.frontend.trace.extents import mul, product, sub
from flatweave.frontend.trace.tracers import arrays_of, as_tracer, tracer_of
from flatweave.frontend.values.array import Tracer
from flatweave.frontend.values.sugar import METHODS
from flatweave.frontend.values.tree import flatten, unflatten
from flatweave.terms.syntax import Atom

Key = Callable[[Any], Any] | None


def in_lines(who: str, values: Any, lines: Tracer, key: Key, descending: bool) -> Any:
    """Elements sorted, or their places, first by the number of their line, which ascends."""

    def line_first(element: tuple[Any, Any]) -> tuple[Any, Any]:
        line, value = element
        own = tuple(flatten(value)[0]) if key is None else key(value)
        return (~line if descending else line), own

    found = METHODS[who]((lines, values), line_first, descending)
    return found[1] if who == "sort" else found


def along(who: str, xs: Any, key: Key, descending: bool, axis: Any) -> Any:
    """Every line of an array along an axis sorted by itself, or the places in it."""
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
    total, size = product(shape), shape[-1]
    extents.known_extent(total)

    def line(p: Atom) -> Atom:
        found = extents.floordiv(p, size)
        extents.known_natural(found)
        return found

    def back(flat: Tracer) -> Tracer:
        return transposed(reshaped(flat, shape), [order.index(a) for a in range(first.ndim)])

    flat = [reshaped(transposed(x, order), [total]) for x in leaves]
    lines = generated((total,), lambda p: tracer_of(line(p)), "p")[0]
    found = in_lines(who, unflatten(tree, flat), lines, key, descending)
    if who == "sort":
        return unflatten(tree, [back(as_tracer(x)) for x in flatten(found)[0]])
    places = as_tracer(found)
    return back(generated(
        (total,),
        lambda p: tracer_of(sub(read(places, (p,)).atom, mul(line(p), size))), "p",
    )[0])  # fmt: skip
