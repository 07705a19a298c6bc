"""Functions of a carry that compose to functions of the same form, and the arithmetic on them.

A form is a sum of carries, each times a factor, and of a number, in one of four semirings:

    reals       c -> a * c + d * e + b                  of coupled carries c and e
    highest     c -> max(c + a, e + d, b)               lowest alike
    bools       c -> (c & a) | (e & d) | b

so that the new carries are a matrix times the old ones, plus a vector. A Möbius map, of one carry,
is two such forms of its numerator and denominator. A factor has a flag, which is false where
`where(new, x, c + x)` left the carry out: infinity times 0 is not formed then.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import flatweave as fw

Rules = Mapping[str, Callable[..., Any]]


def _left(name: str) -> Any:
    return lambda self, other: _apply(name, self, other)


def _right(name: str) -> Any:
    return lambda self, other: _apply(name, other, self)


class Unknown(fw.Overriding):
    """What a step computes of its carry that is no form."""

    __array_ufunc__ = None
    __hash__ = None  # type: ignore[assignment]

    @property
    def rules(self) -> Rules:
        """The functions that give a form of this one, by name."""
        return {}

    @classmethod
    def __flatweave_function__(cls, function: Any, args: Any, kwargs: Any) -> Any:
        """A form where the class knows the function, else unknown."""
        if kwargs or any(isinstance(arg, tuple | list) for arg in args):
            return UNKNOWN
        return _apply(function.__name__, *args)

    __add__, __radd__ = _left("add"), _right("add")
    __sub__, __rsub__ = _left("sub"), _right("sub")
    __mul__, __rmul__ = _left("mul"), _right("mul")
    __and__, __rand__ = _left("bitwise_and"), _right("bitwise_and")
    __or__, __ror__ = _left("bitwise_or"), _right("bitwise_or")
    __truediv__, __rtruediv__ = _left("truediv"), _right("truediv")

    def __neg__(self) -> Any:
        return _apply("neg", self)

    def _unknown(self, *others: Any) -> Any:
        return UNKNOWN

    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __pow__ = __rpow__ = _unknown
    __lt__ = __le__ = __gt__ = __ge__ = __invert__ = __abs__ = __xor__ = __rxor__ = _unknown
    __eq__ = __ne__ = _unknown


UNKNOWN = Unknown()


def _apply(name: str, *args: Any) -> Any:
    """A function of forms and numbers."""
    forms = [arg for arg in args if isinstance(arg, Unknown)]
    rule = forms[0].rules.get(name)
    if rule is None or any(type(form) is Unknown for form in forms):
        return UNKNOWN
    return rule(*args)


def _is_plain(value: Any) -> bool:
    return not isinstance(value, Unknown)


@dataclasses.dataclass(frozen=True)
class Ring:
    """A sum and a product that distributes over it, with their neutral elements."""

    name: str
    add: Callable[[Any, Any], Any]
    mul: Callable[[Any, Any], Any]
    zero: Any
    one: Any
    rules: Rules
    kind: str  # of the dtypes of its numbers, as in `isdtype`


class Factor(NamedTuple):
    """What a carry is multiplied with, and whether it is at all."""

    value: Any
    counts: Any = True

    def masked(self, zero: Any) -> Any:
        """The value; zero where it does not count."""
        return self.value if self.counts is True else fw.where(self.counts, self.value, zero)

    def plus(self, other: Factor, ring: Ring) -> Factor:
        """The sum of two that may not count."""
        always = self.counts is True or other.counts is True
        values = [factor.masked(ring.zero) for factor in (self, other)]
        return Factor(ring.add(*values), always or self.counts | other.counts)


@dataclasses.dataclass(frozen=True, eq=False)
class Form(Unknown):
    """A sum of carries times factors, and of a number; None is no term."""

    ring: Ring
    factors: tuple[Factor | None, ...]
    number: Any = None

    @property
    def rules(self) -> Rules:
        """Those of the ring."""
        return self.ring.rules

    def changed(self, f: Callable[[Any], Any]) -> Form:
        """The form with f of all its numbers."""
        factors = tuple(x and x._replace(value=f(x.value)) for x in self.factors)
        return Form(self.ring, factors, None if self.number is None else f(self.number))


def carries(ring: Ring, count: int) -> list[Any]:
    """Carries before any step; a quotient is one carry."""
    if ring is QUOTIENTS:
        return [Ratio(*carries(REALS, 2))] if count == 1 else [UNKNOWN] * count
    one = Factor(ring.one)
    return [Form(ring, tuple(one if i == j else None for j in range(count))) for i in range(count)]


def forms_of(ring: Ring, carries: Sequence[Any]) -> dict[int, Form]:
    """The forms that new carries are, by number."""
    if ring is QUOTIENTS:
        [carry] = carries
        return {0: carry.top, 1: carry.bottom} if isinstance(carry, Ratio) else {}
    none = (None,) * len(carries)
    all_ = [Form(ring, none, carry) if _is_plain(carry) else carry for carry in carries]
    return {i: form for i, form in enumerate(all_) if isinstance(form, Form)}


def _forms(*values: Any) -> list[Form]:
    """Forms, of numbers too."""
    like = next(value for value in values if not _is_plain(value))
    none = (None,) * len(like.factors)
    return [Form(like.ring, none, value) if _is_plain(value) else value for value in values]


def _sum(x: Any, y: Any) -> Any:
    x, y = _forms(x, y)
    ring = x.ring

    def total(a: Factor | None, b: Factor | None) -> Factor | None:
        return a.plus(b, ring) if a and b else a or b

    numbers = [form.number for form in (x, y) if form.number is not None]
    number = ring.add(*numbers) if len(numbers) == 2 else numbers[0] if numbers else None
    return Form(ring, tuple(map(total, x.factors, y.factors)), number)


def _product(x: Any, y: Any) -> Any:
    form, factor = (x, y) if _is_plain(y) else (y, x)
    if not _is_plain(factor):
        return UNKNOWN
    return form.changed(lambda value: form.ring.mul(value, factor))


def _choice(p: Any, x: Any, y: Any) -> Any:
    if not _is_plain(p):
        return UNKNOWN
    x, y = _forms(x, y)
    absent = Factor(x.ring.one, False)

    def chosen(a: Factor | None, b: Factor | None) -> Factor | None:
        if a is None and b is None:
            return None
        a, b = a or absent, b or absent
        both = a.counts is True and b.counts is True
        return Factor(fw.where(p, a.value, b.value), both or fw.where(p, a.counts, b.counts))

    numbers = [x.ring.zero if form.number is None else form.number for form in (x, y)]
    number = None if x.number is None and y.number is None else fw.where(p, *numbers)
    return Form(x.ring, tuple(map(chosen, x.factors, y.factors)), number)


def _difference(x: Any, y: Any) -> Any:
    return _sum(x, fw.neg(y) if _is_plain(y) else _product(y, -1))


def _quotient(x: Any, y: Any) -> Any:
    return x.changed(lambda value: value / y) if _is_plain(y) else UNKNOWN


def _moved_down(x: Any, y: Any) -> Any:
    return _product(x, fw.neg(y)) if _is_plain(y) else UNKNOWN


COMMON: Rules = {"where": _choice, "positive": lambda x: x}
REALS = Ring(
    "reals", lambda x, y: x + y, lambda x, y: x * y, 0, 1, {
        **COMMON, "add": _sum, "sub": _difference, "mul": _product, "truediv": _quotient,
        "neg": lambda x: _product(x, -1),
    }, "numeric",
)  # fmt: skip
HIGHEST = Ring(
    "highest", fw.maximum, lambda x, y: x + y, -fw.inf, 0,
    {**COMMON, "maximum": _sum, "add": _product, "sub": _moved_down}, "real floating",
)  # fmt: skip
LOWEST = dataclasses.replace(
    HIGHEST, name="lowest", add=fw.minimum, zero=fw.inf,
    rules={**COMMON, "minimum": _sum, "add": _product, "sub": _moved_down},
)  # fmt: skip
BOOLS = Ring(
    "bools", lambda x, y: x | y, lambda x, y: x & y, False, True, {
        **COMMON, "bitwise_or": _sum, "logical_or": _sum, "bitwise_and": _product,
        "logical_and": _product,
    }, "bool",
)  # fmt: skip
QUOTIENTS = dataclasses.replace(REALS, name="quotients", kind="real floating")
RINGS = (BOOLS, REALS, HIGHEST, LOWEST, QUOTIENTS)


@dataclasses.dataclass(frozen=True, eq=False)
class Ratio(Unknown):
    """A quotient of two forms: of u over w, which together stand for the carry u / w."""

    top: Form
    bottom: Form

    @property
    def rules(self) -> Rules:
        """Those of quotients."""
        return RATIOS


def _ratio_sum(x: Any, y: Any) -> Any:
    if _is_plain(x):
        x, y = y, x
    if _is_plain(y):
        return Ratio(_sum(x.top, _product(x.bottom, y)), x.bottom)
    return Ratio(_sum(x.top, y.top), x.bottom) if x.bottom is y.bottom else UNKNOWN


def _ratio_product(x: Any, y: Any) -> Any:
    ratio, factor = (x, y) if _is_plain(y) else (y, x)
    return Ratio(_product(ratio.top, factor), ratio.bottom) if _is_plain(factor) else UNKNOWN


def _ratio_quotient(x: Any, y: Any) -> Any:
    if _is_plain(y):
        return Ratio(_quotient(x.top, y), x.bottom)
    if _is_plain(x):
        return Ratio(_product(y.bottom, x), y.top)
    return Ratio(x.top, y.top) if x.bottom is y.bottom else UNKNOWN


def _ratio_choice(p: Any, x: Any, y: Any) -> Any:
    if not _is_plain(p):
        return UNKNOWN
    like = x if _is_plain(y) else y
    none = (None,) * len(like.top.factors)
    x, y = (
        Ratio(Form(REALS, none, v), Form(REALS, none, 1)) if _is_plain(v) else v for v in (x, y)
    )
    return Ratio(_choice(p, x.top, y.top), _choice(p, x.bottom, y.bottom))


RATIOS: Rules = {
    "add": _ratio_sum, "mul": _ratio_product, "truediv": _ratio_quotient, "where": _ratio_choice,
    "sub": lambda x, y: _ratio_sum(x, fw.neg(y) if _is_plain(y) else _ratio_product(y, -1)),
    "neg": lambda x: _ratio_product(x, -1), "reciprocal": lambda x: _ratio_quotient(1, x),
    "positive": lambda x: x,
}  # fmt: skip
