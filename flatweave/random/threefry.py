"""Threefry 2x32 of twenty rounds: two words of 32 bits from a key of two and a counter of two.

Salmon and others, "Parallel random numbers: as easy as 1, 2, 3", 2011, section 3.2. Counters and
words are used as `jax.random` uses them with `jax_threefry_partitionable`, its default: element i
of an array comes from the counter i, and so does key i of those that a key is split into.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from flatweave.base.dtypes import u32, u64
from flatweave.frontend.elements.scalars import astype
from flatweave.random.generator import Words

_ROTATIONS = (13, 15, 26, 6), (17, 29, 16, 24)
_PARITY = 0x1BD11BDA
_OWN = 0x4F574E  # turns a key into another one, for what single elements draw


def threefry(key: Words, counter: Words) -> Words:
    """The block of a counter."""
    keys = *key, key[0] ^ key[1] ^ _PARITY
    x0, x1 = counter[0] + keys[0], counter[1] + keys[1]
    for group in range(5):
        for distance in _ROTATIONS[group % 2]:
            x0 = x0 + x1
            x1 = (x1 << distance | x1 >> 32 - distance) ^ x0
        x0 = x0 + keys[(group + 1) % 3]
        x1 = x1 + keys[(group + 2) % 3] + (group + 1)
    return x0, x1


def _halves(value: Any) -> Words:
    """The upper and the lower 32 bits of a number."""
    wide = astype(value, u64)
    return astype(wide >> 32, u32), astype(wide, u32)


class Threefry:
    """Keys of two u32, the upper half of the seed first; one block for each element."""

    name = "threefry"
    word = u32
    fraction: ClassVar[Mapping[int, int]] = {32: 23, 64: 52}

    def seeded(self, seed: Any) -> Words:
        """Its halves."""
        return _halves(seed)

    def per_block(self, bits: int) -> int:
        """One word of either width."""
        return 1

    def block(self, key: Words, number: Any, bits: int) -> Words:
        """Both words end to end, or the one folded into the other."""
        high, low = threefry(key, _halves(number))
        return [high ^ low] if bits == 32 else [_joined(high, low)]

    def own(self, key: Words, element: Any, turn: Any) -> Words:
        """From a key made for the element."""
        key = threefry((key[0] ^ _OWN, key[1]), _halves(element))
        blocks = (threefry(key, _halves(2 * astype(turn, u64) + i)) for i in range(2))
        return [_joined(*block) for block in blocks]

    def child(self, key: Words, number: Any) -> Words:
        """The block of its number."""
        return threefry(key, _halves(number))

    def folded(self, key: Words, data: Any) -> Words:
        """The block of the lower 32 bits of `data`, as JAX has it."""
        return threefry(key, (astype(0, u32), astype(data, u32)))


def _joined(high: Any, low: Any) -> Any:
    """64 bits of two words."""
    return astype(high, u64) << 32 | astype(low, u64)
