"""ShuffleLanes: each lane gets the values of a lane that it names."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from flatweave.base.errors import CompilerBug
from flatweave.kernel_ir.op import BY_LANE, IN_LANES, KernelOp, SimulatedWarp
from flatweave.terms.batch import Env, Values
from flatweave.terms.rules import index_misfits
from flatweave.terms.syntax import Atom, Type, op, types_of


@op
class ShuffleLanes(KernelOp):
    """Lane l gets the values of lane `source`, a number below that of the lanes in each of them.

    It may stand in code of a thread, in a loop over as many threads as a warp has lanes.
    """

    args: tuple[Atom, ...]
    source: Atom
    stands = IN_LANES | {"thread"}
    together = True
    gives = BY_LANE

    def result_types(self) -> tuple[Type, ...]:
        return types_of(self.args)

    def misfits(self) -> Iterator[str]:
        yield from index_misfits("the lane", (self.source,))

    def simulate(self, warp: SimulatedWarp, env: Env) -> Values:
        *columns, source = warp.columns(env, (*self.args, self.source))
        if ((source < 0) | (source >= len(source))).any():
            raise CompilerBug(f"lanes ask for lanes {np.unique(source)}, of {len(source)}.")
        return tuple(column[source] for column in columns)
