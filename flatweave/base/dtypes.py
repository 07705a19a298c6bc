"""Scalar types: one row each, with their NumPy, LLVM and C spellings.

Complex numbers and floats of 16 bits are dtypes only for users: in a program a complex number is a
pair of floats, and a float of 16 bits is a u16 with the same bits.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from flatweave.base.errors import DTypeError
from flatweave.base.records import record


@record
class DType:
    """A scalar type: `kind` is b(ool), i(nteger), u(nsigned), f(loat) or c(omplex), `bits` its
    width.

    It equals the NumPy dtype it stands for, `np.dtype` takes it, and calling it converts:
    `f32(0.5)` is a NumPy scalar of that type, `f32(x)` an array of that type.

    Source: `numpy.dtype`; IEEE 754 for floats.

        >>> fw.iota(2).dtype == fw.i64, np.zeros(3, fw.f32).dtype
        (True, dtype('float32'))
    """

    name: str
    kind: str
    bits: int
    numpy: np.dtype[np.generic]
    llvm: str
    c: str

    def __repr__(self) -> str:
        return self.name

    def __eq__(self, other: object) -> bool:
        if isinstance(other, DType):
            return self is other
        if self is bf16:
            return isinstance(other, np.dtype | type) and short_float(np.dtype(other)) is bf16
        return isinstance(other, np.dtype | type | str) and self.numpy == other

    def __hash__(self) -> int:
        return hash(self.numpy)

    def __reduce__(self) -> tuple[Any, ...]:
        return as_dtype, (self.name,)

    def __call__(self, value: Any) -> Any:
        if hasattr(value, "astype"):
            return value.astype(self)
        return self.dtype.type(value)

    @property
    def dtype(self) -> np.dtype[np.generic]:
        """The NumPy dtype of arrays on the host: what `np.dtype(f32)` looks for."""
        return brain_float() if self is bf16 else self.numpy

    @property
    def bytes(self) -> int:
        """Bytes of one element in memory (a bool takes one)."""
        return max(1, self.bits // 8)

    @property
    def is_float(self) -> bool:
        return self.kind == "f"

    @property
    def is_complex(self) -> bool:
        return self.kind == "c"

    @property
    def is_short(self) -> bool:
        """Whether this is a float of 16 bits: one that is stored, and computed with as an f32."""
        return self is f16 or self is bf16

    @property
    def is_integer(self) -> bool:
        return self.kind in "iu"

    @property
    def is_signed(self) -> bool:
        return self.kind in "if"

    @property
    def low(self) -> int | float | bool:
        """The least value: -inf for floats."""
        if self.is_float:
            return float("-inf")
        return -(2 ** (self.bits - 1)) if self.kind == "i" else 0 if self.is_integer else False

    @property
    def high(self) -> int | float | bool:
        """The greatest value: inf for floats."""
        if self.is_float:
            return float("inf")
        return 2 ** (self.bits - (self.kind == "i")) - 1 if self.is_integer else True


bool_ = DType("bool", "b", 1, np.dtype(np.bool_), "i1", "bool")
i8 = DType("i8", "i", 8, np.dtype(np.int8), "i8", "int8_t")
i16 = DType("i16", "i", 16, np.dtype(np.int16), "i16", "int16_t")
i32 = DType("i32", "i", 32, np.dtype(np.int32), "i32", "int32_t")
i64 = DType("i64", "i", 64, np.dtype(np.int64), "i64", "int64_t")
u8 = DType("u8", "u", 8, np.dtype(np.uint8), "i8", "uint8_t")
u16 = DType("u16", "u", 16, np.dtype(np.uint16), "i16", "uint16_t")
u32 = DType("u32", "u", 32, np.dtype(np.uint32), "i32", "uint32_t")
u64 = DType("u64", "u", 64, np.dtype(np.uint64), "i64", "uint64_t")
f32 = DType("f32", "f", 32, np.dtype(np.float32), "float", "float")
f64 = DType("f64", "f", 64, np.dtype(np.float64), "double", "double")

c64 = DType("c64", "c", 64, np.dtype(np.complex64), "", "")
c128 = DType("c128", "c", 128, np.dtype(np.complex128), "", "")

f16 = DType("f16", "f", 16, np.dtype(np.float16), "", "")
bf16 = DType("bf16", "f", 16, np.dtype("V2"), "", "")

DTYPES = (bool_, i8, i16, i32, i64, u8, u16, u32, u64, f32, f64)
BY_NAME = {dtype.name: dtype for dtype in DTYPES}
COMPLEX = {"c64": c64, "c128": c128}
PARTS = {c64: f32, c128: f64}
"""The dtype of the real and of the imaginary part."""
SHORT = {"f16": f16, "bf16": bf16, "bfloat16": bf16}
_BY_NUMPY = {dtype.numpy: dtype for dtype in (*DTYPES, *COMPLEX.values(), f16, bf16)}


def brain_float() -> np.dtype[Any]:
    """What NumPy takes for a bf16: the dtype of ml_dtypes, or two bytes where that is not there.
    """
    try:
        from ml_dtypes import bfloat16  # optional dependency
    except ImportError:
        return bf16.numpy
    found: np.dtype[Any] = np.dtype(bfloat16)
    return found


def short_float(dtype: np.dtype[Any]) -> DType | None:
    """The float of 16 bits that a dtype of NumPy is; two bytes are a bf16, as in files of NumPy."""
    if dtype == f16.numpy:
        return f16
    return bf16 if dtype.name == "bfloat16" or dtype == bf16.numpy else None


def native(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The same in this machine's order of bytes, where a dtype has one."""
    has_order = dtype.kind in "iufc" or dtype.names is not None
    return dtype.newbyteorder("=") if has_order else dtype


def as_dtype(spelling: object) -> DType:
    """The scalar type for a DType, a NumPy dtype or scalar class, a Python type, or a name."""
    if isinstance(spelling, DType):
        return spelling
    if isinstance(spelling, str):
        known = BY_NAME.get(spelling) or COMPLEX.get(spelling) or SHORT.get(spelling)
        if known:
            return known
    try:
        asked = np.dtype(spelling)  # type: ignore[call-overload]
        found = _BY_NUMPY.get(asked) or short_float(asked)
    except (TypeError, ValueError):
        found = None
    if found is None:
        raise DTypeError(
            f"{spelling!r} is not an element type of Flatweave.",
            remedy="Use one of " + ", ".join(d.name for d in DTYPES)
            + "; convert the array first, for instance with xs.astype(numpy.float64).",
        )
    return found


def stored(dtype: DType) -> DType:
    """The dtype that elements have in memory: a bool takes a byte."""
    return u8 if dtype is bool_ else dtype
