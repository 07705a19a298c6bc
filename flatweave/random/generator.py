"""What a generator is: a function from a key and a counter to a block of words.

Counters of different uses differ in their last word, so that no two uses of a key share a block.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Protocol

from flatweave.base.dtypes import DType

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
        """Two words of 64 bits for one element alone, at its turn 0, 1, .."""

    def child(self, key: Words, number: Any) -> Words:
        """Key 0, 1, .. of those that a key is split into."""

    def folded(self, key: Words, data: Any) -> Words:
        """The key that a key and a number make."""
