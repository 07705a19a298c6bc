"""Key columns: what other libraries have as arrays that sort and compare.

    columns((names, days))     each an array, a Nullable or times; and how to give keys back

NaN is equal to NaN and comes after the numbers, what is missing after NaN.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

import flatweave as fw
from flatweave.tables.nullable import TIMES, Nullable, has_text, is_text


class Categories:
    """Keys of a dictionary-encoded column: `.codes`, an array, and `.categories`, what they mean.
    """

    def __init__(self, codes: Any, categories: Any) -> None:
        self.codes = codes
        self.categories = categories

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, i: Any) -> Any:
        if isinstance(i, int):
            return self.tolist()[i]
        return Categories(self.codes[i], self.categories)

    def tolist(self) -> list[Any]:
        """The categories of the elements, None where one is missing."""
        names = list(self.categories)
        return [None if code is None else names[code] for code in self.codes.tolist()]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.array(self.tolist(), dtype=dtype)

    def __repr__(self) -> str:
        return f"Categories({self.tolist()})"


Restore = Callable[[Any], Any]


def columns(keys: Any) -> tuple[tuple[Any, ...], list[Restore]]:
    """The key columns as arguments of an operation, and what makes keys of its results."""
    parts = keys if isinstance(keys, tuple) else (keys,)
    if not parts:
        raise fw.ArgumentError.here("the tuple of key columns is empty.", "Give one at least.")
    pairs = [column(part) for part in parts]
    return tuple(found for found, _ in pairs), [restore for _, restore in pairs]


def column(key: Any) -> tuple[Any, Restore]:
    """One key column."""
    if isinstance(key, Categories):
        return _coded(key.codes, key.categories)
    is_native = isinstance(key, np.ndarray) and key.dtype.kind not in "OMmUT"
    is_ours = isinstance(key, fw.Array | fw.Chunked | Nullable)
    if is_native or is_ours or hasattr(key, "ticks") or is_text(key):
        return key, _same
    dictionary = _dictionary(key)
    if dictionary is not None:
        return _coded(*dictionary)
    if has_text(key):
        return fw.Strings(key), _same
    found = Nullable(key)
    return (found.values if np.asarray(found.valid).all() else found), _same


def ticks(who: str, *arrays: Any) -> tuple[Any, ...]:
    """Arrays that are compared with each other; times, which must have one unit, as integers."""
    kinds = {str(x.dtype) if hasattr(x, "ticks") else "" for x in arrays}
    if len(kinds) > 1:
        named = " and ".join(kind or "numbers" for kind in sorted(kinds, reverse=True))
        raise fw.DTypeError.here(
            f"{who} got {named}.", "Bring them to one unit first: xs.astype('datetime64[s]')."
        )
    return tuple(map(plain, arrays))


def plain(x: Any) -> Any:
    """The numbers of an array of times; other columns as they are, and lists as arrays."""
    found = x if isinstance(x, Nullable) or is_text(x) else fw.asarray(x)
    return found.ticks if hasattr(found, "ticks") else found


def in_unit_of(times: Any, span: Any, what: str, floor: bool = False) -> Any:
    """A span of time of NumPy, Python or pandas in the unit of times, of which it must be a whole
    number unless `floor`; where times are numbers, anything else as it is."""
    if hasattr(span, "total_seconds"):
        span = span.to_timedelta64() if hasattr(span, "to_timedelta64") else np.timedelta64(span)
    given = getattr(times, "dtype", getattr(times, "type", ""))
    is_span = getattr(getattr(span, "dtype", None), "kind", "") == "m"
    if hasattr(span, "ticks") or not (is_span or str(given).lower().startswith(TIMES)):
        return span
    dtype = getattr(given, "base", None)
    dtype = str(dtype if isinstance(dtype, np.dtype) else column(times)[0].dtype)
    kind, _, unit = dtype[:-1].partition("[")
    if not unit:
        raise fw.DTypeError.here(f"{what} is a span of time, and the keys are numbers.",
                                 "Give a number.")  # fmt: skip
    if not is_span:
        raise fw.DTypeError.here(
            f"{what} is {span!r}, and the times have dtype {dtype}.",
            f'Say what it counts: np.timedelta64({span if type(span) is int else 1}, "{unit}").',
        )
    wanted = dtype.replace("datetime64", "timedelta64")
    if np.can_cast(span.dtype, wanted, "same_kind"):
        found = span.astype(wanted)
        if floor or np.all(found == span):
            return found
    raise fw.DTypeError.here(
        f"{what} is {span}, which is no whole number of the times' unit: they have dtype {dtype}.",
        f'Convert the times: t.astype("{kind}{str(span.dtype)[11:]}").',
    )


def both_sides(left: Any, right: Any, who: str) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """The key columns of two tables; codes of dictionary-encoded ones mean the same on both."""
    ours = left if isinstance(left, tuple) else (left,)
    theirs = right if isinstance(right, tuple) else (right,)
    if len(ours) != len(theirs):
        raise fw.ShapeError.here(
            f"{who} got {len(ours)} key columns on the left and {len(theirs)} on the right.",
            "Give as many on both sides: fw.join((a, b), (c, d)).",
        )
    pairs = [_together(a, b, who) for a, b in zip(ours, theirs, strict=True)]
    return tuple(a for a, _ in pairs), tuple(b for _, b in pairs)


def _together(left: Any, right: Any, who: str) -> tuple[Any, Any]:
    """A key column of each table."""
    first, second = encoded(left), encoded(right)
    if first is None and second is None:
        found = column(left)[0], column(right)[0]
        dtypes = [str(x.dtype) for x in found]
        if dtypes[0] != dtypes[1] and any(dtype.startswith(("str", *TIMES)) for dtype in dtypes):
            raise fw.DTypeError.here(
                f"{who} got keys of {dtypes[0]} on the left and of {dtypes[1]} on the right.",
                "Read the numbers of text first: s.to_numbers()." if "str" in dtypes
                else "Bring them to one unit first: xs.astype('datetime64[s]').",
            )  # fmt: skip
        return found
    first, second = first or _of_text(left), second or _of_text(right)
    if first is None or second is None:
        raise fw.DTypeError.here(
            f"{who} got a dictionary-encoded key column on one side alone.",
            "Encode both columns, or take the numbers that the categories are.",
        )
    names = {name: code for code, name in enumerate(first[1])}
    slot = np.array([names.setdefault(name, len(names)) for name in second[1]] or [0], np.int64)
    codes = second[0]
    if isinstance(codes, Nullable):
        return first[0], Nullable(slot[np.asarray(codes.values)], codes.valid)
    return first[0], slot[np.asarray(codes)]


def encoded(key: Any) -> tuple[Any, Any] | None:
    """The codes and the categories of a dictionary-encoded column."""
    if isinstance(key, Categories):
        return key.codes, key.categories
    if isinstance(key, fw.Array | Nullable) or is_text(key):
        return None
    return _dictionary(key)


def _same(keys: Any) -> Any:
    return keys


def _coded(codes: Any, categories: Any) -> tuple[Any, Restore]:
    return codes, lambda found: Categories(found, categories)


def _dictionary(key: Any) -> tuple[Any, Any] | None:
    """The codes and the categories of a dictionary-encoded column of pandas, polars or Arrow."""
    accessor: Any = getattr(key, "cat", None)
    if hasattr(accessor, "codes") and hasattr(accessor, "categories"):  # a Series of pandas
        return _known(np.asarray(accessor.codes)), accessor.categories
    if hasattr(key, "codes") and hasattr(key, "categories"):  # pandas.Categorical
        return _known(np.asarray(key.codes)), key.categories
    if hasattr(key, "combine_chunks") and hasattr(key.type, "index_type"):
        key = key.combine_chunks()
        key = key.chunk(0) if hasattr(key, "num_chunks") else key
    if hasattr(key, "indices") and hasattr(key, "dictionary"):  # pyarrow.DictionaryArray
        codes, missing = fw.asarray(key.indices, nulls="mask")
        found = _known(np.where(np.asarray(missing), -1, np.asarray(codes)))
        return found, key.dictionary.to_pylist()
    kind = str(getattr(key, "dtype", "")).partition("(")[0]
    return _of_polars(key, kind) if kind in ("Enum", "Categorical") else None


def _of_text(key: Any) -> tuple[Any, Any] | None:
    """The codes and the texts of a column of text, texts in their order; None for another one."""
    return coded(fw.Strings(key)) if has_text(key) else None


def coded(key: Any) -> tuple[Any, Any]:
    """Strings as numbers in their order, and the text of each; None for columns of numbers."""
    if isinstance(key, Nullable):
        codes, texts = coded(key.values)
        return (key, None) if texts is None else (Nullable(codes, key.valid), texts)
    if not is_text(key):
        return key, None
    texts, codes = fw.unique_inverse(key)
    return codes, texts


def decoded(codes: Any, texts: Any) -> Any:
    """Strings again, whatever the number of one that is missing."""
    if texts is None:
        return codes
    if not isinstance(codes, Nullable):
        return texts[codes]
    known = fw.where(codes.valid, codes.values, texts.shape[0])
    return Nullable(fw.concat([texts, [""]])[known], codes.valid)


def _of_polars(key: Any, kind: str) -> tuple[Any, Any]:
    """The codes of a Series: those of an Enum in its order, others by their text."""
    known = key.drop_nulls().unique()
    pairs = list(zip(known.to_list(), known.to_physical().to_list(), strict=True))
    pairs.sort(key=lambda pair: pair[kind == "Enum"])
    slot = np.zeros(1 + max((code for _, code in pairs), default=0), np.int64)
    for number, (_, code) in enumerate(pairs):
        slot[code] = number
    codes, missing = (np.asarray(part) for part in fw.asarray(key.to_physical(), nulls="mask"))
    return _known(np.where(missing, -1, slot[np.where(missing, 0, codes)])), [t for t, _ in pairs]


def _known(codes: Any) -> Any:
    """Codes, of which those below 0 are missing."""
    codes = np.ascontiguousarray(codes)
    if not len(codes) or codes.min() >= 0:
        return codes
    return Nullable(np.maximum(codes, 0), codes >= 0)


def parts_of(key: Any) -> list[Any]:
    """The arrays that a key column is ordered by."""
    if isinstance(key, Nullable):
        values = parts_of(key.values)
        blank = [fw.where(key.valid, part, fw.zeros_like(part)) for part in values]
        return [fw.logical_not(key.valid), *blank]
    array = plain(key)
    if array.ndim != 1:
        raise fw.ShapeError.here(
            f"a key column must have one axis, got an array of {array.ndim}.",
            "Give several columns as a tuple, (a, b), those of a matrix as (x[:, 0], x[:, 1]).",
        )
    return [array]


def restored(key: Any, parts: list[Any]) -> Any:
    """A key column again, of the arrays that it is ordered by."""
    if isinstance(key, Nullable):
        missing = parts.pop(0)
        return Nullable(restored(key.values, parts), fw.logical_not(missing))
    return key.like(parts.pop(0)) if hasattr(key, "ticks") else parts.pop(0)


def lost(key: Any) -> Any:
    """Where a key is missing or NaN."""
    if isinstance(key, Nullable):
        return fw.logical_not(key.valid) | lost(key.values)
    array = plain(key)
    return array != array


def is_missing(keys: tuple[Any, ...]) -> Any:
    """Where a key of any column is missing; None where no column has missing keys."""
    gone = [fw.logical_not(key.valid) for key in keys if isinstance(key, Nullable)]
    return functools.reduce(fw.logical_or, gone) if gone else None


def one_length(arrays: list[Any], who: str, what: str = "keys and values") -> None:
    """Stop the program unless arrays have one length."""
    if not all(array.shape for array in arrays):
        raise fw.ShapeError.here(
            f"{who} needs arrays for its {what}, got a single number.",
            "Give an array, or a list of numbers.",
        )
    first = arrays[0].shape[0]
    for other in arrays[1:]:
        fw.check(
            fw.asarray(first == other.shape[0]),
            f"{who} needs {what} of one length, got {{0}} and {{1}}.", first, other.shape[0],
            error=fw.ShapeError, remedy="Give one element of each for every row of the table.",
        )  # fmt: skip


def far(key: Any, least: Any) -> Any:
    """How far a key is from one that is not greater: of integers as u64, which holds all of it."""
    if fw.isdtype(key.dtype, "real floating"):
        return key - least
    return key.astype(fw.u64) - least.astype(fw.u64)


def whole(number: Any, what: str) -> Any:
    """A number of elements, which must be an integer."""
    found = fw.asarray(number)
    if not fw.isdtype(found.dtype, "integral"):
        raise fw.DTypeError.here(f"{what} must be an integer, got {found.dtype}.", "Round it.")
    return found


def ascend(keys: Any, what: str, order: Any = None, begins: Any = None) -> None:
    """Stop the program where keys descend, or are NaN: those of each group, if `order` has the keys
    group by group, and `begins` says where a group begins."""
    held = keys if order is None else keys[order]
    begins = fw.iota(held.shape[0]) == 0 if begins is None else begins
    good = fw.map(
        lambda first, before, key: fw.where(first, key == key, before <= key),
        begins, fw.shift(held, -1), held,
    )  # fmt: skip
    fw.check(
        good if order is None else fw.scatter(good, order, good),
        f"the {what} must ascend, but element {{0}} is less than the one before it, or NaN.",
        remedy="Sort by them first: order = fw.argsort(keys).",
    )  # fmt: skip


EVEN = 8
"""Steps of a search that all elements take alike, so that loads of the next ones begin early."""


def first_not(holds: Callable[[Any], Any], low: Any, high: Any, most: Any = None) -> Any:
    """The first position from `low` to `high` for which `holds`, true and then false, is false.

    With `most`, which no range is longer than, searches take as many steps as the longest one, up
    to EVEN of them, before each goes on as it needs; `holds` is then also asked at `high`.
    """
    def halve(low: Any, high: Any) -> Any:
        middle = (low + high) // 2
        before = (low < high) & holds(middle)
        return fw.where(before, middle + 1, low), fw.where(before, high, middle)

    state = low, high
    if most is not None:
        steps = fw.minimum(64 - fw.clz(most), EVEN)
        state = fw.fori_loop(0, steps, lambda step, known: halve(*known), state)
    return fw.while_loop(lambda known: known[0] < known[1], lambda known: halve(*known), state)[0]
