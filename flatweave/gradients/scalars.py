"""THE TABLE of derivatives of scalar functions.

    partials("mul", b, [x, y], z)      [Times(y), Times(x)]
    partials("sqrt", b, [x], y)        [Over(2 y)]

For each operand: None where the result does not depend on it, or only in steps; else what its
tangent is done to. A function whose name is in `NONE` has no derivative, and the sentence says why.

    minimum, maximum     the operand that is chosen, the first of equals
    abs, copysign        0 at 0
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from types import MappingProxyType

from flatweave.base.records import record
from flatweave.gradients.values import chosen, dtype_of, times
from flatweave.terms.build import Builder
from flatweave.terms.syntax import Atom, constant


@record
class Expr:
    """A scalar under construction; Python numbers next to it take its dtype."""

    b: Builder
    atom: Atom

    def of(self, value: Expr | float) -> Expr:
        """A number as an expression of this one's dtype."""
        if isinstance(value, Expr):
            return value
        return Expr(self.b, constant(value, dtype_of(self.atom.type)))

    def __call__(self, fn: str, *others: Expr | float) -> Expr:
        """A function of the table of this and others."""
        return Expr(self.b, self.b.apply(fn, self.atom, *(self.of(x).atom for x in others)))

    def __add__(self, other: Expr | float) -> Expr:
        return self("add", other)

    def __sub__(self, other: Expr | float) -> Expr:
        return self("sub", other)

    def __mul__(self, other: Expr | float) -> Expr:
        return self("mul", other)

    def __truediv__(self, other: Expr | float) -> Expr:
        return self("truediv", other)

    def __neg__(self) -> Expr:
        return self("neg")

    def __and__(self, other: Expr | float) -> Expr:
        return self("and", other)

    def where(self, a: Expr | float, other: Expr | float) -> Expr:
        """One of two values, this being a bool."""
        like = a if isinstance(a, Expr) else other
        assert isinstance(like, Expr)
        return Expr(self.b, chosen(self.b, self.atom, like.of(a).atom, like.of(other).atom))


@record
class Same:
    """The tangent itself, or what is opposite to it."""

    negative: bool = False

    def apply(self, b: Builder, tangent: Atom) -> Atom:
        """The tangent after this."""
        return b.apply("neg", tangent) if self.negative else tangent


@record
class Times:
    """The tangent times a factor, or over a divisor."""

    operand: Expr
    fn: str = "mul"

    def apply(self, b: Builder, tangent: Atom) -> Atom:
        """The tangent after this."""
        return times(b, tangent, self.operand.atom, self.fn)


Over = partial(Times, fn="truediv")


@record
class OverTimes:
    """The tangent over a divisor, then times a factor."""

    divisor: Expr
    factor: Expr

    def apply(self, b: Builder, tangent: Atom) -> Atom:
        """The tangent after this."""
        return times(b, Over(self.divisor).apply(b, tangent), self.factor.atom)


@record
class Where:
    """The tangent where a condition holds, else 0."""

    condition: Expr

    def apply(self, b: Builder, tangent: Atom) -> Atom:
        """The tangent after this."""
        nothing = constant(0.0, dtype_of(tangent.type))
        return chosen(b, self.condition.atom, tangent, nothing)


Partial = Same | Times | OverTimes | Where | None
Rule = Callable[..., Sequence[Partial]]


def _factor(fn: Callable[[Expr, Expr], Expr], kind: Callable[[Expr], Times] = Times) -> Rule:
    """The rule of a function of one operand, from x and its result y."""
    return lambda y, x: [kind(fn(x, y))]


_over = partial(_factor, kind=Over)


def _first(y: Expr, a: Expr, b: Expr, below: str) -> Sequence[Partial]:
    """Which of two operands is chosen: the first of equals, and the first NaN."""
    first = Expr(a.b, a.b.apply("or", a(below, b).atom, a("isnan").atom))
    return [Where(first), Where(first("not"))]


def _hypot(y: Expr, a: Expr, b: Expr) -> Sequence[Partial]:
    """a / y, and the sign of `a` where that is NaN: at 0, and where both are infinite."""
    def slope(x: Expr) -> Times:
        ratio = x / y
        return Times((x("abs")("eq", y) & ratio("isnan")).where(x("sign"), ratio))

    return [slope(a), slope(b)]


def _atan2(out: Expr, y: Expr, x: Expr) -> Sequence[Partial]:
    """x / r**2 and -y / r**2, which are 0 at the origin and where r is infinite."""
    r = x("hypot", y)
    steep = Expr(r.b, r.b.apply("or", r("eq", 0).atom, r("isinf").atom))
    return [Times(steep.where(0, x / r / r)), Times(steep.where(0, -(y / r / r)))]


def _pow(y: Expr, a: Expr, b: Expr) -> Sequence[Partial]:
    """b * a**(b - 1), 0 where b is and that is NaN; and y * log(a), 0 where y or a is.

    Where b is 0 the product must stay: its derivative by b is not 0.
    """
    none = Expr(y.b, y.b.apply("or", y("eq", 0).atom, a("eq", 0).atom))
    power = a("pow", b - 1)
    is_lost = b("eq", 0) & power("isfinite")("not")
    return [Times(is_lost.where(0, b * power)), Times(none.where(0, y * a("log")))]


def _one_less_square(x: Expr) -> Expr:
    """1 - x * x, rounded once. Its derivative -2 x, unlike that of (1 - x) (1 + x), is one product:
    next to infinity at -1 and 1 none of several is 0."""
    return x("fma", -x, 1)


LN2, LN10 = math.log(2), math.log(10)

RULES: MappingProxyType[str, Rule] = MappingProxyType({
    "add": lambda y, a, b: [Same(), Same()],
    "sub": lambda y, a, b: [Same(), Same(negative=True)],
    "neg": lambda y, a: [Same(negative=True)],
    "mul": lambda y, a, b: [Times(b), Times(a)],
    "fma": lambda y, a, b, c: [Times(b), Times(a), Same()],
    "truediv": lambda y, a, b: [Over(b), OverTimes(b, -y)],
    "mod": lambda y, a, b: [Same(), Times(-a("floordiv", b))],
    "abs": _factor(lambda x, y: x("sign")),
    "copysign": lambda y, a, b: [Times(a("sign") * b.of(1)("copysign", b)), None],
    "minimum": lambda y, a, b: _first(y, a, b, "le"),
    "maximum": lambda y, a, b: _first(y, a, b, "ge"),
    "select": lambda y, p, a, b: [None, Where(p), Where(p("not"))],
    "pow": _pow,
    "sqrt": _over(lambda x, y: y * 2),
    "rsqrt": _factor(lambda x, y: y * y * y * -0.5),
    "cbrt": _over(lambda x, y: y * y * 3),
    "exp": _factor(lambda x, y: y),
    "exp2": _factor(lambda x, y: y * LN2),
    "expm1": _factor(lambda x, y: x("exp")),
    "log": _over(lambda x, y: x),
    "log2": _over(lambda x, y: x * LN2),
    "log10": _over(lambda x, y: x * LN10),
    "log1p": _over(lambda x, y: x + 1),
    "sin": _factor(lambda x, y: x("cos")),
    "cos": _factor(lambda x, y: -x("sin")),
    "tan": _factor(lambda x, y: y * y + 1),
    "asin": _over(lambda x, y: _one_less_square(x)("sqrt")),
    "acos": _over(lambda x, y: -_one_less_square(x)("sqrt")),
    "atan": _over(lambda x, y: x * x + 1),
    "atan2": _atan2,
    "sinh": _factor(lambda x, y: x("cosh")),
    "cosh": _factor(lambda x, y: x("sinh")),
    "tanh": _factor(lambda x, y: (-y + 1) * (y + 1)),
    "asinh": _over(lambda x, y: x("hypot", 1)),
    "acosh": lambda y, x: [OverTimes((x - 1)("sqrt"), x.of(1) / (x + 1)("sqrt"))],
    "atanh": _over(lambda x, y: _one_less_square(x)),
    "erf": _factor(lambda x, y: (-(x * x))("exp") * (2 / math.sqrt(math.pi))),
    "erfc": _factor(lambda x, y: (-(x * x))("exp") * (-2 / math.sqrt(math.pi))),
    "hypot": _hypot,
    "of_f16": lambda y, a: [Same()],
    "of_bf16": lambda y, a: [Same()],
    "to_f16": lambda y, a: [Same()],
    "to_bf16": lambda y, a: [Same()],
})  # fmt: skip
"""What each function does with the tangents of its operands, from its result and them."""

_STEPS = "It is constant between its steps."
_WHOLE = "It gives an integer or a bool."
_BITS = "It reads numbers as bits."
NONE: MappingProxyType[str, str] = MappingProxyType({
    **dict.fromkeys(["floor", "ceil", "round", "trunc", "sign", "floordiv"], _STEPS),
    **dict.fromkeys(
        ["eq", "ne", "lt", "le", "gt", "ge", "isnan", "isinf", "isfinite", "and", "or", "xor",
         "not", "popcount", "clz", "ctz", "mul_hi", "shl", "shr"], _WHOLE,
    ),
    **dict.fromkeys(["bits", "from_bits", "ones_complement"], _BITS),
})  # fmt: skip
"""Functions whose results carry no tangent, and why."""


def partials(fn: str, b: Builder, args: Sequence[Atom], result: Atom) -> Sequence[Partial]:
    """What is done to the tangent of each operand; nothing for a function without a derivative."""
    if fn in NONE:
        return [None] * len(args)
    return RULES[fn](Expr(b, result), *(Expr(b, arg) for arg in args))
