"""fw.ragged: a Ragged from values and one of offsets, lengths and flags, checked.

    ragged(values, offsets=[0, 2, 2, 4])   lengths=[2, 0, 2]   flags=[T, F, T, F]

On host arrays the checks are made at once and values are not copied; inside a trace the program
makes them where this is called.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from flatweave.base.dtypes import DType, as_dtype, i64
from flatweave.base.errors import ArgumentError, DTypeError, ShapeError, Unsupported, UserError
from flatweave.base.source import user_location
from flatweave.frontend.arrays.shapes import concat
from flatweave.frontend.call.operation import operation
from flatweave.frontend.elements.branches import branch
from flatweave.frontend.elements.broadcast import generated, read
from flatweave.frontend.elements.lambdas import combine_lambda
from flatweave.frontend.elements.scalars import apply
from flatweave.frontend.ragged.ragged import Ragged
from flatweave.frontend.trace import extents
from flatweave.frontend.trace.extents import ONE, ZERO
from flatweave.frontend.trace.faults import CLASSES, check_message
from flatweave.frontend.trace.sizes import check
from flatweave.frontend.trace.tracers import as_tracer, as_tracers, emit, tracer_of
from flatweave.frontend.values.array import HostArray, Tracer, describe, kind_of
from flatweave.frontend.values.interop import is_number_list, list_values, values_of
from flatweave.frontend.values.scope import current
from flatweave.frontend.values.tree import flatten, unflatten
from flatweave.ops import Filter, Reduce, Scan
from flatweave.terms.build import index
from flatweave.terms.syntax import Atom

Values = np.ndarray[Any, np.dtype[Any]]
MOST = index(2**63 - 1)

# what can be wrong: the kind of the check, the message, what to do
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
FLAGS = ("shape", "ragged needs one flag for each value, got {0} for {1} values.",
         "Flag the first value of each row with True, all others with False.")  # fmt: skip
Fault = tuple[str, str, str]


@operation(host=lambda *args, **kwargs: _on_host(*args, **kwargs))
def ragged(values: Any, offsets: Any = None, lengths: Any = None, flags: Any = None) -> Any:
    """A Ragged of `values`, an array or a tree of arrays that share axis 0, cut into rows.

    Give one of: `offsets`, where each row begins and the last one ends (rows + 1 integers from 0
    to the number of values); `lengths`, one for each row; `flags`, a bool for each value, true
    where a row begins (the first value always begins one, and no row is empty). Host arrays are
    not copied: do not change them afterwards.
    Raises ArgumentError unless exactly one of the three is given, ShapeError when it does not fit
    the values, NegativeExtentError for a length below 0, ExtentOverflowError for too large ones.
    """
    name, given = _the_one(offsets, lengths, flags)
    leaves, tree = as_tracers(values, "values of ragged")
    _check_values(leaves)
    total = extents.same_length(leaves, "ragged", ["values"] * len(leaves))
    cut = as_tracer(given, f"the {name} of ragged")
    _check_cut(cut, name)
    if name == "flags":
        found = _from_flags(cut, total)
    elif name == "lengths":
        found = _from_lengths(wide(cut), total)
    else:
        fits = current().apply("le", total, index(_reach(cut.element)))
        _need(fits, _narrow(cut.element), total)
        found = wide(cut)
        _check_offsets(found, total)
    return Ragged.made(unflatten(tree, leaves), found)


def _reach(dtype: DType) -> int:
    """The greatest offset of a dtype."""
    return min(int(dtype.high), 2**63 - 1)


def _narrow(dtype: DType) -> Fault:
    """What to say where a dtype does not reach the last offset."""
    kind, message, remedy = NARROW
    return kind, message.format(dtype=dtype, high=dtype.high), remedy


def _the_one(offsets: Any, lengths: Any, flags: Any) -> tuple[str, Any]:
    """The one keyword that says where rows are."""
    named = [("offsets", offsets), ("lengths", lengths), ("flags", flags)]
    given = [(name, value) for name, value in named if value is not None]
    if len(given) != 1:
        names = " and ".join(name for name, _ in given) or "none"
        raise ArgumentError(
            f"ragged needs one of offsets, lengths and flags, got {names}.",
            where=user_location(), remedy="Say once where the rows are: offsets=[0, 2, 5].",
        )  # fmt: skip
    return given[0]


def _check_values(leaves: Sequence[Any]) -> None:
    if not leaves or not all(leaf.ndim for leaf in leaves):
        raise ShapeError(
            "ragged needs values in arrays of rank 1 or more.",
            where=user_location(), remedy="Give the elements of all rows, one after the other.",
        )  # fmt: skip


def _check_cut(cut: Any, name: str) -> None:
    """The array that says where rows are has one axis, and integers or bools."""
    if cut.ndim != 1:
        raise ShapeError(
            f"the {name} of ragged must be an array of rank 1, got {describe(cut)}.",
            where=user_location(), remedy="Give a flat array: one for each row or value.",
        )  # fmt: skip
    kind = cut.dtype.kind
    if kind == "b" if name == "flags" else kind in "iu":
        return
    wanted = "bool" if name == "flags" else "integers"
    raise DTypeError(
        f"the {name} of ragged must be {wanted}, got {describe(cut)}.",
        where=user_location(),
        remedy="Compare them first: flags != 0." if name == "flags" else "Use astype(fw.i64).",
    )


def wide(array: Tracer) -> Tracer:
    """Integers as i64."""
    if array.element is i64:
        return array
    return generated(array.extents, lambda i: _i64(read(array, (i,))))[0]


def _i64(value: Tracer) -> Tracer:
    return tracer_of(current().cast(value.atom, i64))


def _need(condition: Atom, fault: Fault, *values: Atom) -> None:
    """A check of the program."""
    kind, message, remedy = fault
    check(condition, kind, values, check_message(message, [], remedy))


def _first(count: Atom, holds: Any) -> Atom:
    """The first place where a condition holds; beyond every array when there is none."""
    places = generated((count,), lambda i: tracer_of(extents.select(holds(i), i, MOST)))[0]
    fn = combine_lambda(lambda a, b: [apply("minimum", a, b)], [i64])
    return emit(Reduce(fn, (MOST,), (places.atom,)))[0].atom


def _check_offsets(offsets: Tracer, total: Atom) -> None:
    """The checks that make offsets safe to read by, as part of the program."""
    scope = current()
    length = offsets.extents[0]
    _need(scope.apply("ge", length, ONE), NO_OFFSET)
    first = read(offsets, (ZERO,)).atom
    _need(scope.apply("eq", first, ZERO), FIRST, first)
    count = extents.sub(length, ONE)
    extents.known_extent(count)

    def own(i: Atom) -> Atom:
        behind = read(offsets, (extents.add(i, ONE),)).atom
        return extents.sub(behind, read(offsets, (i,)).atom)

    def falls(i: Atom) -> Atom:
        behind = read(offsets, (extents.add(i, ONE),)).atom
        return current().apply("lt", behind, read(offsets, (i,)).atom)

    _none_at(_first(count, falls), count, FALLING, own)
    last = read(offsets, (count,)).atom
    _need(scope.apply("eq", last, total), LAST, last, total)


def _none_at(found: Atom, count: Atom, fault: Fault, value: Any) -> None:
    """A check that a search came back without a place; else the place and its value are told."""
    scope = current()
    shown = scope.apply("eq", found, MOST)
    inside = extents.least(found, extents.sub(count, ONE))
    told = branch(tracer_of(shown), lambda: tracer_of(ZERO), lambda: tracer_of(value(inside)))
    _need(shown, fault, found, told.atom)


def _from_lengths(lengths: Tracer, total: Atom) -> Tracer:
    scope = current()
    count = lengths.extents[0]

    def at(i: Atom) -> Atom:
        return read(lengths, (i,)).atom

    _none_at(_first(count, lambda i: current().apply("lt", at(i), ZERO)), count, BELOW, at)
    plus = combine_lambda(lambda a, b: [apply("add", a, b)], [i64])
    sums = emit(Scan(plus, (ZERO,), (lengths.atom,), False, False))[0]
    zero = generated((ONE,), lambda i: tracer_of(ZERO))[0]
    offsets: Tracer = concat([zero, sums])
    # of sums that overflow, the first one wraps to below 0: lengths are natural
    wraps = _first(count, lambda i: current().apply("lt", read(sums, (i,)).atom, ZERO))
    _need(scope.apply("eq", wraps, MOST), TOO_MANY, wraps)
    last = read(offsets, (count,)).atom
    _need(scope.apply("eq", last, total), SUM, last, total)
    return offsets


def _from_flags(flags: Tracer, total: Atom) -> Tracer:
    """Where a flag is set, or the values begin; then the end."""
    length = flags.extents[0]
    if length != total:
        _need(current().apply("eq", length, total), FLAGS, length, total)

    def starts(i: Atom) -> Tracer:
        is_first = current().apply("eq", i, ZERO)
        return tracer_of(current().apply("or", is_first, read(flags, (i,)).atom))

    mask = generated((length,), starts)[0]
    places = generated((length,), tracer_of)[0]
    count, begins = emit(Filter(mask.atom, (places.atom,)))
    extents.known_extent(count.atom)
    end = generated((ONE,), lambda i: tracer_of(total))[0]
    offsets: Tracer = concat([begins, end])
    return offsets


# -- on the host ----------------------------------------------------------------------------------


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


def _require(condition: Any, fault: Fault, *values: Any) -> None:
    """The same check at once."""
    if condition:
        return
    kind, message, remedy = fault
    cls: type[UserError] = CLASSES[kind]
    raise cls(
        message.format(*(int(value) for value in values)), where=user_location(), remedy=remedy
    )


def _on_host(
    values: Any, offsets: Any = None, lengths: Any = None, flags: Any = None
) -> Ragged:
    """A Ragged of host arrays; values are seen, not copied, offsets are our own."""
    name, given = _the_one(offsets, lengths, flags)
    if isinstance(values, list) and not values:
        values = np.zeros(0)
    leaves, tree = flatten(values, is_number_list)
    if tree.irregular:
        raise Unsupported(
            "the values of ragged hold a Ragged: rows of rows are not there yet.",
            where=user_location(), remedy="Keep the offsets of the outer rows beside it.",
        )  # fmt: skip
    arrays = [_host_values(leaf, "values of ragged") for leaf in leaves]
    _check_values(arrays)
    total = len(arrays[0])
    for array in arrays[1:]:
        if len(array) != total:
            raise ShapeError(
                f"ragged needs arrays of one length, got {total} and {len(array)}.",
                where=user_location(), remedy="Cut both to the shorter one with xs[:n].",
            )  # fmt: skip
    cut = _host_values(given, f"the {name} of ragged")
    _check_cut(cut, name)
    found = _HOST[name](cut, total)
    found.setflags(write=False)
    return Ragged.made(unflatten(tree, [_seen(array) for array in arrays]), HostArray(found))


def _seen(array: Values) -> HostArray:
    """A read-only view of an array that stays its owner's."""
    view = array.view()
    view.setflags(write=False)
    return HostArray(view)


def _host_offsets(cut: Values, total: int) -> Values:
    offsets, dtype = np.array(cut, np.int64), as_dtype(cut.dtype)
    _require(total <= _reach(dtype), _narrow(dtype), total)
    _require(len(offsets), NO_OFFSET)
    _require(offsets[0] == 0, FIRST, offsets[0])
    falls = np.flatnonzero(offsets[1:] < offsets[:-1])
    if falls.size:
        _require(False, FALLING, falls[0], offsets[falls[0] + 1] - offsets[falls[0]])
    _require(offsets[-1] == total, LAST, offsets[-1], total)
    return offsets


def _host_lengths(cut: Values, total: int) -> Values:
    lengths = np.array(cut, np.int64)
    below = np.flatnonzero(lengths < 0)
    if below.size:
        _require(False, BELOW, below[0], lengths[below[0]])
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
    wraps = np.flatnonzero(offsets[1:] < 0)
    if wraps.size:
        _require(False, TOO_MANY, wraps[0])
    _require(offsets[-1] == total, SUM, offsets[-1], total)
    return offsets


def _host_flags(cut: Values, total: int) -> Values:
    _require(len(cut) == total, FLAGS, len(cut), total)
    starts = np.array(cut, np.bool_)
    starts[:1] = True
    return np.append(np.flatnonzero(starts), total).astype(np.int64)


_HOST = {"offsets": _host_offsets, "lengths": _host_lengths, "flags": _host_flags}
