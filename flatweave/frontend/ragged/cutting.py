"""fw.ragged: a Ragged from values and one of offsets, lengths and flags, checked; or from rows.

    ragged(values, offsets=[0, 2, 2, 4])      lengths=[2, 0, 2]   flags=[T, F, T, F]
    rows_given([[1, 2], []], None)            rows one by one (row_lists.py)
    rows_given(np.ones((2, 3)), None)         two rows of three elements
    rows_given(pyarrow.array([[1], []]), ..)  a column of lists (exchange.py)
    rows_given(scipy.sparse.eye_array(3), ..) rows of pairs: a number and its column
    rows_given(np.ones(6), None)              None: flat values

On arrays outside a trace the checks are made at once and values are not copied, on a device either;
inside a trace the program makes them where this is called.
"""

from __future__ import annotations

from collections.abc import Iterator, Set
from typing import Any

import numpy as np

from flatweave.base.dtypes import i64
from flatweave.base.errors import ArgumentError
from flatweave.frontend.arrays.assignment import separated
from flatweave.frontend.arrays.sources import concat
from flatweave.frontend.call.operation import operation
from flatweave.frontend.elements.bodies import branch
from flatweave.frontend.elements.broadcasting import generated, read
from flatweave.frontend.elements.lambdas import combine_lambda
from flatweave.frontend.elements.scalars import apply
from flatweave.frontend.ragged.exchange import is_awkward, of_arrow, of_awkward
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
    on_host,
    reach,
    taken,
    the_one,
    without_nulls,
)
from flatweave.frontend.ragged.ragged import Ragged, row_count
from flatweave.frontend.ragged.row_lists import kinds_of, of_matrix, of_rows, retyped
from flatweave.frontend.trace import extents
from flatweave.frontend.trace.extents import ONE, ZERO
from flatweave.frontend.trace.run_time_checks import check, check_message
from flatweave.frontend.trace.tracers import as_tracer, as_tracers, emit, tracer_of
from flatweave.frontend.values.array import Array, Tracer, kind_of
from flatweave.frontend.values.arrow_columns import is_arrow
from flatweave.frontend.values.asarray import is_compressed, is_one_array, is_sparse, no_array
from flatweave.frontend.values.foreign_arrays import check_nulls
from flatweave.frontend.values.scope import current
from flatweave.frontend.values.tree import map_leaves, unflatten
from flatweave.ops import Filter, Reduce, Scan
from flatweave.terms.build import index
from flatweave.terms.syntax import Atom


def rows_given(values: Any, dtype: Any, nulls: str) -> Ragged | None:
    """The Ragged that values are without offsets, with Masked elements where some may be missing
    and nulls do not raise; None for an array or a tree of arrays."""
    if isinstance(values, Ragged):
        return values
    if isinstance(values, list):
        is_flat = values and kinds_of(values).keys() == {"number"}
        return None if is_flat else of_rows(values, dtype, nulls)
    if isinstance(values, np.ndarray) and values.dtype == object and values.ndim == 1:
        return of_rows(list(values), dtype, nulls)
    if isinstance(values, np.ndarray | Array):
        return of_matrix(values, nulls) if values.ndim > 1 else None
    found = _foreign(values, nulls)
    if found is not None:
        return found
    if isinstance(values, Iterator | Set):
        raise ArgumentError.here(
            f"ragged got {kind_of(values)}, which has no order or can be read once only.",
            "Make a list of rows first: fw.ragged(list(rows)).",
        )
    return None


def _foreign(values: Any, nulls: str) -> Ragged | None:
    """The rows of another library's column of lists."""
    if is_awkward(values):
        return of_awkward(values, nulls)
    if hasattr(values, "iloc"):  # pandas
        column: Any = getattr(values, "array", None)
        if getattr(values, "dtype", None) == np.dtype(object):
            return of_rows(list(column), None, nulls)
        if hasattr(column, "__arrow_array__"):
            return of_arrow(column.__arrow_array__(), nulls)
    if is_compressed(values):
        return on_host((values.data, values.indices), offsets=values.indptr)
    if is_sparse(values):
        raise no_array(values)
    return of_arrow(values, nulls) if is_arrow(values) else None


def _settled(rows: Ragged, dtype: Any, nulls: str) -> Ragged | tuple[Ragged, Ragged]:
    """Rows of a dtype, without what is missing: a pair of them and of masks for "mask"."""
    found, missing = without_nulls(rows, nulls) if nulls != "raise" else (rows, None)
    found = retyped(found, dtype, nulls)
    return found if missing is None else (found, missing)


MOST = index(2**63 - 1)


def _host(
    values: Any, offsets: Any = None, lengths: Any = None, flags: Any = None, dtype: Any = None,
    *, nulls: str = "raise", check: bool = True,
) -> Ragged | tuple[Ragged, Ragged]:  # fmt: skip
    """A Ragged of host arrays, or of rows one by one."""
    if not check and lengths is flags is dtype is None:
        return Ragged.made(values, offsets)
    check_nulls(nulls)
    found = rows_given(values, dtype, nulls) if offsets is lengths is flags is None else None
    if found is None:
        found = on_host(_taken(values, nulls), offsets, lengths, flags)
    return _settled(found, dtype, nulls)


def _taken(values: Any, nulls: str) -> object:
    """Arrays, of other libraries among them, as they are cut into rows."""
    if nulls == "raise" or isinstance(values, Ragged):
        return values
    return map_leaves(lambda leaf: taken(leaf, nulls), values, is_one_array)


@operation(host=_host, static="dtype nulls check")
def ragged(
    values: Any, offsets: Any = None, lengths: Any = None, flags: Any = None, dtype: Any = None,
    *, nulls: str = "raise", check: bool = True,
) -> Ragged | tuple[Ragged, Ragged]:  # fmt: skip
    """A Ragged of `values`, an array or a tree of arrays that share axis 0, cut into rows.

    Rows may be given one by one, `[[1, 2], [], [3]]`, as lists, arrays or Ragged values; elements
    that are tuples or dicts are records, and lists of lists of lists are a Ragged of Ragged, which
    `values` that are a Ragged make as well. A matrix gives its rows, and columns of lists of
    Awkward, Arrow, polars and pandas theirs. Otherwise give one of: `offsets`, where each row
    begins and the last one ends (rows + 1 integers from 0 to the number of values); `lengths`, one
    for each row; `flags`, a bool for each value, true where a row begins (the first value always
    begins one, and no row is empty). `dtype` is that of the values, or of a record's fields; by
    default it is theirs, f64 where there are none. Arrays are not copied, and stay on their device;
    of offsets a copy is checked on the host. Do not change them afterwards. `check=False` takes
    arrays of `fw` as values and offsets that are known to fit.

    Elements that are missing in another library's column or in a masked array are no numbers:
    `nulls="nan"` makes them NaN, and integers of which any is missing f64, while `nulls="mask"`
    gives two Ragged values: the rows, and for each element True where it is missing and means
    nothing. Rows that are missing raise.

    Raises ArgumentError unless exactly one of the three is given, for nulls otherwise, and for
    None in lists; ShapeError when rows do not fit the values, NegativeExtentError for a length
    below 0, ExtentOverflowError for too large ones.

    Types: `values: t[m], offsets: i64[n + 1] ->` n rows, or as said above.
    Source: Awkward's `ak.Array`; Arrow's lists.

        >>> fw.ragged([1, 2, 3], lengths=[2, 0, 1])
        Ragged([[1, 2], [], [3]], dtype=int64)
    """
    if not check and lengths is flags is dtype is None:
        return Ragged.made(separated(values), separated(as_tracer(offsets)))
    check_nulls(nulls)
    rows = rows_given(values, dtype, nulls) if offsets is lengths is flags is None else None
    if rows is None:
        rows = _cut(separated(_taken(values, nulls)), offsets, lengths, flags)
    return _settled(rows, dtype, nulls)


def _cut(values: Any, offsets: Any, lengths: Any, flags: Any) -> Ragged:
    """Traced values cut into rows."""
    name, given = the_one(offsets, lengths, flags)
    if isinstance(values, Ragged):
        total = row_count(as_tracer(values.offsets))
    else:
        leaves, tree = as_tracers(values, "values of ragged")
        check_values(leaves)
        total = extents.same_length(leaves, "ragged", ["values"] * len(leaves))
        values = unflatten(tree, leaves)
    cut = separated(as_tracer(given, f"the {name} of ragged"))
    check_cut(cut, name)
    if name == "flags":
        found = _from_flags(cut, total)
    elif name == "lengths":
        found = _from_lengths(wide(cut), total)
    else:
        fits = current().apply("le", total, index(reach(cut.element)))
        need(fits, narrow(cut.element), total)
        found = wide(cut)
        _check_offsets(found, total)
    return Ragged.made(values, found)


def wide(array: Tracer) -> Tracer:
    """Integers as i64."""
    if array.element is i64:
        return array
    return generated(array.extents, lambda i: _i64(read(array, (i,))))[0]


def _i64(value: Tracer) -> Tracer:
    return tracer_of(current().cast(value.atom, i64))


def need(condition: Atom, fault: Fault, *values: Atom) -> None:
    """A check of the program."""
    kind, message, remedy = fault
    check(condition, kind, values, check_message(message, [], remedy))


def first_place(count: Atom, holds: Any) -> Atom:
    """The first index at which a condition holds, or MOST."""
    places = generated((count,), lambda i: tracer_of(extents.select(holds(i), i, MOST)))[0]
    fn = combine_lambda(lambda a, b: [apply("minimum", a, b)], [i64])
    return emit(Reduce(fn, (MOST,), (places.atom,)))[0].atom


def _check_offsets(offsets: Tracer, total: Atom) -> None:
    """The checks after which offsets are safe to index by, as part of the program."""
    scope = current()
    length = offsets.extents[0]
    need(scope.apply("ge", length, ONE), NO_OFFSET)
    first = read(offsets, (ZERO,)).atom
    need(scope.apply("eq", first, ZERO), FIRST, first)
    count = extents.known_extent(extents.sub(length, ONE))

    def own(i: Atom) -> Atom:
        behind = read(offsets, (extents.add(i, ONE),)).atom
        return extents.sub(behind, read(offsets, (i,)).atom)

    def falls(i: Atom) -> Atom:
        behind = read(offsets, (extents.add(i, ONE),)).atom
        return current().apply("lt", behind, read(offsets, (i,)).atom)

    none_at(first_place(count, falls), count, FALLING, own)
    last = read(offsets, (count,)).atom
    need(scope.apply("eq", last, total), LAST, last, total)


def none_at(found: Atom, count: Atom, fault: Fault, value: Any) -> None:
    """A check that a search found nothing; the message has the index found and a value there."""
    scope = current()
    shown = scope.apply("eq", found, MOST)
    inside = extents.least(found, extents.sub(count, ONE))
    at_end, at_index = lambda: tracer_of(ZERO), lambda: tracer_of(value(inside))
    reported = branch(tracer_of(shown), at_end, at_index)
    need(shown, fault, found, reported.atom)


def _from_lengths(lengths: Tracer, total: Atom) -> Tracer:
    scope = current()
    count = lengths.extents[0]

    def at(i: Atom) -> Atom:
        return read(lengths, (i,)).atom

    none_at(first_place(count, lambda i: current().apply("lt", at(i), ZERO)), count, BELOW, at)
    offsets = offsets_from(lengths)
    last = read(offsets, (count,)).atom
    need(scope.apply("eq", last, total), SUM, last, total)
    return offsets


def offsets_from(lengths: Tracer, may_overflow: bool = True) -> Tracer:
    """The offsets of rows of these lengths, which are known not to be negative."""
    plus = combine_lambda(lambda a, b: [apply("add", a, b)], [i64])
    sums = emit(Scan(plus, (ZERO,), (lengths.atom,), False, False))[0]
    zero = generated((ONE,), lambda i: tracer_of(ZERO))[0]
    offsets = as_tracer(concat([zero, sums]))
    if may_overflow:  # of sums that overflow, the first one wraps to below 0
        count = lengths.extents[0]
        wraps = first_place(count, lambda i: current().apply("lt", read(sums, (i,)).atom, ZERO))
        need(current().apply("eq", wraps, MOST), TOO_MANY, wraps)
    return offsets


def _from_flags(flags: Tracer, total: Atom) -> Tracer:
    """Offsets from flags: each flagged position and the first one, then the end."""
    length = flags.extents[0]
    if length != total:
        need(current().apply("eq", length, total), FLAGS, length, total)

    def starts(i: Atom) -> Tracer:
        is_first = current().apply("eq", i, ZERO)
        return tracer_of(current().apply("or", is_first, read(flags, (i,)).atom))

    mask = generated((length,), starts)[0]
    places = generated((length,), tracer_of)[0]
    count, begins = emit(Filter(mask.atom, (places.atom,)))
    extents.known_extent(count.atom)
    end = generated((ONE,), lambda i: tracer_of(total))[0]
    return as_tracer(concat([begins, end]))
