"""Calls of compiled programs with no Python in between: a signature, and a callable for several.

    args = [Argument(xs), Argument(2.5)]
    found = signature(program, args, [], 0, None)          f64 of rank 1, a float; None: cannot be
    call = callable_for([found, ..])                       a builtin function; see calls.ll
    call(ys, 1.5)                                          the result, in an array of ours
    call("text")                                           NotImplemented: call in Python
    call(other)                                            0, the signature: call in Python again

Machine code reads NumPy's arrays and ours where their fields are. Their offsets are looked for once
(`open_for`). Where one is another, as in a free-threaded interpreter, all calls are Python's.
"""

from __future__ import annotations

import ctypes
import struct
import sys
import threading
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import Any, NamedTuple

import numpy as np
from numpy._core import _multiarray_umath as multiarray  # type: ignore[attr-defined]

from flatweave.base.dtypes import as_dtype, bool_, f64, i64
from flatweave.base.locks import in_every_child
from flatweave.base.plan import Param, Plan, Result
from flatweave.runtime.cpu import DATA_OF_NOTHING, CpuProgram, Values, stated_address
from flatweave.runtime.support import CALLS, POOL, keep_for_ever, part

MOST_ARGUMENTS, MOST_SLOTS = 32, 256  # for which calls.ll has room
AS_THEY_ARE, ROWS_SHAPED, ROWS = range(3)
"""How a program is given arrays of rank 2 and more: as they are, or all of one shape as rows, the
result with their shape or as it is."""
_ARRAY, _OBJECT, _TUPLE, _LIST, _STRUCTURE, _SCALAR, _VIEW = 0, 4, 5, 6, 7, 8, 9
LEAST = ctypes.c_int64(1 << 14)
"""Elements of a view that is read where it is; a copy of fewer costs less than a new program."""
MOST_PARTS = 4  # of a structure that is no tuple or list
_NUMBERS = {
    float: (1, Param(f64, False)), int: (2, Param(i64, False)), bool: (3, Param(bool_, False)),
}  # fmt: skip
_KINDS = {"b": 1, "c": 2}
_HEAD = object.__basicsize__
_NEW_FROM_DESCR, _NEW_COPY, _ARRAY_TYPE = 94, 85, 2  # in NumPy's table of C functions
_FASTCALL, _KEYWORDS = 0x80, 0x02


class Argument(NamedTuple):
    """An argument of a call: a number or NumPy's array, its name where it is given by name, and
    whether it is one object or value in every call of the signature, which the program does not
    take."""

    value: Any
    name: str = ""
    is_fixed: bool = False
    ones: int = -1
    """Bits of the axes of extent 1 that the program does not take, others being longer; or -1."""
    parts: int = -1
    """How many of the next arguments a structure holds; -1 for none."""
    places: tuple[int, ...] = ()
    """Where in a structure its parts are, in bytes; empty for a tuple or list."""
    layout: tuple[int, ...] = ()
    """Of a view, whose memory is the value: its rank, then its layout as calls.ll has it."""


class Signature(NamedTuple):
    """The words of a signature, and the objects that they refer to."""

    words: tuple[int, ...]
    kept: tuple[Any, ...]


def signature(
    program: CpuProgram, args: Sequence[Argument], hidden: Sequence[Any], rows: int,
    finish: Callable[[list[Any]], Any] | None, given: int = -1, pairs: Sequence[bool] = (),
    left: ctypes.c_int64 | None = None,
) -> Signature | None:  # fmt: skip
    """The signature of a call with these arguments; None where it cannot be made without Python.

    A structure goes before what it holds; `given` arguments are the call's, by default all.
    `pairs` says which results are complex numbers, which the program gives as pairs of floats.
    `hidden` are the program's arguments after them. `finish` makes the function's result of the
    list of its arrays; None where that is the only one. `left` says how many calls machine code
    makes, which counts them, before Python makes one; None where it makes all.
    """
    plan = program.plan
    words: list[int] = []
    params: list[Param] = []
    are_pairs = pairs or [False] * len(plan.results)
    dtypes = [*map(_result_dtype, plan.results, are_pairs)]
    kept: list[Any] = [program, *hidden, finish, *dtypes]
    for value, name, is_fixed, ones, parts, places, layout in args:
        name = sys.intern(name)
        named, kind = id(name) if name else 0, 0
        if parts >= 0:
            cls = type(value)
            what = _STRUCTURE if places else _TUPLE if issubclass(cls, tuple) else _LIST
            where = sum(place << 16 * at for at, place in enumerate(places))
            words += [what, id(cls), parts, where]
        elif is_fixed:
            words += [_OBJECT, id(value), _is_value(value), 0]
        elif type(value) in _NUMBERS:
            what, param = _NUMBERS[type(value)]
            words += [what, 0, 0, 0]
            params.append(param)
        elif isinstance(value, np.generic) and _is_real_scalar(value):
            words += [_SCALAR, id(type(value)), 0, value.itemsize]
            params.append(Param(as_dtype(value.dtype), False))
            kind = _KINDS.get(value.dtype.kind, 0)
        elif layout and _is_plain(value.dtype):
            found = (ctypes.c_int64 * len(layout))(*layout)
            words += [_VIEW, id(value.dtype), layout[0], value.itemsize]
            params += _params_of_view(value, layout)
            ones, kind = ctypes.addressof(found) + 8, _KINDS.get(value.dtype.kind, 0)
            kept.append(found)
        elif type(value) is np.ndarray and _is_plain(value.dtype):
            words += [_ARRAY, id(value.dtype), value.ndim, value.itemsize]
            params += _params(value, rows, ones)
            kind = _KINDS.get(value.dtype.kind, 0)
        else:
            return None
        words += [named, ones, kind]
        kept += [name, _what_is_kept(value, is_fixed, parts)]
    libraries = program.library_calls
    if (*params, *plan.params[len(params) :]) != plan.params or libraries is None:
        return None
    if len(plan.params) != len(params) + len(hidden) or len(args) > MOST_ARGUMENTS:
        return None
    if program.slot_count > MOST_SLOTS or (rows == ROWS_SHAPED and not _is_one_row(plan, finish)):
        return None
    constants = program.words(hidden)
    native = program.native
    called = len(args) if given < 0 else given
    counter = 0 if left is None else ctypes.addressof(left)
    words = [ctypes.addressof(libraries.calls), called, counter, *words, *constants]
    kept += [libraries, left]
    for result, dtype, is_pair in zip(plan.results, dtypes, are_pairs, strict=True):
        words += _result_words(result, dtype, is_pair)
    start = (
        10 + len(words), len(args), rows, native.entry, native.table.address, len(constants),
        len(plan.results), 0 if finish is None else id(finish), sum(bool(arg.name) for arg in args),
    )  # fmt: skip
    return Signature((*start, *words), tuple(kept))


def _is_value(value: Any) -> bool:
    """Whether any object of this class and value is as good; 0.0 and -0.0 are equal, too."""
    return type(value) in (str, int, float) and value != 0


def _what_is_kept(value: Any, is_fixed: bool, parts: int) -> object:
    """What the words of an argument refer to."""
    if parts >= 0:
        return type(value)
    return value if is_fixed else getattr(value, "dtype", None), type(value)


def _is_real_scalar(value: np.generic) -> bool:
    """Whether a number of NumPy is a real one whose bytes follow its head."""
    return _is_plain(value.dtype) and value.dtype.type is type(value) and value.dtype.kind != "c"


def _is_plain(dtype: np.dtype[Any]) -> bool:
    """Whether a dtype is one of NumPy's own numbers in this machine's byte order."""
    return dtype.isbuiltin == 1 and dtype.kind in "biufc"


def _is_one_row(plan: Plan, finish: object) -> bool:
    """Whether a program gives one array of rank 1 and nothing else."""
    extents = [result.extents for result in plan.results]
    return finish is None and len(extents) == 1 and extents[0] is not None and len(extents[0]) == 1


def _params(array: Values, rows: int, ones: int) -> list[Param]:
    """What a program takes for an array: its extents and its data, or a scalar."""
    extent = Param(i64, False)
    axes = array.ndim - max(ones, 0).bit_count()
    if array.dtype.kind == "c":
        real = as_dtype(np.dtype(f"f{array.dtype.itemsize // 2}"))
        return [*[extent] * axes, extent, Param(real, True)]
    element = Param(as_dtype(array.dtype), bool(array.ndim))
    axes = min(array.ndim, 1) if rows else axes
    return [*[extent] * axes, element]


def _params_of_view(memory: Values, layout: tuple[int, ...]) -> list[Param]:
    """What a program takes for a view: extents that memory has not, memory's own, and memory."""
    rank, _, _, _, ones, own, *_ = layout
    extents = rank - ones.bit_count() - (own >= 0) + memory.ndim
    return [*[Param(i64, False)] * extents, Param(as_dtype(memory.dtype), True)]


def _result_dtype(result: Result, is_pair: bool) -> np.dtype[Any]:
    """The dtype of a result's elements, of which two may be a complex number."""
    dtype = result.dtype.numpy
    return np.dtype(f"c{2 * dtype.itemsize}") if is_pair else dtype


def _result_words(result: Result, dtype: np.dtype[Any], is_pair: bool) -> list[int]:
    extents = [-1 if extent is None else extent for extent in result.extents or ()]
    rank = -1 if result.extents is None else len(extents)
    return [id(dtype), rank, result.dtype.bytes, is_pair, *extents]


def callable_for(signatures: Sequence[Signature]) -> Callable[..., Any]:
    """What calls the program of whichever signature its arguments have."""
    words = [len(signatures)]
    for number, each in enumerate(signatures):
        words += [*each.words[:9], number, *each.words[9:]]
    table = struct.pack(f"<{len(words)}q", *words)
    return _new_function(_METHOD[0], (table, *signatures), None)  # type: ignore[no-any-return]


class Known(NamedTuple):
    """What the layers above say of themselves: our classes of arrays on the host, of real and of
    complex numbers and of views, and an array; the variable
    of switches and those that calls are made for; lists that are empty where nobody watches calls,
    and where nothing is traced."""

    classes: tuple[type, type, type]
    example: Any
    variable: ContextVar[Any]
    switches: Any
    watchers: list[Any]
    traces: list[Any]


class _Facts(ctypes.Structure):
    """`fw_facts` of calls.ll."""

    _fields_ = [
        (name, ctypes.c_void_p)
        for name in (
            "ndarray", "host", "complex", "values_at", "fields_at", "variable", "switches",
            "watchers", "traces", "float", "int", "true", "false", "not_here",
            "new_array", "nothing", "threads", "exception",
        )
    ] + [("main_thread", ctypes.c_uint64)] + [
        (name, ctypes.c_void_p) for name in ("new_copy", "least", "view")
    ]  # fmt: skip


def open_for(known: Known) -> bool:
    """Make such calls possible: whether they are."""
    if not _OPEN:
        new_array = _numpys(_NEW_FROM_DESCR)
        values_at = place_of(known.example.to_numpy(), known.example)
        is_known = (
            _HEAD == 16 and new_array and values_at and _are_fields_known() and _are_items_known()
        )
        if is_known:
            _fill_in(known, new_array, values_at)
        _OPEN.append(bool(is_known))  # last: from now on other threads use the method
    return _OPEN[0]


def _fill_in(known: Known, new_array: int, values_at: int) -> None:
    """Tell machine code what it must know, and make its method."""
    if known.switches.threads:
        threads = ctypes.c_int64(known.switches.threads)
        keep_for_ever(threads)
    else:
        threads = POOL.default_word
    for each in (*known, LEAST):
        keep_for_ever(each)
    facts = _Facts.from_address(part(CALLS).address("fw_facts"))
    facts.ndarray = id(np.ndarray)
    facts.host, facts.complex, facts.view = map(id, known.classes)
    facts.values_at, facts.fields_at = values_at, _HEAD
    facts.variable, facts.switches = id(known.variable), id(known.switches)
    facts.watchers, facts.traces = id(known.watchers), id(known.traces)
    facts.float, facts.int, facts.true, facts.false = id(float), id(int), id(True), id(False)
    facts.not_here, facts.exception = id(NotImplemented), id(Exception)
    facts.new_array, facts.nothing = new_array, DATA_OF_NOTHING
    facts.new_copy, facts.least = _numpys(_NEW_COPY), ctypes.addressof(LEAST)
    facts.threads = ctypes.addressof(threads)

    def note_main_thread() -> None:
        facts.main_thread = threading.main_thread().ident or 0

    note_main_thread()
    in_every_child(note_main_thread)
    method = _Method(b"call", part(CALLS).address("fw_call"), _FASTCALL | _KEYWORDS, None)
    keep_for_ever(method)
    _METHOD.append(ctypes.addressof(method))


class _Method(ctypes.Structure):
    """PyMethodDef."""

    _fields_ = [
        ("name", ctypes.c_char_p), ("function", ctypes.c_void_p), ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    ]  # fmt: skip


class _Array(ctypes.Structure):
    """PyArrayObject_fields, after the object's head."""

    _fields_ = [
        ("data", ctypes.c_void_p), ("rank", ctypes.c_int), ("extents", ctypes.c_void_p),
        ("strides", ctypes.c_void_p), ("base", ctypes.c_void_p), ("dtype", ctypes.c_void_p),
        ("flags", ctypes.c_int),
    ]  # fmt: skip


def _are_fields_known() -> bool:
    """Whether the fields of NumPy's arrays are where they are expected."""
    whole = np.arange(24, dtype=np.int32).reshape(2, 3, 4)
    still = whole[1:, ::2]
    still.setflags(write=False)
    return all(_reads_fields(array) for array in (whole, still, whole[0, 0], whole[1, 1, 1:1]))


def _reads_fields(array: Values) -> bool:
    fields = _Array.from_address(id(array) + _HEAD)
    if fields.rank != array.ndim:
        return False
    extents = (ctypes.c_int64 * array.ndim).from_address(fields.extents or 0)
    return (
        tuple(extents) == array.shape
        and fields.data == stated_address(array)
        and (fields.base or 0) == (0 if array.base is None else id(array.base))
        and fields.dtype == id(array.dtype)
        and fields.flags & 0x7FF == array.flags.num & 0x7FF
    )


def _are_items_known() -> bool:
    """Whether the items of tuples and lists, and the bytes of NumPy's numbers, are where they are
    expected."""
    pair: tuple[object, ...] = object(), object()
    whole = [*pair]
    word = ctypes.c_void_p.from_address
    size = [ctypes.c_int64.from_address(id(each) + 16).value for each in (pair, whole)]
    starts = id(pair) + 24, word(id(whole) + 24).value or 0
    numbers = np.uint64(2**63 + 1), np.float64(0.1), np.int8(-3), np.bool_(True), np.float32(0.3)
    if any(ctypes.string_at(id(x) + _HEAD, x.itemsize) != x.tobytes() for x in numbers):
        return False
    return size == [2, 2] and all(
        word(start + 8 * at).value == id(item) for start in starts for at, item in enumerate(pair)
    )


def place_of(part: object, whole: object) -> int:
    """Where an object refers to another one, in bytes; 0 where it does not."""
    for at in range(_HEAD, type(whole).__basicsize__, 8):
        if ctypes.c_void_p.from_address(id(whole) + at).value == id(part):
            return at
    return 0


def _numpys(number: int) -> int:
    """The address of a function of NumPy, 0 where it is not found."""
    table = (ctypes.c_void_p * 300).from_address(_get_pointer(multiarray._ARRAY_API, None))
    return table[number] or 0 if table[_ARRAY_TYPE] == id(np.ndarray) else 0


_OPEN: list[bool] = []
_METHOD: list[int] = []
# private prototypes: others use the same functions with other types
_object, _pointer, _text = ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p
_get_pointer = ctypes.PYFUNCTYPE(_pointer, _object, _text)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)
_is_valid = ctypes.PYFUNCTYPE(ctypes.c_int, _object, _text)(
    ("PyCapsule_IsValid", ctypes.pythonapi)
)
_new_function = ctypes.PYFUNCTYPE(_object, _pointer, _object, _pointer)(
    ("PyCFunction_NewEx", ctypes.pythonapi)
)


def buffer_of(base: object) -> int:
    """The data of the buffer that an array made here is a view of; 0 for any other base."""
    if type(base) is not _CAPSULE:
        return 0
    is_ours = _is_valid(base, b"flatweave.result")
    return int(_get_pointer(base, b"flatweave.result")) if is_ours else 0


_CAPSULE = type(multiarray._ARRAY_API)
