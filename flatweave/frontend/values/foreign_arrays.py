"""Other libraries' arrays: the numbers that they hold, and which of these are missing.

    held_by(np.arange(3)[::-1], "xs")              a C-contiguous copy, None
    held_by(polars.Series([1, None]), "xs")        [1, ?], [False, True]
    held_by(pandas.Series([1, None]), "xs")        [1.0, nan], None: its elements are floats
    held_by(polars.Series(["a"]), "xs")            DTypeError: text is no number
    held_by("text", "xs")                          None: not an array

Only this module decides what an object of another library is, for whole arrays and for
chunks alike. Some libraries make what is missing NaN without a word when NumPy asks for the values,
times and categories integers, records matrices: so each is asked in the way that loses nothing, and
is known by what it offers, not by name. The caller refuses, fills or splits off missing values
(`asarray.py`, `ragged/offsets.py`).
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np

from flatweave.base.dtypes import COMPLEX, DTYPES, bf16, f16, native, short_float
from flatweave.base.errors import ArgumentError, DTypeError, UserError
from flatweave.base.pretty import counted
from flatweave.base.source import user_location
from flatweave.frontend.values import arrow_columns, exchange
from flatweave.frontend.values.array import Array, kind_of
from flatweave.runtime.devices import cuda as gpu_arrays
from flatweave.runtime.devices.arrays import Resident

Values = np.ndarray[Any, np.dtype[Any]]
PROTOCOLS = ("__dlpack__", "__array__", "__array_interface__", "__array_struct__")
NATIVE = frozenset(dtype.numpy for dtype in (*DTYPES, *COMPLEX.values(), f16, bf16))
ROWS = "Make a Ragged of its rows first, which may differ in length: fw.ragged(xs)."
TIMES = (
    "Functions of arrays in memory take times of NumPy, np.asarray(xs), and keep their unit. Their"
    " integers, nothing copied: np.asarray(xs).view(np.int64)."
)


def held_by(value: Any, name: str) -> arrow_columns.Numbers | None:
    """The numbers of another library's array, C-contiguous and of a dtype of ours, and where they
    are missing, which has their shape; None for what is no array.

    Raises DTypeError or ArgumentError for arrays that hold anything else.
    """
    found = _read(value, name)
    if found is None:
        return None
    values, missing = found
    return checked(values, name), missing


def _read(value: Any, name: str) -> arrow_columns.Numbers | None:
    """The same, whatever the elements are."""
    if isinstance(value, np.ndarray):
        return _unmasked(value)
    on_device = on_gpu(value, name)
    if on_device is not None:
        return on_device.values(), None
    if is_lazy(value):
        return _read(value.compute(), name)
    columns = _columns_of(value)
    if columns is not None:
        return _table(value, list(columns), name)
    if hasattr(value, "isna"):
        return _pandas(value, name)
    has_protocol = any(hasattr(value, protocol) for protocol in PROTOCOLS)
    if arrow_columns.is_arrow(value) and (hasattr(value, "null_count") or not has_protocol):
        return arrow_columns.numbers_of(value, name or "a value")
    if not has_protocol:
        return _buffer(value, name)
    if _is_awkward(value):
        return _unmasked(_asked(value, name, value.layout.to_backend_array, allow_missing=True))
    if hasattr(type(value), "__dlpack__"):  # what a wrapper hands on has lost its unit
        try:
            return np.from_dlpack(value), None
        except (BufferError, TypeError, RuntimeError, AttributeError):
            brains = exchange.taken(value)
        if brains is not None:
            return brains, None
    if not any(hasattr(value, protocol) for protocol in PROTOCOLS[1:]):
        return None
    found = _asked(value, name, np.asanyarray, value)
    if found.dtype.kind == "O" and not found.ndim and found[()] is value:
        return None  # a scalar of Arrow, for instance, which only says that it is an array
    count = getattr(value, "null_count", 0)
    if not (count() if callable(count) else count):
        return _unmasked(found)
    if found.dtype.kind == "O":
        missing = np.reshape([each is None for each in found.ravel()], found.shape)
    else:
        missing = np.isnan(found)
    return found.astype(np.float64), missing


def _unmasked(values: Values) -> arrow_columns.Numbers:
    """An array of NumPy, of any of its classes."""
    if is_masked(values):
        masked: Any = values
        return np.asarray(masked.data), np.ma.getmaskarray(masked)
    return np.asarray(values), None


def _pandas(value: Any, name: str) -> arrow_columns.Numbers:
    """A Series, an Index, or an array of pandas."""
    dtype = value.dtype
    column = arrow_columns.column_behind(value)
    if column is not None:
        return arrow_columns.numbers_of(column, name or "a value", value)
    if isinstance(dtype, np.dtype):
        return _asked(value, name, np.asarray, value), None  # a NaN there is a number as any other
    kind = getattr(getattr(dtype, "subtype", None), "kind", "")  # of what a sparse column holds
    missing = None if kind in ("f", "c") else np.asarray(value.isna())
    if missing is None or not missing.any():
        values, missing = _asked(value, name, np.asarray, value), None
    elif hasattr(dtype, "numpy_dtype"):
        zero = dtype.numpy_dtype.type(0)
        values = np.asarray(value.to_numpy(dtype=dtype.numpy_dtype, na_value=zero))
    else:
        values = _asked(value, name, np.asarray, value)
    if values.dtype.kind == "O":
        remedies = arrow_columns.OF_PANDAS.items()
        remedy = next(text for begins, text in remedies if str(dtype).startswith(begins))
        raise DTypeError.here(
            f"{name or 'a value'} is a column of pandas of dtype {dtype}, whose elements are no"
            " numbers.",
            remedy,
        )
    return values, missing


def _table(value: Any, columns: Sequence[tuple[Any, Any]], name: str) -> arrow_columns.Numbers:
    """The columns of a table, in the dtype that holds them all."""
    if hasattr(value, "isna") and all(isinstance(x.dtype, np.dtype) for _, x in columns):
        values = _asked(value, name, np.asarray, value)
        if values.dtype.kind != "O":
            return values, None
    table = name or "a value"
    found = [held_by(column, f"column {label!r} of {table}") for label, column in columns]
    parts = [each for each in found if each is not None]
    if not parts:
        raise ArgumentError.here(f"{table} is a table without columns.", "Take a column of it.")
    values = np.stack([values for values, _ in parts], axis=1)
    if all(missing is None for _, missing in parts):
        return values, None
    holes = [np.zeros(x.shape, np.bool_) if hole is None else hole for x, hole in parts]
    return values, np.stack(holes, axis=1)


def _columns_of(value: Any) -> Iterable[tuple[Any, Any]] | None:
    """The names and the columns of a table of pyarrow, polars or pandas; None for anything else."""
    if hasattr(value, "itercolumns"):
        return zip(value.schema.names, value.itercolumns(), strict=True)
    if hasattr(value, "get_columns"):
        return zip(value.columns, value.get_columns(), strict=True)
    if hasattr(value, "isna") and hasattr(value, "columns"):
        pairs: Iterable[tuple[Any, Any]] = value.items()
        return pairs
    return None


def is_lazy(value: Any) -> bool:
    """Whether a value is an array or a column of Dask, or holds one, as arrays of xarray may."""
    graph = getattr(value, "__dask_graph__", None)
    return graph is not None and hasattr(type(value), "__array__") and graph() is not None


def on_gpu(value: Any, name: str) -> Resident | None:
    """Another library's array on a GPU, nothing copied; None for what is on none."""
    try:
        return gpu_arrays.borrowed(value)
    except gpu_arrays.NotContiguous as failure:
        remedy = "Make it contiguous: xs.contiguous(), or cupy.ascontiguousarray(xs)."
        raise unreadable(value, name, failure, remedy) from None
    except TypeError as failure:
        remedy = "Convert it to a dtype of Flatweave first."
        raise unreadable(value, name, failure, remedy) from None


def _asked(value: Any, name: str, ask: Any, *args: Any, **options: Any) -> Values:
    """What another library's code gives, which may raise anything."""
    try:
        found: Values = ask(*args, **options)
    except UserError:
        raise
    except Exception as failure:
        remedy = ROWS if _is_awkward(value) else "Bring it to the CPU and to NumPy first."
        raise unreadable(value, name, failure, remedy) from None
    return found


def _buffer(value: Any, name: str) -> arrow_columns.Numbers | None:
    """The elements of bytes, a memoryview, an array.array, or another object with a buffer."""
    try:
        seen = memoryview(value)
    except (TypeError, BufferError):
        return None
    except ValueError as failure:
        raise unreadable(value, name, failure, "Take a buffer that is still open.") from None
    try:
        return np.asarray(seen), None
    except (ValueError, TypeError, NotImplementedError) as failure:
        raise unreadable(value, name, failure, "Give its elements a number's format.") from None


def _is_awkward(value: Any) -> bool:
    return hasattr(getattr(value, "layout", None), "to_backend_array")


def is_masked(value: Any) -> bool:
    """Whether an array is masked; numpy.ma is slow to load, and is never imported for this."""
    masked = sys.modules.get("numpy.ma")
    cls = getattr(masked, "MaskedArray", None)  # also none while another thread loads the module
    return cls is not None and isinstance(value, cls)


def filled(values: Values, missing: Values) -> Values:
    """NaN where elements are missing; integers and bools become f64 where any is."""
    if not missing.any():
        return values
    floats = values if values.dtype.kind in "fc" else values.astype(np.float64)
    return np.where(missing, floats.dtype.type(np.nan), floats)


def check_nan(values: Values, wanted: np.dtype[Any], name: str) -> None:
    """Raise an error where elements became NaN, and the dtype that is asked for has none."""
    if values.dtype.kind not in "fc" or wanted.kind in "fc" or short_float(wanted) is not None:
        return
    count = int(np.isnan(values).sum())
    if count:
        raise DTypeError.here(
            f"{name} has {counted(count, 'missing element')}, and {wanted} has no NaN.",
            'Ask for a float, or take a mask: nulls="mask".',
        )


def check_nulls(nulls: str) -> None:
    """Raise an error unless this is a way to take nulls."""
    if nulls not in ("raise", "nan", "mask"):
        raise ArgumentError.here(
            f"{nulls!r} is not a way to take nulls.", 'Use "raise", "nan" or "mask".'
        )


def unreadable(value: Any, name: str, failure: Exception, remedy: str) -> ArgumentError:
    return ArgumentError.here(
        f"{name or 'a value'}, {kind_of(value)}, cannot be read as an array: {failure}.", remedy
    )


def is_native(dtype: np.dtype[Any]) -> bool:
    """Whether elements of a dtype are given to programs as they are in memory."""
    return dtype in NATIVE or (dtype.isnative and short_float(dtype) is not None)


def checked(values: Values, name: str) -> Values:
    """The array itself if a program can be given it, a copy where its layout or byte order is not.
    """
    if not is_native(values.dtype):
        found = native(values.dtype)
        if not is_native(found):
            raise _refused(values, name or "an array")
        return np.array(values, found, order="C")
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
        is_dates = values.ndim == 1 and any(hasattr(x, "toordinal") for x in values[:1])
        return ArgumentError(
            f"{name} holds {'lists or arrays' if is_rows else 'Python objects'} (dtype object).",
            where=where,
            remedy=ROWS if is_rows
            else 'Make times of its dates: np.array(xs, dtype="datetime64[us]").' if is_dates
            else "Give its elements a number's dtype: np.array(xs, dtype=np.float64).",
        )  # fmt: skip
    text = "Cast it to numbers, xs.astype(np.float64)"
    remedy = {
        "c": "Convert it: xs.astype(np.complex128).",
        "U": text + arrow_columns.TEXT,
        "T": text + arrow_columns.TEXT,
        "S": text + "; or read it as bytes: np.frombuffer(xs, np.uint8).",
        "M": TIMES,
        "m": TIMES,
        "f": "Convert it: xs.astype(np.float32) or xs.astype(np.float64).",
    }.get(dtype.kind, "Convert it with xs.astype.")
    return DTypeError(
        f"{shown}, which is not an element type of Flatweave.", where=where, remedy=remedy
    )


# -- what annotations say of arguments: `def norm(x: fw.ArrayLike) -> fw.Array` --------------------
#
# Type checkers read `flatweave/__init__.pyi`, which says the same of the public names.


@runtime_checkable
class SupportsArray(Protocol):
    """What NumPy takes: arrays, columns and tensors of other libraries."""

    def __array__(self, *args: Any, **kwargs: Any) -> np.ndarray[Any, np.dtype[Any]]:
        """The elements as a NumPy array."""


@runtime_checkable
class SupportsDLPack(Protocol):
    """What shares its memory by DLPack."""

    def __dlpack__(self, *args: Any, **kwargs: Any) -> object:
        """A capsule that holds the memory."""


@runtime_checkable
class SupportsBuffer(Protocol):
    """What has a buffer of numbers: bytes, memoryview, array.array."""

    def __buffer__(self, flags: int, /) -> memoryview:
        """A view of the memory."""


# for annotations, and for isinstance: what type checkers see is that of the stub
ArrayLike: Any = (
    Array | np.ndarray | np.generic | bool | int | float | complex | list | tuple | range
    | bytes | bytearray | memoryview | SupportsArray | SupportsDLPack | SupportsBuffer
)
