"""Rows of UTF-8 bytes: their code points, and where a pattern is in them."""

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


# -- searching ------------------------------------------------------------------------------------
#
# Where a pattern is in rows of bytes.

AT_ONCE = 8
"""Bytes of a pattern that are compared wherever it may begin; the others only after a match."""


def _overlaps_itself(pattern: Any) -> bool:
    """Whether two matches can overlap: whether a start of the pattern is its end, too."""
    text = pattern.tobytes()
    return any(text.startswith(text[k:]) for k in range(1, len(text)))


def _few(pattern: Any) -> int:
    """How many bytes of a pattern are compared at once. Each number compiles one program."""
    return min(len(pattern), AT_ONCE)


def find(rows: Any, pattern: Any) -> Any:
    """The code point of the first match in each row, or -1."""
    if not len(pattern):
        return fw.full(_count(rows), 0)
    return _find(rows, pattern, _few(pattern))


def count(rows: Any, pattern: Any) -> Any:
    """How many matches each row has."""
    if not len(pattern):
        return lengths(rows) + 1
    return _counted(rows, pattern, _few(pattern), _overlaps_itself(pattern))


def contains(rows: Any, pattern: Any) -> Any:
    """Whether each row has a match."""
    if not len(pattern):
        return fw.full(_count(rows), True)
    return _contained(rows, pattern, _few(pattern))


def split(rows: Any, separator: Any) -> tuple[Any, Any]:
    """The parts of each row, as rows of bytes, and where the parts of each row begin."""
    found: tuple[Any, Any] = _split(
        rows, separator, _few(separator), _overlaps_itself(separator)
    )
    return found


def _count(rows: Any) -> Any:
    return rows.lengths.shape if isinstance(rows, fw.Ragged) else ()


def as_rows(rows: Any) -> tuple[Any, Any]:
    """Rows, and where what they give is read: one string of a map is one row."""
    if isinstance(rows, fw.Ragged):
        return rows, lambda found: found
    whole = fw.concat([fw.full(1, 0), fw.full(1, rows.shape[0])])
    return fw.ragged(rows, offsets=whole, check=False), lambda found: found[0]


def pattern_begins(values: Any, pattern: Any, few: int) -> Any:
    """Where among all bytes the first bytes of a pattern are."""
    holds = values == pattern[0]
    for j in range(1, few):
        holds = holds & (fw.shift(values, j, 0) == pattern[j])
    return holds


def is_at(values: Any, pattern: Any, position: Any, start: int) -> Any:
    """Whether the bytes of a pattern from `start` on are at a position."""
    size = pattern.shape[0]

    def agrees(j: Any) -> Any:
        byte, wanted = fw.gather(values, position + j, default=0), fw.gather(pattern, j, default=0)
        return (j < size) & (byte == wanted)

    return fw.while_loop(agrees, lambda j: j + 1, fw.i64(start)) == size


def _matches(rows: Any, pattern: Any, few: int) -> tuple[Any, Any]:
    """The positions at which a pattern begins, and how many begin before the end of each row.

    A match may go beyond the end of its row.
    """
    flags = pattern_begins(rows.values, pattern, few)
    if few == AT_ONCE:
        here = fw.filter(lambda p: is_at(rows.values, pattern, p, few), fw.flatnonzero(flags))
        flags = fw.scatter(fw.full(flags.shape, False), here, fw.full(here.shape, True))
    inside = fw.sum(fw.ragged(flags, offsets=rows.offsets, check=False), axis=1)
    return fw.flatnonzero(flags), fw.cumsum(inside)


def _first(rows: Any, pattern: Any, few: int) -> tuple[Any, Any]:
    """The position of the first match that begins in each row, and whether it ends there, too."""
    positions, ends = _matches(rows, pattern, few)
    stops, size = rows.offsets[1:], pattern.shape[0]

    def first(i: Any) -> Any:
        before = fw.gather(ends, i - 1, default=0)
        place = fw.gather(positions, before, default=0)
        return place, (ends[i] > before) & (place + size <= stops[i])

    found = fw.map(first, fw.iota(stops.shape[0]))
    return found[0], found[1]


@fw.operation(static="few")
def _find(rows: Any, pattern: Any, few: int) -> Any:
    rows, read = as_rows(rows)
    place, holds = _first(rows, fw.asarray(pattern), few)
    starts = rows.offsets[:-1]
    in_bytes = lambda: fw.where(holds, place - starts, -1)  # noqa: E731

    def in_points() -> Any:
        ends = fw.where(holds, place, starts)
        before = fw.map(lambda s, e: count_of(rows.values[s:e]), starts, ends)
        return fw.where(holds, before, -1)

    return read(fw.cond(is_ascii(rows.values), in_bytes, in_points))


@fw.operation(static="few")
def _contained(rows: Any, pattern: Any, few: int) -> Any:
    rows, read = as_rows(rows)
    return read(_first(rows, fw.asarray(pattern), few)[1])


@fw.operation(static="few overlaps")
def _counted(rows: Any, pattern: Any, few: int, overlaps: bool) -> Any:
    rows, read = as_rows(rows)
    return read(_kept(rows, fw.asarray(pattern), few, overlaps)[1])


def _kept(rows: Any, pattern: Any, few: int, overlaps: bool) -> tuple[Any, Any]:
    """The positions of matches inside their rows that do not overlap, and how many each row has."""
    positions, ends = _matches(rows, pattern, few)
    begins = fw.concat([fw.full(1, 0), ends])
    stops, size = rows.offsets[1:], pattern.shape[0]
    if few == 1:
        return positions, ends - begins[:-1]
    if not overlaps:
        last = fw.map(lambda e: fw.gather(positions, e - 1, default=0), ends)
        crosses = (ends > begins[:-1]) & (last + size > stops)
        flags = fw.scatter(
            fw.full(positions.shape, True), fw.where(crosses, ends - 1, -1),
            fw.full(ends.shape, False),
        )  # fmt: skip
        return positions[flags], ends - begins[:-1] - crosses

    def taken(carry: Any, element: Any) -> Any:
        free, (p, stop) = carry, element
        takes = (p >= free) & (p + size <= stop)
        return fw.where(takes, p + size, free), takes

    limits = fw.expand(lambda e: e[0], lambda e, k: e[1], (ends - begins[:-1], stops))
    pairs = fw.ragged((positions, limits), offsets=begins, check=False)
    flags = fw.recurrence(taken, fw.i64(0), pairs)[1]
    return positions[flags.values], fw.sum(flags, axis=1)


@fw.operation(static="is_start")
def at_end(rows: Any, pattern: Any, is_start: bool) -> Any:
    """Whether each row begins, or ends, with a pattern."""
    rows, read = as_rows(rows)
    pattern = fw.asarray(pattern)
    size = pattern.shape[0]

    def holds(start: Any, stop: Any) -> Any:
        position = start if is_start else stop - size
        return (stop - start >= size) & is_at(rows.values, pattern, position, 0)

    return read(fw.map(holds, rows.offsets[:-1], rows.offsets[1:]))


@fw.operation(static="few overlaps")
def _split(rows: Any, separator: Any, few: int, overlaps: bool) -> tuple[Any, Any]:
    rows, separator = as_rows(rows)[0], fw.asarray(separator)
    size = separator.shape[0]
    places, counts = _kept(rows, separator, few, overlaps)
    total = fw.cumsum(counts)
    parts = fw.concat([fw.full(1, 0), total + fw.iota(total.shape[0]) + 1])

    def end(row: Any, k: Any) -> Any:
        """Where a part ends, of the bytes that are not separators."""
        count, before, stop = row
        place = fw.where(k < count, fw.gather(places, before + k, default=0), stop)
        return place - (before + k) * size

    ends = fw.expand(lambda e: e[0] + 1, end, (counts, total - counts, rows.offsets[1:]))
    values = rows.values
    if few == 1:
        kept = values[values != separator[0]]
    else:
        spread = fw.expand(lambda p: size, lambda p, k: p + k, places)
        kept = values[fw.scatter(fw.full(values.shape, True), spread, False)]
    offsets = fw.concat([fw.full(1, 0), ends])
    return fw.ragged(kept, offsets=offsets, check=False), parts
