"""Numbers that a program knows as others: floats of 16 bits as words, complex numbers as pairs.

    hs: f16[n] on the host      HostArray, whose memory is that of a u16[n]
    hs in a trace               F16(words: u16[n])
    zs: c128[n] on the host     HostComplex, whose memory is that of an f64[n, 2]
    zs in a trace               Complex(real: f64[n], imag: f64[n])

A program computes with 16-bit floats as f32 (`widened`); who only moves them moves the words. A
complex argument is given to it as an array of floats with one axis more, of which the real and the
imaginary parts are read; a complex result is such an array that is computed (`trace/trace.py`).
Nothing is copied at either end. What Python asks of a value that is known only at run time is
refused as for any other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar, NoReturn, TypeAlias, overload

import numpy as np

from flatweave.base.dtypes import SHORT, DType, as_dtype, bf16, c64, c128, f16, f32, short_float
from flatweave.base.errors import DTypeError
from flatweave.frontend.values import untraceable
from flatweave.frontend.values.array import (
    Array,
    HostArray,
    HostComplex,
    Tracer,
    describe,
    host_array,
)
from flatweave.frontend.values.chunked import Chunked
from flatweave.frontend.values.exchange import Values
from flatweave.frontend.values.tree import Elements, Node, flatten
from flatweave.scalar.ops import evaluate


class Composed(Array, Elements):
    """An array, or a scalar, of such numbers; all its parts have one shape."""

    __slots__ = ()

    @property
    def _part(self) -> Tracer:
        part: Tracer = getattr(self, self.parts[0])
        return part

    @property
    def shape(self) -> tuple[Any, ...]:
        return self._part.shape

    @property
    def ndim(self) -> int:
        return self._part.ndim

    def _become(self, other: Any) -> None:
        """Let this object stand for the value of another one."""
        for name in self.parts:
            setattr(self, name, getattr(other, name))

    def _refused(self, wanted: str) -> Exception:
        """The error for what Python asks of a value that is known only at run time."""
        if self._part.is_gone:
            return self._part.escaped()
        text = describe(self)
        if wanted == "bool":
            return untraceable.truth(text)
        if wanted == "iteration":
            return untraceable.iteration(text)
        if wanted == "array":
            return untraceable.host_array(text)
        return untraceable.conversion(text, wanted)

    def to_numpy(self) -> Values:
        raise self._refused("array")

    item = tolist = to_numpy

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Values:
        raise self._refused("array")

    def __dlpack__(self, **options: Any) -> NoReturn:
        raise self._refused("array")

    def __bool__(self) -> bool:
        raise self._refused("bool")

    def __int__(self) -> int:
        raise self._refused("int")

    def __float__(self) -> float:
        raise self._refused("float")

    def __complex__(self) -> complex:
        raise self._refused("complex")

    def __len__(self) -> int:
        return len(self._part)

    def __iter__(self) -> Iterator[Any]:
        if self.ndim and type(self.shape[0]) is int:
            return (self[i] for i in range(self.shape[0]))
        raise self._refused("iteration")

    def __repr__(self) -> str:
        return f"Traced({describe(self)})"


class Short(Composed):
    """Floats of 16 bits in a trace: the words that have their bits, an array or a scalar."""

    __slots__ = ("words",)
    parts: ClassVar[tuple[str, ...]] = ("words",)
    element: ClassVar[DType]
    words: Tracer

    def __init__(self, words: Any) -> None:
        self.words = words

    @classmethod
    def spelled(cls, *texts: str) -> str:
        """The dtype and the shape."""
        return texts[0].replace("u16", cls.element.name, 1)

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.element.dtype


class F16(Short):
    """IEEE half precision."""

    __slots__ = ()
    element = f16


class BF16(Short):
    """The upper half of an f32."""

    __slots__ = ()
    element = bf16


OF = {f16: F16, bf16: BF16}


class Stored(Node):
    """Floats of 16 bits as a result of a program: their words, seen as floats by the host."""

    __slots__ = ("words",)
    parts: ClassVar[tuple[str, ...]] = ("words",)
    element: ClassVar[DType]

    def __init__(self, words: Any) -> None:
        self.words = words

    @classmethod
    def made(cls, *parts: Any) -> Chunked | HostArray:
        """The array of floats over the words that a program gave."""
        (words,) = parts
        if isinstance(words, Chunked):
            return words.viewed(cls.element.dtype, words.row)
        return host_array(words.to_numpy().view(cls.element.dtype))


class StoredF16(Stored):
    """IEEE half precision."""

    __slots__ = ()
    element = f16


class StoredBF16(Stored):
    """The upper half of an f32."""

    __slots__ = ()
    element = bf16


STORED: dict[DType, type[Stored]] = {f16: StoredF16, bf16: StoredBF16}


SPELLED_SHORT = frozenset({*SHORT, "float16", "half", "f2", "<f2", "=f2", "e"})
"""What NumPy and we call these dtypes."""


@overload
def words_of(values: Chunked) -> Chunked: ...
@overload
def words_of(values: Values | np.generic | HostArray) -> Values: ...
def words_of(values: Chunked | Values | np.generic | HostArray) -> Chunked | Values:
    """The memory of floats of 16 bits, in row-major order, as words."""
    if isinstance(values, Chunked):
        return values.viewed(np.uint16, values.row)
    return np.asarray(values).view(np.uint16)


def widened(values: Any) -> Values:
    """Floats of 16 bits as floats of 32, which hold each of them exactly."""
    dtype = short_float(values.dtype)
    return evaluate("of_bf16" if dtype is bf16 else "of_f16", words_of(values))


def is_short(value: Any) -> bool:
    """Whether a value is an array of floats of 16 bits, or one of them."""
    if isinstance(value, Short):
        return True
    if isinstance(value, HostArray | np.ndarray | np.generic | Chunked):
        return value.dtype.itemsize == 2 and short_float(value.dtype) is not None
    return False


def is_short_dtype(value: Any) -> bool:
    """Whether a value spells a dtype of floats of 16 bits."""
    if isinstance(value, DType):
        return value.is_short
    if isinstance(value, np.dtype):
        return short_float(value) is not None
    if isinstance(value, type):
        return issubclass(value, np.generic) and value.__name__ in ("float16", "bfloat16")
    return isinstance(value, str) and value in SPELLED_SHORT


def speaks_of_short(values: Iterable[Any]) -> bool:
    """Whether floats of 16 bits, or their dtypes, are among values, or within them."""
    for value in values:
        if isinstance(value, list | tuple):
            if speaks_of_short(value):
                return True
        elif isinstance(value, Mapping):
            if speaks_of_short(value.values()):
                return True
        elif is_short(value) or is_short_dtype(value):
            return True
        elif isinstance(value, Node) or hasattr(value, "__dataclass_fields__"):
            if isinstance(value, type):
                continue
            if any(is_short(leaf) for leaf in flatten(value, is_short)[0]):
                return True
    return False


def short_dtype(spelling: Any) -> DType | None:
    """The dtype that a user spells, where it is one of floats of 16 bits."""
    return as_dtype(spelling) if is_short_dtype(spelling) else None


class Complex(Composed):
    """Complex numbers in a trace: two traced arrays of one shape, or two scalars."""

    __slots__ = ("imag", "real")
    parts: ClassVar[tuple[str, ...]] = ("real", "imag")
    real: Tracer
    imag: Tracer

    def __init__(self, real: Any, imag: Any) -> None:
        self.real = real
        self.imag = imag

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
    def made(cls, *parts: Any) -> Chunked | HostComplex:
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


@overload
def pairs_of(values: Chunked) -> Chunked: ...
@overload
def pairs_of(values: Values | HostArray) -> Values: ...
def pairs_of(values: Chunked | Values | HostArray) -> Chunked | Values:
    """The memory of complex numbers, in row-major order, as floats: one axis more, of extent 2."""
    if isinstance(values, Chunked):
        part = np.float32 if values.dtype == np.complex64 else np.float64
        return values.viewed(part, (*values.row, 2))
    array = np.asarray(values)
    part = np.float32 if array.dtype == np.complex64 else np.float64
    return array.reshape(array.shape + (1,)).view(part)


Traced: TypeAlias = Tracer | Composed
"""An array of a trace: one of the program, or one that is composed of such."""
NUMBERS = (complex, np.complexfloating)
SPELLED_COMPLEX = frozenset({
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
    return isinstance(value, str) and value in SPELLED_COMPLEX


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
    return DTypeError.here(
        f"{what} does not become {dtype}, which has no imaginary part.",
        "Take a part: fw.real(x), or abs(x).",
    )


def complex_dtype(spelling: Any) -> DType | None:
    """The dtype that a user spells, where it is one of complex numbers."""
    return as_dtype(spelling) if is_complex_dtype(spelling) else None
