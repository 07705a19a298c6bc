"""Operators as functions: alike, by components, wide sums, inverses, and comparisons of keys."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from flatweave.base.dtypes import DType, bool_, f32, f64, i8, u8
from flatweave.scalar.ops import TABLE
from flatweave.terms.build import Builder
from flatweave.terms.control import Apply, Cast
from flatweave.terms.syntax import (
    ArrayType,
    Atom,
    Const,
    Lambda,
    Let,
    Op,
    Part,
    Type,
    Var,
    constant,
    scalar_type,
)
from flatweave.terms.traverse import makers

# Whether two functions do the same: they differ in the names of what they bind, and in no more.


def alike(a: Lambda, b: Lambda) -> bool:
    """Whether two functions are equal but for the variables that they bind."""
    return a is b or _alike(a, b, {})


def _alike(a: Any, b: Any, bound: dict[Var, Var]) -> bool:
    """Whether fields are equal if variables of `a` are replaced as `bound` says."""
    if type(a) is not type(b):
        return False
    match a:
        case Var():
            return bound.get(a, a) is b
        case Const():
            return bool(a == b)
        case tuple():
            return len(a) == len(b) and all(_alike(x, y, bound) for x, y in zip(a, b, strict=True))
        case ArrayType(dtype=dtype, shape=shape):
            return dtype is b.dtype and _alike(shape, b.shape, bound)
        case Op() | Part():
            return _alike(a.values(), b.values(), bound)
        case Lambda():
            return _alike_functions(a, b, dict(bound))
        case _:
            return bool(a == b)


def _alike_functions(a: Lambda, b: Lambda, bound: dict[Var, Var]) -> bool:
    if len(a.lets) != len(b.lets) or not _bind(a.params, b.params, bound):
        return False
    for x, y in zip(a.lets, b.lets, strict=True):
        if not _alike(x.op, y.op, bound) or not _bind(x.vars, y.vars, bound):
            return False
    return _alike(a.results, b.results, bound)


def _bind(a: tuple[Var, ...], b: tuple[Var, ...], bound: dict[Var, Var]) -> bool:
    """Pair variables of `a` with those of `b`; False if their numbers or types differ."""
    if len(a) != len(b):
        return False
    for x, y in zip(a, b, strict=True):
        if not _alike(x.type, y.type, bound):
            return False
        bound[x] = y
    return True


# What all sorts share: which keys come first, and which positions a network compares.
#
# comes_before(b, [x, y], [u, v])     x < u or (x == u and y < v)
# exchanges(4)                        (0, 1) (2, 3) (0, 2) (1, 3) (1, 2)


def comes_before(b: Builder, keys: Sequence[Atom], others: Sequence[Atom]) -> Atom:
    """Whether keys are less than others, the first key first."""
    *upper, (key, other) = zip(keys, others, strict=True)
    found = b.apply("lt", key, other)
    for key, other in reversed(upper):
        tie = b.apply("and", b.apply("eq", key, other), found)
        found = b.apply("or", b.apply("lt", key, other), tie)
    return found


def exchanges(count: int) -> Iterator[tuple[int, int]]:
    """Batcher's odd-even merge sort (1968): the pairs of positions to compare, in order."""
    merged = 1
    while merged < count:
        distance = merged
        while distance:
            for start in range(distance % merged, count - distance, 2 * distance):
                for low in range(start, min(start + distance, count - distance)):
                    if low // (2 * merged) == (low + distance) // (2 * merged):
                        yield low, low + distance
            distance //= 2
        merged *= 2


# Choosing between elements by their values alone, some component being their position.

Call = Callable[[Builder, Sequence[Atom]], Sequence[Atom]]
"""An operator on atoms."""


def without(atoms: Sequence[Atom], place: int) -> tuple[Atom, ...]:
    """An element's values."""
    return (*atoms[:place], *atoms[place + 1 :])


def put(values: Sequence[Atom], place: int, at: Atom) -> tuple[Atom, ...]:
    """An element of these values."""
    return (*values[:place], at, *values[place:])


def choose_by_values(
    b: Builder, call: Call, place: int, number: DType, first: Sequence[Atom], second: Sequence[Atom]
) -> tuple[tuple[Atom, ...], Atom]:
    """The values chosen of an element's and of a later one's, and whether the later one's are."""
    earlier, later = constant(0, number), constant(1, number)
    found = call(b, [*put(first, place, earlier), *put(second, place, later)])
    return without(found, place), b.apply("eq", found[place], later)


# Operators that combine the components of two elements one by one.


def component_functions(fn: Lambda) -> list[str] | None:
    """The scalar function of each component when `fn` combines its components one by one."""
    half = len(fn.results)
    made = {let.vars[0]: let.op for let in fn.lets if isinstance(let.op, Apply)}
    names = []
    for k, result in enumerate(fn.results):
        pair = (fn.params[k], fn.params[half + k])
        op = made.get(result) if isinstance(result, Var) else None
        if op is None or op.args not in (pair, pair[::-1]):
            return None
        if op.args != pair and not TABLE[op.fn].commutative:
            return None
        names.append(op.fn)
    return names


ABSORBING = {"or": (bool_, u8), "and": (bool_, u8), "minimum": (u8, i8), "maximum": (u8, i8)}
"""The functions of the table that no element changes any more once one of them is at its end, low
or high, and the dtypes whose elements are often there."""


def absorbing(fn: Lambda) -> tuple[int, ...]:
    """The values that an operator on flags or bytes keeps, whatever follows; empty where it has
    others."""
    dtypes = [scalar_type(result) for result in fn.results]
    names = component_functions(fn) or [""]
    if any(dtype not in ABSORBING.get(name, ()) for name, dtype in zip(names, dtypes)):
        return ()
    ends = zip(names, dtypes, strict=True)
    return tuple(int(x.high if name in ("or", "maximum") else x.low) for name, x in ends)


def begun(
    fn: Lambda, neutral: Sequence[Atom], lets: Sequence[Let], taken: Sequence[Atom]
) -> list[Atom]:
    """The values to combine with one that begins with the neutral element: x of an element 0.0 + x,
    or of maximum -1 x where the neutral element is -1.

    A sum that begins with 0.0 is never -0.0, the only value that adding 0.0 changes.
    """
    names = component_functions(fn) or [""] * len(taken)
    made = makers(lets)
    found = []
    for name, first, atom in zip(names, neutral, taken, strict=True):
        begins = _is_zero(first) if name == "add" else name in ("minimum", "maximum")
        joined = made.get(atom) if begins and isinstance(atom, Var) else None
        found.append(_joined_with(first, name, joined) or atom)
    return found


def _joined_with(neutral: Atom, name: str, op: Op | None) -> Atom | None:
    """x of 0.0 + x, x + 0.0 or maximum -1 x."""
    if not isinstance(op, Apply) or op.fn != name or neutral not in op.args:
        return None
    return op.args[op.args[0] == neutral]


def _is_zero(atom: Atom) -> bool:
    """Whether this is 0.0, and not -0.0."""
    return isinstance(atom, Const) and atom.value == 0 and not np.signbit(atom.value)


def is_lawful(fn: Lambda) -> bool:
    """Whether an operator is known to be associative: each of its components is."""
    names = component_functions(fn)
    return names is not None and all(TABLE[name].associative for name in names)


# Functions of one scalar that can be undone: from what they give back to what they were given.
#
#     x: i16 => k: u16 = cast u16 x; sub k 32768      undone: x = cast i16 (add k 32768)
#
# Of such a key of a sort the element is made again; equal keys are those of equal elements.


def steps_back(fn: Lambda) -> tuple[Let, ...] | None:
    """The steps from the one argument to the one result, if each of them can be undone."""
    if len(fn.params) != 1 or len(fn.results) != 1:
        return None
    value: Atom = fn.params[0]
    for let in fn.lets:
        if not _can_be_undone(let, value):
            return None
        value = let.vars[0]
    return fn.lets if value == fn.results[0] else None


def undone(b: Builder, steps: Sequence[Let], value: Atom) -> Atom:
    """The argument for which these steps, the last one undone first, give a value."""
    for let in reversed(steps):
        match let.op:
            case Cast(arg=arg):
                value = b.cast(value, scalar_type(arg))
            case Apply(fn="sub", args=(Const() as high, _)):
                value = b.apply("sub", high, value)
            case Apply(fn="sub", args=(_, low)):
                value = b.apply("add", value, low)
            case Apply(fn=fn):
                value = b.apply("from_bits" if fn == "bits" else fn, value)
    return value


def keep_order(steps: Sequence[Let]) -> bool:
    """Whether keys are those of signed integers: their bits with the sign inverted."""
    match [let.op for let in steps]:
        case [Cast(dtype=unsigned, arg=arg), Apply(fn="xor" | "sub", args=(_, Const() as high))]:
            kind = scalar_type(arg)
            same_bits = kind.kind == "i" and kind.bits == unsigned.bits
            return same_bits and int(high.value) == 1 << (kind.bits - 1)
    return False


def _can_be_undone(let: Let, value: Atom) -> bool:
    """Whether a step takes `value`, and every result is that of one value."""
    match let.op:
        case Cast(dtype=dtype, arg=arg):
            whole = not dtype.is_float and not scalar_type(arg).is_float
            return arg == value and whole and dtype.bits >= scalar_type(arg).bits
        case Apply(fn="bits" | "ones_complement", args=args):
            return args == (value,)
        case Apply(fn="sub", args=args):
            wraps = value in args and not scalar_type(value).is_float
            return wraps and any(isinstance(arg, Const) for arg in args)
    return False


# Sums of f32 that go a long way are carried as f64, so that their errors do not grow.
#
#     (a: f32, b: f32 => add a b)     ==>     (a: f64, b: f64 => add a b)
#
# A running sum of 10^8 floats of one sign is rounded as often as it is passed on. In f64 that is
# not seen in an f32, to which each result is rounded once. Of operators that combine components
# one by one, those that are sums are carried so; others combine what they are given.


def carried_by(fn: Lambda) -> Lambda:
    """The operator on what is carried of an operator's elements."""
    return wide_sums(fn) or fn


def cast_each(b: Builder, values: Sequence[Atom], types: Sequence[Type]) -> tuple[Atom, ...]:
    """Elements as they are carried, or what was carried as elements; flags stay."""
    pairs = zip(values, types, strict=True)
    return tuple(b.cast(x, t) if isinstance(t, DType) else x for x, t in pairs)


def wide_sums(fn: Lambda) -> Lambda | None:
    """The same, where an operator has sums of f32; else None."""
    return _in_types(fn, {("add", f32): f64})


def flags_in_bytes(fn: Lambda) -> Lambda | None:
    """The same on bytes, where an operator combines flags; else None."""
    return _in_types(fn, {(name, bool_): u8 for name in ("and", "or", "xor")})


def _in_types(fn: Lambda, types: Mapping[tuple[str, DType], DType]) -> Lambda | None:
    """An operator of components of which some have other types; None where none has, or the
    components are not combined one by one."""
    dtypes = tuple(type_ for type_ in fn.result_types() if isinstance(type_, DType))
    names = component_functions(fn)
    if names is None or types.keys().isdisjoint(zip(names, dtypes, strict=True)):
        return None
    made = [types.get(pair, pair[1]) for pair in zip(names, dtypes, strict=True)]
    left, right, out = ([Var(name, type_) for type_ in made] for name in "abc")
    lets = tuple(
        Let((result,), Apply(name, (x, y)))
        for name, x, y, result in zip(names, left, right, out, strict=True)
    )
    return Lambda((*left, *right), lets, tuple(out))
