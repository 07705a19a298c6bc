"""glibc's vector math library: which functions this host has, and calls of them at any width.

    width 4 on 16 lanes    the four values repeated four times, one call, the first four results
    width 64               four calls

Every width calls the same function, so a value's result does not depend on its neighbours.
"""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.base.dtypes import DType
from flatweave.codegen.llvm.text.module import Body, Instructions, joined, shuffle, vec
from flatweave.codegen.llvm.text.values import Value
from flatweave.runtime.systems import library, system

FUNCTIONS = {
    "exp": 1, "exp2": 1, "expm1": 1, "log": 1, "log2": 1, "log10": 1, "log1p": 1,
    "sin": 1, "cos": 1, "tan": 1, "asin": 1, "acos": 1, "atan": 1, "atan2": 2,
    "sinh": 1, "cosh": 1, "tanh": 1, "asinh": 1, "acosh": 1, "atanh": 1,
    "erf": 1, "erfc": 1, "cbrt": 1, "pow": 2, "hypot": 2,
}  # fmt: skip
_ATTRIBUTES = "nounwind willreturn memory(none)"


def symbol(name: str, letter: str, bits: int, dtype_bits: int) -> str:
    """A function's name in the library: _ZGVeN16v_expf."""
    lanes = bits // dtype_bits
    return f"_ZGV{letter}N{lanes}{'v' * FUNCTIONS[name]}_{name}{'f' if dtype_bits == 32 else ''}"


def host_libmvec(letters: Sequence[tuple[str, int]]) -> frozenset[str]:
    """The functions of the host's libmvec for registers that these letters spell."""
    found = library(system().vector_library) if system().vector_library else None
    if found is None:
        return frozenset()
    names = (
        symbol(name, letter, bits, dtype_bits)
        for letter, bits in letters
        for name in FUNCTIONS
        for dtype_bits in (32, 64)
    )
    return frozenset(name for name in names if hasattr(found, name))


def find(isa: Instructions, name: str, dtype: DType) -> tuple[str, int] | None:
    """The widest function that code may call and its lanes, or None."""
    if name not in FUNCTIONS:
        return None
    for letter, bits in isa.libmvec_letters:
        found = symbol(name, letter, bits, dtype.bits)
        if found in isa.libmvec:
            return found, bits // dtype.bits
    return None


def call(function: str, lanes: int, operands: Sequence[Value]) -> Value:
    """The function on values of any width."""
    first = operands[0]
    body, dtype, width = first.body, first.dtype, first.width
    native = vec(dtype, lanes)
    body.declare(f"{native} @{function}({', '.join([native] * len(operands))}) {_ATTRIBUTES}")
    results = []
    for start in range(0, width, lanes):
        chunks = [_chunk(x, start, lanes) for x in operands]
        listed = ", ".join(f"{native} {chunk}" for chunk in chunks)
        results.append(body.let(f"call {native} @{function}({listed})"))
    return Value(body, dtype, width, _joined(body, dtype, results, lanes, width))


def _chunk(x: Value, start: int, lanes: int) -> str:
    """`lanes` values from `start` on, repeated where there are fewer."""
    if x.is_constant:
        literal = x.text.removeprefix("splat (").removesuffix(")")
        return f"splat ({literal if x.width > 1 else f'{x.dtype.llvm} {literal}'})"
    if x.width == lanes:
        return x.text
    source, text = x.type, x.text
    if x.width == 1:
        source = vec(x.dtype, lanes)
        text = x.body.let(f"insertelement {source} poison, {x.type} {x.text}, i64 0")
    order = [0 if x.width == 1 else (start + i) % x.width for i in range(lanes)]
    return shuffle(x.body, source, text, order)


def _joined(body: Body, dtype: DType, results: Sequence[str], lanes: int, width: int) -> str:
    """The first `width` values of the results put side by side."""
    if width == 1:
        return body.let(f"extractelement {vec(dtype, lanes)} {results[0]}, i64 0")
    if width < lanes:
        return shuffle(body, vec(dtype, lanes), results[0], range(width))
    return joined(body, dtype.llvm, results, lanes)
