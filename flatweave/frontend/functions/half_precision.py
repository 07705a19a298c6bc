"""Floats of 16 bits as arguments: what moves elements moves their words, all else reads f32.

    h + h, sum(h), exp(h)      add (widened h) (widened h), ..: an f32
    h[1:], reverse(h)          words[1:], reverse(words): of the dtype of h
    concat([h, k]), where      words where all are of one such dtype, else f32
    map(f, h), filter(p, h)    f and p are given the elements as they are
    h.astype(f16)              each number rounded to the nearest one
    sum(x, dtype=f16)          computed with f32, then rounded
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from flatweave.base.dtypes import DType, f32, u16
from flatweave.frontend.trace.tracers import as_tracer, lifted_short, narrowed, widened
from flatweave.frontend.values.array import Array, Tracer
from flatweave.frontend.values.asarray import is_number_list
from flatweave.frontend.values.number_formats import (
    OF,
    Short,
    is_complex,
    is_short,
    is_short_dtype,
    short_dtype,
    speaks_of_complex,
)
from flatweave.frontend.values.tree import Node, flatten, is_irregular, map_leaves, unflatten

# the first argument's elements, elsewhere
MOVED = frozenset({
    "reshape", "transpose", "reverse", "rotate", "expand_dims", "broadcast", "broadcast_to",
    "unstack", "squeeze", "moveaxis", "permute_dims", "matrix_transpose", "flip", "roll", "repeat",
    "tile", "take", "take_along_axis", "tril", "triu", "getitem", "diagonal", "fftshift",
    "ifftshift",
})  # fmt: skip
# elements of several arrays, which are the arguments of these names
JOINED = {
    "concat": ("arrays",), "stack": ("arrays",), "where": ("a", "b"), "shift": ("xs", "fill"),
    "gather": ("xs", "default"), "backpermute": ("xs",),
}  # fmt: skip
# of several arrays as many results, each of its dtype
EACH = frozenset({"broadcast_arrays", "meshgrid"})
# arrays that are written into, and what is written
WRITTEN = {"scatter": ("dest", "vals"), "replace": ("xs", "values")}
# functions of arrays of any elements: of tuples, and of these; and compositions of those above
ANY_ELEMENTS = frozenset({
    "map", "zip_with", "filter", "partition", "generate", "cond", "while_loop", "fori_loop",
    "expand", "replicate", "vmap", "jvp", "vjp", "grad", "value_and_grad", "jacrev", "jacfwd",
    "stop_gradient",
    "ragged", "row", "store",
})  # fmt: skip
# results like the arguments, which are compared as f32
ORDERED = {"sort": ("xs",), "sort_by_key": ("keys", "values")}
LIKE = frozenset({"zeros_like", "ones_like", "full_like", "empty_like"})


R = TypeVar("R")
T = TypeVar("T")


def on_short(
    body: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], any_dtype: bool
) -> object:
    """A public function called with floats of 16 bits, or with their dtype; one of `any_dtype` is
    composed of others, which decide."""
    name = body.__name__
    try:
        given = inspect.signature(body).bind(*args, **kwargs)
    except TypeError:
        return body(*args, **kwargs)  # which raises it
    if any_dtype or name in ANY_ELEMENTS:
        return _called(body, given, _lifted)
    dtype = given.arguments.get("dtype")
    wanted = None if dtype is None else short_dtype(dtype)
    first = args[0] if args else None
    if name == "astype" and wanted is not None:
        is_refused = is_complex(first)
        return body(*args, **kwargs) if is_refused else _converted(body, first, wanted)
    if name in MOVED and (kind := _only_kind(first)):
        return _wrapped(body(_of_words(first, kind), *args[1:], **kwargs), kind)
    if name in JOINED and not speaks_of_complex(args):
        return _joined(body, given, JOINED[name])
    if name in EACH:
        return _each(body, args, kwargs)
    if name in WRITTEN:
        return _written(body, given, *WRITTEN[name])
    if name in ORDERED:
        return _ordered(body, given, ORDERED[name])
    if name in LIKE and dtype is None and is_short(first):
        like: Any = lifted_short(first)
        wanted = like.element
    found = _called(body, given, _read)
    return found if wanted is None else map_leaves(lambda x: _as(x, wanted), found)


def _each(
    body: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Array, ...]:
    """Words for the arrays of 16 bits, and again for their results."""
    kinds = [lifted_short(x).element if is_short(x) else None for x in args]
    words = [x if k is None else _words(x, k) for x, k in zip(args, kinds, strict=True)]
    pairs = zip(body(*words, **kwargs), kinds, strict=True)
    return tuple(x if kind is None else OF[kind](x) for x, kind in pairs)


def _called(
    body: Callable[..., R], given: inspect.BoundArguments, of: Callable[[Any], object]
) -> R:
    """The function of a function of each argument."""
    named = {key: of(value) for key, value in given.kwargs.items()}
    return body(*map(of, given.args), **named)


def _is_leaf(value: Any) -> bool:
    return is_short(value) or is_number_list(value)


def _lifted(value: Any) -> object:
    """An argument with its floats of 16 bits as values of the trace."""
    return map_leaves(lifted_short, value, _is_leaf)


def _read(value: Any) -> object:
    """An argument with f32 for floats of 16 bits and for their dtypes."""
    if is_short_dtype(value):
        return f32
    return map_leaves(lambda x: widened(x) if is_short(x) else x, value, _is_leaf)


def _as(x: T, dtype: DType) -> T | Short:
    """Floats as those of 16 bits; anything else as it is."""
    return narrowed(x, dtype) if isinstance(x, Tracer) and x.element.is_float else x


def _words(x: Any, dtype: DType) -> Tracer:
    """A number as the words of such floats."""
    short = lifted_short(x)
    if isinstance(short, Short):
        return short.words if short.element is dtype else narrowed(widened(short), dtype).words
    return narrowed(as_tracer(x), dtype).words


def _wrapped(found: object, dtype: DType) -> object:
    """What a function made of words, as floats."""
    return map_leaves(
        lambda x: OF[dtype](x) if isinstance(x, Tracer) and x.element is u16 else x, found
    )


def _converted(body: Callable[..., Any], x: Any, dtype: DType) -> Node:
    """astype."""
    if is_irregular(x):
        rows: Node = type(x).made(_converted(body, x.values, dtype), x.offsets)
        return rows
    return OF[dtype](_words(x, dtype))


def _joined(body: Callable[..., Any], given: inspect.BoundArguments, names: Any) -> object:
    """By words where all elements are of one dtype, which Python numbers take, else by f32."""
    values = tuple(given.arguments[name] for name in names if name in given.arguments)
    kind = _only_kind(values)
    if kind is None:
        return _called(body, given, _read)
    words = _of_words(values, kind)
    given.arguments.update(zip((n for n in names if n in given.arguments), words, strict=True))
    return _wrapped(body(*given.args, **given.kwargs), kind)


def _only_kind(values: Any) -> DType | None:
    """The one dtype of 16 bits that all elements of a structure have or take; None if they do not.
    """
    kinds = _kinds(values)
    return kinds.pop() if len(kinds) == 1 else None


def _kinds(values: Any) -> set[DType | None]:
    """The dtypes of 16 bits of the elements of a structure, those of rows, too; None if there are
    others than numbers and small integers, which take the dtype of what they meet."""
    found: set[DType | None] = set()
    for value in flatten(values, _is_rows_or_leaf)[0]:
        if is_irregular(value):
            fields = flatten(value.values, _is_rows_or_leaf)[0]
            is_mixed = len(fields) > 1 and not all(map(is_short, fields))
            found |= {None} if is_mixed else _kinds(value.values)
            continue
        short = lifted_short(value)
        if isinstance(short, Short):
            found.add(short.element)
        elif isinstance(short, Tracer):
            found |= set() if short.weak or short.element.bits <= 8 else {None}
        elif type(short) not in (bool, int, float):
            found.add(None)
    return found


def _of_words(values: Any, kind: DType) -> Any:
    """A structure of elements that are of 16 bits, or take that dtype, with their words."""

    def words(x: Any) -> Any:
        if is_irregular(x):
            return type(x).made(_of_words(x.values, kind), x.offsets)
        return _words(x, kind)

    return map_leaves(words, values, _is_rows_or_leaf)


def _is_rows_or_leaf(value: Any) -> bool:
    return is_irregular(value) or _is_leaf(value)


def _written(
    body: Callable[..., Any], given: inspect.BoundArguments, into: str, what: str
) -> object:
    """Elements become those of the array that they are written into."""
    arrays, tree = flatten(given.arguments[into], _is_leaf)
    values, value_tree = flatten(given.arguments[what], _is_leaf)
    if len(arrays) != len(values):
        return _called(body, given, _read)
    kinds = [lifted_short(x).element if is_short(x) else None for x in arrays]
    pairs = list(zip(arrays, values, kinds, strict=True))
    given.arguments[into] = unflatten(tree, [x if k is None else _words(x, k) for x, _, k in pairs])
    given.arguments[what] = unflatten(
        value_tree, [_read(v) if k is None else _words(v, k) for _, v, k in pairs]
    )
    return _like(body(*given.args, **given.kwargs), kinds)


def _like(found: object, kinds: list[DType | None]) -> object:
    """Results with words for those that have a kind."""
    leaves, tree = flatten(found)
    pairs = zip(leaves, kinds, strict=True)
    return unflatten(tree, [x if kind is None else OF[kind](x) for x, kind in pairs])


def _ordered(body: Callable[..., Any], given: inspect.BoundArguments, names: Any) -> object:
    """Sorted as f32, and of the dtypes that they had."""
    leaves = flatten(tuple(given.arguments[name] for name in names), _is_leaf)[0]
    kinds = [lifted_short(x).element if is_short(x) else None for x in leaves]
    found, tree = flatten(_called(body, given, _read))
    pairs = zip(found, kinds, strict=True)
    return unflatten(tree, [x if kind is None else narrowed(x, kind) for x, kind in pairs])
