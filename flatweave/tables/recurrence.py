"""recurrence: a loop that hands a carry from element to element, or a parallel scan.

    step(carry, x) -> (carry, y)        jax.lax.scan's meaning

The step is tried on a carry that is a form instead of a number. Where the new carry is a form as
well, forms are composed by a scan, and the outputs are a map over the carries:

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

Step = Callable[[Any, Any], tuple[Any, Any]]


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


@fw.operation(static="axis reverse parallel")
def recurrence(
    step: Callable[[Any, Any], Any], initial: Any, xs: Any, *, axis: int = 0, reverse: bool = False,
    parallel: bool | None = None,
) -> Any:  # fmt: skip
    """`step(carry, x) -> (carry, y)` from element to element: (the last carry, all outputs).

    As `jax.lax.scan`: `xs` is any structure of arrays, of which a step gets the elements at one
    index along `axis`, with `reverse` from the last to the first; outputs are stacked along that
    axis. Of a Ragged each row by itself, from the same `initial`. Where the new carry is one number
    and a multiple of the old one plus a number, its maximum or minimum with a number after a sum,
    or its `&` and `|` with bools, a parallel scan computes the carries, which rounds otherwise than
    the loop. `parallel=False` is always the loop, `parallel=True` never.

    Types: `step: (c, a) -> (c, b), initial: c, xs: a[n] -> c, b[n]`. Raises OperatorError for
    `parallel=True` where no scan is known, ArgumentError for a step that gives no pair, and
    ShapeError for arrays of different lengths.

        >>> fw.recurrence(lambda c, x: (0.5 * c + x, c), 0.0, [1.0, 2.0, 4.0])
        (Array(5.25, dtype=float64), Array([0. , 1. , 2.5], dtype=float64))
    """
    if isinstance(xs, fw.Ragged):
        return fw.map(
            lambda row: recurrence(step, initial, row, reverse=reverse, parallel=parallel), xs
        )
    xs, step = _arrays(xs), _paired(step)
    if axis:
        xs = _each(lambda x: fw.moveaxis(x, axis, 0), xs)
    if parallel is not False:
        found = _in_parallel(step, initial, xs, reverse)
        if found is not None:
            fw.note("the recurrence is a parallel scan of functions of the carry")
            return _stacked(found, axis)
    if parallel:
        raise fw.OperatorError.here(
            "recurrence knows no parallel form of this step.",
            "Leave parallel=True out; or compose functions of the carry yourself, with fw.scan.",
        )
    fw.note("the recurrence is a loop over the elements, one after the other")
    return _stacked(_in_turn(step, initial, xs, reverse), axis)


def _paired(step: Callable[[Any, Any], Any]) -> Step:
    """The step, whose results are looked at: a carry and an output."""

    def checked(carry: Any, x: Any) -> tuple[Any, Any]:
        found = step(carry, x)
        if isinstance(found, tuple | list) and len(found) == 2:
            return found[0], found[1]
        what = f"{len(found)} values" if isinstance(found, tuple | list) else "one value"
        raise fw.ArgumentError.here(
            f"The step of a recurrence gives a carry and an output, but this one gives {what}.",
            "Return both: `lambda y, x: (0.9 * y + 0.1 * x,) * 2` where the carry is the output.",
        )

    return checked


def _stacked(found: tuple[Any, Any], axis: int) -> tuple[Any, Any]:
    carry, outputs = found
    if axis:
        outputs = _each(lambda y: fw.moveaxis(y, 0, axis), outputs)
    return carry, outputs


def _each(f: Callable[..., Any], tree: Any, *others: Any) -> Any:
    """A function of the arrays of structures that are alike."""
    if tree is None:
        return None
    if isinstance(tree, dict):
        return {name: _each(f, part, *(o[name] for o in others)) for name, part in tree.items()}
    if isinstance(tree, tuple | list):
        parts = [_each(f, *group) for group in zip(tree, *others, strict=True)]
        return type(tree)(*parts) if hasattr(tree, "_fields") else tuple(parts)
    if dataclasses.is_dataclass(tree) and not isinstance(tree, type):
        names = [field.name for field in dataclasses.fields(tree)]
        new = {n: _each(f, *(getattr(o, n) for o in (tree, *others))) for n in names}
        return dataclasses.replace(tree, **new)
    return f(tree, *others)


def _arrays(xs: Any) -> Any:
    return _each(fw.asarray, xs)


def _first(xs: Any) -> Any:
    """An array of a structure."""
    found: list[Any] = []
    _each(found.append, xs)
    if not found:
        raise fw.ArgumentError.here("recurrence got no array.", "Give it one: xs=fw.iota(n).")
    return found[0]


def _in_turn(step: Step, initial: Any, xs: Any, reverse: bool) -> tuple[Any, Any]:
    """The loop."""
    n = _first(xs).shape[0]

    def output(x: Any) -> Any:
        """The first output, for its type: of a carry in the dtypes that steps give."""
        carry = fw.where(True, initial, step(initial, x)[0])
        y = step(carry, x)[1]
        return 0 if y is None else y

    is_none: list[bool] = []

    def probed(x: Any) -> Any:
        is_none.append(step(initial, x)[1] is None)
        return output(x)

    room = fw.map(probed, xs)
    outputs = None if is_none[0] else _each(fw.zeros_like, room)

    def one(i: Any, state: Any) -> Any:
        carry, written = state
        at = n - 1 - i if reverse else i
        carry, y = step(carry, _each(lambda x: x[at], xs))
        if written is not None:
            written = _each(lambda out, value: fw.replace(out, at, value), written, y)
        return carry, written

    return fw.fori_loop(0, n, one, (initial, outputs))  # type: ignore[no-any-return]


def _in_parallel(step: Step, initial: Any, xs: Any, reverse: bool) -> tuple[Any, Any] | None:
    """The scan of forms; None where the step gives none."""
    start = fw.asarray(initial) if _is_number(initial) else None
    if start is None or start.ndim:
        return None
    cls = _form_of(step, start, xs)
    if cls is None:
        return None

    def parts(x: Any) -> Any:
        form = step(cls(*cls.identity), x)[0]
        return form.parts(_type(step, initial, x))

    forms = fw.map(parts, xs)
    dtype = forms[0].dtype
    begin = (dtype.type(cls.identity[0]), start.astype(dtype), True)

    def compose(f: Any, g: Any) -> Any:
        whole = cls(*f).then(cls(*g))
        return whole.a, whole.b, whole.resets

    if reverse:
        forms = _each(fw.reverse, forms)
    after = fw.scan(compose, begin, forms, check=False)[1]
    before = fw.concat([fw.full(1, start.astype(dtype)), after])
    n = after.shape[0]
    carries = before[:-1]
    if reverse:
        carries = fw.reverse(carries)
    is_none: list[bool] = []

    def output(c: Any, x: Any) -> Any:
        y = step(c, x)[1]
        is_none.append(y is None)
        return 0 if y is None else y

    outputs = fw.map(output, carries, xs)
    return before[n], None if is_none[0] else outputs


def _is_number(value: Any) -> bool:
    return not isinstance(value, tuple | list | dict) and not dataclasses.is_dataclass(value)


def _type(step: Step, initial: Any, x: Any) -> Any:
    """The dtype of carries."""
    return fw.where(True, initial, step(initial, x)[0]).dtype


def _form_of(step: Step, initial: Any, xs: Any) -> Any:
    """The class of forms that a step maps to themselves; None where there is none."""
    for cls in (OrAnd,) if initial.dtype == fw.bool_ else (Affine, MaxPlus, MinPlus):
        found: list[Any] = []

        def tried(x: Any, cls: Any = cls, found: list[Any] = found) -> Any:
            form = step(cls(*cls.identity), x)[0]
            dtype = _type(step, initial, x)
            fits = cls in (Affine, OrAnd) or fw.isdtype(dtype, "real floating")
            found.append(type(form) is cls and fits)
            return 0

        try:
            fw.map(tried, xs)
        except Exception:  # what a step does with a number need not work with a form
            continue
        if found and found[0]:
            return cls
    return None
