"""What a library asks of an array's namespace: functions, dtypes, devices and what they can do.

    x.__array_namespace__()                                 flatweave
    fw.__array_namespace_info__().default_dtypes()          {"integral": i64, ..}
    fw.result_type(fw.f32, 1)                               f32
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from flatweave.base.dtypes import (
    PARTS,
    DType,
    as_dtype,
    bf16,
    bool_,
    c64,
    c128,
    f16,
    f32,
    f64,
    i8,
    i16,
    i32,
    i64,
    u8,
    u16,
    u32,
    u64,
)
from flatweave.base.errors import ArgumentError, DTypeError
from flatweave.base.records import record
from flatweave.frontend.values.arguments import any_dtype_of
from flatweave.frontend.values.array import METHODS, Array, Tracer, kind_of
from flatweave.frontend.values.exchange import DEVICES, HOST, on_device
from flatweave.frontend.values.number_formats import Composed

KINDS = {
    "bool": (bool_,),
    "signed integer": (i8, i16, i32, i64),
    "unsigned integer": (u8, u16, u32, u64),
    "integral": (i8, i16, i32, i64, u8, u16, u32, u64),
    "real floating": (f16, bf16, f32, f64),
    "complex floating": (c64, c128),
    "numeric": (i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, f32, f64, c64, c128),
}


@record(eq=True)
class FloatInfo:
    """What a dtype of floats holds."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: DType


@record(eq=True)
class IntegerInfo:
    """What a dtype of integers holds."""

    bits: int
    max: int
    min: int
    dtype: DType


def _of(value: Any) -> DType:
    """The dtype of an array, or a dtype."""
    if isinstance(value, Array | np.ndarray | np.generic):
        return as_dtype(value.dtype)
    return any_dtype_of(value)


FAR_BF16 = (2 - 2.0**-7) * 2.0**127
"""The greatest bf16."""


def finfo(type: Any) -> FloatInfo:
    """What a dtype of floats, or that of an array, holds. Raises DTypeError for another one.

    Types: a dtype of floats `->` its `eps`, `max`, `min`, `smallest_normal`, `bits`.
    Source: `numpy.finfo`.

        >>> fw.finfo(fw.f32).bits
        32
    """
    dtype = _of(type)
    dtype = PARTS.get(dtype, dtype)
    if not dtype.is_float:
        raise DTypeError.here(f"finfo is of floats, got {dtype}.", "Ask fw.iinfo for integers.")
    if dtype is bf16:
        return FloatInfo(16, 2.0**-7, FAR_BF16, -FAR_BF16, 2.0**-126, dtype)
    held: Any = np.finfo(dtype.numpy)
    return FloatInfo(
        dtype.bits, float(held.eps), float(held.max), float(held.min),
        float(held.smallest_normal), dtype,
    )  # fmt: skip


def iinfo(type: Any) -> IntegerInfo:
    """What a dtype of integers, or that of an array, holds. Raises DTypeError for another one.

    Types: a dtype of integers `->` its `bits`, `max`, `min`. Source: `numpy.iinfo`.

        >>> fw.iinfo(fw.i8).max
        127
    """
    dtype = _of(type)
    if not dtype.is_integer:
        raise DTypeError.here(f"iinfo is of integers, got {dtype}.", "Ask fw.finfo for floats.")
    return IntegerInfo(dtype.bits, int(dtype.high), int(dtype.low), dtype)


def can_cast(from_: Any, to: Any) -> bool:
    """Whether values of a dtype, or of an array, keep their meaning in another one.

    Types: two dtypes, or an array and a dtype, `->` a Python bool. Raises DTypeError for what is no
    dtype. Source: `numpy.can_cast`.

        >>> fw.can_cast(fw.i32, fw.f64)
        True
    """
    given, wanted = _of(from_), _of(to)
    if wanted is bf16:
        return given is bf16 or given.bits <= 8
    return bool(np.can_cast((f32 if given is bf16 else given).numpy, wanted.numpy))


NUMBERS = (bool, int, float, complex)
KINDS_OF_NUMBERS = {"i": 0, "u": 0, "f": 0.0, "c": 0j}


def _number_or_itself(value: Any) -> Any:
    """A number of the kind of a traced one that came from Python; anything else as it is."""
    part = getattr(value, value.parts[0]) if isinstance(value, Composed) else value
    is_weak = isinstance(part, Tracer) and part.weak
    return KINDS_OF_NUMBERS.get(value.dtype.kind, value) if is_weak else value


def result_type(*arrays_and_dtypes: Any) -> DType:
    """The dtype that arrays, dtypes and Python numbers have together.

    A float of 16 bits is that of its kind alone, or with bools; with others it is an f32.

    Types: arrays, dtypes and numbers `->` a dtype. Raises DTypeError if no dtype holds both.
    Source: `numpy.result_type`.

        >>> fw.result_type(fw.i32, fw.f32)
        f64
    """
    values = [_number_or_itself(value) for value in arrays_and_dtypes]
    numbers = [value for value in values if type(value) in NUMBERS]
    dtypes = [_of(value) for value in values if type(value) not in NUMBERS]
    dtypes = [dtype for dtype in dtypes if dtype is not bool_] or dtypes  # the others have 0 and 1
    is_alone = len(set(map(id, dtypes))) == 1 and complex not in map(type, numbers)
    if is_alone and dtypes[0].is_short:
        return dtypes[0]
    wide = [(f32 if dtype.is_short else dtype).numpy for dtype in dtypes]
    return as_dtype(np.result_type(*wide, *numbers))


def isdtype(dtype: Any, kind: Any) -> bool:
    """Whether a dtype is of a kind: a dtype, the name of a kind, or a tuple of such.

    Types: a dtype, and a kind such as `"integral"`, `->` a Python bool. Raises DTypeError for a
    kind that does not exist. Source: `numpy.isdtype`.

        >>> fw.isdtype(fw.f32, "real floating")
        True
    """
    if isinstance(kind, tuple):
        return any(isdtype(dtype, each) for each in kind)
    own = any_dtype_of(dtype)
    if isinstance(kind, str):
        if kind not in KINDS:
            raise DTypeError.here(
                f"there is no kind of dtypes {kind!r}.", f"Kinds are: {', '.join(KINDS)}."
            )
        return own in KINDS[kind]
    if kind is None:
        raise DTypeError.here(
            f"a kind of dtypes is a name or a dtype, got {kind_of(kind)}.",
            "For instance \"integral\" or fw.f32.",
        )
    return own == any_dtype_of(kind)


VERSION = __array_api_version__ = "2025.12"
VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12", VERSION)
NAMES = {
    dtype.numpy.name: dtype
    for kind in ("bool", "numeric")
    for dtype in KINDS[kind]
    if not dtype.is_short
}


class NamespaceInfo:
    """What arrays of this package can be, and what its functions can do."""

    def capabilities(self) -> dict[str, Any]:
        """Masks are indices, and extents may depend on values; of axes NumPy holds 64."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def devices(self) -> tuple[str, ...]:
        """Where arrays can be."""
        return tuple(DEVICES)

    def default_device(self) -> str:
        """Where arrays are."""
        return HOST

    def default_dtypes(self, *, device: Any = None) -> dict[str, DType]:
        """The dtypes of Python numbers, and of indices."""
        on_device(device, "default_dtypes")
        return {"real floating": f64, "complex floating": c128, "integral": i64, "indexing": i64}

    def dtypes(self, *, device: Any = None, kind: Any = None) -> dict[str, DType]:
        """The dtypes by name, all of them or those of a kind, or of one of several kinds."""
        on_device(device, "dtypes")
        found = NAMES.items()
        return {name: dtype for name, dtype in found if kind is None or isdtype(dtype, kind)}


def __array_namespace_info__() -> NamespaceInfo:
    """What arrays of this package can be, and what its functions can do."""
    return NamespaceInfo()


def namespace(version: Any) -> Any:
    """The package, which has the standard's names; ArgumentError for a version it does not know."""
    if version is not None and version not in VERSIONS:
        raise ArgumentError.here(
            f"there is no version {version!r} of the array API standard here.",
            f"Versions are: {', '.join(VERSIONS)}.",
        )
    return sys.modules[__name__.partition(".")[0]]


METHODS["namespace"] = namespace
