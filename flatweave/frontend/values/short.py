"""Floats of 16 bits: stored as they are, computed with as f32.

    hs: f16[n] on the host      HostArray, whose memory is that of a u16[n]
    hs in a trace               F16(words: u16[n])

A program knows words of 16 bits alone. Who computes with them reads them as f32 (`widened`); who
only moves them moves the words. Nothing is copied at either end.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

import numpy as np

from flatweave.base.dtypes import SHORT, DType, as_dtype, bf16, f16, short_float
from flatweave.frontend.values.array import HostArray, host_array
from flatweave.frontend.values.chunked import Chunked
from flatweave.frontend.values.composed import Composed
from flatweave.frontend.values.exchange import Values
from flatweave.frontend.values.tree import Node, flatten, is_irregular
from flatweave.scalar.ops import evaluate


class Short(Composed):
    """Floats of 16 bits in a trace: the words that have their bits, an array or a scalar."""

    __slots__ = ("words",)
    parts: ClassVar[tuple[str, ...]] = ("words",)
    element: ClassVar[DType]

    def __init__(self, words: Any) -> None:
        self.words = words

    @classmethod
    def made(cls, *parts: Any) -> Any:
        """The floats with these bits; where they are rows, these of floats."""
        (words,) = parts
        if is_irregular(words):
            return type(words).made(cls.made(words.values), words.offsets)
        return cls(words)

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
    def made(cls, *parts: Any) -> Any:
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


SPELLED = frozenset({*SHORT, "float16", "half", "f2", "<f2", "=f2", "e"})
"""What NumPy and we call these dtypes."""


def words_of(values: Any) -> Any:
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
    return isinstance(value, str) and value in SPELLED


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
