"""Rows of elementary functions on floats; integers are promoted to floats first.

    exp(f32) = f32, computed here through f64 and rounded once; targets stay within `ulps` of it

sqrt and rsqrt are the same bits everywhere on CPUs: IEEE square root, then IEEE division.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from flatweave.scalar import c_text as c
from flatweave.scalar.function import Meaning, ScalarFn, Values


def _rsqrt(x: Values) -> Values:
    """1 / sqrt(x)."""
    return np.asarray(np.divide(x.dtype.type(1), np.sqrt(x)))


def _in_double(function: Callable[..., Values]) -> Meaning:
    """A function of f64 that serves f32 with one rounding more."""
    return lambda *xs: function(*(x.astype(np.float64) for x in xs)).astype(xs[0].dtype)


def _each(function: Callable[[float], float]) -> Callable[[Values], Values]:
    """A function of Python floats, element by element."""
    ufunc = np.frompyfunc(function, 1, 1)
    return lambda x: np.asarray(ufunc(x), dtype=np.float64)


def _row(name: str, function: Callable[..., Values], cost: int, arity: int = 1) -> ScalarFn:
    """The row of a function whose C name is our name."""
    return ScalarFn(
        name, arity, "f", _in_double(function), c=c.call(name, arity), promotion="float",
        ulps=4, cost=cost, commutative=name == "hypot",
    )


ROWS = (
    ScalarFn("sqrt", 1, "f", np.sqrt, c=c.call("sqrt"), promotion="float", cost=8),
    ScalarFn("rsqrt", 1, "f", _rsqrt, c=c.plain("(1 / sqrt({0}))"), promotion="float", cost=14),
    _row("cbrt", np.cbrt, 20),
    _row("exp", np.exp, 14),
    _row("exp2", np.exp2, 12),
    _row("expm1", np.expm1, 18),
    _row("log", np.log, 16),
    _row("log2", np.log2, 16),
    _row("log10", np.log10, 16),
    _row("log1p", np.log1p, 20),
    _row("sin", np.sin, 18),
    _row("cos", np.cos, 18),
    _row("tan", np.tan, 24),
    _row("asin", np.arcsin, 20),
    _row("acos", np.arccos, 20),
    _row("atan", np.arctan, 20),
    _row("atan2", np.arctan2, 28, arity=2),
    _row("sinh", np.sinh, 24),
    _row("cosh", np.cosh, 20),
    _row("tanh", np.tanh, 20),
    _row("asinh", np.arcsinh, 30),
    _row("acosh", np.arccosh, 30),
    _row("atanh", np.arctanh, 30),
    _row("erf", _each(math.erf), 20),
    _row("erfc", _each(math.erfc), 34),
    _row("hypot", np.hypot, 14, arity=2),
)
