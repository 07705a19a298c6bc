"""Variances, differences, running sums and counts, under the standard's names.

Functions of numbers that are compositions of others come first.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from flatweave.base.dtypes import DType, bool_, i8
from flatweave.base.errors import ArgumentError, DTypeError
from flatweave.frontend.arrays.axes import axes_of
from flatweave.frontend.arrays.shapes import axis_of, broadcast, integer, raveled
from flatweave.frontend.arrays.sources import concat, full
from flatweave.frontend.call.operation import operation
from flatweave.frontend.complex.rules import either, for_complex
from flatweave.frontend.elements.broadcasting import strong, zipped
from flatweave.frontend.elements.elementwise import copysign, exp, isinf, log1p, maximum, sqrt
from flatweave.frontend.elements.scalars import apply, select, where
from flatweave.frontend.functions.reductions import mean, sum
from flatweave.frontend.functions.scans import cumprod, cumsum
from flatweave.frontend.standard.creation import ones_like, zeros_like
from flatweave.frontend.standard.namespace import isdtype
from flatweave.frontend.trace.tracers import as_tracer, tracer_of
from flatweave.frontend.values.arguments import operand_dtype
from flatweave.frontend.values.array import Array, Tracer, shown
from flatweave.frontend.values.number_formats import Complex
from flatweave.terms.syntax import constant


@operation(elementwise=True)
def logaddexp(x: Any, y: Any) -> Array:
    """`log(exp(x) + exp(y))` without overflow; element by element, broadcast.

    Types: `x: t[..], y: t[..] -> t[..]`, t floats, which integers become
    as in `exp`. Raises ShapeError for
    shapes that do not fit. Source: `numpy.logaddexp`.

        >>> fw.logaddexp([0.0], [-fw.inf])
        Array([0.], dtype=float64)
    """
    a = as_tracer(x, "an operand of logaddexp")
    b = as_tracer(y, "an operand of logaddexp")
    if not (a.element.is_float and b.element.is_float):
        dtype = operand_dtype("atan2", (a, b))  # unsigned integers have no difference below 0
        a, b = (v if v.weak else v.astype(dtype) for v in (a, b))
    # both sides of a tie are one smooth formula; infinities of one sign, whose difference is NaN,
    # have half of the slope each
    is_first = a >= b
    most, least = where(is_first, a, b), where(is_first, b, a)
    found = most + log1p(exp(least - most))
    return where((a == b) & isinf(a), a * 0.5 + b * 0.5, found)


@operation(elementwise=True)
def signbit(x: Any) -> Array:
    """Whether the sign is minus, that of -0.0 and NaN, too; element by element.

    Types: `x: t[..] -> bool[..]`. Raises Unsupported for complex numbers. Source: `numpy.signbit`.

        >>> fw.signbit([1.0, -0.0])
        Array([False,  True], dtype=bool)
    """
    array = as_tracer(x, "x of signbit")
    return copysign(1, array) < 0 if array.element.is_float else array < 0


@operation(elementwise=True)
def real(x: Any) -> Array:
    """The real part: of real numbers they themselves.

    Types: `x: c128[..] -> f64[..]`, of c64 f32. Raises ArgumentError for what is no array.
    Source: `numpy.real`.

        >>> fw.real(np.array([1 + 2j]))
        Array([1.], dtype=float64)
    """
    return as_tracer(x, "x of real")


@operation(elementwise=True)
def imag(x: Any) -> Array:
    """The imaginary part: of real numbers 0.

    Types: `x: c128[..] -> f64[..]`, of c64 f32. Raises ArgumentError for what is no array.
    Source: `numpy.imag`.

        >>> fw.imag(np.array([1 + 2j]))
        Array([2.], dtype=float64)
    """
    array = as_tracer(x, "x of imag")
    zero = tracer_of(constant(array.element.numpy.type(0).item(), array.element))
    return zipped(lambda v: zero, [array], "imag")[0]


@operation(elementwise=True)
def complex(real: Any, imag: Any) -> Array:
    """The complex numbers with these real and imaginary parts, whatever these are; broadcast.

    Types: `real: f64[..], imag: f64[..] -> c128[..]`, of f32 c64; integers as in `atan2`. Raises
    ShapeError for shapes that do not fit. Source: `jax.lax.complex`, `torch.complex`.

        >>> fw.complex([1.0, 2.0], 0.5)
        Array([1.+0.5j, 2.+0.5j], dtype=complex128)
    """
    parts = [as_tracer(real, "real of complex"), as_tracer(imag, "imag of complex")]
    dtype = operand_dtype("atan2", parts)
    return Complex(*zipped(lambda *each: [strong(v, dtype) for v in each], parts, "complex"))


@operation(elementwise=True)
def nextafter(x1: Any, x2: Any) -> Array:
    """The float next to `x1` in the direction of `x2`.

    Types: `x1, x2: t[..] -> t[..]`, t floats, which integers become as in `exp`. Raises ShapeError
    for shapes that do not fit. Source: `numpy.nextafter`.

        >>> fw.nextafter(1.0, 2.0) > 1.0
        Array(True, dtype=bool)
    """
    a, b = as_tracer(x1, "an operand of nextafter"), as_tracer(x2, "an operand of nextafter")
    return zipped(_next, [a, b], "nextafter")[0]


def _next(x: Tracer, toward: Tracer) -> Tracer:
    """One up or down in the order of the bits, which is that of positive floats."""
    dtype = operand_dtype("atan2", [x, toward])
    a, b = strong(x, dtype), strong(toward, dtype)
    bits = apply("bits", a)
    one = tracer_of(constant(1, bits.element))
    sign = tracer_of(constant(1 << (dtype.bits - 1), bits.element))
    grows = apply("eq", apply("lt", a, b), apply("gt", a, as_tracer(0.0)))
    moved = select(grows, apply("add", bits, one), apply("sub", bits, one))
    least = apply("or", select(apply("lt", b, as_tracer(0.0)), sign, _zero(bits)), one)
    moved = select(apply("eq", a, as_tracer(0.0)), least, moved)
    found = select(apply("eq", a, b), b, apply("from_bits", moved))
    nan = apply("or", apply("isnan", a), apply("isnan", b))
    return select(nan, apply("add", a, b), found)


def _zero(bits: Tracer) -> Tracer:
    return tracer_of(constant(0, bits.element))


@operation(elementwise=True)
def conj(x: Any) -> Array:
    """The complex conjugate: of real numbers they themselves.

    Types: `x: t[..] -> t[..]`, bools in i8. Raises ArgumentError for what is no array.
    Source: `numpy.conj`.

        >>> fw.conj(np.array([1 + 2j]))
        Array([1.-2.j], dtype=complex128)
    """
    value = as_tracer(x, "x of conj")
    return value.astype(i8) if value.element is bool_ else value  # as NumPy has it


MOMENT = "axis dtype out correction keepdims"  # the order of NumPy's


@for_complex
@operation(
    static="axis correction keepdims dtype", axial=True, renamed="ddof=correction", order=MOMENT
)
def var(
    x: Any, axis: Any = None, correction: float = 0.0, keepdims: bool = False, *,
    dtype: Any = None, where: Any = None,
) -> Array:  # fmt: skip
    """The mean square distance from the mean, of all elements or along `axis`.

    The sum is divided by the number of elements less `correction` (or `ddof`), 1 for a sample; by
    0 where that is below 0. Read twice: once for the mean. With `dtype`, of floats, elements are
    converted first; those where the bools `where` do not hold are left out.

    Types: `x: t[..] -> t[..]`, without the axes gone along; integers in f64, complex numbers in
    that of their parts. Raises AxisError for an axis that is not there. Source: `numpy.var`.

        >>> fw.var([1.0, 3.0], correction=1)
        Array(2.0, dtype=float64)
    """
    return _variance(x, axis, correction, keepdims, dtype, where, "var")


def _variance(
    x: Any, axis: Any, correction: Any, keepdims: bool, dtype: Any, mask: Any, who: str
) -> Array:
    if isinstance(correction, type | np.dtype | DType | str):
        raise ArgumentError.here(
            f"the correction of {who} is a number, got {shown(correction)}.",
            "Name the dtype: dtype=fw.f64.",
        )
    array = either(x, f"x of {who}")
    if dtype is not None:
        if not isdtype(dtype, ("real floating", "complex floating")):
            raise DTypeError.here(
                f"{who} takes a dtype of floats, got {dtype}.", "Convert the result: .astype(..)."
            )
        array = array.astype(dtype)
    count: Any = math.prod(array.shape[each] for each in axes_of(array, axis, who))
    away = array - mean(array, axis=axis, keepdims=True, where=mask)
    squares = (away * conj(away)).real if isinstance(away, Complex) else away * away
    total = sum(squares, axis=axis, keepdims=keepdims, where=mask)
    if mask is not None:
        count = sum(broadcast(mask, squares.shape), axis=axis, keepdims=keepdims)
    return total / maximum(as_tracer(count) - correction, 0)


@for_complex
@operation(
    static="axis correction keepdims dtype", axial=True, renamed="ddof=correction", order=MOMENT
)
def std(
    x: Any, axis: Any = None, correction: float = 0.0, keepdims: bool = False, *,
    dtype: Any = None, where: Any = None,
) -> Array:  # fmt: skip
    """The square root of the variance (`var`).

    Types: `x: t[..] -> t[..]`, without the axes gone along; integers in f64. Raises AxisError for
    an axis that is not there. Source: `numpy.std`.

        >>> fw.std([1.0, 3.0])
        Array(1.0, dtype=float64)
    """
    return sqrt(_variance(x, axis, correction, keepdims, dtype, where, "std"))


@operation(static="n axis")
def diff(x: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Array:
    """The differences of neighbours along an axis, n times; arrays, or a number, before and after
    it join in.

    Types: `x: t[.., m, ..] -> t[.., m - n, ..]`. Raises AxisError for an axis that is not there.
    Source: `numpy.diff`.

        >>> fw.diff([1, 4, 9, 16])
        Array([3, 5, 7], dtype=int64)
    """
    found = as_tracer(x, "x of diff")
    times = integer(n, "n of diff", "Leave it out for 1.", least=0)
    at = axis_of(found, axis, "diff")
    if not times:
        return found
    ends = [as_tracer(end, "an end of diff") for end in (prepend, append) if end is not None]
    shape = tuple(1 if k == at else extent for k, extent in enumerate(found.shape))
    ends = [end if end.ndim else as_tracer(full(shape, end)) for end in ends]
    if ends:
        found = as_tracer(
            concat([*ends[:prepend is not None], found, *ends[prepend is not None:]], at)
        )
    for _ in range(times):
        behind, before = [slice(None)] * found.ndim, [slice(None)] * found.ndim
        behind[at], before[at] = slice(1, None), slice(None, -1)
        a, b = found[tuple(behind)], found[tuple(before)]
        found = a != b if a.dtype.kind == "b" else a - b
    return found


@operation(static="axis dtype include_initial")
def cumulative_sum(
    x: Any, *, axis: Any = None, dtype: Any = None, include_initial: bool = False
) -> Array:
    """The sum of the elements up to each one; with `include_initial` a 0 stands before them.

    Types: `x: t[..] -> t[..]`, one element longer along the axis with `include_initial`. Raises
    AxisError for an axis that is not there, ArgumentError where there are several and none is
    named. Source: `numpy.cumulative_sum`.

        >>> fw.cumulative_sum([1, 2, 3], include_initial=True)
        Array([0, 1, 3, 6], dtype=int64)
    """
    return _cumulative(cumsum, zeros_like, x, axis, dtype, include_initial, "cumulative_sum")


@operation(static="axis dtype include_initial")
def cumulative_prod(
    x: Any, *, axis: Any = None, dtype: Any = None, include_initial: bool = False
) -> Array:
    """The product of the elements up to each one; with `include_initial` a 1 stands before them.

    Types: `x: t[..] -> t[..]`, one element longer along the axis with `include_initial`. Raises
    AxisError for an axis that is not there, ArgumentError where there are several and none is
    named. Source: `numpy.cumulative_prod`.

        >>> fw.cumulative_prod([2, 3, 4], include_initial=True)
        Array([ 1,  2,  6, 24], dtype=int64)
    """
    return _cumulative(cumprod, ones_like, x, axis, dtype, include_initial, "cumulative_prod")


def _cumulative(
    fn: Any, start: Any, x: Any, axis: Any, dtype: Any, initial: bool, who: str
) -> Array:
    array = as_tracer(x, f"x of {who}")
    if not array.ndim:
        array = raveled(array)
    if axis is None and array.ndim != 1:
        raise ArgumentError.here(
            f"{who} of {array.ndim} axes needs the argument axis.",
            "Give axis=0, or reshape: x.reshape(-1).",
        )
    at = 0 if axis is None else axis_of(array, axis, who)
    found: Tracer = fn(array, at, dtype)
    if not initial:
        return found
    shape = tuple(1 if k == at else extent for k, extent in enumerate(array.shape))
    return concat([full(shape, start(as_tracer(0), dtype=found.dtype)), found], at)


@operation(static="axis keepdims", axial=True)
def count_nonzero(x: Any, axis: Any = None, keepdims: bool = False) -> Array:
    """How many elements are not 0, of all or along `axis`.

    Types: `x: t[..] -> i64[..]`, without the axes gone along. Raises AxisError for an axis that is
    not there. Source: `numpy.count_nonzero`.

        >>> fw.count_nonzero([3, 0, 5])
        Array(2, dtype=int64)
    """
    array = as_tracer(x, "x of count_nonzero")
    return sum(array.astype(bool_), axis=axis, keepdims=keepdims)
