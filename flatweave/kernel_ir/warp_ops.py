"""What the lanes of a warp do together: collectives, shuffles, and squares of elements."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from flatweave.base.dtypes import bool_, i64, u32, u64
from flatweave.base.errors import CompilerBug
from flatweave.kernel_ir import BY_LANE, IN_LANES, SAME, KernelOp, SimulatedWarp, dtype_in
from flatweave.terms.syntax import (
    Atom,
    BufferType,
    Lambda,
    Type,
    Var,
    index_misfits,
    op,
    operator_misfits,
    starts_misfits,
    types_misfit,
    types_of,
)

if TYPE_CHECKING:
    from flatweave.terms.batch import Env, Values

# What the lanes of a warp do together, and what each gets of it.
#
#     lanes         a b c d        fn +
#     reduce_lanes  a + b + c + d                       the same in all of them
#     scan_lanes    a, a + b, a + b + c, a + b + c + d
#     shift_lanes   fill, a, b, c
#     last_lane     d                                   the same in all of them
#
# Flags of the lanes are counted, or are a set that is asked who is in it. All lanes take part.


class Collective(KernelOp):
    """An operation of all lanes of a warp, whose result differs between them."""

    __slots__ = ()
    stands = IN_LANES
    together = True
    gives = BY_LANE


@op
class ReduceLanes(Collective):
    """All lanes' values combined by an associative `fn` (uniform), in lane order or `any_order`."""

    fn: Lambda
    args: tuple[Atom, ...]
    any_order: bool = False
    gives = SAME
    typed_as = "args"

    def misfits(self) -> Iterator[str]:
        return operator_misfits(self.fn, types_of(self.args))


@op
class ScanLanes(Collective):
    """Inclusive prefixes over the lanes: lane l gets the values of lanes 0 to l combined.

    With a flag in `starts`, of the lanes from the last one at or below l where it holds.
    """

    fn: Lambda
    neutral: tuple[Atom, ...]
    args: tuple[Atom, ...]
    starts: tuple[Atom, ...] = ()
    typed_as = "args"

    def misfits(self) -> Iterator[str]:
        yield from types_misfit("the neutral element", self.neutral, types_of(self.args))
        yield from operator_misfits(self.fn, types_of(self.args))
        yield from starts_misfits(self.starts)


@op
class ShiftLanes(Collective):
    """Lane l gets the value of lane l - 1; lane 0 gets `fill` (uniform)."""

    fill: tuple[Atom, ...]
    args: tuple[Atom, ...]
    typed_as = "args"

    def misfits(self) -> Iterator[str]:
        return types_misfit("what fills lane 0", self.fill, types_of(self.args))


@op
class LastLane(Collective):
    """The values of the last lane (uniform)."""

    args: tuple[Atom, ...]
    gives = SAME
    typed_as = "args"


@op
class CountLanes(Collective):
    """In how many lanes `flag` holds (uniform i64)."""

    flag: Atom
    gives = SAME
    typed_as = (i64,)


@op
class Ballot(Collective):
    """The set of lanes where `flag` holds (uniform u64): bit l for lane l, of at most 64."""

    flag: Atom
    gives = SAME
    typed_as = (u64,)


@op
class InSet(KernelOp):
    """Whether this lane is in `lanes`, a set as `ballot` gives it (uniform)."""

    lanes: Atom
    stands = IN_LANES
    gives = BY_LANE
    typed_as = (bool_,)

    def misfits(self) -> Iterator[str]:
        return types_misfit("the set of lanes", (self.lanes,), (u64,))


@op
class SelectZero(KernelOp):
    """Lane l gets the index of the l-th bit among those that are 0 in `mask` (uniform u64).

    Undefined in lane l if the mask has at most l zeros.
    """

    mask: Atom
    stands = IN_LANES
    gives = BY_LANE
    typed_as = (i64,)

    def misfits(self) -> Iterator[str]:
        return types_misfit("the mask", (self.mask,), (u64,))


# ReduceRows: the rows of a square, each combined to one value, one for each lane.


@op
class ReduceRows(Collective):
    """The rows of squares combined: of W lanes, lane l gets buffer[base + l * W + k] for k = 0 to
    W - 1, combined by an associative and commutative `fn`; `base` is uniform.
    """

    fn: Lambda
    buffers: tuple[Var, ...]
    base: Atom

    def result_types(self) -> tuple[Type, ...]:
        return tuple(dtype_in(buffer) for buffer in self.buffers)

    def misfits(self) -> Iterator[str]:
        yield from KernelOp.misfits(self)
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


# ShuffleLanes: each lane gets the values of a lane that it names. MatchLanes: lanes that agree.


@op
class ShuffleLanes(Collective):
    """Lane l gets the values of lane `source`, a number below that of the lanes in each of them.

    It is allowed in code of a thread, in a loop over as many threads as a warp has lanes.
    """

    args: tuple[Atom, ...]
    source: Atom
    stands = IN_LANES | {"thread"}
    typed_as = "args"

    def misfits(self) -> Iterator[str]:
        yield from index_misfits("the lane", (self.source,))

    def simulate(self, warp: SimulatedWarp, env: Env) -> Values:
        *columns, source = warp.columns(env, (*self.args, self.source))
        if ((source < 0) | (source >= len(source))).any():
            raise CompilerBug(f"lanes ask for lanes {np.unique(source)}, of {len(source)}.")
        return tuple(column[source] for column in columns)


# SwapLanes: lanes exchange their values in pairs.


@op
class SwapLanes(Collective):
    """Lane l gets the values of lane l xor `mask`, which is less than the number of lanes."""

    mask: int
    args: tuple[Atom, ...]
    typed_as = "args"

    def misfits(self) -> Iterator[str]:
        if self.mask < 1:
            yield f"lanes swapped by {self.mask}: it takes at least 1"

    def simulate(self, warp: SimulatedWarp, env: Env) -> Values:
        columns = warp.columns(env, self.args)
        return tuple(column[np.arange(len(column)) ^ self.mask] for column in columns)


# LoadTile: a square of elements, of which each lane gets a row.


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

    def simulate(self, warp: SimulatedWarp, env: Env) -> Values:
        base = warp.one(env, self.base, "the base of load_tile")
        stride = warp.one(env, self.stride, "the stride of load_tile")
        lanes = np.zeros(1, np.int64) if env.positions is None else env.positions
        first = base + lanes * stride
        return tuple(warp.load(env, self.buffer, first + k) for k in range(self.count))


@op
class MatchLanes(Collective):
    """For each lane the set of the lanes that hold the same `number` (u32), of which only the
    lowest `bits` bits are looked at: bit l for lane l, of at most 32 (u32).
    """

    number: Atom
    bits: int
    typed_as = (u32,)

    def misfits(self) -> Iterator[str]:
        return types_misfit("the number", (self.number,), (u32,))

    def simulate(self, warp: SimulatedWarp, env: Env) -> Values:
        numbers = warp.columns(env, (self.number,))[0] & np.uint32((1 << self.bits) - 1)
        lanes = np.uint32(1) << np.arange(len(numbers), dtype=np.uint32)
        alike = numbers[:, None] == numbers[None, :]
        return ((alike * lanes).sum(axis=1, dtype=np.uint32),)
