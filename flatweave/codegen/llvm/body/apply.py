"""Scalar functions and casts: once where all lanes agree, on the base of linear values, or wide.

    add i n       i linear, n uniform:   add of the base: still linear, one scalar instruction
    floordiv n s  s = maximum k 64:      without the care for divisors 0 and -1
    mod x 10      x = cast i64 of i32:   by a product of 32 bits
    cast i32 i    i linear:              trunc of the base, splat, + <0, 1, 2, ..>
    eq i n        i linear:              one bit of a word (body/linear.py)
    mul x y       x varying:             at the region's width, y splat
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from flatweave.base.dtypes import bool_
from flatweave.codegen.llvm.body.emitter import Emitter, Handlers, Held, scalar_type
from flatweave.codegen.llvm.body.linear import emit_one_lane, is_one_lane
from flatweave.codegen.llvm.body.shapes import UNIFORM, VARYING, Region, applied_shape
from flatweave.codegen.llvm.math.cast import cast
from flatweave.codegen.llvm.math.integers import floordiv, floordiv_by_positive, mod
from flatweave.codegen.llvm.math.scalar import emit_cast, emit_scalar
from flatweave.codegen.llvm.text.values import Value
from flatweave.terms.bounds import bounds_of
from flatweave.terms.control import Apply, Cast
from flatweave.terms.syntax import Atom, Const, Let, Op, Var

_DIVISIONS = {"floordiv": floordiv, "mod": mod}
_SHIFTS = {"shl": Value.__lshift__, "shr": Value.__rshift__}


def emit_apply(e: Emitter, let: Let) -> Sequence[Held]:
    """A scalar function."""
    op: Apply = let.op  # type: ignore[assignment]
    held = [e.hold(arg) for arg in op.args]
    dtype = scalar_type(op.args[-1].type)
    shape = UNIFORM
    if e.width > 1:
        shape = applied_shape(op, [h.shape for h in held], Region(e.width, e.zeros))
    if shape is UNIFORM and _divides(e.made, op):
        a, b = (Value(e.code, dtype, 1, h.text) for h in held)
        return (Held(UNIFORM, floordiv_by_positive(a, b).text),)
    if shape is VARYING and _divides_integers(op):
        return (Held(VARYING, _quotient(e, op)),)
    if _leaves_bits(e.made, op):
        width = e.width if shape is VARYING else 1
        texts = [e.lanes(h, dtype) if shape is VARYING else h.text for h in held]
        a, b = (Value(e.code, dtype, width, text) for text in texts)
        return (Held(shape, _SHIFTS[op.fn](a, b).text),)
    if shape is not VARYING:
        return (Held(shape, emit_scalar(e.code, op.fn, dtype, 1, [h.text for h in held])),)
    if is_one_lane(e, op.fn, held):
        return (Held(VARYING, emit_one_lane(e, op.fn, held)),)
    texts = [e.lanes(h, scalar_type(arg.type)) for h, arg in zip(held, op.args, strict=True)]
    return (Held(VARYING, emit_scalar(e.code, op.fn, dtype, e.width, texts)),)


def _divides_integers(op: Apply) -> bool:
    """Whether this is a division of integers."""
    return op.fn in _DIVISIONS and scalar_type(op.args[-1].type).is_integer


def _quotient(e: Emitter, op: Apply) -> str:
    """A division of what is known to lie within bounds."""
    dtype = scalar_type(op.args[0].type)
    a, b = (Value(e.code, dtype, e.width, e.vector(arg)) for arg in op.args)
    return _DIVISIONS[op.fn](a, b, bounds_of(e.made, op.args[0])).text


def _leaves_bits(made: Mapping[Var, Op], op: Apply) -> bool:
    """Whether this is a shift by less than all bits, whatever is computed."""
    if op.fn not in _SHIFTS:
        return False
    amount = bounds_of(made, op.args[1])
    return amount.low >= 0 and amount.high < scalar_type(op.args[0].type).bits


def _divides(made: Mapping[Var, Op], op: Apply) -> bool:
    """Whether this is a division by an integer that is computed and more than 0."""
    if op.fn != "floordiv" or isinstance(op.args[1], Const):
        return False
    return scalar_type(op.args[1].type).is_integer and _is_positive(made, op.args[1])


def _is_positive(made: Mapping[Var, Op], atom: Atom) -> bool:
    """Whether an integer is known to be more than 0 by how it was computed."""
    if isinstance(atom, Const):
        return atom.dtype.is_integer and atom.value > 0
    match made.get(atom):
        case Apply(fn="maximum", args=args):
            return any(_is_positive(made, arg) for arg in args)
        case Apply(fn="minimum", args=args):
            return all(_is_positive(made, arg) for arg in args)
    return False


def emit_convert(e: Emitter, let: Let) -> Sequence[Held]:
    """A cast."""
    op: Cast = let.op  # type: ignore[assignment]
    held, source = e.hold(op.arg), scalar_type(op.arg.type)
    if held.shape is UNIFORM:
        return (Held(UNIFORM, emit_cast(e.code, source, op.dtype, 1, held.text)),)
    if held.shape is not VARYING and op.dtype.is_integer and op.dtype is not bool_:
        return (Held(VARYING, e.spread(held, op.dtype)),)
    known = bounds_of(e.made, op.arg) if source.is_integer else None
    x = Value(e.code, source, e.width, e.lanes(held, source))
    return (Held(VARYING, cast(x, op.dtype, known).text),)


HANDLERS: Handlers = {
    Apply: emit_apply,
    Cast: emit_convert,
}
