"""What a program does on the host: calls of Python functions, checks, notes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ParamSpec, TypeVar

import numpy as np

from flatweave.array_ir.syntax import NEGATIVE, OVERFLOW, SAME
from flatweave.base.dtypes import PARTS, DType, as_dtype, bool_, i64, u16
from flatweave.base.errors import (
    ArgumentError,
    DTypeError,
    ExtentOverflowError,
    IndexOutOfBounds,
    NegativeExtentError,
    NestingError,
    ShapeError,
    Unsupported,
    UserError,
)
from flatweave.base.plan import METHODS, SEQUENTIAL, STACKED, Function, as_result, called, register
from flatweave.base.source import user_location
from flatweave.frontend.arrays.axes import axes_named
from flatweave.frontend.call import operation as calls
from flatweave.frontend.elements.broadcasting import cast, read
from flatweave.frontend.ragged.cutting import first_place, none_at
from flatweave.frontend.trace import extents
from flatweave.frontend.trace.extents import shape_of
from flatweave.frontend.trace.run_time_checks import ROW, check_message, is_refused, leave_ours_out
from flatweave.frontend.trace.run_time_checks import check as checked
from flatweave.frontend.trace.trace import interleaved, lifted, parts_of
from flatweave.frontend.trace.tracers import as_tracer, emit, lifted_short
from flatweave.frontend.values.array import Array, Tracer, describe, host_array, kind_of
from flatweave.frontend.values.asarray import is_one_array
from flatweave.frontend.values.exchange import Values
from flatweave.frontend.values.number_formats import OF, Interleaved, Short
from flatweave.frontend.values.scope import current, innermost
from flatweave.frontend.values.tree import LEAF, Tree, flatten, spelled, unflatten
from flatweave.ops import Argument, Callback, Returned
from flatweave.terms.build import index
from flatweave.terms.syntax import Atom, Const

# -- callbacks ------------------------------------------------------------------------------------
#
# Python functions that programs call on the host: `pure_callback`, and what libraries do.
#
#   pure_callback(f, ShapeDtypeStruct((n,), f64), x)     callback f_3f2a none [] [argument x ..] ..
#
# Outside of traces the function is called at once.


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


# -- checks ---------------------------------------------------------------------------------------
#
# Conditions that a program checks when it runs, and functions of a library on top of this one.
#
#   check(lengths >= 0, "length {0} is {1}", lengths)       the first one that fails, and its value
#   @operation(static="axis")                               recorded in a trace, else run at once


P = ParamSpec("P")
R = TypeVar("R")
KINDS: dict[type[UserError], str] = {
    ArgumentError: "argument", ShapeError: SAME, IndexOutOfBounds: ROW,
    NegativeExtentError: NEGATIVE, ExtentOverflowError: OVERFLOW,
}  # fmt: skip


@calls.operation(static="message error remedy")
def check(
    holds: Any, message: str, *values: Any, error: type[UserError] = ArgumentError,
    remedy: str = "",
) -> None:  # fmt: skip
    """Stop the program with an error unless a condition, or each of an array of them, holds.

    The error shows the line that calls the function, the message and the remedy. In the message
    `{0}` and `{1}` are the values, integers. Of an array of conditions `{0}` is the first index
    that fails, and `{1}` the element there of an array of integers. `error` is ArgumentError,
    ShapeError, IndexOutOfBounds, NegativeExtentError or ExtentOverflowError.

    Types: `holds: bool or bool[n], values: integer or integer[n] -> nothing`. Raises `error`, and
    DTypeError for a condition that is not bool. Source: JAX's `checkify.check`.

        >>> fw.check(fw.asarray([3, 1]) > 0, "element {0} is {1}.", [3, 1])
    """
    condition = as_tracer(holds, "the condition of check")
    if condition.element is not bool_ or condition.ndim > 1:
        raise DTypeError.here(
            f"check needs a bool, or an array of them, got {describe(condition)}.",
            "Compare first, for instance with xs > 0.",
        )
    kind = KINDS.get(error, "argument")
    shown = [as_tracer(value, "a value of check") for value in values]
    for each in shown:
        if not each.element.is_integer:
            raise DTypeError.here(
                f"the values that check shows must be integers, got {describe(each)}.",
                "Leave the value out, or show an index.",
            )
    if not condition.ndim:
        atoms = [current().cast(each.atom, i64) for each in shown]
        known = [atom.value for atom in atoms if isinstance(atom, Const)]
        if is_refused(condition.atom) and len(known) == len(atoms):
            texts = [extents.filled(text, known) for text in (message, remedy)]
            raise error(texts[0], where=user_location(), remedy=texts[1])
        home = checked(condition.atom, kind, atoms, check_message(message, [], remedy))
        home.checked.add(condition.atom)
        return
    count = condition.extents[0]
    extents.same_length([condition, *shown], "check", ["holds", "value"])
    found = first_place(count, lambda i: current().apply("not", read(condition, (i,)).atom))

    def shown_value(i: Atom) -> Atom:
        return current().cast(read(shown[0], (i,)).atom, i64) if shown else i

    none_at(found, count, (kind, message, remedy), shown_value)


def note(text: str) -> None:
    """Say in the `notes` of a compiled function what a function chose, with the line that calls it.

    Outside of jitted functions nothing happens.

    Types: `text ->` nothing. Raises nothing. Source: Flatweave.

        >>> def f(x):
        ...     fw.note("doubled by adding")
        ...     return x + x
        >>> fw.jit(f).stages(1.0).notes[0].endswith("doubled by adding")
        True
    """
    scope = innermost()
    if scope is not None:
        scope.trace.notes.append((text, user_location()))


def operation(
    *, static: str = "", structured: str = "", lists: str = "", numbers: str = "",
    elementwise: bool = False, axial: bool = False, any_dtype: bool = False, name: str = "",
) -> Callable[[Callable[P, R]], Callable[P, R]]:  # fmt: skip
    """Declare a function of arrays that works as those of `fw` do: called in a trace it is a part
    of the program, outside it is compiled for the call and runs at once.

    Unlike `fw.jit`, a list of numbers is an array, functions may be arguments, and a value of any
    Overriding class is asked first. `static` names parameters that decide what the program is, and
    that the body gets as Python values. In the parameters that `structured` names a list is a
    structure, in those that `lists` names one of arrays, where an array is its rows; `numbers`
    names structures of a few numbers, which may be an array, such as widths and shapes.

    An `elementwise` function of a Ragged works on its values. An `axial` one goes along its axes:
    the function has the parameters `axis` and `keepdims`, and its first argument is the array. With
    `any_dtype` floats of 16 bits reach the body as they are, elsewhere as f32. Complex numbers
    always do. Messages have the `name` of a function that users call in place of a private one.

    Types: `f -> f`. Raises what the function does, and ArgumentError for arguments that it does
    not take. Source: Flatweave.

        >>> @fw.operation(static="power")
        ... def moment(x, power=2):
        ...     return fw.mean((x - fw.mean(x)) ** power)
        >>> moment([1.0, 2.0, 3.0], power=2)
        Array(0.6666666666666666, dtype=float64)
    """
    return calls.operation(
        static=static, structured=structured, lists=lists, numbers=numbers,
        elementwise=elementwise, axial=axial, any_dtype=any_dtype, composed=True, name=name,
    )  # fmt: skip


def normalize_axes(x: Any, axis: int | Sequence[int] | None, who: str) -> tuple[int, ...]:
    """The axes of an array that a user names, counted from 0, in that order; all of them for None.

    `who` is what the errors call the function. To be used in functions of a library.

    Types: `x: t[..]`, an int, a tuple of ints or None `->` a tuple of ints. Raises AxisError for an
    axis that is not there, ArgumentError for one that is no integer or is named twice. Source:
    `numpy.lib.array_utils.normalize_axis_tuple`.

        >>> fw.normalize_axes(fw.full((2, 3), 0), -1, "median")
        (1,)
    """
    return tuple(axes_named(x, axis, who))
