"""What functions of fw do with Strings, and the numbers by which strings are ordered."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import flatweave as fw
from flatweave.strings.searching import as_rows
from flatweave.strings.strings import RULES, Strings, made, rows_of

# -- functions ------------------------------------------------------------------------------------
#
# What functions of fw do with Strings.
#
#     comparisons     byte by byte, with Strings or a str
#     moves           the function of the indices, then the strings at them; of rows of strings, too
#     orders          the function of numbers that are ordered as the strings are
#     sets            the same, and numbers become strings again


MOVES = (
    "combinations", "concat_rows", "cut", "firsts", "flip", "gather", "getitem", "mask",
    "pad_none", "repeat", "reverse", "roll", "rotate", "row", "shift", "singletons", "take", "tile",
)  # fmt: skip
OF_OFFSETS = ("flatten", "local_index", "num", "row_flags", "row_lengths", "store")
"""Functions of rows that look at no element."""
ORDERS = ("argmax", "argmin", "argsort", "changed", "n_unique", "rank")


def strings_of(x: Any) -> Any:
    """An operand as Strings."""
    if isinstance(x, fw.Array):
        raise fw.DTypeError.here(
            "numbers meet Strings.",
            "Use fw.strings_of(numbers) for their text, or s.to_numbers(fw.f64) for numbers.",
        )
    return x if isinstance(x, Strings) else Strings([x] if isinstance(x, str) else x)


def compared(function: Callable[..., Any], x: Any, y: Any) -> Any:
    """One of the six comparisons."""
    if not _holds_strings(x):
        return compared(MIRRORED[function.__name__], y, x)
    if not isinstance(x, Strings):
        raise unsupported(function)
    other = strings_of(y)
    is_one = isinstance(y, str) or not other.ndim
    (a, read), (b, _) = as_rows(x.bytes), as_rows(other.bytes)
    return read(function(compared_rows(a, b, is_one), 0))


def _holds_strings(x: Any) -> bool:
    return isinstance(x.values if isinstance(x, fw.Ragged) else x, Strings)


def refused(function: Callable[..., Any]) -> Any:
    """Raise what `unsupported` says."""
    raise unsupported(function)


def unsupported(function: Callable[..., Any]) -> fw.UserError:
    """What to say of a function that has no meaning here."""
    return fw.Unsupported.here(
        f"{function.__name__} of rows of strings is not there.",
        "Work on rows.values, which are Strings, and on rows.offsets.",
    )


def added(function: Callable[..., Any], x: Any, y: Any) -> Any:
    """`+`, which Python has for text."""
    if not all(isinstance(operand, Strings | str) for operand in (x, y)):
        return NotImplemented
    raise fw.Unsupported.here(
        "+ does not join texts.",
        "Join two columns, outside of maps, by their bytes: fw.Strings(fw.concat([s.bytes,"
        " t.bytes], axis=1)); one text for all is t = fw.Strings([text] * len(s)).",
    )


MIRRORED = {
    "equal": fw.equal, "not_equal": fw.not_equal, "less": fw.greater, "greater": fw.less,
    "less_equal": fw.greater_equal, "greater_equal": fw.less_equal,
}  # fmt: skip


def moved(function: Callable[..., Any], strings: Any, *args: Any, **options: Any) -> Any:
    """The strings at the indices that a function moves, of rows of strings, too."""
    if isinstance(strings, fw.Ragged):
        if isinstance(strings.values, fw.Ragged):
            raise unsupported(function)
        places = rows_of(fw.iota(strings.values.shape[0]), strings.offsets)
        return _at(strings.values, function(places, *args, **options))
    if not isinstance(strings, Strings):
        raise unsupported(function)
    if not strings.ndim:
        return NotImplemented
    return _at(strings, function(fw.iota(strings.shape[0]), *args, **options))


def _at(strings: Any, places: Any) -> Any:
    """The strings at indices: an array, rows of them, some of which may be missing, or a tuple."""
    if isinstance(places, tuple):
        return tuple(_at(strings, part) for part in places)
    if isinstance(places, fw.Ragged):
        return rows_of(_at(strings, places.values), places.offsets)
    if isinstance(places, fw.Nullable):
        more = fw.concat([strings, [""]])
        last = fw.where(places.valid, places.values, more.shape[0] - 1)
        return fw.Nullable(_at(more, last), places.valid)
    return made(strings.bytes[places])


def by_rank(function: Callable[..., Any], strings: Strings, *args: Any, **options: Any) -> Any:
    """A function of the order of strings."""
    return function(_ranked(function, strings)[0], *args, **options)


def _ranked(function: Callable[..., Any], strings: Any) -> tuple[Any, Any]:
    """The ranks of strings; raises Unsupported for rows of them."""
    if not isinstance(strings, Strings):
        raise unsupported(function)
    numbers, first = ranked(strings.bytes)
    return numbers, first


def as_ranks(function: Callable[..., Any], strings: Strings, *args: Any, **options: Any) -> Any:
    """A function whose first result is some of the strings."""
    numbers, first = _ranked(function, strings)
    found = function(numbers, *args, **options)
    if not isinstance(found, tuple):
        return made(strings.bytes[first[found]])
    values = made(strings.bytes[first[found[0]]])
    rest = found[1:]
    return type(found)(values, *rest) if hasattr(found, "_fields") else (values, *rest)


def distinct(function: Callable[..., Any], strings: Strings, equal_nan: bool) -> Any:
    """What the functions of different values consist of: each number up to the last one occurs."""
    numbers, first = _ranked(function, strings)
    counts = fw.histogram(first.shape[0], numbers)
    return made(strings.bytes[first]), first, numbers, counts


def extreme(function: Callable[..., Any], strings: Strings) -> Any:
    """The least or the greatest string."""
    where = fw.argmin if function is fw.min else fw.argmax
    return strings[where(_ranked(function, strings)[0])]


def together(*all_of: Any) -> tuple[list[Any], Any]:
    """The numbers of several Strings, and a row of their concatenation for each number."""
    parts = [strings_of(x) for x in all_of]
    numbers, first = ranked(fw.concat([part.bytes for part in parts]))
    found, start = [], 0
    for part in parts:
        found.append(numbers[start : start + part.shape[0]])
        start = start + part.shape[0]
    return found, first


def membership(function: Callable[..., Any], x: Any, values: Any, **options: Any) -> Any:
    """`isin` and `searchsorted`."""
    return function(*together(x, values)[0], **options)


def matches(function: Callable[..., Any], left: Strings, right: Strings, kept: Any) -> Any:
    """The matches of strings, by words of short ones and hashes of others; by numbers of all where
    strings differ whose hashes are equal."""
    a, b = left.bytes, right.bytes
    keys = digest(a), digest(b)
    first, counts, order = function(*keys, kept)

    def is_sound(i: Any, place: Any, count: Any) -> Any:
        return fw.cond(
            count > 0, lambda: same_row(a, i, b, order[place]), lambda: fw.asarray(True)
        )

    def is_alike(j: Any, before: Any) -> Any:
        return fw.cond(
            keys[1][j] == keys[1][before], lambda: same_row(b, j, b, before),
            lambda: fw.asarray(True),
        )  # fmt: skip

    def are_equal() -> Any:
        of_left = fw.map(is_sound, fw.iota(counts.shape[0]), first, counts)
        return fw.all(of_left) & fw.all(fw.map(is_alike, order[1:], order[:-1]))

    longest = fw.maximum(fw.max(a.lengths, initial=0), fw.max(b.lengths, initial=0))
    return fw.cond(
        fw.cond(longest <= BLOCK, lambda: fw.asarray(True), are_equal),
        lambda: (first, counts, order), lambda: function(*together(left, right)[0], kept),
    )


def joined(function: Callable[..., Any], arrays: Any) -> Any:
    """`concat`."""
    if not all(isinstance(x, Strings | list) for x in arrays):
        raise unsupported(function)
    return made(function([strings_of(x).bytes for x in arrays]))


def where(function: Callable[..., Any], p: Any, a: Any, b: Any) -> Any:
    """Element by element one of two, which may be a str."""
    one, other = strings_of(a), strings_of(b)
    n = one.shape[0]
    whole = fw.concat([one.bytes, other.bytes])
    places = [
        n * side + (0 if isinstance(x, str) else fw.iota(part.shape[0]))
        for side, (x, part) in enumerate(((a, one), (b, other)))
    ]
    return made(whole[function(p, *places)])


def filtered(function: Callable[..., Any], p: Callable[..., Any], strings: Any) -> Any:
    """`filter` and `partition` of strings by a function of one."""
    if isinstance(strings, tuple):
        return NotImplemented
    if not isinstance(strings, Strings):
        raise unsupported(function)
    holds = fw.map(p, strings)
    if function is fw.filter:
        return strings[holds]
    return strings[holds], strings[fw.logical_not(holds)]


RULES.update(dict.fromkeys(MIRRORED, compared))
RULES.update(dict.fromkeys(MOVES, moved))
RULES.update(dict.fromkeys(ORDERS, by_rank))
RULES.update(dict.fromkeys(("run_lengths", "sort", "value_counts"), as_ranks))
RULES.update(dict.fromkeys(("isin", "searchsorted"), membership))
RULES.update(dict.fromkeys(("min", "max"), extreme))
RULES.update(dict.fromkeys(("filter", "partition"), filtered), _distinct=distinct, add=added,
             concat=joined, matches=matches, where=where, unsupported=refused)  # fmt: skip
RULES.update(dict.fromkeys(OF_OFFSETS, lambda function, *args, **options: NotImplemented))


# -- order ----------------------------------------------------------------------------------------
#
# Numbers of strings that are ordered as the strings are.
#
#     ranked(rows)                 for ["b", "a", "b"]: [1, 0, 1], and a row of each number: [1, 0]
#     compared(a, b)               -1, 0 or 1 for each pair
#
# `ranked` cuts rows into blocks of seven bytes, numbers them, then numbers pairs of numbers until
# each row is one (Karp, Miller and Rosenberg, STOC 1972): with B bytes it numbers B/7 blocks, then
# half as many, and so on, however long the longest row is.


BLOCK = 7


@fw.operation()
def ranked(rows: Any) -> tuple[Any, Any]:
    """The number of each row, ascending as the rows, and a row that has each number."""
    sizes = rows.lengths
    blocks = blocks_of(sizes)
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


def blocks_of(size: Any) -> Any:
    """How many blocks a row of this size has: one at least."""
    return fw.maximum((size + BLOCK - 1) // BLOCK, 1)


@fw.operation()
def digest(rows: Any) -> Any:
    """A number of each row: its block, if it has one, else a hash of all."""
    def one(start: Any, stop: Any) -> Any:
        def add(k: Any, found: Any) -> Any:
            mixed = (found ^ (found >> 32)) * fw.u64(0xFF51AFD7ED558CCD)
            return (mixed ^ (mixed >> 29)) + _word(rows.values, start, stop, k)

        first = _word(rows.values, start, stop, 0)
        return fw.fori_loop(1, blocks_of(stop - start), add, first)

    return fw.map(one, rows.offsets[:-1], rows.offsets[1:])


def same_row(a: Any, i: Any, b: Any, j: Any) -> Any:
    """Whether a row of `a` and one of `b` have the same bytes."""
    start, stop, other, end = a.offsets[i], a.offsets[i + 1], b.offsets[j], b.offsets[j + 1]
    count = blocks_of(stop - start)

    def agrees(k: Any) -> Any:
        return (k < count) & (_word(a.values, start, stop, k) == _word(b.values, other, end, k))

    rest = fw.while_loop(agrees, lambda k: k + 1, fw.i64(0)) < count
    return (stop - start == end - other) & fw.logical_not(rest)


@fw.operation(static="is_one")
def compared_rows(a: Any, b: Any, is_one: bool) -> Any:
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
