"""`fw.fft`: the Fourier transforms of the array API standard, along an axis or several.

    fw.fft.fft(x)[k]       sum over j of x[j] e^(-2 pi i j k / n)
    fw.fft.rfft(x)         the first n // 2 + 1 of them, of real x

SciPy computes them, or NumPy where SciPy is not installed: outside of traces at once, in a program
as a step of the host. On a device they are kernels (`transforms.py`): copies there and back alone
take longer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flatweave.base.dtypes import f64
from flatweave.base.errors import ArgumentError, DTypeError, ShapeError
from flatweave.frontend.arrays.axes import axes_named
from flatweave.frontend.arrays.shapes import axis_of, reshape
from flatweave.frontend.call.operation import operation
from flatweave.frontend.complex.rules import either, for_complex, whole
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
    transform_at_once,
    transformed,
    transformed_along,
    with_rules,
)
from flatweave.frontend.standard.transforms import (
    fftfreq,
    fftshift,
    fourier,
    ifftshift,
    of_reals,
    rfftfreq,
    to_reals,
)
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


def _numbers(x: Any, who: str) -> Traced:
    """An array of floats or complex numbers."""
    array = either(x, f"x of {who}")
    is_whole = isinstance(array, Tracer) and not array.element.is_float
    return array.astype(f64) if is_whole else array


def _lines(x: Any, axis: Any, who: str) -> tuple[Array, int]:
    """An array of numbers whose last axis is the one that is named, and where that was."""
    array = _numbers(x, who)
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


def _expect_elements(length: Any, who: str) -> None:
    """Refuse lines of no elements, of which there is no transform."""
    extent = as_tracer(length).atom
    message, remedy = f"{who} needs lines of at least one element.", "Check the length first."
    condition = current().apply("gt", extent, ZERO)
    if is_refused(condition):
        raise ShapeError.here(message, remedy)
    check(condition, "empty", (extent,), check_message(message, [], remedy))


def _complex(x: Any, n: Any, axis: Any, norm: Any, sign: int, who: str) -> Array:
    """The transform of complex, or real, lines."""
    lines, at = _lines(x, axis, who)
    given = _resized(lines, n)
    length = given.shape[-1]
    _expect_elements(length, who)
    name = "fft" if sign == FORWARD else "ifft"

    def computed(given: Any) -> Array:
        if is_on_device():
            found = _by_rows(lambda rows: fourier(whole(rows), sign), given)
            return _scaled(found, length, norm, sign)
        return transformed(name, given, length, complex_of(given), norm)

    return _back(_ruled(name, computed, given, norm, length), at)


def _half(x: Any, n: Any, axis: Any, norm: Any, sign: int, who: str) -> Array:
    """The first half of the transform of real lines, of which the other is the mirror image."""
    array = either(x, f"x of {who}")
    if isinstance(array, Complex):
        raise DTypeError.here(
            f"{who} is of real numbers, got {describe(array)}.",
            "Use fw.fft.fft, or a part: fw.real(x).",
        )
    lines, at = _lines(array, axis, who)
    given = as_tracer(_resized(lines, n))
    length = given.shape[-1]
    _expect_elements(length, who)
    name = "rfft" if sign == FORWARD else "ihfft"

    def computed(given: Any) -> Array:
        if is_on_device():
            found = _by_rows(lambda rows: of_reals(as_tracer(rows), sign), given)
            return _scaled(found, length, norm, sign)
        return transformed(name, given, as_tracer(length) // 2 + 1, complex_of(given), norm)

    return _back(_ruled(name, computed, given, norm, length), at)


def _mirrored(x: Any, n: Any, axis: Any, norm: Any, sign: int, who: str) -> Array:
    """The real transform of lines whose other half is the mirror image of the one that is given."""
    lines, at = _lines(x, axis, who)
    lines = lines if n is None else _resized(lines, as_tracer(n) // 2 + 1)
    given = lines.shape[-1]
    length = 2 * (given - 1) if n is None else as_tracer(n)
    for extent in (given, length):
        _expect_elements(extent, who)
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

    return _back(_ruled(name, computed, lines, norm, length), at)


def _ruled(
    name: str, computed: Callable[[Any], Array], given: Any, norm: Any, length: Any = None,
    axes: Any = None,
) -> Array:  # fmt: skip
    """A transform with its derivative: it is linear."""
    is_real = not isinstance(given, Complex)
    return with_rules(
        "transform", computed, given, name=name, is_real=is_real, norm=norm, length=length,
        axes=axes,
    )  # fmt: skip


@for_complex
@operation(static="axis norm", host=transform_at_once("fft"))
def fft(x: Any, /, *, n: Any = None, axis: int = -1, norm: str = "backward") -> Array:
    """The Fourier transform along an axis, cut or filled with 0 to `n` elements.

    `norm` says which direction is divided: "backward" the inverse by n, "forward" this one,
    "ortho" both by sqrt(n). Any length takes n log n steps.

    Types: `x: t[.., m, ..] -> complex[.., n, ..]`. Raises AxisError for an axis that is not there.
    Source: `numpy.fft.fft`.

        >>> fw.fft.fft([1.0, 0.0, 0.0]).real
        Array([1., 1., 1.], dtype=float64)
    """
    return _complex(x, n, axis, norm, FORWARD, "fft")


@for_complex
@operation(static="axis norm", host=transform_at_once("ifft"))
def ifft(x: Any, /, *, n: Any = None, axis: int = -1, norm: str = "backward") -> Array:
    """The inverse of `fft`.

    Types: `x: complex[.., m, ..] -> complex[.., n, ..]`. Raises AxisError for an axis that is not
    there. Source: `numpy.fft.ifft`.

        >>> fw.fft.ifft(fw.fft.fft([1.0, 2.0])).real
        Array([1., 2.], dtype=float64)
    """
    return _complex(x, n, axis, norm, INVERSE, "ifft")


@operation(static="axis norm", host=transform_at_once("rfft"))
def rfft(x: Any, /, *, n: Any = None, axis: int = -1, norm: str = "backward") -> Array:
    """The first n // 2 + 1 elements of the transform of real numbers: the others mirror them.

    Types: `x: float[.., m, ..] -> complex[.., n // 2 + 1, ..]`. Raises AxisError for an axis that
    is not there. Source: `numpy.fft.rfft`.

        >>> fw.fft.rfft([1.0, 0.0, 0.0]).real
        Array([1., 1.], dtype=float64)
    """
    return _half(x, n, axis, norm, FORWARD, "rfft")


@for_complex
@operation(static="axis norm", host=transform_at_once("irfft"))
def irfft(x: Any, /, *, n: Any = None, axis: int = -1, norm: str = "backward") -> Array:
    """The inverse of `rfft`: n real numbers, 2 (m - 1) of m if no `n` is given.

    Types: `x: complex[.., m, ..] -> float[.., n, ..]`. Raises AxisError for an axis that is not
    there. Source: `numpy.fft.irfft`.

        >>> fw.fft.irfft([2.0, 0.0])
        Array([1., 1.], dtype=float64)
    """
    return _mirrored(x, n, axis, norm, INVERSE, "irfft")


@for_complex
@operation(static="axis norm", host=transform_at_once("hfft"))
def hfft(x: Any, /, *, n: Any = None, axis: int = -1, norm: str = "backward") -> Array:
    """The real transform of numbers whose second half mirrors the first, which is given.

    Types: `x: complex[.., m, ..] -> float[.., n, ..]`. Raises AxisError for an axis that is not
    there. Source: `numpy.fft.hfft`.

        >>> fw.fft.hfft([1.0, 0.0])
        Array([1., 1.], dtype=float64)
    """
    return _mirrored(x, n, axis, norm, FORWARD, "hfft")


@operation(static="axis norm", host=transform_at_once("ihfft"))
def ihfft(x: Any, /, *, n: Any = None, axis: int = -1, norm: str = "backward") -> Array:
    """The inverse of `hfft`: the first n // 2 + 1 elements.

    Types: `x: float[.., m, ..] -> complex[.., n // 2 + 1, ..]`. Raises AxisError for an axis that
    is not there. Source: `numpy.fft.ihfft`.

        >>> fw.fft.ihfft([2.0, 2.0]).real
        Array([2., 0.], dtype=float64)
    """
    return _half(x, n, axis, norm, INVERSE, "ihfft")


def _axes(x: Any, s: Any, axes: Any, who: str, least: int = 0) -> list[tuple[Any, int]]:
    """The axes of a transform along several, each with its length, None for what it is."""
    array = either(x, f"x of {who}")
    plain = array.real if isinstance(array, Complex) else array
    if axes is None and s is not None:
        axes = tuple(range(array.ndim - len(s), array.ndim))
    chosen = axes_named(plain, axes, who, repeated=True)
    if s is not None and len(s) != len(chosen):
        raise ArgumentError.here(
            f"{who} got {len(s)} lengths for {len(chosen)} axes.", "Give one for each axis."
        )
    if len(chosen) < least:
        raise ShapeError.here(
            f"{who} of {describe(array)} goes along no axis; it needs at least one axis.",
            "Give an array of one axis or more.",
        )
    return list(zip([None] * len(chosen) if s is None else s, chosen, strict=True))


def _along(x: Any, lines: list[tuple[Any, int]], norm: Any, sign: int, who: str) -> Array:
    """The transform along several axes: one step of the library, where lengths stay as they are, or
    one axis after the other."""
    axes = [axis for _, axis in lines]
    is_step = axes and len({*axes}) == len(axes) and all(n is None for n, _ in lines)
    if not is_step or is_on_device() or current().trace.in_chunks:
        array: Array = x
        for n, axis in lines:
            array = _complex(array, n, axis, norm, sign, who)
        return array
    array = _numbers(x, who)
    for axis in axes:
        _expect_elements(array.shape[axis], who)
    counted = tuple(axis - array.ndim for axis in axes)
    return _ruled(
        who, lambda array: transformed_along(who, array, counted, norm), array, norm, axes=counted
    )


@for_complex
@operation(static="axes norm", numbers="s", host=transform_at_once("fftn"))
def fftn(x: Any, /, *, s: Any = None, axes: Any = None, norm: str = "backward") -> Array:
    """The Fourier transform along several axes, or all; `s` has their lengths.

    Types: `x: t[..] -> complex[..]`. Raises AxisError for an axis that is not there.
    Source: `numpy.fft.fftn`.

        >>> fw.fft.fftn([[1.0, 0.0], [0.0, 0.0]]).real
        Array([[1., 1.],
               [1., 1.]], dtype=float64)
    """
    return _along(x, _axes(x, s, axes, "fftn"), norm, FORWARD, "fftn")


@for_complex
@operation(static="axes norm", numbers="s", host=transform_at_once("ifftn"))
def ifftn(x: Any, /, *, s: Any = None, axes: Any = None, norm: str = "backward") -> Array:
    """The inverse of `fftn`.

    Types: `x: complex[..] -> complex[..]`. Raises AxisError for an axis that is not there.
    Source: `numpy.fft.ifftn`.

        >>> fw.fft.ifftn([[4.0, 0.0], [0.0, 0.0]]).real
        Array([[1., 1.],
               [1., 1.]], dtype=float64)
    """
    return _along(x, _axes(x, s, axes, "ifftn"), norm, INVERSE, "ifftn")


@operation(static="axes norm", numbers="s", host=transform_at_once("rfftn"))
def rfftn(x: Any, /, *, s: Any = None, axes: Any = None, norm: str = "backward") -> Array:
    """The transform of real numbers along several axes, of which the last is given by half.

    Types: `x: float[..] -> complex[..]`. Raises AxisError for an axis that is not there, ShapeError
    for a number. Source: `numpy.fft.rfftn`.

        >>> fw.fft.rfftn([[1.0, 0.0], [0.0, 0.0]]).real
        Array([[1., 1.],
               [1., 1.]], dtype=float64)
    """
    *others, last = _axes(x, s, axes, "rfftn", least=1)
    found = _half(x, *last, norm, FORWARD, "rfftn")
    for n, axis in others:
        found = _complex(found, n, axis, norm, FORWARD, "rfftn")
    return found


@for_complex
@operation(static="axes norm", numbers="s", host=transform_at_once("irfftn"))
def irfftn(x: Any, /, *, s: Any = None, axes: Any = None, norm: str = "backward") -> Array:
    """The inverse of `rfftn`.

    Types: `x: complex[..] -> float[..]`. Raises AxisError for an axis that is not there, ShapeError
    for a number. Source: `numpy.fft.irfftn`.

        >>> fw.fft.irfftn([[4.0, 0.0], [0.0, 0.0]])
        Array([[1., 1.],
               [1., 1.]], dtype=float64)
    """
    *others, last = _axes(x, s, axes, "irfftn", least=1)
    for n, axis in others:
        x = _complex(x, n, axis, norm, INVERSE, "irfftn")
    return _mirrored(x, *last, norm, INVERSE, "irfftn")


__all__ = [
    "fft", "fftfreq", "fftn", "fftshift", "hfft", "ifft", "ifftn", "ifftshift", "ihfft", "irfft",
    "irfftn", "rfft", "rfftfreq", "rfftn",
]  # fmt: skip
