"""Expressions that a rule of folding could be tempted by, with values to betray it, for NumPy.

    (v % c) // c       on [nan, inf, 1.5] and on every dtype, c a constant or a variable

Python's operators mean the same on our scalars and on NumPy's arrays; `Meaning` has what they do
not: shifts by the width or more give 0 or -1, and of equal extremes the second is taken.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np

Expression = Callable[[Any, Any], Any]


def is_negative(x: Any) -> Any:
    """Whether the sign is minus, that of -0.0, too."""
    return np.signbit(np.asarray(x, np.float64))


class Meaning:
    """What is written as a function, by NumPy."""

    where = staticmethod(np.where)
    abs = staticmethod(np.abs)
    negative = staticmethod(np.negative)
    sign = staticmethod(np.sign)

    @staticmethod
    def minimum(a: Any, b: Any) -> Any:
        return np.where((a < b) | (a != a) | (a == b) & is_negative(a), a, b)

    @staticmethod
    def maximum(a: Any, b: Any) -> Any:
        return np.where((a > b) | (a != a) | (a == b) & is_negative(b), a, b)

    @staticmethod
    def left_shift(a: Any, b: Any) -> Any:
        width = 8 * a.dtype.itemsize
        inside = (b >= 0) & (b < width)
        return np.where(inside, a << np.where(inside, b, 0).astype(a.dtype), a.dtype.type(0))

    @staticmethod
    def right_shift(a: Any, b: Any) -> Any:
        width = 8 * a.dtype.itemsize
        inside = (b >= 0) & (b < width)
        return a >> np.where(inside, b, width - 1).astype(a.dtype) if a.dtype.kind == "i" else (
            np.where(inside, a >> np.where(inside, b, 0).astype(a.dtype), a.dtype.type(0))
        )  # fmt: skip

    @staticmethod
    def astype(x: Any, dtype: Any) -> Any:
        """Floats become integers toward zero, at the nearest end, and 0 for NaN."""
        x, dtype = np.asarray(x), np.dtype(dtype)
        if x.dtype.kind != "f" or dtype.kind not in "iu":
            return x.astype(dtype)
        ends = np.iinfo(dtype)
        whole = [0 if np.isnan(e) else ends.max if e > ends.max else ends.min if e < ends.min
                 else int(e) for e in x.ravel().tolist()]  # fmt: skip
        return np.array(whole, dtype).reshape(x.shape)


def nasty(dtype: Any) -> np.ndarray:
    """The values of a dtype that break what holds of most."""
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return np.array([False, True])
    if dtype.kind == "f":
        ends = np.finfo(dtype)
        return np.array([0.0, -0.0, 1, -1, 1.5, -2.5, 7, np.nan, np.inf, -np.inf, ends.max,
                         ends.tiny, ends.smallest_subnormal], dtype)  # fmt: skip
    ends, width = np.iinfo(dtype), 8 * dtype.itemsize
    found = {0, 1, 2, 3, -1, -2, -7, width, ends.max, ends.max - 1, ends.min, ends.max // 2 + 1}
    return np.array(sorted(x for x in found if ends.min <= x <= ends.max), dtype)


BITS = [operator.and_, operator.or_, operator.xor]
COMPARISONS = [operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge]
ARITHMETIC = [operator.add, operator.sub, operator.mul, operator.floordiv, operator.mod]
BINARY = {
    "b": [*BITS, *COMPARISONS, operator.add, operator.mul],
    "i": [*BITS, *COMPARISONS, *ARITHMETIC],
    "f": [*COMPARISONS, *ARITHMETIC, operator.truediv],
}
NAMED = {"b": [], "i": ["minimum", "maximum", "left_shift", "right_shift"],
         "f": ["minimum", "maximum"]}  # fmt: skip

# laws of numbers: some hold of integers that wrap, some of indices only, few of floats
LAWS: list[Callable[[Any, Any, Any, Any], Any]] = [
    lambda o, v, w, c: (v % c) // c,
    lambda o, v, w, c: (v % c) % c,
    lambda o, v, w, c: (v * c + w % c) // c,
    lambda o, v, w, c: (v * c + w % c) % c,
    lambda o, v, w, c: (v // c) * c + v % c,
    lambda o, v, w, c: (v * c) // c,
    lambda o, v, w, c: c + (v - c),
    lambda o, v, w, c: (v + c) - c,
    lambda o, v, w, c: c - (c - v),
    lambda o, v, w, c: v - v * (c // c),
    lambda o, v, w, c: o.abs(v - c),
    lambda o, v, w, c: o.abs((v + c) - v),
    lambda o, v, w, c: o.abs(o.abs(v)),
    lambda o, v, w, c: o.sign(o.sign(v) * c),
    lambda o, v, w, c: v + c > v,
    lambda o, v, w, c: v - c <= v,
    lambda o, v, w, c: v + c < v + 1,
    lambda o, v, w, c: o.minimum(v + c, v - 1),
    lambda o, v, w, c: o.maximum(v - c, v),
    lambda o, v, w, c: o.minimum(o.maximum(v, c), w),
    lambda o, v, w, c: o.where(v < w, c, c),
    lambda o, v, w, c: o.where(v == v, v, c),
    lambda o, v, w, c: o.where(~(v < c), v, w),
    lambda o, v, w, c: o.negative(o.negative(v)) + c * 0,
    lambda o, v, w, c: v * 0 + c,
    lambda o, v, w, c: 0 - v,
    lambda o, v, w, c: v * 1 + 0,
]
BOOL_LAWS: list[Callable[[Any, Any, Any, Any], Any]] = [
    lambda o, v, w, c: ~~v & c,
    lambda o, v, w, c: (v ^ c) ^ c,
    lambda o, v, w, c: v & ~v,
    lambda o, v, w, c: v | ~v | c,
    lambda o, v, w, c: o.where(v, c, w),
    lambda o, v, w, c: o.where(v, w, v),
]


def expressions(dtype: Any, names: Any) -> list[Expression]:
    """Each operator and law of a dtype, with constants on either side; `names` is us or NumPy."""
    kind = "i" if np.dtype(dtype).kind == "u" else np.dtype(dtype).kind
    binary = [*BINARY[kind], *(getattr(names, name) for name in NAMED[kind])]
    laws = BOOL_LAWS if kind == "b" else LAWS
    constants = list(nasty(dtype))
    found: list[Expression] = [lambda v, w, f=f: f(v, v) for f in binary]
    for f, c in product(binary, constants):
        found += [lambda v, w, f=f, c=c: f(v, c), lambda v, w, f=f, c=c: f(c, v)]
    for f, c, d in product(binary, constants[::3], constants[::2]):
        found.append(lambda v, w, f=f, c=c, d=d: f(f(v, c), d))
    for law in laws:
        found += [lambda v, w, law=law: law(names, v, w, w)]
        found += [lambda v, w, law=law, c=c: law(names, v, w, c) for c in constants]
    return found


def casts(dtype: Any, names: Any, dtypes: list[Any]) -> list[Expression]:
    """Constants and variables in one dtype after another."""
    both = list(product(dtypes, dtypes))
    found: list[Expression] = [lambda v, w, t=t: names.astype(v, t) for t in dtypes]
    found += [lambda v, w, a=a, b=b: names.astype(names.astype(v, a), b) for a, b in both]
    return [
        *found, *(lambda v, w, c=c, t=t: names.astype(c, t) for c in nasty(dtype) for t in dtypes)
    ]


def same_bits(found: Any, expected: Any) -> bool:
    """The same dtype and bits, -0.0 apart from 0.0; one NaN is as good as another."""
    found = np.ascontiguousarray(found)
    wanted = np.broadcast_to(expected, found.shape) if np.ndim(expected) == 0 else expected
    wanted = np.ascontiguousarray(wanted)
    if found.dtype != wanted.dtype or found.shape != wanted.shape:
        return False
    if found.dtype.kind != "f":
        return bool(np.all(found == wanted))
    word = f"u{found.dtype.itemsize}"
    nans = np.isnan(found) & np.isnan(wanted)
    return bool(np.all((found.view(word) == wanted.view(word)) | nans))
