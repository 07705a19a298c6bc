"""Conditions that a program checks when it runs, and functions of a library on top of this one.

    check(lengths >= 0, "length {0} is {1}", lengths)       the first one that fails, and its value
    @operation(static="axis")                               recorded in a trace, else run at once
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from flatweave.array_ir.fault import NEGATIVE, OVERFLOW, SAME
from flatweave.base.dtypes import bool_, i64
from flatweave.base.errors import (
    ArgumentError,
    DTypeError,
    ExtentOverflowError,
    IndexOutOfBounds,
    NegativeExtentError,
    ShapeError,
    UserError,
)
from flatweave.base.source import user_location
from flatweave.frontend.call import operation as calls
from flatweave.frontend.elements.broadcasting import read
from flatweave.frontend.ragged.cutting import first_place, none_at
from flatweave.frontend.trace import extents
from flatweave.frontend.trace.run_time_checks import ROW, check_message, is_refused
from flatweave.frontend.trace.run_time_checks import check as checked
from flatweave.frontend.trace.tracers import as_tracer
from flatweave.frontend.values.array import describe
from flatweave.frontend.values.scope import current, innermost
from flatweave.terms.syntax import Atom

P = ParamSpec("P")
R = TypeVar("R")
KINDS: dict[type[UserError], str] = {
    ArgumentError: "argument", ShapeError: SAME, IndexOutOfBounds: ROW,
    NegativeExtentError: NEGATIVE, ExtentOverflowError: OVERFLOW,
}  # fmt: skip


@calls.operation(static="message error remedy")
def check(
    holds: Any, message: str, *values: Any, error: type[UserError] = ArgumentError,
    remedy: str = "",
) -> None:  # fmt: skip
    """Stop the program with an error unless a condition, or each of an array of them, holds.

    The error shows the line that calls the function, the message and the remedy. In the message
    `{0}` and `{1}` are the values, integers. Of an array of conditions `{0}` is the first index
    that fails, and `{1}` the element there of an array of integers. `error` is ArgumentError,
    ShapeError, IndexOutOfBounds, NegativeExtentError or ExtentOverflowError.

    Types: `holds: bool or bool[n], values: integer or integer[n] -> nothing`. Raises `error`, and
    DTypeError for a condition that is not bool. Source: JAX's `checkify.check`.

        >>> fw.check(fw.asarray([3, 1]) > 0, "element {0} is {1}.", [3, 1])
    """
    condition = as_tracer(holds, "the condition of check")
    if condition.element is not bool_ or condition.ndim > 1:
        raise DTypeError(
            f"check needs a bool, or an array of them, got {describe(condition)}.",
            where=user_location(), remedy="Compare first, for instance with xs > 0.",
        )  # fmt: skip
    kind = KINDS.get(error, "argument")
    shown = [as_tracer(value, "a value of check") for value in values]
    for each in shown:
        if not each.element.is_integer:
            raise DTypeError(
                f"the values that check shows must be integers, got {describe(each)}.",
                where=user_location(), remedy="Leave the value out, or show an index.",
            )  # fmt: skip
    if not condition.ndim:
        if is_refused(condition.atom) and not shown:
            raise error(message, where=user_location(), remedy=remedy)
        text = check_message(message, [], remedy)
        checked(condition.atom, kind, [current().cast(each.atom, i64) for each in shown], text)
        return
    count = condition.extents[0]
    extents.same_length([condition, *shown], "check", ["holds", "value"])
    found = first_place(count, lambda i: current().apply("not", read(condition, (i,)).atom))

    def shown_value(i: Atom) -> Atom:
        return current().cast(read(shown[0], (i,)).atom, i64) if shown else i

    none_at(found, count, (kind, message, remedy), shown_value)


def note(text: str) -> None:
    """Say in the `notes` of a compiled function what a function chose, with the line that calls it.

    Outside of jitted functions nothing happens.

    Types: `text ->` nothing. Raises nothing. Source: Flatweave.

        >>> def f(x):
        ...     fw.note("doubled by adding")
        ...     return x + x
        >>> fw.jit(f).stages(1.0).notes[0].endswith("doubled by adding")
        True
    """
    scope = innermost()
    if scope is not None:
        scope.trace.notes.append((text, user_location()))


def operation(*, static: str = "", structured: str = "") -> Callable[
    [Callable[P, R]], Callable[P, R]
]:  # fmt: skip
    """Declare a function of arrays that works as those of `fw` do: called in a trace it is a part
    of the program, outside it is compiled for the call and runs at once.

    Unlike `fw.jit`, a list of numbers is an array, functions may be arguments, and a value of any
    Overriding class is asked first. `static` names parameters that decide what the program is, and
    that the body gets as Python values; in the parameters that `structured` names a list is a
    structure.

    Types: `f -> f`. Raises what the function does, and ArgumentError for arguments that it does
    not take. Source: Flatweave.

        >>> @fw.operation(static="power")
        ... def moment(x, power=2):
        ...     return fw.mean((x - fw.mean(x)) ** power)
        >>> moment([1.0, 2.0, 3.0], power=2)
        Array(0.6666666666666666, dtype=float64)
    """
    return calls.operation(static=static, structured=structured)
