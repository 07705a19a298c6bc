"""Where a pattern is in rows of bytes.

    found(rows, pattern)       Ragged of positions among all bytes, each match inside its row
    split(rows, separator)     bytes without separators, the ends of parts, the ends of rows

A pass over all bytes, whatever the rows are, finds the positions at which the pattern begins.
Sums of rows then say which of them each row has. Patterns that can overlap themselves, as "aa",
are counted from the left in each row that has matches.
"""

from __future__ import annotations

from typing import Any

import flatweave as fw
from flatweave.strings import code_points

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
        return code_points.lengths(rows) + 1
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


def begins(values: Any, pattern: Any, few: int) -> Any:
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
    flags = begins(rows.values, pattern, few)
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
        before = fw.map(lambda s, e: code_points.count_of(rows.values[s:e]), starts, ends)
        return fw.where(holds, before, -1)

    return read(fw.cond(code_points.is_ascii(rows.values), in_bytes, in_points))


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
