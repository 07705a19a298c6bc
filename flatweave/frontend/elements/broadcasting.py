"""Operands of elementwise work brought together: shapes as NumPy broadcasts them, and dtypes.

    x: f32[n, 1] + y: f32[m]     generate [n, m] (i j => add (x[i, 0]) (y[j]))
    x: f32[n] * 2.0              map (a => mul a 2.0) x

An axis is stretched where its extent is the constant 1. Extents of arguments are variables, also
when they are 1 in a call: `call/compiled.py` says how such a call is served. In a trace that
`stretches`, an extent that is computed, such as the number of elements that a filter keeps, may be
1 as well: it is compared with 1 when the program runs.

    filter p xs + ys: f32[m]     generate [m] (j => add (kept[select (eq n 1) 0 j]) (ys[j]))

Which Python numbers fit a dtype is decided here alone (`cast`, `taken`):

    i8 array + 100, reduce(add, 0, i8 array)     the number becomes an i8
    i8 array + 300, reduce(add, 300, ..)         OverflowError
    reduce(add, 0.5, i8 array)                   DTypeError: a float takes no integer's dtype
    f(i8 array, k) with k = 300                  OverflowError, from a check when it runs

A number that is computed from Python numbers while a program runs wraps, as integers do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from flatweave.base.dtypes import DType, bool_, i64
from flatweave.base.errors import DTypeError
from flatweave.frontend.trace import extents
from flatweave.frontend.trace.extents import ONE, ZERO, origin_line, same
from flatweave.frontend.trace.run_time_checks import LITERAL, check, check_message
from flatweave.frontend.trace.tracers import emit, tracer_of
from flatweave.frontend.values.arguments import (
    COMPARISONS,
    PYTHON,
    bounds,
    fits,
    misfit,
    too_big,
    wider,
)
from flatweave.frontend.values.array import Tracer
from flatweave.frontend.values.scope import Scope, current
from flatweave.ops import Generate, Index, Map
from flatweave.terms.syntax import Atom, Const, Var, constant

Scalars = Sequence[Tracer]


def zipped(
    fn: Callable[..., Tracer | Scalars], operands: Sequence[Tracer], who: str
) -> list[Tracer]:
    """`fn` on the scalars of the operands at each index of their common shape."""
    if not any(operand.ndim for operand in operands):
        return _listed(fn(*operands))
    shape = common_shape(operands, who)
    if all(operand.ndim in (0, len(shape)) and _fills(operand, shape) for operand in operands):
        return _mapped(fn, operands, len(shape))
    return generated(shape, lambda *at: fn(*(read_stretched(x, at) for x in operands)))


def _fills(operand: Tracer, shape: Sequence[Atom]) -> bool:
    """Whether no axis of an operand is stretched."""
    pairs = zip(operand.extents, shape, strict=False)
    return not any(is_stretched(extent, wanted) for extent, wanted in pairs)


def is_stretched(extent: Atom, wanted: Atom) -> bool:
    """Whether an axis is repeated, or may be when the program runs."""
    if extent == wanted:
        return False
    if extent == ONE:
        return True
    return may_be_one(extent) and not _are_equal(extent, wanted)


def _are_equal(a: Atom, b: Atom) -> bool:
    """Whether a check has found two extents to be equal."""
    return current().is_checked(current().apply("eq", a, b))


def may_be_one(extent: Atom) -> bool:
    """Whether an extent is to be compared with 1 when the program runs: a computed one.

    Extents of arguments are not: where one is 1 it is a constant of the trace.
    """
    trace = current().trace
    return trace.stretches and isinstance(extent, Var) and extent not in trace.hints


def _listed(results: Tracer | Scalars) -> list[Tracer]:
    return [results] if isinstance(results, Tracer) else list(results)


def _mapped(
    fn: Callable[..., Tracer | Scalars], operands: Sequence[Tracer], rank: int
) -> list[Tracer]:
    """One map over all axes; scalar operands are free variables of its lambda."""
    arrays = [operand for operand in operands if operand.ndim]

    def body(inside: Scope, params: tuple[Var, ...]) -> list[Atom]:
        elements = iter(params)
        args = [tracer_of(next(elements)) if x.ndim else x for x in operands]
        return [result.atom for result in _listed(fn(*args))]

    function = current().function([x.element for x in arrays], body, "a")
    return emit(Map(function, tuple(x.atom for x in arrays), rank))


def generated(
    shape: Sequence[Atom], fn: Callable[..., Tracer | Scalars], hint: str = "i"
) -> list[Tracer]:
    """An array of this shape from a function of its indices, which stay below the extents."""
    if not shape:
        return _listed(fn())

    def body(inside: Scope, params: tuple[Var, ...]) -> list[Atom]:
        for param, extent in zip(params, shape, strict=True):
            inside.natural.add(param)
            inside.trace.bounds[param] = extent
        return [result.atom for result in _listed(fn(*params))]

    function = current().function([i64] * len(shape), body, hint)
    return emit(Generate(tuple(shape), function))


def read(array: Tracer, at: Sequence[Atom]) -> Tracer:
    """The element at indices that are known to be inside."""
    if not array.ndim:
        return array
    return emit(Index(array.atom, tuple(at), checked=False))[0]


def read_stretched(array: Tracer, at: Sequence[Atom]) -> Tracer:
    """The operand's element for an index of the common shape."""
    if not array.ndim:
        return array
    own = at[len(at) - array.ndim :]
    pairs = zip(array.extents, own, strict=True)
    return read(array, [place_along(extent, i) for extent, i in pairs])


def place_along(extent: Atom, i: Atom) -> Atom:
    """The index along an operand's axis for index `i` of the common shape."""
    if extent == ONE:
        return ZERO
    scope = current()
    if not may_be_one(extent) or (isinstance(i, Var) and scope.trace.bounds.get(i) == extent):
        return i
    return extents.select(scope.apply("eq", extent, ONE), ZERO, i)


def common_shape(operands: Sequence[Tracer], who: str) -> tuple[Atom, ...]:
    """The shape that operands are broadcast to; ShapeError or a check where they do not fit."""
    rank = max(operand.ndim for operand in operands)
    shape: list[Atom] = [ONE] * rank
    givers: list[Tracer] = [operands[0]] * rank
    for operand in operands:
        start = rank - operand.ndim
        for axis, extent in enumerate(operand.extents, start):
            if shape[axis] == ONE:
                shape[axis], givers[axis] = extent, operand
            elif extent != ONE:
                pair = (givers[axis], operand)
                shape[axis] = _met(shape[axis], extent, pair, axis, rank, who)
    return tuple(shape)


def _met(
    a: Atom, b: Atom, pair: tuple[Tracer, Tracer], axis: int, rank: int, who: str
) -> Atom:
    """The extent of an axis that two operands share."""
    first, second = pair
    if a == b:
        return a
    along = f" along axis {axis}" if rank > 1 else ""
    message = f"{who} needs operands whose shapes broadcast, got {{0}} and {{1}} elements{along}."
    origins = [
        origin_line(first, "left", "{0}", axis - rank),
        origin_line(second, "right", "{1}", axis - rank),
    ]
    remedy = "Cut both to one length, or give one of them the extent 1 there."
    return met((a, b), message, origins, remedy, repeatable=(a, b))


def met(
    pair: tuple[Atom, Atom], message: str, origins: Sequence[str], remedy: str,
    repeatable: Sequence[Atom],
) -> Atom:  # fmt: skip
    """The extent of an axis where two meet: equal, or one of the `repeatable` ones 1.

    `{0}` and `{1}` in the texts stand for the two extents.
    """
    a, b = pair
    units = [extent for extent in repeatable if may_be_one(extent)]
    if not units:
        return same(a, b, message, origins, remedy)
    if _are_equal(a, b):
        return a
    scope = current()
    fits = scope.apply("eq", a, b)
    for extent in units:
        fits = scope.apply("or", fits, scope.apply("eq", extent, ONE))
    check(fits, "same", (a, b), check_message(message, origins, remedy))
    if units == [a, b]:
        return extents.known_extent(extents.select(scope.apply("eq", a, ONE), b, a))
    return b if units == [a] else a


def broadcast_to(array: Tracer, shape: Sequence[Atom]) -> Tracer:
    """An array repeated along new axes and along axes of extent 1."""
    if tuple(array.extents) == tuple(shape):
        return array
    return generated(shape, lambda *at: read_stretched(array, at))[0]


def cast(value: Tracer, dtype: DType) -> Tracer:
    """A traced scalar in another dtype; a Python number must be a value of it."""
    must_fit(value, dtype)
    if value.element is dtype and not value.weak:
        return value
    return Tracer(current().cast(value.atom, dtype), value.scope)


def taken(value: Tracer, dtype: DType, who: str) -> Tracer:
    """A value converted to the dtype of the elements it joins: a neutral element, a written value.

    Raises DTypeError for another kind, such as floats among integers; arrays wrap, as NumPy's do
    when they are written into each other.
    """
    if value.weak or value.element is dtype:
        return cast(value, dtype)
    if value.element.is_integer and dtype.is_integer and not value.ndim:
        _must_be_inside(value, dtype, f"the {value.element}")
    elif not np.can_cast(value.element.numpy, dtype.numpy, "same_kind"):
        raise DTypeError.here(
            f"{who} cannot take {value.element} for its elements, which are {dtype}.",
            f"Convert it with astype(fw.{_spelled(dtype)}), or convert the elements.",
        )
    return zipped(lambda v: strong(v, dtype), [value], who)[0]


def strong(value: Tracer, dtype: DType) -> Tracer:
    """A scalar converted to a dtype, not weak any more."""
    scope = current()
    atom = scope.cast(value.atom, dtype)
    return Tracer(atom, scope.home((atom,)))


def _spelled(dtype: DType) -> str:
    return "bool_" if dtype is bool_ else dtype.name


def must_fit(value: Tracer, dtype: DType) -> None:
    """Refuse a Python number that is no value of a dtype; an argument is checked when it runs."""
    atom = value.atom
    if dtype.is_float or not value.weak:
        return
    if value.element.is_float:
        raise DTypeError.here(
            f"the Python float {_shown(atom)}cannot be an element of dtype {dtype}.",
            "Give an integer, or convert the elements first: xs.astype(fw.f64).",
        )
    if isinstance(atom, Const) or atom in current().trace.numbers:
        _must_be_inside(value, dtype, PYTHON)


def _must_be_inside(value: Tracer, dtype: DType, what: str) -> None:
    """Refuse an integer outside the bounds of a dtype, now or by a check when it runs."""
    atom = value.atom
    if isinstance(atom, Const):
        if not fits(atom.value, dtype):
            raise too_big(atom.value, dtype, what)
        return
    for bound, fn in _beyond(value.element, dtype):
        holds = current().apply(fn, atom, bound)
        if not current().is_checked(holds):
            text = check_message(misfit("{0}", dtype, what), remedy=wider(dtype))
            home = check(holds, LITERAL[value.element.is_signed], (atom,), text)
            home.checked.add(holds)


def _shown(atom: Atom) -> str:
    return f"{atom.value} " if isinstance(atom, Const) else ""


def _beyond(own: DType, dtype: DType) -> list[tuple[Const, str]]:
    """The bounds of a dtype that another integer dtype exceeds."""
    (low, high), (least, most) = bounds(dtype), bounds(own)
    found = [(constant(low, own), "ge")] if least < low else []
    return [*found, *([(constant(high, own), "le")] if high < most else [])]


def compared(fn: str, values: Sequence[Tracer], dtype: DType) -> Tracer | None:
    """A comparison of integers with a Python number that may not fit their dtype, by value.

    Beyond the ends of the dtype the number is above or below every element. None where nothing but
    the plain comparison is to be done.
    """
    if fn not in COMPARISONS or not dtype.is_integer:
        return None
    number, other = sorted(values, key=lambda value: not value.weak)
    if not number.weak or other.weak or not _may_be_beyond(number, dtype):
        return None
    fn = fn if values[0] is other else _TURNED.get(fn, fn)
    scope, atom, own = current(), number.atom, number.element
    near: Atom = atom
    below: Atom = _FALSE
    above: Atom = _FALSE
    for bound, inside in _beyond(own, dtype):
        near = scope.apply("maximum" if inside == "ge" else "minimum", near, bound)
        if inside == "ge":
            below = scope.apply("lt", atom, bound)
        else:
            above = scope.apply("gt", atom, bound)
    plain = scope.apply(fn, other.atom, scope.cast(near, dtype))
    for outside, holds in ((below, fn in ("gt", "ge", "ne")), (above, fn in ("lt", "le", "ne"))):
        if outside != _FALSE:
            plain = scope.apply("select", outside, constant(holds, bool_), plain)
    return Tracer(plain, scope.home((plain,)))


_FALSE = constant(False, bool_)
_TURNED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}


def _may_be_beyond(number: Tracer, dtype: DType) -> bool:
    if isinstance(number.atom, Const):
        return not fits(number.atom.value, dtype)
    return number.atom in current().trace.numbers and bool(_beyond(number.element, dtype))
