"""The spaces of contractions in register tiles: what rows are, and whether folds are in parts.

    sweep [.., n, m] (.., i, j => fold ..)      rows i, lanes j: in parts, or whole where folds are
                                                short and each register tile takes all steps
    sweep [m] (j => fold n (i => fold ..))      rows i in order, lanes j

And the tiles of sweeps whose threads read across their lanes, in shared memory:

    sweep [n, m] (i, j => index xs [j, i])      a tile of xs, read along i and stored along j
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from flatweave.kernel_ir.hierarchy import in_lanes, store_each
from flatweave.kernel_ir.syntax import Lane, Load, Shared, Store, Sync
from flatweave.lower.schedule.steps import Axis, Split
from flatweave.lower.schedule.tiling import stride_of
from flatweave.lower.sweep.contracted import Contracted, Extent, others
from flatweave.lower.sweep.contraction_cells import for_each_tile, rooms
from flatweave.lower.sweep.writer import KernelWriter, LoweredSink, SinkStep
from flatweave.lower.traverse.steps import Position, warp_index
from flatweave.terms.build import Builder, index
from flatweave.terms.control import For
from flatweave.terms.syntax import Atom, Var, scalar_type
from flatweave.terms.traverse import free_vars, needed_for

TILES_WANTED = 16
"""So many tiles there are, where results are enough: threads share them out."""


def write_contracted(writer: KernelWriter, sinks: Sequence[LoweredSink]) -> None:
    """Write the kernel of a version in register tiles."""
    found = writer.facts.contraction
    assert found is not None
    kind = _OfSpace if writer.version.step(Split) else _Whole
    (kind if found.outer is None else _OfFold)(writer, sinks).write()


class _OfSpace(Contracted):
    """Rows and lanes are the last axes of the sweep's space."""

    def sides(self) -> tuple[Atom, Atom]:
        return self.writer.shape[-2], self.writer.shape[-1]

    def sizes(self, b: Builder, rows: Atom, lanes: Atom) -> tuple[Atom, Atom]:
        if self.found.leading:
            return index(self.most_rows), index(self.most_lanes)
        others = b.ceil_div(lanes, index(self.most_lanes))
        height = _part(b, b.mul(rows, others), self.rows, self.most_rows)
        return height, index(self.most_lanes)

    def tile(self, b: Builder, extent: Extent) -> None:
        self.fold(b, extent)

        def leave(c: Builder, base: Atom, row: Atom, active: Atom | None) -> None:
            at = (*self.at, row, c.emit(Lane(base))[0])
            self.feed(c, at, active, self.found.fold, lambda d: self._load(d, extent, base, row))

        self.in_panels(b, extent, leave, 1)


class _Whole(_OfSpace):
    """The same without parts: each register tile takes all steps of the fold. The rows that do not
    fill a register tile are taken by half as many at once."""

    def write(self) -> None:
        b, (*leading, rows, lanes) = self.writer.b, self.writer.shape
        count, half = index(self.rows), max(1, self.rows // 2)

        def position(c: Builder, number: Atom) -> None:
            self.at = c.unravel(number, leading)
            self.steps = self.cells.enter(c, self.at)
            full = c.round_down(rows, count)
            for some, each in (((index(0), full), self.rows), ((full, rows), half)):
                part = Extent(some, (index(0), lanes))
                self.in_panels(c, part, partial(self._take, part, each), each)

        for_each_tile(self.writer, b.product(leading), position)

    def _take(
        self, extent: Extent, count: int, b: Builder, base: Atom, row: Atom, active: Atom | None
    ) -> None:
        """Fold the cells of a register tile, and feed the sinks the rows that there are."""
        end, is_full, neutral = extent.rows[1], count == self.rows, self.cells.neutral
        each = len(neutral)
        with b.when(active) as inside:
            rows = [inside.add(row, index(r)) for r in range(count)]
            last = inside.sub(end, index(1))
            valid = rows if is_full else [inside.apply("minimum", y, last) for y in rows]
            body = self._step(inside, extent, base, valid, index(0))
            fold = For(index(0), self.steps, index(1), body, tuple(neutral * count))
            found = inside.emit(fold)
            for r, y in enumerate(rows):
                with inside.when(None if is_full else inside.apply("lt", y, end)) as some:
                    at = (*self.at, y, some.emit(Lane(base))[0])
                    results = found[r * each : (r + 1) * each]
                    self.feed(some, at, active, self.found.fold, partial(_are, results))


class _OfFold(Contracted):
    """Rows are the positions of a fold around the contraction."""

    def __init__(self, writer: KernelWriter, sinks: Sequence[LoweredSink]) -> None:
        super().__init__(writer, sinks)
        assert self.found.outer is not None and self.found.around is not None
        self.outer, self.around = self.found.outer, self.found.around
        self.neutral = writer.scalars(self.outer.neutral)
        self.totals = rooms(writer.b, self.neutral, self.most_lanes)

    def sides(self) -> tuple[Atom, Atom]:
        return self.writer.kernel.scalar(self.outer.extent), self.writer.shape[0]

    def sizes(self, b: Builder, rows: Atom, lanes: Atom) -> tuple[Atom, Atom]:
        return b.apply("maximum", rows, index(1)), _part(b, lanes, self.lanes, self.most_lanes)

    def tile(self, b: Builder, extent: Extent) -> None:
        rows, lanes = extent.rows, extent.lanes

        def begin(c: Builder, base: Atom, row: Atom, active: Atom | None) -> None:
            self._keep(c, extent, base, self.neutral)

        def leave(c: Builder, base: Atom, row: Atom, active: Atom | None) -> None:
            at = (c.emit(Lane(base))[0],)
            self.feed(c, at, active, self.around, lambda d: self._totals(d, extent, base))

        self.in_panels(b, extent, begin)
        with b.loop(*rows, self.most_rows) as (c, y):
            some = Extent((y, c.apply("minimum", c.add(y, index(self.most_rows)), rows[1])), lanes)
            self.fold(c, some)
            self.in_panels(c, some, lambda d, base, row, active: self._fold_rows(
                d, some, base, active))  # fmt: skip
        self.in_panels(b, extent, leave)

    def _totals(self, b: Builder, extent: Extent, base: Atom) -> tuple[Atom, ...]:
        """The values of a panel's lanes after the rows so far."""
        place = b.emit(Lane(b.sub(base, extent.lanes[0])))[0]
        return tuple(b.emit(Load(room, place))[0] for room in self.totals)

    def _keep(self, b: Builder, extent: Extent, base: Atom, values: Sequence[Atom]) -> None:
        place = b.emit(Lane(b.sub(base, extent.lanes[0])))[0]
        store_each(b, self.totals, place, values)

    def _fold_rows(self, b: Builder, extent: Extent, base: Atom, active: Atom | None) -> None:
        """The outer fold continues over the rows of a tile, in order."""
        before = self._totals(b, extent, base)
        inside, row, known = b.iteration("r", before)
        joined = partial(self._joined, extent, base, row, known)
        after = joined(inside) if active is None else inside.choose(active, joined, lambda _: known)
        self._keep(b, extent, base, inside.close_loop(*extent.rows, before, after))

    def _joined(
        self, extent: Extent, base: Atom, row: Atom, known: Sequence[Atom], b: Builder
    ) -> tuple[Atom, ...]:
        """The values of a row's lanes after the row."""
        outer, fold, lane = self.outer, self.found.fold, b.emit(Lane(base))[0]
        elements = self.writer.elements(Position(lane, (lane,), self.lanes))
        elements.env[self.found.row] = row
        elements.env.update(zip(fold.vars, self._load(b, extent, base, row), strict=True))
        body = others(outer.body, fold)
        read = [v for let in body for v in free_vars(let.op)]
        elements.emit(b, needed_for(self.writer.op.body.lets, [*read, *outer.body.results]))
        elements.emit(b, body)
        return elements.call(b, outer.fn, [*known, *elements.atoms(outer.body.results)])


def _are(results: Sequence[Atom], b: Builder) -> Sequence[Atom]:
    """Results that are in registers already."""
    return results


def _part(b: Builder, extent: Atom, size: int, most: int) -> Atom:
    """Rows or lanes of a tile, multiples of `size`: fewer where there would be too few tiles."""
    wanted = b.ceil_div(extent, index(TILES_WANTED * size))
    parts = b.apply("maximum", b.apply("minimum", wanted, index(most // size)), index(1))
    return b.mul(parts, index(size))


# -- Tiles that a block reads along memory, and stores along another axis --------------------------
#
#     for each tile of this block:
#         for its rows j, by warps:     tile[j, i] = what is read at (i, j)       lanes along i
#         barrier
#         for its rows i, by warps:     elements (i, j) of tile[j, i]             lanes along j
#         barrier


Act = Callable[[Builder, Atom, int], None]
"""Some lanes of a row of a tile: the number of the row, and of the first of the lanes."""


def write_turned(writer: KernelWriter, sinks: Sequence[LoweredSink]) -> None:
    """Write the kernel of a version in tiles of shared memory."""
    _Turned(writer, sinks).write()


class _Turned:
    """What is read is in a row of the tile for each index of the last axis."""

    def __init__(self, writer: KernelWriter, sinks: Sequence[LoweredSink]) -> None:
        found, side = writer.facts.turned, writer.version.part(Axis.LAST)
        assert found is not None
        self.writer = writer
        self.sinks = sinks
        self.axis, self.reads, self.side = found.axis, found.reads, side
        self.rooms: list[tuple[Var, Atom]] = []
        for read in found.reads:
            dtype = scalar_type(read.vars[0])
            stride = stride_of(side, dtype.bytes)
            (room,) = writer.b.emit(Shared(dtype, side * stride))
            self.rooms.append((room, index(stride)))

    def write(self) -> None:
        """Each block takes as many tiles as any other."""
        tiles = list(self.writer.shape)
        for axis in (self.axis, -1):
            tiles[axis] = self.writer.b.ceil_div(tiles[axis], index(self.side))
        count = self.writer.b.product(tiles)
        for_each_tile(self.writer, count, lambda b, number: self._tile(b, b.unravel(number, tiles)))

    def _tile(self, b: Builder, tile: Sequence[Atom]) -> None:
        first = list(tile)
        for axis in (self.axis, -1):
            first[axis] = b.mul(tile[axis], index(self.side))
        self._rows(b, partial(self._load, first))
        b.emit(Sync())
        self._rows(b, partial(self._feed, first))
        b.emit(Sync())

    def _rows(self, b: Builder, act: Act) -> None:
        """act for the rows of the tile that this warp takes."""
        machine, width = self.writer.lowering.machine, self.writer.version.width
        warp = warp_index(b, machine)
        count = index(self.side // machine.warps)
        with in_lanes(b, width) as region, region.loop(index(0), count, hint="k") as (turn, k):
            row = turn.add(turn.mul(k, index(machine.warps)), warp)
            for lane in range(0, self.side, width):
                act(turn, row, lane)

    def _position(
        self, b: Builder, first: Sequence[Atom], axes: tuple[int, int], row: Atom, lane: int
    ) -> Position:
        """The elements of a row of the tile, whose number is along the first of the axes; indices
        past the end are clamped."""
        along, across = axes
        place, shape = list(first), self.writer.shape
        place[along] = b.add(first[along], row)
        place[across] = b.emit(Lane(b.add(first[across], index(lane))))[0]
        inside = b.apply("and", *(b.apply("lt", place[axis], shape[axis]) for axis in axes))
        for axis in axes:
            last = b.sub(shape[axis], index(1))
            place[axis] = b.apply("minimum", place[axis], last)
        flat, width = b.ravel(place, shape), self.writer.version.width
        return Position(flat, tuple(place), width, inside, aligned=False)

    def _load(self, first: Sequence[Atom], b: Builder, row: Atom, lane: int) -> None:
        """Read a row of the tile along memory."""
        position = self._position(b, first, (-1, self.axis), row, lane)
        elements = self.writer.elements(position)
        values = [read.vars[0] for read in self.reads]
        elements.emit(b, needed_for(self.writer.op.body.lets, values))
        for (room, stride), value in zip(self.rooms, values, strict=True):
            at = b.emit(Lane(b.add(b.mul(row, stride), index(lane))))[0]
            b.emit(Store(room, at, elements.atom(value)))

    def _feed(self, first: Sequence[Atom], b: Builder, row: Atom, lane: int) -> None:
        """Compute a row of elements from a column of the tile, and hand it to the sinks."""
        writer, body = self.writer, self.writer.op.body
        position = self._position(b, first, (self.axis, -1), row, lane)
        elements, column = writer.elements(position), b.emit(Lane(index(lane)))[0]
        for (room, stride), read in zip(self.rooms, self.reads, strict=True):
            at = b.add(b.mul(column, stride), row)
            elements.env[read.vars[0]] = b.emit(Load(room, at))[0]
        others = [let for let in body.lets if let not in self.reads]
        results = [result for result in body.results if isinstance(result, Var)]
        elements.emit(b, needed_for(others, results))
        assert position.active is not None
        with b.when(position.active) as inside:
            for sink in self.sinks:
                sink.step(writer, SinkStep(b, inside, elements, position, ()), ())
