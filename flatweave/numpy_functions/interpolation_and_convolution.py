"""Functions known by samples: interpolation, differences, integrals, convolutions.

    interp(x, xp, fp)     k = searchsorted(xp, x, "right") - 1
                          fp[k] + (fp[k + 1] - fp[k]) / (xp[k + 1] - xp[k]) * (x - xp[k])
    convolve(a, v)        generate (n + m - 1) (k => sum over j of a[k - j] * v[j])
"""

from __future__ import annotations

from typing import Any

import flatweave as fw
from flatweave.numpy_functions import along, each, floating, is_complex, operand, row_of

MODES = ("full", "same", "valid")


def _row(x: Any, name: str, who: str) -> fw.Array:
    """An array of one axis with elements in it."""
    array = row_of(x, f"{name} of {who}")
    fw.check(
        array.shape[0] > 0, f"{name} of {who} has no element.", error=fw.ShapeError,
        remedy="Check the length first.",
    )  # fmt: skip
    return array


@fw.operation()
def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None) -> fw.Array:
    """The values at `x` of the function whose values at the ascending `xp` are `fp`, straight in
    between; `left` and `right` outside of them, the first and the last value if not given.

    Types: `x: t[..], xp: t[n], fp: t[n] -> f64[..]`. Raises ShapeError unless `xp` and `fp` are of
    one length, which is not 0. Source: `numpy.interp`.

        >>> fw.interp([0.5, 1.5, 9.0], [0.0, 1.0, 2.0], [0.0, 10.0, 30.0])
        Array([ 5., 20., 30.], dtype=float64)
    """
    values = _row(fp, "fp", "interp")
    if is_complex(values):
        parts = []
        for part in (fw.real, fw.imag):
            ends = (None if end is None else part(end) for end in (left, right))
            parts.append(interp(x, xp, part(values), *ends))
        return fw.complex(*parts)
    places, values = _row(xp, "xp", "interp").astype(fw.f64), values.astype(fw.f64)
    n = places.shape[0]
    fw.check(
        n == values.shape[0], "xp of interp has {0} elements and fp {1}.", n, values.shape[0],
        error=fw.ShapeError, remedy="Give a value for each element of xp.",
    )  # fmt: skip
    wanted = fw.astype(x, fw.f64)
    below = fw.searchsorted(places, wanted, side="right") - 1
    first = values[0] if left is None else fw.astype(left, fw.f64)
    last = values[n - 1] if right is None else fw.astype(right, fw.f64)

    def value(v: fw.Array, k: fw.Array) -> fw.Array:
        low = fw.minimum(fw.maximum(k, 0), n - 1)
        high = fw.minimum(low + 1, n - 1)
        a, b, start, end = values[low], values[high], places[low], places[high]
        slope = (b - a) / (end - start)
        found = slope * (v - start) + a
        found = fw.where(fw.isnan(found) & ((v == start) | (k >= n - 1)), a, found)
        found = fw.where(fw.isnan(found), slope * (v - end) + b, found)
        found = fw.where(fw.isnan(found) & (a == b), a, found)
        found = fw.where(v > places[n - 1], last, fw.where(v < places[0], first, found))
        return fw.where(fw.isnan(v), v, found)

    return each(value, wanted, below)


def _part(array: fw.Array, axis: int, start: int | None, stop: int | None) -> fw.Array:
    return array[(*[slice(None)] * axis, slice(start, stop))]


@fw.operation(static="axis")
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> fw.Array:
    """The integral of samples along an axis by the trapezoidal rule, at `x` or with spacing `dx`.

    Types: `y: t[.., n, ..] -> t[..]`, without the axis. Raises AxisError for an axis that is not
    there, ShapeError where `x` does not fit. Source: `numpy.trapezoid`.

        >>> fw.trapezoid([1.0, 2.0, 3.0])
        Array(4.0, dtype=float64)
    """
    array = fw.asarray(y)
    (at,) = fw.normalize_axes(array, axis, "trapezoid")
    gaps = dx
    if x is not None:
        places, own = fw.asarray(x), at
        if places.ndim == 1:
            places = along(places, array, [at], "x of trapezoid")
        else:
            (own,) = fw.normalize_axes(places, axis, "trapezoid")
        gaps = _part(places, own, 1, None) - _part(places, own, None, -1)
    both = _part(array, at, 1, None) + _part(array, at, None, -1)
    return fw.sum(gaps * both / 2.0, axis=axis)  # `x` may have more axes


@fw.operation(static="axis edge_order")
def gradient(
    f: Any, *spacing: Any, axis: Any = None, edge_order: int = 1
) -> fw.Array | tuple[fw.Array, ...]:
    """Differences over distances, central ones of second order, at the ends of order `edge_order`.

    The spacing is a distance for all axes, or for each a distance or the samples' coordinates; 1 if
    not given. Of several axes a tuple of arrays, one for each, in the order of `axis`.

    Types: `f: t[..] -> t[..]`, integers in f64. Raises ShapeError for an axis with too few elements
    or another number of coordinates, ArgumentError for another order or number of spacings,
    AxisError for an axis that is not there. Source: `numpy.gradient`.

        >>> fw.gradient([1.0, 4.0, 9.0, 16.0])
        Array([3., 4., 6., 7.], dtype=float64)
    """
    array = floating(f)
    axes = fw.normalize_axes(array, axis, "gradient")
    if edge_order not in (1, 2):
        raise fw.ArgumentError.here(
            f"edge_order of gradient is 1 or 2, got {edge_order!r}.", "Leave it out for 1."
        )
    given = [operand(h) for h in spacing or [1.0]]
    if len(given) == 1 and not getattr(given[0], "ndim", 0):
        given *= len(axes)
    if len(given) != len(axes):
        raise fw.ArgumentError.here(
            f"gradient has {len(axes)} axes to go along and {len(given)} spacings.",
            "Give a distance for all of them, or one for each.",
        )
    found = tuple(
        _slopes(array, at, h, edge_order).astype(array.dtype)
        for at, h in zip(axes, given, strict=True)
    )
    return found[0] if len(found) == 1 else found


def _slopes(f: fw.Array, at: int, h: Any, order: int) -> fw.Array:
    """The slopes along one axis; the formulas are those of numpy.gradient."""
    fw.check(
        f.shape[at] > order, f"gradient needs {order + 1} elements along axis {at}.",
        error=fw.ShapeError, remedy="Check the shape first.",
    )  # fmt: skip
    is_even = not getattr(h, "ndim", 0)
    if not is_even:
        places = along(floating(h), f, [at], "the coordinates of gradient")
        gaps = _part(places, at, 1, None) - _part(places, at, None, -1)
        a1, a2 = _part(gaps, at, None, -1), _part(gaps, at, 1, None)
        first, second = _part(gaps, at, 0, 1), _part(gaps, at, 1, 2)
        before, last = _part(gaps, at, -2, -1), _part(gaps, at, -1, None)
    else:
        a1 = a2 = first = second = before = last = h
    low, here, high = _part(f, at, None, -2), _part(f, at, 1, -1), _part(f, at, 2, None)
    if not is_even:
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
    return fw.concat([ends[0], middle, ends[1]], at)


def _one_sided(a: fw.Array, b: fw.Array, c: fw.Array, d1: fw.Array, d2: fw.Array) -> fw.Array:
    """The slope at `a`, by two neighbours on one side, at distances `d1` and `d1 + d2`."""
    both = d1 + d2
    return -(d1 + both) / (d1 * both) * a + both / (d1 * d2) * b - d1 / (d2 * both) * c


@fw.operation(static="mode")
def convolve(a: Any, v: Any, mode: str = "full") -> fw.Array:
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


@fw.operation(static="mode")
def correlate(a: Any, v: Any, mode: str = "valid") -> fw.Array:
    """Sums of products of one row with the other one, at each shift of it; `mode` as `convolve`'s.
    Of complex numbers `v` is conjugated.

    Types: `a: t[n], v: t[m] -> t[n + m - 1]`, or the longer length, or
    `t[max(n, m) - min(n, m) + 1]`. Raises ShapeError for an empty row, ArgumentError for another
    mode. Source: `numpy.correlate`.

        >>> fw.correlate([1, 2, 3], [0, 1])
        Array([2, 3], dtype=int64)
    """
    array, other = _row(a, "a", "correlate"), _row(v, "v", "correlate")
    other = fw.conj(other) if is_complex(other) else other
    return _convolved(array, other[::-1], mode, "correlate", array.shape[0] < other.shape[0])


def _convolved(a: Any, v: Any, mode: str, who: str, is_turned: Any = False) -> fw.Array:
    """`is_turned` where the shorter row is the second: of "same" one more is left out in front."""
    if mode not in MODES:
        raise fw.ArgumentError.here(
            f"{mode!r} is not a mode of {who}.", 'Use "full", "same" or "valid".'
        )
    a, v = (row.astype(fw.result_type(a, v)) for row in (a, v))
    return fw.cond(
        a.shape[0] >= v.shape[0], lambda: _in_parts(a, v, mode, is_turned),
        lambda: _in_parts(v, a, mode, is_turned),
    )  # fmt: skip


def _in_parts(a: Any, v: Any, mode: str, is_turned: Any) -> fw.Array:
    """The shifts at which all of `v`, the shorter row, lies within `a`; and those around them, of
    the ends of `a` next to zeros, which are left out of the sums: `v` may be infinite there.

    Every sum has as many terms as `v`: rows of sums of different lengths are far more code.
    """
    n, m, zero = a.shape[0], v.shape[0], fw.astype(0, a.dtype)

    def summed(count: Any, xs: Any, is_there: Any = lambda k: True) -> fw.Array:
        return fw.generate(count, lambda i: fw.fori_loop(0, m, lambda j, total: (
            total + fw.where(is_there(i + j), xs[i + j] * v[m - 1 - j], zero)), zero))  # fmt: skip

    middle = summed(n - m + 1, a)
    if mode == "valid":
        return middle
    behind = m - 1 if mode == "full" else (m - fw.where(is_turned, 0, 1)) // 2
    ahead = m - 1 if mode == "full" else m - 1 - behind
    head = fw.concat([fw.zeros(ahead, a.dtype), a[: m - 1]])
    tail = fw.concat([a[n - m + 1 :], fw.zeros(behind, a.dtype)])
    ends = summed(ahead, head, lambda k: k >= ahead), summed(behind, tail, lambda k: k < m - 1)
    return fw.concat([ends[0], middle, ends[1]])
