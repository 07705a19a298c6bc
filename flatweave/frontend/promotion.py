"""Dtypes of mixed operands, as NumPy 2 has them (NEP 50).

    f32 array + 1.5      f32: a Python number takes the dtype of what it meets
    i32 array + 1.5      f64: but not its kind
    i32 array + f32      f64
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from flatweave.base.dtypes import DType, as_dtype, bool_, f64, i64, u64
from flatweave.base.errors import DTypeError
from flatweave.base.source import user_location
from flatweave.frontend.array import Tracer
from flatweave.scalar import ops as scalar
from flatweave.terms.syntax import Const


class ScalarOverflowError(DTypeError, OverflowError):
    """A Python integer does not fit the dtype of the array it meets: `u8 array + 300`."""


def common(values: Sequence[Tracer]) -> tuple[DType, bool]:
    """The dtype that operands are brought to, and whether it is weak: all come from Python."""
    return _common(tuple((value.element, value.weak) for value in values))


@lru_cache(maxsize=4096)
def _common(operands: tuple[tuple[DType, bool], ...]) -> tuple[DType, bool]:
    weak = all(is_weak for _, is_weak in operands)
    if weak:
        return (f64 if any(dtype.is_float for dtype, _ in operands) else i64), True
    parts = [
        (0.0 if dtype.is_float else 0) if is_weak else dtype.numpy for dtype, is_weak in operands
    ]
    return as_dtype(np.result_type(*parts)), False


def fits(value: int | float | bool, dtype: DType) -> bool:
    """Whether a Python integer is a value of an integer dtype; floats and bools always do."""
    if not isinstance(value, int) or not dtype.is_integer:
        return True
    half = 1 << (dtype.bits - 1)
    return -half <= value < half if dtype.is_signed else 0 <= value < 2 * half


def operand_dtype(fn: str, values: Sequence[Tracer]) -> tuple[DType, bool]:
    """The dtype a scalar function's operands are converted to, and whether it is weak."""
    dtype, weak = common(values)
    big = [v for v in values if v.weak and isinstance(v.atom, Const) and not fits(
        v.atom.value, dtype
    )]  # fmt: skip
    if big:
        dtype = _with_big(fn, big[0], dtype)
    return scalar.operand_dtype(fn, dtype), weak


COMPARISONS = frozenset({"eq", "ne", "lt", "le", "gt", "ge"})


def _with_big(fn: str, literal: Tracer, dtype: DType) -> DType:
    """A literal that its partner's dtype cannot hold: comparisons widen, others refuse."""
    assert isinstance(literal.atom, Const)
    if fn in COMPARISONS:
        return i64 if literal.atom.value < 0 or dtype is not u64 else u64
    raise too_big(literal.atom.value, dtype)


def too_big(value: int | float | bool, dtype: DType) -> ScalarOverflowError:
    """The message for a Python integer that does not fit."""
    return ScalarOverflowError(
        f"the Python integer {value} does not fit {dtype}, the dtype of the array it meets.",
        where=user_location(),
        remedy="Convert the array first, for instance with xs.astype(fw.i64).",
    )


def literal_dtype(value: bool | int | float) -> DType:
    """The dtype of a Python scalar by itself."""
    if isinstance(value, bool):
        return bool_
    if isinstance(value, float):
        return f64
    if fits(value, i64):
        return i64
    if fits(value, u64):
        return u64
    raise ScalarOverflowError(
        f"the Python integer {value} does not fit an i64.",
        where=user_location(),
        remedy="Write it as a float, or split it into two integers.",
    )
