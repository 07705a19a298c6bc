"""What lanes and blocks start from: an operator with an element that is neutral to it.

    reduce (add i64) [10] [xs]     combine (add i64) [0], then 10 + what it gives
    reduce fn [ne] [xs]            combine on (present, x) pairs, (false, _) being neutral:
                                   (p, a) (q, b) = (p or q, q ? (p ? a fn b : b) : a)

A program applies `ne` once, to the left of everything, whether it is neutral or not. A sweep may
take its neutral element as often as it likes. See Note [One neutral element, many starts].
"""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.base.dtypes import DType, bool_
from flatweave.base.records import record
from flatweave.passes.operators import extreme_neutral, known_neutral
from flatweave.scalar.ops import identity
from flatweave.terms.build import Builder
from flatweave.terms.control import Apply, Cast
from flatweave.terms.operators import component_functions
from flatweave.terms.syntax import Atom, Const, Lambda, Var, constant
from flatweave.terms.traverse import walk_lets

TRUE, FALSE = Const(True, bool_), Const(False, bool_)


@record
class Monoid:
    """`fn` and `neutral`, for a sweep; what goes in (`enter`) and what comes out of it (`leave`).

    `initial` is applied once, to the left of everything; it is empty if `neutral` suffices.
    """

    fn: Lambda
    neutral: tuple[Atom, ...]
    initial: tuple[Atom, ...]
    given: Lambda
    ne: tuple[Atom, ...]

    @property
    def optional(self) -> bool:
        """Whether elements are pairs of a flag, which says if there is one, and the element."""
        return self.fn is not self.given

    def enter(self, elements: Sequence[Atom]) -> tuple[Atom, ...]:
        """An element of the program as the sweep carries it."""
        return (TRUE, *elements) if self.optional else tuple(elements)

    def values(self, carried: Sequence[Atom]) -> tuple[Atom, ...]:
        """The value combined from `initial` on, without the flag of a pair."""
        return tuple(carried[1:]) if self.optional else tuple(carried)

    def leave(
        self, b: Builder, carried: Sequence[Atom], *, some: bool = False
    ) -> tuple[Atom, ...]:
        """The value combined from `neutral` on, `ne` put to its left; `some`: never empty."""
        if not self.initial:
            return tuple(carried)
        args = [*self.ne, *self.values(carried)]
        if not self.optional or some:
            return b.inline(self.given, args)
        return _either(b, carried[0], self.given, args, self.ne)


def monoid(
    b: Builder, fn: Lambda, ne: tuple[Atom, ...], *, known: bool = False, segmented: bool = False
) -> Monoid:
    """The operator and `ne` of a reduction or scan, for a sweep.

    `known`: `ne` is neutral to all elements that there are. In a `segmented` sweep the first
    element of a segment may be taken as it is, without the neutral one.
    """
    if known:
        return Monoid(fn, ne, (), fn, ne)
    neutral = _by_table(fn, ne, segmented=segmented)
    if neutral:
        return Monoid(fn, neutral, () if neutral == ne else ne, fn, ne)
    if is_neutral(fn, ne):
        return Monoid(fn, ne, (), fn, ne)
    extremes = extreme_neutral(fn)
    if extremes:
        return Monoid(fn, extremes, () if extremes == ne else ne, fn, ne)
    types = [param.type for param in fn.params[: len(ne)]]
    nothing = tuple(constant(0, type_) for type_ in types if isinstance(type_, DType))
    return Monoid(_optional(b, fn), (FALSE, *nothing), (TRUE, *ne), fn, ne)


IDEMPOTENT = frozenset({"minimum", "maximum", "and", "or"})


def _by_table(fn: Lambda, ne: tuple[Atom, ...], *, segmented: bool) -> tuple[Atom, ...]:
    """The neutral element of an operator that combines component by component; () for others.

    If repeating the given element has no effect, it is used itself.
    """
    each = zip(component_functions(fn) or (), ne, known_neutral(fn), strict=False)
    return tuple(
        given if _may_repeat(name, given) and not segmented else value
        for name, given, value in each
    )


def _may_repeat(name: str, ne: Atom) -> bool:
    """Whether using `ne` many times equals using it once: 0.0 in a sum, 5 in a maximum."""
    if name == "add" and isinstance(ne, Const) and ne.dtype.is_float:
        return ne == constant(0.0, ne.dtype)
    return name in IDEMPOTENT


def with_initial(
    b: Builder, fn: Lambda, ne: Sequence[Atom], elements: Sequence[Atom]
) -> tuple[Atom, ...]:
    """Elements of a segmented sweep, each combined with `ne` if repeating `ne` has no effect."""
    names = component_functions(fn) or [""] * len(elements)
    found = []
    for name, given, x in zip(names, ne, elements, strict=True):
        assert isinstance(x.type, DType)
        value = identity(name, x.type)
        plain = value is None or given == constant(value, x.type)
        found.append(x if plain or not _may_repeat(name, given) else b.apply(name, given, x))
    return tuple(found)


def is_neutral(fn: Lambda, ne: Sequence[Atom]) -> bool:
    """Whether `ne fn x` and `x fn ne` both simplify to x."""
    if not all(isinstance(atom, Const) for atom in ne) or not _is_total(fn):
        return False
    half = len(ne)
    for mine in (slice(0, half), slice(half, None)):
        b = Builder()
        x = [b.param("x", param.type) for param in fn.params[:half]]
        args: list[Atom] = [*x, *x]
        args[mine] = ne
        if b.inline(fn, args) != tuple(x):
            return False
    return True


def _is_total(fn: Lambda) -> bool:
    """Whether an operator is only arithmetic, so that it can be applied to any values."""
    return all(isinstance(let.op, Apply | Cast) for let in walk_lets(fn))


def _optional(b: Builder, fn: Lambda) -> Lambda:
    """The operator on (present, element)."""
    half = len(fn.results)
    types = [bool_, *(param.type for param in fn.params[:half])]

    def body(inside: Builder, *params: Var) -> Sequence[Atom]:
        (p, *a), (q, *c) = params[: half + 1], params[half + 1 :]
        if _is_total(fn):  # q first: mostly it is known to hold
            joined = _either(inside, p, fn, [*a, *c], c)
            results = [inside.apply("select", q, x, y) for x, y in zip(joined, a, strict=True)]
            return inside.apply("or", p, q), *results
        alone = [inside.apply("select", q, y, x) for x, y in zip(a, c, strict=True)]
        both = inside.apply("and", p, q)
        return inside.apply("or", p, q), *_either(inside, both, fn, [*a, *c], alone)

    return b.function([*types, *types], body)


def _either(
    b: Builder, condition: Atom, fn: Lambda, args: Sequence[Atom], otherwise: Sequence[Atom]
) -> tuple[Atom, ...]:
    """`fn args` if the condition holds, else `otherwise`; a total operator always runs."""
    if _is_total(fn):
        pairs = zip(b.inline(fn, args), otherwise, strict=True)
        return tuple(b.apply("select", condition, x, y) for x, y in pairs)
    if condition == TRUE:
        return b.inline(fn, args)
    return b.choose(condition, lambda c: c.inline(fn, args), lambda _: otherwise)


# Note [One neutral element, many starts]
#
# `functools.reduce(op, xs, ne)` has `ne` once. A reduction in parallel begins many times: in every
# lane, in every block, in lanes that have no element at the end. What it begins with must change
# nothing, however often it is taken. So it is `ne` only where that is known by law:
#
# - Operators of the table, component by component, have a known neutral element. A sum of floats
#   has -0.0; 0.0 would make 0.0 of a sum that is -0.0. But if 0.0 is its leftmost term anyway,
#   taking it more than once makes no difference: no partial sum with it is -0.0, and one without it
#   that is -0.0 meets one with it. So minimum and maximum keep what they begin with.
# - Other operators have `ne` where putting it in, left and right, simplifies to the other operand.
#   Floats seldom do: in (a, b) (c, d) = (a c, c b + d), c may be infinite, and 0 c is NaN then.
# - Operators that only compare and choose, such as argmax, have the least and the greatest numbers
#   if trials confirm these as neutral: (-inf, last index) (`operators.py`).
# - The others get one: a flag before the element says whether there is one.
#
# `ne` is then put in once, where everything begins: as what a scan's first block goes on from, or
# after the reduction, to the left of its result.
