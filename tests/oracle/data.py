"""Arguments of programs: columns of any dtype, drawn by a seed, and rows of different lengths.

    column("float32", 1025, Generator, "wild")      NaN of several signs and payloads among them
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

DTYPES = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
          "float32", "float64")  # fmt: skip
INTEGERS = DTYPES[1:9]
FLOATS = DTYPES[9:]
KINDS = ("wild", "wild", "wild", "small", "small", "few", "rising", "equal")


@dataclass(frozen=True)
class Rows:
    """What a Ragged means: values, and how many of them each row has."""

    values: Any
    lengths: np.ndarray


def column(dtype: str, n: int, random: np.random.Generator, kind: str) -> np.ndarray:
    """`n` values: any bits, small numbers, few different ones, rising ones, equal ones."""
    if kind == "wild":
        return _wild(np.dtype(dtype), n, random)
    if kind == "few":
        return _wild(np.dtype(dtype), 3, random)[random.integers(0, 3, n)]
    if kind == "equal":
        return np.repeat(_wild(np.dtype(dtype), 1, random), n)
    small = random.integers(-9, 10, n)
    if kind == "rising":
        small = np.sort(small)
    with np.errstate(invalid="ignore"):
        return small.astype(dtype)


def _wild(dtype: np.dtype, n: int, random: np.random.Generator) -> np.ndarray:
    if dtype.kind == "b":
        return random.random(n) < 0.5
    unsigned = np.dtype(f"u{dtype.itemsize}")
    bits = random.integers(0, np.iinfo(unsigned).max, n, unsigned, endpoint=True)
    if dtype.kind == "f":
        return _wild_floats(dtype, bits, random)
    values = bits.view(dtype)
    info = np.iinfo(dtype)
    edges = np.array([info.min, info.min + 1, 0, 1, 2, 3, 7, info.max - 1, info.max], dtype)
    small = random.integers(0, 100, n).astype(dtype)
    return np.choose(random.integers(0, 4, n), [values, edges[random.integers(0, 9, n)], small,
                                                small])  # fmt: skip


def specials(dtype: np.dtype) -> np.ndarray:
    """The floats of which there are few: NaNs, infinities, zeros, and the ends of the range."""
    info = np.finfo(dtype)
    nan = np.array([np.nan, -np.nan], dtype)
    payloads = (nan.view(f"u{dtype.itemsize}") | np.array([5, 77], f"u{dtype.itemsize}"))
    numbers = [np.inf, -np.inf, 0.0, -0.0, info.max, info.min, info.tiny, -info.smallest_subnormal]
    return np.concatenate([nan, payloads.view(dtype), np.array(numbers, dtype)])


def _wild_floats(dtype: np.dtype, bits: np.ndarray, random: np.random.Generator) -> np.ndarray:
    n, rare = len(bits), specials(dtype)
    some = [
        bits.view(dtype), random.standard_normal(n).astype(dtype),
        random.integers(-20, 20, n).astype(dtype) / dtype.type(2),
        rare[random.integers(0, len(rare), n)],
    ]  # fmt: skip
    return np.choose(random.integers(0, 4, n), some)


def row_lengths(total: int, random: np.random.Generator) -> np.ndarray:
    """Lengths of rows that make up `total`: some empty, some long."""
    mean = int(random.choice([1, 3, 10, 300]))
    lengths: list[int] = []
    left = total
    while left > 0:
        drawn = int(random.choice([0, 1, mean, 2 * mean, min(left, 20 * mean)]))
        lengths.append(min(drawn, left))
        left -= lengths[-1]
    lengths += [0] * int(random.integers(0, 3))
    return np.array(lengths, np.int64)
