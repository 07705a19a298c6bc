"""LoadTile: a square of elements, of which each lane gets a row."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from flatweave.kernel_ir.op import BY_LANE, IN_LANES, KernelOp, SimulatedWarp
from flatweave.terms.batch import Env, Values
from flatweave.terms.rules import index_misfits
from flatweave.terms.syntax import Atom, BufferType, Type, Var, op


@op
class LoadTile(KernelOp):
    """A square of elements: result k is, in lane l, buffer[base + l * stride + k].

    `count` equals the number of lanes; `base` and `stride` are uniform.
    """

    buffer: Var
    base: Atom
    stride: Atom
    count: int
    stands = IN_LANES
    gives = BY_LANE

    def result_types(self) -> tuple[Type, ...]:
        assert isinstance(self.buffer.type, BufferType)
        return (self.buffer.type.dtype,) * self.count

    def misfits(self) -> Iterator[str]:
        yield from index_misfits("the place", (self.base, self.stride))
        if not isinstance(self.buffer.type, BufferType):
            yield f"{self.buffer} is no buffer"

    def simulate(self, warp: SimulatedWarp, env: Env) -> Values:
        base = warp.one(env, self.base, "the base of load_tile")
        stride = warp.one(env, self.stride, "the stride of load_tile")
        lanes = np.zeros(1, np.int64) if env.positions is None else env.positions
        first = base + lanes * stride
        return tuple(warp.load(env, self.buffer, first + k) for k in range(self.count))
