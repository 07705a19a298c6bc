"""fold extent body fn neutral:   neutral fn body(0) fn .. fn body(extent-1), inside an element"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from flatweave.array_ir import operators
from flatweave.array_ir.interp import Interp
from flatweave.base.dtypes import i64
from flatweave.terms.batch import Env, Values, assign, spread, take
from flatweave.terms.rules import function_misfits, index_misfits, operator_misfits
from flatweave.terms.syntax import Atom, Lambda, Op, Type, op, types_of

BATCH = 1 << 16  # positions that the interpreter evaluates at once


@op
class Fold(Op):
    """A reduction inside an element function, its input computed on the fly and never stored."""

    extent: Atom
    body: Lambda
    fn: Lambda
    neutral: tuple[Atom, ...]
    batched: ClassVar[bool] = True

    def result_types(self) -> tuple[Type, ...]:
        return types_of(self.neutral)

    def misfits(self) -> Iterator[str]:
        elements = types_of(self.neutral)
        yield from index_misfits("the extent", (self.extent,))
        yield from function_misfits("the body", self.body, (i64,), elements)
        yield from operator_misfits(self.fn, elements)

    def evaluate(self, interp: Interp, env: Env) -> Values:
        """In rounds, each as long as the shortest of the folds that are not finished."""
        size = 1 if env.size is None else env.size
        extents = spread([interp.atom(env, self.extent)], size)[0]
        neutral = spread(interp.atoms(env, self.neutral), size)
        totals, done = tuple(column.copy() for column in neutral), np.zeros(size, np.int64)
        while (active := np.flatnonzero(done < extents)).size:
            left = int((extents - done)[active].min())
            count = min(left, max(1, BATCH // active.size))
            groups = np.repeat(active, count)
            positions = done[groups] + np.tile(np.arange(count), active.size)
            xs = spread(interp.call(env.take(groups), self.body, [positions]), groups.size)
            xs = operators.combine(interp, env, self.fn, groups, xs)
            args = (*take(totals, active), *xs)
            assign(totals, active, interp.call(env.take(active), self.fn, args))
            done[active] += count
        return totals if env.size is not None else tuple(total.reshape(()) for total in totals)
