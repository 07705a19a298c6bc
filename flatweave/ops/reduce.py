"""reduce fn ne xs:   y = ne fn xs[0] fn .. fn xs[n-1]"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from flatweave.array_ir import operators
from flatweave.array_ir.interp import Interp
from flatweave.terms.batch import Env, Values
from flatweave.terms.rules import elements_of, operator_misfits, types_misfit
from flatweave.terms.syntax import Atom, Lambda, Op, Type, op, types_of


@op
class Reduce(Op):
    """All elements combined in order by an associative operator; several arrays are a tuple.

    `neutral` stands once, to the left of everything, and need not be neutral unless `known` says
    that it is to all elements.
    """

    fn: Lambda
    neutral: tuple[Atom, ...]
    xs: tuple[Atom, ...]
    known: bool = False
    traced: ClassVar[bool] = True

    def result_types(self) -> tuple[Type, ...]:
        return types_of(self.neutral)

    def misfits(self) -> Iterator[str]:
        elements = types_of(self.neutral)
        yield from types_misfit("the neutral element", self.neutral, elements_of(self.xs, elements))
        yield from operator_misfits(self.fn, elements)

    def evaluate(self, interp: Interp, env: Env) -> Values:
        neutral = interp.atoms(env, self.neutral)
        elements = operators.elements(self.fn, interp.atoms(env, self.xs))
        return operators.reduce(interp, env, self.fn, neutral, elements)
