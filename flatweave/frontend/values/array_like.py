"""What annotations say of arguments: `def norm(x: fw.ArrayLike) -> fw.Array`.

Type checkers read `flatweave/__init__.pyi`, which says the same of the public names.
"""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import numpy as np

from flatweave.frontend.values.array import Array


@runtime_checkable
class SupportsArray(Protocol):
    """What NumPy takes: arrays, columns and tensors of other libraries."""

    def __array__(self, *args: Any, **kwargs: Any) -> np.ndarray[Any, np.dtype[Any]]:
        """The elements as a NumPy array."""


@runtime_checkable
class SupportsDLPack(Protocol):
    """What shares its memory by DLPack."""

    def __dlpack__(self, *args: Any, **kwargs: Any) -> object:
        """A capsule that holds the memory."""


@runtime_checkable
class SupportsBuffer(Protocol):
    """What has a buffer of numbers: bytes, memoryview, array.array."""

    def __buffer__(self, flags: int, /) -> memoryview:
        """A view of the memory."""


# for annotations, and for isinstance: what type checkers see is that of the stub
ArrayLike: Any = (
    Array | np.ndarray | np.generic | bool | int | float | complex | list | tuple | range
    | bytes | bytearray | memoryview | SupportsArray | SupportsDLPack | SupportsBuffer
)
