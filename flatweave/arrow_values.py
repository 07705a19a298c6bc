"""Columns of Arrow as values of ours, whatever they hold.

    of_arrow(pyarrow.array([1, None]))              Nullable([1, None])
    of_arrow(pyarrow.array([["a"], None]))          a Nullable of rows of Strings
    of_arrow(pyarrow.array([{"x": 1, "y": "a"}]))   {"x": Array([1]), "y": Strings(["a"])}

Numbers, texts, times, rows and structs may each be missing: a Nullable is at the level at which
Arrow has its nulls. Each value exports itself by `__arrow_c_array__`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import flatweave as fw
from flatweave.frontend.ragged.exchange import (
    LISTS,
    TEXT,
    TEXT_VIEWS,
    must_be_inside,
    row_places,
    text_rows,
)
from flatweave.frontend.values.arrow_columns import FIXED, NoNumbers, either, missing_in, numbers_in
from flatweave.frontend.values.arrow_interface import NUMBERS, TICKS, Chunk, chunks_of
from flatweave.frontend.values.datetimes import times_of
from flatweave.frontend.values.exchange import Values

NAME = "the column"
UNITS = {letter: unit for unit, letter in TICKS.items()}
POINTS, SPANS, DAYS, DATES = "ts", "tD", "tdD", "tdm"
UTF8 = ("u", "U", "vu")
BYTES = "w:"
MAP = "+m"


def of_arrow(column: Any) -> Any:
    """The elements of a column of any library of Arrow; several chunks are copied together.

    Raises DTypeError for elements that no value of ours stands for: decimals, times of day,
    intervals, unions, other extension types.
    """
    try:
        parts = [_value(chunk, 0, chunk.length) for chunk in chunks_of(column)]
    except NoNumbers as failure:
        raise failure.user_error_of(column) from None
    return parts[0] if len(parts) == 1 else joined(parts)


def of_times(times: Values, missing: Values) -> Any:
    """Times of NumPy as Times, in a Nullable where some are missing."""
    found = times_of(np.where(missing, np.zeros(1, times.dtype), times) if missing.any() else times)
    return _nullable(found, missing if missing.any() else None)


def joined(parts: list[Any]) -> Any:
    """The concatenation of values of one kind; a Nullable if one of them is."""
    if any(isinstance(part, fw.Nullable) for part in parts):
        pairs = [part if isinstance(part, fw.Nullable) else _all_there(part) for part in parts]
        valid = fw.concat([part.valid for part in pairs])
        return fw.Nullable(joined([part.values for part in pairs]), valid)
    first = parts[0]
    if isinstance(first, dict):
        return {name: joined([part[name] for part in parts]) for name in first}
    if hasattr(first, "ticks"):
        return first.like(fw.concat([part.ticks for part in parts]))
    if isinstance(first, fw.Ragged):
        lengths = fw.concat([part.lengths for part in parts])
        return _rows(joined([part.values for part in parts]), lengths.to_numpy())
    if isinstance(first, fw.Strings):
        return fw.Strings(joined([part.bytes for part in parts]))
    return fw.concat(parts)


def _all_there(value: Any) -> Any:
    """A Nullable of which no element is missing."""
    if isinstance(value, fw.Array):
        return fw.Nullable(value, fw.ones(value.shape, dtype=fw.bool_))
    return fw.Nullable(value, np.ones(_count(value), np.bool_))


def _count(value: Any) -> int:
    return _count(next(iter(value.values()))) if isinstance(value, dict) else len(value)


def _nullable(value: Any, missing: Values | None) -> Any:
    """A value of which these elements are missing in addition to those that are already."""
    if missing is None:
        return value
    if isinstance(value, fw.Nullable):
        return fw.Nullable(value.values, value.valid & ~missing)
    return fw.Nullable(value, ~missing)


def _picked(value: Any, indices: Values) -> Any:
    """The elements at some indices."""
    if isinstance(value, dict):
        return {name: _picked(part, indices) for name, part in value.items()}
    if isinstance(value, fw.Nullable):
        return fw.Nullable(_picked(value.values, indices), value.valid[fw.asarray(indices)])
    if isinstance(value, fw.Ragged):
        offsets = value.offsets.to_numpy()
        lengths = np.diff(offsets)[indices]
        return _rows(_picked(value.values, _places(offsets[indices], lengths)), lengths)
    return value[fw.asarray(indices)]


def _places(begins: Values, lengths: Values) -> Values:
    """The indices of the elements of rows that begin anywhere."""
    ends = np.cumsum(lengths, dtype=np.int64)
    return np.repeat(begins - (ends - lengths), lengths) + np.arange(lengths.sum(dtype=np.int64))


def _rows(values: Any, lengths: Values) -> Any:
    """Values cut into rows that are known to fit."""
    offsets = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
    return fw.ragged(values, offsets=fw.asarray(offsets), check=False)


def _value(chunk: Chunk, start: int, count: int, above: Values | None = None) -> Any:
    """`count` elements of a chunk from `start`; those of structs that are missing, as `above` says,
    may be anything."""
    must_be_inside(chunk, start, count)
    missing = missing_in(chunk, start, count)
    if chunk.dictionary is not None and not chunk.extension:
        unused = either(missing, above)
        codes = chunk.buffer(1, NUMBERS[chunk.format], chunk.offset + start, count)
        return _nullable(_decoded(chunk.dictionary, codes.astype(np.int64), unused), missing)
    try:
        values, holes = numbers_in(chunk, start, count, NAME)
    except NoNumbers:
        return _nullable(_no_numbers(chunk, start, count, missing, above), missing)
    return _nullable(fw.asarray(values), holes)


def _decoded(dictionary: Chunk, codes: Values, unused: Values | None) -> Any:
    """What codes stand for, but for those that are unused."""
    meant = _value(dictionary, 0, dictionary.length)
    if unused is not None:
        codes = np.where(unused, 0, codes)
        if not dictionary.length:
            is_text = isinstance(meant, fw.Strings)
            meant = fw.Strings([""]) if is_text else fw.zeros(1, dtype=meant.dtype)
    return _picked(meant, codes)


def _no_numbers(
    chunk: Chunk, start: int, count: int, missing: Values | None, above: Values | None
) -> Any:
    """The same of elements that are no numbers, with anything for those that are missing."""
    form, first = chunk.format, chunk.offset + start
    if chunk.extension:
        raise NoNumbers(chunk, NAME)
    if form == "+r":
        ends, _ = numbers_in(chunk.children[0], 0, chunk.children[0].length, NAME)
        within = np.clip(ends.astype(np.int64) - first, 0, count)
        runs = np.repeat(np.arange(len(ends)), np.diff(within, prepend=0))
        return _picked(_value(chunk.children[1], 0, chunk.children[1].length), runs)
    if form in TEXT or form in TEXT_VIEWS:
        rows = text_rows(chunk, first, count, missing)
        return fw.Strings(rows) if form in UTF8 else rows
    if form.startswith(BYTES):
        size = int(form.removeprefix(BYTES))
        letters = chunk.buffer(1, np.uint8, first * size, count * size)
        return _rows(fw.asarray(letters), np.full(count, size))
    if form == "+s":
        unused = either(missing, above)
        return {child.name: _value(child, first, count, unused) for child in chunk.children}
    if form.startswith(FIXED):
        size = int(form.removeprefix(FIXED))
        unused = None if missing is None else np.repeat(missing, size)
        inner = _value(chunk.children[0], first * size, count * size, unused)
        return _rows(inner, np.full(count, size))
    if form in LISTS or form == MAP or form.startswith("+v"):
        return _lists(chunk, first, count, missing)
    return _times(chunk, first, count, missing)


def _lists(chunk: Chunk, first: int, count: int, missing: Values | None) -> Any:
    """Rows of values of any kind; a row that is missing is empty."""
    begins, lengths = row_places(chunk, first, count, missing)
    (child,) = chunk.children
    if chunk.format.startswith("+v") or missing is not None:
        inner = _picked(_value(child, 0, child.length), _places(begins, lengths))
    else:
        begin = int(begins[0]) if count else 0
        inner = _value(child, begin, int(lengths.sum()))
    return _rows(inner, lengths)


def _times(chunk: Chunk, first: int, count: int, missing: Values | None) -> Any:
    """Times of the unit that the column has; those of a zone are UTC."""
    form = chunk.format
    if form == DAYS:
        ticks, dtype = chunk.buffer(1, np.int32, first, count).astype(np.int64), "M8[D]"
    elif form == DATES:
        ticks, dtype = chunk.buffer(1, np.int64, first, count), "M8[ms]"
    elif form.startswith((POINTS, SPANS)):
        kind = "M8" if form.startswith(POINTS) else "m8"
        ticks, dtype = chunk.buffer(1, np.int64, first, count), f"{kind}[{UNITS[form[2]]}]"
    else:
        raise NoNumbers(chunk, NAME)
    if missing is not None:
        ticks = np.where(missing, 0, ticks)
    return times_of(ticks.view(dtype))
