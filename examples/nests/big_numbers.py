"""Sums of big numbers, each a row of 32-bit digits: one scan finds all carries of a row.

    python examples/nests big_numbers

A digit generates a carry (1), propagates it (2), or kills it (0). The effect of neighbours
is again one of these, by an associative operator; the prefixes of all digits below say
what comes to each (Marslev and Grønborg 2024, section 8.4). The rows are one pass over the digits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import flatweave as fw

MOST = 0xFFFF_FFFF
MAKES, HANDS_ON = 1, 2


def carried(low: Any, high: Any) -> Any:
    """What digits do to a carry, from what the lower and the higher ones of them do."""
    return (low & high & HANDS_ON) | (((low & (high >> 1)) | high) & MAKES)


def add(a: Any, b: Any) -> Any:
    """The sum of two numbers, their lowest digits first; a carry out of the highest is lost."""
    digits = a + b
    alone = (digits < a).astype(fw.u8) * MAKES + (digits == MOST).astype(fw.u8) * HANDS_ON
    before = fw.scan(carried, HANDS_ON, alone, exclusive=True)
    return digits + (before & MAKES).astype(fw.u32)


@fw.jit
def sums(a: Any, b: Any) -> Any:
    """The sums of many pairs of numbers, one in each row."""
    return fw.map(add, a, b)


def numpy_sums(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The same in NumPy: all carries move up one digit, until none is left."""
    digits = a + b
    carries = digits < a
    while carries.any():
        moved = np.zeros_like(carries)
        moved[:, 1:] = carries[:, :-1]
        digits += moved
        carries = moved & (digits == 0)
    return digits


def pairs(rows: int, digits: int) -> tuple[np.ndarray, np.ndarray]:
    """Random numbers; in each second row carries go through many digits."""
    draw = np.random.default_rng(8)
    a, b = draw.integers(0, 2**32, (2, rows, digits), np.uint32)
    b[::2, 1:-1] = ~a[::2, 1:-1]
    return a, b


def cases(quick: bool) -> Iterator[tuple[str, str, Callable, Callable, Callable]]:
    """Program, input, the job here, the same in NumPy, whether they agree."""
    rows, digits = (100, 128) if quick else (1 << 15, 1 << 10)
    a, b = pairs(rows, digits)
    yield (
        "sums of big numbers",
        f"{rows:,} pairs of {32 * digits:,} bits",
        lambda: sums(a, b),
        lambda: numpy_sums(a[: 1 + rows // 64], b[: 1 + rows // 64]),
        lambda ours, numpys: np.array_equal(np.asarray(ours)[: len(numpys)], numpys),
    )
