"""reduce_segments fn ne starts xs:   ys[k] = ne and the x of the k-th segment, combined"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from flatweave.array_ir import operators
from flatweave.array_ir.interp import Interp
from flatweave.base.dtypes import bool_, i64
from flatweave.ops.rows import array_type
from flatweave.ops.segments import arrays_of, combine_segments
from flatweave.terms.batch import Env, Values
from flatweave.terms.rules import elements_of, operator_misfits, types_misfit
from flatweave.terms.syntax import ArrayType, Atom, Lambda, Op, Type, Var, op, types_of


@op
class ReduceSegments(Op):
    """Binds the number of segments (i64), then one array of that extent for each of `xs`.

    A segment goes from an element where `starts` holds up to the next; the first element starts
    one anyway.
    """

    fn: Lambda
    neutral: tuple[Atom, ...]
    starts: Atom
    xs: tuple[Atom, ...]
    traced: ClassVar[bool] = True

    def binders(self) -> tuple[Var, ...]:
        segments = Var("n", i64)
        return segments, *arrays_of(self.neutral, segments)

    def result_types(self) -> tuple[Type, ...]:
        return tuple(var.type for var in self.binders())

    def misfits(self) -> Iterator[str]:
        elements = types_of(self.neutral)
        (extent,) = array_type(self.xs[0]).shape
        yield from types_misfit("the starts", (self.starts,), (ArrayType(bool_, (extent,)),))
        yield from types_misfit("the neutral element", self.neutral, elements_of(self.xs, elements))
        yield from operator_misfits(self.fn, elements)

    def evaluate(self, interp: Interp, env: Env) -> Values:
        starts, *columns = interp.atoms(env, (self.starts, *self.xs))
        combined = combine_segments(interp, env, self.fn, starts, tuple(columns))
        results = operators.apply(
            interp, env, self.fn, (*interp.atoms(env, self.neutral), *combined)
        )
        return np.asarray(len(results[0])), *results
