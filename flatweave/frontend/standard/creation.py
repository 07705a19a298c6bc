"""Arrays from numbers and shapes, under the standard's names: zeros, arange, linspace, eye."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from flatweave.base.dtypes import DType, bf16, bool_, f64, i64, u64
from flatweave.base.errors import ArgumentError, ShapeError
from flatweave.frontend.arrays.shapes import integer
from flatweave.frontend.call.operation import operation
from flatweave.frontend.elements.broadcasting import cast, generated, read, strong
from flatweave.frontend.elements.scalars import apply, select
from flatweave.frontend.trace.extents import length_of, scalar_i64, shape_of
from flatweave.frontend.trace.run_time_checks import MOST
from flatweave.frontend.trace.tracers import as_tracer, extent_of, flag_of, scalar_of, tracer_of
from flatweave.frontend.values.arguments import ScalarOverflowError, dtype_of, fits
from flatweave.frontend.values.array import Array, Tracer, describe, host_array, kind_of
from flatweave.frontend.values.exchange import on_device
from flatweave.frontend.values.scope import current
from flatweave.terms.build import index
from flatweave.terms.syntax import constant


def _filled(shape: Any, value: Any, dtype: Any, device: Any, who: str) -> Tracer:
    """An array of one value."""
    on_device(device, who)
    extents = shape_of(shape, who)
    wanted = f64 if dtype is None else dtype_of(dtype)
    atom = constant(wanted.numpy.type(value).item(), wanted)
    return generated(extents, lambda *at: tracer_of(atom))[0]


FEW = 65536  # elements: more are filled by all cores


def _on_host(make: Any, shape: Any, dtype: Any = None, *, device: Any = None) -> object:
    """A small array of one value outside of a trace, by NumPy."""
    parts = shape if type(shape) is tuple else (shape,)
    elements = 1
    for part in parts:
        if type(part) is not int or part < 0:
            return NotImplemented
        elements *= part
    if elements > FEW or len(parts) > 64 or device is not None or dtype is bf16:
        return NotImplemented
    if dtype is not None and type(dtype) is not DType:
        return NotImplemented
    return host_array(make(parts, np.float64 if dtype is None else dtype.numpy))


@operation(static="dtype device", host=partial(_on_host, np.zeros))
def zeros(shape: Any, dtype: Any = None, *, device: Any = None) -> Array:
    """An array of 0. Raises NegativeExtentError for an extent below 0.

    Types: `shape: extents -> t[shape]`, f64 unless given. Source: `numpy.zeros`.

        >>> fw.zeros((2, 2))
        Array([[0., 0.],
               [0., 0.]], dtype=float64)
    """
    return _filled(shape, 0, dtype, device, "zeros")


@operation(static="dtype device", host=partial(_on_host, np.ones))
def ones(shape: Any, dtype: Any = None, *, device: Any = None) -> Array:
    """An array of 1. Raises NegativeExtentError for an extent below 0.

    Types: `shape: extents -> t[shape]`, f64 unless given. Source: `numpy.ones`.

        >>> fw.ones(3, fw.i8)
        Array([1, 1, 1], dtype=int8)
    """
    return _filled(shape, 1, dtype, device, "ones")


def _like(x: Any, value: Tracer | None, dtype: Any, device: Any, who: str) -> Tracer:
    """An array of one value, of the shape of another, and of its dtype if none is given."""
    on_device(device, who)
    array = as_tracer(x, f"x of {who}")
    wanted = array.element if dtype is None else dtype_of(dtype)
    element = tracer_of(constant(0, wanted)) if value is None else cast(value, wanted)
    return generated(array.extents, lambda *at: element)[0]


@operation(static="dtype device", elementwise=True)
def zeros_like(x: Any, dtype: Any = None, *, device: Any = None) -> Array:
    """An array of 0, of the shape and, unless another is given, the dtype of `x`.

    Types: `x: t[..] -> t[..]`. Raises ArgumentError for what is no array.
    Source: `numpy.zeros_like`.

        >>> fw.zeros_like([1, 2])
        Array([0, 0], dtype=int64)
    """
    return _like(x, None, dtype, device, "zeros_like")


@operation(static="dtype device", elementwise=True)
def ones_like(x: Any, dtype: Any = None, *, device: Any = None) -> Array:
    """An array of 1, of the shape and, unless another is given, the dtype of `x`.

    Types: `x: t[..] -> t[..]`. Raises ArgumentError for what is no array.
    Source: `numpy.ones_like`.

        >>> fw.ones_like(np.zeros(2))
        Array([1., 1.], dtype=float64)
    """
    return _like(x, as_tracer(1), dtype, device, "ones_like")


@operation(static="dtype device")
def empty_like(x: Any, dtype: Any = None, *, device: Any = None) -> Array:
    """An array of the shape and, unless another is given, the dtype of `x`; its values are 0.

    Types: `x: t[..] -> t[..]`. Raises ArgumentError for what is no array.
    Source: `numpy.empty_like`.

        >>> fw.empty_like(np.zeros((2, 3))).shape
        (2, 3)
    """
    return _like(x, None, dtype, device, "empty_like")


@operation(static="dtype device")
def full_like(x: Any, fill_value: Any, dtype: Any = None, *, device: Any = None) -> Array:
    """An array of one value, of the shape and, unless another is given, the dtype of `x`.

    Types: `x: t[..], fill_value: number -> t[..]`. Raises ArgumentError for what is no array.
    Source: `numpy.full_like`.

        >>> fw.full_like(np.zeros(2), 7)
        Array([7., 7.], dtype=float64)
    """
    return _like(x, scalar_of(fill_value, "the value of full_like"), dtype, device, "full_like")


@operation(static="start stop step dtype device")
def arange(
    start: Any, stop: Any = None, step: Any = 1, dtype: Any = None, *, device: Any = None
) -> Array:
    """start, start + step, .. below `stop`; arange(n) is 0, 1, .. n - 1.

    Computed bounds, such as `x.shape[0]` in a compiled function, are integers, and the step is a
    number of Python. The dtype is i64, or f64 where a float is among them. Raises ArgumentError for
    a step of 0, ScalarOverflowError for integers of more than 64 bits, DTypeError for a computed
    float.

    Types: `start, stop, step: numbers -> i64[n]` or `f64[n]`. Source: `numpy.arange`.

        >>> fw.arange(2, 8, 3)
        Array([2, 5], dtype=int64)
    """
    on_device(device, "arange")
    first, end = (0, start) if stop is None else (start, stop)
    numbers = (first, end, step)
    if not isinstance(step, int | float):
        raise ArgumentError.here(
            f"the step of arange is a number of Python, got {kind_of(step)}.",
            "For a computed step write fw.iota(n) * step + start.",
        )
    if step == 0:
        raise ArgumentError.here(
            "arange with a step of 0 never ends.",
            "Give another step; fw.full(n, v) repeats one value.",
        )
    floats = any(isinstance(number, float) for number in numbers)
    wanted = dtype_of(dtype) if dtype is not None else f64 if floats else i64
    if not all(isinstance(number, int | float) for number in numbers):
        return _between(first, end, step, wanted)
    own = f64 if floats or wanted.is_float else i64
    count = max(0, math.ceil((end - first) / step))
    ends = (first, first + step * (count - 1)) if own is i64 and count else ()
    for number in ends:
        if not fits(number, u64 if wanted is u64 else i64):
            raise ScalarOverflowError.here(
                f"arange reaches {number}, which does not fit {wanted}.",
                "Give numbers of 64 bits, with dtype=fw.u64 from 2**63 on, or floats.",
            )
    begin, by = constant(first, own), constant(step, own)

    def element(i: Any) -> Tracer:
        turns = apply("mul", strong(tracer_of(i), own), tracer_of(by))
        return strong(apply("add", tracer_of(begin), turns), wanted)

    return generated(shape_of(count, "arange"), element)[0]


def _between(start: Any, stop: Any, step: Any, dtype: DType) -> Tracer:
    """arange of computed bounds, with a step that is an int."""
    by = integer(step, "the step of arange with computed bounds", "Give an int, such as 2.")
    first, end = extent_of(start, "the start of arange"), extent_of(stop, "the end of arange")
    scope = current()
    if by != 1 or first != index(0) or not scope.is_natural(end):
        distance = scope.apply("sub", *((end, first) if by > 0 else (first, end)))
        rounded = scope.apply("add", distance, index(abs(by) - 1))
        count = scope.apply("floordiv", rounded, index(abs(by)))
        end = scope.apply("maximum", count, index(0))

    def element(i: Any) -> Tracer:
        turns = apply("mul", tracer_of(i), tracer_of(index(by)))
        return strong(apply("add", tracer_of(first), turns), dtype)

    return generated((length_of(scalar_i64(end), "the length of arange"),), element)[0]


@operation(static="num dtype device endpoint")
def linspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, *, dtype: Any = None,
    device: Any = None,
) -> Array:  # fmt: skip
    """`num` numbers evenly spaced from `start` to `stop`, which is the last one if `endpoint`;
    rounded down for an integer dtype.

    Types: `start, stop: numbers, num: int -> f64[num]`. Raises ArgumentError for a num below 0.
    Source: `numpy.linspace`.

        >>> fw.linspace(0, 1, 3)
        Array([0. , 0.5, 1. ], dtype=float64)
    """
    on_device(device, "linspace")
    num = integer(num, "num of linspace", "Give an int, such as 50.", least=0)
    endpoint = flag_of(endpoint, "endpoint")
    low = strong(scalar_of(start, "the start of linspace"), f64)
    high = strong(scalar_of(stop, "the end of linspace"), f64)
    parts = num - 1 if endpoint else num
    wanted = f64 if dtype is None else dtype_of(dtype)
    step = apply("truediv", apply("sub", high, low), tracer_of(constant(max(parts, 1), f64)))
    last = tracer_of(constant(num - 1, i64))

    def element(i: Any) -> Tracer:
        at = tracer_of(i)
        value = apply("add", apply("mul", strong(at, f64), step), low)
        if endpoint and num > 1:
            value = select(apply("eq", at, last), high, value)
        return strong(value if wanted.is_float else apply("floor", value), wanted)

    return generated(shape_of(int(num), "linspace"), element)[0]


@operation(static="k dtype device")
def eye(
    n_rows: Any, n_cols: Any = None, k: int = 0, dtype: Any = None, *, device: Any = None
) -> Array:
    """A matrix with 1 on its diagonal number k, which lies above the main one for k > 0.

    Types: `n_rows, n_cols: extents -> t[n_rows, n_cols]`, f64 unless given. Raises
    NegativeExtentError for an extent below 0. Source: `numpy.eye`.

        >>> fw.eye(2, 3, k=1)
        Array([[0., 1., 0.],
               [0., 0., 1.]], dtype=float64)
    """
    on_device(device, "eye")
    shape = shape_of((n_rows, n_rows if n_cols is None else n_cols), "eye")
    wanted = f64 if dtype is None else dtype_of(dtype)
    by = _diagonal(k, "eye")
    zero, one = (tracer_of(constant(wanted.numpy.type(v).item(), wanted)) for v in (0, 1))

    def element(i: Any, j: Any) -> Tracer:
        on = apply("eq", apply("add", tracer_of(i), by), tracer_of(j))
        return on if wanted is bool_ else select(on, one, zero)

    return generated(shape, element)[0]


def _diagonal(k: int, who: str) -> Tracer:
    """The number of a diagonal; those outside of every matrix are equal."""
    return tracer_of(constant(max(-MOST, min(integer(k, f"k of {who}"), MOST)), i64))


def _triangle(x: Any, k: int, fn: str, who: str) -> Tracer:
    """The elements of matrices on one side of a diagonal, 0 on the other."""
    array = as_tracer(x, f"x of {who}")
    if array.ndim < 2:
        raise ShapeError.here(
            f"{who} takes matrices, got {describe(array)}.", "Give an array of two axes or more."
        )
    by = _diagonal(k, who)
    zero = tracer_of(constant(0, array.element))

    def element(*at: Any) -> Tracer:
        kept = apply(fn, tracer_of(at[-1]), apply("add", tracer_of(at[-2]), by))
        value = read(array, at)
        return apply("and", kept, value) if array.element is bool_ else select(kept, value, zero)

    return generated(array.extents, element)[0]


@operation(static="k")
def tril(x: Any, k: int = 0) -> Array:
    """Matrices with 0 above diagonal number k.

    Types: `x: t[.., m, n] -> t[.., m, n]`. Raises ShapeError for fewer than two axes.
    Source: `numpy.tril`.

        >>> fw.tril([[1, 2], [3, 4]])
        Array([[1, 0],
               [3, 4]], dtype=int64)
    """
    return _triangle(x, k, "le", "tril")


@operation(static="k")
def triu(x: Any, k: int = 0) -> Array:
    """Matrices with 0 below diagonal number k.

    Types: `x: t[.., m, n] -> t[.., m, n]`. Raises ShapeError for fewer than two axes.
    Source: `numpy.triu`.

        >>> fw.triu([[1, 2], [3, 4]])
        Array([[1, 2],
               [0, 4]], dtype=int64)
    """
    return _triangle(x, k, "ge", "triu")


@operation(static="indexing")
def meshgrid(*arrays: Any, indexing: str = "xy") -> tuple[Array, ...]:
    """The coordinates of a grid: for each array one of all its points. "xy" has the second array
    along axis 0, "ij" the first.

    Types: `a[m], b[n], .. ->` a tuple of `[n, m, ..]`, or of `[m, n, ..]` for "ij". Raises
    ArgumentError for another indexing, ShapeError for arrays of more axes.
    Source: `numpy.meshgrid`.

        >>> fw.meshgrid([1, 2], [3, 4])[1]
        Array([[3, 3],
               [4, 4]], dtype=int64)
    """
    if indexing not in ("xy", "ij"):
        raise ArgumentError.here(
            f'indexing of meshgrid is "xy" or "ij", got {indexing!r}.', 'Leave it out for "xy".'
        )
    axes = [as_tracer(array, "an array of meshgrid") for array in arrays]
    if any(axis.ndim != 1 for axis in axes):
        raise ShapeError.here(
            "meshgrid takes arrays of one axis.", "Reshape them first: xs.reshape(-1)."
        )
    order = list(range(len(axes)))
    if indexing == "xy" and len(axes) > 1:
        order[:2] = [1, 0]
    shape = [axes[k].extents[0] for k in order]
    return tuple(
        generated(shape, lambda *at, k=k: read(axes[k], (at[order.index(k)],)))[0]
        for k in range(len(axes))
    )
