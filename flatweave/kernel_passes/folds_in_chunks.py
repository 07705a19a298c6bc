"""Reductions and scans of a block, of which each thread takes a chunk of q elements.

    1  elements side by side into a tile        a b c d e f g h i j k l      q = 3
    2  each thread its chunk, in registers      abc   def   ghi   jkl
    3  all threads what they have               abc abcdef abcdefghi ..      by shuffles of warps
    4  each thread its chunk again, from there  a ab abc abcd abcde ..       into the tile
    5  elements side by side out of the tile                                 to the grid's memory

Where lanes have no shuffles, 3 is log2(n / q) steps through shared memory.
A reduction ends with 3. The tile is omitted where the code does not access the grid's memory, or
where the operator commutes: then a reduction takes elements with a stride.
"""

from __future__ import annotations

from collections.abc import Callable

from flatweave.algorithms.block_scans import scan_units
from flatweave.algorithms.operator import Operator
from flatweave.base.records import record
from flatweave.kernel_ir import dtype_in
from flatweave.kernel_ir.hierarchy import (
    BLOCK,
    THREAD,
    Pull,
    ReduceAll,
    ScanAll,
    Values,
    allocate,
    dtypes_of,
    for_all,
    force,
)
from flatweave.kernel_ir.syntax import Load, Store, Sync
from flatweave.kernel_passes.chunks import (
    WARP,
    Chunks,
    is_padded,
    place,
    room,
    side_by_side,
    uses_grid,
)
from flatweave.kernel_passes.distribute import BlockShape
from flatweave.kernel_passes.folds_by_warps import (
    Each,
    Meeting,
    has_shuffles,
    reduce_by_shuffles,
    scan_by_shuffles,
)
from flatweave.kernel_passes.registers import MOST_BYTES
from flatweave.terms.build import Builder, index
from flatweave.terms.syntax import Atom, Var


@record(eq=True)
class Fold:
    """A reduction or scan whose functions write into a builder: element(b, i) gives the values of
    element i, put(b, i, values) does what is to be done with a result."""

    op: ReduceAll | ScanAll
    operator: Operator
    element: Callable[[Builder, Atom], Values]
    put: Callable[[Builder, Atom, Values], None]
    before: Values = ()

    @property
    def chunks(self) -> Chunks:
        return Chunks(self.op.count, self.op.row, self.op.each)

    @property
    def one_each(self) -> bool:
        return self.chunks.turns == 1


# -- tiles ----------------------------------------------------------------------------------------


@record(eq=True)
class Tile:
    """Elements in memory of the block, one array for each component; `padded` for chunks."""

    buffers: tuple[Var, ...]
    padded: tuple[bool, ...]

    def load(self, b: Builder, i: Atom) -> Values:
        """Element i."""
        return tuple(
            b.emit(Load(buffer, self._place(b, k, i)))[0] for k, buffer in enumerate(self.buffers)
        )

    def store(self, b: Builder, i: Atom, values: Values) -> None:
        """Element i."""
        for k, (buffer, value) in enumerate(zip(self.buffers, values, strict=True)):
            b.emit(Store(buffer, self._place(b, k, i), value))

    def _place(self, b: Builder, k: int, i: Atom) -> Atom:
        return place(b, i, dtype_in(self.buffers[k])) if self.padded[k] else i


def _memory(b: Builder, work: Fold, size: int, each: int) -> Tile:
    """Memory for `size` elements that are used in chunks of `each`."""
    dtypes = dtypes_of(b, work.operator.neutral)
    padded = tuple(is_padded(each, dtype) for dtype in dtypes)
    buffers = tuple(
        allocate(b, [dtype], room(size, dtype) if pad else size)[0]
        for dtype, pad in zip(dtypes, padded, strict=True)
    )
    return Tile(buffers, padded)


def _tile(b: Builder, work: Fold) -> Tile:
    """The elements, loaded by adjacent threads from adjacent positions, then a barrier."""
    tile = _memory(b, work, work.op.count, work.op.each)
    _side_by_side(b, work, lambda c, i: tile.store(c, i, work.element(c, i)))
    b.emit(Sync(BLOCK.word))
    return tile


def _side_by_side(b: Builder, work: Fold, body: Callable[[Builder, Atom], None]) -> None:
    side_by_side(b, index(work.op.count), work.op.each, body)


# -- reductions -----------------------------------------------------------------------------------


def write_reduction(b: Builder, work: Fold, shape: BlockShape) -> None:
    """What the threads of a block of this shape do for a reduction."""
    assert isinstance(work.op, ReduceAll)
    chunks = work.chunks
    if not chunks.count:
        return
    sums = Pull(index(chunks.threads), _sums(b, work))
    if chunks.of_row > 1 and has_shuffles(shape, chunks.threads):
        reduce_by_shuffles(b, _meeting(work, sums, shape), work.put)
        return
    if chunks.of_row > 1:
        sums, size = force(b, sums), chunks.of_row
        while size > 2:
            sums, size = force(b, _halved(work, sums, size)), -(-size // 2)
        sums = _halved(work, sums, size)
    for_all(b, THREAD, chunks.rows, lambda c, r: work.put(c, r, sums.at(c, r)))


def _sums(b: Builder, work: Fold) -> Callable[[Builder, Atom], Values]:
    """What the elements of each thread combine to."""
    assert isinstance(work.op, ReduceAll)
    if work.one_each:
        return work.element
    source, walk = work.element, work.chunks.chunk
    if uses_grid(work.op.element):
        if work.op.any_order and (work.chunks.rows == 1 or work.chunks.of_row >= WARP):
            walk = work.chunks.interleaved
        else:
            source = _tile(b, work).load

    def step(c: Builder, j: Atom, i: Atom, state: Values) -> Values:
        return work.operator.combine(c, state, source(c, i))

    return lambda c, t: walk(c, t, work.operator.neutral, step)


def _meeting(work: Fold, sums: Pull, shape: BlockShape) -> Meeting:
    """The threads of all rows, with what their chunks combine to."""
    return Meeting(work.operator, sums, work.chunks.of_row, shape.width)


def _halved(work: Fold, sums: Pull, size: int) -> Pull:
    """Rows of `size` sums, combined in pairs of neighbours. Where order does not matter, the sums
    of a pair are half a row apart from each other, so that adjacent threads read neighbours."""
    assert isinstance(work.op, ReduceAll)
    half, rows = -(-size // 2), work.chunks.rows
    any_order = work.op.any_order

    def at(b: Builder, u: Atom) -> Values:
        start: Atom = index(0)
        p = u
        if rows > 1:
            start = b.mul(b.apply("floordiv", u, index(half)), index(size))
            p = b.apply("mod", u, index(half))
        mine = p if any_order else b.mul(p, index(2))
        other = b.add(mine, index(half if any_order else 1))

        def both(c: Builder) -> Values:
            first = sums.at(c, c.add(start, mine))
            return work.operator.combine(c, first, sums.at(c, c.add(start, other)))

        if size % 2 == 0:
            return both(b)
        there = b.apply("lt", other, index(size))
        return b.choose(there, both, lambda c: sums.at(c, c.add(start, mine)))

    return Pull(index(rows * half), at)


# -- scans ----------------------------------------------------------------------------------------


def write_scan(b: Builder, work: Fold, shape: BlockShape) -> None:
    """What the threads of a block of this shape do for a scan."""
    assert isinstance(work.op, ScanAll)
    if not work.chunks.count:
        return
    if work.one_each:
        prefixes = _prefixes(b, work, work.element, shape, exclusive=work.op.exclusive)
        prefixes(b, work.put)
        return
    through = uses_grid(work.op.body)
    tile = _tile(b, work) if through or uses_grid(work.op.element) else None
    source = work.element if tile is None else tile.load
    lanes = _lanes(work, shape)
    kept = _registers(b, work, lanes) if _fits_registers(b, work, shape.threads) else None

    def step(t: Atom) -> Callable[[Builder, Atom, Atom, Values], Values]:
        def one(c: Builder, j: Atom, i: Atom, state: Values) -> Values:
            values = source(c, i)
            if kept is not None:
                kept.store(c, _own(c, lanes, t, j), values)
            return work.operator.combine(c, state, values)

        return one

    def whole(c: Builder, t: Atom) -> Values:
        return work.chunks.chunk(c, t, work.operator.neutral, step(t))

    prefixes = _prefixes(b, work, whole, shape, exclusive=True)

    def again(c: Builder, t: Atom, before: Values) -> None:
        def one(d: Builder, j: Atom, i: Atom, state: Values) -> Values:
            values = source(d, i) if kept is None else kept.load(d, _own(d, lanes, t, j))
            after = work.operator.combine(d, state, values)
            found = state if work.op.exclusive else after  # type: ignore[union-attr]
            if through:
                assert tile is not None
                tile.store(d, i, found)
            else:
                work.put(d, i, found)
            return after

        work.chunks.chunk(c, t, before, one)

    prefixes(b, again)
    if through:
        assert tile is not None
        b.emit(Sync(BLOCK.word))
        _side_by_side(b, work, lambda c, i: work.put(c, i, tile.load(c, i)))


def _prefixes(
    b: Builder, work: Fold, of_thread: Callable[[Builder, Atom], Values], shape: BlockShape, *,
    exclusive: bool,
) -> Callable[[Builder, Each], None]:  # fmt: skip
    """Combines what the threads of each row have, by shuffles if there are; gives what lets each
    thread go on with what is up to it, or before it."""
    sums = Pull(index(work.chunks.threads), of_thread)
    if work.chunks.of_row > 1 and has_shuffles(shape, work.chunks.threads):
        found = scan_by_shuffles(b, _meeting(work, sums, shape), exclusive=exclusive)
    else:
        found = _in_memory(b, work, sums, exclusive=exclusive)
    if not work.before:
        return found

    def prefixes(c: Builder, body: Each) -> None:
        def behind(d: Builder, t: Atom, value: Values) -> None:
            body(d, t, _after_all(d, work, t, value, exclusive=exclusive))

        found(c, behind)

    return prefixes


def _after_all(
    b: Builder, work: Fold, t: Atom, value: Values, *, exclusive: bool
) -> Values:
    """The initial value combined with a prefix; a row's first thread has no prefix."""

    def both(c: Builder) -> Values:
        return work.operator.combine(c, work.before, value)

    if not exclusive:
        return both(b)
    if work.chunks.of_row == 1:
        return work.before
    some = b.apply("lt", index(0), work.chunks.number(b, t))
    return b.choose(some, both, lambda c: work.before)


def _in_memory(
    b: Builder, work: Fold, sums: Pull, *, exclusive: bool
) -> Callable[[Builder, Each], None]:
    """The same by steps of all threads, each with a barrier."""
    ends = scan_units(b, work.operator, sums, work.chunks.of_row)

    def prefixes(c: Builder, body: Each) -> None:
        def thread(d: Builder, t: Atom) -> None:
            body(d, t, _start(d, work, ends, t) if exclusive else ends.at(d, t))

        for_all(c, THREAD, work.chunks.threads, thread)

    return prefixes


def _start(b: Builder, work: Fold, ends: Pull, t: Atom) -> Values:
    """The prefix before a thread's chunk in its row."""
    nothing = work.operator.neutral
    if work.chunks.of_row == 1:
        return nothing
    here = b.apply("lt", index(0), work.chunks.number(b, t))
    return b.choose(here, lambda c: ends.at(c, c.sub(t, index(1))), lambda c: nothing)


def _fits_registers(b: Builder, work: Fold, threads: int) -> bool:
    """Whether a thread can hold its chunk: else it reads the tile once more."""
    widest = max(dtype.bytes for dtype in dtypes_of(b, work.operator.neutral))
    return work.chunks.threads <= threads and work.chunks.turns * widest <= MOST_BYTES


def _lanes(work: Fold, shape: BlockShape) -> int:
    """The threads that have chunks; with shuffles, rounded up to whole warps."""
    threads = work.chunks.threads
    if not has_shuffles(shape, threads):
        return threads
    return -(-threads // shape.width) * shape.width


def _registers(b: Builder, work: Fold, lanes: int) -> Tile:
    """Memory in which each thread uses only private elements, so that the thread's registers can
    replace it (`registers.py`)."""
    return _memory(b, work, lanes * work.chunks.turns, 1)


def _own(b: Builder, lanes: int, t: Atom, j: Atom) -> Atom:
    """The index of a thread's element number j."""
    return b.add(t, b.mul(j, index(lanes)))
