"""Conditions that a program checks when it runs, and functions of a library on top of this one.

    check(lengths >= 0, "length {0} is {1}", lengths)       the first one that fails, and its value
    @operation(static="axis")                               recorded in a trace, else run at once
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
from flatweave.frontend.arrays.axes import axes_named
from flatweave.frontend.call import operation as calls
from flatweave.frontend.elements.broadcasting import read
from flatweave.frontend.ragged.cutting import first_place, none_at
from flatweave.frontend.trace import extents
from flatweave.frontend.trace.run_time_checks import ROW, check_message, is_refused
from flatweave.frontend.trace.run_time_checks import check as checked
from flatweave.frontend.trace.tracers import as_tracer
from flatweave.frontend.values.array import describe
from flatweave.frontend.values.scope import current, innermost
from flatweave.terms.syntax import Atom, Const

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
        raise DTypeError.here(
            f"check needs a bool, or an array of them, got {describe(condition)}.",
            "Compare first, for instance with xs > 0.",
        )
    kind = KINDS.get(error, "argument")
    shown = [as_tracer(value, "a value of check") for value in values]
    for each in shown:
        if not each.element.is_integer:
            raise DTypeError.here(
                f"the values that check shows must be integers, got {describe(each)}.",
                "Leave the value out, or show an index.",
            )
    if not condition.ndim:
        atoms = [current().cast(each.atom, i64) for each in shown]
        known = [atom.value for atom in atoms if isinstance(atom, Const)]
        if is_refused(condition.atom) and len(known) == len(atoms):
            texts = [extents.filled(text, known) for text in (message, remedy)]
            raise error(texts[0], where=user_location(), remedy=texts[1])
        home = checked(condition.atom, kind, atoms, check_message(message, [], remedy))
        home.checked.add(condition.atom)
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


def operation(
    *, static: str = "", structured: str = "", lists: str = "", numbers: str = "",
    elementwise: bool = False, axial: bool = False, any_dtype: bool = False, name: str = "",
) -> Callable[[Callable[P, R]], Callable[P, R]]:  # fmt: skip
    """Declare a function of arrays that works as those of `fw` do: called in a trace it is a part
    of the program, outside it is compiled for the call and runs at once.

    Unlike `fw.jit`, a list of numbers is an array, functions may be arguments, and a value of any
    Overriding class is asked first. `static` names parameters that decide what the program is, and
    that the body gets as Python values. In the parameters that `structured` names a list is a
    structure, in those that `lists` names one of arrays, where an array is its rows; `numbers`
    names structures of a few numbers, which may be an array, such as widths and shapes.

    An `elementwise` function of a Ragged works on its values. An `axial` one goes along its axes:
    the function has the parameters `axis` and `keepdims`, and its first argument is the array. With
    `any_dtype` floats of 16 bits reach the body as they are, elsewhere as f32. Complex numbers
    always do. Messages have the `name` of a function that users call in place of a private one.

    Types: `f -> f`. Raises what the function does, and ArgumentError for arguments that it does
    not take. Source: Flatweave.

        >>> @fw.operation(static="power")
        ... def moment(x, power=2):
        ...     return fw.mean((x - fw.mean(x)) ** power)
        >>> moment([1.0, 2.0, 3.0], power=2)
        Array(0.6666666666666666, dtype=float64)
    """
    return calls.operation(
        static=static, structured=structured, lists=lists, numbers=numbers,
        elementwise=elementwise, axial=axial, any_dtype=any_dtype, composed=True, name=name,
    )  # fmt: skip


def normalize_axes(x: Any, axis: int | Sequence[int] | None, who: str) -> tuple[int, ...]:
    """The axes of an array that a user names, counted from 0, in that order; all of them for None.

    `who` is what the errors call the function. To be used in functions of a library.

    Types: `x: t[..]`, an int, a tuple of ints or None `->` a tuple of ints. Raises AxisError for an
    axis that is not there, ArgumentError for one that is no integer or is named twice. Source:
    `numpy.lib.array_utils.normalize_axis_tuple`.

        >>> fw.normalize_axes(fw.full((2, 3), 0), -1, "median")
        (1,)
    """
    return tuple(axes_named(x, axis, who))
