"""The frequencies of transforms, and the frequency 0 in the middle."""

from __future__ import annotations

from typing import Any

from flatweave.base.dtypes import f64
from flatweave.frontend.arrays.axes import axes_named
from flatweave.frontend.arrays.sources import iota
from flatweave.frontend.call.operation import operation
from flatweave.frontend.complex.rules import either, for_complex
from flatweave.frontend.elements.scalars import where
from flatweave.frontend.standard.arrangement import roll
from flatweave.frontend.trace.tracers import as_tracer
from flatweave.frontend.values.exchange import on_device
from flatweave.frontend.values.number_formats import Complex
from flatweave.frontend.values.promotion import dtype_of


@operation(static="dtype device")
def fftfreq(n: Any, /, *, d: Any = 1.0, dtype: Any = None, device: Any = None) -> Any:
    """The frequencies of `fft`, in its order: 0, 1, .., -2, -1, divided by n * d.

    Types: `n: extent, d: float -> f64[n]`. Raises NegativeExtentError for n below 0.

        >>> fw.fft.fftfreq(4)
        Array([ 0.  ,  0.25, -0.5 , -0.25], dtype=float64)
    """
    on_device(device, "fftfreq")
    places: Any = iota(n)
    return _frequencies(where(places < (as_tracer(n) + 1) // 2, places, places - n), n, d, dtype)


@operation(static="dtype device")
def rfftfreq(n: Any, /, *, d: Any = 1.0, dtype: Any = None, device: Any = None) -> Any:
    """The frequencies of `rfft`: 0, 1, .., n // 2, divided by n * d.

    Types: `n: extent, d: float -> f64[n // 2 + 1]`. Raises NegativeExtentError for n below -2.

        >>> fw.fft.rfftfreq(4)
        Array([0.  , 0.25, 0.5 ], dtype=float64)
    """
    on_device(device, "rfftfreq")
    return _frequencies(iota(as_tracer(n) // 2 + 1), n, d, dtype)


def _frequencies(counts: Any, n: Any, d: Any, dtype: Any) -> Any:
    wanted = f64 if dtype is None else dtype_of(dtype)
    return (counts / (as_tracer(n) * as_tracer(d))).astype(wanted)


def _shifted(x: Any, axes: Any, who: str, inverse: bool) -> Any:
    array: Any = either(x, f"x of {who}")
    plain = array.real if isinstance(array, Complex) else array
    for axis in axes_named(plain, axes, who):
        half = array.shape[axis] // 2
        array = roll(array, -half if inverse else half, axis=axis)
    return array


@for_complex
@operation(static="axes")
def fftshift(x: Any, /, *, axes: Any = None) -> Any:
    """The frequency 0 moved to the middle, along all axes or those given.

    Types: `x: t[..] -> t[..]`. Raises AxisError for an axis that is not there.

        >>> fw.fft.fftshift([0, 1, -2, -1])
        Array([-2, -1,  0,  1], dtype=int64)
    """
    return _shifted(x, axes, "fftshift", False)


@for_complex
@operation(static="axes")
def ifftshift(x: Any, /, *, axes: Any = None) -> Any:
    """The inverse of `fftshift`.

    Types: `x: t[..] -> t[..]`. Raises AxisError for an axis that is not there.

        >>> fw.fft.ifftshift([-2, -1, 0, 1])
        Array([ 0,  1, -2, -1], dtype=int64)
    """
    return _shifted(x, axes, "ifftshift", True)
