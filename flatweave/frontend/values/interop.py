"""NumPy arrays, DLPack and other people's arrays as values that a program can be given.

    values_of(np.arange(3)[::-1])      a C-contiguous copy
    values_of(torch_tensor)            a view through DLPack
    values_of(b"abc")                  a view of the bytes, u8
    values_of("text")                  None: not an array
"""

from __future__ import annotations

import inspect
import numbers
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from flatweave.base.errors import ArgumentError, ShapeError
from flatweave.base.pretty import counted
from flatweave.base.source import user_location
from flatweave.frontend.values.array import HostArray, Tracer, kind_of
from flatweave.frontend.values.foreign_values import checked, held_by, is_masked
from flatweave.frontend.values.promotion import ScalarOverflowError
from flatweave.frontend.values.times import Times
from flatweave.frontend.values.tree import Node, is_node

Values = np.ndarray[Any, np.dtype[Any]]
NUMBER = (bool, int, float, complex, np.generic)


def values_of(value: Any, name: str = "") -> Values | None:
    """The value as a C-contiguous NumPy array of a dtype of ours; None for what is no array.

    Raises DTypeError for arrays whose elements are not scalars of ours, ArgumentError where some
    are missing; `name` says in the message which array it is.
    """
    if is_masked(value):
        raise ArgumentError(
            f"{name or 'a value'} is a masked array; Flatweave has no masked elements.",
            where=user_location(),
            remedy='Fill them first, xs.filled(0), or take them apart:'
            ' xs, missing = fw.asarray(xs, nulls="mask").',
        )
    found = contents(value, name)
    if found is None:
        return None
    values, missing = found
    if missing is not None:
        raise ArgumentError(
            f"{name or 'a value'} holds {counted(int(missing.sum()), 'null')}, which no number"
            " stands for.",
            where=user_location(),
            remedy='Fill or drop them, or take them as NaN, fw.asarray(xs, nulls="nan"), or apart:'
            ' xs, missing = fw.asarray(xs, nulls="mask").',
        )
    return values


def contents(value: Any, name: str = "") -> tuple[Values, Values | None] | None:
    """The same, and True where an element is missing and the value means nothing; None where all
    are there."""
    if isinstance(value, HostArray):
        return value.to_numpy(), None
    if isinstance(value, np.generic):
        return checked(np.asarray(value), name), None
    if isinstance(value, Tracer | Node | bool | int | float | complex | str):
        return None
    if isinstance(value, range):
        return _counted(value, name), None
    return held_by(value, name)


def _counted(value: range, name: str) -> Values:
    """The integers of a range."""
    try:
        return np.arange(value.start, value.stop, value.step, dtype=np.int64)
    except (OverflowError, ValueError):
        raise ScalarOverflowError(
            f"{name or 'a value'} is {value!r}, whose integers do not fit an i64.",
            where=user_location(), remedy="Bring its ends nearer to 0.",
        ) from None  # fmt: skip


OTHERWISE = (
    "Pass arrays and numbers; what is known before the call can be given by static_argnames or read"
    " from around the function."
)
COMPRESSED = ("indptr", "indices", "data")  # what sparse matrices in compressed rows have
COMPRESSED_ROWS = (
    "Pass the rows of a sparse matrix as a Ragged of pairs, a number and its column, nothing"
    " copied: fw.ragged(a). The columns are those of a.tocsc()."
)
COORDINATES = (
    "Pass a tuple of its arrays, nothing copied: (a.data, a.row, a.col) in COO form; or"
    " fw.ragged(a.tocsr()) for its rows."
)
UNEVEN = "a list of lists stands for an array only when all of them have one length."
PAD = "Make a Ragged of them, fw.ragged(rows), or pad the shorter ones."


def list_values(value: Any) -> Values:
    """A list of numbers as an array; ShapeError when its rows differ in length."""
    try:
        found = np.asarray(value)
    except ValueError:
        raise ShapeError(UNEVEN, where=user_location(), remedy=PAD) from None
    if found.dtype.kind == "O":
        raise ScalarOverflowError(
            "a list holds an integer that fits neither i64 nor u64.",
            where=user_location(), remedy="Write the numbers as floats.",
        )  # fmt: skip
    return found


def no_array(value: Any, name: str = "", otherwise: str = "") -> ArgumentError:
    """What to say of a value that cannot be an array, and what to do about it."""
    is_ = f"{name} is" if name else "got"
    what, remedy = f"{kind_of(value)}, which is not an array or a number", otherwise or OTHERWISE
    if value is None:
        what = "None, where an array or a number is needed"
        remedy = "Look at where it comes from: a function without a return gives None."
    elif inspect.isroutine(value):
        remedy = "Functions go first, arrays last: fw.map(f, xs), fw.reduce(op, initial, xs)."
    elif isinstance(value, numbers.Number):
        what = f"{kind_of(value)}, which no dtype of Flatweave holds"
        remedy = "Convert it first: float(x)."
    elif isinstance(value, Times):
        what = f"times of dtype {value.dtype}, where an array of numbers is needed"
        remedy = "Work on the integers, t.ticks, and t.like(..) makes times of them again."
    elif type(value).__module__.startswith("flatweave.kernel"):
        what = f"{kind_of(value)} of a kernel, where an array is needed"
        remedy = "Use functions of flatweave.kernel: fk.reduce(op, xs, ne), fk.zip_with(f, xs, ys)."
    elif instead := getattr(type(value), "instead_of_array", ""):
        what, remedy = f"{kind_of(value)}, where an array is needed", instead
    elif isinstance(value, Node):
        what = f"{kind_of(value)}, where one array is needed"
        remedy = "Go through its rows with fw.map, or work on rows.values and rows.offsets."
    elif isinstance(value, tuple | list | Mapping):
        what = f"{kind_of(value)}, where one array is needed"
        remedy = "Pass its arrays one by one; np.array(xs) makes one array of a list of numbers."
    elif is_sparse(value):
        remedy = COMPRESSED_ROWS if is_compressed(value) else COORDINATES
    elif isinstance(value, Iterable) and not isinstance(value, str):
        remedy = (
            "Make a list of it where its elements are arrays, list(xs), or one array where they are"
            " numbers: np.array(list(xs))."
        )
    return ArgumentError(f"{is_} {what}.", where=user_location(), remedy=remedy)


def is_compressed(value: Any) -> bool:
    """Whether a value is a sparse matrix in compressed rows, columns, or rows of blocks."""
    return all(hasattr(value, part) for part in COMPRESSED)


def is_sparse(value: Any) -> bool:
    """Whether a value is a sparse matrix in any form."""
    return is_compressed(value) or all(hasattr(value, part) for part in ("nnz", "tocsr"))


def is_one_array(value: Any) -> bool:
    """Whether a value is a leaf of a structure: one array, of complex numbers, too, or a list of
    numbers."""
    return is_node(value) or is_number_list(value)


def is_number_list(value: Any) -> bool:
    """Whether a value is a list of numbers, perhaps nested, which stands for an array."""
    if not isinstance(value, list) or not value:
        return False
    return all(
        isinstance(item, NUMBER) or _is_empty(item) or is_number_list(item) for item in value
    )


def _is_empty(item: Any) -> bool:
    return isinstance(item, list) and not item
