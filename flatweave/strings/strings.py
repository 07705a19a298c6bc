"""A column of text: UTF-8 bytes and offsets, from and to columns of other libraries."""

from __future__ import annotations

import dataclasses
import operator
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import pairwise
from typing import Any

import numpy as np

import flatweave as fw
from flatweave.strings import searching, to_numbers

# -- strings --------------------------------------------------------------------------------------
#
# A column of text: UTF-8 bytes and where each string begins.

RULES: dict[str, Callable[..., Any]] = {}
"""What functions of fw do with Strings, by name."""


def _left(function: Callable[..., Any]) -> Any:
    return lambda self, other: function(self, other)


def _right(function: Callable[..., Any]) -> Any:
    return lambda self, other: function(other, self)


def rows_of(values: Any, offsets: Any) -> Any:
    """A Ragged of values and offsets that are known to fit."""
    return fw.ragged(values, offsets=offsets, check=False)


@dataclasses.dataclass(frozen=True, init=False, eq=False, repr=False)
class Strings(fw.Overriding):
    """A column of text: UTF-8 bytes and offsets, the layout of Arrow.

    `Strings(x)` takes lists of `str`, NumPy's arrays of text, columns of Arrow, polars and pandas,
    and a Ragged of `u8`. A column of Arrow shares its bytes. With None or null in it, the result is
    a `Nullable` whose values are Strings. `s[i]` is a `str`; slices, masks and arrays of indices
    give Strings. Strings compare with Strings and with a `str`, byte by byte, which is the order of
    code points. Positions and lengths count code points.

    Types: `x: text[n] ->` n strings. Raises ArgumentError for other values and for bytes that are
    no UTF-8, with the row. Source: polars' `Series.str`.

        >>> s = fw.Strings(["one", "zwei", "drei"])
        >>> s.len(), s.find("e"), s[1]
        (Array([3, 4, 4], dtype=int64), Array([2, 2, 2], dtype=int64), 'zwei')
        >>> fw.sort(s), s == "one"
        (Strings(['drei', 'one', 'zwei']), Array([ True, False, False], dtype=bool))
    """

    bytes: Any  # a Ragged of u8; of one string in a map an array of u8

    instead_of_array = (
        "Use s.to_numbers(fw.f64) for numbers that are written there, fw.argsort(s) for the order,"
        " s.bytes for the bytes, or the methods of Strings: docs/how_to/text.md."
    )
    __array_ufunc__ = None  # NumPy leaves `array == strings` to us
    __hash__ = None  # type: ignore[assignment]

    def __new__(cls, x: Any) -> Any:
        """Strings of other values; a Nullable where some are missing."""
        if isinstance(x, Strings):
            return x
        found, valid = taken(x)
        if not isinstance(found, Strings):
            found = made(found)
        return found if valid is None else fw.Nullable(found, valid)

    def __reduce__(self) -> tuple[Any, ...]:
        return made, (self.bytes,)

    @classmethod
    def __flatweave_function__(cls, function: Any, args: Any, kwargs: Any) -> Any:
        """What `functions.py` says; others treat Strings as a structure of a Ragged."""
        rule = RULES.get(function.__name__)
        if rule is not None:
            return rule(function, *args, **kwargs)
        if any(isinstance(x, fw.Ragged) and isinstance(x.values, Strings) for x in args):
            return RULES["unsupported"](function)
        return NotImplemented

    @property
    def shape(self) -> tuple[Any, ...]:
        """The number of strings, in a tuple."""
        return (self.bytes.lengths.shape[0],) if isinstance(self.bytes, fw.Ragged) else ()

    @property
    def ndim(self) -> int:
        """The number of axes: 1, and 0 for one string in a map."""
        return int(isinstance(self.bytes, fw.Ragged))

    @property
    def size(self) -> Any:
        """The number of strings."""
        return self.shape[0] if self.ndim else 1

    @property
    def dtype(self) -> str:
        """"str"."""
        return "str"

    def __len__(self) -> int:
        return len(self.bytes) if self.ndim else operator.index(self.size)

    def __getitem__(self, key: Any) -> Any:
        found = made(self.bytes[key])
        return found if found.ndim or not found.is_known else str(found)

    def __iter__(self) -> Iterator[str]:
        return iter(self.tolist())

    @property
    def is_known(self) -> bool:
        """Whether the bytes are there, which they are outside of jitted functions."""
        values = self.bytes.values if self.ndim else self.bytes
        return hasattr(values, "to_numpy") and on_host(values) is not None

    def tolist(self) -> Any:
        """The strings as Python has them."""
        if not self.ndim:
            return self.bytes.to_numpy().tobytes().decode()
        data = self.bytes.values.to_numpy().tobytes()
        ends = pairwise(self.bytes.offsets.tolist())
        if data.isascii():
            text = data.decode()
            return [text[start:end] for start, end in ends]
        return [data[start:end].decode() for start, end in ends]

    def __str__(self) -> str:
        return repr(self) if self.ndim or not self.is_known else str(self.tolist())

    def __repr__(self) -> str:
        if not self.is_known:
            return f"Strings({self.bytes!r})"
        if not self.ndim:
            return repr(self.tolist())
        return f"Strings({self.tolist()})" if len(self) <= 100 else f"Strings({len(self)} strings)"

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return to_numpy(self, dtype)

    def to_numpy(self) -> Any:
        """The strings as NumPy's StringDType."""
        return to_numpy(self, None)

    __add__, __radd__ = _left(fw.add), _right(fw.add)
    __mul__, __rmul__ = _left(fw.multiply), _right(fw.multiply)
    __lt__, __le__ = _left(fw.less), _left(fw.less_equal)
    __gt__, __ge__ = _left(fw.greater), _left(fw.greater_equal)
    __eq__, __ne__ = _left(fw.equal), _left(fw.not_equal)

    def len(self) -> Any:
        """The number of code points of each string: i64[n]."""
        return searching.lengths(self.bytes)

    def slice(self, start: Any = None, stop: Any = None) -> Strings:
        """The part of each string that `s[start:stop]` is in Python, in code points."""
        return made(searching.sliced(self.bytes, _bound(start, "start"), _bound(stop, "stop")))

    def find(self, pattern: str) -> Any:
        """The code point at which a pattern first is in each string, -1 where it is not: i64[n]."""
        return searching.find(self.bytes, _pattern(pattern, "find"))

    def count(self, pattern: str) -> Any:
        """How often a pattern is in each string, without overlaps: i64[n]."""
        return searching.count(self.bytes, _pattern(pattern, "count"))

    def contains(self, pattern: str) -> Any:
        """Whether a pattern is in each string: bool[n]."""
        return searching.contains(self.bytes, _pattern(pattern, "contains"))

    def startswith(self, pattern: str) -> Any:
        """Whether each string begins with a pattern: bool[n]."""
        return searching.at_end(self.bytes, _pattern(pattern, "startswith"), is_start=True)

    def endswith(self, pattern: str) -> Any:
        """Whether each string ends with a pattern: bool[n]."""
        return searching.at_end(self.bytes, _pattern(pattern, "endswith"), is_start=False)

    def split(self, separator: str) -> Any:
        """The parts of each string between separators, as rows of strings.

        Raises ArgumentError for an empty separator.
        """
        pattern = _pattern(separator, "split")
        if not len(pattern):
            raise fw.ArgumentError.here(
                "split got an empty separator.", "Give at least one character: split(',')."
            )
        values, offsets = searching.split(self.bytes, pattern)
        return rows_of(made(values), offsets)

    def strip(self) -> Strings:
        """The strings without ASCII white space at their ends: space, \\t, \\n, \\r, \\v, \\f."""
        return made(searching.stripped(self.bytes))

    def lower(self) -> Strings:
        """The strings with A to Z as a to z; other letters stay."""
        return made(searching.recased(self.bytes, ord("A"), 32))

    def upper(self) -> Strings:
        """The strings with a to z as A to Z; other letters stay."""
        return made(searching.recased(self.bytes, ord("a"), -32))

    def hash(self) -> Any:
        """A number of each string, equal for equal strings: u64[n]. Not for secrets."""
        return searching.hashed(self.bytes)

    def to_numbers(self, dtype: Any = None) -> Any:
        """The numbers that the strings say, as `int` and `float` of Python read them.

        White space around a number is skipped; `_` between digits is refused. Floats are rounded
        once, to the nearest; the default dtype is f64.

        Raises ArgumentError with the row for other text and for integers that the dtype cannot
        hold, DTypeError for a dtype that is neither of integers nor f32 or f64.
        """
        return to_numbers.parsed(self.bytes, fw.f64 if dtype is None else dtype)


def made(rows: Any) -> Strings:
    """Strings of bytes that are known to be UTF-8."""
    found = object.__new__(Strings)
    object.__setattr__(found, "bytes", rows)
    return found


def _pattern(pattern: Any, who: str) -> Any:
    """The bytes of a pattern as an array."""
    if not isinstance(pattern, str):
        raise fw.ArgumentError.here(
            f"{who} got {type(pattern).__name__}, where a str is needed.",
            f"Give the text itself: s.{who}('abc').",
        )
    return bytes_of(pattern, f"the pattern of {who}")


def _bound(bound: Any, name: str) -> Any:
    """A bound of a slice; None stays, which means the end."""
    if bound is None or not isinstance(bound, float | str):
        return bound
    raise fw.ArgumentError.here(
        f"slice got {bound!r} as its {name}, where an integer is needed.",
        "Give positions in code points: s.slice(0, 3).",
    )


# -- exchange -------------------------------------------------------------------------------------
#
# Text of lists and other libraries as rows of bytes, and the way back.

ENCODE = "Take other text: UTF-8 has no single surrogates."


def taken(x: Any) -> tuple[Any, Any]:
    """Rows of bytes, or Strings, and where they are there; None where all are."""
    if isinstance(x, fw.Nullable):
        return fw.Strings(x.values), x.valid
    if isinstance(x, fw.Ragged):
        return searching.checked(_of_bytes(x)), None
    if hasattr(x, "iloc") or hasattr(x, "__arrow_array__") or hasattr(x, "duplicated"):  # pandas
        x = _of_pandas(getattr(x, "array", x))
    if hasattr(x, "dictionary_decode"):  # pyarrow's dictionary-encoded column
        x = x.dictionary_decode()
    elif str(getattr(x, "type", "")).startswith("dictionary"):  # and a chunked one
        x = x.cast(x.type.value_type)
    elif str(getattr(x, "dtype", "")).partition("(")[0] in ("Categorical", "Enum"):  # polars
        x = x.cast(sys.modules["polars"].String)
    if isinstance(x, np.ndarray):
        if x.ndim != 1 or x.dtype.kind not in "UTOS":
            raise _no_text(f"an array of {x.dtype} with {x.ndim} axes")
        x = x.tolist()
    if isinstance(x, list | tuple):
        return _of_list(x)
    if hasattr(x, "__arrow_c_stream__") or hasattr(x, "__arrow_c_array__"):
        return _of_arrow(x)
    raise _no_text(f"a value of {type(x).__name__}")


def _of_pandas(column: Any) -> Any:
    """A column of pandas as Arrow has it; without pyarrow, as an array, missing texts as None."""
    if hasattr(column, "__arrow_array__"):
        with suppress(ImportError):
            return column.__arrow_array__()
    return column.to_numpy(na_value=None)


def _no_text(what: str) -> fw.UserError:
    return fw.ArgumentError.here(
        f"Strings got {what}, which is no column of text.",
        "Give a list of str, or a column of text of NumPy, Arrow, polars or pandas;"
        " numbers become text by fw.strings_of.",
    )


def _of_bytes(rows: Any) -> Any:
    if getattr(rows, "dtype", None) != fw.u8 or isinstance(rows.values, fw.Ragged):
        raise _no_text(f"a Ragged of {rows.dtype}")
    return rows


def _of_list(texts: Sequence[Any]) -> tuple[Any, Any]:
    """The bytes of a list of str, or of bytes, and which elements are not missing."""
    valid = None
    if any(text is None or text != text for text in texts):
        valid = np.array([text is not None and text == text for text in texts])
        texts = ["" if not there else text for text, there in zip(texts, valid, strict=True)]
    kinds = {type(text) for text in texts}
    if any(issubclass(kind, bytes) for kind in kinds) and len(kinds) == 1:
        return searching.checked(_rows(texts)), valid
    if not all(issubclass(kind, str) for kind in kinds):
        row = next(i for i, text in enumerate(texts) if not isinstance(text, str))
        raise _no_text(f"{type(texts[row]).__name__} in row {row}")
    joined = "".join(texts)
    if joined.isascii():
        lengths = np.fromiter(map(len, texts), np.int64, len(texts))
        return _cut(joined.encode(), lengths), valid
    return _rows([_encoded(text, i) for i, text in enumerate(texts)]), valid


def _encoded(text: str, row: int) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as failure:
        raise fw.ArgumentError.here(f"row {row} is no text: {failure}.", ENCODE) from None


def _rows(texts: Sequence[bytes]) -> Any:
    return _cut(b"".join(texts), np.fromiter(map(len, texts), np.int64, len(texts)))


def _cut(data: bytes, lengths: Any) -> Any:
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    values = fw.asarray(np.frombuffer(data, np.uint8))
    return fw.ragged(values, offsets=fw.asarray(offsets), check=False)


def bytes_of(text: str, what: str) -> Any:
    """The bytes of one text."""
    try:
        return np.frombuffer(text.encode(), np.uint8)
    except UnicodeEncodeError as failure:
        raise fw.ArgumentError.here(f"{what} is no text: {failure}.", ENCODE) from None


def _of_arrow(column: Any) -> tuple[Any, Any]:
    """The bytes of a column of Arrow or polars, over its memory where that is contiguous."""
    if hasattr(column, "is_not_null"):  # polars
        kind, count = str(column.dtype), column.null_count()
        valid = column.is_not_null().to_numpy() if count else None
    else:
        if not hasattr(column, "null_count"):
            column = _by_pyarrow(column)
        kind, count = str(column.type), column.null_count
        valid = np.asarray(column.is_valid()) if count else None
    if kind.lower() not in TEXTS:
        raise _no_text(f"a column of {kind}")
    if valid is not None:
        if kind.endswith("_view"):  # pyarrow fills no views
            column = column.cast("large_" + kind.removesuffix("_view"))
        column = column.fill_null(b"" if "inary" in kind else "")
    rows = fw.ragged(column)
    return searching.checked(rows), valid


TEXTS = ("string", "large_string", "string_view", "binary", "large_binary", "binary_view")


def _by_pyarrow(column: Any) -> Any:
    """A column of another library of Arrow."""
    try:
        import pyarrow  # optional dependency
    except ImportError as failure:
        raise fw.Unsupported.here(f"Strings needs pyarrow: {failure}.", "Install it.") from None
    return pyarrow.chunked_array(column)


def on_host(values: Any) -> Any:
    """The elements of an array as NumPy has them; None in a trace."""
    try:
        return np.asarray(values)
    except fw.UserError:
        return None


def to_numpy(strings: Any, dtype: Any) -> Any:
    """The strings as an array of NumPy: StringDType unless another dtype is asked for."""
    return np.array(strings.tolist(), dtype=np.dtypes.StringDType() if dtype is None else dtype)
