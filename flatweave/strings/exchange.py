"""Text of lists and other libraries as rows of bytes, and the way back.

    taken(["a", "bc"])                  Ragged of [97, 98, 99], offsets [0, 1, 3]; None
    taken(["a", None])                  the same with [True, False]
    taken(pyarrow.array(["a", "bc"]))   over the memory of the column

Bytes that no library has checked, as those of a Ragged of u8, are checked to be UTF-8.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np

import flatweave as fw
from flatweave.strings import code_points

ENCODE = "Take other text: UTF-8 has no single surrogates."


def taken(x: Any) -> tuple[Any, Any]:
    """Rows of bytes, or Strings, and where they are there; None where all are."""
    if isinstance(x, fw.Nullable):
        return fw.Strings(x.values), x.valid
    if isinstance(x, fw.Ragged):
        return code_points.checked(_of_bytes(x)), None
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
        return code_points.checked(_rows(texts)), valid
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
    return code_points.checked(rows), valid


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
