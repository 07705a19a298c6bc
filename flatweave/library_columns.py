"""Columns of other libraries' tables as values of ours, and what `x.fw` offers for them.

    taken(polars.Series([1, None]))           Nullable([1, None])
    taken(pandas.Series(["a", "b"]))          Strings(["a", "b"])
    taken(pyarrow.array([["a"], None]))       a Nullable of rows of Strings
    TableAccessor(df).group_by("k", total=("v", "sum"))     a table of keys and totals

Numbers, texts, times, rows and structs may each be missing, and become a Nullable on their level.

The modules `flatweave.pandas`, `flatweave.polars`, `flatweave.duckdb` and `flatweave.awkward` are
written on this and on public names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias

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
from flatweave.frontend.ragged.to_columns import TICKS
from flatweave.frontend.values.arrow_columns import (
    FIXED,
    POLARS,
    NoNumbers,
    column_behind,
    either,
    is_arrow,
    library_of,
    missing_in,
    numbers_in,
)
from flatweave.frontend.values.arrow_interface import NUMBERS, Chunk, chunks_of
from flatweave.frontend.values.asarray import values_of
from flatweave.frontend.values.datetimes import is_times, times_of
from flatweave.frontend.values.exchange import Values
from flatweave.tables.keys import Categories, encoded

Function: TypeAlias = str | Callable[..., Any]
Aggregation: TypeAlias = tuple[str | Sequence[str], Function]
"""The column, or the columns, that a function aggregates, and the function."""


NAME = "the column"


@contextmanager
def installed(who: str) -> Iterator[None]:
    """Inside, a module that needs libraries imports them: the error says which one is missing."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"{who} needs {error.name}, which is not installed: pip install {error.name}.",
            name=error.name,
        ) from None


def taken(column: Any, name: str = NAME) -> Any:
    """An array of the numbers of a column, Strings of its texts, Times, a Ragged of its lists, a
    dict of the fields of its structs, in a Nullable where some are missing. Memory is shared where
    `fw.asarray` shares it. `name` is what messages call it."""
    refusals = list[fw.UserError]()
    is_pandas = hasattr(column, "isna")
    arrow = column_behind(column) if is_pandas else column if is_arrow(column) else None
    readers = (of_arrow,) if arrow is not None else (fw.Strings, fw.Nullable, fw.ragged)
    for take in (fw.asarray, *readers):
        try:
            if take is of_arrow:
                return of_arrow(arrow, name)
            found = take(column)
        except fw.UserError as refused:
            refusals.append(refused)
        else:
            is_time = isinstance(found, fw.Nullable) and is_times(found.values)
            return of_times(found.values, ~found.valid.to_numpy()) if is_time else found
    if arrow is None:
        values_of(column, name)  # raises what fw.asarray did, with the name
    raise refusals[-1 if arrow is not None else 0]


UNITS = {letter: unit for unit, letter in TICKS.items()}
POINTS, SPANS, DAYS, DATES = "ts", "tD", "tdD", "tdm"
UTF8 = ("u", "U", "vu")
BYTES = "w:"
MAP = "+m"


def of_arrow(column: Any, name: str = NAME) -> Any:
    """The elements of a column of any library of Arrow; several chunks are copied together.

    Raises DTypeError for elements that no value of ours stands for: decimals, times of day,
    intervals, unions, Python objects, other extension types.
    """
    try:
        chunks = list(chunks_of(column))
        if library_of(column) == POLARS and chunks[0].format.startswith(BYTES):
            raise NoNumbers(chunks[0], name)  # polars has such bytes for pointers to objects alone
        parts = [_value(chunk, 0, chunk.length) for chunk in chunks]
    except NoNumbers as failure:
        failure.name = name
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
        values, holes = numbers_in(chunk, start, count, NAME, above)
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
        unused = either(missing, above)
        unused = None if unused is None else np.repeat(unused, size)
        inner = _value(chunk.children[0], first * size, count * size, unused)
        return _rows(inner, np.full(count, size))
    if form in LISTS or form == MAP or form.startswith("+v"):
        return _lists(chunk, first, count, either(missing, above))
    return _times(chunk, first, count, missing)


def _lists(chunk: Chunk, first: int, count: int, unused: Values | None) -> Any:
    """Rows of values of any kind; a row that is unused is empty."""
    begins, lengths = row_places(chunk, first, count, unused)
    (child,) = chunk.children
    if chunk.format.startswith("+v") or unused is not None:
        places = _places(begins, lengths)
        others = np.ones(child.length, np.bool_)
        others[places] = False
        inner = _picked(_value(child, 0, child.length, others), places)
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


class Accessor:
    """What `x.fw` offers for a column or a table `x` of another library; `apply(f, *columns)` calls
    `f` with whole columns."""

    apply: Callable[..., Any]

    def __init__(self, of: Any) -> None:
        self._of = of

    def map(self, f: Callable[..., Any], *columns: Any, **options: Any) -> Any:
        """`fw.map(f, *columns)`, with the arguments and results of `apply`."""
        return self.apply(lambda *arrays: fw.map(f, *arrays), *columns, **options)


class TableAccessor(Accessor):
    """`df.fw`: subclasses say how a value of ours becomes a column, and how a dict of values, and
    perhaps one of keys, a table."""

    _column: Callable[[Any], Any]
    _table: Callable[..., Any]

    def __getitem__(self, name: str) -> Any:
        return taken(self._of[name], f"column {name!r}")

    def arrays(self, *names: str) -> dict[str, Any]:
        """The columns of these names, or all of them, as values of Flatweave."""
        return {name: self[name] for name in names or self._of.columns}

    def apply(self, f: Callable[..., Any], *names: str) -> Any:
        """`f` of whole columns: a Series, or a DataFrame where `f` gives a dict of columns."""
        found = f(*self.arrays(*names).values())
        return self._table(found) if isinstance(found, Mapping) else self._column(found)

    def group_by(self, by: str | Sequence[str], **functions: Aggregation) -> Any:
        """A DataFrame with a row for each group, in the order of the keys, which are the index in
        pandas and columns in polars. Categories are in their own order, not in that of text.

        `name=(column, f)`: `f` gets a row of the column's values, or of those of a tuple of
        columns, or is a name that `Groups.agg` knows. Missing keys are a group, too.
        """
        names = [by] if isinstance(by, str) else list(by)
        keys = tuple(map(self._key, names))
        together: dict[tuple[str, ...], dict[str, Function]] = {}
        for name, given in functions.items():
            if not isinstance(given, tuple) or len(given) != 2:
                raise fw.ArgumentError.here(
                    f"group_by got {given!r} for {name}.",
                    'Give a column and a function: total=("price", "sum").',
                )
            of = (given[0],) if isinstance(given[0], str) else tuple(given[0])
            together.setdefault(of, {})[name] = given[1]
        groups, found = fw.group_by(keys), dict[str, Any]()
        for of, each in together.items():
            found |= fw.group_by(keys, *map(self.__getitem__, of)).agg(**each)
        columns = {name: found[name] for name in functions}
        named = zip(names, groups.keys, strict=True)
        return self._table(columns, {name: self._of_key(name, key) for name, key in named})

    def _key(self, name: str) -> Any:
        """A column to group by; categories keep their order."""
        column = self._of[name]
        return self[name] if encoded(column) is None else column

    def _of_key(self, name: str, key: Any) -> Any:
        """The keys of groups, categories as the library has them."""
        column = self._of[name]
        if not isinstance(key, Categories):
            return key
        return type(column)(key.tolist(), dtype=column.dtype)
