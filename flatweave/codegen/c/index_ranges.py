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
from flatweave.terms.bounds import bounds_of
from flatweave.terms.build import index
from flatweave.terms.control import Apply, Cast, For, If, While
from flatweave.terms.syntax import Atom, Const, Lambda, Let, Op, Var

WARP = 32
GRID = Var("grid", i64)
NO_LESS = ("maximum",)

Term = tuple[tuple[Var, int], ...]
"""A product of variables, each with its exponent, which is negative where it divides."""
Bound = Mapping[Term, float]
"""A polynomial: how often each product is added, and () for a constant. None is negative, and those
after divisions are no integers."""


class Range(NamedTuple):
    """Bounds of an integer: no less than -below, no more than above."""

    below: Bound
    above: Bound


ZERO: Bound = {}


class Ranges:
    """The range of each integer of 64 bits that has one."""

    def __init__(self, kernel: k.Kernel) -> None:
        self.of: dict[Var, Range] = {}
        self._made: dict[Var, Op] = {}
        self._below: dict[Atom, Var] = {}  # an operand that a variable is no less than
        self._warps = kernel.warps
        for param in kernel.params:
            self._know(param, Range(ZERO, {((param, 1),): 1}))
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
                if op.fn in NO_LESS:
                    for arg in op.args:
                        if isinstance(arg, Var):
                            self._below[let.vars[0]] = arg
                found = self._applied(op)
                self._know(let.vars[0], found or self._computed(let.vars[0], op))
            case Cast() | CountLanes() if let.vars[0].type is i64:
                self._know(let.vars[0], self._computed(let.vars[0], op))
            case k.BlockIndex():
                self._know(let.vars[0], Range(ZERO, {((GRID, 1),): 1}))
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
        return Range(first.below, common(first.above, _plus(last.above, each.above)))

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
        return rule(args[0], args[-1], self._below.get(second, second))


def _constant(low: int, high: int) -> Range:
    return Range(_number(-low), _number(high))


def _turned(a: Range) -> Range:
    return Range(a.above, a.below)


def _sum(a: Range | None, b: Range | None) -> Range | None:
    return a and b and Range(_plus(a.below, b.below), _plus(a.above, b.above))


def _either(a: Range | None, b: Range | None) -> Range | None:
    return a and b and Range(common(a.below, b.below), common(a.above, b.above))


def _least(a: Range | None, b: Range | None, second: Atom | None = None) -> Range | None:
    """Either operand bounds it from above."""
    return a and b and Range(common(a.below, b.below), min(a.above, b.above, key=typical))


def _greatest(a: Range | None, b: Range | None, second: Atom) -> Range | None:
    found = a and b and _least(_turned(a), _turned(b))
    return found and _turned(found)


def _masked(a: Range | None, b: Range | None, second: Atom) -> Range | None:
    """Bits of a number without a sign."""
    natural = [each.above for each in (a, b) if each is not None and each.below == ZERO]
    return Range(ZERO, min(natural, key=typical)) if natural else None


def _divided(a: Range | None, b: Range | None, second: Atom) -> Range | None:
    if a is None or b is None or b.below != ZERO:
        return None
    by: Bound = {(): 1}
    if isinstance(second, Const):
        by = {(): 1 / max(1, int(second.value))}
    elif ((second, 1),) in b.above:  # what a launch is given, or no less than that
        by = {((second, -1),): 1}
    return Range(_quotient(a.below, by), _quotient(a.above, by))


def _left_over(a: Range | None, b: Range | None, second: Atom) -> Range | None:
    if a is None or b is None or b.below != ZERO:
        return None
    rest = _constant(0, int(second.value)) if isinstance(second, Const) else b
    return _least(a, rest) if a.below == ZERO else rest


def _shifted(a: Range | None, b: Range | None, second: Atom) -> Range | None:
    if a is None or not isinstance(second, Const) or not 0 <= int(second.value) < 31:
        return None
    by = 1 << int(second.value)
    return _product(a, _constant(by, by))


def _shifted_back(a: Range | None, b: Range | None, second: Atom) -> Range | None:
    if not isinstance(second, Const) or not 0 <= int(second.value) < 32:
        return None
    return _divided(a, _constant(0, 0), index(1 << int(second.value)))


def _product(a: Range, b: Range) -> Range:
    if a.below == ZERO and b.below == ZERO:
        return Range(ZERO, _times(a.above, b.above))
    most = _times(common(*a), common(*b))
    return Range(most, most)


Rule = Callable[[Range | None, Range | None, Atom], Range | None]
RULES: Mapping[str, Rule] = {
    "add": lambda a, b, second: _sum(a, b),
    "sub": lambda a, b, second: _sum(a, b and _turned(b)),
    "mul": lambda a, b, second: a and b and _product(a, b),
    "select": lambda a, b, second: _either(a, b),
    "neg": lambda a, b, second: a and _turned(a),
    "abs": lambda a, b, second: a and Range(ZERO, common(*a)),
    "minimum": _least,
    "maximum": _greatest,
    "and": _masked,
    "floordiv": _divided,
    "mod": _left_over,
    "shl": _shifted,
    "shr": _shifted_back,
}
"""The range of a result by those of its operands, and the second operand."""


def _number(value: int) -> Bound:
    return {(): value} if value > 0 else ZERO


def _plus(a: Bound, b: Bound) -> Bound:
    return {term: a.get(term, 0) + b.get(term, 0) for term in {**a, **b}}


def _times(a: Bound, b: Bound) -> Bound:
    found: Bound = ZERO
    for first, count in a.items():
        for second, times in b.items():
            powers = dict(first)
            for var, power in second:
                powers[var] = powers.get(var, 0) + power
            term = sorted(((v, p) for v, p in powers.items() if p), key=lambda each: each[0].name)
            found = _plus(found, {tuple(term): count * times})
    return found


def _quotient(a: Bound, by: Bound) -> Bound:
    """At least a / by, rounded away from 0."""
    return _plus(_times(a, by), {(): 1} if a else ZERO)


def degree(a: Bound) -> int:
    """How many extents are multiplied, at most."""
    return max((sum(power for _, power in term) for term in a), default=0)


def common(a: Bound, b: Bound) -> Bound:
    """At least either."""
    return {term: max(a.get(term, 0), b.get(term, 0)) for term in {**a, **b}}


def typical(a: Bound) -> float:
    """A bound where every extent is 2**10, to choose the tighter of two by, and to leave out what
    would never fit."""
    return sum(count * 2.0 ** sum(10 * power for _, power in term) for term, count in a.items())
