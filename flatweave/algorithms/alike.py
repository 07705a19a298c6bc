"""Which lanes of a warp hold the same number: a ballot for each of its bits.

    lane        0    1    2    3            bit 0    lanes 0, 1, 3
    number      3    1    2    3            bit 1    lanes 0, 2, 3
    alike       0 3  1    2    0 3          lanes whose bits are the same in both

Code inside the lanes of a warp.
"""

from __future__ import annotations

from flatweave.algorithms.lanes import EMPTY, FIRST
from flatweave.base.dtypes import u32, u64
from flatweave.kernel_ir.syntax import Lane
from flatweave.kernel_ir.warp_ops import Ballot
from flatweave.terms.build import Builder, index
from flatweave.terms.syntax import Atom, constant


def lanes_alike(b: Builder, number: Atom, bits: int, among: Atom) -> Atom:
    """For each lane those of a set of lanes that hold the same number (u32) of so many bits."""
    found = among
    for k in range(bits):
        bit = b.apply("and", b.apply("shr", number, constant(k, u32)), constant(1, u32))
        holds = b.apply("ne", bit, constant(0, u32))
        lanes = b.emit(Ballot(holds))[0]
        found = b.apply("and", found, b.apply("select", holds, lanes, b.apply("not", lanes)))
    return found


def lanes_below(b: Builder) -> Atom:
    """For each lane the set of those before it."""
    lane = b.cast(b.emit(Lane(index(0)))[0], u64)
    return b.apply("sub", b.apply("shl", FIRST, lane), FIRST)


def is_empty(b: Builder, lanes: Atom) -> Atom:
    """Whether nobody is in a set of lanes."""
    return b.apply("eq", lanes, EMPTY)


def count_of(b: Builder, lanes: Atom) -> Atom:
    """How many lanes a set has (u32)."""
    return b.cast(b.apply("popcount", lanes), u32)
