"""Warps by their number, and which part of a block each of them walks over."""

from __future__ import annotations

from flatweave.kernel_ir.syntax import WarpIndex
from flatweave.lower.machine.machine import Machine
from flatweave.terms.build import Builder, index
from flatweave.terms.syntax import Atom


def warp_index(b: Builder, machine: Machine) -> Atom:
    """The warp's number in its block; 0 where a block has one warp."""
    return index(0) if machine.warps == 1 else b.emit(WarpIndex())[0]


def slot_of_warp(b: Builder, machine: Machine, block: Atom) -> Atom:
    """The number of this warp among all warps of the grid."""
    return b.add(b.mul(block, index(machine.warps)), warp_index(b, machine))


def warp_share(
    b: Builder, machine: Machine, lo: Atom, hi: Atom, width: int
) -> tuple[Atom, Atom, Atom]:
    """Where this warp starts and stops walking, and where its part of lo to hi ends.

    All warps of a block take the same number of steps, so that a barrier may stand in one; the
    parts lie side by side in the order of the warps, and a warp whose part is short idles.
    """
    step = width * machine.warps
    steps = b.apply("floordiv", b.add(b.sub(hi, lo), index(step - 1)), index(step))
    part = b.mul(steps, index(width))
    ahead = b.mul(warp_index(b, machine), part)
    first = b.apply("minimum", b.add(lo, ahead), hi)
    end = b.add(first, part)
    return first, end, b.apply("minimum", end, hi)
