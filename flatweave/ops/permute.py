"""permute fn dest indices values:   dest with dest[indices[i]] = dest[indices[i]] fn values[i]"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from flatweave.array_ir import operators
from flatweave.array_ir.interp import Interp
from flatweave.base.dtypes import i64
from flatweave.ops.rows import array_type
from flatweave.terms.batch import Env, Values
from flatweave.terms.rules import operator_misfits, types_misfit
from flatweave.terms.syntax import ArrayType, Atom, Lambda, Op, Type, op, types_of


@op
class Permute(Op):
    """Combines values that meet at one place of rank-1 `dest` (Accelerate's permute).

    `fn` is associative and commutative; `neutral`, where given, allows private copies.
    """

    fn: Lambda
    neutral: tuple[Atom, ...]
    dest: tuple[Atom, ...]
    indices: Atom
    xs: tuple[Atom, ...]
    traced: ClassVar[bool] = True

    def result_types(self) -> tuple[Type, ...]:
        return types_of(self.dest)

    def misfits(self) -> Iterator[str]:
        elements = [array_type(x).dtype for x in self.dest]
        yield from types_misfit("the values", self.xs, types_of(self.dest))
        yield from types_misfit("the indices", (self.indices,), (ArrayType(i64, (self.indices,)),))
        yield from operator_misfits(self.fn, elements)
        if self.neutral:
            yield from types_misfit("the neutral element", self.neutral, elements)

    def evaluate(self, interp: Interp, env: Env) -> Values:
        dest, xs = interp.atoms(env, self.dest), interp.atoms(env, self.xs)
        indices = interp.atom(env, self.indices)
        return operators.scatter_reduce(interp, env, self.fn, dest, indices, xs)
