"""How many elements an array may have: the one place where extents are multiplied and added.

    fit((n, m))        stop the program unless max(n, 1) * max(m, 1) < 2**60
    total(n, m)        n + m, and stop the program where that wraps

Nothing that follows from extents can wrap then: not a number of elements, nor one of bytes, nor the
row-major position of an element. Extents of 0 are left out of the product, so that the order of the
axes does not matter, and a part of a shape that fits fits as well; NumPy counts in the same way.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from flatweave.array_ir.fault import OVERFLOW
from flatweave.base.dtypes import bool_, i64
from flatweave.base.errors import ExtentOverflowError
from flatweave.base.source import user_location
from flatweave.frontend.trace.faults import check_message
from flatweave.frontend.values.scope import Scope, current
from flatweave.ops import Check
from flatweave.terms.build import index
from flatweave.terms.syntax import ArrayType, Atom, Const, Op, Var

ZERO, ONE, FOUND_LATER = index(0), index(1), index(-1)
FALSE = Const(False, bool_)
MOST = 2**60 - 1  # elements; of those of 8 bytes, an i64 counts the bytes
REMEDY = "Check the extents: one of them is far too large. Those of 0 are left out of the number."


def check(condition: Atom, kind: str, values: Sequence[Atom], message: str) -> Scope:
    """Stop the program with an error unless the condition holds; the scope that then knows it."""
    scope = current().check_home((condition, *values))
    if not (isinstance(condition, Const) and condition.value):
        scope.emit(Check(condition, kind, tuple(values), message))
    return scope


def is_refused(condition: Atom) -> bool:
    """Whether a condition is known not to hold, in a place that is surely reached.

    Where a body may not run, such a condition is checked like any other: when it runs.
    """
    return isinstance(condition, Const) and not condition.value and not current().may_be_skipped


def fit_results(op: Op) -> None:
    """Check the shape of every array that an operation makes, unless it finds extents itself."""
    known = current().trace.homes
    for type_ in op.result_types():
        if not isinstance(type_, ArrayType) or type_.rank < 2:
            continue
        if all(isinstance(extent, Const) or extent in known for extent in type_.shape):
            fit(type_.shape)


def fit(shape: Sequence[Atom]) -> None:
    """Stop the program when an array of this shape has more than MOST elements; -1 is left out.

    Raises ExtentOverflowError where the extents are constants.
    """
    scope = current()
    counted = tuple(extent for extent in shape if extent not in (ONE, FOUND_LATER))
    if len(counted) < 2 or scope.is_fit(counted):
        return
    most = MOST
    for extent in counted:
        if isinstance(extent, Const):
            most //= max(int(extent.value), 1)
    varying = [extent for extent in counted if isinstance(extent, Var)]
    if most == 0:
        _refuse(shape)
    elif varying:
        _check_product(varying, most, shape)
    scope.check_home(counted).add_shape(counted)


def _check_product(varying: Sequence[Var], most: int, shape: Sequence[Atom]) -> None:
    """Check the product factor by factor, so that none wraps before it is compared."""
    scope = current()
    product = scope.apply("maximum", varying[0], ONE)
    if len(varying) == 1:
        fits = scope.apply("le", product, index(most))
        check(fits, OVERFLOW, varying, _message(shape, varying))
    for pair in pairwise(varying):
        factor = scope.apply("maximum", pair[1], ONE)
        fits = scope.apply("le", product, scope.apply("floordiv", index(most), factor))
        check(fits, OVERFLOW, pair, _message(shape, pair))
        product = scope.apply("mul", product, factor)


def _message(shape: Sequence[Atom], values: Sequence[Var]) -> str:
    """What a check of a shape says; there is room for two values."""
    shown = {extent: f"{{{k}}}" for k, extent in enumerate(values)}
    parts = [
        str(extent.value) if isinstance(extent, Const) else shown.get(extent, "?")
        for extent in shape
    ]
    return check_message(_too_many(parts), [], REMEDY)


def _refuse(shape: Sequence[Atom]) -> None:
    """Refuse a shape whose constants alone are too many."""
    parts = [str(extent.value) if isinstance(extent, Const) else "?" for extent in shape]
    if not is_refused(FALSE):
        check(FALSE, OVERFLOW, (), check_message(_too_many(parts), [], REMEDY))
        return
    raise ExtentOverflowError(_too_many(parts), where=user_location(), remedy=REMEDY)


def _too_many(parts: Sequence[str]) -> str:
    shape = ", ".join(parts)
    return f"an array of shape ({shape}) has too many elements: there may be 2**60 - 1."


def total(a: Atom, b: Atom, who: str) -> Atom:
    """The sum of two extents; stops the program where it wraps."""
    scope = current()
    if isinstance(a, Const) and isinstance(b, Const) and a.value + b.value > i64.high:
        message = _sum(who, a.value, b.value)
        if is_refused(FALSE):
            raise ExtentOverflowError(message, where=user_location(), remedy=REMEDY_SUM)
        check(FALSE, OVERFLOW, (), check_message(message, [], REMEDY_SUM))
        return ZERO
    sum_ = scope.apply("add", a, b)
    if isinstance(sum_, Var) and sum_ not in (a, b) and not scope.is_natural(sum_):
        message = check_message(_sum(who, "{0}", "{1}"), [], REMEDY_SUM)
        home = check(scope.apply("ge", sum_, ZERO), OVERFLOW, (a, b), message)
        home.natural.add(sum_)
    return sum_


REMEDY_SUM = "Check the extents: one of them is far too large."


def _sum(who: str, a: object, b: object) -> str:
    return f"{who} of {a} and {b} elements has more than an i64 can count."
