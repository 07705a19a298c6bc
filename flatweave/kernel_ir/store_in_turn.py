"""StoreInTurn: several values of an element side by side in memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from flatweave.kernel_ir.op import EVERYWHERE, KernelOp, SimulatedWarp, contents_misfit
from flatweave.terms.batch import Env, Values
from flatweave.terms.rules import index_misfits
from flatweave.terms.syntax import Atom, Var, op


@op
class StoreInTurn(KernelOp):
    """buffer[index * count + k] = values[k]; `streaming` as that of a store."""

    buffer: Var
    index: Atom
    values_: tuple[Atom, ...]
    streaming: bool = False
    effect: ClassVar[bool] = True
    stands = EVERYWHERE

    def misfits(self) -> Iterator[str]:
        yield from index_misfits("the index", (self.index,))
        yield from contents_misfit((self.buffer,) * len(self.values_), self.values_)

    def simulate(self, warp: SimulatedWarp, env: Env) -> Values:
        first = warp.atom(env, self.index) * len(self.values_)
        for k, value in enumerate(self.values_):
            warp.store(env, self.buffer, np.asarray(first + k), warp.atom(env, value))
        return ()
