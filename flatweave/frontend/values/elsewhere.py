"""Values that are elsewhere, or in another order: arrays on a device, views, pieces of arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

import numpy as np

from flatweave.array_ir.syntax import Fault, fault_of
from flatweave.base.errors import UserError
from flatweave.base.plan import Plan, Status
from flatweave.frontend.values.array import METHODS, HostArray, HostComplex, describe, host_array
from flatweave.frontend.values.exchange import CPU, on_device
from flatweave.frontend.values.scope import STATE
from flatweave.runtime.calls import LEAST
from flatweave.runtime.devices import cuda
from flatweave.runtime.devices.arrays import Resident

# -- pieces ---------------------------------------------------------------------------------------
#
# Pieces of a `Chunked`: rows that can be had, wherever they are, as they are or seen otherwise.


Values = np.ndarray[Any, np.dtype[Any]]


class Piece(Protocol):
    """Rows of an array that can be had, wherever they are."""

    @property
    def rows(self) -> int:
        """How many there are."""

    def load(self, begin: int, end: int) -> Values:
        """Some of them, in this process."""


class Held:
    """Rows in the memory of this process."""

    __slots__ = ("__weakref__", "values")

    def __init__(self, values: Values) -> None:
        self.values = values

    @property
    def rows(self) -> int:
        """How many there are."""
        return len(self.values)

    def load(self, begin: int, end: int) -> Values:
        """Some of them, nothing copied."""
        return self.values[begin:end]


class Several:
    """Rows of some consecutive pieces, as one."""

    __slots__ = ("parts", "rows")

    def __init__(self, parts: Sequence[tuple[Piece, int, int]]) -> None:
        self.parts = tuple(parts)
        self.rows = sum(end - begin for _, begin, end in parts)

    def load(self, begin: int, end: int) -> Values:
        """Some of them, put together."""
        found = [piece.load(*ends) for piece, *ends in self.within(begin, end)]
        return found[0] if len(found) == 1 else np.concatenate(found)

    def within(self, begin: int, end: int) -> list[tuple[Piece, int, int]]:
        """Where some of them are."""
        found, at = [], 0
        for piece, low, high in self.parts:
            first, last = max(begin - at, 0), min(end - at, high - low)
            if first < last:
                found.append((piece, low + first, low + last))
            at += high - low
        return found


class Seen:
    """A view of the rows of another piece."""

    __slots__ = ("piece",)

    def __init__(self, piece: Piece) -> None:
        self.piece = piece

    @property
    def rows(self) -> int:
        """How many there are."""
        return self.piece.rows


class Viewed(Seen):
    """The rows of a piece as elements of another dtype, in rows of another shape."""

    __slots__ = ("dtype", "row")

    def __init__(self, piece: Piece, dtype: Any, row: tuple[int, ...]) -> None:
        super().__init__(piece)
        self.dtype = np.dtype(dtype)
        self.row = row

    def load(self, begin: int, end: int) -> Values:
        """Some of them; contiguous rows are not copied."""
        return seen_as(self.piece.load(begin, end), self.dtype, self.row)


class Field(Seen):
    """One field of the records of a piece."""

    __slots__ = ("name",)

    def __init__(self, piece: Piece, name: str) -> None:
        super().__init__(piece)
        self.name = name

    def load(self, begin: int, end: int) -> Values:
        """That field of some of them."""
        return self.piece.load(begin, end)[self.name]


def loaded(parts: Sequence[tuple[Piece, int, int]]) -> list[Values]:
    """Rows of pieces, in this process; a source of several pieces loads these at once."""
    places = [getattr(piece, "place", None) for piece, *_ in parts]
    found: dict[int, Values] = {}
    for place in dict.fromkeys(filter(None, places)):
        mine = [k for k, each in enumerate(places) if each is place]
        found.update(zip(mine, place.rows([parts[k] for k in mine]), strict=True))
    return [found[k] if k in found else p.load(*ends) for k, (p, *ends) in enumerate(parts)]


def parts_of(piece: Piece, begin: int, end: int) -> list[tuple[Piece, int, int]]:
    """Rows of a piece, of those from which it has them."""
    match piece:
        case Several():
            return piece.within(begin, end)
        case Viewed(piece=Several() as inner, dtype=dtype, row=row):
            return [(Viewed(x, dtype, row), a, b) for x, a, b in inner.within(begin, end)]
        case Field(piece=Several() as inner, name=name):
            return [(Field(x, name), a, b) for x, a, b in inner.within(begin, end)]
    return [(piece, begin, end)]


def memory_behind(piece: Piece) -> list[Values]:
    """The arrays of this process that a piece reads; none of what is elsewhere."""
    match piece:
        case Held(values=values):
            return [values]
        case Several(parts=parts):
            return [values for part, _, _ in parts for values in memory_behind(part)]
        case Seen(piece=inner):
            return memory_behind(inner)
    return []


def seen_as(values: Values, dtype: np.dtype[Any], row: tuple[int, ...]) -> Values:
    """An array's memory as rows of other elements."""
    flat = np.ascontiguousarray(values).reshape(-1)
    return flat.view(dtype).reshape(len(values), *row)


# -- device array ---------------------------------------------------------------------------------
#
# Arrays that stay on a device until somebody looks at their elements.
#
#   ys = jit(f, target="cuda")(xs)      at once, the kernels may still run
#   g(ys)                               nothing is copied
#   np.asarray(ys), print(ys), ys[0]    waits, raises what went wrong in f at its line, copies once


class Teller(Protocol):
    """What was called: it knows the user's error for a fault."""

    def user_error_of(self, fault: Fault) -> UserError:
        """The error at the user's line."""


class DeviceArray(HostArray):
    """An array in a device's memory; what the host does with its elements, it does with a copy."""

    __slots__ = ("resident",)

    def __init__(self, resident: Resident) -> None:
        self.resident = resident

    @property
    def _values(self) -> Values:  # type: ignore[override]
        return self.resident.values()

    def _become(self, other: Any) -> None:
        """Let this object stand for the value of another one on the device."""
        self.resident = other.resident

    @property
    def shape(self) -> tuple[int, ...]:
        return self.resident.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.resident.dtype

    @property
    def ndim(self) -> int:
        return self.resident.ndim

    @property
    def size(self) -> int:
        return self.resident.size

    @property
    def nbytes(self) -> int:
        return self.resident.nbytes

    @property
    def device(self) -> str:
        """Where it is, as a target is named: "cuda:0"."""
        found = self.resident.device
        return f"{found.kind}:{found.number}"

    def to_device(self, device: Any, /, *, stream: Any = None) -> DeviceArray | HostArray:
        """The array itself, or for "cpu" one on the host; ArgumentError for other devices."""
        if device == self.device:
            return self
        on_device(device, "to_device")
        return HostArray(self._values)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        """What a notebook shows: it would ask for the text, too, for which elements are copied."""
        known = at_hand(self) is not None
        text = repr(self) if known else f"Array({describe(self)} on {self.device})"
        return {"text/plain": text, "text/html": self._repr_html_() or ""}

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def __iter__(self) -> Iterator[Any]:
        return iter(HostArray(self._values))

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return cuda.interface(self.resident)

    def __dlpack__(
        self, *, stream: Any = None, max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None, copy: bool | None = None,
    ) -> object:
        here = self.__dlpack_device__()
        if here[0] == CPU or (dl_device is not None and dl_device[0] == CPU):
            if here[0] != CPU and copy is False:
                raise BufferError(f"an array on {self.device} is copied to the CPU")
            return super().__dlpack__(max_version=max_version, dl_device=dl_device, copy=copy)
        if dl_device not in (None, here):
            raise BufferError(f"{self.resident.device.name} gives arrays to itself and the CPU")
        return cuda.capsule(self.resident, max_version, copy)

    def __dlpack_device__(self) -> tuple[int, int]:
        return cuda.dlpack_device(self.resident)


class HostView(HostArray):
    """An array whose elements are not in order in memory: a transpose, a part, rows repeated. Calls
    on the CPU read them where they are. For whatever else reads them they are put in order, once:
    then it is an array like any other."""

    __slots__ = ()

    def __init__(self, values: Values) -> None:
        _VALUES.__set__(self, values)

    @property
    def _values(self) -> Values:  # type: ignore[override]
        if STATE.scope is None:
            values = METHODS["stored"](in_memory(self)).to_numpy()
        else:
            values = np.array(in_memory(self), order="C")
            values.setflags(write=False)
        _VALUES.__set__(self, values)
        self.__class__ = HostArray  # type: ignore[assignment]
        return values

    def _become(self, other: Any) -> None:
        values = in_memory(other)
        _VALUES.__set__(self, values)
        self.__class__ = HostArray if values.flags.c_contiguous else HostView  # type: ignore[assignment]

    @property
    def shape(self) -> tuple[int, ...]:
        return in_memory(self).shape  # type: ignore[no-any-return]

    @property
    def dtype(self) -> np.dtype[Any]:
        return in_memory(self).dtype

    @property
    def ndim(self) -> int:
        return in_memory(self).ndim

    @property
    def size(self) -> int:
        return in_memory(self).size

    @property
    def nbytes(self) -> int:
        return in_memory(self).nbytes

    def __len__(self) -> int:
        return len(in_memory(self))


_VALUES: Any = HostArray.__dict__["_values"]  # where an array holds its values, in order or not


def in_memory(array: HostArray) -> Values:
    """The values of an array on the host where they are, which for a view is not in order."""
    values: Values = _VALUES.__get__(array)
    return values


def has_views(dtype: np.dtype[Any]) -> bool:
    """Whether programs read views of such elements: each is one scalar of theirs, as it is."""
    return dtype.kind in "biuf" and dtype != np.float16


def over(values: Values) -> HostArray:
    """An array over memory that nobody changes: a view of it, or a copy of few elements."""
    if values.flags.c_contiguous:
        return host_array(values)
    if values.size < LEAST.value or not has_views(values.dtype):
        return host_array(np.array(values, order="C"))
    values.setflags(write=False)
    return HostView(values)


def is_large(args: Sequence[Any]) -> bool:
    """Whether the first argument is an array on the host that has as many elements as a view."""
    array: Any = args[0] if args else None
    cls = type(array)
    return (cls is HostArray and array._values.size >= LEAST.value) or cls is HostView


def by_strides(move: Callable[..., Values], args: Sequence[Any], options: Any) -> object:
    """What NumPy's function makes of a large array, moving no element; NotImplemented if it cannot.
    """
    try:
        found = move(in_memory(args[0]), *args[1:], **options)
    except (IndexError, OverflowError, TypeError, ValueError):
        return NotImplemented  # our message says more
    return over(found)


HOST_ARRAYS = (HostArray, HostComplex, HostView)
"""The classes of arrays whose elements are in the memory of the host."""


def at_hand(array: HostArray) -> Values | None:
    """The values where they are in the host's memory; None where they would be copied there."""
    return array.resident.copied if type(array) is DeviceArray else array.to_numpy()


def shaped(array: HostArray, shape: tuple[int, ...]) -> HostArray:
    """The same elements under another shape, where they are; raises ValueError."""
    if type(array) is HostArray:
        return HostArray(array._values.reshape(shape))
    if type(array) is DeviceArray:
        return DeviceArray(array.resident.reshape(*shape))
    return host_array(array.to_numpy().reshape(shape).view())


def device_array(resident: Resident, teller: Teller) -> DeviceArray:
    """A result that stays where it is; `teller` is what was called for it."""
    report = resident.report
    if report is not None and report.tell is None:

        def tell(status: Status, plan: Plan) -> UserError:
            return teller.user_error_of(fault_of(status, plan))

        report.tell = tell
    return DeviceArray(resident)
