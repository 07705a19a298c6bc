"""Scalar work and structured control, the same in both IRs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from flatweave.base.dtypes import DType, bool_, i64
from flatweave.scalar import ops as scalar
from flatweave.terms.syntax import (
    ArrayType,
    Atom,
    Lambda,
    Op,
    Type,
    Var,
    condition_misfits,
    function_misfits,
    op,
    types_misfit,
    types_of,
)


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


def with_extents(
    types: Sequence[Type], extent: Callable[[int, Sequence[Var]], Atom]
) -> tuple[Var, ...]:
    """Fresh variables for results of which each array comes after its extents; `extent` says what
    result k is as an extent, given the variables so far."""
    bound: list[Var] = []
    for k, type_ in enumerate(types):
        if isinstance(type_, ArrayType):
            first = k - type_.rank
            if first < 0 or any(var.type is not i64 for var in bound[first:]):
                raise TypeError(f"before result {k}, an array, its extents are no results")
            shape = tuple(extent(i, bound) for i in range(first, k))
            type_ = ArrayType(type_.dtype, shape)
        bound.append(Var("t", type_))
    return tuple(bound)


NO_BODY = Lambda((), (), ())
"""A branch in which nothing happens."""


@op
class If(Op):
    """One of two bodies:   n: i64, ys: f32[n] = if p (() => .. in m, fs) (() => .. in k, gs)

    Before each array its extents are results. If both bodies give one extent that is known
    before them, the array's type has this extent.
    """

    condition: Atom
    then: Lambda
    other: Lambda

    def binders(self) -> tuple[Var, ...]:
        return with_extents(self.then.result_types(), self._extent)

    def _extent(self, k: int, bound: Sequence[Var]) -> Atom:
        """Result k as an extent: what both bodies give, or the variable for it."""
        given, own = self.then.results[k], {var for let in self.then.lets for var in let.vars}
        return given if given == self.other.results[k] and given not in own else bound[k]

    def misfits(self) -> Iterator[str]:
        types = self.then.result_types()
        yield from condition_misfits(self.condition)
        yield from function_misfits("the first body", self.then, ())
        yield from function_misfits("the second body", self.other, (), types)


@op
class While(Op):
    """Repeats `body` on the state while `condition` holds on it.

    With `through_memory` each iteration goes to the next element of a stored array, which bounds
    the iterations: such a loop need not check whether its program has been interrupted.
    """

    condition: Lambda
    body: Lambda
    init: tuple[Atom, ...]
    through_memory: bool = False

    def result_types(self) -> tuple[Type, ...]:
        return tuple(param.type for param in self.body.params)

    def binders(self) -> tuple[Var, ...]:
        return self.body.params

    def misfits(self) -> Iterator[str]:
        state = types_of(self.init)
        yield from function_misfits("the condition", self.condition, state, (bool_,))
        yield from function_misfits("the body", self.body, state, state)


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

    def misfits(self) -> Iterator[str]:
        counter, state = _scalar(self.lo), types_of(self.init)
        yield from types_misfit("the range", (self.hi, self.step), (counter, counter))
        if not counter.is_integer:
            yield f"the range is one of {counter}"
        yield from function_misfits("the body", self.body, (counter, *state), state)


def _scalar(atom: Atom) -> DType:
    if not isinstance(atom.type, DType):
        raise TypeError(f"{atom!r} is not a scalar")
    return atom.type
