"""Numbers as decimal text: the digits of each are counted, then each byte is computed.

    strings_of([1, -20])        Strings(['1', '-20'])
    strings_of([0.1, 1e22])     Strings(['0.1', '1e+22']), as repr of Python

The digits of floats are the fewest that read as the same float (Schubfach).
Source: R. Giulietti, The Schubfach way to render doubles (2020).
"""

from __future__ import annotations

from typing import Any

import numpy as np

import flatweave as fw
from flatweave.strings.strings import Strings, made
from flatweave.strings.to_numbers import LEAST_TEN, LEAST_TWO, tens, twos

TENS = np.array([10**k for k in range(20)], np.uint64)
SCIENTIFIC = (-4, 16)
"""Decimal points at or before the first, or after the second, are written as an exponent."""


def strings_of(numbers: Any) -> Any:
    """The text of numbers: integers in decimal, floats as Python's `repr`, bools as words.

    Missing numbers give missing strings. A float of f32 has the digits that it needs as f32.

    Types: `numbers: t[n] ->` n strings. Raises DTypeError for complex numbers, ShapeError for
    several axes. Source: Python's `repr`.

        >>> fw.strings_of([1, -20]), fw.strings_of([0.5, 1e22])
        (Strings(['1', '-20']), Strings(['0.5', '1e+22']))
    """
    if isinstance(numbers, Strings):
        return numbers
    if isinstance(numbers, fw.Nullable):
        return fw.Nullable(strings_of(numbers.values), numbers.valid)
    array = fw.asarray(numbers)
    if array.ndim > 1:
        raise fw.ShapeError.here(
            f"strings_of got an array of {array.ndim} axes.", "Flatten it: fw.ravel(x)."
        )
    if array.dtype == fw.bool_:
        return Strings(["False", "True"])[array.astype(fw.i64)]
    if fw.isdtype(array.dtype, "integral"):
        return made(_of_integers(array, TENS))
    if not fw.isdtype(array.dtype, "real floating"):
        raise fw.DTypeError.here(
            f"strings_of got numbers of {array.dtype}.", "Take their real and imaginary parts."
        )
    if array.dtype != fw.f32:
        array = array.astype(fw.f64)
    bits = 23 if array.dtype == fw.f32 else 52
    return made(_of_floats(array.astype(fw.f64), TENS, *tens(), twos(), bits))


def _rows(sizes: Any, byte: Any, elements: Any) -> Any:
    """Rows of bytes, each computed from its element and its position."""
    sizes = sizes.astype(fw.i64)
    values = fw.expand(lambda e: e[0], lambda e, k: byte(e[1], k), (sizes, elements))
    offsets = fw.concat([fw.full(1, 0), fw.cumsum(sizes)])
    return fw.ragged(values, offsets=offsets, check=False)


def _digit(number: Any, position: Any, powers: Any) -> Any:
    """A digit of a number as a byte; `position` is 0 for the last one."""
    return (number // fw.gather(powers, position) % 10).astype(fw.u8) + 48


def _size(number: Any, powers: Any) -> Any:
    """How many digits a number has, 1 for 0."""
    return fw.maximum(fw.searchsorted(powers, number, side="right"), 1)


@fw.operation()
def _of_integers(numbers: Any, powers: Any) -> Any:
    powers = fw.asarray(powers)
    is_negative = numbers < 0
    wide = numbers.astype(fw.u64)
    amount = fw.where(is_negative, fw.u64(0) - wide, wide)
    sizes = _size(amount, powers)

    def byte(element: Any, k: Any) -> Any:
        amount, size, is_negative = element
        place = fw.clip(size - 1 - k + is_negative, 0, 19)
        return fw.where(is_negative & (k == 0), fw.u8(ord("-")), _digit(amount, place, powers))

    return _rows(sizes + is_negative, byte, (amount, sizes, is_negative))


@fw.operation(static="bits")
def _of_floats(
    numbers: Any, powers: Any, high: Any, low: Any, scales: Any, bits: int
) -> Any:
    powers, high, low, scales = (fw.asarray(x) for x in (powers, high, low, scales))
    amount = fw.abs(numbers)
    is_finite = fw.isfinite(numbers)
    amount = fw.where(is_finite, amount, 0.0)
    normal = scales[-LEAST_TWO - 1022 :]
    least = -1022 if bits == 52 else -126
    exponents = fw.maximum(fw.searchsorted(normal, amount, side="right") - 1 - 1022, least)

    def digits(amount: Any, e: Any) -> Any:
        c = (amount * fw.gather(scales, -e - LEAST_TWO) * 2.0**bits).astype(fw.u64)
        closer = (c == 1 << bits) & (e > least)
        return fw.cond(c == 0, lambda: (fw.u64(0), fw.i64(0)),
                       lambda: _shortest(c, e - bits, closer, (high, low)))  # fmt: skip

    found, tenths = fw.map(digits, amount, exponents)
    sizes = _size(found, powers)
    points = sizes + tenths
    points = fw.where(found == 0, 1, points)
    is_nan = fw.isnan(numbers)
    is_negative = fw.signbit(numbers) & fw.logical_not(is_nan)
    return _written(found, sizes, points, is_negative, is_finite, is_nan, powers)


def _shortest(c: Any, q: Any, is_closer: Any, table: Any) -> tuple[Any, Any]:
    """The shortest decimal d and k with d * 10^k nearest to c * 2^q among those that round to it.
    """
    k = (q * 1262611 - fw.where(is_closer, 524031, 0)) >> 22
    h = (q + ((-k * 1741647) >> 19) + 1).astype(fw.u64)
    ten = fw.gather(table[0], -k - LEAST_TEN), fw.gather(table[1], -k - LEAST_TEN)

    def to_odd(number: Any) -> Any:
        """The product with the power of ten, its last bit set if anything was left out."""
        number = number << h
        middle = number * ten[0] + fw.mul_hi(number, ten[1])
        carry = middle < fw.mul_hi(number, ten[1])
        return (fw.mul_hi(number, ten[0]) + carry.astype(fw.u64)) | (middle > 1).astype(fw.u64)

    odd = c & 1
    lower = to_odd(4 * c - 2 + is_closer.astype(fw.u64)) + odd
    upper = to_odd(4 * c + 2) - odd
    exact = to_odd(4 * c)
    s = exact // 4
    tenth = s // 10
    below, above = lower <= 40 * tenth, 40 * tenth + 40 <= upper
    is_tenth = (s >= 10) & (below != above)
    near_below, near_above = lower <= 4 * s, 4 * s + 4 <= upper
    rounds_up = (exact > 4 * s + 2) | ((exact == 4 * s + 2) & ((s & 1) == 1))
    up = fw.where(near_below != near_above, near_above, rounds_up)
    d = fw.where(is_tenth, tenth + above.astype(fw.u64), s + up.astype(fw.u64))
    found: tuple[Any, Any] = fw.while_loop(
        lambda state: (state[0] % 10 == 0), lambda state: (state[0] // 10, state[1] + 1),
        (d, k + is_tenth),
    )  # fmt: skip
    return found


def _written(
    digits: Any, sizes: Any, points: Any, is_negative: Any, is_finite: Any, is_nan: Any, powers: Any
) -> Any:  # fmt: skip
    """Digits with a point, after `points` of them, or with an exponent."""
    has_exponent = (points <= SCIENTIFIC[0]) | (points > SCIENTIFIC[1])
    dots = fw.where(has_exponent, 1, fw.maximum(points, 1))
    fixed = dots + 1 + fw.maximum(sizes - points, 1)
    body = fw.where(has_exponent, sizes + (sizes > 1), fixed)
    exponents = fw.abs(points - 1)
    tail = fw.where(has_exponent, fw.where(exponents >= 100, 5, 4), 0)
    lengths = fw.where(is_finite, body + tail, 3) + is_negative

    def byte(element: Any, k: Any) -> Any:
        digits, size, point, dot, body, is_negative, is_finite, is_nan, has_exponent = element
        k = k - is_negative
        place = k - (k > dot) + fw.where(has_exponent, 0, fw.minimum(point - 1, 0))
        digit = _digit(digits, fw.clip(size - 1 - place, 0, 19), powers)
        digit = fw.where((place < 0) | (place >= size), fw.u8(ord("0")), digit)
        digit = fw.where(k == dot, fw.u8(ord(".")), digit)
        exponent = fw.abs(point - 1)
        width = fw.where(exponent >= 100, 3, 2)
        t = k - body
        e_digit = _digit(exponent.astype(fw.u64), fw.clip(width + 1 - t, 0, 2), powers)
        sign = fw.where(point < 1, fw.u8(ord("-")), fw.u8(ord("+")))
        e_byte = fw.where(t == 0, fw.u8(ord("e")), fw.where(t == 1, sign, e_digit))
        found = fw.where(t >= 0, e_byte, digit)
        word = fw.where(is_nan, _letter("nan", k), _letter("inf", k))
        found = fw.where(is_finite, found, word)
        return fw.where(k < 0, fw.u8(ord("-")), found)

    parts = (digits, sizes, points, dots, body, is_negative, is_finite, is_nan, has_exponent)
    return _rows(lengths, byte, parts)


def _letter(word: str, k: Any) -> Any:
    first, second, third = (fw.u8(ord(letter)) for letter in word)
    return fw.where(k == 0, first, fw.where(k == 1, second, third))
