"""Scalar work and structured control, the same in both IRs; and what one scalar function, or a
row-major position split into indices, is known to equal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

import numpy as np

from flatweave.base.dtypes import DType, bool_, i64
from flatweave.scalar import ops as scalar
from flatweave.scalar.function import evaluate_cast
from flatweave.terms.syntax import (
    ArrayType,
    Atom,
    Const,
    Lambda,
    Op,
    Type,
    Var,
    condition_misfits,
    constant,
    function_misfits,
    op,
    scalar_type,
    types_misfit,
    types_of,
)


@op
class Apply(Op):
    """A scalar function of the table in `scalar/`:   z: f32 = apply add x y"""

    fn: str
    args: tuple[Atom, ...]

    def result_types(self) -> tuple[Type, ...]:
        return (scalar.result_dtype(self.fn, [scalar_type(arg) for arg in self.args]),)


@op
class Cast(Op):
    """A value in another dtype, as NumPy's astype:   y: f64 = cast f64 x"""

    dtype: DType
    arg: Atom

    def result_types(self) -> tuple[Type, ...]:
        return (self.dtype,)


def with_extents(
    types: Sequence[Type], extent: Callable[[int, Sequence[Var]], Atom]
) -> tuple[Var, ...]:
    """Fresh variables for results of which each array comes after its extents; `extent` says what
    result k is as an extent, given the variables so far."""
    bound: list[Var] = []
    for k, type_ in enumerate(types):
        if isinstance(type_, ArrayType):
            first = k - type_.rank
            if first < 0 or any(var.type is not i64 for var in bound[first:]):
                raise TypeError(f"before result {k}, an array, its extents are no results")
            shape = tuple(extent(i, bound) for i in range(first, k))
            type_ = ArrayType(type_.dtype, shape)
        bound.append(Var("t", type_))
    return tuple(bound)


NO_BODY = Lambda((), (), ())
"""A branch in which nothing happens."""


@op
class If(Op):
    """One of two bodies:   n: i64, ys: f32[n] = if p (() => .. in m, fs) (() => .. in k, gs)

    Before each array its extents are results. If both bodies give one extent that is known
    before them, the array's type has this extent.
    """

    condition: Atom
    then: Lambda
    other: Lambda

    def binders(self) -> tuple[Var, ...]:
        return with_extents(self.then.result_types(), self._extent)

    def _extent(self, k: int, bound: Sequence[Var]) -> Atom:
        """Result k as an extent: what both bodies give, or the variable for it."""
        given, own = self.then.results[k], {var for let in self.then.lets for var in let.vars}
        return given if given == self.other.results[k] and given not in own else bound[k]

    def misfits(self) -> Iterator[str]:
        types = self.then.result_types()
        yield from condition_misfits(self.condition)
        yield from function_misfits("the first body", self.then, ())
        yield from function_misfits("the second body", self.other, (), types)


@op
class While(Op):
    """Repeats `body` on the state while `condition` holds on it.

    With `through_memory` each iteration goes to the next element of a stored array, which bounds
    the iterations: such a loop need not check whether its program has been interrupted.
    """

    condition: Lambda
    body: Lambda
    init: tuple[Atom, ...]
    through_memory: bool = False

    def result_types(self) -> tuple[Type, ...]:
        return tuple(param.type for param in self.body.params)

    def binders(self) -> tuple[Var, ...]:
        return self.body.params

    def misfits(self) -> Iterator[str]:
        state = types_of(self.init)
        yield from function_misfits("the condition", self.condition, state, (bool_,))
        yield from function_misfits("the body", self.body, state, state)


@op
class For(Op):
    """Repeats `body(i, state)` for i = lo, lo + step, .. below hi."""

    lo: Atom
    hi: Atom
    step: Atom
    body: Lambda
    init: tuple[Atom, ...]

    def result_types(self) -> tuple[Type, ...]:
        return tuple(param.type for param in self.body.params[1:])

    def binders(self) -> tuple[Var, ...]:
        return self.body.params[1:]

    def misfits(self) -> Iterator[str]:
        counter, state = scalar_type(self.lo), types_of(self.init)
        yield from types_misfit("the range", (self.hi, self.step), (counter, counter))
        if not counter.is_integer:
            yield f"the range is one of {counter}"
        yield from function_misfits("the body", self.body, (counter, *state), state)


# -- folding -------------------------------------------------------------------------------------
#
# Local simplification of one scalar function: constants and neutral elements.
#
#     add x 0 ==> x      mul x 1 ==> x      sub x x ==> 0 (integers)      select true a b ==> a
#
# What holds of every value of a dtype, wrapping, NaN and -0.0 included. What holds of indices
# only is below and in `body_facts.py`.


RIGHT_NEUTRAL = {"add": 0, "sub": 0, "mul": 1, "floordiv": 1, "or": 0, "xor": 0, "shl": 0, "shr": 0}
LEFT_NEUTRAL = {"add": 0, "mul": 1, "or": 0, "xor": 0}


def fold_apply(fn: str, args: Sequence[Atom]) -> Atom | None:
    """The atom that `fn args` equals, if one is known; None otherwise."""
    if all(isinstance(arg, Const) for arg in args):
        return _evaluate(fn, args)
    if fn == "select":
        return _fold_select(args)
    if len(args) != 2 or not isinstance(args[0].type, DType):
        return None
    return _fold_binary(fn, args[0], args[1], args[0].type)


def fold_cast(arg: Atom, dtype: DType) -> Atom | None:
    if not isinstance(arg, Const):
        return None
    value = evaluate_cast(np.asarray(arg.value, arg.dtype.numpy), dtype)
    return constant(value.item(), dtype)


def _evaluate(fn: str, args: Sequence[Atom]) -> Atom | None:
    arrays = [np.asarray(a.value, a.dtype.numpy) for a in args if isinstance(a, Const)]
    dtypes = [a.dtype for a in args if isinstance(a, Const)]
    return constant(scalar.evaluate(fn, *arrays).item(), scalar.result_dtype(fn, dtypes))


def _fold_select(args: Sequence[Atom]) -> Atom | None:
    condition, a, b = args
    if isinstance(condition, Const):
        return a if condition.value else b
    return a if a == b else None


def _is(atom: Atom, value: int) -> bool:
    return isinstance(atom, Const) and not isinstance(atom.value, float) and atom.value == value


def _fold_binary(fn: str, a: Atom, b: Atom, dtype: DType) -> Atom | None:
    """Laws of integers and bools; floats keep every operation (-0.0 and NaN)."""
    if dtype.is_float:
        return _fold_float(fn, a, b)
    if a == b and fn in ("eq", "le", "ge"):
        return Const(True, bool_)
    if a == b and fn in ("ne", "lt", "gt"):
        return Const(False, bool_)
    if fn in RIGHT_NEUTRAL and _is(b, RIGHT_NEUTRAL[fn]):
        return a
    if fn in LEFT_NEUTRAL and _is(a, LEFT_NEUTRAL[fn]):
        return b
    if fn in ("minimum", "maximum") and a == b:
        return a
    if fn in ("mul", "and") and (_is(a, 0) or _is(b, 0)):
        return constant(0, dtype)
    if fn in ("sub", "xor") and a == b:
        return constant(0, dtype)
    return _fold_bool(fn, a, b) if dtype is bool_ else None


def _fold_float(fn: str, a: Atom, b: Atom) -> Atom | None:
    if fn in ("mul", "truediv") and isinstance(b, Const) and b.value == 1:
        return a
    if fn == "mul" and isinstance(a, Const) and a.value == 1:
        return b
    return None


def _fold_bool(fn: str, a: Atom, b: Atom) -> Atom | None:
    if fn in ("and", "or") and a == b:
        return a
    for x, y in ((a, b), (b, a)):
        if fn == "and" and _is(x, 1):
            return y
        if fn == "or" and _is(x, 1):
            return Const(True, bool_)
    return None


# Row-major positions split into indices and joined again, where nothing can wrap.
#
#     floordiv p m ==> 0                   mod p m ==> p                    0 <= p < m
#     floordiv (add (mul q m) r) m ==> q   mod (add (mul q m) r) m ==> r    0 <= r < m, no wrap
#     add (mul (floordiv p m) m) (mod p m) ==> p                            m > 0
#     add (mul (add (floordiv p m) k) m) (mod p m) ==> add p (mul k m)      m > 0, and sub as add
#     add a (sub x a) ==> x
#     floordiv (mod x m) m ==> 0           mod (mod x m) m ==> mod x m      integers of every dtype
#
# A user's integers wrap, and then the second line is wrong: 4 * 2**62 + 1 is 1. It is applied
# where q and r are indices into one space, whose size was checked to fit.


class Space(Protocol):
    """What index algebra asks of a builder."""

    def definition(self, atom: Atom) -> Op | None: ...

    def is_below(self, atom: Atom, extent: Atom) -> bool: ...

    def is_positive(self, extent: Atom) -> bool: ...

    def bound(self, atom: Atom) -> Atom | None: ...

    def fits(self, extents: Sequence[Atom]) -> bool: ...

    def apply(self, fn: str, *args: Atom) -> Atom: ...


def fold_position(space: Space, fn: str, args: Sequence[Atom]) -> Atom | None:
    """The atom that an operation on positions equals; None when none is known."""
    if fn == "add":
        return _rejoined(space, args[0], args[1]) or _restored(space, args[0], args[1])
    if fn not in ("floordiv", "mod"):
        return None
    position, extent = args
    dtype = position.type
    if not isinstance(dtype, DType) or not dtype.is_integer:
        return None
    inside = dtype is i64 and space.is_below(position, extent)
    if inside or _is_remainder(space, position, extent):
        return constant(0, dtype) if fn == "floordiv" else position
    parts = _row_and_column(space, position, extent)
    if parts is None or _factors(space, position) is None:
        return None
    return parts[0] if fn == "floordiv" else parts[1]


def _is_remainder(space: Space, atom: Atom, divisor: Atom) -> bool:
    """Whether an atom is the remainder of a division by `divisor`, of any sign or dtype."""
    rest = _operands(space, atom, "mod")
    return rest is not None and rest[1] == divisor


def _row_and_column(space: Space, position: Atom, extent: Atom) -> tuple[Atom, Atom] | None:
    """q and r of a position q * extent + r with 0 <= r < extent."""
    joined = _operands(space, position, "add")
    scaled = joined and _operands(space, joined[0], "mul")
    if not joined or not scaled or scaled[1] != extent or position.type is not i64:
        return None
    return (scaled[0], joined[1]) if space.is_below(joined[1], extent) else None


def _factors(space: Space, position: Atom) -> list[Atom] | None:
    """Extents whose product a position is below, one that fits; None where none are known."""
    found = _bounds(space, position)
    return found if found is not None and space.fits(found) else None


def _bounds(space: Space, position: Atom) -> list[Atom] | None:
    """Extents whose product a position is below, if that fits; None where none are known."""
    if isinstance(position, Const):
        return [constant(position.value + 1, i64)] if position.value >= 0 else None
    extent = space.bound(position)
    if extent is not None:
        return [extent]
    joined = _operands(space, position, "add")
    scaled = joined and _operands(space, joined[0], "mul")
    if joined and scaled and space.is_below(joined[1], scaled[1]):
        rows = _bounds(space, scaled[0])
        return None if rows is None else [*rows, scaled[1]]
    quotient = _operands(space, position, "floordiv")
    if quotient and space.is_positive(quotient[1]):
        whole = _bounds(space, quotient[0])
        if whole is not None and quotient[1] in whole:
            whole.remove(quotient[1])
        return whole
    return None


def _rejoined(space: Space, a: Atom, b: Atom) -> Atom | None:
    """The position whose row and column are put together again, in another row where rows were
    added to its own or taken from it."""
    scaled, rest = _operands(space, a, "mul"), _operands(space, b, "mod")
    if not scaled or not rest or scaled[1] != rest[1] or a.type is not i64:
        return None
    row, (position, extent) = scaled[0], rest
    moved = _moved(space, row, rest)
    if moved is None or not space.is_positive(extent):
        return None
    fn, rows = moved
    return position if rows is None else space.apply(fn, position, space.apply("mul", rows, extent))


def _moved(space: Space, row: Atom, rest: tuple[Atom, ...]) -> tuple[str, Atom | None] | None:
    """What is added to the row of a position, or taken from it."""
    if _operands(space, row, "floordiv") == rest:
        return "add", None
    for fn, order in (("add", 1), ("add", -1), ("sub", 1)):
        own, *rows = (_operands(space, row, fn) or (row,))[::order]
        if rows and _operands(space, own, "floordiv") == rest:
            return fn, rows[0]
    return None


def _restored(space: Space, a: Atom, b: Atom) -> Atom | None:
    """The end of a distance from `a`: an index in a row, back in the flat array."""
    distance = _operands(space, b, "sub")
    return distance[0] if distance and distance[1] == a and a.type is i64 else None


def _operands(space: Space, atom: Atom, fn: str) -> tuple[Atom, ...] | None:
    """The operands of the application of `fn` that `atom` is, if it is one."""
    made = space.definition(atom)
    if made is not None and getattr(made, "fn", None) == fn:
        return tuple(getattr(made, "args"))  # noqa: B009
    return None
