"""Elementary functions in LLVM: our own inlined polynomials, and four of libmvec's.

    @fw.exp.f32x16        our own, an internal function that is always inlined
    @_ZGVeN16v_cbrtf      libmvec's, where the host has it and it is clearly faster

A call of libmvec spills every vector register around it; inlined code shares registers and
constants with its neighbours. So ours is used unless libmvec's alone is a fifth faster.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from flatweave.base.dtypes import f32, f64
from flatweave.codegen.llvm.isa import libmvec
from flatweave.codegen.llvm.math import (
    error_functions,
    exponentials,
    logarithms,
    powers,
    trigonometry,
)
from flatweave.codegen.llvm.text.values import Value, call_function

NAMES = tuple(libmvec.FUNCTIONS)

# Nanoseconds per element on Zen 4, theirs to ours: cbrt f32 0.34 to 0.66, cbrt f64 0.95 to 1.65,
# erf f64 1.45 to 2.34, erfc f64 1.77 to 2.38.
FASTER_IN_LIBMVEC = frozenset({("cbrt", f32), ("cbrt", f64), ("erf", f64), ("erfc", f64)})

_BUILD: Mapping[str, Callable[..., Value]] = {
    "exp": exponentials.exp,
    "exp2": exponentials.exp2,
    "expm1": exponentials.expm1,
    "sinh": exponentials.sinh,
    "cosh": exponentials.cosh,
    "tanh": exponentials.tanh,
    "log": logarithms.log,
    "log2": logarithms.log2,
    "log10": logarithms.log10,
    "log1p": logarithms.log1p,
    "asinh": logarithms.asinh,
    "acosh": logarithms.acosh,
    "atanh": logarithms.atanh,
    **trigonometry.FUNCTIONS,
    "erf": error_functions.erf,
    "erfc": error_functions.erfc,
    "pow": powers.power,
    "cbrt": powers.cbrt,
    "hypot": powers.hypot,
}


def elementary(name: str, operands: Sequence[Value]) -> Value:
    """The function on values of any width."""
    first = operands[0]
    if name == "pow" and (short := powers.power_by_literal(*operands)) is not None:
        return short
    if (name, first.dtype) in FASTER_IN_LIBMVEC:
        found = libmvec.find(first.body.module.isa, name, first.dtype)
        if found is not None:
            return libmvec.call(*found, operands)
    return call_function(name, _BUILD[name], operands, "alwaysinline nounwind")
