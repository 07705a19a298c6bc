"""Functions of a carry that compose to functions of the same form, and the arithmetic on them.

    Affine      c -> a * c + b             compose: (a2 * a1, a2 * b1 + b2)
    MaxPlus     c -> max(c + a, b)         compose: (a1 + a2, max(b1 + a2, b2)); min alike
    OrAnd       c -> (c & a) | b           compose: (a1 & a2, (b1 & a2) | b2)

Each has a flag for carries that do not depend on what was before: `where(new, x, c + x)`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, ClassVar

import flatweave as fw


def _left(name: str) -> Any:
    return lambda self, other: RULES[name](self, other)


def _right(name: str) -> Any:
    return lambda self, other: RULES[name](other, self)


class Unknown(fw.Overriding):
    """What a step computes of its carry that is no form."""

    __array_ufunc__ = None
    __hash__ = None  # type: ignore[assignment]

    @classmethod
    def __flatweave_function__(cls, function: Any, args: Any, kwargs: Any) -> Any:
        """A form where the class knows the function, else unknown."""
        if kwargs or any(isinstance(arg, tuple | list) for arg in args):
            return UNKNOWN
        rule = RULES.get(function.__name__)
        return UNKNOWN if rule is None else rule(*args)

    __add__, __radd__ = _left("add"), _right("add")
    __sub__, __rsub__ = _left("sub"), _right("sub")
    __mul__, __rmul__ = _left("mul"), _right("mul")
    __and__, __rand__ = _left("bitwise_and"), _right("bitwise_and")
    __or__, __ror__ = _left("bitwise_or"), _right("bitwise_or")
    __truediv__ = _left("truediv")

    def __neg__(self) -> Any:
        return RULES["neg"](self)

    def _unknown(self, *others: Any) -> Any:
        return UNKNOWN

    __rtruediv__ = __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __pow__ = __rpow__ = _unknown
    __lt__ = __le__ = __gt__ = __ge__ = __invert__ = __abs__ = __xor__ = __rxor__ = _unknown
    __eq__ = __ne__ = _unknown


UNKNOWN = Unknown()


@dataclasses.dataclass(frozen=True, eq=False)
class Form(Unknown):
    """A function of the carry: two numbers, and whether the carry before is left out."""

    a: Any
    b: Any
    resets: Any = False
    identity: ClassVar[tuple[Any, Any]] = (1, 0)

    def parts(self, like: Any) -> tuple[Any, ...]:
        """The numbers in the dtype of the carry."""
        a, b = (fw.asarray(part).astype(like) for part in (self.a, self.b))
        return a, b, fw.asarray(self.resets)


class Affine(Form):
    """c -> a * c + b"""

    def applied(self, c: Any) -> Any:
        """The carry after c."""
        return self.a * c + self.b

    def then(self, other: Any) -> Any:
        """This, and after it the other."""
        # c -> a * c has nothing to multiply: infinity times its b would be NaN
        counts = fw.logical_not(other.resets) & (self.resets | (self.b != 0))
        b = fw.where(counts, other.applied(self.b), other.b)
        return Affine(self.a * other.a, b, self.resets | other.resets)


class MaxPlus(Form):
    """c -> max(c + a, b)"""

    better: ClassVar[Any] = staticmethod(fw.maximum)
    worst: ClassVar[float] = -fw.inf
    identity = (0, -fw.inf)

    def applied(self, c: Any) -> Any:
        """The carry after c."""
        return self.better(c + self.a, self.b)

    def then(self, other: Any) -> Any:
        """This, and after it the other."""
        b = fw.where(other.resets, other.b, self.better(self.b + other.a, other.b))
        return type(self)(self.a + other.a, b, self.resets | other.resets)


class MinPlus(MaxPlus):
    """c -> min(c + a, b)"""

    better: ClassVar[Any] = staticmethod(fw.minimum)
    worst: ClassVar[float] = fw.inf
    identity = (0, fw.inf)


class OrAnd(Form):
    """c -> (c & a) | b"""

    identity = (True, False)

    def applied(self, c: Any) -> Any:
        """The carry after c."""
        return (c & self.a) | self.b

    def then(self, other: Any) -> Any:
        """This, and after it the other."""
        return OrAnd(self.a & other.a, fw.where(other.resets, other.b, other.applied(self.b)),
                     self.resets | other.resets)  # fmt: skip


def _plain(*values: Any) -> bool:
    return not any(isinstance(value, Unknown) for value in values)


def _shifted(form: Any, by: Any) -> Any:
    """A form plus a number."""
    if isinstance(form, Affine):
        return Affine(form.a, form.b + by, form.resets)
    if isinstance(form, MaxPlus):
        return type(form)(form.a + by, form.b + by, form.resets)
    return UNKNOWN


def _add(x: Any, y: Any) -> Any:
    if _plain(y):
        return _shifted(x, y)
    if _plain(x):
        return _shifted(y, x)
    if type(x) is type(y) is Affine and x.resets is False and y.resets is False:
        return Affine(x.a + y.a, x.b + y.b)
    return UNKNOWN


def _sub(x: Any, y: Any) -> Any:
    return _shifted(x, fw.neg(y)) if _plain(y) else _add(x, _mul(y, -1))


def _mul(x: Any, y: Any) -> Any:
    form, factor = (x, y) if _plain(y) else (y, x)
    if not _plain(factor) or not isinstance(form, Affine):
        return UNKNOWN
    none = form.resets is False and isinstance(form.b, int) and form.b == 0
    return Affine(form.a * factor, 0 if none else form.b * factor, form.resets)


def _truediv(x: Any, y: Any) -> Any:
    if not _plain(y) or not isinstance(x, Affine):
        return UNKNOWN
    return Affine(x.a / y, x.b / y, x.resets)


def _better(cls: type[MaxPlus]) -> Callable[[Any, Any], Any]:
    def rule(x: Any, y: Any) -> Any:
        form, bound = (x, y) if _plain(y) else (y, x)
        if not _plain(bound) or type(form) is not cls or form.resets is not False:
            return UNKNOWN
        return cls(form.a, cls.better(form.b, bound))

    return rule


def _and(x: Any, y: Any) -> Any:
    form, other = (x, y) if _plain(y) else (y, x)
    if not _plain(other) or not isinstance(form, OrAnd):
        return UNKNOWN
    return OrAnd(form.a & other, form.b & other, form.resets)


def _or(x: Any, y: Any) -> Any:
    form, other = (x, y) if _plain(y) else (y, x)
    if not _plain(other) or not isinstance(form, OrAnd):
        return UNKNOWN
    return OrAnd(form.a, form.b | other, form.resets)


def _where(p: Any, x: Any, y: Any) -> Any:
    if not _plain(p):
        return UNKNOWN
    cls = type(y) if _plain(x) else type(x)
    if not issubclass(cls, Form):
        return UNKNOWN
    x, y = (cls(cls.identity[0], v, True) if _plain(v) else v for v in (x, y))
    if type(x) is not cls or type(y) is not cls:
        return UNKNOWN
    return cls(fw.where(p, x.a, y.a), fw.where(p, x.b, y.b), fw.where(p, x.resets, y.resets))


RULES: dict[str, Callable[..., Any]] = {
    "add": _add, "sub": _sub, "mul": _mul, "truediv": _truediv, "neg": lambda x: _mul(x, -1),
    "maximum": _better(MaxPlus), "minimum": _better(MinPlus), "where": _where,
    "bitwise_and": _and, "bitwise_or": _or, "logical_and": _and, "logical_or": _or,
    "positive": lambda x: x,
}  # fmt: skip
