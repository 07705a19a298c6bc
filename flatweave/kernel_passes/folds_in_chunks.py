"""Reductions and scans of a block, of which each thread takes a chunk of q elements.

    1  elements side by side into a tile        a b c d e f g h i j k l      q = 3
    2  each thread its chunk, in registers      abc   def   ghi   jkl
    3  all threads what they have               abc abcdef abcdefghi ..      shared, log2(n / q)
    4  each thread its chunk again, from there  a ab abc abcd abcde ..       into the tile
    5  elements side by side out of the tile                                 to the grid's memory

A reduction ends with 3. The tile is left out where nothing of the grid's memory is read or written;
or where the operator commutes: then a reduction takes elements apart.
"""

from __future__ import annotations

from collections.abc import Callable

from flatweave.algorithms.operator import Operator
from flatweave.algorithms.scan import scan_units
from flatweave.base.records import record
from flatweave.kernel_ir.arrays import Pull, Values, allocate, choose, dtypes_of, for_all, force
from flatweave.kernel_ir.folds_of_blocks import ReduceAll, ScanAll
from flatweave.kernel_ir.hierarchy import BLOCK, THREAD
from flatweave.kernel_ir.op import dtype_in
from flatweave.kernel_ir.syntax import Load, Store, Sync
from flatweave.kernel_passes.chunks import WARP, Chunks, side_by_side
from flatweave.kernel_passes.padded import is_padded, place, room, uses_grid
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
    """The elements, brought in side by side, behind a barrier."""
    tile = _memory(b, work, work.op.count, work.op.each)
    _side_by_side(b, work, lambda c, i: tile.store(c, i, work.element(c, i)))
    b.emit(Sync(BLOCK.word))
    return tile


def _side_by_side(b: Builder, work: Fold, body: Callable[[Builder, Atom], None]) -> None:
    side_by_side(b, index(work.op.count), work.op.each, body)


# -- reductions -----------------------------------------------------------------------------------


def write_reduction(b: Builder, work: Fold) -> None:
    """What the threads of a block do for a reduction."""
    assert isinstance(work.op, ReduceAll)
    chunks = work.chunks
    if not chunks.count:
        return
    sums = Pull(index(chunks.threads), _sums(b, work))
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
            walk = work.chunks.apart
        else:
            source = _tile(b, work).load

    def step(c: Builder, j: Atom, i: Atom, state: Values) -> Values:
        return work.operator.combine(c, state, source(c, i))

    return lambda c, t: walk(c, t, work.operator.neutral, step)


def _halved(work: Fold, sums: Pull, size: int) -> Pull:
    """Rows of `size` sums, of which two are combined: neighbours, or such as are far apart, so that
    threads side by side read neighbours, where the order is no matter."""
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
        return choose(b, there, both, lambda c: sums.at(c, c.add(start, mine)))

    return Pull(index(rows * half), at)


# -- scans ----------------------------------------------------------------------------------------


def write_scan(b: Builder, work: Fold, threads: int) -> None:
    """What the threads of a block do for a scan; `threads` is how many it has."""
    assert isinstance(work.op, ScanAll)
    if not work.chunks.count:
        return
    if work.one_each:
        ends = _ends(b, work, work.element)
        for_all(b, THREAD, work.op.count, lambda c, i: work.put(c, i, _alone(c, work, ends, i)))
        return
    through = uses_grid(work.op.body)
    tile = _tile(b, work) if through or uses_grid(work.op.element) else None
    source = work.element if tile is None else tile.load
    kept = _registers(b, work) if _fits_registers(b, work, threads) else None

    def step(t: Atom) -> Callable[[Builder, Atom, Atom, Values], Values]:
        def one(c: Builder, j: Atom, i: Atom, state: Values) -> Values:
            values = source(c, i)
            if kept is not None:
                kept.store(c, _own(c, work, t, j), values)
            return work.operator.combine(c, state, values)

        return one

    def whole(c: Builder, t: Atom) -> Values:
        return work.chunks.chunk(c, t, work.operator.neutral, step(t))

    ends = _ends(b, work, whole)

    def again(c: Builder, t: Atom) -> None:
        def one(d: Builder, j: Atom, i: Atom, state: Values) -> Values:
            values = source(d, i) if kept is None else kept.load(d, _own(d, work, t, j))
            after = work.operator.combine(d, state, values)
            found = state if work.op.exclusive else after  # type: ignore[union-attr]
            if through:
                assert tile is not None
                tile.store(d, i, found)
            else:
                work.put(d, i, found)
            return after

        work.chunks.chunk(c, t, _start(c, work, ends, t), one)

    for_all(b, THREAD, work.chunks.threads, again)
    if through:
        assert tile is not None
        b.emit(Sync(BLOCK.word))
        _side_by_side(b, work, lambda c, i: work.put(c, i, tile.load(c, i)))


def _ends(b: Builder, work: Fold, of_thread: Callable[[Builder, Atom], Values]) -> Pull:
    """What the chunks of a row up to each one combine to."""
    chunks = work.chunks
    sums = Pull(index(chunks.threads), of_thread)
    return scan_units(b, work.operator, sums, chunks.of_row)


def _start(b: Builder, work: Fold, ends: Pull, t: Atom) -> Values:
    """What stands before the chunk of a thread."""
    first = work.before or work.operator.neutral
    if work.chunks.of_row == 1:
        return first

    def some(c: Builder) -> Values:
        before = ends.at(c, c.sub(t, index(1)))
        return work.operator.combine(c, first, before) if work.before else before

    here = b.apply("lt", index(0), work.chunks.number(b, t))
    return choose(b, here, some, lambda c: first)


def _alone(b: Builder, work: Fold, ends: Pull, i: Atom) -> Values:
    """The prefix of an element that has a thread of its own."""
    assert isinstance(work.op, ScanAll)
    if work.op.exclusive:
        return _start(b, work, ends, i)
    found = ends.at(b, i)
    return work.operator.combine(b, work.before, found) if work.before else found


def _fits_registers(b: Builder, work: Fold, threads: int) -> bool:
    """Whether a thread can hold its chunk: else it reads the tile once more."""
    widest = max(dtype.bytes for dtype in dtypes_of(b, work.operator.neutral))
    return work.chunks.threads <= threads and work.chunks.turns * widest <= MOST_BYTES


def _registers(b: Builder, work: Fold) -> Tile:
    """Memory in which each thread uses elements of its own only, so that a machine may take
    registers of the thread for it (`registers.py`)."""
    return _memory(b, work, work.chunks.threads * work.chunks.turns, 1)


def _own(b: Builder, work: Fold, t: Atom, j: Atom) -> Atom:
    """The place of a thread's element number j."""
    return b.add(t, b.mul(j, index(work.chunks.threads)))
