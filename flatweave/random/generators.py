"""Generators: functions from a key and a counter to words. Philox and Threefry."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Protocol

from flatweave.base.dtypes import DType, u32, u64
from flatweave.frontend.elements.elementwise import mul_hi
from flatweave.frontend.elements.scalars import astype

# What a generator is: a function from a key and a counter to a block of words.
#
# Counters of different uses differ in their last word, so that no two uses of a key share a
# block.


Words = Sequence[Any]  # traced scalars of one unsigned dtype


class Generator(Protocol):
    """Two words of `word` are a key."""

    name: str
    word: DType
    fraction: ClassVar[Mapping[int, int]]  # how many bits of a word make a number in [0, 1)

    def seeded(self, seed: Any) -> Words:
        """The key of a computed seed of up to 64 bits."""

    def per_block(self, bits: int) -> int:
        """How many words of 32 or 64 bits one block gives."""

    def block(self, key: Words, number: Any, bits: int) -> Words:
        """The words of block 0, 1, .. of an array."""

    def own(self, key: Words, element: Any, turn: Any) -> Words:
        """Two words of 64 bits for one element, at its draw 0, 1, .."""

    def child(self, key: Words, number: Any) -> Words:
        """Key 0, 1, .. of those that a key is split into."""

    def folded(self, key: Words, data: Any) -> Words:
        """The key that a key and a number make."""


# Philox 4x64 of ten rounds: four words of 64 bits from a key of two and a counter of four.
#
#     philox([k0, k1], [c0, c1, c2, c3])    the block that numpy.random.Philox gives at this counter
#
# Salmon and others, "Parallel random numbers: as easy as 1, 2, 3", 2011, section 3.3. NumPy's
# first block is that of counter 1, so ours is. The last word of the counter is 0 for arrays, and
# distinguishes the other uses.


ROUNDS = 10
_FACTORS = 0xD2E7470EE14C6C93, 0xCA5A826395121157
_WEYL = 0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B  # the golden ratio, and the square root of 3, less 1
_CHILD, _FOLDED, _PHILOX = 1, 2, 3


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
    """Keys of two u64; an array's words are those of numpy.random.Philox, in order."""

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
        """The first two words of the block of the element and the draw."""
        return philox(key, (_wide(element), _wide(turn), _wide(0), _wide(_PHILOX)))[:2]

    def child(self, key: Words, number: Any) -> Words:
        """The first two words of a block."""
        return philox(key, (_wide(number), _wide(0), _wide(0), _wide(_CHILD)))[:2]

    def folded(self, key: Words, data: Any) -> Words:
        """The first two words of a block."""
        return philox(key, (_wide(data), _wide(0), _wide(0), _wide(_FOLDED)))[:2]


# Threefry 2x32 of twenty rounds: two words of 32 bits from a key of two and a counter of two.
#
# Salmon and others, "Parallel random numbers: as easy as 1, 2, 3", 2011, section 3.2. Counters
# and words are used as `jax.random` uses them with `jax_threefry_partitionable`, its default:
# element i of an array comes from the counter i, and so does key i of those that a key is split
# into.


_ROTATIONS = (13, 15, 26, 6), (17, 29, 16, 24)
_PARITY = 0x1BD11BDA
_THREEFRY = 0x4F574E  # derives another key, for the draws of single elements


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
        key = threefry((key[0] ^ _THREEFRY, key[1]), _halves(element))
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
