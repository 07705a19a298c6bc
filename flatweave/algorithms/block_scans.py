"""A block's part of a scan: its elements combined, and the words by which it hands on."""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.algorithms.lanes import (
    Also,
    reduce_in_lanes,
    reduce_in_runs,
    scan_in_lanes,
    scan_in_runs,
)
from flatweave.algorithms.operator import Combine, Operator
from flatweave.base.dtypes import DType, as_dtype, bool_, i64, u64
from flatweave.base.records import record
from flatweave.kernel_ir.hierarchy import (
    THREAD,
    WARP,
    Pull,
    Put,
    Values,
    allocate,
    dtypes_of,
    fold,
    for_all,
    force,
    level_of,
    part,
    read,
    store_each,
)
from flatweave.kernel_ir.memory_ops import LoadWhole, StoreWhole
from flatweave.kernel_ir.syntax import Acquire, Load, Release, Sync
from flatweave.terms.build import Builder, index
from flatweave.terms.syntax import Atom, Const, Var, constant, scalar_type

# -- block scans ----------------------------------------------------------------------------------
#
# Reduce and scan by a block: one element for each thread, or each warp its share.
#
#     scan_units                    a b c d    a ab bc cd    a ab abc abcd    after the step with
#                                   distance d, element i holds the 2 d values that end at i
#
#     each warp its share           a b c d e f | g h i j k l     abcdef  ghijkl
#     each warp, what is before     nothing     | abcdef          one value for each warp
#     each warp its share again     a ab abc .. | abcdefg ..
#
# A block has few warps, so each folds what those before it have. A block of one warp visits
# elements once. Operators need not commute.


@record(eq=True)
class Shares:
    """`extent` elements among `units` threads, `each` to every one but the last ones."""

    extent: Atom
    units: int
    each: Atom

    def of(self, b: Builder, unit: Atom) -> tuple[Atom, Atom]:
        """From where to where the elements of a thread go."""
        lo = b.apply("minimum", b.mul(unit, self.each), self.extent)
        return lo, b.apply("minimum", b.add(lo, self.each), self.extent)


def scan_units(b: Builder, operator: Operator, xs: Pull, row: int | None = None) -> Pull:
    """All prefixes of one element for each thread (Hillis and Steele); with `row`, each group of
    `row` neighbours separately."""
    if level_of(b) is THREAD:
        return xs
    assert isinstance(xs.extent, Const)
    size, distance = row or int(xs.extent.value), 1
    rows = size < xs.extent.value
    xs = force(b, xs)
    while distance < size:
        xs = force(b, _joined(operator, xs, distance, size if rows else None))
        distance *= 2
    return xs


def _joined(operator: Operator, xs: Pull, distance: int, row: int | None) -> Pull:
    """Each element with the one so far before it, where there is one in its row."""

    def at(b: Builder, i: Atom) -> Values:
        def both(c: Builder) -> Values:
            before = xs.at(c, c.sub(i, index(distance)))
            return operator.combine(c, before, xs.at(c, i))

        number = i if row is None else b.apply("mod", i, index(row))
        return b.choose(b.apply("le", index(distance), number), both, lambda c: xs.at(c, i))

    return Pull(xs.extent, at)


@record(eq=True)
class Warps:
    """The warps of a block as a machine has them: how many, of how many lanes, and whether these
    can idle (`masked`, see `lanes.py`). Where they can, a lane may take a run of `each` elements of
    a step."""

    count: int
    width: int
    masked: bool = True
    each: int = 1


def reduce_by_warps(
    b: Builder, operator: Operator, xs: Pull, warps: Warps, *, in_any_order: bool = False
) -> Values:
    """The elements of `xs` combined, in order unless any will do; every thread of the block may
    read the result."""
    if warps.count == 1:
        return reduce_in_lanes(
            b, operator, xs, warps.width, masked=warps.masked, in_any_order=in_any_order
        )
    shared = _shares(b, xs.extent, warps)
    ends = _of_warps(b, operator, xs, shared, warps, in_any_order=in_any_order)
    return _before(b, operator, ends, index(warps.count), operator.neutral)


def scan_by_warps(
    b: Builder, operator: Operator, xs: Pull, warps: Warps, put: Put,
    before: Values | None = None, *, exclusive: bool = False, also: Also | None = None,
) -> Pull:  # fmt: skip
    """Puts all prefixes of `xs`, which go on from `before`; gives one element, all of it combined.

    Elements are asked for twice, so `put` must not write what `xs` reads. They may have more
    components than the operator: with their prefix is put what `also` reads for these, which `put`
    may write.
    """
    first = operator.neutral if before is None else before
    width = warps.width
    if warps.count == 1:
        total = scan_in_lanes(
            b, operator, xs, width, first,
            lambda c, i, values: put(c, i, _with(c, operator, also, values)),
            exclusive=exclusive, masked=warps.masked,
        )  # fmt: skip
        return Pull(index(1), lambda c, i: total)
    shared = _shares(b, xs.extent, warps)
    ends = _of_warps(b, operator, xs, shared, warps)

    def share(c: Builder, warp: Atom) -> None:
        lo, hi = shared.of(c, warp)
        mine = part(xs, lo, c.sub(hi, lo))

        def put_there(d: Builder, i: Atom, values: Values) -> None:
            put(d, d.add(lo, i), values)

        def put_all(d: Builder, i: Atom, values: Values) -> None:
            put_there(d, i, _with(d, operator, also, values))

        known = _before(c, operator, ends, warp, first)
        most = shared.each
        if warps.each > 1:
            scan_in_runs(
                c, operator, mine, width, warps.each, most, known, put_there,
                exclusive=exclusive, also=also,
            )  # fmt: skip
        else:
            scan_in_lanes(c, operator, mine, width, known, put_all, most, exclusive=exclusive)

    for_all(b, WARP, warps.count, share)
    return Pull(index(1), lambda c, i: _before(c, operator, ends, index(warps.count), first))


def _with(b: Builder, operator: Operator, also: Also | None, values: Values) -> Values:
    """A prefix and what is read for the further components of its element."""
    size = len(operator.neutral)
    return (*values[:size], *also(b, values[size:])) if also else values


def _shares(b: Builder, extent: Atom, warps: Warps) -> Shares:
    """Whole steps for every warp but the last ones."""
    of_warp = warps.width * warps.each
    step = warps.count * of_warp
    steps = b.apply("floordiv", b.add(extent, index(step - 1)), index(step))
    return Shares(extent, warps.count, b.mul(steps, index(of_warp)))


def _of_warps(
    b: Builder, operator: Operator, xs: Pull, shared: Shares, warps: Warps, *,
    in_any_order: bool = False,
) -> Pull:  # fmt: skip
    """What the elements of each warp combine to, in the memory of the block."""

    memory = allocate(b, dtypes_of(b, operator.neutral), shared.units)

    def one(c: Builder, warp: Atom) -> None:
        lo, hi = shared.of(c, warp)
        mine = part(xs, lo, c.sub(hi, lo))
        if warps.each > 1:
            size = len(operator.neutral)
            combined = Pull(mine.extent, lambda d, i: mine.at(d, i)[:size])
            total = reduce_in_runs(c, operator, combined, warps.width, warps.each, shared.each)
        else:
            total = reduce_in_lanes(
                c, operator, mine, warps.width, shared.each, in_any_order=in_any_order
            )
        store_each(c, memory, warp, total)

    for_all(b, WARP, shared.units, one)
    b.emit(Sync())
    return read(memory, shared.units)


def _before(b: Builder, operator: Operator, ends: Pull, warp: Atom, first: Values) -> Values:
    """What stands first and what the warps before one have, combined."""

    def step(c: Builder, w: Atom, known: Values) -> Values:
        return operator.combine(c, known, ends.at(c, w))

    return fold(b, index(0), warp, first, step, hint="w")


# -- words ----------------------------------------------------------------------------------------
#
# Slots of a chain: elements packed into words with what is known of them, or several arrays.


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
