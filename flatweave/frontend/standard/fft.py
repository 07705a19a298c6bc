"""`fw.fft`: the Fourier transforms of the array API standard, along an axis or several.

    fw.fft.fft(x)[k]       sum over j of x[j] e^(-2 pi i j k / n)
    fw.fft.rfft(x)         the first n // 2 + 1 of them, of real x

SciPy computes them, or NumPy where SciPy is not installed: outside of traces at once, in a program
as a step of the host. On a device they are kernels (`transforms.py`): copies there and back alone
take longer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flatweave.base.errors import ArgumentError, ShapeError
from flatweave.frontend.arrays.axes import axes_named
from flatweave.frontend.call.operation import operation
from flatweave.frontend.complex.rules import either, for_complex
from flatweave.frontend.standard.library import is_on_device, transform_at_once, transformed_along
from flatweave.frontend.standard.transformed_lines import (
    FORWARD,
    INVERSE,
    expect_elements,
    half,
    mirrored,
    numbers,
    of_complex,
    ruled,
)
from flatweave.frontend.standard.transforms import fftfreq, fftshift, ifftshift, rfftfreq
from flatweave.frontend.values.array import Array, describe
from flatweave.frontend.values.number_formats import Complex
from flatweave.frontend.values.scope import current

if not TYPE_CHECKING:  # which knows every name

    def __getattr__(name: str) -> None:
        raise AttributeError(f"module 'flatweave.fft' has no attribute {name!r}")


@for_complex
@operation(static="axis norm", host=transform_at_once("fft"))
def fft(x: Any, /, n: Any = None, axis: int = -1, norm: str = "backward") -> Array:
    """The Fourier transform along an axis, cut or filled with 0 to `n` elements.

    `norm` says which direction is divided: "backward" the inverse by n, "forward" this one,
    "ortho" both by sqrt(n). Any length takes n log n steps.

    Types: `x: t[.., m, ..] -> complex[.., n, ..]`. Raises AxisError for an axis that is not there.
    Source: `numpy.fft.fft`.

        >>> fw.fft.fft([1.0, 0.0, 0.0]).real
        Array([1., 1., 1.], dtype=float64)
    """
    return of_complex(x, n, axis, norm, FORWARD, "fft")


@for_complex
@operation(static="axis norm", host=transform_at_once("ifft"))
def ifft(x: Any, /, n: Any = None, axis: int = -1, norm: str = "backward") -> Array:
    """The inverse of `fft`.

    Types: `x: complex[.., m, ..] -> complex[.., n, ..]`. Raises AxisError for an axis that is not
    there. Source: `numpy.fft.ifft`.

        >>> fw.fft.ifft(fw.fft.fft([1.0, 2.0])).real
        Array([1., 2.], dtype=float64)
    """
    return of_complex(x, n, axis, norm, INVERSE, "ifft")


@operation(static="axis norm", host=transform_at_once("rfft"))
def rfft(x: Any, /, n: Any = None, axis: int = -1, norm: str = "backward") -> Array:
    """The first n // 2 + 1 elements of the transform of real numbers: the others mirror them.

    Types: `x: float[.., m, ..] -> complex[.., n // 2 + 1, ..]`. Raises AxisError for an axis that
    is not there. Source: `numpy.fft.rfft`.

        >>> fw.fft.rfft([1.0, 0.0, 0.0]).real
        Array([1., 1.], dtype=float64)
    """
    return half(x, n, axis, norm, FORWARD, "rfft")


@for_complex
@operation(static="axis norm", host=transform_at_once("irfft"))
def irfft(x: Any, /, n: Any = None, axis: int = -1, norm: str = "backward") -> Array:
    """The inverse of `rfft`: n real numbers, 2 (m - 1) of m if no `n` is given.

    Types: `x: complex[.., m, ..] -> float[.., n, ..]`. Raises AxisError for an axis that is not
    there. Source: `numpy.fft.irfft`.

        >>> fw.fft.irfft([2.0, 0.0])
        Array([1., 1.], dtype=float64)
    """
    return mirrored(x, n, axis, norm, INVERSE, "irfft")


@for_complex
@operation(static="axis norm", host=transform_at_once("hfft"))
def hfft(x: Any, /, n: Any = None, axis: int = -1, norm: str = "backward") -> Array:
    """The real transform of numbers whose second half mirrors the first, which is given.

    Types: `x: complex[.., m, ..] -> float[.., n, ..]`. Raises AxisError for an axis that is not
    there. Source: `numpy.fft.hfft`.

        >>> fw.fft.hfft([1.0, 0.0])
        Array([1., 1.], dtype=float64)
    """
    return mirrored(x, n, axis, norm, FORWARD, "hfft")


@operation(static="axis norm", host=transform_at_once("ihfft"))
def ihfft(x: Any, /, n: Any = None, axis: int = -1, norm: str = "backward") -> Array:
    """The inverse of `hfft`: the first n // 2 + 1 elements.

    Types: `x: float[.., m, ..] -> complex[.., n // 2 + 1, ..]`. Raises AxisError for an axis that
    is not there. Source: `numpy.fft.ihfft`.

        >>> fw.fft.ihfft([2.0, 2.0]).real
        Array([2., 0.], dtype=float64)
    """
    return half(x, n, axis, norm, INVERSE, "ihfft")


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
            array = of_complex(array, n, axis, norm, sign, who)
        return array
    array = numbers(x, who)
    for axis in axes:
        expect_elements(array.shape[axis], who)
    counted = tuple(axis - array.ndim for axis in axes)
    return ruled(
        who, lambda array: transformed_along(who, array, counted, norm), array, norm, axes=counted
    )


@for_complex
@operation(static="axes norm", numbers="s", host=transform_at_once("fftn"))
def fftn(x: Any, /, s: Any = None, axes: Any = None, norm: str = "backward") -> Array:
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
def ifftn(x: Any, /, s: Any = None, axes: Any = None, norm: str = "backward") -> Array:
    """The inverse of `fftn`.

    Types: `x: complex[..] -> complex[..]`. Raises AxisError for an axis that is not there.
    Source: `numpy.fft.ifftn`.

        >>> fw.fft.ifftn([[4.0, 0.0], [0.0, 0.0]]).real
        Array([[1., 1.],
               [1., 1.]], dtype=float64)
    """
    return _along(x, _axes(x, s, axes, "ifftn"), norm, INVERSE, "ifftn")


@for_complex
@operation(static="axes norm", numbers="s")
def fft2(
    x: Any, /, s: Any = None, axes: Any = (-2, -1), norm: str = "backward"
) -> Array:
    """`fftn` along two axes, the last ones unless others are named.

    Types: `x: t[.., m, n] -> complex[.., m, n]`. Raises AxisError for an axis that is not there.
    Source: `numpy.fft.fft2`.

        >>> fw.fft.fft2([[1.0, 0.0], [0.0, 0.0]]).real
        Array([[1., 1.],
               [1., 1.]], dtype=float64)
    """
    return fftn(x, s=s, axes=axes, norm=norm)


@for_complex
@operation(static="axes norm", numbers="s")
def ifft2(
    x: Any, /, s: Any = None, axes: Any = (-2, -1), norm: str = "backward"
) -> Array:
    """The inverse of `fft2`.

    Types: `x: complex[.., m, n] -> complex[.., m, n]`. Raises AxisError for an axis that is not
    there. Source: `numpy.fft.ifft2`.

        >>> fw.fft.ifft2([[4.0, 0.0], [0.0, 0.0]]).real
        Array([[1., 1.],
               [1., 1.]], dtype=float64)
    """
    return ifftn(x, s=s, axes=axes, norm=norm)


@operation(static="axes norm", numbers="s", host=transform_at_once("rfftn"))
def rfftn(x: Any, /, s: Any = None, axes: Any = None, norm: str = "backward") -> Array:
    """The transform of real numbers along several axes, of which the last is given by half.

    Types: `x: float[..] -> complex[..]`. Raises AxisError for an axis that is not there, ShapeError
    for a number. Source: `numpy.fft.rfftn`.

        >>> fw.fft.rfftn([[1.0, 0.0], [0.0, 0.0]]).real
        Array([[1., 1.],
               [1., 1.]], dtype=float64)
    """
    *others, last = _axes(x, s, axes, "rfftn", least=1)
    found = half(x, *last, norm, FORWARD, "rfftn")
    for n, axis in others:
        found = of_complex(found, n, axis, norm, FORWARD, "rfftn")
    return found


@for_complex
@operation(static="axes norm", numbers="s", host=transform_at_once("irfftn"))
def irfftn(x: Any, /, s: Any = None, axes: Any = None, norm: str = "backward") -> Array:
    """The inverse of `rfftn`.

    Types: `x: complex[..] -> float[..]`. Raises AxisError for an axis that is not there, ShapeError
    for a number. Source: `numpy.fft.irfftn`.

        >>> fw.fft.irfftn([[4.0, 0.0], [0.0, 0.0]])
        Array([[1., 1.],
               [1., 1.]], dtype=float64)
    """
    *others, last = _axes(x, s, axes, "irfftn", least=1)
    for n, axis in others:
        x = of_complex(x, n, axis, norm, INVERSE, "irfftn")
    return mirrored(x, *last, norm, INVERSE, "irfftn")


__all__ = [
    "fft", "fft2", "fftfreq", "fftn", "fftshift", "hfft", "ifft", "ifft2", "ifftn", "ifftshift",
    "ihfft", "irfft", "irfftn", "rfft", "rfftfreq", "rfftn",
]  # fmt: skip
