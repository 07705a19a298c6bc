"""Python functions that programs call on the host: `pure_callback`, and what libraries do.

    pure_callback(f, ShapeDtypeStruct((n,), f64), x)     callback f_3f2a none [] [argument x ..] ..

Outside of traces the function is called at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from flatweave.base.dtypes import PARTS, DType, as_dtype, u16
from flatweave.base.errors import ArgumentError, NestingError, Unsupported
from flatweave.base.host_functions import (
    METHODS,
    SEQUENTIAL,
    STACKED,
    Function,
    as_result,
    called,
    register,
)
from flatweave.base.source import user_location
from flatweave.base.tracebacks import leave_ours_out
from flatweave.frontend.elements.broadcasting import cast
from flatweave.frontend.trace.extents import shape_of
from flatweave.frontend.trace.trace import interleaved, lifted, parts_of
from flatweave.frontend.trace.tracers import as_tracer, emit, lifted_short
from flatweave.frontend.values.array import Array, Tracer, host_array, kind_of
from flatweave.frontend.values.asarray import is_one_array
from flatweave.frontend.values.exchange import Values
from flatweave.frontend.values.number_formats import OF, Interleaved, Short
from flatweave.frontend.values.scope import current, innermost
from flatweave.frontend.values.tree import LEAF, Tree, flatten, spelled, unflatten
from flatweave.ops import Argument, Callback, Returned
from flatweave.terms.build import index


class ShapeDtypeStruct:
    """The shape and dtype of an array that is not there yet: what a callback gives.

    An extent may be a number that is known only at run time.

    Source: `jax.ShapeDtypeStruct`.

        >>> fw.ShapeDtypeStruct((2, 3), fw.f32)
        ShapeDtypeStruct(shape=(2, 3), dtype=f32)
    """

    __slots__ = ("dtype", "shape")

    def __init__(self, shape: Any, dtype: Any) -> None:
        self.shape = tuple(shape) if hasattr(shape, "__iter__") else (shape,)
        self.dtype: DType = as_dtype(dtype)

    def __repr__(self) -> str:
        return f"ShapeDtypeStruct(shape={self.shape}, dtype={self.dtype})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ShapeDtypeStruct):
            return NotImplemented
        return (self.shape, self.dtype) == (other.shape, other.dtype)

    def __hash__(self) -> int:
        return hash((self.shape, self.dtype))


def pure_callback(
    callback: Callable[..., Any], result_shape_dtypes: Any, *args: Any,
    vmap_method: str | None = None, **kwargs: Any,
) -> Any:  # fmt: skip
    """What a Python function gives for arrays: a call of NumPy's, SciPy's or your own code.

    The function is called on the host with read-only NumPy arrays, in jitted functions, loops and
    branches, too, on every target. It must depend on its arguments alone: it may be called more
    often than it is written, or not at all. `result_shape_dtypes` says what it gives, as a
    ShapeDtypeStruct or a tuple, list or dict of some.

    In a mapped function `vmap_method` says how all rows are computed: "sequential" calls the
    function for each; "expand_dims" and "broadcast_all" call it once with the rows along a new
    first axis, and the results have that axis, too. Arguments that are the same for all rows get a
    first axis of extent 1, or one of the number of rows. Rows of different shapes need
    "sequential".

    Types: `callback: a[..], .. -> r[..], result_shape_dtypes: r[..] -> r[..]`. Raises ShapeError or
    DTypeError where the function gives another array than is said, Unsupported in a mapped function
    without a `vmap_method`, NestingError for rows of different shapes, and what the function
    raises. Source: `jax.pure_callback`.

        >>> fw.pure_callback(np.cumsum, fw.ShapeDtypeStruct((3,), fw.i64), fw.iota(3))
        Array([0, 1, 3], dtype=int64)
    """
    if not callable(callback):
        raise ArgumentError.here(
            f"pure_callback needs a function, got {kind_of(callback)}.",
            "Call it as fw.pure_callback(f, fw.ShapeDtypeStruct(shape, dtype), x).",
        )
    if vmap_method is not None and vmap_method not in METHODS:
        raise ArgumentError.here(
            f"vmap_method of pure_callback is one of {', '.join(METHODS)}, got {vmap_method!r}.",
            'Use "sequential" for a function of single rows.',
        )
    results, tree = flatten(result_shape_dtypes, _is_described)
    for result in results:
        if not _is_described(result):
            raise ArgumentError.here(
                f"result_shape_dtypes of pure_callback holds {kind_of(result)}.",
                "Describe each result: fw.ShapeDtypeStruct(shape, dtype).",
            )
    structs = [ShapeDtypeStruct(each.shape, each.dtype) for each in results]
    leaves, given = flatten((args, kwargs), is_one_array)

    def call(values: Sequence[Any]) -> Sequence[Any]:
        positional, named = unflatten(given, values)
        return _leaves_of(callback(*positional, **named), tree, called(callback))

    if innermost() is not None:
        name = register(callback, call, f"{given} {tree}")
        return unflatten(tree, traced(name, structs, leaves, vmap_method, called(callback)))
    try:
        return unflatten(tree, at_once(call, structs, leaves, called(callback)))
    except Exception as failure:
        leave_ours_out(failure)
        raise


def _is_described(value: Any) -> bool:
    return hasattr(value, "shape") and hasattr(value, "dtype")


def _leaves_of(value: Any, tree: Tree, who: str) -> list[Any]:
    """The arrays of what a function gave; ArgumentError for another structure than was declared."""
    if tree is LEAF or tree == LEAF:
        return [value]
    leaves, found = flatten(value, is_one_array)
    if found != tree:
        raise ArgumentError(
            f"{who} gives {spelled(found, ['*'] * found.size)}, where"
            f" {spelled(tree, ['*'] * tree.size)} was declared.",
            remedy="Return arrays in the structure of result_shape_dtypes.",
        )
    return leaves


# -- outside of traces ----------------------------------------------------------------------------


def at_once(
    call: Function, structs: Sequence[ShapeDtypeStruct], leaves: Sequence[Any], who: str
) -> list[Any]:
    """The results of a function on arrays that are here."""
    where = user_location()
    found = call([_read_only(leaf) for leaf in leaves])
    return [
        host_array(np.array(as_result(
            value, tuple(map(int, struct.shape)), struct.dtype.dtype, who, where
        ), order="C", copy=True))
        for value, struct in zip(found, structs, strict=True)
    ]  # fmt: skip


def _read_only(leaf: Any) -> Values:
    values = np.asarray(leaf).view()
    values.setflags(write=False)
    return values


# -- in traces ------------------------------------------------------------------------------------


def traced(
    name: str, structs: Sequence[ShapeDtypeStruct], leaves: Sequence[Any], method: str | None,
    who: str,
) -> list[Any]:  # fmt: skip
    """The results of a function as values of the trace."""
    scope = current()
    around, scope.trace.where = scope.trace.where, user_location()
    operands = [_operand(leaf, who) for leaf in leaves]
    results = [_result(struct, who) for struct in structs]
    op = Callback(name, method or "none", (), tuple(operands), tuple(results))
    _check_rows(op, method, who)
    found = emit(op, who if who.isidentifier() else "t")
    scope.trace.where = around
    return [_found(value, struct) for value, struct in zip(found, structs, strict=True)]


def _operand(leaf: Any, who: str) -> Argument:
    short = lifted_short(leaf)
    if isinstance(short, Short):
        return Argument(short.words.atom, short.words.extents, short.element.name, False)
    pairs = interleaved(lifted(leaf))
    if isinstance(pairs, Interleaved):
        floats = as_tracer(pairs.pairs)
        seen = "c64" if floats.element.bits == 32 else "c128"
        return Argument(floats.atom, floats.extents, seen, False)
    array = as_tracer(leaf, f"an argument of {who}")
    array = cast(array, array.element) if array.weak else array
    return Argument(array.atom, array.extents, array.element.name, False)


def _result(struct: ShapeDtypeStruct, who: str) -> Returned:
    shape = shape_of(struct.shape, f"what {who} gives")
    dtype = struct.dtype
    if dtype.is_complex:
        return Returned(PARTS[dtype], (*shape, index(2)), dtype.name, ())
    return Returned(u16 if dtype.is_short else dtype, shape, dtype.name, ())


def _found(value: Tracer, struct: ShapeDtypeStruct) -> Array:
    if struct.dtype.is_complex:
        return parts_of(value)
    return OF[struct.dtype](value) if struct.dtype.is_short else value


def _check_rows(op: Callback, method: str | None, who: str) -> None:
    """Refuse a function of rows that does not say how all of them are computed."""
    scope = current()
    if not scope.home([operand.value for operand in op.operands]).is_mapped:
        return
    if method is None:
        raise Unsupported.here(
            f"{who} is called in a mapped function, but without a vmap_method.",
            'Give vmap_method="sequential", or "broadcast_all" for a function of stacks.',
        )
    if method not in (SEQUENTIAL, STACKED) and scope.home(list(op.extents())).is_mapped:
        raise NestingError.here(
            f"{who} is called once for rows of different shapes, by {method}.",
            'Give vmap_method="sequential".',
        )
