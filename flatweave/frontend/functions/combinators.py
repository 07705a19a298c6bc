"""map, reduce, scan, filter, partition, generate: what a data-parallel language begins with.

    map(f, xs)                 [f(x) for x in xs]
    scan(op, initial, xs)      every prefix, also exclusive and from the end
    generate(n, f)             [f(0), .., f(n - 1)]
    generate((n, m), f)        element (i, j) is f(i, j)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from flatweave.base.dtypes import bool_, i64
from flatweave.base.errors import ArgumentError, DTypeError
from flatweave.frontend.arrays import columns
from flatweave.frontend.arrays.columns import compacted
from flatweave.frontend.call.operation import operation
from flatweave.frontend.elements.bodies import arrays_of_one_length, check_regular
from flatweave.frontend.elements.broadcasting import generated
from flatweave.frontend.elements.lambdas import (
    check_arity,
    element_function,
    element_type,
    need_function,
    neutral,
    operator,
    shape_text,
)
from flatweave.frontend.ragged.map_rows import (
    Result,
    is_irregular,
    map_rows,
    mapped,
    nested,
    result_of,
)
from flatweave.frontend.ragged.ragged import Ragged
from flatweave.frontend.ragged.rearranging import gathered
from flatweave.frontend.trace.extents import known_part, same_length, shape_of
from flatweave.frontend.trace.trace import lifted
from flatweave.frontend.trace.tracers import (
    as_tracer,
    as_tracers,
    emit,
    flag_of,
    lifted_short,
    restructured,
    tracer_of,
)
from flatweave.frontend.values.array import Array, Tracer
from flatweave.frontend.values.asarray import is_one_array
from flatweave.frontend.values.number_formats import Composed
from flatweave.frontend.values.scope import Scope, current
from flatweave.frontend.values.tree import LEAF, Tree, is_node, map_leaves, paths, unflatten
from flatweave.ops import Generate, Map, Reduce, Scan
from flatweave.terms.syntax import Atom, Var

Out = TypeVar("Out")
"""What a function of elements gives; that of all elements has one more axis."""


@operation()
def generate(shape: Any, f: Callable[..., Out]) -> Out:
    """The array of `shape` whose element at (i, j, ..) is `f(i, j, ..)`; `shape` may be an int.

    `f` gets one i64 for each axis and gives an element, which may be a tuple, or a row. Rows of
    varying lengths along one axis are a Ragged.
    Raises NegativeExtentError for an extent below 0, NestingError for rows of varying lengths
    along several axes.

    Types: `shape: k extents, f: k i64 -> t -> t[shape]`. Source: Accelerate's `generate`.

        >>> fw.generate((2, 3), lambda i, j: i * 10 + j)
        Array([[ 0,  1,  2],
               [10, 11, 12]], dtype=int64)
    """
    extents = shape_of(shape, "generate")
    check_arity(need_function(f, "generate"), len(extents), "generate")
    if not extents:
        leaves, tree = as_tracers(f(), "the result of generate", structured=True)
        element: Out = unflatten(tree, leaves)
        return element
    found: list[tuple[Result, Scope]] = []

    def body(inside: Scope, params: tuple[Var, ...]) -> list[Atom]:
        for param, extent in zip(params, extents, strict=True):
            inside.natural.add(param)
            inside.trace.bounds[param] = extent
        value = f(*(tracer_of(param) for param in params))
        found.append((result_of(value, f, inside), inside))
        return [leaf.atom for leaf in found[0][0].leaves]

    fn = current().function([i64] * len(extents), body, "i")
    result, inside = found[0]
    if len(extents) == 1:
        rows: Out = nested(extents[0], fn, result, inside)
        return rows
    for leaf in result.leaves:
        check_regular(leaf, f, "generate")
    array: Out = result.rebuild(list(emit(Generate(extents, fn))) if result.leaves else [])
    return array


@operation()
def map(f: Callable[..., Out], *xs: Any) -> Out:
    """`f` on every element along axis 0, as an array: `map(f, xs, ys)[i] = f(xs[i], ys[i])`.

    An element of a rank-1 array is a scalar, of a rank-n array a row of rank n-1; of a tuple of
    arrays it is a tuple, of a Ragged a row. What `f` gives becomes the arrays of the result, in
    the same structure; what keeps a row's length becomes a Ragged.
    Raises ShapeError when the arrays differ in length, Unsupported for rows that are not made
    element by element.

    Types: `f: (a, b, ..) -> r, xs: a[n, ..], b[n, ..], .. -> r[n]`.
    Source: Accelerate's `map`; Futhark's `map`.

        >>> fw.map(lambda x, y: x * y, np.array([1, 2]), np.array([3, 4]))
        Array([3, 8], dtype=int64)
    """
    need_function(f, "map")
    if not xs:
        raise ArgumentError.here(
            "map needs at least one array after the function.",
            "Use fw.generate(n, f) for a function of the index.",
        )
    if is_irregular(xs):
        rows: Out = map_rows(f, xs)
        return rows
    arrays: list[Tracer] = []
    trees: list[Tree] = []
    names: list[str] = []
    for number, x in enumerate(xs, 1):
        name = "xs" if len(xs) == 1 else f"array {number}"
        leaves, tree = arrays_of_one_length(x, "map", name)
        arrays += leaves
        trees.append(tree)
        names += [name + path for path in paths(tree)]
    same_length(arrays, "map", names)
    result: Out = mapped(f, arrays, trees)
    return result


@operation(static="check", renamed="ne=initial")
def reduce(
    op: Callable[[Any, Any], Any], initial: Any, xs: Any, *, check: bool = True
) -> Array:
    """`functools.reduce(op, xs, initial)` for an associative `op`: `initial op xs[0] op xs[1] ..`.

    `initial` is applied once, at the left, and need not be neutral; it takes the elements' dtypes.
    Elements may be tuples: `op((x1, y1), (x2, y2))`. Rows of an array of rank n are combined
    element by element. Raises OperatorError when `op` does not give an element back, or is not
    associative on a few elements, which the first call tries unless `check=False`.

    Types: `op: (t, t) -> t, initial: t, xs: t[n] -> t`. Source: `functools.reduce`.

        >>> fw.reduce(fw.maximum, 0, np.array([3, 9, 2]))
        Array(9, dtype=int64)
    """
    return reduction(op, initial, xs, "reduce", check)


def reduction(
    op: Callable[[Any, Any], Any], initial: Any, xs: Any, who: str, check: bool
) -> Array:
    """The reduction that a public function makes; messages name that function."""
    arrays, tree = arrays_of_one_length(xs, who)
    start = neutral(initial, tree, arrays, who)
    fn = operator(op, tree, [element_type(x) for x in arrays], who, flag_of(check, "check"))
    if any(x.ndim > 1 for x in arrays):
        return restructured(tree, columns.reduce_rows(fn, start, arrays))
    op_ = Reduce(fn, tuple(e.atom for e in start), tuple(x.atom for x in arrays))
    return restructured(tree, emit(op_))


@operation(static="exclusive reverse check", renamed="ne=initial")
def scan(
    op: Callable[[Any, Any], Any],
    initial: Any,
    xs: Any,
    *,
    exclusive: bool = False,
    reverse: bool = False,
    check: bool = True,
) -> Array:
    """Every prefix combined by the associative `op`: `y[i] = y[i-1] op x[i]`, from `initial`.

    As `itertools.accumulate(xs, op, initial=initial)` without its first value; `exclusive` leaves
    out the last instead. `initial` is applied once and need not be neutral. `reverse` combines
    every suffix, `y[i] = x[i] op y[i+1]`, `initial` at the right. One pass over the data (Merrill
    and Garland 2016).
    Raises OperatorError when `op` does not give an element back, or is not associative on a few
    elements, which the first call tries unless `check=False`. What is not associative, such as
    `lambda y, x: .9 * y + .1 * x`, is a loop: `fori_loop`.

    Types: `op: (t, t) -> t, initial: t, xs: t[n] -> t[n]`. Source: `itertools.accumulate`.

        >>> fw.scan(fw.add, 0, np.array([1, 2, 3]))
        Array([1, 3, 6], dtype=int64)
        >>> fw.scan(fw.add, 0, np.array([1, 2, 3]), exclusive=True)
        Array([0, 1, 3], dtype=int64)
    """
    arrays, tree = arrays_of_one_length(xs, "scan")
    exclusive, reverse = flag_of(exclusive, "exclusive"), flag_of(reverse, "reverse")
    start = neutral(initial, tree, arrays, "scan")
    check = flag_of(check, "check")
    fn = operator(op, tree, [element_type(x) for x in arrays], "scan", check)
    if any(x.ndim > 1 for x in arrays):
        return restructured(tree, columns.scan_rows(fn, start, arrays, exclusive, reverse))
    atoms = tuple(x.atom for x in arrays)
    op_ = Scan(fn, tuple(e.atom for e in start), atoms, exclusive, reverse)
    return restructured(tree, emit(op_))


def mask_of(p: Callable[..., Any], arrays: list[Tracer], tree: Tree, who: str) -> Tracer:
    """Where the predicate holds."""
    need_function(p, who)
    fn, given, results = element_function(p, [tree], [element_type(x) for x in arrays], who)
    if given != LEAF or results[0].element is not bool_ or results[0].ndim:
        raise _no_bool(who, shape_text(given, results))
    return emit(Map(fn, tuple(x.atom for x in arrays), 1))[0]


def _no_bool(who: str, given: str) -> DTypeError:
    return DTypeError.here(
        f"the predicate of {who} gives {given}, needs bool.",
        "Compare its result, for instance with != 0; fw.any and fw.all make one of many.",
    )


def _mask_of_rows(p: Callable[..., Any], rows: Ragged, who: str) -> Tracer:
    """For each row whether the predicate holds."""
    mask = map_rows(need_function(p, who), [rows])
    if isinstance(mask, Tracer) and mask.element is bool_ and mask.ndim == 1:
        return mask
    leaves, given = as_tracers(mask, irregular=True)
    raise _no_bool(who, shape_text(given, leaves))


def _places(mask: Tracer) -> Tracer:
    """The numbers of the elements where the mask holds."""
    return compacted(mask, generated(mask.extents, tracer_of))[0]


@operation()
def filter(p: Callable[[Any], Any], xs: Any) -> Array | Ragged:
    """The elements for which `p` holds, in order; of a Ragged the rows.

    Raises DTypeError unless `p` gives a bool.

    Types: `p: t -> bool, xs: t[n] -> t[k]`, k known when it runs. Source: Python's `filter`.

        >>> fw.filter(lambda x: x % 2 == 1, np.array([1, 2, 3]))
        Array([1, 3], dtype=int64)
    """
    if isinstance(xs, Ragged):
        mask = _mask_of_rows(p, xs, "filter")
        return gathered(xs, _places(mask))
    arrays, tree = arrays_of_one_length(xs, "filter")
    return restructured(tree, compacted(mask_of(p, arrays, tree, "filter"), arrays))


@operation()
def partition(p: Callable[[Any], Any], xs: Any) -> tuple[Array | Ragged, Array | Ragged]:
    """The elements for which `p` holds, and the others: two arrays, each in order.

    Types: `p: t -> bool, xs: t[n] -> (t[k], t[n - k])`. Raises DTypeError unless `p` gives a bool.
    Source: Haskell's `partition`.

        >>> fw.partition(lambda x: x > 1, np.array([1, 2, 0, 3]))
        (Array([2, 3], dtype=int64), Array([1, 0], dtype=int64))
    """
    if isinstance(xs, Ragged):
        mask = _mask_of_rows(p, xs, "partition")
        return gathered(xs, _places(mask)), gathered(xs, _places(as_tracer(~mask)))
    arrays, tree = arrays_of_one_length(xs, "partition")
    mask = mask_of(p, arrays, tree, "partition")
    holds, others = compacted(mask, arrays), compacted(as_tracer(~mask), arrays)
    for part, is_first in ((holds, True), (others, False)):
        known_part(part[0].extents[0], arrays[0].extents[0], mask.atom, is_first=is_first)
    return restructured(tree, holds), restructured(tree, others)


@operation()
def store(x: Any) -> Array:
    """`x` itself, kept in memory: what reads it loads its elements, and computes none of them
    again.

    Fusion leaves out arrays whose elements it can compute where they are read; nothing is fused
    across a `store`, and `stages.manifest` lists the array. `x` is any structure of arrays and
    Ragged values. In an element function the arrays of all rows are stored in one array.
    Numbers, and arguments of the compiled function, are given back as they are. Raises
    ArgumentError for what is no array.

    Types: `x: t -> t`. Source: Flatweave; Accelerate's `compute`.

        >>> fw.store(np.array([1, 2]) * 2)
        Array([2, 4], dtype=int64)
    """
    kept: Array = map_leaves(_stored, x, is_one_array)
    return kept


def _stored(x: Any) -> object:
    if isinstance(x, Ragged):
        return Ragged.made(map_leaves(_stored, x.values, is_node), x.offsets)
    value = lifted(lifted_short(x))
    if isinstance(value, Composed):
        return value.made(*(_stored(getattr(value, part)) for part in value.parts))
    array = as_tracer(value, "x of store")
    if not array.ndim or array.atom in current().trace.params:
        return array
    same = current().function([array.element], lambda inside, params: params, "x")
    return emit(Map(same, (array.atom,), array.ndim, barrier=True))[0]


zip_with = map
