"""Reduce: all elements of an array combined to one.

    each thread its share       a b c | d e f | g h       abc  def  gh
    neighbours, until one is left                         abcdef  gh        abcdefgh
"""

from __future__ import annotations

from flatweave.algorithms.operator import Operator
from flatweave.algorithms.shares import fold_share, partials, shares
from flatweave.kernel_ir.arrays import Pull, Values, concat, force, level_of, part, push
from flatweave.kernel_ir.hierarchy import THREAD
from flatweave.terms.build import Builder, index
from flatweave.terms.syntax import Atom, Const


def reduce(b: Builder, operator: Operator, xs: Pull, units: int = 1) -> Values:
    """The elements of `xs` combined in order by `units` threads of this level; every thread of it
    may read the result, which is neutral where there are no elements."""
    if level_of(b) is THREAD:
        return fold_share(b, operator, xs, index(0), xs.extent)
    xs = force(b, partials(b, operator, xs, shares(b, xs.extent, units)))
    while (size := _size(xs)) > 1:
        xs = _halved(b, operator, xs, size)
    return xs.at(b, index(0)) if size else operator.neutral


def _halved(b: Builder, operator: Operator, xs: Pull, size: int) -> Pull:
    """Neighbours combined; the last of an odd number stays alone."""

    def pair(c: Builder, i: Atom) -> Values:
        first = c.mul(i, index(2))
        return operator.combine(c, xs.at(c, first), xs.at(c, c.add(first, index(1))))

    pairs = push(Pull(index(size // 2), pair), level_of(b))
    if size % 2:
        pairs = concat(b, pairs, push(part(xs, size - 1, 1), level_of(b)))
    return force(b, pairs)


def _size(xs: Pull) -> int:
    assert isinstance(xs.extent, Const)
    return int(xs.extent.value)
