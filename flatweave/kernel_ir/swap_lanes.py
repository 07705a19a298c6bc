"""SwapLanes: lanes exchange their values in pairs."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from flatweave.kernel_ir.op import BY_LANE, IN_LANES, KernelOp, SimulatedWarp
from flatweave.terms.batch import Env, Values
from flatweave.terms.syntax import Atom, Type, op, types_of


@op
class SwapLanes(KernelOp):
    """Lane l gets the values of lane l xor `mask`, which is less than the number of lanes."""

    mask: int
    args: tuple[Atom, ...]
    stands = IN_LANES
    together = True
    gives = BY_LANE

    def result_types(self) -> tuple[Type, ...]:
        return types_of(self.args)

    def misfits(self) -> Iterator[str]:
        if self.mask < 1:
            yield f"lanes swapped by {self.mask}: it takes at least 1"

    def simulate(self, warp: SimulatedWarp, env: Env) -> Values:
        columns = warp.columns(env, self.args)
        return tuple(column[np.arange(len(column)) ^ self.mask] for column in columns)
