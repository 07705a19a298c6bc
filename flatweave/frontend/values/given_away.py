"""Arrays that a call was given for good: nobody uses them afterwards.

    step = fw.jit(f, donate="xs")
    ys = step(xs)                     written where xs was
    xs + 1                            EscapedArrayError: xs was given away, to step, in line 2

An array becomes one of these where it stands: whoever holds it finds out.
"""

from __future__ import annotations

from typing import Any

from flatweave.base.errors import EscapedArrayError
from flatweave.base.source import Location, user_location
from flatweave.frontend.values.array import HostArray, HostComplex
from flatweave.frontend.values.device_array import DeviceArray

_VALUES: Any = HostArray.__dict__["_values"]  # where a call is kept that an array was given to
_RESIDENT: Any = DeviceArray.__dict__["resident"]


def give_away(array: HostArray, who: str, where: Location | None) -> None:
    """Let nobody use an array from now on, as it was given to a call of `who`."""
    if isinstance(array, GivenAway | GivenAwayOnDevice):
        raise _used(array)
    if isinstance(array, DeviceArray):
        array.__class__ = GivenAwayOnDevice
        _RESIDENT.__delete__(array)
    else:
        array.__class__ = GivenAway
    _VALUES.__set__(array, (who, where))


class GivenAway(HostComplex):
    """An array of the host that was given to a call."""

    __slots__ = ()

    @property
    def _values(self) -> Any:  # type: ignore[override]
        raise _used(self)

    def _repr_html_(self) -> None:
        """Nothing but the text."""

    def __repr__(self) -> str:
        return _shown(self)

    __str__ = __repr__


class GivenAwayOnDevice(DeviceArray):
    """An array on a device that was given to a call."""

    __slots__ = ()

    @property
    def resident(self) -> Any:  # type: ignore[override]
        raise _used(self)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/plain": _shown(self)}

    def _repr_html_(self) -> None:
        """Nothing but the text."""

    def __repr__(self) -> str:
        return _shown(self)

    __str__ = __repr__


def _used(array: HostArray) -> EscapedArrayError:
    who, where = _VALUES.__get__(array)
    place = f" at {where}" if where is not None and where.is_known else ""
    return EscapedArrayError(
        f"an array is used after it was given away, to {who}{place}.",
        where=user_location(),
        remedy=f"Go on with what {who} returned. To keep the array, give a copy,"
        " fw.asarray(xs, copy=True), or leave it out of donate.",
        more="given-away",
    )  # fmt: skip


def _shown(array: HostArray) -> str:
    who, where = _VALUES.__get__(array)
    place = f" at {where}" if where is not None and where.is_known else ""
    return f"<an array given away, to {who}{place}>"
