"""Scans of rows of a few numbers by any operator: of elements that are tuples of numbers.

    scan op ne (xs: f64[n, 1, 2])     weave [n, 1, 2] (scan (a b, c d => ..) .. xs[.., 0, 0] ..)

The operator is the user's, on arrays of the numbers. It reads each of these at a place that is
known, so that nothing but scalar work is left of it: small matrices stay in registers.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod

from flatweave.frontend.elements.broadcast import generated, read, read_stretched
from flatweave.frontend.elements.lambdas import combine_lambda
from flatweave.frontend.trace.tracers import emit, tracer_of
from flatweave.frontend.values.array import Tracer
from flatweave.frontend.values.scope import current
from flatweave.ops import Reshape, Scan, Weave
from flatweave.terms.build import index
from flatweave.terms.control import Apply
from flatweave.terms.syntax import ArrayType, Atom, Const, Lambda, Type

MOST = 16
"""Numbers of an element: those of two elements and their product have room in registers."""


def scan_small_rows(
    fn: Lambda, start: Sequence[Tracer], arrays: Sequence[Tracer], exclusive: bool, reverse: bool
) -> list[Tracer] | None:
    """The scan, where the extents of rows are known and small; not in an element function."""
    shapes = [_known(result) for result in fn.results]
    parts = [_places(shape) for shape in shapes if shape is not None]
    if current().outer or len(parts) < len(shapes) or not 0 < sum(map(len, parts)) <= MOST:
        return None
    length = arrays[0].extents[0]
    pairs = list(zip(parts, arrays, start, strict=True))
    elements = generated(
        (length,), lambda i: [read(x, (i, *at)) for places, x, _ in pairs for at in places]
    )
    neutral = [read_stretched(e, at).atom for places, _, e in pairs for at in places]
    operator = _on_numbers(fn, [s for s in shapes if s is not None], parts)
    atoms = tuple(x.atom for x in elements)
    results = list(emit(Scan(operator, tuple(neutral), atoms, exclusive, reverse)))
    return [rows_of(_take(results, len(places)), x) for places, x, _ in pairs]


def _known(atom: Atom) -> tuple[int, ...] | None:
    """The extents of a part of an element, if they are known; none for a number."""
    shape = atom.type.shape if isinstance(atom.type, ArrayType) else ()
    known = [_constant(extent) for extent in shape]
    return None if None in known else tuple(extent for extent in known if extent is not None)


def _constant(extent: Atom) -> int | None:
    """An extent that is a constant, or was found to be one by a check."""
    if isinstance(extent, Const):
        return int(extent.value)
    for scope in current().around():
        for condition in scope.checked:
            test = scope.builder.definition(condition)
            if isinstance(test, Apply) and test.fn == "eq" and extent in test.args:
                (other,) = (arg for arg in test.args if arg != extent)
                if isinstance(other, Const):
                    return int(other.value)
    return None


def _places(shape: Sequence[int]) -> list[tuple[Atom, ...]]:
    """All places of a row, in row-major order."""
    if prod(shape) > MOST:
        return [()] * (MOST + 1)  # too many, whatever they are
    return [tuple(map(index, at)) for at in product(*map(range, shape))]


def _take(values: list[Tracer], count: int) -> list[Tracer]:
    taken = values[:count]
    del values[:count]
    return taken


def rows_of(values: Sequence[Tracer], array: Tracer) -> Tracer:
    """The numbers of all elements, an array for each, as rows like those of `array`."""
    if array.ndim == 1:
        return values[0]
    if len(values) == 1:
        return emit(Reshape(values[0].atom, tuple(array.extents)))[0]
    return emit(Weave(tuple(array.extents), tuple(value.atom for value in values)))[0]


def _on_numbers(
    fn: Lambda, shapes: Sequence[tuple[int, ...]], parts: Sequence[Sequence[tuple[Atom, ...]]]
) -> Lambda:
    """The operator on the numbers of two elements."""
    types = [_dtype(result) for result, places in zip(fn.results, parts, strict=True)
             for _ in places]  # fmt: skip

    def combine(*both: Tracer) -> list[Tracer]:
        numbers = list(both)
        args = [
            _row(_take(numbers, len(places)), shape).atom
            for _ in range(2) for shape, places in zip(shapes, parts, strict=True)
        ]  # fmt: skip
        made = current().builder.inline(current().builder.copy(fn), args)
        return [
            read(tracer_of(row), at)
            for row, places in zip(made, parts, strict=True) for at in places
        ]  # fmt: skip

    return combine_lambda(combine, types)


def _dtype(atom: Atom) -> Type:
    return atom.type.dtype if isinstance(atom.type, ArrayType) else atom.type


def _row(numbers: Sequence[Tracer], shape: Sequence[int]) -> Tracer:
    """An array of numbers, each at its place."""
    if not shape:
        return numbers[0]

    def chosen(*at: Atom) -> Tracer:
        place: Atom = index(0)
        for i, extent in zip(at, shape, strict=True):
            scope = current()
            place = scope.apply("add", scope.apply("mul", place, index(extent)), i)
        value = numbers[-1].atom
        for number, other in enumerate(numbers[:-1]):
            here = current().apply("eq", place, index(number))
            value = current().apply("select", here, other.atom, value)
        return tracer_of(value)

    return generated([index(extent) for extent in shape], chosen)[0]
