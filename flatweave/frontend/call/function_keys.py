"""The key of a user's function: its code, and the values that the code reads.

    key_of_function(lambda i: xs[i] * k, arrays)    (code, .., (int, 2)) while k is 2; arrays: [xs]

Calls whose functions have equal keys have the same program, so the second call is not traced. A
function has a key if it reads only numbers, texts, dtypes, tuples of them, arrays of this package,
functions with keys, and functions of this package, NumPy and Python that have no state, and if it
assigns only to its variables. Each call of any other function is traced.

The arrays are arguments of the program: it is traced with a copy of the function that reads traced
arrays instead. A function that needs their values is traced in each call, too.
"""

from __future__ import annotations

import builtins
import cmath
import dis
import functools
import math
import operator
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import BuiltinFunctionType, CellType, CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from flatweave.base.dtypes import DType
from flatweave.base.records import is_record
from flatweave.base.source import is_in_package, user_location
from flatweave.frontend import MODULES
from flatweave.frontend.call.direct import CONSTANT_FUNCTIONS, is_constant, quick
from flatweave.frontend.call.operation import Operation
from flatweave.frontend.call.signature import identity
from flatweave.frontend.values.arguments import TELLING
from flatweave.frontend.values.array import HostArray
from flatweave.frontend.values.asarray import is_number_list
from flatweave.frontend.values.elsewhere import HOST_ARRAYS
from flatweave.frontend.values.tree import Tree, flatten, node_parts

NUMBERS = (type(None), bool, int, float, complex, str, bytes, range, slice, type(...))
LIBRARIES = (math, cmath, operator)
STATELESS: frozenset[Any] = frozenset(
    [abs, all, any, divmod, isinstance, iter, len, max, min, next, pow, repr, round, sorted, sum]
    + [fn for library in LIBRARIES for fn in vars(library).values() if callable(fn)]
)  # fmt: skip
"""Functions of Python whose results depend on their arguments alone."""
LOOKED_UP = ("LOAD_GLOBAL", "LOAD_ATTR", "LOAD_METHOD")
"""Instructions with names whose values are in a key: all others assign, delete or import."""
MOST_CODES = 4096
MISSING = object()
Functions = tuple[FunctionType, ...]
LITERAL = (str, DType, type, slice)
"""Static arguments that may be called, or not, and mean what they are."""


def key_of_function(fn: Any, arrays: list[HostArray]) -> tuple[Any, ...] | None:
    """The key of a function, or of a `functools.partial` of one; None where it has none. The arrays
    that it reads are added to `arrays`, where they are not there yet."""
    key = _key_of(fn, (), arrays)
    return key if isinstance(key, tuple) and _has_hash(key) else None


def _key_of(value: Any, around: Functions, arrays: list[HostArray]) -> object:
    """A value that a function reads, as a part of the function's key; None where it may change.
    `around` are the functions that lead to it."""
    cls = type(value)
    if cls in NUMBERS or issubclass(cls, np.generic):
        return identity(value)
    if cls in HOST_ARRAYS:
        place = next((i for i, other in enumerate(arrays) if other is value), len(arrays))
        arrays += [value] * (place == len(arrays))
        return HostArray, place, value.dtype, value.ndim
    if cls is tuple:
        return _all_of(value, around, arrays)
    if cls is Tree:
        return cls, value, value.orders
    if _is_value(value):
        return cls, value
    if cls is FunctionType:
        return _of_function(value, around, arrays)
    if cls is functools.partial:
        parts = (value.func, *value.args, *value.keywords, *value.keywords.values())
        return None if vars(value) else _all_of((len(value.args), *parts), around, arrays)
    is_known = value in STATELESS if cls is BuiltinFunctionType else _is_class(value)
    return (cls, value) if is_known else None


def _is_class(value: Any) -> bool:
    """Whether a value is a class without a state: one of Python's, ours, or of NumPy's scalars."""
    if not isinstance(value, type):
        return False
    home = value.__module__
    return home == builtins.__name__ or is_in_package(home) or issubclass(value, np.generic)


def _is_value(value: Any) -> bool:
    """Whether a value is compared by what it holds: a dtype, a ufunc, a record of this package."""
    if isinstance(value, DType | np.dtype | np.ufunc):
        return True
    return is_record(value) and is_in_package(type(value).__module__)


def _all_of(
    values: Iterable[Any], around: Functions, arrays: list[HostArray]
) -> tuple[Any, ...] | None:
    parts = tuple([_key_of(value, around, arrays) for value in values])
    return None if None in parts else parts


def _of_function(fn: FunctionType, around: Functions, arrays: list[HostArray]) -> object:
    if fn in CONSTANT_FUNCTIONS:
        return FunctionType, fn
    for depth, other in enumerate(around):
        if other is fn:
            return FunctionType, depth
    code, around = fn.__code__, (*around, fn)
    read = [] if _is_here(fn) else _read_by(fn, code)
    if read is None or vars(fn).keys() - {"__wrapped__"}:
        return None
    try:
        cells = [cell.cell_contents for cell in fn.__closure__ or ()]
    except ValueError:  # the variable has no value yet
        return None
    defaults = *(fn.__defaults__ or ()), *(fn.__kwdefaults__ or {}).values()
    parts = _all_of((*cells, *defaults), around, arrays)
    names = _all_of([value for value in read if not isinstance(value, ModuleType)], around, arrays)
    if parts is None or names is None:
        return None
    modules = [value for value in read if isinstance(value, ModuleType)]
    named = fn.__kwdefaults__ or ()
    return code.co_filename, code, len(cells), *named, *parts, *names, *modules


def _is_here(fn: FunctionType) -> bool:
    """Whether a function was written in this package, where globals do not change."""
    return is_in_package(fn.__globals__.get("__name__"))


def _read_by(fn: FunctionType, code: CodeType) -> list[Any] | None:
    """The values of the globals that a function reads; None if they are unknown."""
    names = names_read(code)
    if names is None:
        return None
    outside = fn.__globals__, getattr(fn, "__builtins__", {})
    values = []
    for name, attributes in names.items():
        value = next((each[name] for each in outside if name in each), MISSING)
        if isinstance(value, ModuleType) and not all(_is_stateless(value, a) for a in attributes):
            return None
        values.append(value)
    return values


@functools.lru_cache(MOST_CODES)
def names_read(code: CodeType) -> dict[str, set[str]] | None:
    """The globals that code looks up, with that of the functions written in it, and the attributes
    of each, "" for the value itself; None if the code does anything that a key does not cover."""
    found: dict[str, set[str]] = {}
    for each in _codes_in(code):
        steps = [*dis.get_instructions(each)]
        for step, after in zip(steps, [*steps[1:], None], strict=True):
            is_outside = "DEREF" in step.opname and step.argval in code.co_freevars
            if is_outside and step.opname != "LOAD_DEREF":
                return None
            if step.opcode in dis.hasname and step.opname not in LOOKED_UP:
                return None
            if step.opname == "LOAD_GLOBAL":
                is_part = after and after.opname in LOOKED_UP[1:]
                found.setdefault(step.argval, set()).add(after.argval if after and is_part else "")
    return found


def _codes_in(code: CodeType) -> Iterator[CodeType]:
    yield code
    for value in code.co_consts:
        if isinstance(value, CodeType):
            yield from _codes_in(value)


def _is_stateless(module: ModuleType, attribute: str) -> bool:
    """Whether an attribute of a module never changes: of NumPy numbers, and the functions that this
    package has, too."""
    if module in LIBRARIES or is_in_package(module.__name__):
        return True
    value = getattr(np, attribute, None) if module is np else None
    if isinstance(value, ModuleType):
        return False
    return attribute in MODULES or isinstance(value, np.ufunc | float) or _is_class(value)


def reading(leaves: list[Any], places: Iterable[int], count: int) -> None:
    """Let functions that have keys read traced arrays, the last `count` leaves, in place of the
    arrays that they read; then these are no leaves."""
    arrays: list[HostArray] = []
    for place in places:
        key_of_function(leaves[place], arrays)
    instead = dict(zip(map(id, arrays), leaves[-count:], strict=True))
    del leaves[-count:]
    for place in places:
        leaves[place] = _rebound(leaves[place], instead, {})


def _rebound(value: Any, instead: Mapping[int, Any], made: dict[int, FunctionType]) -> Any:
    """A value that a function reads, with others in place of arrays, by the identity of each;
    `made` has the functions that are being made."""
    cls = type(value)
    if cls in HOST_ARRAYS:
        return instead[id(value)]
    if cls is tuple:
        return tuple(_rebound(part, instead, made) for part in value)
    if cls is functools.partial:
        named = {name: _rebound(part, instead, made) for name, part in value.keywords.items()}
        first = _rebound((value.func, *value.args), instead, made)
        return functools.partial(*first, **named)
    if cls is not FunctionType or value in CONSTANT_FUNCTIONS:
        return value
    if id(value) not in made:
        cells = tuple(CellType() for _ in value.__closure__ or ())
        names = value.__globals__ if _is_here(value) else {**value.__globals__}
        made[id(value)] = new = FunctionType(value.__code__, names, value.__name__, None, cells)
        for cell, old in zip(cells, value.__closure__ or (), strict=True):
            cell.cell_contents = _rebound(old.cell_contents, instead, made)
        for name in () if _is_here(value) else names_read(value.__code__) or ():
            if name in names:
                names[name] = _rebound(names[name], instead, made)
        new.__defaults__ = _rebound(value.__defaults__, instead, made)
        if value.__kwdefaults__:
            parts = _rebound((*value.__kwdefaults__.values(),), instead, made)
            new.__kwdefaults__ = dict(zip(value.__kwdefaults__, parts, strict=True))
        new.__qualname__ = value.__qualname__
        vars(new).update(vars(value))
    return made[id(value)]


def key_of_static(value: Any, arrays: list[HostArray]) -> object:
    """A static leaf as part of a key; None if it does not identify equal calls."""
    if is_function(value):
        return key_of_function(value, arrays)
    key = identity(value)
    return key if _has_hash(key) else None


def _has_hash(key: object) -> bool:
    """Whether a key can be looked up; a record of what has no hash has none."""
    try:
        hash(key)
    except TypeError:
        return False
    return True


def is_function(value: Any) -> bool:
    """Whether a static leaf is a function that is not always the same."""
    return callable(value) and not isinstance(value, LITERAL) and not is_constant(value)


def reference_to(fn: Any) -> Any:
    """A weak reference to a function; a ufunc, which has none and holds no arrays, as it is."""
    return fn if type(fn) is np.ufunc else weakref.ref(fn)


def function_of(leaf: Any) -> Any:
    """A function, or the function of a weak reference in a kept call."""
    return leaf() if type(leaf) is weakref.ref else leaf


class Looked:
    """What is found by a look at the arguments of a call: a key, which begins with the function and
    goes on with each argument's part; flat arguments; functions, and the arrays that they read.
    `is_known` tells whether the key determines the program: what takes longer to look at has none.
    """

    __slots__ = ("arrays", "flat", "functions", "is_known", "is_structured", "key")

    def __init__(
        self, known: Operation, args: Sequence[Any], kwargs: Mapping[str, Any], target: str
    ) -> None:
        self.key: list[Any] = [known]
        self.flat: list[Any] = []
        self.functions: list[Any] = []
        self.arrays: list[HostArray] = []
        self.is_structured = False  # a list of numbers is separate numbers
        if not kwargs and len(args) <= known.values:
            is_known = self._takes(args, target)
        else:
            rest = [known.rest] * (len(args) - len(known.positional))
            names = [*known.positional[: len(args)], *rest, *kwargs]
            is_known = all(
                self._has_part(known, name, value, target)
                for name, value in zip(names, (*args, *kwargs.values()), strict=True)
            )
            self.key += kwargs
        self.is_known = is_known and quick(self.arrays, self.key, self.flat, node_parts, target)

    def _takes(self, values: Iterable[Any], target: str) -> bool:
        return quick(values, self.key, self.flat, self._parts, target)

    def _has_part(self, known: Operation, name: str, value: Any, target: str) -> bool:
        """Whether the argument of a parameter has a part of the key, which is added."""
        if name in known.static and type(value) is not FunctionType:
            part = key_of_static(value, self.arrays)
            self.key.append(part)
            return part is not None and not is_function(value)
        self.is_structured = name in known.structured
        if name not in TELLING:
            return self._takes((value,), target)
        leaves, tree = flatten(value, None if self.is_structured else is_number_list)
        self.key += (tree, tree.orders)
        for leaf in leaves:
            if TELLING[name](leaf):
                self.key.append(identity(leaf))
            elif not self._takes((leaf,), target):
                return False
        return True

    def _parts(self, value: Any, key: list[Any]) -> Iterable[Any] | None:
        """The parts of a structure, whose class goes into the key. A function has no parts, and its
        key goes into the key."""
        cls = type(value)
        if cls is FunctionType:
            return self._parts_of_function(value, key)
        if cls is tuple or cls is list:
            key += (cls, len(value))
            return value if self.is_structured or not is_number_list(value) else None
        if cls is slice:
            key += (slice, value.start, value.stop, value.step)
            return () if all(each is None or type(each) is int for each in key[-3:]) else None
        if value is None or value is ...:
            key.append(value)
            return ()
        return node_parts(value, key)

    def _parts_of_function(self, value: FunctionType, key: list[Any]) -> Iterable[Any] | None:
        own = value if is_constant(value) else key_of_function(value, self.arrays)
        if own is None:
            return None
        key.append(own)
        if own is not value:
            self.functions.append(value)
            key.append(user_location().instruction)
        return ()


class OfFunctions:
    """The entry of calls with functions of one key. If extents of 1 need another program, it is
    traced with the functions of the last call, since the values that the first ones read may have
    changed. References to them are weak, as they may hold arrays."""

    __slots__ = ("_entry", "_places", "_traced")

    def __init__(self, entry: Callable[..., Any], traced: list[Any], places: list[int]) -> None:
        self._entry = entry
        self._traced = traced  # leaves of the call that is traced; functions are at `places`
        self._places = places

    def renew(self, functions: Iterable[Any]) -> None:
        """Take the functions of a call."""
        for place, fn in zip(self._places, functions, strict=True):
            self._traced[place] = reference_to(fn)

    def __call__(self, flat: list[Any]) -> Any:
        return self._entry(flat)
