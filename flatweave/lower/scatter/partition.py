"""Scattering by tiles of the destination: elements are sorted by tile first, then written.

    for each round of elements that fill the scratch memory:
        block p:  takes some neighbouring elements into shared memory, counts those of each tile,
                  and lays them down in scratch memory, tile after tile, each tile's in order
        block t:  owns tile t, which fits the second-level cache, and writes what all blocks have
                  for it, block after block

    indices 7 1 9 0 | 2 8 1 3   tiles of 4:   scratch  1 0 7 9 | 2 1 3 8    starts 0 2 3 4 | 0 3 3 4

Every element is computed once, and every index receives its elements in the order of the sweep. So
the bits are the same for any division and any number of threads, and the work grows with neither.

If a sum meets NaNs, owners call one function that determines its bits, and tiles must do the same.
After its starts, a block stores whether it wrote a NaN; only then is each of its elements tested.
"""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.algorithms.operator import Combine
from flatweave.base.dtypes import DType, bool_, i64, u16, u32
from flatweave.kernel_ir.hierarchy import store_each
from flatweave.kernel_ir.host import Role, free
from flatweave.kernel_ir.syntax import BlockIndex, Lane, Lanes, Load, Shared, Store
from flatweave.kernel_ir.warp_ops import ReduceLanes
from flatweave.lower.context import Own
from flatweave.lower.kernel_builder import KernelBuilder, agrees_without_nan, any_nan
from flatweave.lower.machine import ADDING, CACHE_LINE, WIDEST
from flatweave.lower.scatter.costs import UNKNOWN, WHOLE, Costs, is_large, is_near, sampled
from flatweave.lower.scatter.scattering import (
    Division,
    Scattering,
    Source,
    Stage,
    bytes_of,
    one_by_one,
)
from flatweave.lower.schedule.plan import When
from flatweave.lower.sweep.writer import KernelWriter
from flatweave.passes.cost import STORING
from flatweave.terms.build import FALSE, TRUE, Builder, index, lambda_of
from flatweave.terms.syntax import Atom, BufferType, Const, Var

MOST_TILES = 4096
ZERO, ONE = Const(0, u32), Const(1, u32)


class Partition(Division):
    """The two kernels of a partition, and their launches."""

    name = "partition"
    writes_destination = True
    reason = (
        "elements are sorted by tile of the destination first, since that is larger than"
        " the caches"
    )
    wished = When.FITS

    def __init__(self, scattering: Scattering, when: When) -> None:
        super().__init__(scattering, when)
        self.dtypes: list[DType] = [u16, *(scattering.dtypes[k] for k in scattering.varying)]
        each = bytes_of(self.dtypes)
        machine = scattering.lowering.machine
        self.block = 1 << max(1, machine.block_bytes // each).bit_length() - 1
        self.round = max(1, machine.scratch_bytes // each // self.block) * self.block
        bits = max(1, machine.block_bytes // bytes_of(scattering.held)).bit_length() - 1
        self.tile_bits = min(bits, u16.bits)  # an index within its tile is a u16
        sink = scattering.sink
        self.notes_nan = sink is not None and agrees_without_nan(sink.fn)
        shared: Own = [
            *(("scratch", BufferType(dtype)) for dtype in self.dtypes),
            ("starts", BufferType(u32)), ("bits", i64), ("size_bits", i64), ("start", i64),
        ]  # fmt: skip
        self.distribute = scattering.visiting(
            "_partition", lambda w, p: _Distribute(self, w, p).write(), shared, self.why
        )
        self.gather = scattering.later(
            "_partition_tiles", lambda k, p: _write_gather(self, k, p), shared
        )

    def fits(self, host: Builder) -> Atom:
        """Whether there are not too many tiles."""
        return host.apply("le", self.scattering.extent, index(MOST_TILES << u16.bits))

    def pays(self, host: Builder) -> Atom:
        """Whether sorting elements by tile costs less than what the caches miss; owners learn
        whether one of them is enough."""
        s = self.scattering
        if is_near(s):
            s.one_is_faster = TRUE
            return FALSE
        asks = host.apply("and", is_large(host, s), self.fits(host))
        far: Atom = index(WHOLE if s.facts.can_fail else UNKNOWN)
        if not s.facts.can_fail and asks != FALSE:
            (far,) = host.choose(asks, lambda c: [sampled(c, s)], lambda _: [index(UNKNOWN)])
        costs = Costs.of(host, s, far)
        s.one_is_faster = costs.one_is_faster(host)
        return host.apply("and", asks, costs.partition_pays(host))

    def launch(self, host: Builder) -> None:
        """Round after round."""
        s = self.scattering
        bits = self._bits(host)
        tiles = _parts(host, s.extent, bits)
        size_bits = self._size_bits(host)
        blocks = self.blocks(host, s.total, size_bits)
        room = host.apply("shl", blocks, size_bits)
        scratch = [s.lowering.alloc(dtype, room, host=host) for dtype in self.dtypes]
        rows = host.mul(blocks, self.row(host, tiles))
        starts = s.lowering.alloc(u32, rows, host=host)
        inside, at, _ = host.iteration("r")
        shared = (*scratch, starts, bits, size_bits, at)
        s.launch(self.distribute, blocks, Role.VARIANT, inside, shared)
        s.lowering.launch(self.gather, tiles, Role.VARIANT, inside, shared)
        inside.close_loop(index(0), s.total, [], [], self.round)
        free(host, *scratch, starts)

    def row(self, b: Builder, tiles: Atom) -> Atom:
        """What a block says: where each tile starts, where the last one ends, whether it has a
        NaN."""
        return b.add(tiles, index(2 if self.notes_nan else 1))

    def blocks(self, b: Builder, total: Atom, size_bits: Atom) -> Atom:
        """How many blocks a round has; the last one may have less to do."""
        return _parts(b, b.apply("minimum", index(self.round), total), size_bits)

    def _size_bits(self, host: Builder) -> Atom:
        """A block has 2^bits elements: the most that fit, but few enough for many blocks."""
        machine = self.scattering.lowering.machine
        wanted, least = machine.blocks_wanted, max(1, machine.block_work // STORING)
        part = host.apply("shr", self.scattering.total, index(wanted.bit_length() - 1))
        bits = host.sub(index(64), host.apply("clz", part))
        bits = host.apply("maximum", bits, index(least.bit_length() - 1))
        return host.apply("minimum", bits, index(self.block.bit_length() - 1))

    def _bits(self, host: Builder) -> Atom:
        """A tile has 2^bits elements: at most what the cache holds, unless they get too many."""
        last = host.apply("maximum", host.sub(self.scattering.extent, index(1)), index(0))

        def bits_for(tiles: int) -> Atom:
            part = host.apply("shr", last, index(tiles.bit_length() - 1))
            return host.sub(index(64), host.apply("clz", part))

        wanted = self.scattering.lowering.machine.blocks_wanted
        bits = host.apply("minimum", bits_for(wanted), index(self.tile_bits))
        return host.apply("maximum", bits, bits_for(MOST_TILES))


class _Distribute:
    """The kernel that lays down elements tile after tile."""

    def __init__(self, partition: Partition, writer: KernelWriter, own: Sequence[Var]) -> None:
        self.partition = partition
        self.writer = writer
        *self.scratch, self.starts, bits, size_bits, self.start = own
        b = writer.b
        self.shift = _shift(b, bits)
        self.tiles = _parts(b, writer.kernel.capture(partition.scattering.extent), self.shift)
        block, size_shift = b.emit(BlockIndex())[0], _shift(b, size_bits)
        self.size = b.apply("shl", index(1), size_shift)
        self.base = b.apply("shl", block, size_shift)
        self.row = b.mul(block, partition.row(b, self.tiles))

    def write(self) -> None:
        """Stage a block's elements, count them by tile, lay them down."""
        partition, scattering, writer = self.partition, self.partition.scattering, self.writer
        b, start, size = writer.b, self.start, self.size
        lo = b.add(start, self.base)
        stop = b.apply("minimum", b.add(start, index(partition.round)), writer.total)
        hi = b.apply("maximum", b.apply("minimum", b.add(lo, size), stop), lo)
        source = Source(scattering, writer, index(0), writer.kernel.capture(scattering.extent))
        stage = Stage.of(b, scattering, partition.block, u32)
        count, _ = stage.fill(b, source, lo, hi, ())
        counts = b.emit(Shared(u32, ADDING * MOST_TILES))[0]
        self._count(b, stage, counts, count)
        self._begin(b, counts)
        self._lay_down(b, stage, counts, count)

    def _count(self, b: Builder, stage: Stage, counts: Var, count: Atom) -> None:
        """Elements of each tile, in several counters: so the next element seldom waits for one."""
        with b.loop(index(0), self.tiles, hint="t") as (clear, t):
            for k in range(ADDING):
                clear.emit(Store(counts, clear.add(t, index(k * MOST_TILES)), ZERO))

        def add(c: Builder, k: Atom, turn: int) -> None:
            place = stage.place(c, k)
            tile = c.apply("shr", place, self.shift)
            at = c.add(tile, index(turn * MOST_TILES))
            c.emit(Store(counts, at, c.add(c.emit(Load(counts, at))[0], ONE)))

        one_by_one(b, index(0), count, add)

    def _begin(self, b: Builder, counts: Var) -> None:
        """Where the elements of each tile begin; counts go on from there."""
        each, t, (start,) = b.iteration("t", [ZERO])
        of_tile: Atom = start
        for k in range(ADDING):
            at = each.add(t, index(k * MOST_TILES))
            of_tile = each.add(of_tile, each.emit(Load(counts, at))[0])
        each.emit(Store(counts, t, start))
        each.emit(Store(self.starts, each.add(self.row, t), start))
        (end,) = each.close_loop(index(0), self.tiles, [ZERO], [of_tile])
        b.emit(Store(self.starts, b.add(self.row, self.tiles), end))

    def _lay_down(self, b: Builder, stage: Stage, counts: Var, count: Atom) -> None:
        """Appends each element to those of its tile: its index within the tile, and its values."""
        mask = b.sub(b.apply("shl", index(1), self.shift), index(1))
        room = self.partition.block + WIDEST
        laid = [b.emit(Shared(dtype, room))[0] for dtype in self.partition.dtypes]

        def put(c: Builder, k: Atom, turn: int) -> None:
            place, values = stage.element(c, k)
            tile = c.apply("shr", place, self.shift)
            next_ = c.emit(Load(counts, tile))[0]
            c.emit(Store(counts, tile, c.add(next_, ONE)))
            at = c.cast(next_, i64)
            inside = c.cast(c.apply("and", place, mask), u16)
            store_each(c, laid, at, (inside, *values))

        one_by_one(b, index(0), count, put)
        self._leave(b, laid, count)

    def _leave(self, b: Builder, laid: Sequence[Var], count: Atom) -> None:
        """The block's elements to scratch memory: whole lines around the caches, then the rest."""
        whole = b.round_down(count, index(CACHE_LINE))
        nans: list[Atom] = []
        for lanes, lo, hi in ((CACHE_LINE, index(0), whole), (1, whole, count)):
            nans += self._leave_part(b, laid, lanes, lo, hi)
        if nans:
            at = b.add(b.add(self.row, self.tiles), index(1))
            b.emit(Store(self.starts, at, b.cast(b.apply("or", *nans), u32)))

    def _leave_part(
        self, b: Builder, laid: Sequence[Var], lanes: int, lo: Atom, hi: Atom
    ) -> tuple[Atom, ...]:
        """Copies elements lo to hi, `lanes` at once; returns whether there was a NaN, if noted."""
        region = b.inner()
        loop, i, _ = region.iteration("i")
        at = loop.emit(Lane(i))[0] if lanes > 1 else i
        found = [loop.emit(Load(source, at))[0] for source in laid]
        for value, target in zip(found, self.scratch, strict=True):
            loop.emit(Store(target, loop.add(self.base, at), value, streaming=lanes > 1))
        after, init = list[Atom](), list[Atom]()
        if self.partition.notes_nan:
            values = self.partition.scattering.whole(self.writer.kernel, found[1:])
            init = [FALSE]
            after = [loop.apply("or", loop.param("nan", bool_), any_nan(loop, values))]
        some = loop.close_loop(lo, hi, init, after, lanes)
        if some and lanes > 1:
            some = region.emit(ReduceLanes(lambda_of("or", bool_), some))
        return b.emit(Lanes(lanes, region.close([], some)))


def _write_gather(partition: Partition, kernel: KernelBuilder, own: Sequence[Var]) -> None:
    """The kernel that writes a tile."""
    scattering, b = partition.scattering, kernel.body
    *scratch, starts, bits, size_bits, _ = own
    shift, size_shift = _shift(b, bits), _shift(b, size_bits)
    tiles = _parts(b, kernel.capture(scattering.extent), shift)
    blocks = partition.blocks(b, kernel.capture(scattering.total), size_shift)
    dest = scattering.dest_in(kernel)
    tile = b.emit(BlockIndex())[0]
    first = b.apply("shl", tile, shift)
    of_block, block, _ = b.iteration("b")
    row = of_block.mul(block, partition.row(of_block, tiles))
    base = of_block.apply("shl", block, size_shift)
    from_ = of_block.add(row, tile)
    lo, hi = (
        of_block.add(base, of_block.cast(of_block.emit(Load(starts, at))[0], i64))
        for at in (from_, of_block.add(from_, index(1)))
    )

    def write_all(c: Builder, combine: Combine | None, turns: int = ADDING) -> None:
        def write(c: Builder, k: Atom, turn: int) -> None:
            inside, *values = (c.emit(Load(buffer, k))[0] for buffer in scratch)
            scattering.write(kernel, c, dest, c.add(first, c.cast(inside, i64)), values, combine)

        one_by_one(c, lo, hi, write, turns)

    combine = scattering.anywhere(kernel)  # owners must leave the same bits
    if partition.notes_nan:
        at = of_block.add(of_block.add(row, tiles), index(1))
        nan = of_block.apply("ne", of_block.emit(Load(starts, at))[0], ZERO)
        with of_block.branches(nan) as (some, none):
            write_all(some, combine, turns=1)
            write_all(none, None)
    else:
        write_all(of_block, combine)
    of_block.close_loop(index(0), blocks, [], [])


def _parts(b: Builder, extent: Atom, bits: Atom) -> Atom:
    """The number of parts of 2^bits elements that cover `extent`."""
    return b.add(b.apply("shr", b.sub(extent, index(1)), bits), index(1))


def _shift(b: Builder, bits: Atom) -> Atom:
    """A number of bits of which the kernel knows that no shift by it can be too far."""
    return b.apply("and", bits, index(63))
