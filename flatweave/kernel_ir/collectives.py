"""What the lanes of a warp do together, and what each gets of it.

    lanes         a b c d        fn +
    reduce_lanes  a + b + c + d                       the same in all of them
    scan_lanes    a, a + b, a + b + c, a + b + c + d
    shift_lanes   fill, a, b, c
    last_lane     d                                   the same in all of them

Flags of the lanes are counted, or are a set that is asked who is in it. All lanes take part.
"""

from __future__ import annotations

from collections.abc import Iterator

from flatweave.base.dtypes import bool_, i64, u64
from flatweave.kernel_ir.op import BY_LANE, IN_LANES, SAME, KernelOp
from flatweave.terms.rules import condition_misfits, operator_misfits, starts_misfits, types_misfit
from flatweave.terms.syntax import Atom, Lambda, Type, op, types_of


@op
class ReduceLanes(KernelOp):
    """All lanes' values combined in lane order by an associative `fn` (uniform)."""

    fn: Lambda
    args: tuple[Atom, ...]
    stands = IN_LANES
    together = True
    gives = SAME

    def result_types(self) -> tuple[Type, ...]:
        return types_of(self.args)

    def misfits(self) -> Iterator[str]:
        return operator_misfits(self.fn, types_of(self.args))


@op
class ScanLanes(KernelOp):
    """Inclusive prefixes over the lanes: lane l gets the values of lanes 0 to l combined.

    With a flag in `starts`, of the lanes from the last one at or below l where it holds.
    """

    fn: Lambda
    neutral: tuple[Atom, ...]
    args: tuple[Atom, ...]
    starts: tuple[Atom, ...] = ()
    stands = IN_LANES
    together = True
    gives = BY_LANE

    def result_types(self) -> tuple[Type, ...]:
        return types_of(self.args)

    def misfits(self) -> Iterator[str]:
        yield from types_misfit("the neutral element", self.neutral, types_of(self.args))
        yield from operator_misfits(self.fn, types_of(self.args))
        yield from starts_misfits(self.starts)


@op
class ShiftLanes(KernelOp):
    """Lane l gets the value of lane l - 1; lane 0 gets `fill` (uniform)."""

    fill: tuple[Atom, ...]
    args: tuple[Atom, ...]
    stands = IN_LANES
    together = True
    gives = BY_LANE

    def result_types(self) -> tuple[Type, ...]:
        return types_of(self.args)

    def misfits(self) -> Iterator[str]:
        return types_misfit("what fills lane 0", self.fill, types_of(self.args))


@op
class LastLane(KernelOp):
    """The values of the last lane (uniform)."""

    args: tuple[Atom, ...]
    stands = IN_LANES
    together = True
    gives = SAME

    def result_types(self) -> tuple[Type, ...]:
        return types_of(self.args)


@op
class CountLanes(KernelOp):
    """In how many lanes `flag` holds (uniform i64)."""

    flag: Atom
    stands = IN_LANES
    together = True
    gives = SAME

    def result_types(self) -> tuple[Type, ...]:
        return (i64,)

    def misfits(self) -> Iterator[str]:
        return condition_misfits(self.flag)


@op
class Ballot(KernelOp):
    """The set of lanes where `flag` holds (uniform u64): bit l for lane l, of at most 64."""

    flag: Atom
    stands = IN_LANES
    together = True
    gives = SAME

    def result_types(self) -> tuple[Type, ...]:
        return (u64,)

    def misfits(self) -> Iterator[str]:
        return condition_misfits(self.flag)


@op
class InSet(KernelOp):
    """Whether this lane is in `lanes`, a set as `ballot` gives it (uniform)."""

    lanes: Atom
    stands = IN_LANES
    gives = BY_LANE

    def result_types(self) -> tuple[Type, ...]:
        return (bool_,)

    def misfits(self) -> Iterator[str]:
        return types_misfit("the set of lanes", (self.lanes,), (u64,))


@op
class SelectZero(KernelOp):
    """Lane l gets the place of bit number l among those that are 0 in `mask` (uniform u64).

    Undefined in lane l if the mask has at most l zeros.
    """

    mask: Atom
    stands = IN_LANES
    gives = BY_LANE

    def result_types(self) -> tuple[Type, ...]:
        return (i64,)

    def misfits(self) -> Iterator[str]:
        return types_misfit("the mask", (self.mask,), (u64,))
