"""fw.ragged of host arrays: checked at once, the values not copied.

    on_host(values, lengths=[2, 0, 2])      a Ragged that sees `values`
"""

from __future__ import annotations

from typing import Any

import numpy as np

from flatweave.base.dtypes import as_dtype
from flatweave.base.errors import ArgumentError, ShapeError, Unsupported, UserError
from flatweave.base.source import user_location
from flatweave.frontend.ragged.offsets import (
    BELOW,
    FALLING,
    FIRST,
    FLAGS,
    LAST,
    NO_OFFSET,
    SUM,
    TOO_MANY,
    Fault,
    check_cut,
    check_values,
    narrow,
    reach,
    the_one,
)
from flatweave.frontend.ragged.ragged import Ragged
from flatweave.frontend.trace.run_time_checks import CLASSES
from flatweave.frontend.values.array import HostArray, kind_of
from flatweave.frontend.values.asarray import is_number_list, list_values, values_of
from flatweave.frontend.values.tree import flatten, unflatten
from flatweave.runtime.cpu import shared

Values = np.ndarray[Any, np.dtype[Any]]


def _host_values(value: Any, name: str) -> Values:
    """A user's array or list of numbers as a NumPy array."""
    found = values_of(value, name)
    if found is None and isinstance(value, list):
        found = values_of(list_values(value) if value else np.zeros(0, np.int64), name)
    if found is None:
        raise ArgumentError(
            f"{name} must be an array, got {kind_of(value)}.",
            where=user_location(), remedy="Pass a NumPy array, a list of numbers or a fw.Array.",
        )  # fmt: skip
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
    """A Ragged of host arrays: a view of the values, a copy of the offsets."""
    name, given = the_one(offsets, lengths, flags)
    if isinstance(values, list) and not values:
        values = np.zeros(0)
    if isinstance(values, Ragged):
        return Ragged.made(values, _host_cut(given, name, len(values)))
    leaves, tree = flatten(values, is_number_list)
    if tree.irregular:
        raise Unsupported(
            "the values of ragged hold a Ragged beside other arrays.",
            where=user_location(), remedy="Make one Ragged of each, with the same lengths.",
        )  # fmt: skip
    arrays = [_host_values(leaf, "values of ragged") for leaf in leaves]
    check_values(arrays)
    total = len(arrays[0])
    for array in arrays[1:]:
        if len(array) != total:
            raise ShapeError(
                f"ragged needs arrays of one length, got {total} and {len(array)}.",
                where=user_location(), remedy="Cut both to the shorter one with xs[:n].",
            )  # fmt: skip
    offsets = _host_cut(given, name, total)
    return Ragged.made(unflatten(tree, [HostArray(shared(array)) for array in arrays]), offsets)


def _host_cut(given: Any, name: str, total: int) -> HostArray:
    """The offsets from the keyword that was given, checked."""
    cut = _host_values(given, f"the {name} of ragged")
    check_cut(cut, name)
    found = _HOST[name](cut, total)
    found.setflags(write=False)
    return HostArray(found)


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
