"""Values in the dtype of what they meet: the one place that says which Python numbers fit.

    i8 array + 100, reduce(add, 0, i8 array)     the number becomes an i8
    i8 array + 300, reduce(add, 300, ..)         OverflowError
    reduce(add, 0.5, i8 array)                   DTypeError: a float takes no integer's dtype
    f(i8 array, k) with k = 300                  OverflowError, from a check when it runs

A number that is computed from Python numbers while a program runs wraps, as integers do.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from flatweave.base.dtypes import DType, bool_
from flatweave.base.errors import DTypeError
from flatweave.base.source import user_location
from flatweave.frontend.elements.broadcast import zipped
from flatweave.frontend.trace.run_time_checks import LITERAL, check, check_message
from flatweave.frontend.values.array import Tracer
from flatweave.frontend.values.promotion import (
    COMPARISONS,
    PYTHON,
    bounds,
    fits,
    misfit,
    too_big,
    wider,
)
from flatweave.frontend.values.scope import current
from flatweave.terms.syntax import Atom, Const, constant


def cast(value: Tracer, dtype: DType) -> Tracer:
    """A traced scalar in another dtype; a Python number must be a value of it."""
    must_fit(value, dtype)
    if value.element is dtype and not value.weak:
        return value
    return Tracer(current().cast(value.atom, dtype), value.scope)


def taken(value: Tracer, dtype: DType, who: str) -> Tracer:
    """A value converted to the dtype of the elements it joins: a neutral element, a written value.

    Raises DTypeError for another kind, such as floats among integers; arrays wrap, as NumPy's do
    when they are written into each other.
    """
    if value.weak or value.element is dtype:
        return cast(value, dtype)
    if value.element.is_integer and dtype.is_integer and not value.ndim:
        _must_be_inside(value, dtype, f"the {value.element}")
    elif not np.can_cast(value.element.numpy, dtype.numpy, "same_kind"):
        raise DTypeError(
            f"{who} cannot take {value.element} for its elements, which are {dtype}.",
            where=user_location(),
            remedy=f"Convert it with astype(fw.{_spelled(dtype)}), or convert the elements.",
        )
    return zipped(lambda v: _converted(v, dtype), [value], who)[0]


def _converted(value: Tracer, dtype: DType) -> Tracer:
    scope = current()
    atom = scope.cast(value.atom, dtype)
    return Tracer(atom, scope.home((atom,)))


def _spelled(dtype: DType) -> str:
    return "bool_" if dtype is bool_ else dtype.name


def must_fit(value: Tracer, dtype: DType) -> None:
    """Refuse a Python number that is no value of a dtype; an argument is checked when it runs."""
    atom = value.atom
    if dtype.is_float or not value.weak:
        return
    if value.element.is_float:
        raise DTypeError(
            f"the Python float {_shown(atom)}has no place among elements that are {dtype}.",
            where=user_location(),
            remedy="Give an integer, or convert the elements first: xs.astype(fw.f64).",
        )
    if isinstance(atom, Const) or atom in current().trace.numbers:
        _must_be_inside(value, dtype, PYTHON)


def _must_be_inside(value: Tracer, dtype: DType, what: str) -> None:
    """Refuse an integer outside the bounds of a dtype, now or by a check when it runs."""
    atom = value.atom
    if isinstance(atom, Const):
        if not fits(atom.value, dtype):
            raise too_big(atom.value, dtype, what)
        return
    for bound, fn in _beyond(value.element, dtype):
        holds = current().apply(fn, atom, bound)
        if not current().is_checked(holds):
            text = check_message(misfit("{0}", dtype, what), remedy=wider(dtype))
            home = check(holds, LITERAL[value.element.is_signed], (atom,), text)
            home.checked.add(holds)


def _shown(atom: Atom) -> str:
    return f"{atom.value} " if isinstance(atom, Const) else ""


def _beyond(own: DType, dtype: DType) -> list[tuple[Const, str]]:
    """The bounds of a dtype that another integer dtype exceeds."""
    (low, high), (least, most) = bounds(dtype), bounds(own)
    found = [(constant(low, own), "ge")] if least < low else []
    return [*found, *([(constant(high, own), "le")] if high < most else [])]


def compared(fn: str, values: Sequence[Tracer], dtype: DType) -> Tracer | None:
    """A comparison of integers with a Python number that may not fit their dtype, by value.

    Beyond the ends of the dtype the number is above or below every element. None where nothing but
    the plain comparison is to be done.
    """
    if fn not in COMPARISONS or not dtype.is_integer:
        return None
    number, other = sorted(values, key=lambda value: not value.weak)
    if not number.weak or other.weak or not _may_be_beyond(number, dtype):
        return None
    fn = fn if values[0] is other else _TURNED.get(fn, fn)
    scope, atom, own = current(), number.atom, number.element
    near: Atom = atom
    below: Atom = _FALSE
    above: Atom = _FALSE
    for bound, inside in _beyond(own, dtype):
        near = scope.apply("maximum" if inside == "ge" else "minimum", near, bound)
        if inside == "ge":
            below = scope.apply("lt", atom, bound)
        else:
            above = scope.apply("gt", atom, bound)
    plain = scope.apply(fn, other.atom, scope.cast(near, dtype))
    for outside, holds in ((below, fn in ("gt", "ge", "ne")), (above, fn in ("lt", "le", "ne"))):
        if outside != _FALSE:
            plain = scope.apply("select", outside, constant(holds, bool_), plain)
    return Tracer(plain, scope.home((plain,)))


_FALSE = constant(False, bool_)
_TURNED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}


def _may_be_beyond(number: Tracer, dtype: DType) -> bool:
    if isinstance(number.atom, Const):
        return not fits(number.atom.value, dtype)
    return number.atom in current().trace.numbers and bool(_beyond(number.element, dtype))
