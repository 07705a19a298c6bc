"""Masks in `xs[key]`: alone they filter elements, next to other indices they are index arrays.

    xs[mask]             filter mask xs
    xs[mask, 2]          filter mask (generate [n] (i => xs[i, 2]))
    xs[mask, idx]        xs[where mask holds, idx]: the two are broadcast together
    xs[0, True]          xs[0, None][0], of extent 0 where the bool does not hold

A mask of rank r covers r axes and becomes r index arrays: the indices where it holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from flatweave.base.dtypes import bool_
from flatweave.base.errors import ShapeError
from flatweave.base.records import record
from flatweave.frontend.arrays.columns import compacted
from flatweave.frontend.arrays.shapes import raveled, reshaped
from flatweave.frontend.elements.broadcasting import generated, read
from flatweave.frontend.trace import extents
from flatweave.frontend.trace.extents import ONE, ZERO
from flatweave.frontend.trace.tracers import as_tracer, tracer_of
from flatweave.frontend.values.array import HostArray, Tracer, describe
from flatweave.terms.syntax import Atom, Const


@record(eq=True)
class Held:
    """Indices along one axis at which a mask holds, all inside the axis."""

    index: Tracer


def is_mask(part: Any) -> bool:
    """Whether a part of a key is a mask."""
    if isinstance(part, Tracer):
        return part.element is bool_
    if not isinstance(part, bool | np.bool_ | np.ndarray | HostArray | list):
        return False
    return as_tracer(part, "an index").element is bool_


def masked(array: Tracer, mask: Tracer) -> Tracer:
    """The elements, or rows, where a mask holds."""
    if mask.ndim == 1 and array.ndim:
        extents.same_length([array, mask], "a mask", ["the array", "the mask"])
        return compacted(mask, [array])[0]
    if mask.ndim > array.ndim:
        raise ShapeError.here(
            f"a mask of type {describe(mask)} does not fit an array of type {describe(array)}.",
            "Give a mask of the array's shape, or one for its rows.",
        )
    leading, rest = array.extents[: mask.ndim], array.extents[mask.ndim :]
    check_extents(array, mask, 0)
    flat = reshaped(array, [_total(leading), *rest])
    return compacted(raveled(mask), [flat])[0]


def _total(shape: Sequence[Atom]) -> Atom:
    return extents.known_extent(extents.product(shape))


def check_extents(array: Tracer, mask: Tracer, first: int) -> None:
    """Refuse a mask that is not as long as the array along each axis that it stands for."""
    for axis, extent in enumerate(mask.extents):
        along = f" along axis {first + axis}" if array.ndim > 1 else ""
        extents.same(
            array.extents[first + axis], extent,
            f"a mask needs the lengths of the array, got {{0}} and {{1}} elements{along}.",
            [
                extents.origin_line(array, "the array", "{0}", first + axis - array.ndim),
                extents.origin_line(mask, "the mask", "{1}", axis - mask.ndim),
            ],
            "Give a mask of the array's shape, or one for its rows.",
        )  # fmt: skip


def rank_in(part: Any) -> int:
    """How many axes of an array a part of a key stands for."""
    if part is None or part is Ellipsis:
        return 0
    return part.ndim if is_mask(part) else 1


def leads(parts: Sequence[Any]) -> bool:
    """Whether a mask comes first, and no other part is an array: these may be read before it."""
    rest = parts[1:]
    return is_mask(parts[0]) and all(
        part is None or part is Ellipsis or isinstance(part, slice)
        or (not isinstance(part, Held) and not as_tracer(part, "an index").ndim)
        for part in rest
    )  # fmt: skip


def is_single(part: Any) -> bool:
    """Whether a part of a key is one bool, which stands for no axis and gives a new one."""
    return is_mask(part) and not part.ndim


def with_axes(array: Tracer, parts: Sequence[Any]) -> tuple[Tracer, list[Any]]:
    """An array and a key in which single bools index a new axis of extent 1."""
    shape: list[Atom] = []
    found: list[Any] = []
    axes = iter(array.extents)
    for part in parts:
        if is_single(part):
            shape.append(ONE)
            found.append(Held(_of_single(part)))
            continue
        shape += [next(axes) for _ in range(rank_in(part))]
        found.append(part)
    return reshaped(array, shape) if array.ndim else _filled(array, shape), found


def _of_single(mask: Tracer) -> Tracer:
    """The index 0 if a bool holds."""
    if isinstance(mask.atom, Const):
        return generated((ONE if mask.atom.value else ZERO,), lambda i: tracer_of(ZERO))[0]
    one = generated((ONE,), lambda i: mask)[0]
    return compacted(one, generated((ONE,), tracer_of))[0]


def _filled(number: Tracer, shape: Sequence[Atom]) -> Tracer:
    return generated(shape, lambda *at: number)[0]


def beside(array: Tracer, parts: Sequence[Any]) -> list[Any]:
    """A key in which index arrays replace each mask, one array for each of its axes."""
    found: list[Any] = []
    axis = 0
    for part in parts:
        if is_mask(part):
            check_extents(array, part, axis)
            found += map(Held, _places(part))
            axis += part.ndim
        else:
            found.append(part)
            axis += rank_in(part)
    return found


def _places(mask: Tracer) -> list[Tracer]:
    """Where a mask holds: its indices along each of its axes, in row-major order."""
    flat = raveled(mask)
    numbers = compacted(flat, generated(flat.extents, tracer_of))[0]
    if mask.ndim == 1:
        return [numbers]

    def along(axis: int) -> Tracer:
        def place(k: Atom) -> Tracer:
            number = extents.known_natural(read(numbers, (k,)).atom)
            return tracer_of(extents.unravel(number, mask.extents)[axis])

        return generated(numbers.extents, place, "k")[0]

    return [along(axis) for axis in range(mask.ndim)]
