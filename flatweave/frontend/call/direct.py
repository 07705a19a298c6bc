"""Calls of known signatures: those that machine code makes, and those found by a key in Python.

    direct = DirectCalls()
    direct.call(xs, 2.5)                    NotImplemented: the call has to be made in Python
    direct.enter(key, args, entry)          after a call that Python made
    direct.call(xs, 2.5)                    the result; an int where the program ran in vain

    key, flat = [f], []
    if quick(args, key, flat):              key (f, float32, 1, float), flat [3, xs, 2.5]
        table = known.here(target)
        entry = table.get(tuple(key))       or, once it is made, put(table, tuple(key), entry)

`quick` is the path of nearly every call that Python makes: it does as little as it can. For
machine code only what needs no Python is entered: a program of the CPU for the switches of the
process that tries no operators, calls no Python function, and whose arguments nobody donates.
"""

from __future__ import annotations

import ctypes
import functools
import operator
import weakref
from collections.abc import Callable, Hashable, Iterable, Sequence
from types import BuiltinFunctionType, FunctionType
from typing import Any, NamedTuple

import numpy as np

from flatweave.base.config import CURRENT, PROCESS, Switches, config
from flatweave.base.dtypes import DType
from flatweave.base.locks import Lock
from flatweave.base.recording import OPEN
from flatweave.frontend.call.options import PLACE
from flatweave.frontend.trace.trace import View, view_of
from flatweave.frontend.values.array import HostArray, HostComplex, host_array
from flatweave.frontend.values.elsewhere import HOST_ARRAYS, DeviceArray, HostView, in_memory
from flatweave.frontend.values.number_formats import Interleaved
from flatweave.frontend.values.scope import TRACING
from flatweave.frontend.values.tree import LEAF, Node, Tree, parts_of, unflatten
from flatweave.runtime import calls
from flatweave.runtime.calls import AS_THEY_ARE, Argument, Signature
from flatweave.runtime.cpu import CpuProgram

MOST = 32  # signatures of a function: a call is compared with each of them
PATIENCE = 4  # calls in vain
Key = tuple[Any, ...]


class Direct(NamedTuple):
    """What machine code calls: a program, its arguments after the user's, the tree of its results,
    how it is given arrays, for each argument of the user the axes that have extent 1, the arrays of
    ours whose values it captured, and how many calls go by before one tries operators."""

    program: CpuProgram
    hidden: Sequence[Any]
    tree: Tree
    rows: int = AS_THEY_ARE
    ones: tuple[int, ...] = ()
    sources: Sequence[HostArray] = ()
    untried: ctypes.c_int64 | None = None


def in_python(*args: Any, **kwargs: Any) -> Any:
    """What calls a function no signature of which is known."""
    return NotImplemented


class DirectCalls:
    """The signatures of a function whose calls machine code makes; `call` makes them."""

    __slots__ = ("__weakref__", "_in_vain", "_keys", "_signatures", "call")

    call: Callable[..., Any]
    _signatures: dict[Key, Signature | None]
    _keys: list[Key]
    _in_vain: dict[Key, int]

    def __init__(self) -> None:
        self.forget()

    def enter(self, arguments: Sequence[Argument], run: Any, target: str) -> None:
        """Let machine code call what `run` calls for arguments like these on a target, if it can.
        """
        if not arguments or len(self._signatures) >= MOST or not is_for_all():
            return
        given = len(arguments)
        arguments = [_as_read(each, target) for each in expanded(arguments)]
        direct: Direct | None = run.direct(arguments) if hasattr(run, "direct") else None
        if not arguments and hasattr(run, "refuse"):
            run.refuse()
        if direct is None or not arguments:
            return
        key = direct.rows, direct.ones, *map(_key, arguments)
        if key in self._signatures:
            if self._signatures[key] is None and hasattr(run, "refuse"):
                run.refuse()
            return
        if not _is_open():
            return
        ones = direct.ones or [-1] * len(arguments)
        plain = [
            each._replace(ones=bits)
            for each, bits in zip(arguments, ones, strict=True)
        ]
        pairs: list[bool] = []
        tree = _without_pairs(direct.tree, pairs)
        finish = None if tree is LEAF else functools.partial(unflatten, tree)
        rest = direct.program, plain, direct.hidden, direct.rows, finish, given, pairs
        untried = direct.untried
        for source in direct.sources:
            _DEPENDENT.setdefault(id(source), weakref.WeakSet()).add(self)
        self._take(key, calls.signature(*rest, untried))

    def refuse(self, number: int) -> None:
        """Let Python make the calls of a signature whose program ran in vain for some time."""
        for key in self._keys[number : number + 1]:
            self._in_vain[key] = self._in_vain.get(key, 0) + 1
            if self._in_vain[key] >= PATIENCE:
                self._take(key, None)

    def forget(self) -> None:
        """Let Python make all calls again."""
        self.call, self._signatures, self._keys, self._in_vain = in_python, {}, [], {}

    def _take(self, key: Key, signature: Signature | None) -> None:
        signatures = {**self._signatures, key: signature}
        known = {key: found for key, found in signatures.items() if found is not None}
        # what is true of fewer calls is compared first
        self._keys = sorted(known, key=lambda key: (not key[0], not key[1], -_fixed_in(key)))
        self._signatures = signatures
        self.call = calls.callable_for([known[key] for key in self._keys]) if known else in_python


_DEPENDENT: dict[int, weakref.WeakSet[DirectCalls]] = {}
"""Whose signatures hold the values of a captured array, by its identity: they keep it alive."""


def forget_captured(array: HostArray) -> None:
    """Let Python make the calls of programs that captured an array, which gets other values."""
    for calls_ in _DEPENDENT.pop(id(array), ()):
        calls_.forget()


def expanded(arguments: Sequence[Argument]) -> list[Argument]:
    """Arguments, each structure before what it holds; none where machine code does not know one."""
    found: list[Argument] = []
    for argument in arguments:
        value, cls = argument.value, type(argument.value)
        inner = None if argument.is_fixed and cls is not tuple else parts_of(value, [])
        if cls is slice:
            inner = value.start, value.stop, value.step
            if not all(bound is None or type(bound) is int for bound in inner):
                return []
        if inner is None or value is None:
            if argument.is_fixed and not is_constant(value):
                return []
            is_fixed = argument.is_fixed or value is None or value is ...
            found.append(argument._replace(is_fixed=is_fixed))
            continue
        parts = tuple(inner)
        is_list = isinstance(value, tuple | list)
        places = () if is_list else _places(cls)
        is_fixed = argument.is_fixed or cls is slice
        more = expanded([Argument(part, is_fixed=is_fixed) for part in parts])
        if places is None or (parts and not more):
            return []
        found += [argument._replace(parts=len(parts), places=places, is_fixed=False), *more]
    return found


def _as_read(argument: Argument, target: str) -> Argument:
    """An argument with the array of NumPy that a program is given, that of its memory for a view.
    """
    values = values_of(argument.value)
    is_array = type(values) is NDARRAY and not argument.is_fixed
    view = in_place(values, target) if is_array else None
    if view is None:
        return argument._replace(value=values)
    return argument._replace(value=view.memory, layout=view.layout.words)


def _places(cls: type) -> tuple[int, ...] | None:
    """Where slices and the objects of a class of ours hold their parts; None where that is not
    known."""
    if cls not in _PLACES:
        _PLACES[cls] = _found_places(cls) if cls is slice or issubclass(cls, Node) else None
    return _PLACES[cls]


def _found_places(cls: Any) -> tuple[int, ...] | None:
    probes = [object() for _ in (range(3) if cls is slice else cls.parts)]
    try:
        value = cls(*probes) if cls is slice else cls.made(*probes)
    except (AttributeError, TypeError):
        return None
    places = tuple(calls.place_of(probe, value) for probe in probes)
    is_known = type(value) is cls and all(places) and len(places) <= calls.MOST_PARTS
    return places if is_known else None


_PLACES: dict[type, tuple[int, ...] | None] = {}


def is_constant(value: Any) -> bool:
    """Whether a value that decides the program never changes, and is often the same object."""
    if isinstance(value, FunctionType | BuiltinFunctionType):
        return value in CONSTANT_FUNCTIONS
    return value is None or isinstance(value, bool | int | float | str | DType | np.dtype | type)


CONSTANT_FUNCTIONS: set[Callable[..., Any]] = {
    fn for fn in vars(operator).values() if isinstance(fn, BuiltinFunctionType)
}
"""Python's operators and public functions, which do the same in every call."""


def _key(argument: Argument) -> Hashable:
    value, name, is_fixed, _, parts, _, layout = argument
    if parts >= 0:
        return name, type(value), parts
    if is_fixed:
        return name, type(value), value, is_fixed
    if type(value) is not np.ndarray:
        return name, type(value), 0
    return name, value.dtype, layout or value.ndim


def _without_pairs(tree: Tree, pairs: list[bool]) -> Tree:
    """A tree with leaves for complex arrays; `pairs` tells these from other leaves."""
    if tree is LEAF or (tree.cls is Interleaved and tree.children == (LEAF,)):
        pairs.append(tree is not LEAF)
        return LEAF
    children = tuple(_without_pairs(child, pairs) for child in tree.children)
    return Tree(tree.kind, tree.cls, tree.names, children, tree.order, tree.factory)


def _fixed_in(key: Key) -> int:
    """How many arguments of a signature are one object."""
    return sum(len(part) == 4 for part in key[2:])


def is_for_all() -> bool:
    """Whether the switches are those of the process, without checks, and nobody watches."""
    return config.current is PROCESS and not PROCESS.debug and not OPEN


def may_enter(run: Any) -> bool:
    """Whether it is worth while to enter what `run` calls."""
    return is_for_all() and hasattr(run, "direct") and not run.is_refused


def values_of(value: Any) -> Any:
    """NumPy's array in an array of ours; other values as they are."""
    return in_memory(value) if type(value) in HOST_ARRAYS else value


def _is_open() -> bool:
    example = host_array(np.zeros(1))
    known = calls.Known(HOST_ARRAYS, example, CURRENT, PROCESS, OPEN, TRACING)
    return calls.open_for(known)


NDARRAY = np.ndarray
FLOATS = {"F": np.dtype(np.float32), "D": np.dtype(np.float64)}
LOW, HIGH = -(2**63), 2**63
KEPT = 4096  # entries of a table; the oldest goes first
LONGEST_KEY = 256  # parts of a key; what nests deeper is left to others
Table = dict[Any, Callable[..., Any]]
Parts = Callable[[Any, list[Any]], Iterable[Any] | None]
_lock = Lock()


class Known:
    """What runs calls, by key, in a table for each target, CPU and schedule."""

    __slots__ = ("_last", "_tables")

    def __init__(self) -> None:
        self._tables: dict[Any, Table] = {}
        self._last: tuple[Switches | None, str | None, Table] = (None, None, {})

    def here(self, target: str | None = None) -> Table:
        """The table for a target, that in force if none is named, under the switches in force."""
        now = config.current
        switches, named, table = self._last
        if switches is not now or named is not target:
            key = (target or now.target, now.cpu, now.schedule)
            table = self._tables.setdefault(key, {})
            self._last = (now, target, table)
        return table


def quick(
    args: Iterable[Any], key: list[Any], flat: list[Any], parts: Parts = parts_of, target: str = ""
) -> bool:
    """Fill key and flat arguments when all are plain arrays, numbers and structures whose contents
    `parts` gives, else give False. Arrays that are not contiguous are views or copies; without a
    target they are not plain."""
    for arg in args:
        cls = type(arg)
        if cls is HostArray or cls is HostComplex:
            arg = arg._values
        elif cls is DeviceArray and arg.resident.shape:
            arg = arg.resident
        elif cls is not NDARRAY and cls is not HostView:
            if cls is float or cls is bool or (cls is int and LOW <= arg < HIGH):
                key.append(cls)
                flat.append(arg)
                continue
            if not issubclass(cls, np.generic):
                inner = parts(arg, key)
                if inner is None or len(key) > LONGEST_KEY:
                    return False
                if not quick(inner, key, flat, parts, target):
                    return False
                continue
        else:
            values = in_memory(arg) if cls is HostView else arg
            flags = values.flags
            if not (flags.c_contiguous and flags.aligned):
                view = in_place(values, target)
                if view is None and not target:
                    return False
                if view is not None:
                    key.append(view.dtype)
                    key.append(view.layout)
                    flat += view.flat
                    continue
                values = arg._values if cls is HostView else np.array(arg, order="C")
            arg = values
        shape, dtype = arg.shape, arg.dtype
        key.append(dtype)
        key.append(len(shape))
        if dtype.char in "FD":
            arg = arg.reshape((*shape, 1)).view(FLOATS[dtype.char])
            shape = arg.shape
        if shape:
            flat += shape
            flat.append(arg)
        else:
            flat.append(arg[()])
    return True


def in_place(values: np.ndarray[Any, Any], target: str) -> View | None:
    """An array that is not contiguous as a view that calls on this target read where it is; None
    where it is copied."""
    reads = target == "cpu" and not config.debug and PLACE.get() is None
    return view_of(values) if reads else None


def put(table: Table, signature: tuple[Any, ...], run: Callable[..., Any]) -> None:
    """Enter what runs calls of a signature that `quick` made; not where every call's arrays must be
    converted: in another byte order, records, times, floats of 16 bits."""
    dtypes = [part for part in signature if isinstance(part, np.dtype)]
    if all(dtype.isnative and dtype.kind in "biufc" and dtype != np.float16 for dtype in dtypes):
        keep(table, signature, run)


def keep(table: dict[Any, Any], key: Any, value: Any) -> None:
    """Enter a value in a table; the oldest entry goes when it is full."""
    with _lock:
        while len(table) >= KEPT:
            table.pop(next(iter(table)), None)
        table[key] = value
