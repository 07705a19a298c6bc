"""How other libraries take an array with values: NumPy, DLPack, buffers, Arrow.

    np.asarray(xs), memoryview(xs)     the memory itself, read-only (memoryview from Python 3.12 on)
    torch.from_dlpack(xs)              the same; a copy for who knows no DLPack 1.0
    pyarrow.array(xs)                  the same; bools become bits
"""

from __future__ import annotations

from typing import Any

import numpy as np

from flatweave.frontend.values import brain
from flatweave.frontend.values.exports import capsules, numbers, with_missing

Values = np.ndarray[Any, np.dtype[Any]]
CPU = 1  # DLPack's number for host memory


class Exchange:
    """The protocols of an array whose values are a read-only NumPy array."""

    __slots__ = ()
    _values: Values

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Values:
        if dtype is not None and self._values.dtype != dtype:
            if copy is False:
                raise ValueError(f"{self._values.dtype} becomes {dtype} only with a copy")
            return self._values.astype(dtype)
        return self._values.copy() if copy else self._values

    def __dlpack__(
        self, *, stream: None = None, max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None, copy: bool | None = None,
    ) -> Any:
        values = self._values
        if max_version is None or max_version < (1, 0):
            # such consumers cannot be told that the memory is read-only
            if copy is False:
                raise BufferError("only DLPack 1.0 and later can share read-only memory")
            values, copy = values.copy(), None
        give = brain.given if values.dtype.kind == "V" else np.ndarray.__dlpack__
        return give(
            values, stream=stream, max_version=max_version, dl_device=dl_device, copy=copy
        )

    def __dlpack_device__(self) -> tuple[int, int]:
        return (CPU, 0)

    def __arrow_c_array__(self, requested_schema: Any = None, valid: Any = None) -> Any:
        """The elements as Arrow has them; those where `valid` does not hold are missing."""
        column = numbers(self._values)
        return capsules(column if valid is None else with_missing(column, valid.to_numpy()))

    def __buffer__(self, flags: int) -> memoryview:
        values = self._values
        return (values.view(np.uint16) if values.dtype.kind == "V" else values).data
