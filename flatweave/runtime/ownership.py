"""Whose memory an array is, and whether anybody may write to it while others read.

    is_frozen(x)      False where x, or an array that it is a view of, can be written to
    shared(x)         the same memory for good: nobody writes to it by way of what this gives

A result that is part of an argument is not copied where the argument is frozen. An array of ours
always is; NumPy's may change after the call, and the result must not.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Values = np.ndarray[Any, np.dtype[Any]]


def is_frozen(array: Values) -> bool:
    """Whether NumPy writes neither to an array nor to any that it is a view of."""
    found: Any = array
    while isinstance(found, np.ndarray):
        if found.flags.writeable:
            return False
        found = found.base
    return True


def owner_of(array: Values) -> int:
    """The object whose memory an array is a view of, by its identity."""
    found: Any = array
    while isinstance(found, np.ndarray) and found.base is not None:
        found = found.base
    return id(found)


def shared(array: Values) -> Values:
    """A read-only array over the same memory, which its owner has promised not to write to.

    The memoryview between the two is the sign of the promise: `is_frozen` does not look behind it.
    """
    if is_frozen(array):
        return array
    if array.dtype.kind == "V":  # a bfloat16, of which there is no memoryview
        return np.asarray(array.view(np.uint16).data.toreadonly()).view(array.dtype)
    return np.asarray(array.data.toreadonly())
