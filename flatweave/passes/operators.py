"""What an operator's body tells: whether its operands commute, whether it is exact, and whether two
copies of its code agree on the bits of a NaN."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from math import prod

import numpy as np

from flatweave.array_ir import interp
from flatweave.array_ir.syntax import Fault
from flatweave.base.dtypes import DType, bool_, f32, f64
from flatweave.scalar.ops import TABLE, identity
from flatweave.terms import batch
from flatweave.terms.control import Apply
from flatweave.terms.operators import component_functions
from flatweave.terms.syntax import Atom, Const, Lambda, Var, constant, scalar_type
from flatweave.terms.traverse import free_vars, walk_lets


def is_commutative(fn: Lambda) -> bool:
    """Whether elements may be combined in another order than the program's."""
    names = component_functions(fn)
    if names is None:
        return _chooses_alike(fn)
    return all(TABLE[name].commutative for name in names)


COMPARISONS = frozenset({"lt", "le", "gt", "ge", "eq", "ne", "isnan"})
CHOICES = frozenset({"select", "minimum", "maximum", "and", "or", "xor", "not"})
MOST_ORDERS = 1 << 12
"""Combinations of operands that are tried."""


def _chooses_alike(fn: Lambda) -> bool:
    """Whether an operator that only compares and chooses gives the same for operands exchanged.

        (v, i) (w, j) => second = w > v or (w == v and j < i)
                         (select second w v, select second j i)

    Its result depends only on the order of the numbers that it compares. Small numbers in all
    combinations represent all numbers, so that trying these is a proof. Zeros of both signs are
    equal, as they are to minimum and maximum of the table.
    """
    tried = _in_all_orders(fn)
    if tried is None:
        return False
    columns, found = tried
    half = len(fn.results)
    turned = _applied(fn, [*columns[half:], *columns[:half]])
    return _all_alike(found, turned)


def _in_all_orders(fn: Lambda) -> tuple[list[batch.Value], Sequence[batch.Value]] | None:
    """Operands that represent all inputs of an operator that only compares and chooses, and its
    results for them."""
    groups = _compared(fn)
    if groups is None:
        return None
    counts = {param: groups.count(group) for param, group in zip(fn.params, groups, strict=True)}
    values = [_in_any_order(param, count) for param, count in counts.items()]
    if prod(map(len, values)) > MOST_ORDERS:
        return None
    columns = [column.ravel() for column in np.meshgrid(*values, indexing="ij")]
    return columns, _applied(fn, columns)


def _applied(fn: Lambda, columns: Sequence[batch.Value]) -> Sequence[batch.Value]:
    return interp.Interp().each(batch.Env(), fn, list(columns), len(columns[0]))


def _alike(a: batch.Value, b: batch.Value) -> batch.Value:
    """Where two columns have the same value, of which NaN is one."""
    return np.equal(a, b) | (np.isnan(a) & np.isnan(b))


def _all_alike(first: Sequence[batch.Value], second: Sequence[batch.Value]) -> bool:
    return all(bool(np.all(_alike(a, b))) for a, b in zip(first, second, strict=True))


def chooses_by_place(fn: Lambda, place: int) -> str | None:
    """Whether an operator that commutes gives one of its operands as a whole, and asks of the
    component `place` only whose is less; and if so, whether the minimum or the maximum is chosen.

    The operands are then in an order, of which it gives the last: that of the other components,
    and among operands with equal ones, that of `place`, forwards or backwards.
    """
    groups, half = _compared(fn), len(fn.results)
    if groups is None or half < 2 or not is_commutative(fn):
        return None
    own = {place, half + place}
    if any((group is groups[place]) is not (k in own) for k, group in enumerate(groups)):
        return None
    tried = _in_all_orders(fn)
    if tried is None:
        return None
    columns, found = tried
    sides = columns[:half], columns[half:]
    whole = [np.all([_alike(*pair) for pair in zip(found, s, strict=True)], axis=0) for s in sides]
    if not np.all(whole[0] | whole[1]):
        return None
    others = [_alike(*pair) for k, pair in enumerate(zip(*sides, strict=True)) if k != place]
    ties = np.all(others, axis=0)
    return _extreme_of(found[place][ties], *(side[place][ties] for side in sides))


def extreme_beside(fn: Lambda, place: int) -> str | None:
    """Whether an operator of two components that chooses by component `place` last gives the
    minimum or the maximum of the other; NaN is either."""
    tried = _in_all_orders(fn) if len(fn.results) == 2 else None
    if tried is None:
        return None
    columns, found = tried
    return _extreme_of(found[1 - place], columns[1 - place], columns[3 - place])


def _extreme_of(found: batch.Value, one: batch.Value, other: batch.Value) -> str | None:
    """Which extreme of two columns a third one is."""
    for name, extreme in (("minimum", np.minimum), ("maximum", np.maximum)):
        if np.all(_alike(found, extreme(one, other))):
            return name
    return None


def place_of(
    fn: Lambda, elements: Sequence[Atom], counts: Callable[[Atom], bool]
) -> tuple[int, str] | None:
    """The first component of elements that `counts` positions, and which of them `fn` chooses."""
    place = next((k for k, atom in enumerate(elements) if counts(atom)), None)
    extreme = chooses_by_place(fn, place) if place is not None else None
    return (place, extreme) if place is not None and extreme else None


def extreme_neutral(fn: Lambda) -> tuple[Const, ...]:
    """The neutral element of an operator that only compares and chooses, if the least and the
    greatest numbers make one, which trying shows; empty where they do not."""
    groups = _compared(fn)
    half = len(fn.results)
    if groups is None:
        return ()
    counts = [groups.count(group) + 2 for group in groups[:half]]
    values = [_in_any_order(p, n) for p, n in zip(fn.params, counts, strict=False)]
    if prod(map(len, values)) > MOST_ORDERS:
        return ()
    xs = [column.ravel() for column in np.meshgrid(*values, indexing="ij")]
    for ends in product((False, True), repeat=half):
        last = zip(ends, counts, xs, strict=True)
        e = [np.full_like(x, end * (1 if x.dtype == np.bool_ else n - 1)) for end, n, x in last]
        if _all_alike(_applied(fn, [*e, *xs]), xs) and _all_alike(_applied(fn, [*xs, *e]), xs):
            return tuple(map(_extreme, fn.params, ends))
    return ()


def _extreme(param: Var, greatest: bool) -> Const:
    """The least or the greatest value of a parameter's type."""
    dtype = scalar_type(param)
    return constant(dtype.high if greatest else dtype.low, dtype)


def _compared(fn: Lambda) -> list[Var] | None:
    """For each parameter a representative of those that it is compared with or chosen between; None
    if the operator does more than compare and choose."""
    if free_vars(fn):
        return None
    stands_for: dict[Var, Var] = {}

    def standing(var: Var) -> Var:
        while (other := stands_for.get(var, var)) is not var:
            var = other
        return var

    for let in fn.lets:
        if not isinstance(let.op, Apply) or let.op.fn not in COMPARISONS | CHOICES:
            return None
        numbers = [atom for atom in (*let.op.args, *let.vars) if atom.type is not bool_]
        together = [standing(atom) for atom in numbers if isinstance(atom, Var)]
        if len(together) < len(numbers):
            return None
        stands_for.update(dict.fromkeys(together, together[0]) if together else {})
    return [standing(param) for param in fn.params]


def _in_any_order(param: Var, count: int) -> batch.Value:
    """Values that `count` numbers take in any order, some of them equal; and NaN."""
    dtype = scalar_type(param)
    if dtype is bool_:
        return np.array([False, True])
    numbers = np.arange(count).astype(dtype.numpy)
    return np.append(numbers, dtype.numpy.type(np.nan)) if dtype.is_float else numbers


def known_neutral(fn: Lambda) -> tuple[Const, ...]:
    """The neutral element of an operator whose components combine by functions of the table, which
    leaves every bit as it is: -0.0 of a sum of floats; empty where none is known."""
    found: list[Const] = []
    for name, param in zip(component_functions(fn) or (), fn.params, strict=False):
        assert isinstance(param.type, DType)
        value = identity(name, param.type)
        if value is None:
            return ()
        found.append(constant(value, param.type))
    return tuple(found)


SAMPLES = 64


def may_commute(fn: Lambda) -> bool:
    """Whether nothing shows that the operands may not be exchanged, neither name nor trial."""
    names = component_functions(fn)
    if names is not None:
        return all(TABLE[name].commutative for name in names)
    if free_vars(fn):  # values that are known only when it runs
        return True
    half = len(fn.results)
    rng = np.random.default_rng(0)
    columns = [_samples(rng, param) for param in fn.params]
    try:
        found = interp.Interp().each(batch.Env(), fn, columns, SAMPLES)
        turned = interp.Interp().each(batch.Env(), fn, [*columns[half:], *columns[:half]], SAMPLES)
    except Fault:
        return True
    pairs = zip(found, turned, strict=True)
    # floats may be rounded otherwise
    return all(np.allclose(a, b, rtol=1e-3, atol=1e-3, equal_nan=True) for a, b in pairs)


def _samples(rng: np.random.Generator, param: Var) -> batch.Value:
    """Values of a parameter that are seldom equal."""
    dtype = scalar_type(param)
    if dtype.is_float:
        return rng.standard_normal(SAMPLES).astype(dtype.numpy)
    if dtype is bool_:
        return rng.integers(0, 2, SAMPLES).astype(np.bool_)
    return rng.integers(0, 120, SAMPLES).astype(dtype.numpy)


def is_exact(fn: Lambda) -> bool:
    """Whether any grouping gives the same bits."""
    names = component_functions(fn)
    if names is None or not is_commutative(fn):
        return False
    rounding = ("add", "mul", "minimum", "maximum")  # of equal zeros, extremes keep the second
    types = [result.type for result in fn.results]
    return not any(
        name in rounding and isinstance(type_, DType) and type_.is_float
        for name, type_ in zip(names, types, strict=True)
    )


KEPT = frozenset(
    {"minimum", "maximum", "select", "neg", "abs", "copysign", "floor", "ceil", "round", "trunc"}
)
"""Functions of floats whose NaN is one of their operands, by rule and not by chance."""
SIGNED = frozenset({"copysign", "bits"})
"""Functions that tell a NaN from another one."""


def makes_nan(fn: Lambda) -> bool:
    """Whether the bits of a NaN that an operator gives may differ between two copies of its code.

    Of two NaNs an addition gives the first, and a compiler may turn its operands round.
    """
    applied = (let for let in walk_lets(fn) if isinstance(let.op, Apply))
    return any(let.vars[0].type in (f32, f64) and let.op.fn not in KEPT for let in applied)  # type: ignore[attr-defined]


def reads_nan(fn: Lambda) -> bool:
    """Whether an operator can tell one NaN from another, so that results depend on which it is."""
    return any(isinstance(let.op, Apply) and let.op.fn in SIGNED for let in walk_lets(fn))
