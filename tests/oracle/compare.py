"""Whether a result is what the oracle says: values bit for bit, all NaNs being one.

Zeros have signs. Only what was computed by rounded functions may be some ulp
away.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.oracle.data import Rows

ULPS = 6


def parts_of(value: Any) -> list[np.ndarray]:
    """The NumPy arrays of a result or of an expected value, in order."""
    if isinstance(value, tuple | list):
        return [array for part in value for array in parts_of(part)]
    if isinstance(value, Rows):
        return [*parts_of(value.values), value.lengths]
    if hasattr(value, "offsets"):
        return [*parts_of(value.values), np.diff(np.asarray(value.offsets))]
    return [np.asarray(value)]


def difference(found: Any, expected: Any, rounded: bool = False) -> str:
    """How a result differs from what is expected; "" where it does not."""
    ours, theirs = parts_of(found), parts_of(expected)
    if len(ours) != len(theirs):
        return f"{len(ours)} arrays instead of {len(theirs)}"
    said = (_array_difference(a, b, rounded) for a, b in zip(ours, theirs, strict=True))
    return next((text for text in said if text), "")


def _array_difference(a: np.ndarray, b: np.ndarray, rounded: bool) -> str:
    if a.dtype != b.dtype:
        return f"dtype {a.dtype} instead of {b.dtype}"
    if a.shape != b.shape:
        return f"shape {a.shape} instead of {b.shape}"
    same = near(a, b) if rounded else equal(a, b)
    if same.all():
        return ""
    wrong = np.flatnonzero(~same.ravel())
    first = int(wrong[0])
    return (
        f"{len(wrong)} of {a.size} differ, first at {first}:"
        f" {a.ravel()[first]!r} instead of {b.ravel()[first]!r}"
    )


def equal(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Where values are the same: NaN is NaN, and zeros have signs."""
    if a.dtype.kind != "f":
        return np.asarray(a == b)
    return np.where(np.isnan(b), np.isnan(a), (a == b) & (np.signbit(a) == np.signbit(b)))


def near(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The elements that are equal but for some ulp."""
    if a.dtype.kind != "f":
        return np.asarray(a == b)
    with np.errstate(all="ignore"):
        distance = np.abs(a - b) <= ULPS * np.maximum(
            np.spacing(np.abs(b)), np.finfo(b.dtype).smallest_subnormal
        )
    return np.where(np.isnan(b), np.isnan(a), (a == b) | distance)


def same_bits(a: Any, b: Any) -> bool:
    """Whether two results are the same bits, those of NaN included."""
    pairs = list(zip(parts_of(a), parts_of(b), strict=True))
    return all(x.dtype == y.dtype and x.tobytes() == y.tobytes() for x, y in pairs)
