"""Numbers in an order without pattern, each of them once: i -> i * prime mod count.

Neighbours get far from each other, as the prime is near 2^32 over the golden ratio: sources that
follow each other and are long, or go to the same places, are not done by one warp at one time.
"""

from __future__ import annotations

from flatweave.terms.build import Builder, index
from flatweave.terms.syntax import Atom

PRIMES = index(2654435761), index(2246822519)
"""No number of sources that there is memory for is a multiple of both."""
MOST = index(1 << 31)
"""Beyond, a product might not fit; numbers stay as they are."""


def mixed(b: Builder, number: Atom, count: Atom) -> Atom:
    """The number that takes the place of one below `count`."""
    some = b.apply("maximum", count, index(1))
    divides = b.apply("eq", b.apply("mod", some, PRIMES[0]), index(0))
    prime = b.apply("select", divides, PRIMES[1], PRIMES[0])
    found = b.apply("mod", b.mul(number, prime), some)
    return b.apply("select", b.apply("gt", count, MOST), number, found)
