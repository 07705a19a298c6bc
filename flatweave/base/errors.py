"""The errors users see, each with its five parts, and the error for our own bugs.

    raise ShapeError("map needs arrays of one length, got 1000 and 999.", where=let.where,
        origins=["xs: f32[1000]  from argument 1 of saxpy", "ys[1:]: f32[999]  from a slice"],
        remedy="Cut both to the shorter one with xs[:999], or pad ys.", more="shape-lengths")

prints

    map needs arrays of one length, got 1000 and 999.
      examples/saxpy.py:12:    return fw.map(axpy, xs, ys[1:])
                                      ^~~~~~~~~~~~~~~~~~~~~~~~
      xs: f32[1000]  from argument 1 of saxpy
      ys[1:]: f32[999]  from a slice
      Cut both to the shorter one with xs[:999], or pad ys.
      More: docs/errors.md#shape-lengths

Every class is also the builtin exception a NumPy user would catch.
"""

import re
from collections.abc import Sequence
from typing import ClassVar, Self

from flatweave.base.source import Location, user_location

DOCUMENT = "docs/errors.md"
FOUND = " (first found at element "
INDENT = "  "
FUNCTIONS: set[str] = set()
"""The names of public functions, to which each of them adds its own."""
CALL = re.compile(r"(?:\w+\.)*(\w+)\(")


class UserError(Exception):
    """Something in the user's program cannot be run; the message says what, where, and what to do.

    `except fw.UserError` catches every mistake that Flatweave can find in a program.
    """

    anchor: ClassVar[str] = "user-error"

    def __init__(
        self,
        message: str,
        *,
        where: Location | None = None,
        origins: Sequence[str] = (),
        remedy: str = "",
        more: str = "",
    ) -> None:
        super().__init__(message)
        self._said = message
        self.where = where
        self.origins = tuple(origins)
        self.remedy = remedy
        self.more = more or self.anchor

    @property
    def message(self) -> str:
        """What is wrong. Where the user called a function, and another one that it calls fails, the
        name of the first one comes before it."""
        at, said = self.where, self._said
        if at is None or at.column is None:
            return said
        expression, about = at.text[at.column : at.end_column], said.partition(" ")[0]
        call = CALL.match(expression)
        if call is None or not {call[1], about} <= FUNCTIONS:
            return said
        is_told = re.search(rf"\b{about}\b", expression) or re.search(rf"\b{call[1]}\b", said)
        return said if is_told else f"{call[1]}: {said}"

    @classmethod
    def here(cls, message: str, remedy: str = "") -> Self:
        """The error at the line of the user's code that is running."""
        return cls(message, where=user_location(), remedy=remedy)

    def name_element(self, index: int) -> None:
        """Say at which element of a map it was found; of maps in maps the last one that says so."""
        said, _, _ = self._said.removesuffix(".").partition(FOUND)
        self._said = f"{said}{FOUND}{index})."

    def __str__(self) -> str:
        more = self.more if "#" in self.more else f"{DOCUMENT}#{self.more}"
        parts = [located(self.where), *self.origins, self.remedy, f"More: {more}"]
        return under(self.message, parts)


class ShapeError(UserError, ValueError):
    """Extents or ranks do not fit together: `fw.map(f, xs, ys)` with 1000 and 999 elements."""

    anchor = "shape-error"


class DTypeError(UserError, TypeError):
    """An operation does not exist for these dtypes: `fw.sqrt(True) & 1.5`."""

    anchor = "dtype-error"


class EscapedArrayError(UserError, RuntimeError):
    """A traced array is used after its trace has ended: `kept.append(x)` inside a jitted `f`; or an
    array after a call was given it: `fw.jit(f, donate="x")(x)`."""

    anchor = "escaped-array-error"


class NotTraceableError(UserError, TypeError):
    """Python needs a value that is known only at run time: `if x > 0:`, `int(x)`, `len(rows)`."""

    anchor = "not-traceable-error"


class IndexOutOfBounds(UserError, IndexError):
    """An index reads outside its array: `fw.gather(xs, [3])` with 3 elements."""

    anchor = "index-out-of-bounds"


class NegativeExtentError(UserError, ValueError):
    """A length is below zero: `fw.iota(-1)`, or a size function of `expand` that gives -1."""

    anchor = "negative-extent-error"


class ExtentOverflowError(UserError, OverflowError):
    """A length does not fit an i64, or the dtype asked for: `fw.iota(1000, fw.u8)`."""

    anchor = "extent-overflow-error"


class OperatorError(UserError, TypeError):
    """An operator's result is not like its elements: `fw.reduce(lambda a, b: (a, b), 0, xs)`."""

    anchor = "operator-error"


class NestingError(UserError, TypeError):
    """Rows of different lengths where one array must be: `fw.map(lambda n: fw.iota(n), xs)`."""

    anchor = "nesting-error"


class ArgumentError(UserError, TypeError, ValueError):
    """An argument is of no use here: an object array, `boundary="round"`, a jitted non-function."""

    anchor = "argument-error"


class OutOfMemory(UserError, MemoryError):
    """A result does not fit the device's memory: `fw.iota(10**15)`."""

    anchor = "out-of-memory"


class DeviceError(UserError, RuntimeError):
    """A device cannot go on: it is lost, or was opened before a fork, or a call was cut short."""

    anchor = "device-error"


class KernelError(UserError, RuntimeError):
    """Units of a kernel get in each other's way: a race, a barrier that some never reach, a read of
    what nobody wrote. The simulator finds it."""

    anchor = "kernel-error"


class CopyWarning(UserWarning):
    """A part of another array is assigned to, which leaves the whole as it is:
    `part = x[2:5]; part += 1`. Write `x[2:5] += 1` to change `x`.

    Source: `pandas.errors.ChainedAssignmentError`.

        >>> x = fw.iota(4)
        >>> x[2:] += 10
        >>> part = x[2:].copy()  # without the copy the next line warns
        >>> part[0] = 7
        >>> x, part
        (Array([ 0,  1, 12, 13], dtype=int64), Array([ 7, 13], dtype=int64))
    """


class Unsupported(UserError, NotImplementedError):
    """A known gap, with a way round: `fw.argmin` of a Ragged along axis 0."""

    anchor = "unsupported"




class CompilerBug(RuntimeError):
    """Flatweave broke an internal rule; the message names the pass and says how to replay it.

    Example: `verify` rejects what the pass `flatten` gave. Never the user's fault, so never a
    UserError. `program` is the text before the pass, with the guilty line marked where known.
    """

    anchor: ClassVar[str] = "compiler-bug"

    def __init__(
        self,
        message: str,
        *,
        pass_name: str = "",
        where: Location | None = None,
        program: str = "",
        replay: str = "",
    ) -> None:
        super().__init__(message)
        self.message = message
        self.pass_name = pass_name
        self.where = where
        self.program = program
        self.replay = replay

    def __str__(self) -> str:
        parts = [
            f"In the pass {self.pass_name}." if self.pass_name else "",
            located(self.where),
            self.program.rstrip("\n"),
            f"Replay: {self.replay}" if self.replay else "",
            "This is a fault in Flatweave, not in your program: please report it with this text.",
            f"More: {DOCUMENT}#{self.anchor}",
        ]
        return under(self.message, parts)


def located(where: Location | None) -> str:
    """The user's line with its caret; nothing for an unknown location."""
    return where.excerpt() if where is not None and where.is_known else ""


def under(message: str, parts: Sequence[str]) -> str:
    """The message, and below it the parts that say something, indented."""
    lines = [line for part in parts if part for line in part.splitlines()]
    return "\n".join([message, *(f"{INDENT}{line}".rstrip() for line in lines)])
