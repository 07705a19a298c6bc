"""Other libraries' arrays as ours, over the same memory: fw.asarray, fw.from_dlpack, arguments.

    fw.asarray(xs)               nothing is copied where the elements lie as a program reads them
    fw.asarray(xs[::2])          a copy, for they are not contiguous
    fw.asarray([1, 2])           a new array
    values_of(torch_tensor)      the values of an argument: a view through DLPack
    values_of(b"abc")            a view of the bytes, u8
    values_of("text")            None: not an array

Who shares memory promises not to write to it (docs/decisions/memory_and_systems.md).
"""

from __future__ import annotations

import inspect
import numbers
from collections.abc import Iterable, Mapping
from typing import Any, Literal, overload

import numpy as np

from flatweave.base.dtypes import bf16, native, short_float
from flatweave.base.errors import ArgumentError, NotTraceableError, ShapeError, UserError
from flatweave.base.pretty import counted
from flatweave.frontend.values import datetimes, exchange
from flatweave.frontend.values.arguments import ScalarOverflowError, any_dtype_of
from flatweave.frontend.values.array import METHODS, Array, HostArray, Tracer, host_array, kind_of
from flatweave.frontend.values.exchange import Values, must_be_row_major, on_device
from flatweave.frontend.values.foreign_arrays import (
    check_nan,
    check_nulls,
    checked,
    filled,
    held_by,
    is_masked,
    is_native,
)
from flatweave.frontend.values.number_formats import Complex, Short, not_real
from flatweave.frontend.values.scope import asked_in
from flatweave.frontend.values.tree import Node, flatten, is_node, unflatten
from flatweave.runtime.cpu import shared
from flatweave.scalar.ops import evaluate

NUMBER = (bool, int, float, complex, np.generic)
NO_ARRAY = (Tracer, Node, bool, int, float, complex, str)


def values_of(value: Any, name: str = "") -> Values | None:
    """The value as a C-contiguous NumPy array of a dtype of ours; None for what is no array.

    Raises DTypeError for arrays whose elements are not scalars of ours, ArgumentError where some
    are missing; `name` says in the message which array it is.
    """
    if is_masked(value):
        raise ArgumentError.here(
            f"{name or 'a value'} is a masked array; Flatweave has no masked elements.",
            'Fill them first, xs.filled(0), or take them apart:'
            ' xs, missing = fw.asarray(xs, nulls="mask").',
        )
    found = contents(value, name)
    if found is None:
        return None
    values, missing = found
    if missing is not None:
        raise ArgumentError.here(
            f"{name or 'a value'} holds {counted(int(missing.sum()), 'null')}, which no number"
            " stands for.",
            'Pass fw.Nullable(xs); or fill or drop them, take them as NaN, fw.asarray(xs,'
            ' nulls="nan"), or separately: xs, missing = fw.asarray(xs, nulls="mask").',
        )
    return values


def contents(value: Any, name: str = "") -> tuple[Values, Values | None] | None:
    """The same, and True where an element is missing and the value means nothing; None where all
    are there."""
    if isinstance(value, HostArray):
        return value.to_numpy(), None
    if isinstance(value, np.generic):
        return checked(np.asarray(value), name), None
    if isinstance(value, NO_ARRAY) or hasattr(type(value), "instead_of_array"):
        return None
    if isinstance(value, range):
        return _counted(value, name), None
    return held_by(value, name)


def _counted(value: range, name: str) -> Values:
    """The integers of a range."""
    try:
        return np.arange(value.start, value.stop, value.step, dtype=np.int64)
    except (OverflowError, ValueError):
        raise ScalarOverflowError.here(
            f"{name or 'a value'} is {value!r}, whose integers do not fit an i64.",
            "Bring its ends nearer to 0.",
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
        raise ShapeError.here(UNEVEN, PAD) from None
    if found.dtype.kind == "O":
        raise ScalarOverflowError.here(
            "a list holds an integer that fits neither i64 nor u64.", "Write the numbers as floats."
        )
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
    elif isinstance(value, datetimes.Times):
        what = f"times of dtype {value.dtype}, where an array of numbers is needed"
        remedy = "Work on integers: np.asarray(t).view(np.int64), or t.ticks in a jitted function."
    elif type(value).__module__.startswith("flatweave.kernel"):
        what = f"{kind_of(value)} of a kernel, where an array is needed"
        remedy = "Use functions of flatweave.kernel: fk.reduce(op, xs, ne), fk.zip_with(f, xs, ys)."
    elif instead := getattr(type(value), "instead_of_array", ""):
        what, remedy = f"{kind_of(value)}, where an array is needed", instead
    elif isinstance(value, Node):
        what = f"{kind_of(value)}, where one array is needed"
        remedy = "Go through its rows with fw.map, or work on rows.values and rows.offsets."
    elif isinstance(value, tuple | list) and any(x is None for x in value):
        what = f"{kind_of(value)} with None in it, where numbers are needed"
        remedy = "fw.Nullable(xs) keeps missing elements; among floats fw.nan stands for them."
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
    return ArgumentError.here(f"{is_} {what}.", remedy)


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
        isinstance(item, NUMBER) or (type(item) is list and not item) or is_number_list(item)
        for item in value
    )


@overload
def asarray(
    value: Any, dtype: Any = None, order: Any = None, *, device: Any = None,
    copy: bool | None = None, nulls: Literal["raise", "nan"] = "raise",
) -> Array: ...
@overload
def asarray(
    value: Any, dtype: Any = None, order: Any = None, *, device: Any = None,
    copy: bool | None = None, nulls: Literal["mask"],
) -> tuple[Array, Array]: ...


def asarray(
    value: Any, dtype: Any = None, order: Any = None, *, device: Any = None,
    copy: bool | None = None, nulls: str = "raise",
) -> Array | tuple[Array, Array]:  # fmt: skip
    """A NumPy array, list, scalar, buffer or DLPack object as an array of ours.

    The memory is shared if its elements have the dtype and are contiguous; then nobody
    may write to it from then on; `copy=True` makes a copy, which is for those who will. With
    `copy=False`, BufferError is raised where the memory cannot be shared. Elements are in row-major
    order, whatever `order` says: "C", "K" and "A" mean that, and "F" raises Unsupported.

    Columns and tables of pandas, polars and Arrow are taken, too, and times become Times. What is
    missing is no number: `nulls="nan"` makes it NaN, and a column of integers with any an f64
    column, while `nulls="mask"` gives two arrays: the values, and True where one is missing.
    Raises ArgumentError for nulls otherwise, and for what is no array; OverflowError (also a
    DTypeError) for a list with integers that the dtype cannot hold.

    Types: what holds numbers `-> t[..]`, of its dtype or of `dtype`. Source: `numpy.asarray`.

        >>> fw.asarray([1, 2], fw.f32)
        Array([1., 2.], dtype=float32)
    """
    on_device(device, "asarray")
    must_be_row_major(order)
    check_nulls(nulls)
    name = asked_in()
    if nulls == "mask":
        values, missing = _parted(value, name)
        return asarray(values, dtype, copy=copy), host_array(missing)
    is_pair = isinstance(value, Complex | Short)
    traced = getattr(value, value.parts[0]) if is_pair else value
    if isinstance(traced, Tracer):
        if traced.is_gone:
            raise traced.escaped()
        array: Array = value.copy() if copy else value
        return array if dtype is None else array.astype(dtype)
    if isinstance(value, list) and (stacked := METHODS["stacked"](value, name)) is not None:
        return asarray(stacked, dtype)
    if isinstance(value, tuple) and any(isinstance(x, Tracer | Complex | Short) for x in value):
        raise no_array(value, name)
    wanted = None if dtype is None else any_dtype_of(dtype).dtype
    if not copy and isinstance(value, HostArray) and _is(value, wanted):
        return value
    if wanted is None and getattr(getattr(value, "dtype", None), "kind", "") in ("m", "M"):
        (leaf,), tree = flatten(value)
        if leaf is not value:
            return unflatten(tree, [asarray(leaf, copy=copy)])  # type: ignore[no-any-return]
    found = (_filled if nulls == "nan" else values_of)(value, name)
    if nulls == "nan" and found is not None and wanted is not None:
        check_nan(found, wanted, name)
    if found is not None and found.dtype.kind == "c" and not _holds_complex(wanted):
        raise not_real(name, any_dtype_of(dtype))
    fits = found is not None and _is(found, wanted)
    if copy is False and not (fits and _is_shareable(value)):
        raise BufferError(
            f"{name} is {kind_of(value)} whose memory cannot be shared as it is: leave out"
            " copy=False for a copy"
        )
    if found is None:
        is_brain = wanted is not None and short_float(wanted) is bf16
        found = python_values(value, None if is_brain else wanted, name)
    elif fits and not copy:
        return host_array(shared(found))
    with np.errstate(all="ignore"):
        if wanted is not None and short_float(wanted) is bf16:
            return host_array(_brain_floats(found).view(wanted))
        return host_array(np.array(found, dtype=wanted, copy=True, order="C"))


def array(value: Any, dtype: Any = None, order: Any = None, *, copy: bool | None = True) -> Array:
    """A copy of a NumPy array, list, scalar, buffer or DLPack object, as an array of ours.

    `asarray` shares memory where it can.

    Types: what holds numbers `-> t[..]`, of its dtype or of `dtype`. Raises what `asarray` does.
    Source: `numpy.array`.

        >>> fw.array([1, 2], fw.f32)
        Array([1., 2.], dtype=float32)
    """
    if copy and isinstance(value, Array):
        return asarray(value, dtype, order).copy()
    return asarray(value, dtype, order, copy=copy)


def _is(value: Any, dtype: np.dtype[Any] | None) -> bool:
    """Whether an array has a dtype, where one is asked for; for NumPy, None is a name of f64."""
    return dtype is None or value.dtype == dtype


def _holds_complex(dtype: np.dtype[Any] | None) -> bool:
    """Whether complex numbers keep their meaning in a dtype, as bools in that they are 0 or not."""
    return dtype is None or dtype.kind in "cb"


def _brain_floats(values: Values) -> Values:
    """Numbers as bf16, rounded once, which NumPy does not know and ml_dtypes does by an f32."""
    if short_float(values.dtype) is bf16:
        return values.copy()
    wide = values if values.dtype == np.float32 else values.astype(np.float64)
    return evaluate("to_bf16", wide)


def _is_shareable(value: Any) -> bool:
    """Whether the memory of a value is that of the array that it gives."""
    if isinstance(value, range | np.generic):
        return False
    if hasattr(value, "__array__"):
        try:
            return is_plain(np.asarray(value, copy=False))
        except ValueError:
            return False
    return True


def is_plain(values: Values) -> bool:
    """Whether a program can be given an array as it is in memory."""
    return is_native(values.dtype) and values.flags.c_contiguous and values.flags.aligned


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Array:
    """The array that an object with `__dlpack__` holds; its memory is shared unless `copy` is True.

    Raises BufferError where it cannot be shared and `copy` is False.

    Types: what has `__dlpack__` `-> t[..]`. Source: `numpy.from_dlpack`.

        >>> fw.from_dlpack(np.array([1, 2]))
        Array([1, 2], dtype=int64)
    """
    on_device(device, "from_dlpack")
    if not hasattr(x, "__dlpack__"):
        raise no_array(x, "x of from_dlpack", "Pass it to fw.asarray, which takes more.")
    brains = exchange.taken(x, copy)
    given = np.from_dlpack(x, copy=copy) if brains is None else brains
    found = checked(given, "x of from_dlpack")
    if copy is False and not is_plain(given):
        raise BufferError("the memory of x cannot be shared as it is: it is not row-major")
    return host_array(shared(found))


def python_values(value: Any, dtype: Any, name: str) -> Values:
    """Python numbers, and lists and tuples of them, as an array."""
    if not isinstance(value, bool | int | float | complex | list | tuple):
        raise no_array(value, name, "Pass an array, a number, or a list of numbers.")
    try:
        return checked(np.asarray(value, dtype), name)
    except OverflowError as failure:
        raise ScalarOverflowError.here(
            f"{name} does not fit {dtype or 'an i64'}: {failure}.", "Take a wider dtype."
        ) from None  # fmt: skip
    except UserError as failure:
        raise no_array(value, name) if isinstance(failure, NotTraceableError) else failure from None
    except (ValueError, TypeError) as failure:
        if isinstance(failure, TypeError) and dtype is not None and _is_complex(value):
            raise not_real(name, any_dtype_of(dtype)) from None
        raise ShapeError.here(UNEVEN, PAD) from None


def _is_complex(value: Any) -> bool:
    """Whether a Python number is complex, or one in a list."""
    if isinstance(value, list | tuple):
        return any(map(_is_complex, value))
    return isinstance(value, complex)


def rows_of(value: Any, name: str) -> Values:
    """A value that `asarray` takes as an array of NumPy, or records of numbers: a chunk."""
    is_records = isinstance(value, np.ndarray) and value.dtype.names is not None
    if is_records and not is_masked(value):
        return np.asarray(value, native(value.dtype), order="C")
    found = values_of(value, name)
    return python_values(value, None, name) if found is None else found


def _filled(value: Any, name: str) -> Values | None:
    """As `values_of`, with NaN for what is missing; integers become f64."""
    found = contents(value, name)
    if found is None:
        return None
    values, missing = found
    return values if missing is None else filled(values, missing)


def _parted(value: Any, name: str) -> tuple[Any, Values]:
    """A value that `asarray` takes, and where its elements are missing."""
    found = contents(value, name)
    if found is None:
        held = asarray(value)
        return held, np.zeros(held.shape, np.bool_)
    values, missing = found
    return values, np.zeros(values.shape, np.bool_) if missing is None else np.array(missing)


METHODS["rows_of"] = rows_of
