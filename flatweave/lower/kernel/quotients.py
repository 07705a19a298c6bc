"""Neighbouring positions divided by a constant: few quotients, and near each other.

    positions 22 .. 29 by 3:    first = 22 // 3 = 7    rest = 22 - 7 * 3 = 1
                                places = rest + lane    1 2 3 4 5 6 7 8
                                offsets = places // 3   0 0 1 1 1 2 2 2
                                quotients = first + offsets

Only one number is divided; the offsets of a step are so small that a product and a shift find them.
What is read at the quotients lies close together, so that one load brings it for all lanes.
"""

from __future__ import annotations

from flatweave.base.dtypes import i64
from flatweave.base.records import record
from flatweave.lower.machine.machine import WIDEST
from flatweave.lower.traverse.row_of_position import Near
from flatweave.terms.build import Builder, index
from flatweave.terms.syntax import Atom, Const

FRACTION = 16
"""Bits behind the point of a reciprocal: exact for divisors and places below 2 * WIDEST."""
assert 2 * WIDEST * WIDEST < 1 << FRACTION


@record
class Quotient:
    """The quotient of each position of a step, its remainder, and the same as near numbers."""

    quotient: Atom
    remainder: Atom
    near: Near


def divide(b: Builder, base: Atom, flat: Atom, width: int, divisor: int) -> Quotient:
    """The positions `flat`, on lanes from `base` on, divided by a constant above 1."""
    by = index(divisor)
    first = b.apply("floordiv", base, by)
    start = b.mul(first, by)
    places = b.sub(flat, start)
    offsets = _small_quotient(b, places, width, divisor)
    last = b.sub(b.add(base, index(width - 1)), start)
    span = _small_quotient(b, last, width, divisor)
    remainder = b.sub(places, b.mul(offsets, by))
    return Quotient(b.add(first, offsets), remainder, Near(first, offsets, span))


def _small_quotient(b: Builder, place: Atom, width: int, divisor: int) -> Atom:
    """place // divisor, for 0 <= place < divisor + width."""
    if divisor >= width:
        return b.cast(b.apply("ge", place, index(divisor)), i64)
    if divisor & (divisor - 1) == 0:
        return b.apply("shr", place, index(divisor.bit_length() - 1))
    reciprocal = index(-(-(1 << FRACTION) // divisor))
    return b.apply("shr", b.mul(place, reciprocal), index(FRACTION))


def divisor_of(atom: Atom) -> int | None:
    """The constant that positions are divided by so; None for any other."""
    return int(atom.value) if isinstance(atom, Const) and int(atom.value) > 1 else None
