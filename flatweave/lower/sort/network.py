"""A sorting network over vector registers: one thread sorts what its first caches hold.

Element e is in lane e // R of register e % R; the number R of registers is a power of two.

    registers   r0: 3 8 1 5    within each lane:       r0: 2 4 0 5     lanes exchange    r0: 0 2 4 6
    of lanes    r1: 2 4 0 9    min and max of whole    r1: 3 8 1 9     with others:      r1: 1 3 5 7
                               registers                               log2 lanes stages

Of stages t = 1, 2, ..: runs of 2^(t-1) elements become runs of 2^t: the first is compared with the
second one reversed, after which all of one half come before all of the other, and each half is an
ascending and a descending run; then halves are halved until nothing is left (Batcher 1968).
Comparisons within a lane are of whole registers. The first three stages, and every three steps of
halving, can be done to eight registers at once, so that these go through memory a third as often.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from flatweave.base.dtypes import DType, i32, i64, u32, u64
from flatweave.base.records import record
from flatweave.kernel_ir.hierarchy import store_each
from flatweave.kernel_ir.syntax import Lane, Load
from flatweave.kernel_ir.warp_ops import SwapLanes
from flatweave.terms.build import Builder, index
from flatweave.terms.control import Apply
from flatweave.terms.operators import comes_before, exchanges, steps_back, undone
from flatweave.terms.syntax import Atom, Lambda, Let, Var, constant, scalar_type

# -- What a network compares: an element's keys, side by side in one word or a few -----------------
#
#     keys a: u64, b: u32        words i64 i64      a | b, index
#     key  a: u32                words i64          a, index
#     key  a: u32, which is      words i32          a
#     all there is to know of x
#
# The index of an element is its last key, so no two are equal and the order is the stable one.
# Elements are read from their indices after the sort. If the key alone determines the element, the
# element is computed from the key. Words are signed: not all processors can compare unsigned ones.


PLACE = 32
"""Bits of an element's index."""


@record
class Words:
    """The words that `fn` gives an element. `undo` holds the steps that compute the element from
    its key, last first; without it, words also hold the element's index."""

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
        for size in (*bits, u32.bits):
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
        """Words that come after those of all elements."""
        return [constant((1 << (dtype.bits - 1)) - 1, dtype) for dtype in self.dtypes]

    def place(self, b: Builder, last: Atom) -> Atom:
        """The index of an element, from its last word."""
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


Register = Sequence[Atom]
"""A register of elements: the words of one in each lane."""

EIGHT = tuple(exchanges(8))
"""Positions to compare that sort eight."""
HALVED = tuple((k, k + d) for d in (4, 2, 1) for k in range(8) if not k & d)
"""Places to compare that sort eight of which both halves are halved already."""


class Network:
    """The registers in `words`, one buffer for each word of an element; `by_eight` where they are
    worth a third of the time for three times the code."""

    def __init__(self, words: Sequence[Var], width: int, log: Atom, by_eight: bool = True) -> None:
        self.words = words
        self.by_eight = by_eight
        self.width = width
        self.log = log

    def sort(self, b: Builder) -> None:
        """All elements in order, inside of lanes."""
        count = b.apply("shl", index(1), self.log)
        first = self._eights(b, count) if self.by_eight else index(1)
        cross = self.width.bit_length() - 1
        behind = b.add(self.log, index(cross + 1))

        with b.loop(first, behind, hint="k") as (c, t):
            inside = c.apply("le", t, self.log)
            with c.when(inside) as within:
                self._mirrored(within, count, t)
            for level in range(1, cross + 1):
                is_here = c.apply("eq", t, c.add(self.log, index(level)))
                with c.when(is_here) as between:
                    self._across(between, count, level)
            steps = c.apply("select", inside, c.sub(t, index(1)), self.log)
            self._halve(c, count, steps)

    # -- within a lane ----------------------------------------------------------------------------

    def _eights(self, b: Builder, count: Atom) -> Atom:
        """Sorts groups of eight registers, if there are eight; returns the next stage."""
        has_eight = b.apply("ge", self.log, index(3))
        eights = b.apply("select", has_eight, b.apply("floordiv", count, index(8)), index(0))
        with b.loop(index(0), eights, hint="k") as (c, group):
            self._places(c, EIGHT, lambda d, k: d.add(d.mul(group, index(8)), index(k)))
        return b.apply("select", has_eight, index(4), index(1))

    def _mirrored(self, b: Builder, count: Atom, t: Atom) -> None:
        """Runs of 2^t registers: each with its mirror image."""
        run = b.apply("shl", index(1), t)
        half = b.apply("shl", index(1), b.sub(t, index(1)))
        last = b.sub(run, index(1))

        with b.loop(index(0), b.apply("floordiv", count, index(2)), hint="k") as (c, g):
            i = c.apply("and", g, c.sub(half, index(1)))
            start = c.mul(c.sub(g, i), index(2))
            self._pair(c, c.add(start, i), c.add(start, c.sub(last, i)))

    def _halve(self, b: Builder, count: Atom, steps: Atom) -> None:
        """Runs of 2^steps registers in `steps` steps: single ones, then three at a time."""
        singles = b.apply("mod", steps, index(3)) if self.by_eight else steps

        with b.loop(index(0), singles, hint="k") as (c, k):
            far = c.apply("shl", index(1), c.sub(c.sub(steps, index(1)), k))
            with c.loop(index(0), c.apply("floordiv", count, index(2)), hint="k") as (d, g):
                i = d.apply("and", g, d.sub(far, index(1)))
                low = d.add(d.mul(d.sub(g, i), index(2)), i)
                self._pair(d, low, d.add(low, far))
        if not self.by_eight:
            return
        with b.loop(singles, steps, 3, hint="k") as (c, k):
            near = c.apply("shl", index(1), c.sub(c.sub(steps, index(3)), k))
            with c.loop(index(0), c.apply("floordiv", count, index(8)), hint="k") as (d, g):
                i = d.apply("and", g, d.sub(near, index(1)))
                low = d.add(d.mul(d.sub(g, i), index(8)), i)
                self._places(d, HALVED, lambda e, p: e.add(low, e.mul(near, index(p))))

    def _pair(self, b: Builder, low: Atom, high: Atom) -> None:
        first, second = _ordered(b, self._load(b, low), self._load(b, high))
        self._store(b, low, first)
        self._store(b, high, second)

    def _places(
        self, b: Builder, pairs: Sequence[tuple[int, int]], at: Callable[[Builder, int], Atom]
    ) -> None:
        """Compares pairs of eight registers, in the order of `pairs`."""
        places = [at(b, k) for k in range(8)]
        held = [self._load(b, place) for place in places]
        for low, high in pairs:
            held[low], held[high] = _ordered(b, held[low], held[high])
        for place, register in zip(places, held, strict=True):
            self._store(b, place, register)

    # -- between lanes ----------------------------------------------------------------------------

    def _across(self, b: Builder, count: Atom, level: int) -> None:
        """Runs of 2^level lanes: each with its mirror image, then lanes that are nearer."""
        lane = b.emit(Lane(index(0)))[0]
        lower = [
            b.apply("eq", b.apply("and", lane, index(1 << bit)), index(0)) for bit in range(level)
        ]
        last = b.sub(count, index(1))

        with b.loop(index(0), b.apply("floordiv", count, index(2)), hint="k") as (c, r):
            mirror, mask = c.sub(last, r), (1 << level) - 1
            low, high = _ordered(c, self._load(c, r), self._swapped(c, self._load(c, mirror), mask))
            first = _chosen(c, lower[-1], low, high)
            second = self._swapped(c, _chosen(c, lower[-1], high, low), mask)
            for place, register in ((r, first), (mirror, second)):
                for bit in reversed(range(level - 1)):
                    other = self._swapped(c, register, 1 << bit)
                    register = _chosen(c, lower[bit], *_ordered(c, register, other))
                self._store(c, place, register)

    def _swapped(self, b: Builder, register: Register, mask: int) -> Register:
        return b.emit(SwapLanes(mask, tuple(register)))

    # -- registers in memory ----------------------------------------------------------------------

    def _load(self, b: Builder, register: Atom) -> Register:
        at = b.emit(Lane(b.mul(register, index(self.width))))[0]
        return [b.emit(Load(buffer, at))[0] for buffer in self.words]

    def _store(self, b: Builder, register: Atom, words: Register) -> None:
        at = b.emit(Lane(b.mul(register, index(self.width))))[0]
        store_each(b, self.words, at, words)


def _ordered(b: Builder, x: Register, y: Register) -> tuple[Register, Register]:
    """Of each two elements the smaller one, and the larger one.

    Nothing is known of their values, and a query about them takes longer after each comparison.
    """
    if len(x) == 1:
        return b.emit(Apply("minimum", (x[0], y[0]))), b.emit(Apply("maximum", (x[0], y[0])))
    less = comes_before(b, x, y)
    return _chosen(b, less, x, y), _chosen(b, less, y, x)


def _chosen(b: Builder, condition: Atom, x: Register, y: Register) -> Register:
    return [b.apply("select", condition, one, other) for one, other in zip(x, y, strict=True)]
