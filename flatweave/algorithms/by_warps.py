"""Reduce and scan by the warps of a block, each in steps of its lanes.

    each warp its share      a b c d e f | g h i j k l        abcdef  ghijkl
    scan of what warps have                                   abcdef  abcdefghijkl
    each warp its share, from what is before it, again        a ab .. | abcdefg ..

The same as `reduce` and `scan`, where a machine's warps can combine what their lanes have. Code of
a block; `width` is the number of lanes of a warp.
"""

from __future__ import annotations

from flatweave.algorithms.lanes import reduce_in_lanes, scan_in_lanes
from flatweave.algorithms.operator import Operator
from flatweave.algorithms.reduce import reduce
from flatweave.algorithms.scan import before_unit, scan_units
from flatweave.algorithms.shares import Shares
from flatweave.kernel_ir.arrays import (
    Pull,
    Push,
    Put,
    Values,
    concat_units,
    for_all,
    force,
    level_of,
    part,
)
from flatweave.kernel_ir.hierarchy import WARP
from flatweave.terms.build import Builder, index
from flatweave.terms.syntax import Atom


def reduce_by_warps(b: Builder, operator: Operator, xs: Pull, warps: int, width: int) -> Values:
    """The elements of `xs` combined in order; every thread of the block may read the result."""
    return reduce(b, operator, _of_warps(b, operator, xs, warps, width), warps)


def scan_by_warps(
    b: Builder, operator: Operator, xs: Pull, warps: int, width: int, *, exclusive: bool = False
) -> tuple[Push, Values]:
    """All prefixes of `xs`, and what all elements combine to."""
    shared = _shares(b, xs.extent, warps, width)
    ends = scan_units(b, operator, _of_warps(b, operator, xs, warps, width))

    def write(c: Builder, put: Put) -> None:
        def share(d: Builder, warp: Atom) -> None:
            lo, hi = shared.of(d, warp)
            mine, most = part(xs, lo, d.sub(hi, lo)), shared.each
            before = before_unit(d, operator, ends, warp)

            def put_there(e: Builder, i: Atom, values: Values) -> None:
                put(e, e.add(lo, i), values)

            scan_in_lanes(d, operator, mine, width, before, put_there, most, exclusive=exclusive)

        for_all(c, WARP, warps, share)

    return Push(xs.extent, level_of(b), write), before_unit(b, operator, ends, index(warps))


def _shares(b: Builder, extent: Atom, warps: int, width: int) -> Shares:
    """Whole steps for every warp but the last ones."""
    step = warps * width
    steps = b.apply("floordiv", b.add(extent, index(step - 1)), index(step))
    return Shares(extent, warps, b.mul(steps, index(width)))


def _of_warps(b: Builder, operator: Operator, xs: Pull, warps: int, width: int) -> Pull:
    """What the elements of each warp combine to, in the memory of the block."""
    shared = _shares(b, xs.extent, warps, width)

    def one(c: Builder, warp: Atom) -> Push:
        lo, hi = shared.of(c, warp)
        mine = part(xs, lo, c.sub(hi, lo))
        total = reduce_in_lanes(c, operator, mine, width, shared.each)
        return Push(index(1), WARP, lambda d, put: put(d, index(0), total))

    return force(b, concat_units(b, WARP, warps, 1, one))
