"""What functions of fw do with Strings.

    comparisons     byte by byte, with Strings or a str
    moves           the function of the indices, then the strings at them; of rows of strings, too
    orders          the function of numbers that are ordered as the strings are
    sets            the same, and numbers become strings again
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import flatweave as fw
from flatweave.strings import order
from flatweave.strings.searching import as_rows
from flatweave.strings.strings import RULES, Strings, made, rows_of

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
    return read(function(order.compared(a, b, is_one), 0))


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
    if not isinstance(strings, Strings):
        raise unsupported(function)
    return function(order.ranked(strings.bytes)[0], *args, **options)


def as_ranks(function: Callable[..., Any], strings: Strings, *args: Any, **options: Any) -> Any:
    """A function whose first result is some of the strings."""
    if not isinstance(strings, Strings):
        raise unsupported(function)
    numbers, first = order.ranked(strings.bytes)
    found = function(numbers, *args, **options)
    if not isinstance(found, tuple):
        return made(strings.bytes[first[found]])
    values = made(strings.bytes[first[found[0]]])
    rest = found[1:]
    return type(found)(values, *rest) if hasattr(found, "_fields") else (values, *rest)


def distinct(function: Callable[..., Any], strings: Strings, equal_nan: bool) -> Any:
    """What the functions of different values consist of: each number up to the last one occurs."""
    if not isinstance(strings, Strings):
        raise unsupported(function)
    numbers, first = order.ranked(strings.bytes)
    counts = fw.histogram(first.shape[0], numbers)
    return made(strings.bytes[first]), first, numbers, counts


def extreme(function: Callable[..., Any], strings: Strings) -> Any:
    """The least or the greatest string."""
    if not isinstance(strings, Strings):
        raise unsupported(function)
    where = fw.argmin if function is fw.min else fw.argmax
    return strings[where(order.ranked(strings.bytes)[0])]


def together(*all_of: Any) -> tuple[list[Any], Any]:
    """The numbers of several Strings, and a row of their concatenation for each number."""
    parts = [strings_of(x) for x in all_of]
    numbers, first = order.ranked(fw.concat([part.bytes for part in parts]))
    found, start = [], 0
    for part in parts:
        found.append(numbers[start : start + part.shape[0]])
        start = start + part.shape[0]
    return found, first


def membership(function: Callable[..., Any], x: Any, values: Any, **options: Any) -> Any:
    """`isin` and `searchsorted`."""
    return function(*together(x, values)[0], **options)


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
             concat=joined, where=where, unsupported=refused)  # fmt: skip
RULES.update(dict.fromkeys(OF_OFFSETS, lambda function, *args, **options: NotImplemented))
