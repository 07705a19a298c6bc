"""Arguments as Python values: what NumPy has as a number, an index or a few of them.

    python_value(np.int64(1))               1
    python_value([0, np.array([1, 2])])     (0, (1, 2))
    python_numbers(np.array([[1, 2]]))      ((1, 2),)
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from flatweave.frontend.values.array import HostArray, Tracer
from flatweave.terms.syntax import Const

FEW = 128
"""Numbers that an array may hold: two for each of 64 axes."""


def python_value(value: Any) -> Any:
    """The value of a static parameter: lists, ranges and rows of integers as tuples, numbers as
    Python's.

    Whatever has `__index__` is an integer, also a traced one that is known. All else stays.
    """
    if isinstance(value, Tracer):
        return value.atom.value if isinstance(value.atom, Const) else value
    if isinstance(value, bool | int | str):
        return value
    if isinstance(value, np.ndarray | HostArray):
        is_few = not value.ndim or (value.ndim == 1 and value.dtype.kind in "iu")
        return python_value(np.asarray(value).tolist()) if is_few else value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, range) or type(value) in (list, tuple):
        return tuple(map(python_value, value))
    return operator.index(value) if hasattr(type(value), "__index__") else value


def python_numbers(value: Any) -> Any:
    """A parameter that holds a few numbers, each an argument of the program: arrays as tuples."""
    if isinstance(value, range):
        return tuple(value)
    if isinstance(value, np.ndarray | HostArray) and value.ndim and value.size <= FEW:
        return python_numbers(np.asarray(value).tolist())
    if type(value) in (list, tuple):
        return type(value)(map(python_numbers, value))
    return value
