"""Any value as a tracer of the innermost body; floats of 16 bits read as f32 and stored again.

    as_tracer(3)                   a weak constant
    as_tracer(np.float32(3))       a constant of f32
    as_tracer(xs)                  a NumPy or host array: a hidden argument of the program
    as_tracer(tracer)              itself, if its body is still being traced
    widened(F16(words))            map of_f16 words
    narrowed(x: f64[n], bf16)      BF16(map to_bf16 x)
    narrowed(i: i64[n], f16)       F16(map to_f16 (map (cast f64) i)), rounded once
    stored(F16(words))             words: an argument that is a result is not copied
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from flatweave.base.dtypes import DType, as_dtype, bool_, f32, f64, i64, u16, u64
from flatweave.base.errors import (
    ArgumentError,
    DTypeError,
    ExtentOverflowError,
    NotTraceableError,
    ShapeError,
    Unsupported,
    UserError,
)
from flatweave.frontend.trace.run_time_checks import SIZE, check_message, fit_results
from flatweave.frontend.values.arguments import common, fits, literal_dtype
from flatweave.frontend.values.array import (
    METHODS,
    Array,
    HostArray,
    Tracer,
    describe,
    kind_of,
    shown,
)
from flatweave.frontend.values.asarray import is_number_list, list_values, no_array, values_of
from flatweave.frontend.values.elsewhere import DeviceArray
from flatweave.frontend.values.number_formats import (
    OF,
    STORED,
    Short,
    Stored,
    is_complex,
    is_short,
    words_of,
)
from flatweave.frontend.values.scope import Scope, current
from flatweave.frontend.values.tree import LEAF, Node, Tree, flatten, map_leaves, unflatten
from flatweave.ops import Check, Map
from flatweave.scalar.ops import SYMBOLS
from flatweave.terms.build import index
from flatweave.terms.syntax import Atom, Const, Op, Var, constant, scalar_type

EXACT = 53
"""Bits that an f64 has room for."""


T = TypeVar("T")


def widened(value: Any) -> Tracer:
    """Floats of 16 bits, of the trace or from outside, as f32."""
    short = lifted_short(value)
    assert isinstance(short, Short)
    return _each(short.words, lambda scope, x: scope.apply(f"of_{short.element.name}", x))


def narrowed(x: Tracer, dtype: DType) -> Short:
    """Numbers as floats of 16 bits, each the nearest one."""

    def one(scope: Scope, x: Atom) -> Atom:
        kind = scalar_type(x)
        if kind.is_integer and kind.bits == 64:
            x = _in_53_bits(scope, x)
        if kind not in (f32, f64):
            x = scope.cast(x, f64 if kind.bits > 16 else f32)
        return scope.apply(f"to_{dtype.name}", x)

    return OF[dtype](_each(x, one))


def _in_53_bits(scope: Scope, x: Atom) -> Atom:
    """An integer of 64 bits as one that an f64 holds and that rounds to the same short float: the
    bits after its first 53 become one bit, which is set if one of them is."""
    kind = scalar_type(x)
    behind = constant((1 << 64 - EXACT) - 1, kind)
    shift, one = constant(64 - EXACT, kind), constant(1, kind)
    rest = scope.apply("minimum", scope.apply("and", x, behind), one)
    short = scope.apply("shl", scope.apply("or", scope.apply("shr", x, shift), rest), shift)
    size = scope.apply("abs", x) if kind is i64 else x
    fits = scope.apply("lt", size, constant(1 << EXACT, kind))
    if kind is i64:  # the least one is its own size
        fits = scope.apply("and", fits, scope.apply("ge", size, index(0)))
    return scope.apply("select", fits, x, short)


def _each(x: Tracer, fn: Callable[[Scope, Atom], Atom]) -> Tracer:
    """A function of each element."""
    scope = current()
    if not x.ndim:
        atom = fn(scope, x.atom)
        return Tracer(atom, scope.home((atom,)))

    def body(inside: Scope, params: tuple[Var, ...]) -> list[Atom]:
        return [fn(inside, *params)]

    function = scope.function([x.element], body)
    return Tracer(scope.emit(Map(function, (x.atom,), x.ndim))[0], scope)


def lifted_short(value: T) -> T | Short:
    """Floats of 16 bits from outside as values of the trace; anything else as it is."""
    if isinstance(value, Short) or not is_short(value):
        return value
    array: Any = value
    scope, kind = current(), as_dtype(array.dtype)
    if isinstance(array, np.generic):
        return OF[kind](Tracer(constant(int(words_of(array)), u16), scope))
    source = array if isinstance(array, HostArray) else None
    var = scope.trace.capture(_words(array), False, source, None if source is None else _words)
    return OF[kind](Tracer(var, scope))


def _words(array: Any) -> Any:
    return words_of(array.to_numpy() if isinstance(array, DeviceArray) else array)


def stored(value: T) -> T | Stored:
    """A result of floats of 16 bits as words; anything else as it is."""
    found = lifted_short(value)
    return STORED[found.element](found.words) if isinstance(found, Short) else value


NUMBER = (bool, int, float, np.generic)


def tracer_of(atom: Atom, weak: bool = False) -> Tracer:
    """An atom of the innermost body, or of one around it, as a tracer."""
    return Tracer(atom, current(), weak)


def emit(op: Op, hint: str = "t") -> list[Tracer]:
    """Append an operation to the innermost body; its results, checked not to be too many."""
    fit_results(op)
    return [tracer_of(var) for var in current().emit(op, hint)]


def as_tracer(value: Any, name: str = "") -> Tracer:
    """The value as a tracer; raises ArgumentError for what cannot be one.

    Raises EscapedArrayError for a traced array whose body has ended.
    """
    scope = current()
    if isinstance(value, Tracer):
        if value.is_gone:
            raise value.escaped()
        return value
    if isinstance(value, bool | int | float) and not isinstance(value, np.generic):
        dtype = literal_dtype(value)
        return Tracer(constant(value, dtype), scope, weak=dtype is not bool_)
    if is_short(value):
        return widened(value)
    if isinstance(value, DeviceArray) and value.ndim:
        return Tracer(scope.trace.capture(value.resident, False, value, _resident), scope)
    if is_complex(value):
        raise Unsupported.here(
            f"{name or 'this argument'} holds complex numbers, which have no meaning here.",
            "Do it with the real and the imaginary part: fw.real(x), fw.imag(x).",
        )
    if _are_traced(value):
        return as_tracer(METHODS["stack"]([as_tracer(item, name) for item in value]))
    values = values_of(value, name)
    if values is None and is_number_list(value):
        values = values_of(list_values(value), name)
    if values is None and isinstance(value, list) and not value:
        values = np.zeros(0)
    if values is None:
        raise no_array(value, name)
    if isinstance(value, np.generic):
        return Tracer(constant(value.item(), as_dtype(value.dtype)), scope)
    if isinstance(value, HostArray):
        return Tracer(scope.trace.capture(values, False, value, values_of), scope)
    return Tracer(scope.trace.capture(values), scope)


def _resident(array: DeviceArray) -> Any:
    return array.resident


def are_numbers(value: Any) -> bool:
    """Whether a value is a list of numbers, traced ones among them, which stands for an array."""
    return is_number_list(value) or _are_traced(value)


def _are_traced(value: Any) -> bool:
    """Whether a list holds numbers, perhaps in lists, of which some are traced."""
    if not isinstance(value, list) or not value:
        return False
    traced = [isinstance(item, Tracer) or _are_traced(item) for item in value]
    return any(traced) and all(
        (not item.ndim if isinstance(item, Tracer) else True)
        if is_traced else isinstance(item, NUMBER) or is_number_list(item)
        for item, is_traced in zip(value, traced, strict=True)
    )  # fmt: skip


def as_tracers(
    value: Any, name: str = "", irregular: bool = False, structured: bool = False
) -> tuple[list[Tracer], Tree]:
    """The leaves of a tree as tracers, and the tree; a list of numbers is one array, unless the
    tree is `structured` by lists.

    Raises Unsupported for a Ragged unless `irregular` says that one may be there.
    """
    if not structured and _are_traced(value):
        return [as_tracer(value, name)], LEAF
    is_leaf = None if structured else is_number_list
    leaves, tree = flatten(value, is_leaf)
    if any(map(is_short, leaves)):
        leaves, tree = flatten(map_leaves(lifted_short, value, is_leaf), is_leaf)
    if tree.irregular and not irregular:
        parts = value if isinstance(value, tuple) else (value,)
        told = [part for part in parts if hasattr(type(part), "instead_of_array")]
        raise Unsupported.here(
            f"{name or 'this argument'} is {kind_of(told[0]) if told else 'a Ragged'} where arrays"
            " are needed.",
            told[0].instead_of_array if told else
            "Go through its rows with fw.map, or work on rows.values and rows.offsets.",
        )  # fmt: skip
    return [as_tracer(leaf, name) for leaf in leaves], tree


def restructured(tree: Tree, leaves: Iterable[Tracer]) -> Array:
    """Results in the structure of the arguments: one array where that was one, as types say."""
    found: Array = unflatten(tree, leaves)
    return found


def arrays_of(xs: Any, name: str) -> tuple[list[Tracer], Tree]:
    """The leaves of an argument that must hold arrays, at least one; an empty list is an array.

    Raises ArgumentError for None, (), {} and trees of such.
    """
    leaves, tree = as_tracers(xs, name)
    if leaves:
        return leaves, tree
    if isinstance(xs, list) and not xs:
        return [as_tracer(xs)], LEAF
    if xs is None:
        raise no_array(xs, name)
    raise ArgumentError.here(f"{name} is {tree}, which holds no array.", "Pass at least one array.")


def scalar_of(value: Any, what: str) -> Tracer:
    """The value as a traced scalar; ShapeError when it has axes."""
    if value is None or isinstance(value, tuple | str | Mapping | Node):
        raise ArgumentError.here(
            f"{what} must be one number, got {'None' if value is None else kind_of(value)}.",
            "Pass a number, or an array of rank 0.",
        )
    traced = as_tracer(value, what)
    if traced.ndim:
        raise ShapeError.here(
            f"{what} must be a scalar, got {describe(traced)}.",
            "Read one element of it, for instance with x[0].",
        )
    return traced


MOST = 2**63 - 1
TOO_GREAT = "{what} is {{0}}, more than an i64 can count."
CHECK_IT = "Look at where the number comes from: it is far too large."
NO_PLACE = "index {0} is outside every array: none has more than 9223372036854775807 elements."
CLIP = "Bring indices inside with fw.clip, or drop those outside with fw.filter."


def extent_of(value: Any, what: str) -> Atom:
    """An integer scalar as an i64 atom: an extent. ExtentOverflowError beyond an i64."""
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        if not fits(int(value), i64):
            text = TOO_GREAT.format(what=what).format(int(value))
            raise ExtentOverflowError.here(text, CHECK_IT)
        return index(int(value))
    traced = scalar_of(value, what)
    if not traced.element.is_integer:
        raise DTypeError.here(
            f"{what} must be an integer, got {describe(traced)}.",
            "Convert it with astype(fw.i64), or divide with // rather than /.",
        )
    text = check_message(TOO_GREAT.format(what=what), [], CHECK_IT)
    return counted_in_i64(traced.atom, SIZE, text)


def counted_in_i64(atom: Atom, kind: str, message: str) -> Atom:
    """An integer as an i64; a u64 beyond that stops the program, and its message has the number."""
    scope = current()
    if atom.type is u64:
        fits_ = scope.apply("le", atom, constant(MOST, u64))
        if not (isinstance(fits_, Const) and fits_.value):
            scope.emit(Check(fits_, kind, (atom,), message))
    return scope.cast(atom, i64)


def flag_of(value: Any, what: str) -> bool:
    """A user's True or False that decides what the program is."""
    is_array_of_one = isinstance(value, Array) and not value.ndim and value.dtype == np.bool_
    if isinstance(value, bool | np.bool_) or is_array_of_one:
        return bool(value)
    if type(value) is int and value in (0, 1):
        return bool(value)
    raise ArgumentError.here(
        f"{what} must be True or False, got {shown(value)}.", "Leave it out for the default."
    )


def same_dtype(values: Sequence[Tracer]) -> DType:
    """The common dtype of several arrays."""
    return common(values)[0]


def is_array(value: Any) -> bool:
    """Whether a value is an array or number rather than a function or a name."""
    return isinstance(value, Array | np.ndarray | np.generic | bool | int | float)


def stacked(value: Any, name: str) -> Tracer | None:
    """A list of numbers, some of them traced, as one array; None for anything else."""
    return as_tracer(value, name) if _are_traced(value) else None


METHODS["stacked"] = stacked


def inside_a_program(name: str, array: Any, other: Any, method: str) -> object:
    """`array op other` where the operation belongs to the other's library: what that makes of a
    value without elements; NotTraceableError where it needs them."""
    try:
        found: object = getattr(type(other), method, lambda *_: NotImplemented)(other, array)
    except (UserError, TypeError):
        found = NotImplemented
    if found is not NotImplemented:
        return found
    described = f"a traced value of type {describe(array)}" if is_array(array) else kind_of(array)
    raise NotTraceableError.here(
        f"{SYMBOLS.get(name, name)} with an operand of class {type(other).__name__} is done by its"
        f" library, which needs an array of NumPy, not {described}.",
        "Take its elements first, fw.asarray(x); units, labels and masks stay outside.",
    )


METHODS["inside_a_program"] = inside_a_program
