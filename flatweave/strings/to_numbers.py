"""Decimal texts as numbers: a loop over the bytes of each row, then one rounding."""

from __future__ import annotations

import functools
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

import flatweave as fw
from flatweave.strings.searching import as_rows, text_in, word_at

# -- powers ---------------------------------------------------------------------------------------
#
# Powers of ten with 128 bits, and of two: what reads and prints floats.
#
#     fives()     for q from -342 to 308 the first 128 bits of 5^q, rounded down; of 5^-q rounded up
#     tens()      for k from -292 to 342 the first 128 bits of 10^k, rounded up
#     twos()      2^e for e from -1074 to 1023


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


# -- to numbers -----------------------------------------------------------------------------------
#
# Decimal texts as numbers: a loop over the bytes of each row, then one rounding.
#
#     integers(values, start, stop)    eight digits at once, 10^8 v + d
#     floats(values, start, stop)      19 digits and a power of ten, rounded by Lemire's method
#
# A float of more than 19 digits is rounded from the first 19 and from the next number after them.
# Where both are not equal, Python decides, which in texts that programs print does not occur.
# Source: D. Lemire, Number parsing at a gigabyte per second (arXiv:2101.11408).


FINE, WRONG, TOO_LARGE, UNDECIDED = range(4)


class Format(NamedTuple):
    """A binary format of floats."""

    mantissa: int  # the bits after the first one
    bias: int
    infinite: int  # the exponent of infinity, with the bias
    ties: tuple[int, int]  # the powers of ten for which a product may be halfway
    exact: int  # the largest power of ten that is one of them


FORMATS = {
    fw.f32: Format(23, 127, 0xFF, (-17, 10), 10), fw.f64: Format(52, 1023, 0x7FF, (-4, 23), 22),
}  # fmt: skip


def parsed(rows: Any, dtype: Any) -> Any:
    """The numbers of rows of text."""
    if fw.isdtype(dtype, "integral"):
        return _integers(rows, dtype)
    for known in FORMATS:
        if known == dtype:
            return _floats(rows, *fives(), twos(), known)
    raise fw.DTypeError.here(
        f"to_numbers got the dtype {dtype}, which is neither of integers nor f32 or f64.",
        "Read f64 and convert: s.to_numbers(fw.f64).astype(dtype).",
    )


def _byte(values: Any, i: Any) -> Any:
    return fw.gather(values, i, default=0)


def _over_digits(values: Any, i: Any, last: Any, state: Any, step: Any) -> tuple[Any, Any]:
    """The index after the digits from `i` on, and the state after `step(state, digit)` for each."""
    def more(carry: Any) -> Any:
        return (carry[0] < last) & (carry[1] < 10)

    def turn(carry: Any) -> Any:
        i, digit, state = carry
        return i + 1, _byte(values, i + 1) - 48, step(state, digit.astype(fw.u64))

    end, _, state = fw.while_loop(more, turn, (i, _byte(values, i) - 48, state))
    return end, state


def _check(states: Any, what: str, dtype: Any) -> None:
    fw.check(states != WRONG, f"to_numbers: row {{0}} is no {what}.",
             remedy="Select the rows that are numbers first: s[mask].to_numbers().")  # fmt: skip
    fw.check(states != TOO_LARGE, f"to_numbers: row {{0}} does not fit {dtype}.",
             remedy="Take a wider dtype.")  # fmt: skip


def _digits_of(word: Any) -> Any:
    """How many of the first bytes of a word are digits."""
    others = word ^ fw.u64(0x3030303030303030)
    others = ((others + fw.u64(0x7676767676767676)) | others) & fw.u64(0x8080808080808080)
    return (fw.ctz(others) >> 3).astype(fw.i64)


def _read(word: Any, count: Any) -> tuple[Any, Any]:
    """The number that the first 1 to 8 bytes of a word are, and whether they are digits.

    Of each half pairs of digits become numbers, then the pair of those (after D. Lemire, 2018).
    """
    room = (64 - 8 * count).astype(fw.u64)
    digits = (word << room) ^ (fw.u64(0x3030303030303030) << room)
    others = ((digits + fw.u64(0x7676767676767676)) | digits) & fw.u64(0x8080808080808080)
    found = _four(digits.astype(fw.u32)) * 10_000 + _four((digits >> 32).astype(fw.u32))
    return found.astype(fw.u64), others == 0


def _four(digits: Any) -> Any:
    """The number that four bytes from 0 to 9 are, the first one lowest."""
    pairs = (digits * 10 + (digits >> 8)) & fw.u32(0x00FF00FF)
    return (pairs * fw.u32((100 << 16) + 1)) >> 16


def _power(count: Any) -> Any:
    """10^count, of 0 to 8."""
    found = fw.u32(1)
    for k in range(4):
        found = found * fw.where((count & (1 << k)) > 0, fw.u32(10 ** (1 << k)), fw.u32(1))
    return found.astype(fw.u64)


def _sign(values: Any, first: Any, last: Any) -> tuple[Any, Any]:
    """Whether a minus is at a position, and the position after a sign."""
    byte = _byte(values, first)
    is_signed = (first < last) & ((byte == ord("-")) | (byte == ord("+")))
    return byte == ord("-"), first + is_signed


@fw.operation(static="dtype")
def _integers(rows: Any, dtype: Any) -> Any:
    rows, read = as_rows(rows)
    values, info = rows.values, fw.iinfo(dtype)

    def integer(start: Any, stop: Any) -> Any:
        first, last = text_in(values, start, stop)
        is_negative, begin = _sign(values, first, last)

        def eight(carry: Any) -> Any:
            i, v, is_wrong, is_over = carry
            count = ((last - i - 1) & 7) + 1
            digits, are_digits = _read(word_at(values, i), count)
            longer = v * 10**8 + digits
            is_over = is_over | (fw.mul_hi(v, fw.u64(10**8)) > 0) | (longer < digits)
            return i + count, longer, is_wrong | ~are_digits, is_over

        _, v, is_wrong, is_over = fw.while_loop(
            lambda carry: carry[0] < last, eight, (begin, fw.u64(0), begin >= last, False)
        )
        limit = fw.where(is_negative, fw.u64(-int(info.min)), fw.u64(int(info.max)))
        state = fw.where(is_over | (v > limit), TOO_LARGE, FINE)
        state = fw.where(is_wrong, WRONG, state)
        return fw.where(is_negative, fw.u64(0) - v, v).astype(dtype), state

    numbers, states = fw.map(integer, rows.offsets[:-1], rows.offsets[1:])
    _check(states, "integer", dtype)
    return read(numbers)


@fw.operation(static="dtype")
def _floats(rows: Any, high: Any, low: Any, powers: Any, dtype: Any) -> Any:
    rows, read = as_rows(rows)
    values, form = rows.values, FORMATS[dtype]
    table = fw.asarray(high), fw.asarray(low)
    powers = fw.asarray(powers)
    whole_powers = fw.asarray(np.array([float(10**k) for k in range(form.exact + 1)])).astype(dtype)

    def one(start: Any, stop: Any) -> Any:
        first, last = text_in(values, start, stop)
        is_negative, begin = _sign(values, first, last)
        end, v, q, is_inexact, has_digits = _decimal(values, begin, last)

        def number() -> Any:
            is_exact = (v <= 1 << (form.mantissa + 1)) & (fw.abs(q) <= form.exact) & ~is_inexact
            found, differs = fw.cond(is_exact, exact, rounded)
            return found, fw.where(end == last, fw.where(differs, UNDECIDED, FINE), WRONG)

        def exact() -> Any:
            power = fw.gather(whole_powers, fw.abs(q))
            value = v.astype(fw.i64).astype(dtype)
            return fw.where(q < 0, value / power, value * power).astype(fw.f64), False

        def rounded() -> Any:
            found = _rounded(v, q, table, powers, form)
            return found, fw.cond(
                is_inexact, lambda: found != _rounded(v + 1, q, table, powers, form), lambda: False
            )

        found, state = fw.cond(has_digits, number, lambda: _word(values, begin, last))
        return fw.where(is_negative, -found, found), state

    numbers, states = fw.map(one, rows.offsets[:-1], rows.offsets[1:])
    _check(states, "number", dtype)

    def decided() -> Any:
        places = fw.flatnonzero(states == UNDECIDED)
        texts = rows[places]
        shape = fw.ShapeDtypeStruct((places.shape[0],), fw.f64)
        exact = fw.pure_callback(_by_python[dtype == fw.f32], shape, texts.values, texts.offsets)
        return fw.scatter(numbers, places, exact)

    numbers = fw.cond(fw.any(states == UNDECIDED), decided, lambda: numbers)
    return read(numbers.astype(dtype))


def _digits(values: Any, i: Any, last: Any, v: Any, is_inexact: Any) -> tuple[Any, Any, Any, Any]:
    """Where digits end, the number with them, how many are beyond the 19th, and whether any of
    those is not 0."""
    def eight(carry: Any) -> Any:
        i, v, _ = carry
        word = word_at(values, i)
        count = fw.minimum(_digits_of(word), last - i)
        longer = v * _power(count) + _read(word, count)[0]
        return i + count, fw.where(count > 0, longer, v), count == 8

    def step(state: Any, digit: Any) -> Any:
        v, beyond, is_inexact = state
        is_full = v >= 10**18
        longer = fw.where(is_full, v, v * 10 + digit)
        return longer, beyond + is_full, is_inexact | (is_full & (digit > 0))

    i, v, is_long = fw.while_loop(
        lambda carry: carry[2] & (carry[1] < 10**10), eight, (i, v, True)
    )
    state = v, fw.i64(0), is_inexact
    end, state = fw.cond(
        is_long, lambda: _over_digits(values, i, last, state, step), lambda: (i, state)
    )
    return (end, *state)


def _decimal(values: Any, begin: Any, last: Any) -> tuple[Any, Any, Any, Any, Any]:
    """Where a number without its sign ends, its digits, its power of ten, whether digits are left
    out, and whether it has any."""
    whole, v, beyond, is_inexact = _digits(values, begin, last, fw.u64(0), False)
    point = whole + ((whole < last) & (_byte(values, whole) == ord(".")))
    end, v, more, is_inexact = _digits(values, point, last, v, is_inexact)
    q = beyond + more - (end - point)

    def exponent() -> Any:
        is_negative, first = _sign(values, end + 1, last)

        def step(e: Any, digit: Any) -> Any:
            return fw.minimum(e * 10 + digit.astype(fw.i64), 10**9)

        after, e = _over_digits(values, first, last, fw.i64(0), step)
        return fw.where(after > first, after, -1), fw.where(is_negative, -e, e)

    has_exponent = (end < last) & ((_byte(values, end) | 32) == ord("e"))
    after, e = fw.cond(has_exponent, exponent, lambda: (end, fw.i64(0)))
    return after, v, q + e, is_inexact, (whole > begin) | (end > point)


def _rounded(w: Any, q: Any, table: Any, powers: Any, form: Format) -> Any:
    """The float nearest to w * 10^q, as f64."""
    bits = form.mantissa
    power = fw.clip(q, LEAST_FIVE, MOST_FIVE)
    five = fw.gather(table[0], power - LEAST_FIVE), fw.gather(table[1], power - LEAST_FIVE)
    zeros = fw.clz(w).astype(fw.i64)
    w = w << zeros.astype(fw.u64)
    high, low = fw.mul_hi(w, five[0]), w * five[0]
    second = fw.mul_hi(w, five[1])
    mask = fw.u64((1 << (64 - bits - 3)) - 1)
    needs = (high & mask) == mask
    total = low + second
    high = high + (needs & (total < second)).astype(fw.u64)
    low = fw.where(needs, total, low)
    upper = high >> 63
    shift = upper + fw.u64(64 - bits - 3)
    mantissa = high >> shift
    exponent = ((217706 * power) >> 16) + 64 + upper.astype(fw.i64) - zeros + form.bias - 1
    is_tie = (low <= 1) & (power >= form.ties[0]) & (power <= form.ties[1]) & (
        ((mantissa & 3) == 1) & ((mantissa << shift) == high) & (exponent > 0)
    )  # fmt: skip
    mantissa = fw.where(is_tie, mantissa & ~fw.u64(1), mantissa)
    less = fw.where(exponent <= 0, fw.minimum(1 - exponent, 63), 0).astype(fw.u64)
    mantissa = mantissa >> less
    mantissa = (mantissa + (mantissa & 1)) >> 1
    is_infinite = (exponent + (mantissa >= 2 << bits) >= form.infinite) | (q > MOST_FIVE)
    scale = fw.maximum(exponent, 1) - form.bias - bits - LEAST_TWO
    found = mantissa.astype(fw.f64) * fw.gather(powers, fw.minimum(scale, 2045))
    found = fw.where(is_infinite, fw.inf, found)
    return fw.where((w == 0) | (q < LEAST_FIVE), 0.0, found)


def _word(values: Any, begin: Any, last: Any) -> tuple[Any, Any]:
    """inf, infinity and nan, in any case."""
    def reads(word: str) -> Any:
        holds = last - begin == len(word)
        for k, letter in enumerate(word):
            holds = holds & ((_byte(values, begin + k) | 32) == ord(letter))
        return holds

    is_nan = reads("nan")
    is_word = is_nan | reads("inf") | reads("infinity")
    return fw.where(is_nan, fw.nan, fw.inf), fw.where(is_word, FINE, WRONG)


def _exact(values: Any, offsets: Any, dtype: Any) -> Any:
    """The nearest floats by exact arithmetic."""
    data = values.tobytes()
    texts = [data[a:b].decode() for a, b in zip(offsets[:-1], offsets[1:], strict=True)]
    if dtype is np.float64:
        return np.array([float(text) for text in texts])
    return np.array([_nearest(text) for text in texts], np.float64)


def _nearest(text: str) -> float:
    """The nearest f32: the f64 may be halfway between two of them."""
    exact, near = Fraction(text.strip()), np.float32(float(text))
    ends = np.array([-np.inf, np.inf], np.float32)
    choices = [near, *np.nextafter(near, ends)]
    if not np.isfinite(choices).all():
        return float(near)

    def distance(choice: Any) -> tuple[Fraction, int]:
        return abs(Fraction(float(choice)) - exact), int(choice.view(np.uint32) & 1)

    return float(min(choices, key=distance))


_by_python = (
    lambda values, offsets: _exact(values, offsets, np.float64),
    lambda values, offsets: _exact(values, offsets, np.float32),
)
