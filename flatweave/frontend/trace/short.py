"""Floats of 16 bits in a trace: read as f32, and f32 stored as them.

    widened(F16(words))            map of_f16 words
    narrowed(x: f64[n], bf16)      BF16(map to_bf16 x)
    narrowed(i: i64[n], f16)       F16(map to_f16 (map (cast f64) i)), rounded once
    stored(F16(words))             words: an argument that is a result is not copied
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from flatweave.base.dtypes import DType, as_dtype, f32, f64, i64, u16
from flatweave.frontend.values.array import Tracer
from flatweave.frontend.values.device_array import DeviceArray
from flatweave.frontend.values.scope import Scope, current
from flatweave.frontend.values.short import OF, STORED, Short, is_short, words_of
from flatweave.ops import Map
from flatweave.terms.build import index
from flatweave.terms.syntax import Atom, Var, constant

EXACT = 53
"""Bits that an f64 has room for."""


def widened(value: Any) -> Tracer:
    """Floats of 16 bits, of the trace or from outside, as f32."""
    short = lifted_short(value)
    return _each(short.words, lambda scope, x: scope.apply(f"of_{short.element.name}", x))


def narrowed(x: Tracer, dtype: DType) -> Short:
    """Numbers as floats of 16 bits, each the nearest one."""

    def one(scope: Scope, x: Atom) -> Atom:
        kind = x.type
        assert isinstance(kind, DType)
        if kind.is_integer and kind.bits == 64:
            x = _in_53_bits(scope, x)
        if kind not in (f32, f64):
            x = scope.cast(x, f64 if kind.bits > 16 else f32)
        return scope.apply(f"to_{dtype.name}", x)

    return OF[dtype](_each(x, one))


def _in_53_bits(scope: Scope, x: Atom) -> Atom:
    """An integer of 64 bits as one that an f64 holds and that rounds to the same short float: the
    bits behind its first 53 are one bit, which is set where one of them is."""
    kind = x.type
    assert isinstance(kind, DType)
    behind = constant((1 << 64 - EXACT) - 1, kind)
    shift, one = constant(64 - EXACT, kind), constant(1, kind)
    rest = scope.apply("minimum", scope.apply("and", x, behind), one)
    short = scope.apply("shl", scope.apply("or", scope.apply("shr", x, shift), rest), shift)
    size = scope.apply("abs", x) if kind is i64 else x
    fits = scope.apply("lt", size, constant(1 << EXACT, kind))
    if kind is i64:  # the least one is its own size
        fits = scope.apply("and", fits, scope.apply("ge", size, index(0)))
    return scope.apply("select", fits, x, short)


def _each(x: Tracer, fn: Callable[[Scope, Atom], Atom]) -> Tracer:
    """A function of each element."""
    scope = current()
    if not x.ndim:
        atom = fn(scope, x.atom)
        return Tracer(atom, scope.home((atom,)))

    def body(inside: Scope, params: tuple[Var, ...]) -> list[Atom]:
        return [fn(inside, *params)]

    function = scope.function([x.element], body)
    return Tracer(scope.emit(Map(function, (x.atom,), x.ndim))[0], scope)


def lifted_short(value: Any) -> Any:
    """Floats of 16 bits from outside as values of the trace; anything else as it is."""
    if isinstance(value, Short) or not is_short(value):
        return value
    scope, kind = current(), as_dtype(value.dtype)
    if isinstance(value, np.generic):
        return OF[kind](Tracer(constant(int(words_of(value)), u16), scope))
    if isinstance(value, DeviceArray):
        value = value.to_numpy()
    return OF[kind](Tracer(scope.trace.capture(words_of(value)), scope))


def stored(value: Any) -> Any:
    """A result of floats of 16 bits as words; anything else as it is."""
    found = lifted_short(value)
    return STORED[found.element](found.words) if isinstance(found, Short) else value
