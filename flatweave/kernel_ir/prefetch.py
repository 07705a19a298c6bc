"""Prefetch: elements that will be loaded soon."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from flatweave.kernel_ir.op import IN_LANES, KernelOp, SimulatedWarp, contents_misfit
from flatweave.terms.batch import Env, Values
from flatweave.terms.rules import index_misfits
from flatweave.terms.syntax import Atom, Var, op


@op
class Prefetch(KernelOp):
    """Asks for the elements at linear indices, which need not be there; computes nothing."""

    buffer: Var
    index: Atom
    stands = IN_LANES
    effect: ClassVar[bool] = True

    def misfits(self) -> Iterator[str]:
        yield from index_misfits("the index", (self.index,))
        yield from contents_misfit((self.buffer,))

    def simulate(self, warp: SimulatedWarp, env: Env) -> Values:
        """Nothing: a simulator has no caches."""
        return ()
