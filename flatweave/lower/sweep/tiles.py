"""Tiles of a sweep's space, shared out among blocks, and the kernel of a stencil in tiles.

Each block copies what the elements of its tiles read into shared memory:

    for each of the block's tiles:
        barrier                                            others may still read the last one
        for each array that is read at several offsets:    the tile and its halo, once
            tile[..] = xs[..]
        barrier
        for each element of the tile that the sweep has, side by side along the last axis:
            the body, whose reads of those arrays are of the tile

Elements have the same values as in other versions: the same inputs are read, and the operations
are in the same order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from flatweave.base.dtypes import i64
from flatweave.kernel_ir.syntax import Lane, Lanes, Shared, Sync
from flatweave.lower.schedule.stencil import Around, Stencil, shape_of
from flatweave.lower.sweep.sink import LoweredSink, SinkStep
from flatweave.lower.sweep.writer import KernelWriter
from flatweave.lower.traverse.shared_tiles import InShared, TileOf, unravelled
from flatweave.lower.traverse.steps import Position, State, warp_index
from flatweave.lower.traverse.traversal import flat
from flatweave.terms.build import TRUE, Builder, index
from flatweave.terms.control import NO_BODY, For, If
from flatweave.terms.syntax import Atom, Var


def loop(
    b: Builder, lo: Atom, hi: Atom, step: int | Atom, act: Callable[[Builder, Atom], None]
) -> None:
    """act at lo, lo + step, .. below hi."""
    inside = b.inner()
    i = inside.param("i", i64)
    act(inside, i)
    by = index(step) if isinstance(step, int) else step
    b.emit(For(lo, hi, by, inside.close([i], []), ()))


def in_lanes(b: Builder, width: int, act: Callable[[Builder], None]) -> None:
    """act on the lanes of a warp."""
    region = b.inner()
    act(region)
    b.emit(Lanes(width, region.close([], [])))


def for_each_tile(
    writer: KernelWriter, count: Atom, act: Callable[[Builder, Atom], None]
) -> None:
    """act for each of this block's tiles, of `count` in all."""
    b = writer.b
    block, _, _ = writer.block()
    blocks = b.apply("maximum", b.ceil_div(writer.total, writer.size), index(1))
    first = b.apply("floordiv", b.mul(block, count), blocks)
    behind = b.apply("floordiv", b.mul(b.add(block, index(1)), count), blocks)

    def one(c: Builder, number: Atom) -> None:
        c.assume_space(writer.shape)
        act(c, number)

    loop(b, first, behind, 1, one)


def write_in_tiles(writer: KernelWriter, sinks: Sequence[LoweredSink]) -> None:
    """Write the kernel of the variant that reads from tiles."""
    assert writer.facts.stencil is not None
    _InTiles(writer, writer.facts.stencil, sinks).write()


class _InTiles:
    """A kernel under construction."""

    def __init__(
        self, writer: KernelWriter, stencil: Stencil, sinks: Sequence[LoweredSink]
    ) -> None:
        self.writer = writer
        self.stencil = stencil
        self.sinks = sinks
        self.tile = shape_of(writer.version, len(writer.shape))
        self.machine = writer.lowering.machine
        self.width = writer.version.width

    def write(self) -> None:
        """A loop over this block's share of the tiles."""
        writer, b = self.writer, self.writer.b
        counts = [
            b.ceil_div(extent, index(n))
            for extent, n in zip(writer.shape, self.tile, strict=True)
        ]
        rooms = [
            b.emit(Shared(around.dtype, prod(around.slots(self.tile))))[0]
            for around in self.stencil.arrays
        ]

        def one(c: Builder, number: Atom) -> None:
            some = [c.apply("maximum", count, index(1)) for count in counts]
            numbers = c.unravel(number, some)
            first = [c.mul(k, index(n)) for k, n in zip(numbers, self.tile, strict=True)]
            c.emit(Sync())
            tiles = [
                self._filled(c, around, room, first)
                for around, room in zip(self.stencil.arrays, rooms, strict=True)
            ]
            c.emit(Sync())
            self._visit(c, first, tiles)

        for_each_tile(writer, b.product(counts), one)

    def _filled(
        self, b: Builder, around: Around, room: Var, first: Sequence[Atom]
    ) -> TileOf:
        """The tile of an array whose elements' first one is this."""
        base = tuple(b.sub(i, index(lo)) for i, lo in zip(first, around.lo, strict=True))
        tile = TileOf(room, around.slots(self.tile), base)
        tile.fill(b, self.machine, *self.writer.kernel.array(around.xs), self.width)
        return tile

    def _visit(self, b: Builder, first: Sequence[Atom], tiles: Sequence[TileOf]) -> None:
        """The elements of a tile: a part for each warp."""
        part = prod(self.tile) // self.machine.warps
        begin = b.mul(warp_index(b, self.machine), index(part))

        def step(c: Builder, base: Atom, state: State) -> State:
            places = unravelled(c, c.emit(Lane(base))[0], self.tile)
            self._element(c, [c.add(i, at) for i, at in zip(first, places, strict=True)], tiles)
            return state

        walk = flat(self.machine, index(prod(self.tile)), self.width)
        walk.in_lanes(b, self.width, begin, b.add(begin, index(part)), (), step)

    def _element(self, b: Builder, at: Sequence[Atom], tiles: Sequence[TileOf]) -> None:
        """The element at some indices, if there is one, handed to the sinks."""
        writer, inside = self.writer, b.inner()
        active: Atom = TRUE
        for i, extent in zip(at, writer.shape, strict=True):
            active = b.apply("and", active, b.apply("lt", i, extent))
            if isinstance(i, Var):
                inside.assume_inside(i, extent, 0)
        flat_ = inside.ravel(at, writer.shape)
        position = Position(flat_, tuple(at), self.width, active, aligned=False)
        elements = writer.elements(position)
        elements.tiles = {
            near.read: InShared(tile, near.spans, position.indices)
            for around, tile in zip(self.stencil.arrays, tiles, strict=True)
            for near in around.reads
        }
        elements.emit(inside, writer.op.body.lets)
        fed = SinkStep(b, inside, elements, position, ())
        for sink in self.sinks:
            sink.step(writer, fed, ())
        b.emit(If(active, inside.close([], []), NO_BODY))
