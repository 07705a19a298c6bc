"""Powers of ten with 128 bits, and of two: what reads and prints floats.

    fives()     for q from -342 to 308 the first 128 bits of 5^q, rounded down; of 5^-q rounded up
    tens()      for k from -292 to 342 the first 128 bits of 10^k, rounded up
    twos()      2^e for e from -1074 to 1023
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

LEAST_FIVE, MOST_FIVE = -342, 308
LEAST_TEN, MOST_TEN = -292, 342
LEAST_TWO = -1074
MASK = (1 << 64) - 1


@functools.cache
def fives() -> tuple[Any, Any]:
    """The high and the low word of each power: Lemire's table (arXiv:2101.11408, section 6)."""
    return _words([_five(q) for q in range(LEAST_FIVE, MOST_FIVE + 1)])


def _five(q: int) -> int:
    power = int(5 ** abs(q))
    if q >= 0:
        return power << 128 >> power.bit_length()
    found = (1 << (power.bit_length() + 127)) // power + 1
    return found if found < 1 << 128 else found >> 1


@functools.cache
def tens() -> tuple[Any, Any]:
    """The high and the low word of each power: Giulietti's table (Schubfach, section 9)."""
    return _words([_ten(k) for k in range(LEAST_TEN, MOST_TEN + 1)])


def _ten(k: int) -> int:
    power = int(10 ** abs(k))
    size = power.bit_length()
    if k >= 0:
        return -((-power << 128) >> size)
    is_power = power & (power - 1) == 0
    return -(-(1 << (size + 127 - is_power)) // power)


def _words(numbers: list[int]) -> tuple[Any, Any]:
    high = np.array([number >> 64 for number in numbers], np.uint64)
    return high, np.array([number & MASK for number in numbers], np.uint64)


@functools.cache
def twos() -> Any:
    """2^e for each e, which f64 has exactly."""
    return np.ldexp(1.0, np.arange(LEAST_TWO, 1024))
