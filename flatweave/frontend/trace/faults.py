"""What went wrong while a program ran, as the error that its user sees.

    Fault("index", value=7, extent=3)            IndexOutOfBounds: index 7 is outside ..
    Fault("same", values=(3, 4), message=..)     ShapeError: map needs arrays of one length, got ..

A check carries its whole message, parts divided by `PARTS`, with `{0}`, `{1}` for its values.
"""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.array_ir.fault import (
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
from flatweave.base.dtypes import as_dtype
from flatweave.base.errors import (
    ArgumentError,
    ExtentOverflowError,
    IndexOutOfBounds,
    NegativeExtentError,
    OperatorError,
    OutOfMemory,
    ShapeError,
    UserError,
)
from flatweave.base.source import Location, user_location
from flatweave.frontend.values.promotion import ScalarOverflowError

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
    return f" (first found at element {fault.index})" if fault.index >= 0 else ""


def out_of_memory(failure: MemoryError) -> OutOfMemory:
    """An allocation that failed, at the user's line."""
    return OutOfMemory(
        f"there is not enough memory: {failure}.",
        where=user_location(), remedy=STORED,
    )  # fmt: skip


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
    remedy = "An empty array has no index; check the length first, or use fw.where."
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
