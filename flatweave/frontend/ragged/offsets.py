"""What can be wrong with rows that are given: their offsets, and elements that are missing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from flatweave.base.dtypes import DType, as_dtype
from flatweave.base.errors import ArgumentError, DTypeError, ShapeError, Unsupported, UserError
from flatweave.base.source import user_location
from flatweave.frontend.ragged.ragged import Ragged
from flatweave.frontend.trace import extents
from flatweave.frontend.trace.run_time_checks import CLASSES, out_of_memory
from flatweave.frontend.values.array import (
    METHODS,
    Array,
    HostArray,
    Tracer,
    describe,
    host_array,
    kind_of,
)
from flatweave.frontend.values.asarray import contents, is_number_list, list_values, values_of
from flatweave.frontend.values.elsewhere import DeviceArray
from flatweave.frontend.values.foreign_arrays import filled, on_gpu
from flatweave.frontend.values.tree import flatten, is_node, map_leaves, unflatten
from flatweave.runtime.cpu import shared
from flatweave.runtime.devices.arrays import Resident

# -- offsets --------------------------------------------------------------------------------------
#
# Offsets, lengths or flags that cut values into rows: what can be wrong, and checks on the host.
#
#     FALLING                                 offsets must not decrease: check, message, remedy
#     on_host(values, lengths=[2, 0, 2])      a Ragged that sees `values`, checked at once


NO_OFFSET = ("shape", "the offsets of ragged need one entry more than rows, got none.",
             "Give [0] for no rows.")  # fmt: skip
FIRST = ("shape", "the offsets of ragged must start at 0, got {0}.",
         "Give where each row begins in values, and then where the last one ends.")  # fmt: skip
FALLING = ("shape", "the offsets of ragged must not decrease: row {0} would have {1} elements.",
           "Sort the rows as their values are stored.")  # fmt: skip
LAST = ("shape", "the offsets of ragged must end at the number of values, got {0} for {1} values.",
        "Add len(values) as the last offset, or cut the values.")  # fmt: skip
NARROW = ("overflow", "the offsets of ragged are {dtype}, which ends at {high}, for {{0}} values.",
          "Add up the lengths in i64, or give them as lengths=.")  # fmt: skip
BELOW = (extents.NEGATIVE, "the lengths of ragged must not be negative: row {0} has {1}.",
         "Use fw.maximum(lengths, 0) where empty rows are meant.")  # fmt: skip
SUM = ("shape", "the lengths of ragged add up to {0} for {1} values.",
       "Give one length for each row, 0 for an empty one.")  # fmt: skip
TOO_MANY = ("overflow", "the lengths of ragged add up to more than an i64 can count at row {0}.",
            "Check the lengths: one of them is far too large.")  # fmt: skip
SAME = ("shape", "ragged needs arrays of one length, got {0} and {1}.",
        "Cut both to the shorter one with xs[:n].")  # fmt: skip
FLAGS = ("shape", "ragged needs one flag for each value, got {0} for {1} values.",
         "Flag the first value of each row with True, all others with False.")  # fmt: skip
Fault = tuple[str, str, str]


def reach(dtype: DType) -> int:
    """The greatest offset of a dtype."""
    return min(int(dtype.high), 2**63 - 1)


def narrow(dtype: DType) -> Fault:
    """The fault of offsets whose dtype cannot hold the last one."""
    kind, message, remedy = NARROW
    return kind, message.format(dtype=dtype, high=dtype.high), remedy


def the_one(offsets: Any, lengths: Any, flags: Any) -> tuple[str, Any]:
    """The one keyword of three that was given, and its value."""
    named = [("offsets", offsets), ("lengths", lengths), ("flags", flags)]
    given = [(name, value) for name, value in named if value is not None]
    if len(given) != 1:
        names = " and ".join(name for name, _ in given) or "none"
        raise ArgumentError.here(
            f"ragged needs one of offsets, lengths and flags, got {names}.",
            "Say once where the rows are: offsets=[0, 2, 5].",
        )
    return given[0]


def check_values(leaves: Sequence[Any]) -> None:
    if not leaves or not all(leaf.ndim for leaf in leaves):
        raise ShapeError.here(
            "ragged needs values in arrays of rank 1 or more.",
            "Give the elements of all rows in one array, in order.",
        )


def check_cut(cut: Any, name: str) -> None:
    """The array that says where rows are has one axis, and integers or bools."""
    if cut.ndim != 1:
        raise ShapeError.here(
            f"the {name} of ragged must be an array of rank 1, got {describe(cut)}.",
            "Give a flat array: one for each row or value.",
        )
    kind = cut.dtype.kind
    if kind == "b" if name == "flags" else kind in "iu":
        return
    wanted = "bool" if name == "flags" else "integers"
    raise DTypeError.here(
        f"the {name} of ragged must be {wanted}, got {describe(cut)}.",
        "Compare them first: flags != 0." if name == "flags" else "Use astype(fw.i64).",
    )


Values = np.ndarray[Any, np.dtype[Any]]


def _host_values(value: Any, name: str) -> Values:
    """A user's array or list of numbers as a NumPy array."""
    found = values_of(value, name)
    if found is None and isinstance(value, list):
        found = values_of(list_values(value) if value else np.zeros(0, np.int64), name)
    if found is None:
        raise ArgumentError.here(
            f"{name} must be an array, got {kind_of(value)}.",
            "Pass a NumPy array, a list of numbers or a fw.Array.",
        )
    return found


def require(condition: Any, fault: Fault, *values: Any) -> None:
    """Raise the fault unless the condition holds."""
    if condition:
        return
    kind, message, remedy = fault
    cls: type[UserError] = CLASSES[kind]
    raise cls(
        message.format(*(int(value) for value in values)), where=user_location(), remedy=remedy
    )


def on_host(
    values: Any, offsets: Any = None, lengths: Any = None, flags: Any = None
) -> Ragged:
    """A Ragged of arrays that have values: a view of these where they are, on a device, too, and a
    copy of the offsets next to them."""
    name, given = the_one(offsets, lengths, flags)
    if isinstance(values, list) and not values:
        values = np.zeros(0)
    if isinstance(values, Ragged):
        return Ragged.made(values, _cut(given, name, len(values), [values.offsets]))
    leaves, tree = flatten(values, is_number_list)
    if tree.irregular:
        raise Unsupported.here(
            "the values of ragged hold a Ragged next to other arrays.",
            "Make one Ragged of each, with the same lengths.",
        )
    arrays = [_where_they_are(leaf, "values of ragged") for leaf in leaves]
    check_values(arrays)
    total = len(arrays[0])
    for array in arrays[1:]:
        if len(array) != total:
            raise ShapeError.here(
                f"ragged needs arrays of one length, got {total} and {len(array)}.",
                "Cut both to the shorter one with xs[:n].",
            )
    offsets = _cut(given, name, total, arrays)
    kept = [each if isinstance(each, DeviceArray) else HostArray(shared(each)) for each in arrays]
    return Ragged.made(unflatten(tree, kept), offsets)


def _where_they_are(value: Any, name: str) -> Values | DeviceArray:
    """A user's array or list of numbers: one on a device stays there."""
    if isinstance(value, DeviceArray):
        return DeviceArray(value.resident.reshape(*value.shape))
    if not isinstance(value, np.ndarray | HostArray | list):
        found = on_gpu(value, name)
        if found is not None:
            return DeviceArray(found)
    return _host_values(value, name)


def _cut(given: Any, name: str, total: int, arrays: Sequence[Any]) -> HostArray:
    """The offsets from the keyword that was given, checked; on the device where any of the values'
    arrays is, so that calls do not copy them there."""
    cut = _host_values(given, f"the {name} of ragged")
    check_cut(cut, name)
    found = _HOST[name](cut, total)
    found.setflags(write=False)
    there = next((each.resident.device for each in arrays if isinstance(each, DeviceArray)), None)
    if there is None:
        return HostArray(found)
    if name == "offsets" and isinstance(given, DeviceArray) and given.dtype == found.dtype:
        return DeviceArray(given.resident.reshape(*given.shape))
    try:
        return DeviceArray(Resident.uploaded(there, found))
    except MemoryError as failure:
        raise out_of_memory(failure) from None


def _host_offsets(cut: Values, total: int) -> Values:
    offsets, dtype = np.array(cut, np.int64), as_dtype(cut.dtype)
    require(total <= reach(dtype), narrow(dtype), total)
    require(len(offsets), NO_OFFSET)
    require(offsets[0] == 0, FIRST, offsets[0])
    falls = np.flatnonzero(offsets[1:] < offsets[:-1])
    if falls.size:
        require(False, FALLING, falls[0], offsets[falls[0] + 1] - offsets[falls[0]])
    require(offsets[-1] == total, LAST, offsets[-1], total)
    return offsets


def _host_lengths(cut: Values, total: int) -> Values:
    lengths = np.array(cut, np.int64)
    below = np.flatnonzero(lengths < 0)
    if below.size:
        require(False, BELOW, below[0], lengths[below[0]])
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
    wraps = np.flatnonzero(offsets[1:] < 0)
    if wraps.size:
        require(False, TOO_MANY, wraps[0])
    require(offsets[-1] == total, SUM, offsets[-1], total)
    return offsets


def _host_flags(cut: Values, total: int) -> Values:
    require(len(cut) == total, FLAGS, len(cut), total)
    starts = np.array(cut, np.bool_)
    starts[:1] = True
    return np.append(np.flatnonzero(starts), total).astype(np.int64)


_HOST = {"offsets": _host_offsets, "lengths": _host_lengths, "flags": _host_flags}


# -- nulls ----------------------------------------------------------------------------------------
#
# Elements that are missing in another library's rows: refused, made NaN, or given as a mask.
#
#     ragged(ak.Array([[1, None], [2]]), nulls="nan")     [[1.0, nan], [2.0]]
#     ragged(ak.Array([[1, None], [2]]), nulls="mask")    [[1, ?], [2]], [[False, True], [False]]
#
# While a column is read, an array of elements that may be missing is a record of two, `Masked`,
# which is cut, gathered and joined as any record is; `without_nulls` takes these records apart. A
# row that is missing has no elements, and raises whatever `nulls` is.


APART = (
    ' Or take them as NaN, fw.ragged(xs, nulls="nan"), or apart: rows, missing = fw.ragged(xs,'
    ' nulls="mask").'
)


class Masked(NamedTuple):
    """Elements, and True where one is missing and means nothing."""

    values: Any
    missing: Any


def null_error(
    what: str, whose: str, missing: Values, functions: str, are_rows: bool = False
) -> UserError:
    """What is missing in another library's array."""
    places = np.flatnonzero(missing)
    holds = "a null" if len(places) == 1 else f"{len(places)} nulls"
    remedy = f"Fill them with a value or drop them first, for instance with {functions}."
    return ArgumentError.here(
        f"ragged got {what} with {holds} among {whose}, the first at {places[0]}; no number stands"
        " for that.",
        remedy if are_rows else remedy + APART,
    )


def may_miss(values: object, missing: Values | None = None) -> object:
    """The arrays of a tree as Masked, with these elements missing in addition to others."""

    def leaf(x: Any) -> Masked:
        held, own = x if isinstance(x, Masked) else (x, np.zeros(x.shape, np.bool_))
        if missing is not None:
            own = own | missing.reshape(-1, *[1] * (own.ndim - 1))
        return Masked(held, own)

    return map_leaves(leaf, values, lambda x: isinstance(x, Masked | np.ndarray))


def taken(values: Any, nulls: str) -> object:
    """Another library's array as one of NumPy, where elements may be missing: with NaN for these,
    or as Masked; any other value as it is."""
    if nulls == "raise" or isinstance(values, Array) or is_node(values):
        return values
    found = contents(values, "the values of ragged")
    if found is None or found[1] is None:
        return values if found is None else found[0]
    masked = Masked(*found)
    return filled(masked.values, masked.missing) if nulls == "nan" else masked


def joined(parts: Sequence[Any]) -> Array | Masked:
    """Arrays one after the other, as Masked where one of them is."""
    concat = METHODS["concat"]
    if not any(isinstance(part, Masked) for part in parts):
        return concat(parts)
    pairs = [x if isinstance(x, Masked) else Masked(x, _no_mask(x)) for x in parts]
    return Masked(concat([x.values for x in pairs]), concat([x.missing for x in pairs]))


def without_nulls(values: Ragged, nulls: str) -> tuple[Ragged, Ragged | None]:
    """Rows with Masked elements as `nulls` says: with NaN for what is missing, or the elements
    and masks."""
    if nulls == "mask":
        return _each(values, lambda m: m.values), _each(values, lambda m: m.missing, _no_mask)
    found = _each(values, lambda m: filled(np.asarray(m.values), np.asarray(m.missing)))
    return found, None


def _each(
    values: Ragged, of: Callable[[Masked], Any], otherwise: Callable[[Any], Array] | None = None
) -> Ragged:
    """A part of each Masked in a Ragged; other arrays stay what they are."""
    if isinstance(values.values, Ragged):
        return Ragged.made(_each(values.values, of, otherwise), values.offsets)

    def leaf(x: Any) -> Array:
        if isinstance(x, Masked):
            found = of(x)
            return found if isinstance(found, Array) else host_array(shared(found))
        return x if otherwise is None else otherwise(x)

    part = map_leaves(leaf, values.values, lambda x: isinstance(x, Masked) or is_node(x))
    return Ragged.made(part, values.offsets)


def _no_mask(x: Any) -> Array:
    """Bools of an array's shape that say that nothing is missing."""
    if isinstance(x, Tracer):
        return METHODS["full"](x.shape, False)
    return host_array(np.zeros(np.shape(x), np.bool_))
