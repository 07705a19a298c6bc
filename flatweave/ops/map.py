"""map fn xs ys:   zs[i] = fn(xs[i], ys[i])"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import ClassVar

from flatweave.array_ir.interp import Interp
from flatweave.ops.rows import array_type, row_type, under
from flatweave.terms.batch import Env, Values
from flatweave.terms.rules import function_misfits
from flatweave.terms.syntax import ArrayType, Atom, Lambda, Op, Type, op


@op
class Map(Op):
    """`fn` on the elements along the first `depth` axes of arrays of one shape.

    With depth equal to the rank an element is a scalar; with less it is an array, so maps nest.
    At a `barrier` the results are stored, and every reader loads them: nothing is fused across it.
    """

    fn: Lambda
    xs: tuple[Atom, ...]
    depth: int = 1
    barrier: bool = False
    traced: ClassVar[bool] = True

    def shape(self) -> tuple[Atom, ...]:
        return array_type(self.xs[0]).shape[: self.depth]

    def result_types(self) -> tuple[Type, ...]:
        return tuple(under(self.shape(), result) for result in self.fn.result_types())

    def misfits(self) -> Iterator[str]:
        elements = [element_type(x, self.depth) for x in self.xs]
        return function_misfits("the function", self.fn, elements)

    def evaluate(self, interp: Interp, env: Env) -> Values:
        shape = interp.shape(env, self.shape())
        size = math.prod(shape)
        columns = [x.reshape(size, *x.shape[self.depth :]) for x in interp.atoms(env, self.xs)]
        rows = interp.each(env, self.fn, columns, size)
        return tuple(row.reshape(*shape, *row.shape[1:]) for row in rows)


def element_type(atom: Atom, depth: int) -> Type:
    """The type of an element below the first `depth` axes."""
    type_: Type = array_type(atom)
    for _ in range(depth):
        assert isinstance(type_, ArrayType)
        type_ = row_type(type_)
    return type_
