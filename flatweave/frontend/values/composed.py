"""Numbers in a trace that a program knows as others, in one array or several.

    Short       floats of 16 bits: words of 16 bits
    Complex     complex numbers: two floats each

What Python asks of a value that is known only at run time is refused as for any other.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from flatweave.frontend.values import misuse
from flatweave.frontend.values.array import Array, describe
from flatweave.frontend.values.exchange import Values
from flatweave.frontend.values.tree import Node


class Composed(Array, Node):
    """An array, or a scalar, of such numbers; each of its parts has its shape."""

    __slots__ = ()
    irregular: ClassVar[bool] = False

    @property
    def _part(self) -> Any:
        return getattr(self, self.parts[0])

    @property
    def shape(self) -> tuple[Any, ...]:
        shape: tuple[Any, ...] = self._part.shape
        return shape

    @property
    def ndim(self) -> int:
        ndim: int = self._part.ndim
        return ndim

    def _refused(self, wanted: str) -> Exception:
        """The error for what Python asks of a value that is known only at run time."""
        if self._part.is_gone:
            error: Exception = self._part.escaped()
            return error
        text = describe(self)
        if wanted == "bool":
            return misuse.truth(text)
        if wanted == "iteration":
            return misuse.iteration(text)
        if wanted == "array":
            return misuse.host_array(text)
        return misuse.conversion(text, wanted)

    def to_numpy(self) -> Values:
        raise self._refused("array")

    item = tolist = to_numpy

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Values:
        raise self._refused("array")

    def __dlpack__(self, **options: Any) -> Any:
        raise self._refused("array")

    def __bool__(self) -> bool:
        raise self._refused("bool")

    def __int__(self) -> int:
        raise self._refused("int")

    def __float__(self) -> float:
        raise self._refused("float")

    def __complex__(self) -> complex:
        raise self._refused("complex")

    def __len__(self) -> int:
        return len(self._part)

    def __iter__(self) -> Iterator[Any]:
        if self.ndim and type(self.shape[0]) is int:
            return (self[i] for i in range(self.shape[0]))
        raise self._refused("iteration")

    def __repr__(self) -> str:
        return f"Traced({describe(self)})"
