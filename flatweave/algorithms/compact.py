"""Compact: the elements that are kept, side by side and in order.

    keep      T F T T F T F T
    elements  a b c d e f g h
    counts    each thread of its share, then of all threads before it
    gives     a c d f h             5 of them
"""

from __future__ import annotations

from flatweave.algorithms.operator import addition, as_number
from flatweave.algorithms.scan import before_unit, scan_units
from flatweave.algorithms.shares import by_shares, partials, shares
from flatweave.kernel_ir.arrays import Pull, Push, Put, Values, fold, map, when
from flatweave.terms.build import Builder
from flatweave.terms.syntax import Atom


def compact(b: Builder, keep: Pull, xs: Pull, units: int = 1) -> tuple[Push, Atom]:
    """The elements of `xs` where `keep` holds, by `units` threads of this level; and their number.

    Flags are asked for twice: `force` them before if they are expensive. The push array is as long
    as `xs`, and puts only as many elements as are kept.
    """
    kept = map(lambda c, flag: (as_number(c, flag[0]),), keep)
    shared, plus = shares(b, xs.extent, units), addition()
    ends = scan_units(b, plus, partials(b, plus, kept, shared))
    (total,) = before_unit(b, plus, ends, ends.extent)

    def share(c: Builder, unit: Atom, put: Put) -> None:
        def step(d: Builder, i: Atom, place: Values) -> Values:
            (flag,) = keep.at(d, i)
            when(d, flag, lambda e: put(e, place[0], xs.at(e, i)))
            return (d.add(place[0], as_number(d, flag)),)

        lo, hi = shared.of(c, unit)
        fold(c, lo, hi, before_unit(c, plus, ends, unit), step)

    return by_shares(b, shared, share), total
