"""What a network compares: an element's keys, side by side in one word or a few.

    keys a: u64, b: u32        words i64 i64      a | b, place
    key  a: u32                words i64          a, place
    key  a: u32, which is      words i32          a
    all there is to know of x

The place of an element is its last key, so that no two are equal and the order is the stable one;
elements are read from their places behind the sort. Where the key alone tells what the element was,
it is made of the key again. Words are signed: not all processors can compare others.
"""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.base.dtypes import DType, i32, i64, u32, u64
from flatweave.base.records import record
from flatweave.ops.rows import scalar_type
from flatweave.terms.build import Builder
from flatweave.terms.operators import steps_back, undone
from flatweave.terms.syntax import Atom, Lambda, Let, constant

PLACE = 32
"""Bits of an element's place."""


@record
class Words:
    """The words that `fn` gives an element. `undo` is what makes it of its key again, last first;
    without it words hold its place, too."""

    fn: Lambda
    undo: tuple[Let, ...] | None
    sizes: tuple[tuple[int, ...], ...]

    @staticmethod
    def of(fn: Lambda) -> Words:
        """The words of a sort."""
        undo = steps_back(fn)
        bits = [scalar_type(key).bits for key in fn.results]
        if undo is not None:
            return Words(fn, undo, (tuple(bits),))
        words: list[list[int]] = [[]]
        for size in (*bits, PLACE):
            if sum(words[-1]) + size > i64.bits:
                words.append([])
            words[-1].append(size)
        return Words(fn, None, tuple(tuple(word) for word in words))

    @property
    def dtypes(self) -> list[DType]:
        """The type of each word."""
        if sum(map(sum, self.sizes)) <= i32.bits:
            return [i32]
        return [i64 for _ in self.sizes]

    def packed(self, b: Builder, keys: Sequence[Atom], place: Atom) -> list[Atom]:
        """The words of an element."""
        parts = [*keys] if self.undo is not None else [*keys, b.cast(place, u32)]
        found: list[Atom] = []
        for sizes, dtype in zip(self.sizes, self.dtypes, strict=True):
            unsigned = _unsigned(dtype)
            word: Atom = constant(0, unsigned)
            for size in sizes:
                if size < unsigned.bits:
                    word = b.apply("shl", word, constant(size, unsigned))
                word = b.apply("or", word, b.cast(parts.pop(0), unsigned))
            found.append(b.cast(b.apply("xor", word, _high(unsigned)), dtype))
        return found

    def behind(self) -> list[Atom]:
        """Words that come behind those of all elements."""
        return [constant((1 << (dtype.bits - 1)) - 1, dtype) for dtype in self.dtypes]

    def place(self, b: Builder, last: Atom) -> Atom:
        """An element's place, of its last word."""
        return b.cast(b.cast(last, u32), i64)

    def element(self, b: Builder, word: Atom) -> Atom:
        """An element, of the word that is all of it."""
        assert self.undo is not None
        unsigned = _unsigned(scalar_type(word))
        value = b.apply("xor", b.cast(word, unsigned), _high(unsigned))
        value = b.cast(value, scalar_type(self.fn.results[0]))
        return undone(b, self.undo, value)


def _unsigned(dtype: DType) -> DType:
    return u32 if dtype.bits == u32.bits else u64


def _high(dtype: DType) -> Atom:
    return constant(1 << (dtype.bits - 1), dtype)
