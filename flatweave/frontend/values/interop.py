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

from flatweave.base.dtypes import COMPLEX, DTYPES, bf16, f16, short_float
from flatweave.base.errors import ArgumentError, DTypeError, ShapeError, UserError
from flatweave.base.pretty import counted
from flatweave.base.source import user_location
from flatweave.frontend.values import brain
from flatweave.frontend.values.array import HostArray, Tracer, kind_of
from flatweave.frontend.values.arrow import column_behind, is_arrow, numbers_of
from flatweave.frontend.values.nulls import is_masked, nulls_in
from flatweave.frontend.values.promotion import ScalarOverflowError
from flatweave.frontend.values.times import Times
from flatweave.frontend.values.tree import Node
from flatweave.runtime.devices.arrays import Resident
from flatweave.runtime.devices.exchange import NotContiguous, borrowed

Values = np.ndarray[Any, np.dtype[Any]]
PROTOCOLS = ("__dlpack__", "__array__", "__array_interface__", "__array_struct__")
NUMBER = (bool, int, float, complex, np.generic)
NATIVE = frozenset(dtype.numpy for dtype in (*DTYPES, *COMPLEX.values(), f16, bf16))


def values_of(value: Any, name: str = "") -> Values | None:
    """The value as a C-contiguous NumPy array of a dtype of ours; None for what is no array.

    Raises DTypeError for arrays whose elements are not scalars of ours; `name` says in the message
    which array it is.
    """
    if isinstance(value, HostArray):
        return value.to_numpy()
    if isinstance(value, np.ndarray):
        if is_masked(value):
            raise ArgumentError(
                f"{name or 'a value'} is a masked array; Flatweave has no masked elements.",
                where=user_location(),
                remedy='Fill them first, xs.filled(0), or take them apart:'
                ' xs, missing = fw.asarray(xs, nulls="mask").',
            )
        return checked(np.asarray(value), name)
    if isinstance(value, np.generic):
        return checked(np.asarray(value), name)
    if isinstance(value, Tracer | Node | bool | int | float | complex | str):
        return None
    if isinstance(value, range):
        return _counted(value, name)
    return _foreign(value, name)


def on_gpu(value: Any, name: str) -> Resident | None:
    """Another library's array on a GPU, nothing copied; None for what is on none."""
    try:
        return borrowed(value)
    except NotContiguous as failure:
        remedy = "Make it contiguous: xs.contiguous(), or cupy.ascontiguousarray(xs)."
        raise unreadable(value, name, failure, remedy) from None
    except TypeError as failure:
        remedy = "Convert it to a dtype of Flatweave first."
        raise unreadable(value, name, failure, remedy) from None


def _counted(value: range, name: str) -> Values:
    """The integers of a range."""
    try:
        return np.arange(value.start, value.stop, value.step, dtype=np.int64)
    except (OverflowError, ValueError):
        raise ScalarOverflowError(
            f"{name or 'a value'} is {value!r}, whose integers do not fit an i64.",
            where=user_location(), remedy="Bring its ends nearer to 0.",
        ) from None  # fmt: skip


def _foreign(value: Any, name: str) -> Values | None:
    """Another library's array: by DLPack if on the CPU, by what NumPy reads, by Arrow's interface,
    else its buffer."""
    if not any(hasattr(value, protocol) for protocol in PROTOCOLS):
        return _of_arrow(value, name) if is_arrow(value) else _buffer(value, name)
    _refuse_nulls(value, name)
    on_device = on_gpu(value, name)
    if on_device is not None:
        return on_device.values()
    column = column_behind(value)
    if column is not None:
        return _of_arrow(column, name)
    found: Any = None
    if hasattr(value, "__dlpack__"):
        try:
            found = np.from_dlpack(value)
        except (BufferError, TypeError, RuntimeError, AttributeError):
            found = brain.taken(value)
    if found is None and any(hasattr(value, protocol) for protocol in PROTOCOLS[1:]):
        found = _asked(value, name)
        if found.dtype.kind == "O" and not found.ndim and found[()] is value:
            return None  # a scalar of Arrow, for instance, which only says that it is an array
        if found.dtype.kind == "O" and is_arrow(value):
            return _of_arrow(value, name)
    return None if found is None else checked(found, name)


def _asked(value: Any, name: str) -> Values:
    """What an object's `__array__` gives."""
    try:
        return np.asarray(value)
    except UserError:
        raise
    except (TypeError, ValueError, RuntimeError) as failure:
        remedy = ROWS if hasattr(value, "layout") else "Bring it to the CPU and to NumPy first."
        raise unreadable(value, name, failure, remedy) from None


def unreadable(value: Any, name: str, failure: Exception, remedy: str) -> ArgumentError:
    return ArgumentError(
        f"{name or 'a value'}, {kind_of(value)}, cannot be read as an array: {failure}.",
        where=user_location(), remedy=remedy,
    )  # fmt: skip


def _buffer(value: Any, name: str) -> Values | None:
    """The elements of bytes, a memoryview, an array.array, or another object with a buffer."""
    try:
        seen = memoryview(value)
    except (TypeError, BufferError):
        return None
    except ValueError as failure:
        raise unreadable(value, name, failure, "Take a buffer that is still open.") from None
    try:
        found = np.asarray(seen)
    except (ValueError, TypeError, NotImplementedError) as failure:
        raise unreadable(value, name, failure, "Give its elements a number's format.") from None
    return checked(found, name)


def _of_arrow(value: Any, name: str) -> Values:
    """The numbers of an Arrow column of which none is missing."""
    found, missing = numbers_of(value, name or "a value")
    if missing is not None:
        raise _nulls(int(missing.sum()), name)
    return found


def _refuse_nulls(value: Any, name: str) -> None:
    count = nulls_in(value)
    if count:
        raise _nulls(count, name)


def _nulls(count: int, name: str) -> ArgumentError:
    return ArgumentError(
        f"{name or 'a value'} holds {counted(count, 'null')}, which no number stands for.",
        where=user_location(),
        remedy='Fill or drop them, or take them as NaN, fw.asarray(xs, nulls="nan"), or apart:'
        ' xs, missing = fw.asarray(xs, nulls="mask").',
    )


def is_native(dtype: np.dtype[Any]) -> bool:
    """Whether elements of a dtype are given to programs as they are in memory."""
    return dtype in NATIVE or (dtype.isnative and short_float(dtype) is not None)


def checked(values: Values, name: str) -> Values:
    """The array itself if a program can be given it, a copy where its layout or byte order is not.
    """
    if not is_native(values.dtype):
        native = values.dtype.newbyteorder("=")
        if not is_native(native):
            raise _refused(values, name or "an array")
        return np.array(values, native, order="C")
    flags = values.flags
    return values if flags.c_contiguous and flags.aligned else np.array(values, order="C")


def _refused(values: Values, name: str) -> DTypeError | ArgumentError:
    """What is wrong with an array's dtype."""
    dtype, where = values.dtype, user_location()
    shown = f"{name} has dtype {dtype}"
    if dtype.names:
        return DTypeError(
            f"{shown}, whose elements are records.",
            where=where,
            remedy="Functions take it as the dict of its fields. One of them: "
            f"fw.asarray(xs[{dtype.names[0]!r}]).",
        )  # fmt: skip
    if dtype.kind == "O":
        is_rows = values.ndim == 1 and any(isinstance(x, list | np.ndarray) for x in values[:1])
        return ArgumentError(
            f"{name} holds {'lists or arrays' if is_rows else 'Python objects'} (dtype object).",
            where=where,
            remedy=ROWS if is_rows
            else "Give its elements a number's dtype: np.array(xs, dtype=np.float64).",
        )  # fmt: skip
    remedy = {
        "c": "Convert it: xs.astype(np.complex128).",
        "U": "Convert text to numbers first, or to bytes: np.frombuffer(text.encode(), np.uint8).",
        "S": "Read it as bytes: np.frombuffer(xs, np.uint8).",
        "M": TIMES,
        "m": TIMES,
        "f": "Convert it: xs.astype(np.float32) or xs.astype(np.float64).",
    }.get(dtype.kind, "Convert it with xs.astype.")
    return DTypeError(
        f"{shown}, which is not an element type of Flatweave.", where=where, remedy=remedy
    )


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
ROWS = (
    "Pass the rows of a sparse matrix as a Ragged:"
    " fw.ragged((a.data, a.indices), offsets=a.indptr) for a in CSR form, nothing copied."
)
TIMES = (
    "Functions take an array of NumPy with times as it is, and keep its unit. Its integers, nothing"
    " copied: np.asarray(xs).view(np.int64)."
)
ROWS = "Make a Ragged of its rows first, which may differ in length: fw.ragged(xs)."
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


def is_number_list(value: Any) -> bool:
    """Whether a value is a list of numbers, perhaps nested, which stands for an array."""
    if not isinstance(value, list) or not value:
        return False
    return all(
        isinstance(item, NUMBER) or _is_empty(item) or is_number_list(item) for item in value
    )


def _is_empty(item: Any) -> bool:
    return isinstance(item, list) and not item
