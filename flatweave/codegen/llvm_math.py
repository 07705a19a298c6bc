"""Elementary functions in LLVM: our own inlined polynomials or libmvec's, whichever is faster.

    @fw.exp.f32x16        our own, an internal function that is always inlined
    @_ZGVeN16v_powf       libmvec's, where the host has it and `OWN` does not prefer ours

A call of libmvec spills every vector register around it; inlined code shares them and its
constants with its neighbours, so ours wins at equal speed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from flatweave.base.dtypes import f32, f64
from flatweave.codegen import libmvec
from flatweave.codegen import llvm_error_functions as error_functions
from flatweave.codegen import llvm_exponentials as exponentials
from flatweave.codegen import llvm_logarithms as logarithms
from flatweave.codegen import llvm_powers as powers
from flatweave.codegen import llvm_trigonometry as trigonometry
from flatweave.codegen.llvm_values import Value, call_function

NAMES = tuple(libmvec.FUNCTIONS)

# Where our own is used though libmvec has one: measured at least as fast, alone or in a loop.
OWN = frozenset({("exp", f32), ("log", f32), ("erf", f32)})

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
    "pow": powers.pow,
    "cbrt": powers.cbrt,
    "hypot": powers.hypot,
}
_THROUGH_F64: frozenset[str] = frozenset()


def elementary(name: str, operands: Sequence[Value]) -> Value:
    """The function on values of any width."""
    first = operands[0]
    found = libmvec.find(first.body.module, name, first.dtype)
    if found is not None and (name, first.dtype) not in OWN:
        function, lanes = found
        return libmvec.call(function, lanes, operands)
    return call_function(name, _own(name), operands, "alwaysinline nounwind")


def _own(name: str) -> Callable[..., Value]:
    """Our own form of a function."""
    build = _BUILD[name]
    return _through_f64(build) if name in _THROUGH_F64 else build


def _through_f64(build: Callable[..., Value]) -> Callable[..., Value]:
    """A function of f64 that serves f32 with one rounding more."""

    def either(*xs: Value) -> Value:
        if xs[0].dtype != f32:
            return build(*xs)
        return build(*(x.convert("fpext", f64) for x in xs)).convert("fptrunc", f32)

    return either
