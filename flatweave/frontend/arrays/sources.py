"""Arrays from nothing: generate, iota, full, replicate, empty.

    generate((n, m), f)      [[f(i, j) for j in range(m)] for i in range(n)]
    iota(n)                  [0, 1, .., n-1]
"""

from __future__ import annotations

from typing import Any

from flatweave.base.dtypes import DType, i64
from flatweave.base.errors import ExtentOverflowError
from flatweave.frontend.arrays.axes import converted
from flatweave.frontend.call.operation import operation
from flatweave.frontend.elements.broadcasting import generated, must_fit, read
from flatweave.frontend.elements.scalars import strong
from flatweave.frontend.trace.extents import length_of, shape_of
from flatweave.frontend.trace.run_time_checks import check, check_message, is_refused
from flatweave.frontend.trace.tracers import arrays_of, emit, restructured, tracer_of
from flatweave.frontend.values.array import Array, Tracer
from flatweave.frontend.values.exchange import on_device
from flatweave.frontend.values.promotion import dtype_of
from flatweave.frontend.values.scope import current
from flatweave.ops import Empty
from flatweave.terms.build import index
from flatweave.terms.syntax import Atom, Const


@operation(static="dtype")
def iota(n: Any, dtype: Any = i64) -> Array:
    """0, 1, .., n-1.

    Raises NegativeExtentError when n is below 0, ExtentOverflowError when an integer dtype does not
    reach n-1.

    Types: `n: extent -> i64[n]`, or of another integer dtype.
    Source: APL's index generator; Futhark's `iota`.

        >>> fw.iota(4)
        Array([0, 1, 2, 3], dtype=int64)
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
        raise ExtentOverflowError.here(message.format(length.value), remedy)
    check(fits, "overflow", (length,), check_message(message, [], remedy))


@operation(static="dtype device")
def full(
    shape: Any, fill_value: Any = None, dtype: Any = None, *, device: Any = None, v: Any = None
) -> Array:
    """The array of `shape` whose elements are all one value: a scalar, a tuple of scalars, or a
    row; `v` is another name for it.

    Types: `shape: extents, fill_value: t -> t[shape]`. Raises NegativeExtentError for an extent
    below 0, DTypeError for a Python integer that the dtype cannot hold. Source: `numpy.full`.

        >>> fw.full((2, 2), 7)
        Array([[7, 7],
               [7, 7]], dtype=int64)
    """
    on_device(device, "full")
    extents = shape_of(shape, "full")
    leaves, tree = arrays_of(v if fill_value is None else fill_value, "the value of full")
    if dtype is not None:
        for leaf in leaves:
            if leaf.weak and dtype_of(dtype).is_integer and leaf.element.is_integer:
                must_fit(leaf, dtype_of(dtype))
        leaves = [converted(leaf, dtype_of(dtype)) for leaf in leaves]
    return restructured(tree, [_filled(extents, leaf) for leaf in leaves])


def _filled(extents: tuple[Atom, ...], value: Tracer) -> Tracer:
    """One value everywhere."""
    if not value.ndim:
        made = strong(value, value.element)
        return generated(extents, lambda *at: made)[0] if extents else made
    shape = (*extents, *value.extents)
    return generated(shape, lambda *at: read(value, at[len(extents) :]))[0]


@operation()
def replicate(n: Any, v: Any) -> Array:
    """`n` times the element `v`: a scalar, a tuple of scalars, or a row.

    Types: `n: extent, v: t -> t[n]`. Raises NegativeExtentError for n below 0.
    Source: Futhark's `replicate`.

        >>> fw.replicate(3, 7)
        Array([7, 7, 7], dtype=int64)
    """
    length = length_of(n, "the length of replicate")
    leaves, tree = arrays_of(v, "the value of replicate")
    return restructured(tree, [_filled((length,), leaf) for leaf in leaves])


@operation(static="dtype device")
def empty(
    shape: Any = None, dtype: Any = None, *, device: Any = None, n: Any = None
) -> Array:
    """An uninitialised array for `scatter` to fill, of a shape or a number of elements `n`.

    The dtype is f64 unless given.

    Types: `shape: extents, dtype -> t[shape]`. Raises NegativeExtentError for an extent below 0.
    Source: `numpy.empty`.

        >>> fw.empty((2, 3), fw.i8).shape
        (2, 3)
    """
    on_device(device, "empty")
    extents = shape_of(n if shape is None else shape, "empty")
    wanted = dtype_of("f64" if dtype is None else dtype)
    return emit(Empty(wanted, extents))[0]
