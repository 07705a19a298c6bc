"""Where the data of an array is.

`__array_interface__` says it in 1 us, which is a tenth of a small call. In NumPy's C interface it
is the field behind the object's head, which every extension has compiled in (PyArray_DATA), so it
never moves; reading that takes 0.2 us. An interpreter whose objects are not in memory where `id`
says takes the long way.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

Values = np.ndarray[Any, np.dtype[Any]]
_HEAD = object.__basicsize__
_field = ctypes.c_void_p.from_address


def stated_address(array: Values) -> int:
    """What NumPy says of itself."""
    found: int = array.__array_interface__["data"][0]
    return found


def _read_address(array: Values) -> int:
    return _field(id(array) + _HEAD).value or 0


def _is_there() -> bool:
    """Whether the field is where it is expected, for an array and for a part of it."""
    array = np.arange(6)
    try:
        return all(_read_address(some) == stated_address(some) for some in (array, array[2:]))
    except (AttributeError, ValueError):
        return False


address_of = _read_address if _is_there() else stated_address
