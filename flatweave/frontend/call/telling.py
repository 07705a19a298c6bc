"""Parameters that may decide, by their value, what a program is: the trace must see it then.

    fw.reshape(xs, (n, -1))       the -1 is no extent; n is an argument of the program
    fw.reduce(f, 0, xs)           an initial element that is neutral to many operators
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from flatweave.base.dtypes import DTYPES

_OFTEN_NEUTRAL = frozenset({0, 1, -1, *(d.low for d in DTYPES), *(d.high for d in DTYPES)})


def _is_open(leaf: Any) -> bool:
    """Whether this is the -1 of a shape."""
    return isinstance(leaf, int | np.integer) and leaf == -1


def _is_often_neutral(leaf: Any) -> bool:
    """Whether a number is often a neutral element."""
    if type(leaf) is float:
        return leaf in (0.0, 1.0, math.inf, -math.inf)
    return type(leaf) is bool or (type(leaf) is int and leaf in _OFTEN_NEUTRAL)


TELLING: Mapping[str, Callable[[Any], bool]] = {
    "shape": _is_open,
    "initial": _is_often_neutral,
    "identity": _is_often_neutral,
}
"""Their names, and which of their values tell."""


def is_telling(name: str, leaf: Any) -> bool:
    """Whether the program depends on this value of a parameter."""
    return name in TELLING and TELLING[name](leaf)
