"""What the runtime must know of a compiled program: arguments, results, calls of Python."""

from __future__ import annotations

import functools
import hashlib
import itertools
import math
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from flatweave.base.dtypes import DType, as_dtype
from flatweave.base.errors import DTypeError, ShapeError, UserError
from flatweave.base.locks import Lock
from flatweave.base.records import record, replace
from flatweave.base.source import Location

# -- host functions -------------------------------------------------------------------------------
#
# Python functions that a program calls on the host: their names, and how one call is made.
#
#     name = register(np.linalg.inv, inverse, "")     inv_3f2a9c01d2e4: what programs call it by
#     FUNCTIONS[name](values)                         the arrays that it returns
#
# A name that ends in a digest means the same function in every process: the function is found by
# its module and name. Other names belong to this process.


Values = np.ndarray[Any, np.dtype[Any]]
Function = Callable[[Sequence[Values]], Sequence[Any]]
"""Takes the operands; gives the results."""
Place = Callable[[int, "np.dtype[Any]", int], Values]
"""The memory of a result of a call, by its number, under one axis."""
Read = Callable[[Any, "np.dtype[Any]", int], Values]
"""The first elements of an array of a call, under one axis; how it is given depends on the target.
"""
FUNCTIONS: dict[str, Function] = {}
LOCAL: set[str] = set()
"""The names that mean nothing in another process."""
Fill = Callable[[Sequence[Values], Values], object]
"""Writes the only result of a function into the memory that it is given."""
FILLS: dict[str, Fill] = {}
LIBRARIES: dict[str, str] = {}
"""The libraries of functions that are not the user's, by the names of the functions."""
SEQUENTIAL, EXPAND, BROADCAST, STACKED = "sequential", "expand_dims", "broadcast_all", "stacked"
METHODS = (SEQUENTIAL, EXPAND, BROADCAST)
"""How a mapped function is called: for each row, or once with the rows along a first axis. STACKED
is BROADCAST where all rows have one shape, and SEQUENTIAL elsewhere."""
_NAMES: dict[tuple[int, str], str] = {}
_NUMBERS = itertools.count()
_PROCESS = f"{os.urandom(4).hex()}n"
_lock = Lock()


def register(fn: Any, call: Function, how: str, library: str = "") -> str:
    """The name of a function for programs; `call` calls it, and `how` names the method. `library`
    is the library that it belongs to."""
    with _lock:
        name = _NAMES.get((id(fn), how))
        if name is None:
            found = _path_of(fn)
            who = called(fn).removeprefix("_" if library else "")
            short = "".join(c for c in who if c.isalnum() or c == "_") or "function"
            if found is None:
                name = f"{short}_{_PROCESS}{next(_NUMBERS)}"
                LOCAL.add(name)
            else:
                digest = hashlib.sha256(f"{found} {how}".encode()).hexdigest()[:12]
                name = f"{short}_{digest}"
            _NAMES[id(fn), how] = name
            FUNCTIONS[name] = functools.partial(_called, fn, call)
            if library:
                LIBRARIES[name] = library
        return name


def _called(fn: Any, call: Function, values: Sequence[Values]) -> Sequence[Any]:
    """Calls it; the function lives as long as its name, which is found by its address."""
    return call(values)


def called(fn: Any) -> str:
    """What people call a function."""
    return str(getattr(fn, "__name__", type(fn).__name__))


def _path_of(fn: Any) -> str | None:
    """The module and name of a function that is found by them; None for any other."""
    module, name = getattr(fn, "__module__", None), getattr(fn, "__qualname__", None)
    if not isinstance(module, str) or not isinstance(name, str):
        return None
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    return f"{module}:{name}" if found is fn else None


@record(eq=True)
class Operand:
    """What the function takes or gives, by its dtypes for the function and in memory.

    `varying` says of each axis whether its extent differs from row to row; None for a number.
    """

    dtype: str
    memory: str
    varying: tuple[bool, ...] | None
    mapped: bool


def _fresh(number: int, dtype: np.dtype[Any], count: int) -> Values:
    return np.empty(count, dtype)


@record(eq=True)
class HostCall:
    """A call of a function by its name, for one set of operands or for many `mapped` rows.

    Its values come in this order: the number of rows where it is mapped; where it is `numbered`,
    for each row the number of the user's element; each operand with its extents; the extents of
    each result. An array with its elements for all rows is flat.
    """

    fn: str
    method: str
    mapped: bool
    operands: tuple[Operand, ...]
    results: tuple[Operand, ...]
    numbered: bool = False

    def kinds(self) -> Iterator[tuple[str, bool]]:
        """For each value its dtype in memory, and whether it is an array."""
        if self.mapped:
            yield "i64", False
        if self.numbered:
            yield "i64", True
        for each in self.operands:
            yield each.memory, each.varying is not None
            yield from (("i64", varies) for varies in each.varying or ())
        for each in self.results:
            yield from (("i64", varies) for varies in each.varying or ())

    def once(
        self, operands: Sequence[Values], results: Sequence[Values], where: Location | None
    ) -> None:
        """Call the function once, and write what it gives to the results; errors of the function
        get a note that names the user's line."""
        fill = FILLS.get(self.fn)
        try:
            if fill is not None:
                fill(operands, results[0])
                return
            found = FUNCTIONS[self.fn](operands)
        except Exception as failure:
            if where is not None and not hasattr(failure, "where"):
                failure.add_note(f"raised in {self.called}, which {where} calls")
            elif getattr(failure, "where", where) is None:
                failure.where = where  # type: ignore[attr-defined]
            raise
        for value, result in zip(found, results, strict=True):
            result[...] = as_result(value, result.shape, result.dtype, self.called, where)

    @property
    def called(self) -> str:
        """What people call the function."""
        return self.fn.rpartition("_")[0]

    def run(
        self, values: Sequence[Any], read: Read, where: Location | None, place: Place = _fresh
    ) -> list[Values]:
        """The results as flat arrays, each in its `place`."""
        given = iter(values)
        rows = int(next(given)) if self.mapped else 1
        numbers = next(given) if self.numbered else None
        operands = [_Rows(each, given, read, rows, is_given=True) for each in self.operands]
        results = [_Rows(each, given, read, rows) for each in self.results]
        for number, each in enumerate(results):
            each.values = place(number, each.memory, each.count)
        is_even = all(each.is_even for each in (*operands, *results))
        if not self.mapped:
            self.once([x.whole() for x in operands], [x.whole() for x in results], where)
        elif self.method == SEQUENTIAL or not is_even:
            each_row = (each.each() for each in (*operands, *results))
            for k, *row in zip(range(rows), *each_row, strict=True):
                try:
                    self.once(row[: len(operands)], row[len(operands) :], where)
                except UserError as failure:
                    if self.numbered:
                        failure.name_element(int(read(numbers, np.dtype(np.int64), rows)[k]))
                    raise
        elif rows:
            expand = self.method == EXPAND
            try:
                self.once(
                    [each.expanded() if expand else each.broadcast() for each in operands],
                    [each.whole() for each in results], where,
                )  # fmt: skip
            except UserError as failure:
                if not self.numbered:
                    raise
                try:
                    replace(self, method=SEQUENTIAL).run(values, read, where, place)
                except UserError as of_row:
                    raise of_row from None
                raise failure from None  # no row fails on its own
        return [each.values for each in results]


class _Rows:
    """An operand, or a result, for all rows."""

    def __init__(
        self, kind: Operand, given: Iterator[Any], read: Read, rows: int, is_given: bool = False
    ) -> None:
        self.kind = kind
        self.rows = rows
        self.memory = as_dtype(kind.memory).numpy
        self.dtype = as_dtype(kind.dtype).dtype
        value = next(given) if is_given else None
        index = np.dtype(np.int64)
        extents = [
            read(next(given), index, rows).tolist() if varies else int(next(given))
            for varies in kind.varying or ()
        ]
        self.is_even = not any(kind.varying or ())
        columns = [x if isinstance(x, list) else [x] * rows for x in extents]
        self.shapes: list[tuple[int, ...]] = list(zip(*columns, strict=True))
        if self.is_even:
            self.shapes = [tuple(x for x in extents if isinstance(x, int))]
        self.count = sum(map(math.prod, self.shapes))
        self.count *= rows if kind.mapped and self.is_even else 1
        self.values = np.empty(0)
        if kind.varying is None:
            self.values = np.asarray(value, self.memory)
        elif is_given:
            self.values = read(value, self.memory, self.count)
            self.values.setflags(write=False)

    def _viewed(self, values: Values, shape: tuple[int, ...]) -> Values:
        """What the function sees: pairs of floats are complex numbers."""
        return values.view(self.dtype).reshape(shape[:-1] if self.dtype.kind == "c" else shape)

    def whole(self) -> Values:
        """The array; a mapped one with the rows along its first axis."""
        shape = self.shapes[0]
        return self._viewed(self.values, (self.rows, *shape) if self.kind.mapped else shape)

    def expanded(self) -> Values:
        """The same; one that is not mapped has a first axis of extent 1."""
        return self.whole() if self.kind.mapped else self.whole()[np.newaxis]

    def broadcast(self) -> Values:
        """The same; one that is not mapped is repeated along the first axis."""
        whole = self.whole()
        return whole if self.kind.mapped else np.broadcast_to(whole, (self.rows, *whole.shape))

    def each(self) -> Iterator[Values]:
        """The array of each row."""
        start = 0
        for row in range(self.rows):
            shape = self.shapes[0 if self.is_even else row]
            end = start + math.prod(shape)
            yield self._viewed(self.values[start:end] if self.kind.mapped else self.values, shape)
            start = end if self.kind.mapped else 0


KINDS = "biufc"
"""Kinds of dtypes in an order in which later ones hold the Python numbers of earlier ones."""


def as_result(
    value: Any, shape: tuple[int, ...], dtype: np.dtype[Any], who: str, where: Location | None
) -> Values:
    """What a function gave as an array; ShapeError or DTypeError where it is another one than was
    declared. Python numbers and lists of some take the declared dtype, as far as it holds them."""
    if type(value) is np.ndarray and value.dtype == dtype and value.shape == shape:
        return value
    has_dtype = hasattr(value, "dtype")
    try:
        found = np.asarray(value)
        kind = "f" if dtype.kind == "V" else dtype.kind  # V: bfloat16
        if not has_dtype and 0 <= KINDS.find(found.dtype.kind) <= KINDS.find(kind):
            found = np.asarray(value, dtype)
    except (TypeError, ValueError, OverflowError) as failure:  # no array, or too large a number
        raise DTypeError(
            f"{who} gives what is no array of {dtype}: {failure}.",
            where=where, remedy="Return NumPy arrays of the declared shape and dtype.",
        ) from None  # fmt: skip
    if found.dtype != dtype:
        raise DTypeError(
            f"{who} gives an array of {found.dtype}, where {dtype} was declared.",
            where=where, remedy=f"Convert it: result.astype({dtype}), or declare {found.dtype}.",
        )  # fmt: skip
    if found.shape != shape:
        raise ShapeError(
            f"{who} gives an array of shape {found.shape}, where {shape} was declared.",
            where=where, remedy="Declare the shape that the function gives.",
        )  # fmt: skip
    return found


# -- plan -----------------------------------------------------------------------------------------
#
# What the runtime must know of a compiled program: how arguments go in and results come out.
#
# Slots are eight bytes each. Every parameter takes one (a pointer, or a scalar in the low bytes);
# then come the results: a scalar takes one slot, an array two (data and owner) and one more for
# each extent that is not known beforehand. A run ends with a status.


# what a status reports; out of memory: how many elements, and the number of their dtype in DTYPES
OUT_OF_MEMORY, INDEX_ERROR, CHECK_ERROR = 1, 2, 3


@record(eq=True)
class Param:
    """A scalar, or (`is_array`) the data of an array."""

    dtype: DType
    is_array: bool


@record(eq=True)
class Result:
    """A scalar (`extents` is None), or an array; an extent of None is found at run time."""

    dtype: DType
    extents: tuple[int | None, ...] | None


@record(eq=True)
class Site:
    """A point of the program that may report an error at run time."""

    kind: str
    where: Location | None
    message: str = ""
    count: int = 0
    axis: int = 0


@record(eq=True)
class Plan:
    """The shape of a call; `sites` grow while kernels are written later.

    `calls` are those of Python functions, each with the number of its site.
    """

    params: tuple[Param, ...]
    results: tuple[Result, ...]
    sites: Mapping[int, Site]
    calls: tuple[tuple[HostCall, int], ...] = ()


@record(eq=True)
class Status:
    """How a call went: all zero, or the error that compiled code reported."""

    code: int = 0
    site: int = 0
    index: int = 0
    value: int = 0
    extent: int = 0

    @property
    def is_ok(self) -> bool:
        """Whether there are results."""
        return self.code == 0
