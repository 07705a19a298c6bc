"""Operands that belong to other libraries: quantities with units, labelled or lazy arrays.

    xs * [1, 2]            ours: numbers, NumPy's arrays, and what only gives its elements
    xs * quantity          the unit's library computes, with the elements as a NumPy array
    xs * series            pandas computes, and keeps the index
    xs * vector            a class with `__rmul__` is asked as Python asks it

Taking the elements of such an operand would silently lose its unit, labels, mask or laziness.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

PRIORITY = 1000  # ours; SciPy's sparse matrices and CuPy leave mixed operations to it
OURS = __name__.partition(".")[0]
PLAIN = (
    "__array__", "__array_interface__", "__array_struct__", "__cuda_array_interface__",
    "__dlpack__", "__arrow_c_array__", "__arrow_c_stream__",
)  # fmt: skip


@functools.lru_cache(maxsize=4096)
def is_foreign(cls: Any, method: str) -> bool:
    """Whether an operation belongs to an operand's class; `method` is what Python asks: `__rmul__`.

    It does where the class implements `__array_ufunc__`, or sets it to None; where its
    `__array_priority__` is higher; and where it has the method and gives no elements otherwise.
    """
    return _has_protocol(cls) or _has_method(cls, method)


def has_protocol(value: Any) -> bool:
    """Whether a value's class says by NumPy's protocols that operations belong to it."""
    cls: Any = type(value)
    return _has_protocol(cls)


def _has_method(cls: type, method: str) -> bool:
    definer = next((base for base in cls.__mro__ if method in vars(base)), None)
    if definer is None or definer in (np.ndarray, np.generic) or _is_known(definer):
        return False
    return issubclass(cls, np.ndarray) or not any(hasattr(cls, name) for name in PLAIN)


@functools.lru_cache(maxsize=4096)
def _has_protocol(cls: type) -> bool:
    if issubclass(cls, np.generic) or any(_is_ours(base) for base in cls.__mro__):
        return False
    if issubclass(cls, np.ndarray):
        return cls.__array_ufunc__ is not np.ndarray.__array_ufunc__
    if hasattr(cls, "__dlpack__"):  # plain elements, as those of JAX, PyTorch and CuPy
        return False
    return hasattr(cls, "__array_ufunc__") or getattr(cls, "__array_priority__", 0) > PRIORITY


def has_functions(cls: type) -> bool:
    """Whether a class implements `__array_function__`, unlike NumPy's arrays and ours."""
    if any(_is_ours(base) for base in cls.__mro__):
        return False
    return getattr(cls, "__array_function__", None) is not np.ndarray.__array_function__


def computed_right(
    array: Any, elements: Any, operator: Callable[[Any, Any], Any], other: Any, method: str
) -> Any:
    """`array op other` by the other's library, which is given `elements` where it does not know
    our type; NotImplemented where there are none.
    """
    if elements is None:
        return NotImplemented
    if not (has_protocol(other) or isinstance(other, np.ndarray)):
        found = getattr(type(other), method)(other, array)
        if found is not NotImplemented:
            return found
    return operator(elements, other)


def _is_ours(cls: type) -> bool:
    return cls.__module__.partition(".")[0] == OURS


def _is_known(cls: type) -> bool:
    """Whether a class is of Python's library or of this one, whose errors say more."""
    return _is_ours(cls) or cls.__module__.partition(".")[0] in sys.stdlib_module_names
