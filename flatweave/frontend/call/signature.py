"""Arguments of a call: what decides which program runs, and what that program is given.

    xs: f32[3, 4], 2.5       key (float32, 2, float)      flat [3, 4, xs, 2.5]
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from flatweave.base.dtypes import as_dtype, bool_, c128, f64, i64
from flatweave.frontend.call.on import PLACE
from flatweave.frontend.call.special import TAKEN, UnitAxes
from flatweave.frontend.trace.trace import Leaf
from flatweave.frontend.values.array import HostArray, Tracer
from flatweave.frontend.values.chunked import Chunked
from flatweave.frontend.values.complex import is_complex, pairs_of
from flatweave.frontend.values.device_array import DeviceArray
from flatweave.frontend.values.foreign_values import is_lazy, on_gpu
from flatweave.frontend.values.interop import no_array, values_of
from flatweave.frontend.values.promotion import literal_dtype
from flatweave.frontend.values.short import is_short, words_of
from flatweave.runtime.door import opened

NUMBERS = {bool: bool_, int: i64, float: f64}


def plain(value: Any, name: str, otherwise: str = "") -> Any:
    """An argument's leaf as a C-contiguous array, of NumPy or on a device, or a Python number.

    Raises ArgumentError for what is neither, `otherwise` being what to do about it;
    EscapedArrayError for a traced array.
    """
    if isinstance(value, Tracer):
        raise value.escaped()
    if isinstance(value, DeviceArray) and value.ndim:
        return value.resident
    if type(value) is Chunked:
        return value
    if type(value) in NUMBERS:
        literal_dtype(value)
        return value
    if type(value) is complex:
        return value
    if isinstance(value, int | float) and not isinstance(value, np.generic):  # an IntEnum's member
        return plain(int(value) if isinstance(value, int) else float(value), name)
    if not isinstance(value, np.ndarray | HostArray):
        if PLACE.get() is not None and is_lazy(value) and value.ndim:
            return opened("collections").from_dask(value)  # computed where its blocks are
        on_device = on_gpu(value, name)
        if on_device is not None:
            return on_device if on_device.ndim else on_device.values()
    values = values_of(value, name)
    if values is None:
        raise no_array(value, name, otherwise)
    return values


def key_of(value: Any) -> tuple[Any, ...]:
    """What a leaf adds to the key of its signature."""
    if isinstance(value, TAKEN):
        return (value.dtype, value.ndim, *[Chunked] * isinstance(value, Chunked))
    if type(value) is complex:
        return (complex,)
    return (type(value) if literal_dtype(value) is not as_dtype(np.uint64) else np.uint64,)


def identity(value: Any) -> Any:
    """A static value as a key: equal for values that no program can tell apart, and only for those.

    Python holds 1, True and 1.0 for equal, and 0.0 and -0.0, alone and inside of tuples, frozen
    sets and frozen dataclasses; and a NaN for unequal to itself.
    """
    cls = type(value)
    if isinstance(value, float):  # also np.float64
        return cls, float(value).hex()
    if isinstance(value, complex):
        return cls, value.real.hex(), value.imag.hex()
    if isinstance(value, np.generic):
        return cls, value.dtype, value.tobytes()
    if isinstance(value, slice):
        return cls, identity((value.start, value.stop, value.step))
    if isinstance(value, tuple):
        return cls, tuple(identity(part) for part in value)
    if isinstance(value, frozenset):
        return cls, frozenset(identity(part) for part in value)
    if _is_frozen(cls):
        fields = [f for f in dataclasses.fields(value) if (f.compare if f.hash is None else f.hash)]
        return cls, tuple(identity(getattr(value, field.name)) for field in fields)
    return cls, value


def _is_frozen(cls: type) -> bool:
    """Whether a class is a dataclass whose values are compared by their fields and never change."""
    made = getattr(cls, "__dataclass_params__", None)
    return made is not None and made.frozen and made.eq


def flat_of(values: Sequence[Any]) -> list[Any]:
    """The program's arguments for leaves: extents and array in turn, scalars as they are."""
    flat: list[Any] = []
    for value in values:
        if is_complex(value):
            value = pairs_of(value)
        elif is_short(value):
            value = words_of(value)
        if isinstance(value, TAKEN):
            flat.extend(value.shape)
            flat.append(value if isinstance(value, Chunked) or value.ndim else value[()])
        else:
            flat.append(value)
    return flat


def leaves_of(
    values: Sequence[Any], names: Sequence[tuple[str, str]], unit_axes: UnitAxes
) -> list[Leaf]:
    """The leaves as the trace sees them; `names` are each one's name and origin."""
    leaves: list[Leaf] = []
    number = -1
    for value, (name, origin) in zip(values, names, strict=True):
        if type(value) is complex:
            number += 1
            leaves.append(Leaf(c128, name, origin, weak=True))
            continue
        if not isinstance(value, TAKEN):
            dtype = literal_dtype(value)
            leaves.append(Leaf(dtype, name, origin, weak=dtype is not bool_))
            continue
        dtype = as_dtype(value.dtype)
        if value.ndim or dtype.is_complex:
            number += 1
        ones = frozenset(axis for n, axis in unit_axes if n == number and value.ndim)
        leaves.append(Leaf(dtype, name, origin, value.shape, ones=ones))
    return leaves


def stand_in(value: Any) -> Any:
    """A placeholder of the same dtype and shape that takes no memory."""
    if isinstance(value, TAKEN):
        return np.broadcast_to(np.zeros((), value.dtype), value.shape)
    return value
