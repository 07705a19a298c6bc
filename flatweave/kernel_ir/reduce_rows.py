"""ReduceRows: the rows of a square, each combined to one value, which a lane of its own gets."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from flatweave.kernel_ir.op import (
    BY_LANE,
    IN_LANES,
    KernelOp,
    SimulatedWarp,
    contents_misfit,
    dtype_in,
)
from flatweave.terms.batch import Env, Values
from flatweave.terms.rules import index_misfits, operator_misfits
from flatweave.terms.syntax import Atom, Lambda, Type, Var, op


@op
class ReduceRows(KernelOp):
    """The rows of squares combined: of W lanes, lane l gets buffer[base + l * W + k] for k = 0 to
    W - 1, combined by an associative and commutative `fn`; `base` is uniform.
    """

    fn: Lambda
    buffers: tuple[Var, ...]
    base: Atom
    stands = IN_LANES
    together = True
    gives = BY_LANE

    def result_types(self) -> tuple[Type, ...]:
        return tuple(dtype_in(buffer) for buffer in self.buffers)

    def misfits(self) -> Iterator[str]:
        yield from index_misfits("the base", (self.base,))
        yield from contents_misfit(self.buffers)
        yield from operator_misfits(self.fn, self.result_types())

    def simulate(self, warp: SimulatedWarp, env: Env) -> Values:
        base = warp.one(env, self.base, "the base of reduce_rows")
        lanes = np.zeros(1, np.int64) if env.positions is None else env.positions
        places = base + lanes * len(lanes)
        columns = [
            tuple(warp.load(env, buffer, places + k) for buffer in self.buffers)
            for k in range(len(lanes))
        ]
        while len(columns) > 1:
            half = len(columns) // 2
            pairs = zip(columns[:half], columns[half:], strict=True)
            columns = [warp.apply(env, self.fn, (*a, *b)) for a, b in pairs]
        return columns[0]
