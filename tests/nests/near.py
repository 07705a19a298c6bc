"""Floats that notice ties: derivatives are compared where a small step changes no choice.

    Near(0.3) < Near(0.3004)     TooClose
    int(Near(1.9999))            TooClose
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.nests.data import Matrix
from tests.nests.tree import TooMuch

DISTANCE, GREATEST = 1e-3, 1e3


class TooClose(TooMuch):
    """A choice that a small step could change."""


class Near(np.float64):
    """A float that was computed from arguments."""

    def __new__(cls, value: Any) -> Near:
        if not abs(float(value)) < GREATEST:
            raise TooMuch
        return super().__new__(cls, value)

    def __hash__(self) -> int:
        return hash(float(self))

    def __int__(self) -> int:
        if abs(float(self) - round(float(self))) < DISTANCE:
            raise TooClose
        return int(float(self))


def _computed(name: str) -> Callable[..., Any]:
    function = getattr(operator, name)

    def compute(a: Near, b: Any) -> Near:
        return Near(function(float(a), float(b)))

    return compute


def _reflected(name: str) -> Callable[..., Any]:
    function = getattr(operator, name)

    def compute(a: Near, b: Any) -> Near:
        return Near(function(float(b), float(a)))

    return compute


def _compared(name: str) -> Callable[..., Any]:
    function = getattr(operator, name)

    def compare(a: Near, b: Any) -> Any:
        if a is not b and abs(float(a) - float(b)) < DISTANCE:
            raise TooClose
        return np.bool_(function(float(a), float(b)))

    return compare


for _name in ("add", "sub", "mul", "truediv", "mod", "floordiv"):
    setattr(Near, f"__{_name}__", _computed(_name))
    setattr(Near, f"__r{_name}__", _reflected(_name))
for _name in ("lt", "le", "gt", "ge", "eq", "ne"):
    setattr(Near, f"__{_name}__", _compared(_name))
Near.__neg__ = lambda x: Near(-float(x))  # type: ignore[method-assign]
Near.__abs__ = lambda x: -x if x < 0 else x  # type: ignore[method-assign]


def noticing(value: Any) -> Any:
    """An argument with its floats as such floats."""
    return mapped(Near, value)


def mapped(f: Callable[[np.float64], Any], value: Any) -> Any:
    """An argument with a function of each of its floats."""
    if isinstance(value, Matrix):
        return Matrix([mapped(f, x) for x in value], value.width)
    if isinstance(value, list):
        return [mapped(f, x) for x in value]
    return f(value) if isinstance(value, np.floating) else value
