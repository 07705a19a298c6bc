"""Where in the user's program something was written: file, line, source text and caret.

    ys = fw.map(f, xs)          user_location(), called somewhere below fw.map, gives

    examples/saxpy.py:12:    ys = fw.map(f, xs)
                                  ^~~~~~~~~~~~~

Taking a location costs about a microsecond, for every traced operation takes one; file, line,
columns and text are found only when somebody reads them.
"""

import functools
import gc
import linecache
import os
import signal
import sys
import weakref
from collections.abc import Callable
from itertools import islice
from types import CodeType
from typing import NamedTuple

# Modules whose frames are never the user's: ours, and those that stand between the user and us
# (`np.sum(tracer)`, `functools.wraps`, `with fw.target(..)`, generated `__init__`s, accessors).
INTERIOR = frozenset({
    "flatweave", "numpy", "functools", "contextlib", "dataclasses", "pandas", "polars",
})  # fmt: skip
# Frames of Python itself are not, either: `random.choice(tracer)`. The folder decides, since a
# file of the user may have such a name.
PASSED = INTERIOR | sys.stdlib_module_names
OF_PYTHON = os.path.dirname(os.__file__) + os.sep


PACKAGE = __name__.partition(".")[0]


def is_in_package(module: object) -> bool:
    """Whether the name of a module is that of one of this package."""
    return str(module).partition(".")[0] == PACKAGE


class Spot(NamedTuple):
    """The resolved facts of a location."""

    file: str
    line: int
    text: str
    column: int | None
    end_column: int | None
    function: str


class Location:
    """One location in a source file; the columns are those of the expression, if Python knows them.

    `column` and `end_column` count characters of `text` from 0, the end excluded. `text` is the
    whole source line, or "" where there is no source (a REPL, `exec`). `is_trusted` is True for
    calls with `check=False`, whose operators are not tried.
    """

    __slots__ = ("_code", "_lasti", "_spot", "is_trusted")

    is_trusted: bool
    _code: CodeType | None
    _lasti: int
    _spot: Spot | None

    def __init__(
        self,
        file: str,
        line: int,
        text: str = "",
        column: int | None = None,
        end_column: int | None = None,
        function: str = "",
    ) -> None:
        self.is_trusted = False
        self._code = None
        self._lasti = -1
        self._spot = Spot(file, line, text, column, end_column, function)

    @property
    def spot(self) -> Spot:
        """All facts at once."""
        if self._spot is None:
            assert self._code is not None
            self._spot = resolve(self._code, self._lasti)
        return self._spot

    @property
    def bytecode(self) -> tuple[bytes, int]:
        """The code and the index of the instruction that is run; empty where unknown."""
        return (b"", 0) if self._code is None else (self._code.co_code, self._lasti)

    @property
    def file(self) -> str:
        """The file's path as shown to the user: relative when below the working directory."""
        return self.spot.file

    @property
    def line(self) -> int:
        """The line's number, from 1; 0 when unknown."""
        return self.spot.line

    @property
    def text(self) -> str:
        """The source line, its line end removed."""
        return self.spot.text

    @property
    def column(self) -> int | None:
        """Where the expression starts in `text`."""
        return self.spot.column

    @property
    def end_column(self) -> int | None:
        """Where the expression ends in `text`: its first line's end if it runs over several."""
        return self.spot.end_column

    @property
    def function(self) -> str:
        """The qualified name of the enclosing function."""
        return self.spot.function

    @property
    def instruction(self) -> object:
        """What two locations of one call share: found without looking into the source."""
        code = self._code
        return self.spot if code is None else (code.co_filename, code, self._lasti)

    @property
    def is_known(self) -> bool:
        """Whether there is a line to show."""
        return self.line > 0

    def excerpt(self) -> str:
        """`file:line:    source` with a caret line below; only `file:line` without source."""
        spot = self.spot
        label = f"{spot.file}:{spot.line}"
        source = spot.text.strip()
        if not source:
            return label
        head = f"{label}:    "
        caret = underline(spot)
        return f"{head}{source}\n{' ' * len(head)}{caret}" if caret else f"{head}{source}"

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"

    def __repr__(self) -> str:
        return f"Location({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Location) and self.spot == other.spot

    def __hash__(self) -> int:
        return hash(self.spot)

    def __reduce__(self) -> tuple[type["Location"], tuple[object, ...]]:
        return (Location, tuple(self.spot))


UNKNOWN = Location("<unknown>", 0)


def user_location() -> Location:
    """The innermost frame that is not ours: the line the user wrote; else UNKNOWN."""
    frame = sys._getframe(1)
    while True:
        name = frame.f_globals.get("__name__") or ""
        package = name.partition(".")[0]
        if package not in PASSED:
            break
        if package not in INTERIOR and not frame.f_code.co_filename.startswith(OF_PYTHON):
            break
        if frame.f_back is None:
            return UNKNOWN
        frame = frame.f_back
    location = Location.__new__(Location)
    location.is_trusted = False
    location._code = frame.f_code
    location._lasti = frame.f_lasti
    location._spot = None
    return location


def function_location(code: CodeType) -> Location:
    """Where a function was defined, for messages such as `op was defined at ..`."""
    line = code.co_firstlineno
    text = source_line(code.co_filename, line)
    return Location(shown_path(code.co_filename), line, text, None, None, code.co_qualname)


def resolve(code: CodeType, lasti: int) -> Spot:
    """Find line, columns and text of the instruction at byte `lasti` of `code`."""
    positions = next(islice(code.co_positions(), max(lasti, 0) // 2, None), None)
    line, end_line, start, end = positions or (None, None, None, None)
    if line is None:
        line = code.co_firstlineno
    text = source_line(code.co_filename, line)
    if start is None or end is None or not text:
        column, end_column = None, None
    else:
        column = characters(text, start)
        end_column = characters(text, end) if end_line == line else len(text)
    file = shown_path(code.co_filename)
    return Spot(file, line, text, column, end_column, code.co_qualname)


def source_line(file: str, line: int) -> str:
    """A line of a file as it is now: an editor, or a reload, may have changed it since the last."""
    linecache.checkcache(file)
    return linecache.getline(file, line).rstrip("\r\n")


def characters(text: str, byte_offset: int) -> int:
    """Python counts columns in UTF-8 bytes; people and terminals in characters."""
    return len(text.encode("utf-8")[:byte_offset].decode("utf-8", "ignore"))


def underline(spot: Spot) -> str:
    """The caret line `   ^~~~` below the stripped source text; "" without columns."""
    if spot.column is None or spot.end_column is None:
        return ""
    margin = len(spot.text) - len(spot.text.lstrip())
    start = max(spot.column - margin, 0)
    end = min(spot.end_column, len(spot.text.rstrip())) - margin
    if end <= start:
        return ""
    before = spot.text[margin : margin + start]
    # a tab stays a tab, so that the caret stands where the terminal puts the text above
    padding = "".join("\t" if c == "\t" else " " for c in before)
    return f"{padding}^{'~' * (end - start - 1)}"


def shown_path(file: str) -> str:
    """The path relative to the working directory when it is below it, else unchanged."""
    if file.startswith("<"):
        return file
    try:
        return _relative(file, os.getcwd())
    except (OSError, ValueError):  # the directory is gone, or on another drive
        return file


@functools.lru_cache(maxsize=256)
def _relative(file: str, folder: str) -> str:
    """A path below a folder relative to it; a trace has one for each of its operations."""
    relative = os.path.relpath(file, folder)
    return file if relative.startswith(os.pardir) else relative


_SIGNALS = tuple(map(int, signal.valid_signals()))
_HANDLER_OF: Callable[[int], object] = getattr(signal.getsignal, "__wrapped__", signal.getsignal)
"""Without `signal.Handlers` for the result, which takes most of the time of a look at all."""


def asides() -> frozenset[CodeType]:
    """The Python functions that the interpreter itself calls between any two instructions."""
    handlers = filter(callable, map(_HANDLER_OF, _SIGNALS))
    found = [code_of(fn) for fn in (*handlers, *gc.callbacks, weakref.finalize.__call__)]
    return frozenset(code for code in found if code is not None)


def code_of(fn: object) -> CodeType | None:
    """The code that a call of a Python function, method, partial or callable object enters."""
    while isinstance(fn, functools.partial):
        fn = fn.func
    for found in (fn, getattr(fn, "__func__", None), vars(type(fn)).get("__call__")):
        code = getattr(found, "__code__", None)
        if isinstance(code, CodeType):
            return code
    return None
