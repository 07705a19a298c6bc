"""A compiled program on the CPU: arguments into slots, one call, results out of slots.

A result that is part of an argument is a view of it where nobody can write to that, else a copy;
of one that the caller has given away it is a view in any case.
"""

from __future__ import annotations

import ctypes
import math
import struct
from typing import Any

import numpy as np

from flatweave.base.dtypes import DType
from flatweave.base.errors import CompilerBug
from flatweave.base.plan import Plan, Result, Status
from flatweave.runtime.address import address_of
from flatweave.runtime.execute import NativeProgram, adopt, dropper
from flatweave.runtime.later import Table
from flatweave.runtime.ownership import is_frozen
from flatweave.runtime.support import Code

_CODES = {
    "bool": "?7x", "i8": "b7x", "i16": "h6x", "i32": "i4x", "i64": "q",
    "u8": "B7x", "u16": "H6x", "u32": "I4x", "u64": "Q", "f32": "f4x", "f64": "d",
}  # fmt: skip
_NOTHING = (ctypes.c_char * 256)()  # readable, for arrays without elements
_DATA_OF_NOTHING = -(-ctypes.addressof(_NOTHING) // 64) * 64


class CpuProgram:
    """Calls compiled code; one object may serve many threads at once."""

    def __init__(self, code: Code, plan: Plan, table: Table | None = None) -> None:
        self.plan = plan
        self.native = NativeProgram(code, "fw_main", table)
        self._arrays = [at for at, param in enumerate(plan.params) if param.is_array]
        codes = ["Q" if param.is_array else _CODES[param.dtype.name] for param in plan.params]
        results = "".join(_result_code(result) for result in plan.results)
        self._pack = struct.Struct("<" + "".join(codes)).pack_into
        self._unpack = struct.Struct("<" + results).unpack_from
        self._start = 8 * len(plan.params)
        self._slots = ctypes.c_char * (self._start + struct.calcsize("<" + results))

    def run(self, args: list[Any]) -> list[Any] | Status:
        """The results for flat arguments; the status instead when the program failed."""
        slots = self._slots()
        values = list(args)
        for at in self._arrays:
            array = values[at]
            values[at] = address_of(array) if array.size else _DATA_OF_NOTHING
        self._pack(slots, 0, *values)
        status = self.native.run(slots)
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


def _result_code(result: Result) -> str:
    if result.extents is None:
        return _CODES[result.dtype.name]
    return "QQ" + "q" * sum(extent is None for extent in result.extents)


def _part_of(
    arrays: list[Any], address: int, shape: tuple[int, ...], dtype: DType, is_given: bool
) -> Any:
    """A result without a buffer of its own: it lies in one of the arguments."""
    size = dtype.bytes * math.prod(shape)
    if not size:
        return np.empty(shape, dtype.numpy)
    for array in arrays:
        start = address_of(array)
        if start <= address and address + size <= start + array.nbytes:
            part = np.ndarray(shape, dtype.numpy, array, address - start)
            return part if is_given or is_frozen(array) else part.copy()
    raise CompilerBug("a result is in a buffer that nobody owns")
