"""Transforms along one axis, for `fft.py`: the lines along it cut or filled, transformed, divided.

    of_complex(x, n, axis, norm, FORWARD, "fft")     fft of lines, by a library or by kernels
    half(x, ..)                                      the first half, of real lines
    mirrored(x, ..)                                  real lines, of the first half
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flatweave.base.dtypes import f64
from flatweave.base.errors import DTypeError, ShapeError
from flatweave.frontend.arrays.shapes import axis_of, reshape
from flatweave.frontend.complex.rules import either, whole
from flatweave.frontend.elements.elementwise import sqrt
from flatweave.frontend.elements.scalars import where
from flatweave.frontend.functions.combinators import generate
from flatweave.frontend.functions.control import cond
from flatweave.frontend.standard.arrangement import moveaxis
from flatweave.frontend.standard.library import (
    complex_of,
    is_on_device,
    norm_of,
    real_of,
    transformed,
    with_rules,
)
from flatweave.frontend.standard.transforms import fourier, of_reals, to_reals
from flatweave.frontend.trace.extents import ZERO
from flatweave.frontend.trace.run_time_checks import check, check_message, is_refused
from flatweave.frontend.trace.tracers import as_tracer
from flatweave.frontend.values.array import Array, Tracer, describe
from flatweave.frontend.values.number_formats import Complex, Traced
from flatweave.frontend.values.scope import current

FORWARD, INVERSE = -1, 1


def _scaled(z: Array, n: Any, norm: Any, sign: int) -> Array:
    """A transform of length n, divided as `norm` says."""
    norm = norm_of(norm)
    if norm == "ortho":
        return z / sqrt(as_tracer(n).astype(z.real.dtype if isinstance(z, Complex) else z.dtype))
    return z / n if (norm == "forward") == (sign == FORWARD) else z


def numbers(x: Any, who: str) -> Traced:
    """An array of floats or complex numbers."""
    array = either(x, f"x of {who}")
    is_whole = isinstance(array, Tracer) and not array.element.is_float
    return array.astype(f64) if is_whole else array


def _lines(x: Any, axis: Any, who: str) -> tuple[Array, int]:
    """An array of numbers whose last axis is the one that is named, and where that was."""
    array = numbers(x, who)
    rank = array.ndim
    at = axis_of(array.real if isinstance(array, Complex) else array, axis, who)
    return (array if at == rank - 1 else moveaxis(array, at, -1)), at


def _back(lines: Array, axis: int) -> Array:
    """The array with its last axis where it was."""
    return lines if axis == lines.ndim - 1 else moveaxis(lines, -1, axis)


def _by_rows(compute: Callable[[Array], Array], lines: Array) -> Array:
    """What a function of a matrix gives for the lines along the last axis of any array."""
    count: Any = 1
    for extent in lines.shape[:-1]:
        count = count * extent
    found = compute(reshape(lines, (count, lines.shape[-1])))
    return reshape(found, (*lines.shape[:-1], found.shape[-1]))


def _resized(lines: Array, n: Any) -> Array:
    """Lines cut to n elements, or filled with 0."""
    if n is None:
        return lines
    length = lines.shape[-1]

    def element(*at: Any) -> Array:
        return cond(at[-1] < length, lambda: lines[at], lambda: as_tracer(0))

    return generate((*lines.shape[:-1], n), element)


def expect_elements(length: Any, who: str) -> None:
    """Refuse lines of no elements, of which there is no transform."""
    extent = as_tracer(length).atom
    message, remedy = f"{who} needs lines of at least one element.", "Check the length first."
    condition = current().apply("gt", extent, ZERO)
    if is_refused(condition):
        raise ShapeError.here(message, remedy)
    check(condition, "empty", (extent,), check_message(message, [], remedy))


def of_complex(x: Any, n: Any, axis: Any, norm: Any, sign: int, who: str) -> Array:
    """The transform of complex, or real, lines."""
    lines, at = _lines(x, axis, who)
    given = _resized(lines, n)
    name = "fft" if sign == FORWARD else "ifft"
    return _back(_by_lines(
        name, given, lambda length: length, norm, sign, who,
        lambda rows: fourier(whole(rows), sign),
    ), at)  # fmt: skip


def _by_lines(
    name: str, given: Any, width: Callable[[Any], Any], norm: Any, sign: int, who: str,
    by_kernels: Callable[[Any], Array],
) -> Array:  # fmt: skip
    """The transform of each line, which has a `width`."""
    length = given.shape[-1]
    expect_elements(length, who)

    def computed(given: Any) -> Array:
        if is_on_device():
            return _scaled(_by_rows(by_kernels, given), length, norm, sign)
        return transformed(name, given, width(length), complex_of(given), norm)

    return ruled(name, computed, given, norm, length)


def half(x: Any, n: Any, axis: Any, norm: Any, sign: int, who: str) -> Array:
    """The first half of the transform of real lines, of which the other is the mirror image."""
    array = either(x, f"x of {who}")
    if isinstance(array, Complex):
        raise DTypeError.here(
            f"{who} is of real numbers, got {describe(array)}.",
            "Use fw.fft.fft, or a part: fw.real(x).",
        )
    lines, at = _lines(array, axis, who)
    given = as_tracer(_resized(lines, n))
    name = "rfft" if sign == FORWARD else "ihfft"
    return _back(_by_lines(
        name, given, lambda length: as_tracer(length) // 2 + 1, norm, sign, who,
        lambda rows: of_reals(as_tracer(rows), sign),
    ), at)  # fmt: skip


def mirrored(x: Any, n: Any, axis: Any, norm: Any, sign: int, who: str) -> Array:
    """The real transform of lines whose other half is the mirror image of the one that is given."""
    lines, at = _lines(x, axis, who)
    lines = lines if n is None else _resized(lines, as_tracer(n) // 2 + 1)
    given = lines.shape[-1]
    length = 2 * (given - 1) if n is None else as_tracer(n)
    for extent in (given, length):
        expect_elements(extent, who)
    name = "irfft" if sign == INVERSE else "hfft"

    def of_rows(rows: Any) -> Array:
        half = whole(rows)

        def element(row: Any, k: Any) -> Complex:
            inside = k < given
            value = half[row, where(inside, k, 0)]
            return Complex(where(inside, value.real, 0), where(inside, value.imag, 0))

        return to_reals(element, half.shape[0], length, half.real.dtype, sign)

    def computed(lines: Any) -> Array:
        if is_on_device():
            return _scaled(_by_rows(of_rows, lines), length, norm, sign)
        return transformed(name, lines, length, real_of(lines), norm, length)

    return _back(ruled(name, computed, lines, norm, length), at)


def ruled(
    name: str, computed: Callable[[Any], Array], given: Any, norm: Any, length: Any = None,
    axes: Any = None,
) -> Array:  # fmt: skip
    """A transform with its derivative: it is linear."""
    is_real = not isinstance(given, Complex)
    return with_rules(
        "transform", computed, given, name=name, is_real=is_real, norm=norm, length=length,
        axes=axes,
    )  # fmt: skip
