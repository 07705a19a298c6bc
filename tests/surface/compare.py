"""Whether a result of ours is NumPy's: shape, dtype, values.

Integers and what is only moved must be the same bits, but for those of NaN; zeros have signs.
Rounded functions may be off by some ulp; sums by that much of what is summed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

ULPS = {"near": 4, "far": 512}  # of functions that round; of powers, whose logarithms round as well
SUMMED = 64  # epsilons of the greatest value that is summed, times its power
POWERS = {"sums": 1, "squares": 2, "powers": 17}


def leaves(found: Any) -> list[Any]:
    """The arrays of a result, and what else is in it."""
    if isinstance(found, list | tuple):
        return [leaf for part in found for leaf in leaves(part)]
    return [found]


def difference(found: Any, wanted: Any, near: str, given: Sequence[np.ndarray]) -> str:
    """How a result differs from NumPy's, of these arguments; "" where it does not."""
    ours, theirs = leaves(found), leaves(wanted)
    if len(ours) != len(theirs):
        return f"{len(ours)} results instead of {len(theirs)}"
    said = (_difference(*both, near, given) for both in zip(ours, theirs, strict=True))
    return next((text for text in said if text), "")


def _difference(ours: Any, theirs: Any, near: str, given: Sequence[np.ndarray]) -> str:
    if isinstance(theirs, np.dtype):
        return "" if ours == theirs else f"{ours!r} instead of {theirs!r}"
    a, b = np.asarray(ours), np.asarray(theirs)
    if a.shape != b.shape:
        return f"shape {a.shape} instead of {b.shape}"
    if a.dtype != b.dtype:
        return f"dtype {a.dtype} instead of {b.dtype}"
    if a.dtype.kind == "c":
        parts = ((a.real, b.real), (a.imag, b.imag))
        wrong = [_wrong(x, y, near, given, np.abs(b)) for x, y in parts]
        places = wrong[0] | wrong[1]
    else:
        places = _wrong(a, b, near, given, b)
    if not places.any():
        return ""
    first = int(np.flatnonzero(places)[0])
    said = f"{places.sum()} of {a.size} differ, first at {first}: "
    return said + f"{a.ravel()[first]!r} instead of {b.ravel()[first]!r}"


def _wrong(a: Any, b: Any, near: str, given: Sequence[np.ndarray], size: Any) -> Any:
    """Where values differ: by more than rounding of values of this size."""
    if a.dtype.kind != "f":
        return np.asarray(a != b)
    with np.errstate(all="ignore"):
        same = (a == b) & ((np.signbit(a) == np.signbit(b)) | (near in POWERS))
        both_nan = np.isnan(a) & np.isnan(b)
        return ~(same | both_nan | (abs(a - b) <= _allowed(b, near, given, size)))


def _allowed(b: Any, near: str, given: Sequence[np.ndarray], size: Any) -> Any:
    """By how much values may differ."""
    if near == "exact":
        return -1.0
    unit = ULPS.get(near, 4) * np.spacing(np.maximum(abs(b), abs(size).astype(b.dtype)))
    unit = np.where(np.isfinite(unit), unit, 0)
    if near in ULPS:
        return unit
    eps = max([np.finfo(b.dtype).eps, *(
        np.finfo(x.dtype).eps for x in given if x.dtype.kind in "fc" and x.dtype.itemsize > 2)])
    great = max([1.0, *(_greatest(x) for x in [*given, b])])
    return unit + SUMMED * eps * min(great, 1e300 ** (1 / POWERS[near])) ** POWERS[near]


def _greatest(x: Any) -> float:
    """The greatest finite number in an array, by its size."""
    x = abs(np.asarray(x).astype(complex))
    x = x[np.isfinite(x)]
    return float(x.max()) if x.size else 0.0
