"""How n elements are shared among threads: each has neighbours, in order.

    n = 10, 4 threads     0 1 2 | 3 4 5 | 6 7 8 | 9
"""

from __future__ import annotations

from collections.abc import Callable

from flatweave.algorithms.operator import Operator
from flatweave.base.records import record
from flatweave.kernel_ir.arrays import Pull, Push, Put, Values, fold, for_all, level_of
from flatweave.kernel_ir.hierarchy import THREAD
from flatweave.terms.build import Builder, index
from flatweave.terms.syntax import Atom, Const


@record(eq=True)
class Shares:
    """`extent` elements among `units` threads, `each` to every one but the last ones."""

    extent: Atom
    units: int
    each: Atom

    def of(self, b: Builder, unit: Atom) -> tuple[Atom, Atom]:
        """From where to where the elements of a thread go."""
        lo = b.apply("minimum", b.mul(unit, self.each), self.extent)
        return lo, b.apply("minimum", b.add(lo, self.each), self.extent)


def shares(b: Builder, extent: Atom, units: int) -> Shares:
    """All elements among `units` threads, or all for the one whose code this is."""
    if isinstance(extent, Const):
        units = max(1, min(units, int(extent.value)))
    if level_of(b) is THREAD or units == 1:
        return Shares(extent, 1, extent)
    each = b.apply("floordiv", b.add(extent, index(units - 1)), index(units))
    return Shares(extent, units, each)


def is_one_each(shared: Shares) -> bool:
    """Whether it is known that no thread has more than one element."""
    return isinstance(shared.extent, Const) and shared.extent.value <= shared.units


def fold_share(b: Builder, operator: Operator, xs: Pull, lo: Atom, hi: Atom) -> Values:
    """Elements lo to hi of an array combined by one thread, in order."""

    def step(c: Builder, i: Atom, before: Values) -> Values:
        return operator.combine(c, before, xs.at(c, i))

    return fold(b, lo, hi, operator.neutral, step)


def partials(b: Builder, operator: Operator, xs: Pull, shared: Shares) -> Pull:
    """What the elements of each thread combine to: one for each."""
    if is_one_each(shared):
        return xs
    return Pull(
        index(shared.units), lambda c, unit: fold_share(c, operator, xs, *shared.of(c, unit))
    )


def by_shares(b: Builder, shared: Shares, share: Callable[[Builder, Atom, Put], None]) -> Push:
    """The push array in which each thread puts the elements of its share."""
    level = level_of(b)

    def write(c: Builder, put: Put) -> None:
        if level is THREAD:
            share(c, index(0), put)
        else:
            for_all(c, THREAD, shared.units, lambda d, unit: share(d, unit, put))

    return Push(shared.extent, level, write)
