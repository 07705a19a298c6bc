"""Numbers of strings that are ordered as the strings are.

    ranked(rows)                 for ["b", "a", "b"]: [1, 0, 1], and a row of each number: [1, 0]
    compared(a, b)               -1, 0 or 1 for each pair

`ranked` cuts rows into blocks of seven bytes, numbers them, then numbers pairs of
numbers until each row is one (Karp, Miller and Rosenberg, STOC 1972): with B bytes it numbers B/7
blocks, then half as many, and so on, however long the longest row is.
"""

from __future__ import annotations

from typing import Any

import flatweave as fw

BLOCK = 7


@fw.operation()
def ranked(rows: Any) -> tuple[Any, Any]:
    """The number of each row, ascending as the rows, and a row that has each number."""
    sizes = rows.lengths
    blocks = fw.maximum((sizes + BLOCK - 1) // BLOCK, 1)
    starts, stops = rows.offsets[:-1], rows.offsets[1:]
    most = fw.max(blocks, initial=1)
    words = fw.cond(
        most == 1, lambda: fw.map(lambda b, e: _word(rows.values, b, e, 0), starts, stops),
        lambda: fw.expand(
            lambda e: e[0], lambda e, k: _word(rows.values, e[1], e[2], k), (blocks, starts, stops)
        ), same=True,
    )  # fmt: skip

    def halve(state: Any) -> Any:
        most, blocks, words, _ = state
        numbers = fw.group_by(words).index
        starts = fw.cumsum(blocks) - blocks
        total = fw.asarray(numbers.shape[0] + 1).astype(fw.u64)

        def pair(row: Any, k: Any) -> Any:
            count, start = row
            first = numbers[start + 2 * k].astype(fw.u64) + 1
            second = fw.where(
                2 * k + 1 < count, fw.gather(numbers, start + 2 * k + 1, default=0) + 1, 0
            )
            return first * total + second.astype(fw.u64)

        pairs = lambda: fw.expand(lambda e: (e[0] + 1) // 2, pair, (blocks, starts))  # noqa: E731
        words = fw.cond(most > 1, pairs, lambda: words)
        return fw.where(most > 1, (most + 1) // 2, 0), (blocks + 1) // 2, words, numbers

    _, _, _, numbers = fw.while_loop(
        lambda state: state[0] > 0, halve, (most, blocks, words, fw.zeros(0, fw.i64))
    )
    count = fw.max(numbers, initial=-1) + 1
    n = numbers.shape[0]
    return numbers, fw.reduce_by_index(fw.full(count, n), fw.minimum, n, numbers, fw.iota(n))


def _word(values: Any, start: Any, stop: Any, k: Any) -> Any:
    """A block of a row as a number: its bytes, the first one highest, then how many there are."""
    begin = start + BLOCK * k
    found = fw.u64(0)
    for j in range(BLOCK):
        byte = fw.where(begin + j < stop, fw.gather(values, begin + j, default=0), 0)
        found = (found << 8) | byte.astype(fw.u64)
    return (found << 8) | fw.clip(stop - begin, 0, BLOCK).astype(fw.u64)


@fw.operation(static="is_one")
def compared(a: Any, b: Any, is_one: bool) -> Any:
    """-1, 0 or 1 where a row of `a` is less than, equal to or greater than one of `b`, which may
    have one for all."""
    n = a.lengths.shape[0]
    if not is_one:
        fw.check(
            n == b.lengths.shape[0], "{0} strings are compared with {1}.", n, b.lengths.shape[0],
            error=fw.ShapeError, remedy="Compare as many, or with one str.",
        )  # fmt: skip

    def three_way(i: Any) -> Any:
        j = 0 if is_one else i
        ends = a.offsets[i], a.offsets[i + 1], b.offsets[j], b.offsets[j + 1]

        def words(k: Any) -> tuple[Any, Any, Any]:
            start, stop, other, end = ends
            return k, _word(a.values, start, stop, k), _word(b.values, other, end, k)

        last = fw.maximum(ends[1] - ends[0], ends[3] - ends[2]) // BLOCK
        agree = lambda state: (state[1] == state[2]) & (state[0] < last)  # noqa: E731
        _, x, y = fw.while_loop(agree, lambda state: words(state[0] + 1), words(fw.i64(0)))
        return fw.where(x < y, -1, (x > y).astype(fw.i64))

    return fw.map(three_way, fw.iota(n))
