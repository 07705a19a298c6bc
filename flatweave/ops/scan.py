"""scan fn ne xs:   ys[i] = ne fn xs[0] fn .. fn xs[i]

    scan .. starts=[flags]      ys[i] = ne fn xs[k] fn .. fn xs[i], flags[k] being the last up to i
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from flatweave.array_ir import operators
from flatweave.array_ir.interp import Interp
from flatweave.ops.rows import array_type
from flatweave.terms.batch import Env, Values, take
from flatweave.terms.rules import elements_of, operator_misfits, starts_misfits, types_misfit
from flatweave.terms.syntax import ArrayType, Atom, Lambda, Op, Type, op, types_of


@op
class Scan(Op):
    """Every prefix of a reduction; `exclusive` leaves xs[i] out, `reverse` gives every suffix.

    `neutral` stands once, to the left of everything, to the right when `reverse`; it need not be
    neutral unless `known` says that it is. `starts` may hold one array of flags, one for each
    element: a flagged element begins a segment anew, from `neutral`. In a `reverse` scan, which
    runs from the end, the flagged element of a segment is its last one.
    """

    fn: Lambda
    neutral: tuple[Atom, ...]
    xs: tuple[Atom, ...]
    exclusive: bool = False
    reverse: bool = False
    starts: tuple[Atom, ...] = ()
    known: bool = False
    traced: ClassVar[bool] = True

    def result_types(self) -> tuple[Type, ...]:
        return types_of(self.xs)

    def misfits(self) -> Iterator[str]:
        elements = types_of(self.neutral)
        yield from types_misfit("the neutral element", self.neutral, elements_of(self.xs, elements))
        yield from operator_misfits(self.fn, elements)
        rank = 1 if any(isinstance(e, ArrayType) for e in elements) else array_type(self.xs[0]).rank
        yield from starts_misfits(self.starts, rank)

    def evaluate(self, interp: Interp, env: Env) -> Values:
        """A suffix x[i] fn y[i+1] is a prefix of the reversed array under the flipped operator."""
        neutral, arrays = interp.atoms(env, self.neutral), interp.atoms(env, self.xs)
        fn, xs = self.fn, operators.elements(self.fn, arrays)
        starts = tuple(flags.reshape(-1) for flags in interp.atoms(env, self.starts))
        if self.reverse:
            fn, xs = operators.flipped(fn), take(xs, slice(None, None, -1))
            starts = take(starts, slice(None, None, -1))
        results = operators.scan(interp, env, fn, neutral, xs, self.exclusive, starts)
        if self.reverse:
            results = take(results, slice(None, None, -1))
        return tuple(y.reshape(x.shape) for y, x in zip(results, arrays, strict=True))
