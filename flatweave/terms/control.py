"""Scalar work and structured control, the same in both IRs."""

from __future__ import annotations

from flatweave.base.dtypes import DType, bool_
from flatweave.scalar import ops as scalar
from flatweave.terms.syntax import Atom, Lambda, Op, Type, Var, op


@op
class Apply(Op):
    """A scalar function of the table in `scalar/`:   z: f32 = apply add x y"""

    fn: str
    args: tuple[Atom, ...]

    def result_types(self) -> tuple[Type, ...]:
        return (scalar.result_dtype(self.fn, [_scalar(arg) for arg in self.args]),)


@op
class Cast(Op):
    """A value in another dtype, as NumPy's astype:   y: f64 = cast f64 x"""

    dtype: DType
    arg: Atom

    def result_types(self) -> tuple[Type, ...]:
        return (self.dtype,)


@op
class If(Op):
    """One of two bodies:   y = if p (() => .. in a) (() => .. in b)"""

    condition: Atom
    then: Lambda
    other: Lambda

    def result_types(self) -> tuple[Type, ...]:
        return self.then.result_types()


@op
class While(Op):
    """Repeats `body` on the state while `condition` holds on it."""

    condition: Lambda
    body: Lambda
    init: tuple[Atom, ...]

    def result_types(self) -> tuple[Type, ...]:
        return tuple(param.type for param in self.body.params)

    def binders(self) -> tuple[Var, ...]:
        return self.body.params


@op
class For(Op):
    """Repeats `body(i, state)` for i = lo, lo + step, .. below hi."""

    lo: Atom
    hi: Atom
    step: Atom
    body: Lambda
    init: tuple[Atom, ...]

    def result_types(self) -> tuple[Type, ...]:
        return tuple(param.type for param in self.body.params[1:])

    def binders(self) -> tuple[Var, ...]:
        return self.body.params[1:]


def _scalar(atom: Atom) -> DType:
    if not isinstance(atom.type, DType):
        raise TypeError(f"{atom!r} is not a scalar")
    return atom.type


def is_bool(atom: Atom) -> bool:
    return atom.type is bool_
