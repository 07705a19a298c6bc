"""UTF-8: code points, and the bytes that they are.

    lengths(rows)             how many bytes of each row begin a code point
    sliced(rows, 1, -1)       the bytes whose code points are inside
    checked(rows)             the rows, if each is UTF-8
    word_at(values, i)        eight bytes as a number

A byte begins a code point unless its first two bits are 10 (RFC 3629, section 3).
"""

from __future__ import annotations

from typing import Any

import flatweave as fw

SPACES = " \t\n\r\v\f"


def is_ascii(values: Any) -> Any:
    """Whether no byte is above 127."""
    return fw.logical_not(fw.any(values >= 128))


def begins(byte: Any) -> Any:
    """Whether a byte begins a code point."""
    return (byte & 0xC0) != 0x80


def count_of(row: Any) -> Any:
    """How many code points bytes are."""
    return fw.sum(begins(row)).astype(fw.i64)


def lengths(rows: Any) -> Any:
    """How many code points each row has."""
    return _lengths(rows)


@fw.operation()
def _lengths(rows: Any) -> Any:
    if not isinstance(rows, fw.Ragged):
        return count_of(rows)
    counted = lambda: fw.sum(begins(rows), axis=1).astype(fw.i64)  # noqa: E731
    return fw.cond(is_ascii(rows.values), lambda: rows.lengths, counted)


@fw.operation()
def checked(rows: Any) -> Any:
    """The rows; stops the program unless each of them is UTF-8."""
    values = rows.values

    def every() -> Any:
        good = fw.map(lambda i: _is_valid(values, i), fw.iota(values.shape[0]))
        whole = fw.all(fw.ragged(good, offsets=rows.offsets, check=False), axis=1)

        def is_whole(start: Any, stop: Any, good: Any) -> Any:
            first, after = fw.gather(values, start, default=0), fw.gather(values, stop, default=0)
            is_cut = fw.logical_not(begins(after)) & _is_valid(values, stop)
            return (start == stop) | (good & begins(first) & fw.logical_not(is_cut))

        return fw.map(is_whole, rows.offsets[:-1], rows.offsets[1:], whole)

    sound = fw.cond(is_ascii(values), lambda: fw.asarray(True), lambda: _is_sound(rows))
    fine = fw.cond(sound, lambda: fw.full(rows.lengths.shape, True), every)
    fw.check(fine, "row {0} is no UTF-8.", remedy="Decode the text from its own encoding first.")
    return rows


def _is_sound(rows: Any) -> Any:
    """Whether all bytes are UTF-8, and rows begin and end between code points: then so is each row,
    and none needs to be looked at."""
    values = rows.values
    good = fw.all(fw.map(lambda i: _is_valid(values, i), fw.iota(values.shape[0])))
    ends = fw.map(lambda end: begins(fw.gather(values, end, default=0)), rows.offsets)
    return good & fw.all(ends)


def _is_valid(values: Any, i: Any) -> Any:
    """Whether UTF-8 may have a byte at this index (RFC 3629, section 4).

    A continuation byte follows a lead byte at most three bytes before. A lead byte announces the
    number of continuation bytes; after 0xE0, 0xED, 0xF0 and 0xF4 the first has a narrower range.
    """
    def at(k: int) -> Any:
        return fw.gather(values, i + k, default=0)

    def goes_on(byte: Any) -> Any:
        return (byte & 0xC0) == 0x80

    a, b = at(0), at(1)
    low = fw.where(a == 0xE0, 0xA0, fw.where(a == 0xF0, 0x90, 0x80))
    high = fw.where(a == 0xED, 0x9F, fw.where(a == 0xF4, 0x8F, 0xBF))
    second, third, fourth = (b >= low) & (b <= high), goes_on(at(2)), goes_on(at(3))
    leads = ((a >= 0xC2) & (a < 0xE0) & second) | (
        (a >= 0xE0) & (a < 0xF0) & second & third
    ) | ((a >= 0xF0) & (a <= 0xF4) & second & third & fourth)  # fmt: skip
    p, q, r = at(-1), at(-2), at(-3)
    follows = (p >= 0xC2) | (goes_on(p) & ((q >= 0xE0) | (goes_on(q) & (r >= 0xF0))))
    return fw.where(a < 0x80, True, fw.where(a < 0xC0, follows, leads))


@fw.operation()
def sliced(rows: Any, start: Any, stop: Any) -> Any:
    """The bytes of the code points from `start` to `stop`, which count from the end if negative."""
    if not isinstance(rows, fw.Ragged):
        return _sliced_row(rows, start, stop)
    ascii_rows = lambda: _cut_rows(rows, *_ends(rows.lengths, start, stop))  # noqa: E731

    def others() -> Any:
        first, last = _ends(lengths(rows), start, stop)
        flags = begins(rows)
        index = fw.scan(fw.add, 0, flags.values.astype(fw.i64)) - 1
        before = fw.map(lambda s: fw.gather(index, s, default=0), rows.offsets[:-1])
        low, high = fw.expand(
            lambda e: e[0], lambda e, k: (e[1], e[2]), (rows.lengths, first + before, last + before)
        )
        inside = (index >= low) & (index < high)
        return rows[fw.ragged(inside, offsets=rows.offsets, check=False)]

    return fw.cond(is_ascii(rows.values), ascii_rows, others)


def _ends(size: Any, start: Any, stop: Any) -> tuple[Any, Any]:
    """The start and the end of a slice of `size` elements, as in Python."""
    def inside(bound: Any, otherwise: Any) -> Any:
        if bound is None:
            return otherwise
        bound = fw.asarray(bound).astype(fw.i64)
        return fw.clip(fw.where(bound < 0, bound + size, bound), 0, size)

    first, last = inside(start, fw.zeros_like(size)), inside(stop, size)
    return first, fw.maximum(first, last)


def _sliced_row(row: Any, start: Any, stop: Any) -> Any:
    first, last = _ends(count_of(row), start, stop)
    index = fw.cumsum(begins(row)) - 1
    return row[(index >= first) & (index < last)]


def _cut_rows(rows: Any, first: Any, last: Any) -> Any:
    """The part of each row from one byte to another."""
    starts = rows.offsets[:-1]
    sizes = last - first
    values = fw.expand(lambda e: e[0], lambda e, k: rows.values[e[1] + k], (sizes, starts + first))
    offsets = fw.concat([fw.full(1, 0), fw.cumsum(sizes)])
    return fw.ragged(values, offsets=offsets, check=False)


@fw.operation()
def stripped(rows: Any) -> Any:
    """Rows without the white space at their ends."""
    if not isinstance(rows, fw.Ragged):
        first, last = text_in(rows, 0, rows.shape[0])
        return rows[first:last]
    starts, stops = rows.offsets[:-1], rows.offsets[1:]
    first, last = fw.map(lambda s, e: text_in(rows.values, s, e), starts, stops)
    return _cut_rows(rows, first - starts, last - starts)


def word_at(values: Any, i: Any) -> Any:
    """Eight bytes from a position on as a number, the first one lowest; 0 beyond all bytes."""
    found = fw.u64(0)
    for j in range(8):
        found = found | (fw.gather(values, i + j, default=0).astype(fw.u64) << (8 * j))
    return found


def is_space(byte: Any) -> Any:
    """Whether a byte is ASCII white space."""
    return (byte == ord(" ")) | ((byte >= ord("\t")) & (byte <= ord("\r")))


def text_in(values: Any, start: Any, stop: Any) -> tuple[Any, Any]:
    """Where a row begins and ends without white space."""
    def blank(i: Any) -> Any:
        return is_space(fw.gather(values, i, default=0))

    first = fw.while_loop(lambda i: (i < stop) & blank(i), lambda i: i + 1, fw.asarray(start))
    last = fw.while_loop(lambda i: (i > first) & blank(i - 1), lambda i: i - 1, fw.asarray(stop))
    return first, last


@fw.operation(static="least step")
def recased(rows: Any, least: int, step: int) -> Any:
    """The bytes of 26 letters moved to those of another case."""
    values = rows.values if isinstance(rows, fw.Ragged) else rows
    moved = fw.where((values >= least) & (values < least + 26), values + fw.u8(step % 256), values)
    if not isinstance(rows, fw.Ragged):
        return moved
    return fw.ragged(moved, offsets=rows.offsets, check=False)


@fw.operation()
def hashed(rows: Any) -> Any:
    """A hash of each row: a polynomial of its bytes, mixed (MurmurHash3's finaliser)."""
    return fw.map(_hash, rows) if isinstance(rows, fw.Ragged) else _hash(rows)


def _hash(row: Any) -> Any:
    step = lambda h, byte: ((h ^ byte.astype(fw.u64)) * fw.u64(0x100000001B3), None)  # noqa: E731
    found = fw.recurrence(step, fw.u64(0xCBF29CE484222325), row)[0]
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        found = (found ^ (found >> 33)) * fw.u64(factor)
    return found ^ (found >> 33)
