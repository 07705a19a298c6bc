"""Reads at computed indices: gather, the index arithmetic of `xs[i]`, and masks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from flatweave.base.dtypes import bool_, i64, u64
from flatweave.base.errors import ArgumentError, DTypeError, IndexOutOfBounds, ShapeError
from flatweave.base.pretty import counted
from flatweave.base.records import record
from flatweave.frontend.arrays.columns import compacted
from flatweave.frontend.arrays.shapes import raveled, reshaped
from flatweave.frontend.call.operation import operation
from flatweave.frontend.elements.broadcasting import (
    common_shape,
    generated,
    read,
    read_stretched,
    taken,
)
from flatweave.frontend.elements.lambdas import check_arity, need_function, shape_text
from flatweave.frontend.trace import extents
from flatweave.frontend.trace.extents import ONE, ZERO
from flatweave.frontend.trace.run_time_checks import PLACE, check_message
from flatweave.frontend.trace.tracers import (
    CLIP,
    MOST,
    NO_PLACE,
    arrays_of,
    as_tracer,
    as_tracers,
    counted_in_i64,
    emit,
    restructured,
    tracer_of,
)
from flatweave.frontend.values.array import METHODS, Array, HostArray, Tracer, describe
from flatweave.frontend.values.scope import Scope, current
from flatweave.frontend.values.tree import Tree, is_irregular
from flatweave.ops import Generate, Index
from flatweave.terms.syntax import Atom, Const, Var, constant


def index_atom(index: Tracer) -> Atom:
    """A scalar integer as an i64; DTypeError for other dtypes."""
    if not index.element.is_integer:
        raise DTypeError.here(
            f"an index must be an integer, got {describe(index)}.",
            "Convert it with astype(fw.i64), or divide with // rather than /.",
        )
    scope = current()
    atom = index.atom
    if index.element is u64:  # what does not fit an i64 stays outside every array
        atom = scope.apply("minimum", atom, constant(2**63 - 1, u64))
    result = scope.cast(atom, i64)
    if index.element.kind == "u":
        extents.known_natural(result)
    return result


def read_atom(index: Tracer) -> Atom:
    """A scalar index to read at: one beyond an i64 is outside of every array."""
    if index.element is not u64:
        return index_atom(index)
    text = check_message(NO_PLACE, [], CLIP)
    if isinstance(index.atom, Const):
        must_be_a_place(int(index.atom.value))
    return extents.known_natural(counted_in_i64(index.atom, PLACE, text))


def must_be_a_place(index: Any) -> None:
    """Refuse a Python integer that is not an index of any array."""
    if isinstance(index, int | np.integer) and not -MOST <= int(index) <= MOST:
        raise IndexOutOfBounds.here(NO_PLACE.format(int(index)), CLIP)


def from_start(index: Atom, extent: Atom) -> tuple[Atom, bool]:
    """The index, a negative one counted from the end, and whether the read must be checked."""
    scope = current()
    if isinstance(index, Var) and scope.trace.bounds.get(index) == extent:
        return index, False
    if isinstance(index, Const) and isinstance(extent, Const):
        return _constant(int(index.value), int(extent.value))
    if scope.is_count(index):
        return index, True
    below = scope.apply("lt", index, extents.ZERO)
    return scope.apply("select", below, scope.apply("add", index, extent), index), True


def _constant(index: int, extent: int) -> tuple[Const, bool]:
    """A constant index into a constant extent, checked here and now unless it may not be read."""
    is_inside = -extent <= index < extent
    if not is_inside and not current().may_be_skipped:
        raise IndexOutOfBounds.here(
            f"index {index} is outside an array of {counted(extent, 'element')}.",
            f"Indices go from {-extent} to {extent - 1}." if extent else "It is empty.",
        )
    return Const(index + extent if index < 0 else index, i64), not is_inside


def element(array: Tracer, index: Sequence[Atom]) -> Tracer:
    """The element at user-given i64 indices, one for each axis: wrapped and checked."""
    pairs = [from_start(i, extent) for i, extent in zip(index, array.extents, strict=True)]
    checked = any(must for _, must in pairs)
    return emit(Index(array.atom, tuple(i for i, _ in pairs), checked))[0]


def index_arrays(idx: Any, who: str) -> list[Tracer]:
    """The index arrays of a user: one, or a tuple with one for each leading axis."""
    parts = [listed_index(p) for p in (idx if isinstance(idx, tuple) else (idx,))]
    if not parts:
        raise ArgumentError.here(
            f"{who} needs an index array for at least one axis, got ().",
            "Give one index array, or a tuple of them.",
        )
    arrays = [as_tracer(part, f"the index of {who}") for part in parts]
    for array in arrays:
        if not array.element.is_integer:
            raise DTypeError.here(
                f"{who} needs integer indices, got {describe(array)}.",
                "Convert them with astype(fw.i64); a bool mask selects with xs[mask].",
            )
    return arrays


def listed_index(part: object) -> object:
    """An empty list as the index array that it stands for; other parts as they are."""
    if type(part) is int and abs(part) > 2**64:
        return (2**64 - 1) if part > 0 else -(2**63)  # as far outside of every array
    return np.zeros(0, np.int64) if isinstance(part, list) and not part else part


def check_rank(array: Tracer, count: int, who: str) -> None:
    """Refuse more indices than axes."""
    if count > array.ndim:
        raise ShapeError.here(
            f"{who} got {counted(count, 'index', 'indices')} for an array of type"
            f" {describe(array)}, which has {counted(array.ndim, 'axis', 'axes')}.",
            "Give at most one index for each axis.",
        )


def gather_one(
    array: Tracer, idx: Sequence[Tracer], who: str = "gather", default: Tracer | None = None
) -> Tracer:
    """The elements, or rows, of one array at broadcast index arrays for its leading axes, with a
    default where an index is outside, if there is one."""
    check_rank(array, len(idx), who)
    shape = common_shape(idx, who)
    rank = len(shape)
    rest = array.extents[len(idx) :]

    def at(*place: Atom) -> Tracer:
        own = [read_stretched(i, place[:rank]) for i in idx]
        if default is not None:
            return _or_else(array, [*map(index_atom, own), *place[rank:]], len(own), default)
        return element(array, [*map(read_atom, own), *place[rank:]])

    return generated((*shape, *rest), at, "k")[0]


def _or_else(array: Tracer, place: Sequence[Atom], count: int, default: Tracer) -> Tracer:
    """An element, or the default where one of the first `count` indices is outside."""
    scope = current()
    inside: Atom = constant(True, bool_)
    for i, extent in zip(place[:count], array.extents, strict=False):
        for fits in (scope.apply("ge", i, extents.ZERO), scope.apply("lt", i, extent)):
            inside = scope.apply("and", inside, fits)
    return as_tracer(
        METHODS["cond"](tracer_of(inside), lambda: read(array, place), lambda: default)
    )


@operation()
def gather(xs: Any, idx: Any, *, default: Any = None) -> Array:
    """`xs[idx]`: the elements at integer indices, or the rows of an array of higher rank.

    `idx` is an integer array of any dtype, or a tuple of them, one for each leading axis. An index
    below 0 counts from the end, as in NumPy; of a Ragged, these are rows. Raises IndexOutOfBounds
    for an index outside. With a `default`, an element for all, no index is an error and none counts
    from the end: the default replaces every element whose index is outside `[0, n)`, -1 too.

    Types: `xs: t[n, ..], idx: integer[..i] -> t[..i, ..]`.
    Source: `numpy.take`; Accelerate's `gather`.

        >>> fw.gather(np.array([10, 20, 30]), [2, 0, -1])
        Array([30, 10, 30], dtype=int64)
    """
    if is_irregular(xs) and default is None:
        return METHODS["row"](xs, idx)
    leaves, tree = arrays_of(xs, "xs of gather")
    given = idx if isinstance(idx, tuple) else (idx,)
    if default is not None:
        arrays = index_arrays(idx, "gather")
        others = _defaults(default, leaves, tree)
        pairs = zip(leaves, others, strict=True)
        return restructured(tree, [gather_one(x, arrays, default=other) for x, other in pairs])
    for part in given:
        must_be_a_place(part)
    arrays = index_arrays(idx, "gather")
    return restructured(tree, [gather_one(leaf, arrays) for leaf in leaves])


def _defaults(default: Any, leaves: Sequence[Tracer], tree: Tree) -> list[Tracer]:
    """The default as an element of the arrays."""
    found, own = as_tracers(default, "the default of gather")
    if own != tree or any(value.ndim for value in found):
        raise ArgumentError.here(
            f"the default of gather is one element, {shape_text(tree, leaves)} without axes, got"
            f" {shape_text(own, found)}.",
            "Give a number for each array.",
        )
    return [taken(v, x.element, "gather") for v, x in zip(found, leaves, strict=True)]


@operation()
def backpermute(shape: Any, f: Callable[..., Any], xs: Any) -> Array:
    """The array of `shape` with `xs[f(i, j, ..)]` at (i, j, ..); `f` gives an index of `xs`.

    For `xs` of rank n, `f` gives a tuple of n integers (Accelerate's backpermute).
    Raises IndexOutOfBounds for an index outside `xs`.

    Types: `shape: k integers, f: k i64 -> index, xs: t[..] -> t[shape]`.
    Source: Accelerate's `backpermute`.

        >>> fw.backpermute(3, lambda i: 2 - i, np.array([5, 6, 7]))
        Array([7, 6, 5], dtype=int64)
    """
    sizes = extents.shape_of(shape, "backpermute")
    check_arity(need_function(f, "backpermute"), len(sizes), "backpermute")
    leaves, tree = arrays_of(xs, "xs of backpermute")

    def body(inside: Scope, params: tuple[Var, ...]) -> list[Atom]:
        for param, extent in zip(params, sizes, strict=True):
            inside.natural.add(param)
            inside.trace.bounds[param] = extent
        found = f(*(tracer_of(param) for param in params))
        given = found if isinstance(found, tuple | list) else (found,)
        index = [read_atom(_scalar(part)) for part in given]
        for leaf in leaves:
            if leaf.ndim != len(index):
                raise ShapeError.here(
                    f"backpermute's function gives {counted(len(index), 'index', 'indices')} for an"
                    f" array of type {describe(leaf)}.",
                    "Give one index for each axis of xs.",
                )
        return [element(leaf, index).atom for leaf in leaves]

    if not sizes:
        with_none = body(current(), ())
        return restructured(tree, [tracer_of(atom) for atom in with_none])
    fn = current().function([i64] * len(sizes), body, "i")
    return restructured(tree, emit(Generate(sizes, fn)))


def _scalar(value: Any) -> Tracer:
    index = as_tracer(value, "the index of backpermute")
    if index.ndim:
        raise ShapeError.here(
            f"backpermute's function gives {describe(index)} where an index is needed.",
            "Give a scalar integer for each axis of xs.",
        )
    return index


# -- masks ----------------------------------------------------------------------------------------

@record(eq=True)
class Held:
    """Indices along one axis at which a mask holds, all inside the axis."""

    index: Tracer


def is_mask(part: Any) -> bool:
    """Whether a part of a key is a mask."""
    if isinstance(part, Tracer):
        return part.element is bool_
    if not isinstance(part, bool | np.bool_ | np.ndarray | HostArray | list):
        return False
    return as_tracer(part, "an index").element is bool_


def masked(array: Tracer, mask: Tracer) -> Tracer:
    """The elements, or rows, where a mask holds."""
    if mask.ndim == 1 and array.ndim:
        extents.same_length([array, mask], "a mask", ["the array", "the mask"])
        return compacted(mask, [array])[0]
    if mask.ndim > array.ndim:
        raise ShapeError.here(
            f"a mask of type {describe(mask)} does not fit an array of type {describe(array)}.",
            "Give a mask of the array's shape, or one for its rows.",
        )
    leading, rest = array.extents[: mask.ndim], array.extents[mask.ndim :]
    check_extents(array, mask, 0)
    flat = reshaped(array, [_total(leading), *rest])
    return compacted(raveled(mask), [flat])[0]


def _total(shape: Sequence[Atom]) -> Atom:
    return extents.known_extent(extents.product(shape))


def check_extents(array: Tracer, mask: Tracer, first: int) -> None:
    """Refuse a mask that is not as long as the array along each axis that it stands for."""
    for axis, extent in enumerate(mask.extents):
        along = f" along axis {first + axis}" if array.ndim > 1 else ""
        extents.same(
            array.extents[first + axis], extent,
            f"a mask needs the lengths of the array, got {{0}} and {{1}} elements{along}.",
            [
                extents.origin_line(array, "the array", "{0}", first + axis - array.ndim),
                extents.origin_line(mask, "the mask", "{1}", axis - mask.ndim),
            ],
            "Give a mask of the array's shape, or one for its rows.",
        )  # fmt: skip


def rank_in(part: Any) -> int:
    """How many axes of an array a part of a key stands for."""
    if part is None or part is Ellipsis:
        return 0
    return part.ndim if is_mask(part) else 1


def leads(parts: Sequence[Any]) -> bool:
    """Whether a mask comes first, and no other part is an array: these may be read before it."""
    rest = parts[1:]
    return is_mask(parts[0]) and all(
        part is None or part is Ellipsis or isinstance(part, slice)
        or (not isinstance(part, Held) and not as_tracer(part, "an index").ndim)
        for part in rest
    )  # fmt: skip


def is_single(part: Any) -> bool:
    """Whether a part of a key is one bool, which stands for no axis and gives a new one."""
    return is_mask(part) and not part.ndim


def with_axes(array: Tracer, parts: Sequence[Any]) -> tuple[Tracer, list[Any]]:
    """An array and a key in which single bools index a new axis of extent 1."""
    shape: list[Atom] = []
    found: list[Any] = []
    axes = iter(array.extents)
    for part in parts:
        if is_single(part):
            shape.append(ONE)
            found.append(Held(_of_single(part)))
            continue
        shape += [next(axes) for _ in range(rank_in(part))]
        found.append(part)
    return reshaped(array, shape) if array.ndim else _filled(array, shape), found


def _of_single(mask: Tracer) -> Tracer:
    """The index 0 if a bool holds."""
    if isinstance(mask.atom, Const):
        return generated((ONE if mask.atom.value else ZERO,), lambda i: tracer_of(ZERO))[0]
    one = generated((ONE,), lambda i: mask)[0]
    return compacted(one, generated((ONE,), tracer_of))[0]


def _filled(number: Tracer, shape: Sequence[Atom]) -> Tracer:
    return generated(shape, lambda *at: number)[0]


def beside(array: Tracer, parts: Sequence[Any]) -> list[Any]:
    """A key in which index arrays replace each mask, one array for each of its axes."""
    found: list[Any] = []
    axis = 0
    for part in parts:
        if is_mask(part):
            check_extents(array, part, axis)
            found += map(Held, _places(part))
            axis += part.ndim
        else:
            found.append(part)
            axis += rank_in(part)
    return found


def _places(mask: Tracer) -> list[Tracer]:
    """Where a mask holds: its indices along each of its axes, in row-major order."""
    flat = raveled(mask)
    numbers = compacted(flat, generated(flat.extents, tracer_of))[0]
    if mask.ndim == 1:
        return [numbers]

    def along(axis: int) -> Tracer:
        def place(k: Atom) -> Tracer:
            number = extents.known_natural(read(numbers, (k,)).atom)
            return tracer_of(extents.unravel(number, mask.extents)[axis])

        return generated(numbers.extents, place, "k")[0]

    return [along(axis) for axis in range(mask.ndim)]
