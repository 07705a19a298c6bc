"""Philox 4x64 of ten rounds: four words of 64 bits from a key of two and a counter of four.

    philox([k0, k1], [c0, c1, c2, c3])      the block that numpy.random.Philox gives at this counter

Salmon and others, "Parallel random numbers: as easy as 1, 2, 3", 2011, section 3.3. NumPy's first
block is that of counter 1, so ours is. The last word of the counter is 0 for arrays, and tells the
other uses apart.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from flatweave.base.dtypes import u32, u64
from flatweave.frontend.elements.elementwise import mul_hi
from flatweave.frontend.elements.scalars import astype
from flatweave.random.generator import Words

ROUNDS = 10
_FACTORS = 0xD2E7470EE14C6C93, 0xCA5A826395121157
_WEYL = 0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B  # the golden ratio, and the square root of 3, less 1
_CHILD, _FOLDED, _OWN = 1, 2, 3


def philox(key: Words, counter: Words) -> Words:
    """The block of a counter."""
    (k0, k1), (c0, c1, c2, c3) = key, counter
    for _ in range(ROUNDS):
        high0, low0 = mul_hi(c0, _FACTORS[0]), c0 * _FACTORS[0]
        high1, low1 = mul_hi(c2, _FACTORS[1]), c2 * _FACTORS[1]
        c0, c1, c2, c3 = high1 ^ c1 ^ k0, low1, high0 ^ c3 ^ k1, low0
        k0, k1 = k0 + _WEYL[0], k1 + _WEYL[1]
    return c0, c1, c2, c3


def _wide(value: Any) -> Any:
    """A number as a word."""
    return astype(value, u64)


class Philox:
    """Keys of two u64; an array's words are those of numpy.random.Philox, one after the other."""

    name = "philox"
    word = u64
    fraction: ClassVar[Mapping[int, int]] = {32: 24, 64: 53}

    def seeded(self, seed: Any) -> Words:
        """The seed, and 0."""
        return _wide(seed), _wide(0)

    def per_block(self, bits: int) -> int:
        """Four words of 64 bits, or their eight halves."""
        return 4 * 64 // bits

    def block(self, key: Words, number: Any, bits: int) -> Words:
        """Words of 32 bits are the lower half, then the upper half of one of 64."""
        words = philox(key, (_wide(number) + 1, _wide(0), _wide(0), _wide(0)))
        if bits == 64:
            return words
        return [half for word in words for half in (astype(word, u32), astype(word >> 32, u32))]

    def own(self, key: Words, element: Any, turn: Any) -> Words:
        """The first two of a block that is the element's and the turn's."""
        return philox(key, (_wide(element), _wide(turn), _wide(0), _wide(_OWN)))[:2]

    def child(self, key: Words, number: Any) -> Words:
        """The first two words of a block."""
        return philox(key, (_wide(number), _wide(0), _wide(0), _wide(_CHILD)))[:2]

    def folded(self, key: Words, data: Any) -> Words:
        """The first two words of a block."""
        return philox(key, (_wide(data), _wide(0), _wide(0), _wide(_FOLDED)))[:2]
