"""Sorting: sort, argsort, sort_by_key; all stable, by keys of any dtype.

    sort(xs)                 sort (x => bits of x) [xs]
    argsort(xs)              sort (k, i => k) [bits of xs, iota], which gives the indices
    sort_by_key(ks, vs)      sort (k, v => bits of k) [ks, vs]

The sort works on arrays of unsigned integers: `order_bits` maps a scalar to words in the
scalar's order. Elements move with their keys; rows and very wide elements are gathered once, at the
end.

Along an axis each line is a row that is sorted separately; or elements keep to their line by its
number.

    along("sort", xs: t[2, 3, 4], axis=1)      map sort (reshape (transpose xs [0, 2, 1]) [8, 3]),
                                               reshaped and transposed back
    in_lines("sort", [3, 1, 2, 0], [0, 1, 0, 1])
                                               sort ((line, x) => line, x)    [2, 3, 0, 1]
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from flatweave.base.dtypes import BY_NAME, DType, bool_
from flatweave.base.errors import ArgumentError, ShapeError
from flatweave.frontend.arrays.shapes import axis_of, reshaped, transposed
from flatweave.frontend.call.operation import operation
from flatweave.frontend.elements.bodies import arrays_of_one_length
from flatweave.frontend.elements.broadcasting import generated, read
from flatweave.frontend.elements.lambdas import check_arity, element_type, shape_text
from flatweave.frontend.trace import extents
from flatweave.frontend.trace.extents import product, same_length
from flatweave.frontend.trace.tracers import (
    arrays_of,
    as_tracer,
    as_tracers,
    emit,
    flag_of,
    restructured,
    tracer_of,
)
from flatweave.frontend.values.array import METHODS, Array, Tracer, describe, kind_of
from flatweave.frontend.values.scope import Scope, current
from flatweave.frontend.values.tree import Tree, flatten, is_irregular, paths, unflatten
from flatweave.ops import Map, Sort
from flatweave.terms.syntax import Atom, Lambda, Var, constant

Key = Callable[[Any], Any] | None


def in_lines(who: str, values: Any, lines: Tracer, key: Key, descending: bool) -> Array:
    """Sorted elements, or their indices, first by the number of their line, which ascends."""

    def line_first(element: tuple[Any, Any]) -> tuple[Any, Any]:
        line, value = element
        own = tuple(flatten(value)[0]) if key is None else key(value)
        return (~line if descending else line), own

    found: Any = METHODS[who]((lines, values), line_first, descending)
    order: Array = found[1] if who == "sort" else found
    return order


def along(who: str, xs: Any, key: Key, descending: bool, axis: Any) -> Array:
    """Every line of an array along an axis, sorted separately, or the indices within it."""
    leaves, tree = arrays_of(xs, f"xs of {who}")
    first = leaves[0]
    number = axis_of(first, axis, who)
    for other in leaves[1:]:
        axis_of(other, axis, who)
        for a, b in zip(first.extents, other.extents, strict=False):
            extents.same(a, b, f"{who} needs arrays of one shape, got extents {{0}} and {{1}}.")
    if first.ndim == 1:
        return METHODS[who](xs, key, descending)
    order = [a for a in range(first.ndim) if a != number] + [number]
    shape = [first.extents[a] for a in order]
    rows = extents.known_extent(product(shape[:-1]))
    flat = [reshaped(transposed(x, order), [rows, shape[-1]]) for x in leaves]
    found = METHODS["map"](lambda row: METHODS[who](row, key, descending), unflatten(tree, flat))

    def back(x: Tracer) -> Tracer:
        return transposed(reshaped(x, shape), [order.index(a) for a in range(first.ndim)])

    leaves, tree = flatten(found)
    return restructured(tree, [back(as_tracer(x)) for x in leaves])


MOST_BYTES = {True: 64, False: 32}
"""Bytes of an element up to which it is moved in each pass, for short keys and for others: a read
from anywhere costs as much as seven moves, and a key of 64 bits takes up to eight passes."""
SHORT_KEY = 4
FEW_KEYS = 4
"""Keys up to which all are moved along in the passes of each; more are sorted by one at a time."""


def order_bits(value: Tracer, descending: bool, alone: bool) -> Atom:
    """A sort key: unsigned bits that are ordered as the scalars are, NaN last in both directions.

    The keys of values that are sorted `alone` differ wherever their bits do, and -0.0 comes before
    0.0. Where elements move along, equal values have one key: zeros of both signs, and all NaN.
    """
    dtype, x = value.element, value.atom
    if dtype.is_float and not alone:
        x = _one_of_equals(x, dtype)
    # differences wrap: of floats, what is beyond the infinities becomes what is greatest
    if descending:
        return current().apply("sub", _word(constant(dtype.high, dtype), dtype), _word(x, dtype))
    return current().apply("sub", _word(x, dtype), _word(constant(dtype.low, dtype), dtype))


def _one_of_equals(x: Atom, dtype: DType) -> Atom:
    """0.0 for zeros of both signs, and one NaN for all."""
    scope = current()
    x = scope.apply("add", x, constant(0.0, dtype))
    return scope.apply("select", scope.apply("isnan", x), constant(float("nan"), dtype), x)


def _word(x: Atom, dtype: DType) -> Atom:
    """The bits of a scalar as an unsigned integer, which differs from the next scalar's by one."""
    scope = current()
    unsigned = BY_NAME[f"u{8 if dtype is bool_ else dtype.bits}"]
    if dtype.is_float:
        bits = scope.cast(scope.apply("bits", x), BY_NAME[f"i{dtype.bits}"])
        x = scope.apply("ones_complement", bits)
    return scope.cast(x, unsigned)


def _keys(
    key: Callable[[Any], Any] | None, arrays: Sequence[Tracer], tree: Tree, descending: bool,
    who: str, alone: bool = False,
) -> Lambda:  # fmt: skip
    """The lambda from an element to its sort keys; `alone` as in `order_bits`."""

    def body(inside: Scope, params: tuple[Var, ...]) -> list[Atom]:
        leaves = [tracer_of(param) for param in params]
        if key is not None:
            leaves = _key_of(key, unflatten(tree, leaves), who)
        return [order_bits(leaf, descending, alone) for leaf in leaves]

    return current().function([element_type(x) for x in arrays], body, "x")


def _key_of(key: Callable[[Any], Any], element: Any, who: str) -> list[Tracer]:
    """The scalars of an element's key; ShapeError or ArgumentError for what has no order."""
    check_arity(key, 1, who)
    leaves, tree = as_tracers(key(element), f"the key of {who}", structured=True)
    remedy = "Give one scalar, or a tuple of them, of which the first counts most."
    if not leaves or not _is_tuple(tree):
        raise ArgumentError.here(
            f"the key of {who} gives {shape_text(tree, leaves)}, needs a scalar or a tuple of"
            " scalars.",
            remedy,
        )
    if any(leaf.ndim for leaf in leaves):
        raise ShapeError.here(
            f"the key of {who} gives {shape_text(tree, leaves)}, needs a scalar or a tuple of"
            " scalars.",
            remedy,
        )
    return leaves


def _is_tuple(tree: Tree) -> bool:
    """Whether a structure has an order of its parts: tuples, NamedTuples, dataclasses of such."""
    if tree.kind == "leaf":
        return True
    return tree.kind in ("tuple", "named", "dataclass") and all(map(_is_tuple, tree.children))


def _check_key(key: Any, arrays: Sequence[Tracer], names: Sequence[str], who: str) -> None:
    """Without a key the elements must be ordered."""
    if key is not None and not callable(key):
        found = describe(key) if isinstance(key, Tracer) else kind_of(key)
        raise ArgumentError.here(
            f"the key of {who} is {found}, not a function.",
            "An axis is given by its name: axis=0."
            if found in ("an int", "i64")
            else "Give key=f, where f makes of an element what it is ordered by; arrays of keys"
            " go into fw.sort_by_key.",
        )
    for leaf, name in zip(arrays, names, strict=True):
        if leaf.ndim > 1 and key is None:
            raise ShapeError.here(
                f"{who} orders scalars, or tuples of them, but the elements of {name} are rows:"
                f" {describe(leaf)}.",
                "To order the rows, give a key, for instance key=lambda row: row[0]; to sort"
                " each of them, name the axis: axis=1.",
            )


def _is_narrow(fn: Lambda, arrays: Sequence[Tracer]) -> bool:
    """Whether elements are moved along in every pass, rather than gathered at the end."""
    if any(x.ndim > 1 for x in arrays) or len(fn.results) > FEW_KEYS:
        return False
    key = sum(type_.bytes for type_ in fn.result_types() if isinstance(type_, DType))
    return sum(x.element.bytes for x in arrays) <= MOST_BYTES[key <= SHORT_KEY]


def _sorted(fn: Lambda, arrays: Sequence[Tracer], *others: Tracer) -> list[Tracer]:
    """Arrays in the order of the keys of the first ones."""
    atoms = tuple(x.atom for x in (*arrays, *others))
    if others:
        types = [element_type(x) for x in (*arrays, *others)]
        keys = fn

        def body(inside: Scope, params: tuple[Var, ...]) -> tuple[Atom, ...]:
            return inside.builder.inline(keys, params[: len(arrays)])

        fn = current().function(types, body, "x")
    return emit(Sort(fn, atoms))


def _places(fn: Lambda, arrays: Sequence[Tracer]) -> Tracer:
    """Where each element of the sorted array was before.

    Of many keys the last one is sorted by first, each together with the indices only: the
    sort is stable, so what later keys leave equal stays in the order of the earlier ones.
    """
    keys = emit(Map(fn, tuple(x.atom for x in arrays), 1))
    places = _numbers(arrays[0])
    if len(keys) <= FEW_KEYS:
        return _sorted(_identity(keys), keys, places)[-1]
    for number, key in enumerate(reversed(keys)):
        (moved,) = _gathered([key], places) if number else (key,)
        places = _sorted(_identity([moved]), [moved], places)[-1]
    return places


def _identity(keys: Sequence[Tracer]) -> Lambda:
    """Elements that are their own keys."""
    return current().function([element_type(x) for x in keys], lambda inside, xs: xs, "x")


def _numbers(array: Tracer) -> Tracer:
    """0, 1, .., n - 1 for an array of n elements."""
    return generated(array.extents[:1], lambda i: tracer_of(i))[0]


def _gathered(arrays: Sequence[Tracer], places: Tracer) -> list[Tracer]:
    """The elements, or rows, at indices that are all inside."""

    def gathered(x: Tracer) -> Tracer:
        shape = (places.extents[0], *x.extents[1:])
        return generated(shape, lambda i, *at: read(x, (read(places, (i,)).atom, *at)))[0]

    return [gathered(x) for x in arrays]


def _along(who: str, xs: Any, key: Any, descending: Any, axis: Any) -> Array:
    """Of a Ragged, or of each line of an array along an axis."""
    if key is not None and not callable(key):
        _check_key(key, [], [], who)
    chosen = flag_of(descending, "descending")
    if is_irregular(xs):
        return METHODS["ordered_rows"](who, xs, key, chosen, axis)
    return along(who, xs, key, chosen, axis)


@operation(static="descending axis stable kind")
def sort(
    xs: Any, key: Callable[[Any], Any] | None = None, descending: bool = False, *,
    axis: Any = None, stable: bool = True, kind: Any = None,
) -> Array:  # fmt: skip
    """The elements along axis 0 in ascending order; elements that are equal keep theirs.

        sort(np.array([3, 1, 2]))                              [1, 2, 3]
        sort((names, sizes), key=lambda e: (e[1], e[0]))       by size, then by name
        sort(points, key=lambda p: -p[0])                      rows of a matrix, by a column

    `key` makes of an element the scalar, or tuple of scalars, that it is ordered by; a tuple goes
    by its first part, then the next. Without a key elements are scalars or tuples of scalars
    (arrays of rank 1). With `descending` the greatest comes first, and equal elements still keep
    their order. NaN comes last in either direction. -0.0 equals 0.0 in tuples and keys; in one
    array of floats without a key -0.0 comes before 0.0 (after it with `descending`). With `axis`
    each line of an array along that axis is sorted separately, as in NumPy; axis 1 of a Ragged is
    each row. Rows without a key are sorted separately, along the last axis.

    By digits of the keys, the least significant first: time is linear in the length, and digits in
    which no two keys differ cost nothing; it is stable whether that is asked for or not. Raises
    ShapeError for tuples of rows without a key.

    Types: `xs: t[n, ..] -> t[n, ..]`. Source: `numpy.sort`.

        >>> fw.sort([3, 1, 2])
        Array([1, 2, 3], dtype=int64)
    """
    def moved(fn: Lambda, arrays: list[Tracer], tree: Tree) -> Array:
        if _is_narrow(fn, arrays):
            return restructured(tree, _sorted(fn, arrays))
        return restructured(tree, _gathered(arrays, _places(fn, arrays)))

    return _by_keys("sort", xs, key, descending, axis, moved)


@operation(static="descending axis stable kind")
def argsort(
    xs: Any, key: Callable[[Any], Any] | None = None, descending: bool = False, *,
    axis: Any = None, stable: bool = True, kind: Any = None,
) -> Array:  # fmt: skip
    """The indices (i64) of the elements in the order of `sort`: `sort(xs)` is `xs[argsort(xs)]`.

    With `axis` the indices are along it, for a Ragged within its rows.
    Raises as `sort` does.

    Types: `xs: t[n, ..] -> i64[n, ..]`. Source: `numpy.argsort`.

        >>> fw.argsort(np.array([30, 10, 20]))
        Array([1, 2, 0], dtype=int64)
    """
    return _by_keys("argsort", xs, key, descending, axis, lambda fn, arrays, _: _places(fn, arrays))


def _by_keys(
    who: str, xs: Any, key: Callable[[Any], Any] | None, descending: bool, axis: Any,
    give: Callable[[Lambda, list[Tracer], Tree], Array],
) -> Array:  # fmt: skip
    """What `give` makes of the keys and the arrays; lines along an axis are sorted separately."""
    if axis is not None or is_irregular(xs):
        return _along(who, xs, key, descending, axis)
    arrays, tree = arrays_of_one_length(xs, who)
    is_one = key is None and len(arrays) == 1
    if is_one and arrays[0].ndim > 1:
        return _along(who, xs, key, descending, -1)
    _check_key(key, arrays, ["xs" + path for path in paths(tree)], who)
    alone = is_one and who == "sort"
    fn = _keys(key, arrays, tree, flag_of(descending, "descending"), who, alone)
    return give(fn, arrays, tree)


@operation(static="descending")
def sort_by_key(keys: Any, values: Any, descending: bool = False) -> tuple[Array, Array]:
    """The keys in ascending order, and with each its value: (sorted keys, values).

        sort_by_key(ages, names)            (ages in order, the names of those so old)
        sort_by_key((years, days), rows)    by year, then by day; rows of a matrix go along

    `keys` is an array of rank 1, or a tuple of them; `values` anything of the same length. Equal
    keys keep their order. Raises ShapeError when there are not as many keys as values.

    Types: `keys: s[n], values: t[n, ..] -> (s[n], t[n, ..])`. Source: Thrust's `sort_by_key`.

        >>> fw.sort_by_key([3, 1, 2], np.array([30, 10, 20]))[1]
        Array([10, 20, 30], dtype=int64)
    """
    arrays, tree = arrays_of_one_length(keys, "sort_by_key", "keys")
    others, rest = arrays_of_one_length(values, "sort_by_key", "values")
    names = ["keys" + path for path in paths(tree)]
    values_names = ["values" + path for path in paths(rest)]
    same_length([*arrays, *others], "sort_by_key", [*names, *values_names])
    _check_rank_one(arrays, names)
    fn = _keys(None, arrays, tree, flag_of(descending, "descending"), "sort_by_key")
    count = len(arrays)
    if _is_narrow(fn, [*arrays, *others]):
        moved = _sorted(fn, arrays, *others)
    elif count > FEW_KEYS:
        moved = _gathered([*arrays, *others], _places(fn, arrays))
    else:
        *first, places = _sorted(fn, arrays, _numbers(arrays[0]))
        moved = [*first, *_gathered(others, places)]
    return restructured(tree, moved[:count]), restructured(rest, moved[count:])


def _check_rank_one(keys: Sequence[Tracer], names: Sequence[str]) -> None:
    for leaf, name in zip(keys, names, strict=True):
        if leaf.ndim > 1:
            raise ShapeError.here(
                f"sort_by_key needs keys that are scalars, but the elements of {name} are rows:"
                f" {describe(leaf)}.",
                "Give a tuple of rank-1 arrays, one for each part of the key.",
            )
