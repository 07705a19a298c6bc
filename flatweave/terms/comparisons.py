"""What all sorts share: which keys come first, and which positions a network compares.

    comes_before(b, [x, y], [u, v])     x < u or (x == u and y < v)
    exchanges(4)                        (0, 1) (2, 3) (0, 2) (1, 3) (1, 2)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from flatweave.terms.build import Builder
from flatweave.terms.syntax import Atom


def comes_before(b: Builder, keys: Sequence[Atom], others: Sequence[Atom]) -> Atom:
    """Whether keys are less than others, the first key first."""
    *upper, (key, other) = zip(keys, others, strict=True)
    found = b.apply("lt", key, other)
    for key, other in reversed(upper):
        tie = b.apply("and", b.apply("eq", key, other), found)
        found = b.apply("or", b.apply("lt", key, other), tie)
    return found


def exchanges(count: int) -> Iterator[tuple[int, int]]:
    """Batcher's odd-even merge sort (1968): the pairs of positions to compare, in order."""
    merged = 1
    while merged < count:
        distance = merged
        while distance:
            for start in range(distance % merged, count - distance, 2 * distance):
                for low in range(start, min(start + distance, count - distance)):
                    if low // (2 * merged) == (low + distance) // (2 * merged):
                        yield low, low + distance
            distance //= 2
        merged *= 2
