"""Arrays from nothing: generate, iota, full, replicate, empty.

    generate((n, m), f)      [[f(i, j) for j in range(m)] for i in range(n)]
    iota(n)                  [0, 1, .., n-1]
"""

from __future__ import annotations

from typing import Any

from flatweave.base.dtypes import DType, i64
from flatweave.base.errors import ExtentOverflowError
from flatweave.base.source import user_location
from flatweave.frontend.call.operation import operation
from flatweave.frontend.elements.broadcast import generated, read
from flatweave.frontend.elements.scalars import strong
from flatweave.frontend.trace.extents import length_of, shape_of
from flatweave.frontend.trace.faults import check_message
from flatweave.frontend.trace.sizes import check, is_refused
from flatweave.frontend.trace.tracers import arrays_of, emit, tracer_of
from flatweave.frontend.values.array import Tracer
from flatweave.frontend.values.promotion import dtype_of
from flatweave.frontend.values.scope import current
from flatweave.frontend.values.tree import unflatten
from flatweave.ops import Empty
from flatweave.terms.build import index
from flatweave.terms.syntax import Atom, Const


@operation(static="dtype")
def iota(n: Any, dtype: Any = i64) -> Any:
    """0, 1, .., n-1.

    Raises NegativeExtentError when n is below 0, ExtentOverflowError when an integer dtype does not
    reach n-1.
    """
    wanted = i64 if dtype is None else dtype_of(dtype)
    length = length_of(n, "the length of iota")
    if wanted.is_integer and wanted.bits < i64.bits:
        _need_room(length, wanted)
    return generated((length,), lambda i: strong(tracer_of(i), wanted))[0]


def _need_room(length: Atom, dtype: DType) -> None:
    """Refuse a dtype too narrow for the numbers below a length: they would wrap."""
    message = f"iota of {{0}} elements does not fit {dtype}, which ends at {dtype.high}."
    remedy = "Take a wider dtype, or leave it out: fw.iota(n) counts in i64."
    room = index(int(dtype.high) + 1)
    fits = current().apply("le", length, room)
    if isinstance(length, Const) and is_refused(fits):
        raise ExtentOverflowError(
            message.format(length.value), where=user_location(), remedy=remedy
        )
    check(fits, "overflow", (length,), check_message(message, [], remedy))


@operation()
def full(shape: Any, v: Any) -> Any:
    """The array of `shape` whose elements are all `v`: a scalar, a tuple of scalars, or a row."""
    extents = shape_of(shape, "full")
    leaves, tree = arrays_of(v, "the value of full")
    return unflatten(tree, [_filled(extents, leaf) for leaf in leaves])


def _filled(extents: tuple[Atom, ...], value: Tracer) -> Tracer:
    """One value at every place."""
    if not value.ndim:
        made = strong(value, value.element)
        return generated(extents, lambda *at: made)[0] if extents else made
    shape = (*extents, *value.extents)
    return generated(shape, lambda *at: read(value, at[len(extents) :]))[0]


@operation()
def replicate(n: Any, v: Any) -> Any:
    """`n` times the element `v`: a scalar, a tuple of scalars, or a row."""
    length = length_of(n, "the length of replicate")
    leaves, tree = arrays_of(v, "the value of replicate")
    return unflatten(tree, [_filled((length,), leaf) for leaf in leaves])


@operation(static="dtype")
def empty(n: Any, dtype: Any = None) -> Any:
    """An uninitialised array of `n` elements, for `scatter` to fill.

    `n` may be a shape; the dtype is f64 unless given.
    """
    extents = shape_of(n, "empty")
    wanted = dtype_of("f64" if dtype is None else dtype)
    return emit(Empty(wanted, extents))[0]
