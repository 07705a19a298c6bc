"""Scans: cumsum and cumprod along an axis, and segmented scans and reductions.

    cumsum(xs, axis=1)          one flat scan that starts anew with every row
    cumsum(xs, axis=0)          by blocks of rows (arrays/row_scans.py)

    flags  [T, F, F, T, F]      a flag starts a segment, and so does the first element
    xs     [1, 2, 3, 4, 5]
    segmented_scan add 0        [1, 3, 6, 4, 9]
    segmented_reduce add 0      [6, 9]

A segmented scan starts anew at each flag (Blelloch; Elsman 2019, section 2.1).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flatweave.base.dtypes import DType, bool_, i64
from flatweave.base.errors import DTypeError, ShapeError
from flatweave.base.records import record
from flatweave.frontend.arrays.axes import converted
from flatweave.frontend.arrays.columns import compacted, rows_shape, scalar_operator
from flatweave.frontend.arrays.row_scans import scan_along
from flatweave.frontend.arrays.shapes import axis_of, raveled, reshaped
from flatweave.frontend.call.operation import operation
from flatweave.frontend.elements.bodies import arrays_of_one_length
from flatweave.frontend.elements.broadcasting import generated, read
from flatweave.frontend.elements.lambdas import (
    combine_lambda,
    element_type,
    neutral,
    operator,
    single,
)
from flatweave.frontend.elements.scalars import apply, where
from flatweave.frontend.functions.combinators import map, scan
from flatweave.frontend.trace import extents
from flatweave.frontend.trace.extents import ONE, ZERO
from flatweave.frontend.trace.tracers import as_tracer, emit, flag_of, restructured, tracer_of
from flatweave.frontend.values.arguments import dtype_of, wide_dtype
from flatweave.frontend.values.array import Array, Tracer, describe
from flatweave.frontend.values.scope import current
from flatweave.frontend.values.tree import Tree, flatten, unflatten
from flatweave.ops import ReduceSegments, Scan
from flatweave.scalar import ops as scalar
from flatweave.terms.syntax import Atom, Lambda, constant


@operation(static="axis dtype", axial=True)
def cumsum(xs: Any, axis: Any = None, dtype: Any = None) -> Array:
    """The sum of the elements up to each one, in flat order or along `axis`; dtypes as `sum`'s.

    Types: `xs: t[..] -> t[..]`, small integers in i64 or u64; of rank 1 without an axis. Raises
    AxisError for an axis that is not there. Source: `numpy.cumsum`.

        >>> fw.cumsum([[1, 2], [3, 4]], axis=1)
        Array([[1, 3],
               [3, 7]], dtype=int64)
    """
    return _cumulative("cumsum", "add", xs, axis, dtype)


@operation(static="axis dtype", axial=True)
def cumprod(xs: Any, axis: Any = None, dtype: Any = None) -> Array:
    """The product of the elements up to each one, in flat order or along `axis`.

    Types: `xs: t[..] -> t[..]`, small integers in i64 or u64; of rank 1 without an axis. Raises
    AxisError for an axis that is not there. Source: `numpy.cumprod`.

        >>> fw.cumprod([2, 3, 4])
        Array([ 2,  6, 24], dtype=int64)
    """
    return _cumulative("cumprod", "mul", xs, axis, dtype)


def _cumulative(who: str, fn: str, xs: Any, axis: Any, dtype: Any) -> Tracer:
    array = single(xs, who)
    wanted = wide_dtype(array.element) if dtype is None else dtype_of(dtype)
    array = converted(array, wanted)
    if axis is None:
        array = raveled(array)
    number = 0 if axis is None else axis_of(array, axis, who)
    if array.extents[number] == extents.ONE:
        return array
    if all(array.extents[a] == extents.ONE for a in range(array.ndim) if a != number):
        flat = reshaped(array, [array.extents[number]])
        return reshaped(_running(fn, wanted, flat, 0), array.extents)
    return _running(fn, wanted, array, number)


def _running(fn: str, wanted: DType, array: Tracer, axis: int) -> Tracer:
    """The prefixes along one axis, from the identity on."""
    lambda_ = combine_lambda(lambda a, b: [apply(fn, a, b)], [wanted])
    start = [constant(scalar.identity(fn, wanted), wanted)]
    return scan_along(lambda_, start, [array], axis)[0]


def flags_of(flags: Any, who: str) -> Tracer:
    """The flags as a traced array of bools; DTypeError or ShapeError for anything else."""
    array = single(flags, f"the flags of {who}")
    if array.ndim != 1:
        raise ShapeError.here(
            f"the flags of {who} must be an array of rank 1, got {describe(array)}.",
            "Give one bool for each element.",
        )
    if array.element is not bool_:
        raise DTypeError.here(
            f"the flags of {who} must be bool, got {describe(array)}.",
            "Compare them first, for instance with flags != 0.",
        )
    return array


@record(eq=True)
class Segments:
    """What a segmented operation is given: flags, arrays and their tree, operator, neutral element.

    `fn` is the operator `op`, traced; `who` is the function that messages name.
    """

    starts: Tracer
    arrays: list[Tracer]
    tree: Tree
    op: Callable[[Any, Any], Any]
    fn: Lambda
    neutrals: list[Tracer]
    who: str


def _given(
    op: Callable[[Any, Any], Any], initial: Any, flags: Any, xs: Any, who: str, check: bool
) -> Segments:
    """The arguments of a segmented operation, checked."""
    arrays, tree = arrays_of_one_length(xs, who)
    starts = flags_of(flags, who)
    extents.same_length([starts, *arrays], who, ["flags", *["xs"] * len(arrays)])
    first = neutral(initial, tree, arrays, who)
    fn = operator(op, tree, [element_type(x) for x in arrays], who, flag_of(check, "check"))
    return Segments(starts, arrays, tree, op, fn, first, who)


def _scanned(given: Segments) -> list[Tracer]:
    """The scan of each segment."""
    if any(x.ndim > 1 for x in given.arrays):
        scalar = scalar_operator(given.fn)
        alike = all(x.ndim == given.arrays[0].ndim for x in given.arrays)
        if scalar is None or not alike or any(e.ndim for e in given.neutrals):
            return _scan_pairs(given)
        return _scan_columns(given, scalar)
    atoms, neutrals = tuple(x.atom for x in given.arrays), tuple(e.atom for e in given.neutrals)
    return emit(Scan(given.fn, neutrals, atoms, starts=(given.starts.atom,)))


def _scan_columns(given: Segments, scalar: Lambda) -> list[Tracer]:
    """A segmented scan of rows by an elementwise operator: one scan for each column."""
    arrays, flags = given.arrays, given.starts
    length, rest = arrays[0].extents[0], rows_shape(arrays, given.who)

    def turned(*at: Atom) -> list[Tracer]:
        return [_begins(flags, at[-1]), *(read(x, (at[-1], *at[:-1])) for x in arrays)]

    starts, *columns = generated((*rest, length), turned)
    atoms, neutrals = tuple(x.atom for x in columns), tuple(e.atom for e in given.neutrals)
    found = emit(Scan(scalar, neutrals, atoms, starts=(starts.atom,)))
    return generated(
        arrays[0].extents, lambda *at: [read(x, (*at[1:], at[0])) for x in found]
    )


def _scan_pairs(given: Segments) -> list[Tracer]:
    """A segmented scan of rows by an operator that needs them whole: of pairs, with a flag.

        (f, x) op' (g, y)  =  (f or g, y where g, else x op y)

    `op'` is associative when `op` is (Blelloch 1990, section 1.5). The neutral element is combined
    with the first element of each segment beforehand.
    """
    op, first = given.op, unflatten(given.tree, given.neutrals)
    starts = generated(given.starts.extents, lambda i: _begins(given.starts, i))[0]

    def joined(left: tuple[Tracer, Any], right: tuple[Tracer, Any]) -> tuple[Tracer, object]:
        return left[0] | right[0], _either(right[0], right[1], op(left[1], right[1]))

    elements = unflatten(given.tree, given.arrays)
    entered = map(lambda begins, x: _either(begins, op(first, x), x), starts, elements)
    scanned = scan(joined, (False, first), (starts, entered))[1]
    return flatten(scanned)[0]


def _begins(flags: Tracer, i: Atom) -> Tracer:
    """Whether a segment begins at an index."""
    scope = current()
    return tracer_of(scope.apply("or", scope.apply("eq", i, ZERO), read(flags, (i,)).atom))


def _either(p: Any, a: Any, b: Any) -> Array:
    """One of two elements of one structure."""
    (ones, tree), others = flatten(a), flatten(b)[0]
    pairs = zip(ones, others, strict=True)
    return restructured(tree, [as_tracer(where(p, x, y)) for x, y in pairs])


@operation(static="check", renamed="ne=initial")
def segmented_scan(
    op: Callable[[Any, Any], Any], initial: Any, flags: Any, xs: Any, *, check: bool = True
) -> Array:
    """`scan(op, initial, ..)` of each segment of `xs` separately; a flag starts a segment.

    `flags` is an array of bools as long as `xs`; the first element starts a segment whether it is
    flagged or not. Elements may be tuples or rows, as for `scan` (Elsman 2019, section 2.1).
    Raises ShapeError when lengths differ, DTypeError when flags are no bools, OperatorError for
    operators as `scan`, whose `check` this is.

    Types: `op: (t, t) -> t, initial: t, flags: bool[n], xs: t[n] -> t[n]`.

        >>> fw.segmented_scan(fw.add, 0, np.array([True, False, True]), np.array([1, 2, 3]))
        Array([1, 3, 3], dtype=int64)
    """
    given = _given(op, initial, flags, xs, "segmented_scan", check)
    return restructured(given.tree, _scanned(given))


@operation(static="check", renamed="ne=initial")
def segmented_reduce(
    op: Callable[[Any, Any], Any], initial: Any, flags: Any, xs: Any, *, check: bool = True
) -> Array:
    """`reduce(op, initial, ..)` of each segment of `xs`: as many results as segments start.

    One pass over the data, however long the segments are. Flags and errors are those of
    `segmented_scan`.

    Types: `op: (t, t) -> t, initial: t, flags: bool[n], xs: t[n] -> t[segments]`. Raises DTypeError
    when flags are no bools, and as `segmented_scan`.
    Source: Blelloch 1990; Elsman 2019, section 2.1.

        >>> fw.segmented_reduce(fw.add, 0, np.array([True, False, True]), np.array([1, 2, 3]))
        Array([3, 3], dtype=int64)
    """
    given = _given(op, initial, flags, xs, "segmented_reduce", check)
    if any(x.ndim > 1 for x in given.arrays):
        return restructured(given.tree, _last_rows(given))
    neutrals = tuple(e.atom for e in given.neutrals)
    atoms = tuple(x.atom for x in given.arrays)
    count, *results = emit(ReduceSegments(given.fn, neutrals, given.starts.atom, atoms))
    extents.known_extent(count.atom)
    return restructured(given.tree, results)


def _last_rows(given: Segments) -> list[Tracer]:
    """A segmented reduction of rows: the last element of each segment's scan."""
    starts, scanned = given.starts, _scanned(given)
    length = starts.extents[0]

    def is_last(i: Atom) -> Tracer:
        scope = current()
        behind = extents.add(i, ONE)
        inside = extents.least(behind, extents.sub(length, ONE))
        ends = scope.apply("eq", behind, length)
        return tracer_of(scope.apply("or", ends, read(starts, (inside,)).atom))

    return compacted(generated((length,), is_last)[0], scanned)


@operation()
def segmented_iota(flags: Any) -> Array:
    """The index of each element in its segment: [F, F, F, T, F, F] gives [0, 1, 2, 0, 1, 2].

    An i64 array as long as `flags` (Elsman 2019, section 2.3).
    Raises DTypeError when flags are no bools.

    Types: `flags: bool[n] -> i64[n]`.

        >>> fw.segmented_iota(np.array([True, False, True, False]))
        Array([0, 1, 0, 1], dtype=int64)
    """
    starts = flags_of(flags, "segmented_iota")
    ones = generated(starts.extents, lambda i: tracer_of(ONE))[0]
    plus = combine_lambda(lambda a, b: [apply("add", a, b)], [i64])
    upto = emit(Scan(plus, (ZERO,), (ones.atom,), starts=(starts.atom,)))[0]

    def place(i: Atom) -> Tracer:
        return tracer_of(extents.sub(read(upto, (i,)).atom, ONE))

    return generated(starts.extents, place)[0]
