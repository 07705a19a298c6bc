"""Points in time and spans of it: integers for a program, with their unit for the user.

    departures: datetime64[s] of NumPy     in a function Times, whose `.ticks` is an i64[n]
    departures - departures[0]             Times of timedelta64[s]
    np.asarray(result)                     timedelta64[s] over the same memory

The unit belongs to the class, so that it decides what is compiled and costs nothing at run time.
A time that is not set (NaT) is refused where it comes in: as an integer it would be a number like
any other.
"""

from __future__ import annotations

import functools
from typing import Any, ClassVar, TypeVar

import numpy as np

from flatweave.base.errors import ArgumentError, DTypeError
from flatweave.base.pretty import counted
from flatweave.frontend.values.array import METHODS, Array
from flatweave.frontend.values.arrow_interface import capsules
from flatweave.frontend.values.exchange import Values
from flatweave.frontend.values.tree import Node

T = TypeVar("T")
POINT, SPAN = "M", "m"  # NumPy's kinds: datetime64, timedelta64


class Times(Node):
    """Times of one unit: `.ticks` are integers, which `like` makes times of this unit again."""

    __slots__ = ("ticks",)
    parts: ClassVar[tuple[str, ...]] = ("ticks",)
    irregular: ClassVar[bool] = False
    dtype: ClassVar[np.dtype[Any]]
    __array_ufunc__ = None  # NumPy leaves `array - times` to us

    def __init__(self, ticks: Any) -> None:
        self.ticks = ticks

    @classmethod
    def made(cls, *parts: Any) -> Times:
        """The times with these ticks."""
        return cls(*parts)

    @classmethod
    def like(cls, ticks: Any) -> Times:
        """Integers as times of this unit: `t.like(fw.sort(t.ticks))`."""
        return cls(ticks)

    @property
    def shape(self) -> tuple[Any, ...]:
        """The extents."""
        return tuple(self.ticks.shape)

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return int(self.ticks.ndim)

    def __len__(self) -> int:
        return len(self.ticks)

    def __getitem__(self, key: Any) -> Times:
        return self.like(METHODS["getitem"](self.ticks, key))

    def to_numpy(self) -> Values:
        """The times as NumPy has them, not copied."""
        return np.asarray(self.ticks).view(self.dtype)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Values:
        return np.asarray(self.to_numpy(), dtype, copy=copy)

    def __arrow_c_array__(self, requested_schema: Any = None) -> tuple[object, object]:
        """The times as any library of Arrow takes them, of their unit; only days are copied."""
        return capsules(METHODS["column_of"](self))

    def tolist(self) -> list[Any]:
        """The times as Python has them."""
        return list(self.to_numpy().tolist())

    def __repr__(self) -> str:
        return f"Times({self.ticks!r}, dtype={self.dtype})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self.dtype, self.ticks)

    def __add__(self, other: Any) -> Times:
        found = _operand(other, self)
        kinds = {self.dtype.kind, found.dtype.kind}
        if kinds == {POINT}:
            raise _no_meaning("a point in time plus another")
        return _kind(POINT if POINT in kinds else SPAN, self)(_apply("add", self, found))

    __radd__ = __add__

    def __sub__(self, other: Any) -> Times:
        return _difference(self, _operand(other, self))

    def __rsub__(self, other: Any) -> Times:
        return _difference(_operand(other, self), self)

    def __mul__(self, other: Any) -> Times:
        return self.like(METHODS["mul"](self._span().ticks, _whole(other)))

    __rmul__ = __mul__

    def __floordiv__(self, other: Any) -> Array | Times:
        if not _is_time(other):
            return self.like(METHODS["floordiv"](self._span().ticks, _whole(other)))
        return _apply("floordiv", self._span(), _operand(other, self)._span())

    def __neg__(self) -> Times:
        return self.like(METHODS["neg"](self._span().ticks))

    def __abs__(self) -> Times:
        return self.like(METHODS["abs"](self._span().ticks))

    def __lt__(self, other: Any) -> Array:
        return _compared("less", self, other)

    def __le__(self, other: Any) -> Array:
        return _compared("less_equal", self, other)

    def __gt__(self, other: Any) -> Array:
        return _compared("greater", self, other)

    def __ge__(self, other: Any) -> Array:
        return _compared("greater_equal", self, other)

    def __eq__(self, other: object) -> Array:  # type: ignore[override]
        return _compared("equal", self, other) if _is_time(other) else NotImplemented

    def __ne__(self, other: object) -> Array:  # type: ignore[override]
        return _compared("not_equal", self, other) if _is_time(other) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def _span(self) -> Times:
        """The same, which must be spans of time."""
        if self.dtype.kind == POINT:
            raise _no_meaning("a multiple, a part or the size of a point in time")
        return self


def is_times(value: Any) -> bool:
    """Whether a value is an array of NumPy of times, or one of them."""
    return isinstance(value, np.ndarray | np.generic) and value.dtype.kind in "Mm"


def times_of(value: Any) -> Times:
    """An array of NumPy of times, or one of them: its integers, not copied, and their unit."""
    array = np.asarray(value)
    dtype = array.dtype.newbyteorder("=")
    if np.datetime_data(dtype)[0] == "generic":
        raise DTypeError.here(
            f"times of dtype {dtype} have no unit.", 'Give them one: xs.astype("datetime64[s]").'
        )
    missing = int(np.count_nonzero(np.isnat(array)))
    if missing:
        raise ArgumentError.here(
            f"an array of dtype {dtype} holds {counted(missing, 'time')} not set (NaT), for which"
            " no integer stands.",
            "Leave them out, xs[~np.isnat(xs)], or pass the integers, xs.view(np.int64).",
        )
    ticks = array.astype(dtype, copy=False).view(np.int64)
    return times(dtype)(ticks if array.ndim else ticks[()])


@functools.cache
def times(dtype: np.dtype[Any]) -> type[Times]:
    """The class of times of a dtype; there is one for each."""
    return type("Times", (Times,), {"__slots__": (), "dtype": dtype})


def _restored(dtype: np.dtype[Any], ticks: Any) -> Times:
    """What was pickled."""
    return times(dtype)(ticks)


def _kind(kind: str, other: Times) -> type[Times]:
    """Points or spans in the unit of other times."""
    return times(np.dtype(f"{kind}8[{_unit(other.dtype)}]"))


def _unit(dtype: np.dtype[Any]) -> str:
    """`ns`, `25s`"""
    name, count = np.datetime_data(dtype)
    return name if count == 1 else f"{count}{name}"


def _is_time(value: Any) -> bool:
    return isinstance(value, Times) or is_times(value)


def _operand(value: Any, other: Times) -> Times:
    """A value that meets times, as times of the same unit."""
    if not _is_time(value):
        raise DTypeError.here(
            f"{type(value).__name__} meets times of dtype {other.dtype}.",
            "Say what it counts: np.timedelta64(1, 's'); or work on the integers, t.ticks.",
        )
    if isinstance(value, np.generic):  # a constant: in whatever unit it was written
        wanted = np.dtype(f"{value.dtype.kind}8[{_unit(other.dtype)}]")
        if value.astype(wanted) == value:
            value = value.astype(wanted)
    found = value if isinstance(value, Times) else times_of(value)
    if _unit(found.dtype) != _unit(other.dtype):
        raise DTypeError.here(
            f"times of {found.dtype} meet times of {other.dtype}.",
            f'Bring them to one unit first: xs.astype("{other.dtype}").',
        )
    return found


def _apply(name: str, a: Times, b: Times) -> Array:
    return METHODS[name](a.ticks, b.ticks)


def _difference(a: Times, b: Times) -> Times:
    if b.dtype.kind == POINT and a.dtype.kind == SPAN:
        raise _no_meaning("a span of time minus a point in time")
    is_point = a.dtype.kind == POINT and b.dtype.kind == SPAN
    return _kind(POINT if is_point else SPAN, a)(_apply("sub", a, b))


def _compared(name: str, a: Times, other: Any) -> Array:
    b = _operand(other, a)
    if a.dtype.kind != b.dtype.kind:
        raise _no_meaning("a point in time compared with a span")
    return _apply(name, a, b)


def _whole(value: T) -> T:
    """A factor or divisor, which must be an integer."""
    if _is_time(value) or np.dtype(getattr(value, "dtype", type(value))).kind not in "iub":
        raise _no_meaning("a span of time times or by anything but an integer")
    return value


def _no_meaning(what: str) -> DTypeError:
    return DTypeError.here(
        f"{what} means nothing.", "Work on the integers: t.ticks, and t.like(..) back."
    )
