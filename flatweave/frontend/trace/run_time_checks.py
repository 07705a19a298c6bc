"""What a program checks while it runs, and which lines of theirs its users are shown."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Sequence
from itertools import pairwise
from types import TracebackType

from flatweave.array_ir.syntax import (
    INDEX,
    MEMORY,
    NEGATIVE,
    NOT_ASSOCIATIVE,
    NOT_COMMUTATIVE,
    NOT_NEUTRAL,
    OVERFLOW,
    PARTS,
    Fault,
)
from flatweave.base import pretty
from flatweave.base.config import config
from flatweave.base.dtypes import as_dtype, bool_, i64
from flatweave.base.errors import (
    FOUND,
    ArgumentError,
    ExtentOverflowError,
    IndexOutOfBounds,
    NegativeExtentError,
    OperatorError,
    OutOfMemory,
    ShapeError,
    Unsupported,
    UserError,
)
from flatweave.base.source import Location, is_in_package, user_location
from flatweave.frontend.values.arguments import ScalarOverflowError
from flatweave.frontend.values.scope import Scope, current
from flatweave.ops import Check
from flatweave.terms.build import index
from flatweave.terms.syntax import ArrayType, Atom, Const, Op, Var

# -- run time checks ------------------------------------------------------------------------------
#
# What a program checks while it runs: that arrays have room, and what went wrong, for its user.
#
#   fit((n, m))        stop the program unless max(n, 1) * max(m, 1) < 2**60
#   total(n, m)        n + m, and stop the program where that wraps
#   Fault("index", value=7, extent=3)            IndexOutOfBounds: index 7 is outside ..
#   Fault("same", values=(3, 4), message=..)     ShapeError: map needs arrays of one length, got ..
#
# Extents are multiplied and added here alone. Nothing that follows from them can wrap then: not a
# number of elements, nor one of bytes, nor the row-major position of an element. Extents of 0 are
# left out of the product, so that the order of the axes does not matter, and a part of a shape that
# fits fits as well; NumPy counts in the same way.
#
# A check carries its whole message, parts divided by `PARTS`, with `{0}`, `{1}` for its values.


# an integer that does not fit the dtype of the array it meets: an unsigned one, a signed one
LITERAL = ("unsigned_literal", "literal")
SIZE, PLACE = "unsigned_size", "unsigned_place"  # an extent or an index that is beyond an i64
ROW = "place_in_row"  # an index outside of a row of a Ragged
KERNEL_SHAPE = "kernel_shape"  # a length that does not fit, in a kernel
KERNEL_INDEX = "kernel_index"  # an index outside of an array of a kernel, where none is negative
CLASSES: dict[str, type[UserError]] = {
    "same": ShapeError,
    "shape": ShapeError,
    "empty": ShapeError,
    "argument": ArgumentError,
    **dict.fromkeys(LITERAL, ScalarOverflowError),
    SIZE: ExtentOverflowError,
    PLACE: IndexOutOfBounds,
    ROW: IndexOutOfBounds,
    KERNEL_INDEX: IndexOutOfBounds,
    KERNEL_SHAPE: ShapeError,
    OVERFLOW: ExtentOverflowError,
    NEGATIVE: NegativeExtentError,
    NOT_ASSOCIATIVE: OperatorError,
    NOT_COMMUTATIVE: OperatorError,
    NOT_NEUTRAL: OperatorError,
}
# kinds whose messages say where it is
PLACED = (
    OVERFLOW, ROW, KERNEL_INDEX, KERNEL_SHAPE, NOT_ASSOCIATIVE, NOT_COMMUTATIVE, NOT_NEUTRAL,
)  # fmt: skip


def check_message(message: str, origins: Sequence[str] = (), remedy: str = "") -> str:
    """The text that a check carries: what is wrong, where values came from, what to do."""
    return PARTS.join([message, *origins, remedy])


def user_error(fault: Fault) -> UserError:
    """The error for a fault, at the user's line."""
    where = fault.where if fault.where and fault.where.is_known else user_location()
    if fault.code == INDEX:
        return _index_error(fault, where)
    if fault.code == MEMORY:
        return _memory_error(fault, where)
    cls = CLASSES.get(fault.code, UserError)
    text = fault.message
    if not text and fault.code == NEGATIVE:
        text = check_message(
            f"a length must not be negative, got {fault.value}.",
            remedy="Use fw.maximum(n, 0) where an empty array is meant.",
        )
    for i, value in enumerate(fault.values):
        if fault.code in (LITERAL[False], SIZE, PLACE):
            value = int(value) % (1 << 64)  # faults of machine code carry an i64
        text = text.replace(f"{{{i}}}", str(value))
    parts = text.split(PARTS)
    if parts[0].endswith(".") and fault.code not in PLACED:
        parts[0] = f"{parts[0][:-1]}{_element(fault)}."
    origins, remedy = (parts[1:-1], parts[-1]) if len(parts) > 1 else ([], "")
    return cls(parts[0], where=where, origins=[o for o in origins if o], remedy=remedy)


def _element(fault: Fault) -> str:
    """Which element of a map it is, or row."""
    return f"{FOUND}{fault.index})" if fault.index >= 0 else ""


def out_of_memory(failure: MemoryError) -> OutOfMemory:
    """An allocation that failed, at the user's line."""
    return OutOfMemory.here(f"there is not enough memory: {failure}.", STORED)


STORED = (
    "Work on a part of the data at a time, or in a narrower dtype. What is fused needs no memory:"
    " f.stages(*args).manifest lists the arrays of a compiled f that do."
)


def _memory_error(fault: Fault, where: Location) -> UserError:
    """An array that does not fit."""
    count, name = int(fault.values[0]), str(fault.values[1])
    size = pretty.size(count * as_dtype(name).bytes)
    message = f"there is no memory for an array {name}[{count}], which takes {size}."
    if not count:
        message = "there is not enough memory for this."
    held = [fault.message] if fault.message else []
    return OutOfMemory(message, where=where, origins=held, remedy=STORED)


def _index_error(fault: Fault, where: Location) -> UserError:
    """A read outside an array."""
    axis = f" along axis {fault.axis}" if fault.axis else ""
    extent = "no elements" if fault.extent == 0 else (
        "1 element" if fault.extent == 1 else f"{fault.extent} elements"
    )  # fmt: skip
    remedy = (
        "An empty array has no index: read it in a branch of fw.cond(xs.shape[0] > 0, read, other),"
        " which runs only one of the two."
    )
    if fault.extent > 0:
        remedy = (
            f"Indices go from {-fault.extent} to {fault.extent - 1}; bring others inside with"
            " fw.clip, or drop them with fw.filter."
        )
    return IndexOutOfBounds(
        f"index {fault.value} is outside an array of {extent}{axis}{_element(fault)}.",
        where=where,
        remedy=remedy,
    )


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
    """Whether a condition is known not to hold, in code that is surely reached.

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
    raise ExtentOverflowError.here(_too_many(parts), REMEDY)


def _too_many(parts: Sequence[str]) -> str:
    shape = ", ".join(parts)
    return f"an array of shape ({shape}) has too many elements: there may be 2**60 - 1."


def total(a: Atom, b: Atom, who: str) -> Atom:
    """The sum of two extents; stops the program where it wraps."""
    scope = current()
    if isinstance(a, Const) and isinstance(b, Const) and a.value + b.value > i64.high:
        message = _sum(who, a.value, b.value)
        if is_refused(FALSE):
            raise ExtentOverflowError.here(message, REMEDY_SUM)
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


# -- tracebacks -----------------------------------------------------------------------------------
#
# Tracebacks without frames of ours: of a mistake in a program, the lines of that program are left.
#
# flatten(sums)                 app.py:9          kept Jitted.__call__ .. trace      flatweave/..
# 20 frames, left out lambda x: x if x > 0 else 0   app.py:4          kept Tracer.__bool__
# flatweave/..      left out NotTraceableError: ..


def leave_ours_out(error: Exception) -> None:
    """Take our frames out of the traceback of a user's mistake; `FLATWEAVE_DEBUG=1` leaves all.

    An error that a line of ours raises and that is no UserError is a fault of ours: it keeps them.
    """
    kept: list[TracebackType] = []
    is_ours = True
    step = error.__traceback__
    while step is not None:
        is_ours = is_in_package(step.tb_frame.f_globals.get("__name__"))
        if not is_ours:
            kept.append(step)
        step = step.tb_next
    if config.debug or (is_ours and not isinstance(error, UserError)):
        return
    shown: TracebackType | None = None
    for step in reversed(kept):
        shown = TracebackType(shown, step.tb_frame, step.tb_lasti, step.tb_lineno)
    error.__traceback__ = shown
    if isinstance(error.__cause__, UserError):  # which NumPy wrapped in its own error
        leave_ours_out(error.__cause__)


LAST = 200
"""So many frames tell who recurses: those of a program that nests are ours and the user's."""


def too_deep(error: RecursionError, who: str) -> Exception:
    """What to raise instead of `error`; the error itself where only the user's code recurses."""
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    if not any(is_in_package(frame.f_globals.get("__name__")) for frame in frames[-LAST:]):
        return error
    return Unsupported.here(
        f"{who} nests functions, branches or tuples deeper than Python's stack allows:"
        f" it holds {sys.getrecursionlimit()} calls.",
        "Use a loop (fw.fori_loop, fw.while_loop) for what is repeated, or allow more calls"
        " with sys.setrecursionlimit.",
    )
