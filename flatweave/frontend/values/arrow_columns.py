"""Arrow columns of numbers as arrays: the values, and where nothing is.

    numbers_of(pyarrow.array([1, None, 3]))     [1, ?, 3], [False, True, False]
    numbers_of(polars.Series([True, False]))    [True, False], None

The values of one chunk are not copied, but for bools, which Arrow keeps as bits, for dictionaries
and for runs. Lists of a fixed size are an axis more. Nothing else is a number: structs, texts,
times, and extension types, which give a column of numbers another meaning.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from flatweave.base.errors import ArgumentError, DTypeError, UserError
from flatweave.base.source import user_location
from flatweave.frontend.values.arrow_interface import NUMBERS, Chunk, chunks_of

Values = np.ndarray[Any, np.dtype[Any]]
Numbers = tuple[Values, Values | None]
FIXED = "+w:"
FUNCTIONS = "fill_null and drop_nulls"
TEXTS = ("u", "U", "z", "Z", "vu", "vz")
LISTS = ("+l", "+L", "+vl", "+vL")
SHORT_TIMES = ("tdD", "tts", "ttm")  # counts of 32 bits
BOOL8, TENSOR = "arrow.bool8", "arrow.fixed_shape_tensor"  # extension types that we know
PANDAS, POLARS, PYARROW = range(3)
RAGGED = "Make a Ragged of its rows first, which may differ in length: fw.ragged(xs)."
TEXT = "; or keep it as text, fw.Strings(xs)."
OF_PANDAS = {  # how the names of its dtypes begin
    "period": 'Take what numbers it: xs.astype("int64"), or xs.dt.year, xs.dt.month, ..',
    "interval": "Take its ends: xs.array.left and xs.array.right.",
    "datetime": "Functions take np.asarray(xs.dt.tz_convert(None)), and keep its unit.",
    "category": "Take its codes: xs.cat.codes.",
    "str": 'Cast it to numbers, xs.astype("float64")' + TEXT,
    "": "Take columns or parts of it that are numbers.",
}
REMEDIES = {  # what to do in pandas, in polars, and in pyarrow
    "text": (
        'Cast it to numbers, xs.astype("float64")' + TEXT,
        "Cast it to numbers, xs.cast(polars.Float64)" + TEXT,
        "Cast it to numbers, xs.cast(pyarrow.float64())" + TEXT,
    ),
    "decimals": (
        'Cast it to floats: xs.astype("float64").', "Cast it to floats: xs.cast(polars.Float64).",
        "Cast it to floats, xs.cast(pyarrow.float64()); in SQL by x::BIGINT, x::DOUBLE.",
    ),
    "times": (
        'Cast it to integers: xs.astype("int{bits}[pyarrow]").',
        "Take its integers, xs.to_physical(); or their unit with them, np.asarray(xs).",
        "Cast it to integers, xs.cast(pyarrow.int{bits}()); or keep their unit, np.asarray(xs).",
    ),
    "categories": (
        "Take its codes: xs.cat.codes.", "Take its codes: xs.to_physical().",
        "Take its codes: xs.indices.",
    ),
    "intervals": ("Give its length as a number; of DuckDB by epoch_us(x) in SQL.",) * 3,
    "unions": ("Bring its elements to one type first.",) * 3,
    "structs": (
        "Take its fields one by one: xs.struct.field({field!r}).",
        "Take its fields one by one: xs.struct.field({field!r}).",
        "Take its fields one by one: xs.field({field!r}).",
    ),
    "extension types": (
        "Cast it to a type of numbers: xs.astype(..).",
        "Cast it to a type of numbers: xs.cast(..).",
        "Take the numbers that it is stored as: xs.storage.",
    ),
}  # fmt: skip
OTHERWISE = "Take numbers from it with the functions of its library."
KINDS = {  # how the formats of columns begin that hold no numbers
    LISTS: "lists", TEXTS: "text", ("d:",): "decimals", ("td", "ts", "tD", "tt"): "times",
    ("+s",): "structs", ("+m",): "maps", ("+u",): "unions", ("ti",): "intervals", ("w:",): "bytes",
}  # fmt: skip


def is_arrow(value: Any) -> bool:
    """Whether a value offers Arrow's C interface."""
    return hasattr(value, "__arrow_c_array__") or hasattr(value, "__arrow_c_stream__")


def column_behind(value: Any) -> object | None:
    """The Arrow column that a Series of pandas keeps its values in; None for other values."""
    if not hasattr(getattr(value, "dtype", None), "pyarrow_dtype"):
        return None
    column = getattr(value, "array", value)
    return column.__arrow_array__() if hasattr(column, "__arrow_array__") else None


def numbers_of(column: Any, name: str, owner: Any = None) -> Numbers:
    """The numbers of a column, and where they are missing, which has the shape of the values; None
    where none is. Errors advise in the words of the library of `owner`."""
    try:
        parts = [numbers_in(chunk, 0, chunk.length, name) for chunk in chunks_of(column)]
    except NoNumbers as failure:
        raise failure.user_error_of(column if owner is None else owner) from None
    return parts[0] if len(parts) == 1 else _joined(parts)


def missing_in(chunk: Chunk, start: int, count: int) -> Values | None:
    """Where elements of a chunk are missing among those from `start`; None where none is."""
    if chunk.format == "n" and count:
        return np.ones(count, np.bool_)
    if not chunk.null_count or not chunk.addresses or not chunk.addresses[0]:
        return None
    found: Values = ~chunk.bits(0, chunk.offset + start, count)
    return found if found.any() else None


def numbers_in(
    chunk: Chunk, start: int, count: int, name: str, unused: Values | None = None
) -> Numbers:
    """`count` elements of a chunk from `start`, and where they are missing; those that are unused,
    as what holds them is missing, may be anything. Raises NoNumbers."""
    form, first = chunk.format, chunk.offset + start
    missing = missing_in(chunk, start, count)
    if chunk.extension not in ("", BOOL8, TENSOR):
        raise NoNumbers(chunk, name)
    if chunk.dictionary is not None:
        codes = chunk.buffer(1, NUMBERS[form], first, count)
        return _meant(chunk, codes, missing, unused, name)
    if form in NUMBERS:
        values = chunk.buffer(1, NUMBERS[form], first, count)
        return values != 0 if chunk.extension == BOOL8 else values, missing
    if form == "b":
        return chunk.bits(1, first, count), missing
    if form == "n":
        return np.zeros(count), missing
    if form == "+r":
        return _runs(chunk, first, count, name)
    if form.startswith(FIXED):
        return _lists(chunk, first, count, missing, either(missing, unused), name)
    raise NoNumbers(chunk, name)


def _meant(
    chunk: Chunk, codes: Values, missing: Values | None, unused: Values | None, name: str
) -> Numbers:
    """The values that codes mean; anything for those that are missing or unused."""
    dictionary, unused = chunk.dictionary, either(missing, unused)
    assert dictionary is not None
    try:
        values, absent = numbers_in(dictionary, 0, dictionary.length, name)
    except NoNumbers:
        raise NoNumbers(chunk, name) from None
    if unused is not None:
        codes = np.where(unused, 0, codes)
        values = values if len(values) else np.zeros((1, *values.shape[1:]), values.dtype)
    if len(codes) and not 0 <= int(codes.min()) <= int(codes.max()) < len(values):
        raise ArgumentError.here(
            f"{name} is damaged: it has codes from {codes.min()} to {codes.max()}, and"
            f" {len(values)} values that these stand for.",
            "Let its library check it: column.validate(full=True).",
        )
    return values[codes], either(missing, None if absent is None else absent[codes])


def _runs(chunk: Chunk, first: int, count: int, name: str) -> Numbers:
    """Each value as often as it is there: children are where runs end, and their values."""
    ends, values = (numbers_in(child, 0, child.length, name) for child in chunk.children)
    within = np.clip(ends[0].astype(np.int64) - first, 0, count)
    lengths = np.diff(within, prepend=0)
    absent = None if values[1] is None else np.repeat(values[1], lengths, axis=0)
    return np.repeat(values[0], lengths, axis=0), absent


def _lists(
    chunk: Chunk, first: int, count: int, missing: Values | None, unused: Values | None, name: str
) -> Numbers:
    """Lists of one size, as an axis; a list that is missing has no element."""
    size = int(chunk.format.removeprefix(FIXED))
    within = None if unused is None else np.repeat(unused, size)
    values, inner = numbers_in(chunk.children[0], first * size, count * size, name, within)
    shape = (count, *_tensor(chunk, name, size), *values.shape[1:])
    if missing is not None:
        missing = np.broadcast_to(missing.reshape(-1, *[1] * (len(shape) - 1)), shape)
    return values.reshape(shape), either(missing, None if inner is None else inner.reshape(shape))


def _tensor(chunk: Chunk, name: str, size: int) -> tuple[int, ...]:
    """The shape of each list."""
    if chunk.extension != TENSOR:
        return (size,)
    described = json.loads(chunk.metadata["ARROW:extension:metadata"])
    permutation = described.get("permutation")
    if permutation is not None and list(permutation) != sorted(permutation):
        raise NoNumbers(chunk, name)
    return tuple(described["shape"])


def either(a: Values | None, b: Values | None) -> Values | None:
    """Where elements are missing in either of two."""
    if a is None or b is None:
        return b if a is None else a
    return a | b


def _joined(parts: list[Numbers]) -> Numbers:
    """The parts of a column, concatenated."""
    values = np.concatenate([found for found, _ in parts])
    if all(missing is None for _, missing in parts):
        return values, None
    holes = [np.zeros(found.shape, np.bool_) if missing is None else missing
             for found, missing in parts]  # fmt: skip
    return values, np.concatenate(holes)


def library_of(value: Any) -> int:
    """Whose words an advice takes, as a value offers what one of these libraries does."""
    if hasattr(value, "isna"):
        return PANDAS
    return POLARS if hasattr(value, "to_physical") or hasattr(value, "get_columns") else PYARROW


class NoNumbers(Exception):
    """A column, or a part of one, of something else than numbers."""

    def __init__(self, chunk: Chunk, name: str) -> None:
        super().__init__(chunk, name)
        self.chunk = chunk
        self.name = name

    def user_error_of(self, owner: Any) -> UserError:
        """The user's error, with what to do about it in the library of the column's owner."""
        chunk, kind, where = self.chunk, _kind_of(self.chunk), user_location()
        if kind == "lists":
            said = f"{self.name} is an Arrow column of lists."
            return ArgumentError(said, where=where, remedy=RAGGED)
        if kind == "bytes" and library_of(owner) == POLARS:
            kind = "Python objects"
        advice = REMEDIES.get(kind, [OTHERWISE] * 3)[library_of(owner)]
        field = chunk.children[0].name if chunk.children else ""
        bits = 32 if chunk.format in SHORT_TIMES else 64
        shown = f"type {chunk.extension}" if chunk.extension else f"format {chunk.format!r}"
        return DTypeError(
            f"{self.name} is an Arrow column of {kind}, not of numbers ({shown}).",
            where=where, remedy=advice.format(field=field, bits=bits),
        )  # fmt: skip


def _kind_of(chunk: Chunk) -> str:
    """What a column that holds no numbers holds."""
    if chunk.dictionary is not None:
        return "categories"
    if chunk.extension:
        return "extension types"
    for starts, kind in KINDS.items():
        if chunk.format.startswith(starts):
            return kind
    return "other elements"
