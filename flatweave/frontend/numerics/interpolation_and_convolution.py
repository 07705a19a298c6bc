"""Functions known by samples: interpolation, differences, integrals, convolutions.

    interp(x, xp, fp)     k = searchsorted(xp, x, "right") - 1
                          fp[k] + (fp[k + 1] - fp[k]) / (xp[k + 1] - xp[k]) * (x - xp[k])
    convolve(a, v)        generate (n + m - 1) (k => sum over j of a[k - j] * v[j])
"""

from __future__ import annotations

from typing import Any

from flatweave.base.dtypes import f64
from flatweave.base.errors import ArgumentError
from flatweave.base.source import user_location
from flatweave.frontend.arrays.axes import axes_named
from flatweave.frontend.arrays.joining import concat
from flatweave.frontend.arrays.shapes import axis_of
from flatweave.frontend.call.operation import operation
from flatweave.frontend.complex.rules import either, for_complex, whole
from flatweave.frontend.elements.broadcasting import zipped
from flatweave.frontend.elements.elementwise import isnan, maximum, minimum
from flatweave.frontend.elements.scalars import astype, where
from flatweave.frontend.functions.combinators import generate
from flatweave.frontend.functions.control import cond, fori_loop
from flatweave.frontend.functions.reductions import sum
from flatweave.frontend.numerics.lines import along, floating, parts_of, row_of, together
from flatweave.frontend.standard.numbers import conj
from flatweave.frontend.standard.searching import searchsorted
from flatweave.frontend.trace import extents
from flatweave.frontend.trace.extents import ZERO
from flatweave.frontend.trace.run_time_checks import check, check_message
from flatweave.frontend.trace.tracers import as_tracer
from flatweave.frontend.values.array import Array, Tracer
from flatweave.frontend.values.number_formats import Complex
from flatweave.frontend.values.scope import current

MODES = ("full", "same", "valid")


def _row(x: Any, name: str, who: str) -> Array:
    """An array of one axis with elements in it."""
    array = row_of(x, f"{name} of {who}")
    message = check_message(f"{name} of {who} has no element.", [], "Check the length first.")
    check(current().apply("gt", parts_of(array).extents[0], ZERO), "shape", (), message)
    return array


@for_complex
@operation()
def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None) -> Array:
    """The values at `x` of the function whose values at the ascending `xp` are `fp`, straight in
    between; `left` and `right` outside of them, the first and the last value if not given.

    Types: `x: t[..], xp: t[n], fp: t[n] -> f64[..]`. Raises ShapeError unless `xp` and `fp` are of
    one length, which is not 0. Source: `numpy.interp`.

        >>> fw.interp([0.5, 1.5, 9.0], [0.0, 1.0, 2.0], [0.0, 10.0, 30.0])
        Array([ 5., 20., 30.], dtype=float64)
    """
    values = _row(fp, "fp", "interp")
    if isinstance(values, Complex):
        ends = (whole(values[0] if left is None else left),
                whole(values[-1] if right is None else right))
        return Complex(interp(x, xp, values.real, *(end.real for end in ends)),
                       interp(x, xp, values.imag, *(end.imag for end in ends)))  # fmt: skip
    places = as_tracer(_row(xp, "xp", "interp").astype(f64))
    values = as_tracer(values.astype(f64))
    extents.same(
        places.extents[0], values.extents[0], "xp of interp has {0} elements and fp {1}."
    )
    wanted = as_tracer(x, "x of interp").astype(f64)
    n = as_tracer(places.shape[0])
    below = searchsorted(places, wanted, side="right") - 1
    first = values[0] if left is None else as_tracer(left).astype(f64)
    last = values[n - 1] if right is None else as_tracer(right).astype(f64)

    def value(v: Tracer, k: Tracer) -> Tracer:
        low = minimum(maximum(k, 0), n - 1)
        high = minimum(low + 1, n - 1)
        a, b, start, end = values[low], values[high], places[low], places[high]
        slope = (b - a) / (end - start)
        found: Array = slope * (v - start) + a
        found = where(isnan(found) & ((v == start) | (k >= n - 1)), a, found)
        found = where(isnan(found), slope * (v - end) + b, found)
        found = where(isnan(found) & (a == b), a, found)
        found = where(v > places[n - 1], last, where(v < places[0], first, found))
        return as_tracer(where(isnan(v), v, found))

    return zipped(value, [wanted, as_tracer(below)], "interp")[0]


def _part(array: Array, axis: int, start: int | None, stop: int | None) -> Array:
    return array[(*[slice(None)] * axis, slice(start, stop))]


@for_complex
@operation(static="axis")
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Array:
    """The integral of samples along an axis by the trapezoidal rule, at `x` or with spacing `dx`.

    Types: `y: t[.., n, ..] -> t[..]`, without the axis. Raises AxisError for an axis that is not
    there, ShapeError where `x` does not fit. Source: `numpy.trapezoid`.

        >>> fw.trapezoid([1.0, 2.0, 3.0])
        Array(4.0, dtype=float64)
    """
    array = either(y, "y of trapezoid")
    at = axis_of(array, axis, "trapezoid")
    gaps: Any = dx
    if x is not None:
        places: Array = either(x, "x of trapezoid")
        if places.ndim == 1:
            places = along(places, array, [at], "x of trapezoid")
        gaps = _part(places, at, 1, None) - _part(places, at, None, -1)
    both = _part(array, at, 1, None) + _part(array, at, None, -1)
    return sum(gaps * both / 2.0, axis=at)


@for_complex
@operation(static="axis edge_order")
def gradient(
    f: Any, *spacing: Any, axis: Any = None, edge_order: int = 1
) -> Array | tuple[Array, ...]:
    """Differences over distances, central ones of second order, at the ends of order `edge_order`.

    The spacing is a distance for all axes, or for each a distance or the samples' coordinates; 1 if
    not given. Of several axes a tuple of arrays, one for each, in the order of `axis`.

    Types: `f: t[..] -> t[..]`, integers in f64. Raises ShapeError for an axis with too few elements
    or another number of coordinates, ArgumentError for another order or number of spacings,
    AxisError for an axis that is not there. Source: `numpy.gradient`.

        >>> fw.gradient([1.0, 4.0, 9.0, 16.0])
        Array([3., 4., 6., 7.], dtype=float64)
    """
    array = floating(f, "f of gradient")
    axes = axes_named(array, axis, "gradient")
    if edge_order not in (1, 2):
        raise ArgumentError(
            f"edge_order of gradient is 1 or 2, got {edge_order!r}.",
            where=user_location(), remedy="Leave it out for 1.",
        )  # fmt: skip
    given = [floating(h, "a spacing of gradient") for h in spacing or [1.0]]
    if len(given) == 1 and not given[0].ndim:
        given *= len(axes)
    if len(given) != len(axes):
        raise ArgumentError(
            f"gradient has {len(axes)} axes to go along and {len(given)} spacings.",
            where=user_location(), remedy="Give a distance for all of them, or one for each.",
        )  # fmt: skip
    found = tuple(
        _slopes(array, at, h, edge_order).astype(array.dtype)
        for at, h in zip(axes, given, strict=True)
    )
    return found[0] if len(found) == 1 else found


def _slopes(f: Array, at: int, h: Array, order: int) -> Array:
    """The slopes along one axis; the formulas are those of numpy.gradient."""
    least = check_message(
        f"gradient needs {order + 1} elements along axis {at}.", [], "Check the shape first."
    )
    enough = as_tracer(as_tracer(f.shape[at]) > order)
    check(enough.atom, "shape", (), least)
    if h.ndim:
        places = along(h, f, [at], "the coordinates of gradient")
        gaps = _part(places, at, 1, None) - _part(places, at, None, -1)
        a1, a2 = _part(gaps, at, None, -1), _part(gaps, at, 1, None)
        first, second = _part(gaps, at, 0, 1), _part(gaps, at, 1, 2)
        before, last = _part(gaps, at, -2, -1), _part(gaps, at, -1, None)
    else:
        a1 = a2 = first = second = before = last = h
    low, here, high = _part(f, at, None, -2), _part(f, at, 1, -1), _part(f, at, 2, None)
    if h.ndim:
        both = a1 + a2
        middle = -a2 / (a1 * both) * low + (a2 - a1) / (a1 * a2) * here + a1 / (a2 * both) * high
    else:
        middle = (high - low) / (2.0 * h)
    x0, x1 = _part(f, at, 0, 1), _part(f, at, 1, 2)
    y1, y0 = _part(f, at, -2, -1), _part(f, at, -1, None)
    if order == 1:
        ends = (x1 - x0) / first, (y0 - y1) / last
    else:
        x2, y2 = _part(f, at, 2, 3), _part(f, at, -3, -2)
        ends = (
            _one_sided(x0, x1, x2, first, second), -_one_sided(y0, y1, y2, last, before)
        )
    return concat([ends[0], middle, ends[1]], at)


def _one_sided(a: Array, b: Array, c: Array, d1: Array, d2: Array) -> Array:
    """The slope at `a`, by two neighbours on one side, at distances `d1` and `d1 + d2`."""
    both = d1 + d2
    return -(d1 + both) / (d1 * both) * a + both / (d1 * d2) * b - d1 / (d2 * both) * c


@for_complex
@operation(static="mode")
def convolve(a: Any, v: Any, mode: str = "full") -> Array:
    """Sums of products of one row with the other one reversed, at each shift of it.

    `mode` is "full" for every overlap, "same" for the length of the longer array, "valid" for
    positions where the shorter array is wholly inside.

    Types: `a: t[n], v: t[m] -> t[n + m - 1]`, or the longer length, or
    `t[max(n, m) - min(n, m) + 1]`. Raises ShapeError for an empty row, ArgumentError for another
    mode. Source: `numpy.convolve`.

        >>> fw.convolve([1, 2, 3], [0, 1])
        Array([0, 1, 2, 3], dtype=int64)
    """
    return _convolved(_row(a, "a", "convolve"), _row(v, "v", "convolve"), mode, "convolve")


@for_complex
@operation(static="mode")
def correlate(a: Any, v: Any, mode: str = "valid") -> Array:
    """Sums of products of one row with the other one, at each shift of it; `mode` as `convolve`'s.
    Of complex numbers `v` is conjugated.

    Types: `a: t[n], v: t[m] -> t[n + m - 1]`, or the longer length, or
    `t[max(n, m) - min(n, m) + 1]`. Raises ShapeError for an empty row, ArgumentError for another
    mode. Source: `numpy.correlate`.

        >>> fw.correlate([1, 2, 3], [0, 1])
        Array([2, 3], dtype=int64)
    """
    array, other = _row(a, "a", "correlate"), _row(v, "v", "correlate")
    other = conj(other) if isinstance(other, Complex) else other
    return _convolved(array, other[::-1], mode, "correlate", array.shape[0] < other.shape[0])


def _convolved(a: Any, v: Any, mode: str, who: str, is_turned: Any = False) -> Array:
    """`is_turned` where the shorter row is the second: of "same" one more is left out in front."""
    if mode not in MODES:
        raise ArgumentError(
            f"{mode!r} is not a mode of {who}.",
            where=user_location(), remedy='Use "full", "same" or "valid".',
        )  # fmt: skip
    dtype = together(a, v)
    a, v = a.astype(dtype), v.astype(dtype)
    n, m = a.shape[0], v.shape[0]
    if current().depth:
        return _by_element(a, v, mode, is_turned)
    return cond(
        as_tracer(n >= m), lambda: _in_parts(a, v, mode, is_turned),
        lambda: _in_parts(v, a, mode, is_turned),
    )  # fmt: skip


def _first_shift(mode: str, least: Array, is_turned: Any) -> Array:
    """The shift of the first result among all overlaps, for rows of these lengths."""
    return {
        "full": least * 0, "same": (least - where(is_turned, 0, 1)) // 2, "valid": least - 1,
    }[mode]  # fmt: skip


def _by_element(a: Any, v: Any, mode: str, is_turned: Any) -> Array:
    """One sum for each shift, as long as the rows overlap there."""
    n, m = as_tracer(a.shape[0]), as_tracer(v.shape[0])
    most, least = maximum(n, m), minimum(n, m)
    length = {"full": n + m - 1, "same": most, "valid": most - least + 1}[mode]
    start = _first_shift(mode, least, is_turned)

    def element(i: Tracer) -> Array:
        k = i + start
        first = maximum(k - m + 1, 0)
        count = minimum(k + 1, n) - first
        return sum(generate(count, lambda j: a[first + j] * v[k - first - j]))

    return generate(length, element)


def _in_parts(a: Any, v: Any, mode: str, is_turned: Any) -> Array:
    """The shifts at which all of `v`, the shorter row, lies within `a`; and those around them."""
    n, m = a.shape[0], v.shape[0]
    zero = astype(0, a.dtype)

    def summed(count: Any, term: Any) -> Array:
        return fori_loop(0, count, lambda j, total: total + term(j), zero)

    def within(i: Any) -> Array:
        return summed(m, lambda j: a[i + j] * v[m - 1 - j])

    middle = generate(n - m + 1, within)
    if mode == "valid":
        return middle
    start = as_tracer(_first_shift(mode, as_tracer(m), is_turned))
    ahead = m - 1 - start
    behind = m - 1 if mode == "full" else start
    head = generate(ahead, lambda i: summed(
        start + i + 1, lambda j: a[j] * v[start + i - j]))  # fmt: skip
    tail = generate(behind, lambda i: summed(
        m - 1 - i, lambda j: a[n - m + 1 + i + j] * v[m - 1 - j]))  # fmt: skip
    return concat([head, middle, tail])
