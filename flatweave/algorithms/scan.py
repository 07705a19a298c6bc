"""Scan: every prefix of an array combined.

    each thread its share         a b c | d e f | g h            abc  def  gh
    scan of what threads have     after the step with distance d, element i holds the 2d values
                                  that end at i                  abc  abcdef  abcdefgh
    each thread its share again, from what is before it          a ab abc | abcd .. | .. abcdefgh

Elements are asked for twice: `force` them before if they are expensive.
"""

from __future__ import annotations

from flatweave.algorithms.operator import Operator
from flatweave.algorithms.shares import by_shares, is_one_each, partials, shares
from flatweave.kernel_ir.arrays import Pull, Push, Put, Values, choose, fold, force, level_of, push
from flatweave.kernel_ir.hierarchy import THREAD
from flatweave.terms.build import Builder, index
from flatweave.terms.syntax import Atom, Const


def scan(
    b: Builder, operator: Operator, xs: Pull, units: int = 1, *, exclusive: bool = False
) -> tuple[Push, Values]:
    """All prefixes of `xs` by `units` threads of this level, and what all elements combine to.

    Element i of the push array is xs[0] .. xs[i] combined, or with `exclusive` xs[0] .. xs[i - 1].
    In code of a thread the last is computed by a loop of its own.
    """
    shared = shares(b, xs.extent, units)
    ends = scan_units(b, operator, partials(b, operator, xs, shared))
    total = before_unit(b, operator, ends, ends.extent)
    if is_one_each(shared) and level_of(b) is not THREAD:
        found = exclusively(operator, ends) if exclusive else ends
        return push(found, level_of(b)), total

    def share(c: Builder, unit: Atom, put: Put) -> None:
        def step(d: Builder, i: Atom, before: Values) -> Values:
            after = operator.combine(d, before, xs.at(d, i))
            put(d, i, before if exclusive else after)
            return after

        lo, hi = shared.of(c, unit)
        fold(c, lo, hi, before_unit(c, operator, ends, unit), step)

    return by_shares(b, shared, share), total


def scan_units(b: Builder, operator: Operator, xs: Pull, row: int | None = None) -> Pull:
    """All prefixes of as many elements as there are threads, one for each (Hillis and Steele); with
    `row` each so many neighbours for themselves."""
    if level_of(b) is THREAD:
        return xs
    assert isinstance(xs.extent, Const)
    size, distance = row or int(xs.extent.value), 1
    rows = size < xs.extent.value
    xs = force(b, xs)
    while distance < size:
        xs = force(b, _joined(operator, xs, distance, size if rows else None))
        distance *= 2
    return xs


def _joined(operator: Operator, xs: Pull, distance: int, row: int | None) -> Pull:
    """Each element with the one so far before it, where there is one in its row."""

    def at(b: Builder, i: Atom) -> Values:
        def both(c: Builder) -> Values:
            before = xs.at(c, c.sub(i, index(distance)))
            return operator.combine(c, before, xs.at(c, i))

        number = i if row is None else b.apply("mod", i, index(row))
        return choose(b, b.apply("le", index(distance), number), both, lambda c: xs.at(c, i))

    return Pull(xs.extent, at)


def before_unit(b: Builder, operator: Operator, ends: Pull, unit: Atom) -> Values:
    """What all threads before one have, given the prefixes of what each has."""
    last = b.sub(unit, index(1))
    if isinstance(unit, Const):
        return ends.at(b, last) if unit.value > 0 else operator.neutral
    some = b.apply("lt", index(0), unit)
    return choose(b, some, lambda c: ends.at(c, last), lambda c: operator.neutral)


def exclusively(operator: Operator, ends: Pull) -> Pull:
    """The prefixes without each element itself."""
    return Pull(ends.extent, lambda b, i: before_unit(b, operator, ends, i))
