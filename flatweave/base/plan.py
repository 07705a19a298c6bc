"""What the runtime must know of a compiled program: how arguments go in and results come out.

Slots are eight bytes each. Every parameter takes one (a pointer, or a scalar in the low bytes);
then come the results: a scalar takes one slot, an array two (data and owner) and one more for each
extent that is not known beforehand. A run ends with a status.
"""

from __future__ import annotations

from collections.abc import Mapping

from flatweave.base.dtypes import DType
from flatweave.base.host_functions import HostCall
from flatweave.base.records import record
from flatweave.base.source import Location

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
