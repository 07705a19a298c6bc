"""Complex numbers: a pair of floats inside a trace, one after the other in memory outside.

    zs: c128[n] on the host        HostComplex, whose memory is that of an f64[n, 2]
    zs in a trace                  Complex(real: f64[n], imag: f64[n])

A program knows floats alone. A complex argument is given to it as an array of floats with one axis
more, of which the real and the imaginary parts are read; a complex result is such an array that is
computed (`trace/pairs.py`). Nothing is copied at either end.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

import numpy as np

from flatweave.base.dtypes import DType, as_dtype, c64, c128, f32
from flatweave.base.errors import DTypeError
from flatweave.base.source import user_location
from flatweave.frontend.values.array import Array, HostComplex
from flatweave.frontend.values.chunked import Chunked
from flatweave.frontend.values.composed import Composed
from flatweave.frontend.values.tree import Node, is_irregular


class Complex(Composed):
    """Complex numbers in a trace: two traced arrays of one shape, or two scalars."""

    __slots__ = ("imag", "real")
    parts: ClassVar[tuple[str, ...]] = ("real", "imag")

    def __init__(self, real: Any, imag: Any) -> None:
        self.real = real
        self.imag = imag

    @classmethod
    def made(cls, *parts: Any) -> Any:
        """The complex numbers with these parts; where they are rows, these of complex numbers."""
        real, imag = parts
        if is_irregular(real):
            return type(real).made(cls.made(real.values, imag.values), real.offsets)
        return cls(real, imag)

    @classmethod
    def spelled(cls, *texts: str) -> str:
        """The dtype and the shape."""
        return texts[0].replace("f32", "c64", 1).replace("f64", "c128", 1)

    @property
    def dtype(self) -> np.dtype[Any]:
        return (c64 if self.real.element is f32 else c128).numpy


class Interleaved(Node):
    """A complex array as the array of floats that it is in memory: a result of a program."""

    __slots__ = ("pairs",)
    parts: ClassVar[tuple[str, ...]] = ("pairs",)

    def __init__(self, pairs: Any) -> None:
        self.pairs = pairs

    @classmethod
    def made(cls, *parts: Any) -> Any:
        """The complex array over the floats that a program gave."""
        if isinstance(parts[0], Chunked):
            pairs = parts[0]
            return pairs.viewed(complex_of(pairs.dtype), pairs.row[:-1])
        floats = parts[0].to_numpy()
        dtype = complex_of(floats.dtype)
        return HostComplex(floats.view(dtype).reshape(floats.shape[:-1]))


def complex_of(dtype: np.dtype[Any]) -> type[np.complexfloating[Any, Any]]:
    """The dtype of complex numbers whose parts are of this one."""
    return np.complex64 if dtype == np.float32 else np.complex128


def pairs_of(values: Any) -> Any:
    """The memory of complex numbers, in row-major order, as floats: one axis more, of extent 2."""
    if isinstance(values, Chunked):
        part = np.float32 if values.dtype == np.complex64 else np.float64
        return values.viewed(part, (*values.row, 2))
    array = np.asarray(values)
    part = np.float32 if array.dtype == np.complex64 else np.float64
    return array.reshape(array.shape + (1,)).view(part)


NUMBERS = (complex, np.complexfloating)
SPELLED = frozenset({
    "c64", "c128", "complex64", "complex128", "complex", "csingle", "cdouble", "F", "D", "c8",
    "c16", "<c8", "<c16", "=c8", "=c16",
})  # fmt: skip
"""What NumPy and we call these dtypes."""


def is_complex(value: Any) -> bool:
    """Whether a value is an array of complex numbers, or one of them."""
    if isinstance(value, Array):
        return isinstance(value, Complex | HostComplex)
    if isinstance(value, np.ndarray | Chunked):
        return bool(value.dtype.kind == "c")
    return isinstance(value, NUMBERS)


def is_complex_dtype(value: Any) -> bool:
    """Whether a value spells a dtype of complex numbers."""
    if isinstance(value, DType):
        return value.is_complex
    if isinstance(value, np.dtype):
        return value.kind == "c"
    if isinstance(value, type):
        return issubclass(value, NUMBERS)
    return isinstance(value, str) and value in SPELLED


def speaks_of_complex(values: Iterable[Any]) -> bool:
    """Whether complex numbers, or their dtypes, are among values, or in a list or tuple of them."""
    for value in values:
        if isinstance(value, list | tuple):
            if speaks_of_complex(value):
                return True
        elif is_complex(value) or is_complex_dtype(value):
            return True
    return False


def not_real(what: str, dtype: Any) -> DTypeError:
    """The refusal to make real numbers of complex ones."""
    return DTypeError(
        f"{what} does not become {dtype}, which has no imaginary part.",
        where=user_location(), remedy="Take a part: fw.real(x), or abs(x).",
    )  # fmt: skip


def complex_dtype(spelling: Any) -> DType | None:
    """The dtype that a user spells, where it is one of complex numbers."""
    return as_dtype(spelling) if is_complex_dtype(spelling) else None
