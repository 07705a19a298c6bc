"""sort_row fn xs:   a sort as it is lowered in the program of a row, which one thread runs

    ys: u32[n] = sort_row (x: u32 => in x) [xs]

All of a row is in the caches of one core: its elements are compared with each other, and nothing
is counted beforehand.
"""

from __future__ import annotations

from collections.abc import Iterator

from flatweave.array_ir.interp import Interp
from flatweave.ops.sort import in_order, keys_misfit
from flatweave.terms.batch import Env, Values
from flatweave.terms.syntax import Atom, Lambda, Op, Type, op, types_of


@op
class SortRow(Op):
    """Arrays of rank 1 and one extent in stable ascending order of their unsigned keys."""

    fn: Lambda
    xs: tuple[Atom, ...]

    def result_types(self) -> tuple[Type, ...]:
        return types_of(self.xs)

    def misfits(self) -> Iterator[str]:
        return keys_misfit(self.fn, self.xs)

    def evaluate(self, interp: Interp, env: Env) -> Values:
        return in_order(interp, env, self.fn, self.xs)
