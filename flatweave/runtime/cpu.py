"""A compiled program on the CPU: arguments into slots, one call, results out of slots."""

from __future__ import annotations

import ctypes
import functools
import math
import struct
import traceback
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from flatweave.base.dtypes import DType, as_dtype
from flatweave.base.errors import CompilerBug
from flatweave.base.library_products import loop_of
from flatweave.base.plan import LIBRARIES, HostCall, Plan, Result, Status
from flatweave.runtime.execute import (
    LONGEST,
    KernelTable,
    NativeProgram,
    Owner,
    adopt,
    dropper,
    escaper,
    owners_of,
    retainer,
)
from flatweave.runtime.support import Code

# Where the data of an array is.
#
# `__array_interface__` says it in 1 us, which is a tenth of a small call. In NumPy's C interface
# it is the field after the object's head, which every extension has compiled in (PyArray_DATA),
# so it never moves; reading that takes 0.2 us. An interpreter whose objects are not in memory
# where `id` says takes the long way.


Values = np.ndarray[Any, np.dtype[Any]]
_HEAD = object.__basicsize__
_field = ctypes.c_void_p.from_address


def stated_address(array: Values) -> int:
    """What NumPy says of itself."""
    found: int = array.__array_interface__["data"][0]
    return found


def _read_address(array: Values) -> int:
    return _field(id(array) + _HEAD).value or 0


def _is_there() -> bool:
    """Whether the field is where it is expected, for an array and for a part of it."""
    array = np.arange(6)
    try:
        return all(_read_address(some) == stated_address(some) for some in (array, array[2:]))
    except (AttributeError, ValueError):
        return False


address_of = _read_address if _is_there() else stated_address


class Memory:
    """Elements at an address, of which NumPy makes an array, read-only where nobody writes to them;
    keeps the owner of the memory."""

    def __init__(
        self, address: int, dtype: Any, shape: tuple[int, ...], owner: Any, is_frozen: bool = True
    ) -> None:
        self.owner = owner
        self.__array_interface__ = {
            "data": (address, is_frozen), "shape": shape, "typestr": dtype.str, "version": 3,
        }  # fmt: skip


# Whose memory an array is, and whether anybody may write to it while others read.
#
#     is_frozen(x)      False where x, or an array that it is a view of, can be written to
#     shared(x)         the same memory for good: nobody writes to it by way of what this gives
#
# A result that is part of an argument is not copied where the argument is frozen. An array of
# ours always is; NumPy's may change after the call, and the result must not.


def is_frozen(array: Values) -> bool:
    """Whether NumPy writes neither to an array nor to any that it is a view of."""
    found: Any = array
    while isinstance(found, np.ndarray):
        if found.flags.writeable:
            return False
        found = found.base
    return True


def owner_of(array: Values) -> int:
    """The object whose memory an array is a view of, by its identity."""
    found: Any = array
    while isinstance(found, np.ndarray) and found.base is not None:
        found = found.base
    return id(found)


def shared(array: Values) -> Values:
    """A read-only array over the same memory, which its owner has promised not to write to.

    The memoryview between the two is the sign of the promise: `is_frozen` does not look beyond it.
    """
    if is_frozen(array):
        return array
    if array.dtype.kind == "V":  # a bfloat16, of which there is no memoryview
        return np.asarray(array.view(np.uint16).data.toreadonly()).view(array.dtype)
    return np.asarray(array.data.toreadonly())


# A Python function that the program calls gets views of the operands. One that outlives the call
# keeps its memory alive.
#
# A result that is part of an argument is a view of it where nobody can write to that, else a
# copy; of a donated one it is always a view.


_CODES = {
    "bool": "?7x", "i8": "b7x", "i16": "h6x", "i32": "i4x", "i64": "q",
    "u8": "B7x", "u16": "H6x", "u32": "I4x", "u64": "Q", "f32": "f4x", "f64": "d",
}  # fmt: skip
_NOTHING = (ctypes.c_char * 256)()  # readable, for arrays without elements
DATA_OF_NOTHING = -(-ctypes.addressof(_NOTHING) // 64) * 64


class CpuProgram:
    """Calls compiled code; one object may serve many threads at once."""

    def __init__(self, code: Code, plan: Plan, table: KernelTable | None = None) -> None:
        self.plan = plan
        self.native = NativeProgram(code, "fw_main", table)
        self._arrays = [at for at, param in enumerate(plan.params) if param.is_array]
        codes = ["Q" if param.is_array else _CODES[param.dtype.name] for param in plan.params]
        results = "".join(_result_code(result) for result in plan.results)
        self._codes = codes
        self._pack = struct.Struct("<" + "".join(codes)).pack_into
        self._unpack = struct.Struct("<" + results).unpack_from
        self._start = 8 * len(plan.params)
        self._slots = ctypes.c_char * (self._start + struct.calcsize("<" + results))
        self._calls = [_Call(call, site, plan) for call, site in plan.calls]
        self.slot_count = ctypes.sizeof(self._slots) // 8

    @functools.cached_property
    def library_calls(self) -> LibraryCaller | None:
        """What calls the libraries of a run that machine code starts; None where a Python function
        may keep what it is given, as those of users may, and those of rows of a map."""
        plain = all(call.is_library and not call.call.mapped for call in self._calls)
        return LibraryCaller(self._calls) if plain else None

    def words(self, last: Sequence[Any]) -> tuple[int, ...]:
        """What the slots of the last parameters hold for these values, which must live on."""
        codes = "".join(self._codes[len(self._codes) - len(last) :])
        values = [_data_of(value) if type(value) is np.ndarray else value for value in last]
        return struct.unpack(f"<{len(last)}q", struct.pack("<" + codes, *values))

    def run(self, args: list[Any]) -> list[Any] | Status:
        """The results for flat arguments; the status instead when the program failed."""
        slots = self._slots()
        values = list(args)
        for at in self._arrays:
            values[at] = _data_of(values[at])
        self._pack(slots, 0, *values)
        status = self.native.run(slots, _Caller(self._calls, args) if self._calls else None)
        if not status.is_ok:
            return status
        return self._results(self._unpack(slots, self._start), args)

    def _results(self, values: tuple[Any, ...], args: list[Any]) -> list[Any]:
        found: list[Any] = []
        at = 0
        for result in self.plan.results:
            value = values[at]
            at += 1
            if result.extents is None:
                found.append(result.dtype.numpy.type(value))
                continue
            owner = values[at]
            at += 1
            shape = []
            for extent in result.extents:
                if extent is None:
                    extent = values[at]
                    at += 1
                shape.append(extent)
            if owner == value:
                found.append(adopt(value, tuple(shape), result.dtype.numpy))
            else:
                arrays = [args[number] for number in self._arrays]
                found.append(_part_of(arrays, value, tuple(shape), result.dtype, bool(owner)))
            if owner not in (0, value):  # a token, which counted owners while the program ran
                dropper()(owner)
        return found


View = Callable[[int, int, tuple[int, ...], "np.dtype[Any]"], Values]
"""An array of a call by its data, the owner of these, its shape and dtype."""


class _Call:
    """A call of a Python function, and how its values are stored: of a buffer data and owner."""

    def __init__(self, call: HostCall, site: int, plan: Plan) -> None:
        self.call = call
        self.where = plan.sites[site].where
        self.arrays = [is_array for _, is_array in call.kinds()]
        results = [(each.memory, True) for each in call.results]
        codes = "".join(
            "QQ" if is_array else _CODES[dtype] for dtype, is_array in (*call.kinds(), *results)
        )
        values = struct.Struct("<" + codes)
        self._words, self._unpack = ctypes.c_char * values.size, values.unpack_from
        self.is_library = call.fn in LIBRARIES
        loop = loop_of(call)
        self.loop = (ctypes.c_int64 * len(loop))(*loop) if loop else None
        self._layout = self._found_layout()

    def values(self, address: int) -> tuple[list[Any], list[int]]:
        """The numbers of a call, and pairs of data and owner; and where its results go."""
        found = iter(self._unpack(self._words.from_address(address)))
        values = [(next(found), next(found)) if array else next(found) for array in self.arrays]
        return values, list(found)[::2]

    def _found_layout(self) -> list[tuple[int, int, int, np.dtype[Any], np.dtype[Any]]]:
        """Of each operand and result of a call that is not mapped where its data and extents are
        among its values, and its dtypes for the function and in memory."""
        at, found = 0, []
        for each in self.call.operands:
            dtype, memory = as_dtype(each.dtype).dtype, as_dtype(each.memory).numpy
            rank = -1 if each.varying is None else len(each.varying) - (dtype.kind == "c")
            found.append((at, at + 2, at + 2 + rank, dtype, memory))
            at += 1 if each.varying is None else 2 + len(each.varying)
        for number, each in enumerate(self.call.results, -len(self.call.results)):
            dtype, memory = as_dtype(each.dtype).dtype, as_dtype(each.memory).numpy
            rank = len(each.varying or ())
            found.append((2 * number, at, at + rank - (dtype.kind == "c"), dtype, memory))
            at += rank
        return found

    def once(self, address: int, view: View | None = None) -> None:
        """Make a call that is not mapped, with a `view` of each operand; without, with arrays for
        the time of the call. It is in one function, as a step is called with cold caches."""
        words = self._unpack(self._words.from_address(address))
        arrays: list[Values] = []
        for at, start, end, dtype, memory in self._layout:
            shape = words[start:end]
            if end < start:
                arrays.append(np.asarray(words[at], memory).view(dtype))
            elif view is not None and at >= 0:
                arrays.append(view(words[at], words[at + 1], shape, dtype))
            elif 0 in shape:
                arrays.append(np.empty(shape, dtype))
            else:
                arrays.append(np.ndarray(shape, dtype, _Borrowed.from_address(words[at])))
        count = len(self.call.operands)
        self.call.once(arrays[:count], arrays[count:], self.where)


def _calls_by(caller: object, calls: Sequence[_Call]) -> ctypes.Array[ctypes.c_int64]:
    """What machine code knows of calls: who makes them in Python, and the loops of NumPy that it
    calls itself."""
    loops = [ctypes.addressof(call.loop) if call.loop else 0 for call in calls]
    return (ctypes.c_int64 * (1 + len(calls)))(id(caller), *loops)


def _borrowed(data: int, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Values:
    """A view for the time of a call."""
    if 0 in shape:
        return np.empty(shape, dtype)
    return np.ndarray(shape, dtype, _Borrowed.from_address(data))


class _Borrowed(ctypes.c_char * LONGEST):  # type: ignore[misc]
    """Memory of an argument, which lives as long as the arguments do."""

    args: list[Any]


class LibraryCaller:
    """Calls libraries, which keep none of the arrays that they are given."""

    def __init__(self, calls: Sequence[_Call]) -> None:
        self._calls = calls
        self.calls = _calls_by(self, calls)

    def __call__(self, address: int, number: int) -> None:
        try:
            self._calls[number].once(address)
        except BaseException as failure:  # its frames have the arrays
            traceback.clear_frames(failure.__traceback__)
            raise


class _Caller:
    """Calls the Python functions of one run; `context` is its context's address."""

    def __init__(self, calls: list[_Call], args: list[Any]) -> None:
        self._calls = calls
        self.calls = _calls_by(self, calls)
        self.args = args
        self.context = 0

    def __call__(self, address: int, number: int) -> None:
        call = self._calls[number]
        if call.is_library and not call.call.mapped:
            try:  # a library keeps no view, but the frames of an error do
                return call.once(address)
            except Exception:
                pass
            except BaseException as interrupt:
                traceback.clear_frames(interrupt.__traceback__)
                raise
        self._carefully(call, address)

    def _carefully(self, call: _Call, address: int) -> None:
        """The call of a function that may keep what it is given."""
        views: list[tuple[weakref.ref[Owner], int]] = []

        def view(data: int, owner: int, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Values:
            return self._view(views, data, owner, shape, dtype)

        def read(at: tuple[int, int], dtype: np.dtype[Any], count: int) -> Values:
            return self._view(views, *at, (count,), dtype)

        try:
            if call.call.mapped:
                values, targets = call.values(address)

                def place(number: int, dtype: np.dtype[Any], count: int) -> Values:
                    return _borrowed(targets[number], (count,), dtype)

                call.call.run(values, read, call.where, place)
            else:
                call.once(address, view)
        except BaseException:
            for owner in self._kept(views):
                others = sum(view() is not None for view, at in views if at == owner)
                for _ in range(owners_of(owner) - others):
                    dropper()(owner)
            raise
        self._kept(views)

    def _view(
        self, views: list[tuple[weakref.ref[Owner], int]], data: int, owner: int,
        shape: tuple[int, ...], dtype: np.dtype[Any],
    ) -> Values:  # fmt: skip
        """A read-only view of a buffer that keeps its memory alive."""
        if 0 in shape:
            found = np.empty(shape, dtype)
        elif data != owner:
            borrowed = _Borrowed.from_address(data)
            borrowed.args = self.args
            found = np.ndarray(shape, dtype, borrowed)
        else:
            retainer()(data)
            kept = Owner.from_address(data)
            views.append((weakref.ref(kept), data))
            found = np.ndarray(shape, dtype, kept)
        found.setflags(write=False)
        return found

    def _kept(self, views: list[tuple[weakref.ref[Owner], int]]) -> set[int]:
        """The buffers of which a view is alive: the end of the run leaves them alone."""
        kept = {owner for view, owner in views if view() is not None}
        for owner in kept:
            escaper()(self.context, owner)
        return kept


def _data_of(array: Values) -> int:
    return address_of(array) if array.size else DATA_OF_NOTHING


def _result_code(result: Result) -> str:
    if result.extents is None:
        return _CODES[result.dtype.name]
    return "QQ" + "q" * sum(extent is None for extent in result.extents)


def _part_of(
    arrays: list[Any], address: int, shape: tuple[int, ...], dtype: DType, is_given: bool
) -> Any:
    """A result without a separate buffer: it is in the memory of an argument."""
    size = dtype.bytes * math.prod(shape)
    if not size:
        return np.empty(shape, dtype.numpy)
    for array in arrays:
        start = address_of(array)
        if start <= address and address + size <= start + array.nbytes:
            part = np.ndarray(shape, dtype.numpy, array, address - start)
            return part if is_given or is_frozen(array) else part.copy()
    raise CompilerBug("a result is in a buffer that nobody owns")
