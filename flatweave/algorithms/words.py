"""Slots of a chain: elements packed into words with what is known of them, or several arrays."""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.algorithms.operator import Combine
from flatweave.base.dtypes import DType, as_dtype, bool_, i64, u64
from flatweave.base.records import record
from flatweave.kernel_ir.arrays import Values, store_each
from flatweave.kernel_ir.memory_ops import LoadWhole, StoreWhole
from flatweave.kernel_ir.syntax import Acquire, Load, Release
from flatweave.terms.build import Builder, index
from flatweave.terms.rules import scalar_type
from flatweave.terms.syntax import Atom, Var, constant

# --------------------------------------------------------------------------------------------------
# Elements packed into words together with what is known of them, to be stored and loaded at once.
#
#     i16, f32     bits 17..2 the i16, bits 49..18 those of the f32, bits 1..0 the state
#     i64, i32     a second word holds the i64, the first one the i32 and the state
#
# So a block publishes by one store that needs no fence, and who looks gets the state and the value
# by one load. An element fits if its components do, whole each: 62 bits in the first word, 64 in
# the second one where a machine loads and stores two at once. Numbers of elements have 62 bits, as
# arrays end long before.


STATE_BITS, WORD_BITS = 2, 64
COUNT_BITS = WORD_BITS - STATE_BITS
"""Of a number of elements."""
NOTHING, AGGREGATE, PREFIX = index(0), index(1), index(2)
"""What is known of a slot: NOTHING, its block alone, or all up to its block."""


@record(eq=True)
class Place:
    """Where a component is stored: `bits` bits of a word, from `shift` on."""

    dtype: DType
    word: int
    shift: int
    bits: int


@record(eq=True)
class Packing:
    """Where the components of an element lie, in how many words, which memory has as `kept`."""

    places: tuple[Place, ...]
    count: int
    kept: DType

    def pack(self, b: Builder, values: Sequence[Atom], state: Atom | None = None) -> Values:
        """The words of an element, and of its state."""
        word = _unsigned(self.kept)
        words: list[Atom] = [constant(0, word)] * self.count
        if state is not None:
            words[0] = b.cast(state, word)
        for place, value in zip(self.places, values, strict=True):
            moved = b.apply("shl", _bits(b, value, word), constant(place.shift, word))
            words[place.word] = b.apply("or", words[place.word], moved)
        return tuple(b.cast(made, self.kept) for made in words)

    def state(self, b: Builder, words: Sequence[Atom]) -> Atom:
        """What is known of a slot."""
        return b.apply("and", words[0], index((1 << STATE_BITS) - 1))

    def unpack(self, b: Builder, words: Sequence[Atom]) -> Values:
        """The element."""
        found = []
        for place in self.places:
            word = _unsigned(self.kept)
            bits = b.cast(words[place.word], word)
            found.append(_value(b, b.apply("shr", bits, constant(place.shift, word)), place))
        return tuple(found)


def packing_of(
    components: Sequence[tuple[DType, int]],
    most: int,
    state: int = STATE_BITS,
    kept: DType = i64,
) -> Packing | None:
    """The packing of components, given with their bits, into at most `most` words, the largest
    component first, after the bits of a state; None if they are too large."""
    ends = [state, *[0] * (most - 1)]
    places: dict[int, Place] = {}
    order = sorted(range(len(components)), key=lambda k: -components[k][1])
    for k in order:
        dtype, bits = components[k]
        words = [word for word, end in enumerate(ends) if end + bits <= kept.bits]
        if not words:
            return None
        places[k] = Place(dtype, words[0], ends[words[0]], bits)
        ends[words[0]] += bits
    count = 1 + max((place.word for place in places.values()), default=0)
    return Packing(tuple(places[k] for k in range(len(components))), count, kept)


@record
class Words:
    """A chain whose slots are words of the grid, what they hold packed (`look_back.py`)."""

    packing: Packing
    buffer: Var

    def publish(self, b: Builder, slot: Atom, values: Values, state: Atom) -> None:
        """Publish a slot for the later blocks."""
        b.emit(StoreWhole(self.buffer, slot, self.packing.pack(b, values, state)))

    def load(self, b: Builder, slot: Atom) -> Values:
        """The words of a slot; in lanes, of a slot for each."""
        return b.emit(LoadWhole(self.buffer, slot, self.packing.count))

    def state(self, b: Builder, slot: Atom) -> Atom:
        """What is known of a slot now."""
        return self.packing.state(b, self.load(b, slot))

    def prefix(self, b: Builder, slot: Atom) -> Values:
        """What was found to be a prefix, and stays one."""
        return self.packing.unpack(b, self.load(b, slot))

    def join(self, b: Builder, slot: Atom, before: Values, combine: Combine) -> Values:
        """The value before the slot combined with its aggregate; or the slot's prefix, if that is
        known by now and has replaced the aggregate."""
        words = self.load(b, slot)
        value = self.packing.unpack(b, words)
        whole = b.apply("eq", self.packing.state(b, words), PREFIX)
        return b.choose(whole, lambda c: value, lambda c: combine(c, before, value))


def _unsigned(dtype: DType) -> DType:
    return as_dtype(f"u{dtype.bits}")


def _bits(b: Builder, value: Atom, word: DType) -> Atom:
    """The bits of a scalar, in a word."""
    dtype = scalar_type(value)
    if dtype.is_float:
        return b.cast(b.apply("bits", value), word)
    return b.cast(value if dtype is bool_ else b.cast(value, _unsigned(dtype)), word)


def _value(b: Builder, bits: Atom, place: Place) -> Atom:
    """The scalar whose bits stand lowest in a word."""
    dtype = place.dtype
    if dtype is bool_:
        word = scalar_type(bits)
        return b.apply("ne", b.apply("and", bits, constant(1, word)), constant(0, word))
    unsigned = b.cast(bits, _unsigned(dtype))
    if place.bits < dtype.bits:
        mask = constant((1 << place.bits) - 1, u64)
        unsigned = b.apply("and", unsigned, mask)
    return b.apply("from_bits", unsigned) if dtype.is_float else b.cast(unsigned, dtype)


# -- A chain whose slots are three arrays: what a block publishes is stored first, then released ---
#
#     slot         0       1        2        3        4
#     state        PREFIX  PREFIX   AGGR     AGGR     NOTHING
#     aggregate            a        b        c                 of block t - 1 alone
#     prefix       z       z a                                 of all up to it


@record
class Slots:
    """The memory of the grid in which blocks publish; one slot more than there are blocks."""

    aggregates: tuple[Var, ...]
    states: Var
    prefixes: tuple[Var, ...]

    def publish(self, b: Builder, slot: Atom, values: Values, state: Atom) -> None:
        """Publish a slot for the later blocks."""
        buffers = self.prefixes if state is PREFIX else self.aggregates
        store_each(b, buffers, slot, values)
        b.emit(Release(self.states, slot, state))

    def state(self, b: Builder, slot: Atom) -> Atom:
        """What is known of a slot now."""
        return b.emit(Acquire(self.states, slot))[0]

    def prefix(self, b: Builder, slot: Atom) -> Values:
        """What was found to be a prefix."""
        return tuple(b.emit(Load(buffer, slot))[0] for buffer in self.prefixes)

    def join(self, b: Builder, slot: Atom, before: Values, combine: Combine) -> Values:
        """The value before the slot combined with its aggregate."""
        mine = tuple(b.emit(Load(buffer, slot))[0] for buffer in self.aggregates)
        return combine(b, before, mine)
