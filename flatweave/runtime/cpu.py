"""A compiled program on the CPU: arguments into slots, one call, results out of slots."""

from __future__ import annotations

import ctypes
import struct
from typing import Any

import numpy as np

from flatweave.base.dtypes import DType
from flatweave.base.plan import Plan, Result, Status
from flatweave.runtime.address import address_of
from flatweave.runtime.execute import NativeProgram, adopt
from flatweave.runtime.later import Table
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
        return self._results(self._unpack(slots, self._start))

    def _results(self, values: tuple[Any, ...]) -> list[Any]:
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
            found.append(_array(value, owner, tuple(shape), result.dtype))
        return found


def _result_code(result: Result) -> str:
    if result.extents is None:
        return _CODES[result.dtype.name]
    return "QQ" + "q" * sum(extent is None for extent in result.extents)


def _array(address: int, owner: int, shape: tuple[int, ...], dtype: DType) -> Any:
    """A result buffer as an array; one without an owner is an argument's, so it is copied."""
    if owner:
        return adopt(address, shape, dtype.numpy)
    count = 1
    for extent in shape:
        count *= extent
    if count == 0:
        return np.empty(shape, dtype.numpy)
    raw = (ctypes.c_char * (count * dtype.bytes)).from_address(address)
    return np.ndarray(shape, dtype.numpy, memoryview(raw)).copy()
