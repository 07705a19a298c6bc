"""The range of each index of a kernel, as polynomials in the grid and what the launch is given.

    b: i64 = block_index            0 .. grid
    t: i64 = mul b 7168             0 .. 7168 grid
    i: i64 = minimum t (sub n 1)    -1 .. n

Coefficients are positive, and variables that a launch gives are taken to be no less than 0. So of
two bounds the sum, the product and a common bound are such polynomials again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from flatweave.base.dtypes import DType, i64
from flatweave.kernel_ir import syntax as k
from flatweave.kernel_ir.warp_ops import CountLanes
from flatweave.runtime.devices.launches import LIMIT
from flatweave.terms.bounds import Sum, bounds_of
from flatweave.terms.control import Apply, Cast, For, If, While
from flatweave.terms.syntax import Atom, Const, Lambda, Let, Op, Var

WARP = 32
GRID = Var("grid", i64)

Bound = Sum[tuple[Var, ...]]
"""A polynomial with coefficients of at least 0: how often each product of variables is added."""


class Range(NamedTuple):
    """Bounds of an integer: no less than -below, no more than above."""

    below: Bound
    above: Bound


ZERO: Bound = Sum({})


class Ranges:
    """The range of each integer of 64 bits that has one."""

    def __init__(self, kernel: k.Kernel) -> None:
        self.of: dict[Var, Range] = {}
        self._made: dict[Var, Op] = {}
        self._warps = kernel.warps
        for param in kernel.params:
            self._know(param, Range(ZERO, Sum({(param,): 1})))
        self._body(kernel.body)

    def atom(self, atom: Atom) -> Range | None:
        """That of a variable or a number."""
        if isinstance(atom, Const):
            return _constant(int(atom.value), int(atom.value))
        return self.of.get(atom)

    def _know(self, var: Var, found: Range | None) -> None:
        if var.type is i64 and found is not None and typical(common(*found)) < LIMIT:
            self.of[var] = found

    def _body(self, fn: Lambda) -> None:
        for let in fn.lets:
            self._let(let)

    def _let(self, let: Let) -> None:
        op = let.op
        if let.vars:
            self._made[let.vars[0]] = op
        match op:
            case Apply() if let.vars[0].type is i64:
                found = self._applied(op)
                self._know(let.vars[0], found or self._computed(let.vars[0], op))
            case Cast() | CountLanes() if let.vars[0].type is i64:
                self._know(let.vars[0], self._computed(let.vars[0], op))
            case k.BlockIndex():
                self._know(let.vars[0], Range(ZERO, Sum({(GRID,): 1})))
            case k.WarpIndex():
                self._know(let.vars[0], _constant(0, self._warps - 1))
            case k.Lane(base=base, reverse=reverse):
                lane = _constant(0, WARP - 1)
                self._know(let.vars[0], _sum(self.atom(base), _turned(lane) if reverse else lane))
            case For(lo=lo, hi=hi, step=step, body=body):
                self._know(body.params[0], self._counter(lo, hi, step))
                self._body(body)
            case If(then=then, other=other):
                self._body(then)
                self._body(other)
                for var, a, b in zip(let.vars, then.results, other.results, strict=True):
                    if var.type is i64:
                        self._know(var, _either(self.atom(a), self.atom(b)))
            case While(condition=condition, body=body):
                self._body(condition)
                self._body(body)
            case k.Lanes(body=body):
                self._body(body)
                for var, result in zip(let.vars, body.results, strict=True):
                    if var.type is i64:
                        self._know(var, self.atom(result))

    def _counter(self, lo: Atom, hi: Atom, step: Atom) -> Range | None:
        """Up to where the loop ends, and one step further, which it compares."""
        first, last, each = self.atom(lo), self.atom(hi), self.atom(step)
        if first is None or last is None or each is None or each.below != ZERO:
            return None
        return Range(first.below, common(first.above, last.above.plus(each.above)))

    def _computed(self, var: Var, op: Op) -> Range | None:
        """By the dtypes and constants that it is made of."""
        if isinstance(op, CountLanes):
            return _constant(0, WARP)
        if isinstance(op, Cast) and isinstance(op.arg.type, DType) and op.arg.type.is_float:
            return None
        found = bounds_of(self._made, var)
        return _constant(found.low, found.high)

    def _applied(self, op: Apply) -> Range | None:
        args = [self.atom(arg) for arg in op.args if arg.type is i64]
        rule = RULES.get(op.fn)
        if rule is None or len(args) not in (1, 2):
            return None
        second = op.args[-1]
        by = int(second.value) if isinstance(second, Const) else None
        return rule(args[0], args[-1], by)


def _constant(low: int, high: int) -> Range:
    return Range(Sum({}, max(0, -low)), Sum({}, max(0, high)))


def _turned(a: Range) -> Range:
    return Range(a.above, a.below)


def _sum(a: Range | None, b: Range | None) -> Range | None:
    return a and b and Range(a.below.plus(b.below), a.above.plus(b.above))


def _either(a: Range | None, b: Range | None) -> Range | None:
    return a and b and Range(common(a.below, b.below), common(a.above, b.above))


def _least(a: Range | None, b: Range | None, by: int | None = None) -> Range | None:
    """Either operand bounds it from above."""
    return a and b and Range(common(a.below, b.below), min(a.above, b.above, key=typical))


def _greatest(a: Range | None, b: Range | None, by: int | None) -> Range | None:
    found = a and b and _least(_turned(a), _turned(b))
    return found and _turned(found)


def _masked(a: Range | None, b: Range | None, by: int | None) -> Range | None:
    """Bits of a number without a sign."""
    natural = [each.above for each in (a, b) if each is not None and each.below == ZERO]
    return Range(ZERO, min(natural, key=typical)) if natural else None


def _divided(a: Range | None, b: Range | None, by: int | None) -> Range | None:
    if a is None or b is None or b.below != ZERO:
        return None
    return Range(_quotient(a.below, by or 1), _quotient(a.above, by or 1))


def _left_over(a: Range | None, b: Range | None, by: int | None) -> Range | None:
    if a is None or b is None or b.below != ZERO:
        return None
    rest = b if by is None else _constant(0, max(0, by - 1))
    return _least(a, rest) if a.below == ZERO else rest


def _shifted(a: Range | None, b: Range | None, by: int | None) -> Range | None:
    if a is None or by is None or not 0 <= by < 31:
        return None
    return _product(a, _constant(1 << by, 1 << by))


def _shifted_back(a: Range | None, b: Range | None, by: int | None) -> Range | None:
    if by is None or not 0 <= by < 32:
        return None
    return _divided(a, _constant(0, 0), 1 << by)


def _product(a: Range, b: Range) -> Range:
    if a.below == ZERO and b.below == ZERO:
        return Range(ZERO, _times(a.above, b.above))
    most = _times(common(*a), common(*b))
    return Range(most, most)


Rule = Callable[[Range | None, Range | None, int | None], Range | None]
RULES: Mapping[str, Rule] = {
    "add": lambda a, b, by: _sum(a, b),
    "sub": lambda a, b, by: _sum(a, b and _turned(b)),
    "mul": lambda a, b, by: a and b and _product(a, b),
    "select": lambda a, b, by: _either(a, b),
    "neg": lambda a, b, by: a and _turned(a),
    "abs": lambda a, b, by: a and Range(ZERO, common(*a)),
    "minimum": _least,
    "maximum": _greatest,
    "and": _masked,
    "floordiv": _divided,
    "mod": _left_over,
    "shl": _shifted,
    "shr": _shifted_back,
}
"""The range of a result by those of its operands, and the second operand if it is a number."""


def _times(a: Bound, b: Bound) -> Bound:
    found = ZERO.plus(b, a.more).plus(Sum(a.terms), b.more)
    for term, count in a.terms.items():
        for other, times in b.terms.items():
            product = tuple(sorted((*term, *other), key=lambda var: var.name))
            found = found.plus(Sum({product: count * times}))
    return found


def common(a: Bound, b: Bound) -> Bound:
    """At least either."""
    terms = {t: max(a.terms.get(t, 0), b.terms.get(t, 0)) for t in (*a.terms, *b.terms)}
    return Sum(terms, max(a.more, b.more))


def _quotient(a: Bound, by: int) -> Bound:
    """At least a / by."""
    return Sum({term: -(-count // by) for term, count in a.terms.items()}, -(-a.more // by))


def typical(a: Bound) -> int:
    """A bound where every extent is 2**10, to choose the tighter of two by, and to leave out what
    would never fit."""
    return a.more + sum(count << 10 * len(term) for term, count in a.terms.items())
