"""Complex numbers at the ends of a program: arrays of floats with one axis more.

    parts_of(pairs: f64[n, 2])                  Complex(generate [n] (i => pairs[i, 0]), ..)
    interleaved(Complex(re, im))                weave [n, 2] [re, im]
    interleaved(parts_of(pairs))                pairs: an argument that is a result is not copied

Both parts of a result are written in one pass, that which computes them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flatweave.base.dtypes import i64
from flatweave.base.errors import Unsupported
from flatweave.base.source import user_location
from flatweave.frontend.trace.extents import ONE, ZERO
from flatweave.frontend.trace.tracers import as_tracer, emit
from flatweave.frontend.values.array import Tracer
from flatweave.frontend.values.complex import Complex, Interleaved, is_complex, pairs_of
from flatweave.frontend.values.scope import Scope, current
from flatweave.ops import Generate, Index, Weave
from flatweave.terms.build import index
from flatweave.terms.syntax import Atom, Var

TWO = index(2)


def parts_of(pairs: Tracer, weak: bool = False) -> Complex:
    """The complex numbers of an array of floats whose last axis has the extent 2."""
    shape = pairs.extents[:-1]

    def part(number: Atom) -> Tracer:
        return _generated(shape, lambda *at: emit(Index(pairs.atom, (*at, number), False))[0])

    parts = part(ZERO), part(ONE)
    pairs.scope.trace.pairs[parts[0].atom, parts[1].atom] = pairs.atom
    if weak:
        return Complex(*(Tracer(each.atom, each.scope, weak=True) for each in parts))
    return Complex(*parts)


def read_again(z: Complex) -> Complex:
    """The same numbers; where they are those of an argument they are read here once more, so that
    nothing is stored before a branch that reads them."""
    known = z.real.scope.trace.pairs.get((z.real.atom, z.imag.atom))
    return z if known is None else parts_of(Tracer(known, current().home((known,))))


def interleaved(value: Any) -> Any:
    """A complex result as the array of floats that it is in memory; anything else as it is."""
    found = value if isinstance(value, Complex) else lifted(value)
    if not isinstance(found, Complex):
        return value
    real, imag = found.real, found.imag
    if not isinstance(real, Tracer):
        raise Unsupported(
            "rows of complex numbers that may differ in length.",
            where=user_location(),
            remedy="Return their parts, fw.real(z) and fw.imag(z); functions of fw.linalg and"
            " fw.fft take stacks of arrays as they are.",
        )

    passed = real.scope.trace.pairs.get((real.atom, imag.atom))
    if passed is not None:
        return Interleaved(Tracer(passed, current().home((passed,))))

    if real.ndim and not current().is_mapped:
        pairs = Weave((*real.extents, TWO), (real.atom, imag.atom))
        return Interleaved(emit(pairs)[0])

    def part(*at: Atom) -> Tracer:
        scope, parts = current(), (_read(real, at[:-1]), _read(imag, at[:-1]))
        is_real = scope.apply("eq", at[-1], ZERO)
        atom = scope.apply("select", is_real, *(each.atom for each in parts))
        return Tracer(atom, scope.home((atom,)))

    return Interleaved(_generated((*real.extents, TWO), part))


def lifted(value: Any) -> Any:
    """A complex array or number from outside as a value of the trace; anything else as it is."""
    if isinstance(value, Complex):
        return value
    if type(value) is complex:
        return Complex(as_tracer(value.real), as_tracer(value.imag))
    if is_complex(value):
        scope = current()
        return parts_of(Tracer(scope.trace.capture(pairs_of(value), pairs=True), scope))
    return value


def _read(array: Tracer, at: tuple[Atom, ...]) -> Tracer:
    return emit(Index(array.atom, at, checked=False))[0] if array.ndim else array


def _generated(shape: tuple[Atom, ...], fn: Callable[..., Tracer]) -> Tracer:
    """An array from a function of its indices, which are inside."""
    if not shape:
        return fn()

    def body(inside: Scope, params: tuple[Var, ...]) -> list[Atom]:
        for param, extent in zip(params, shape, strict=True):
            inside.natural.add(param)
            inside.trace.bounds[param] = extent
        return [fn(*params).atom]

    function = current().function([i64] * len(shape), body, "i")
    return emit(Generate(tuple(shape), function))[0]
