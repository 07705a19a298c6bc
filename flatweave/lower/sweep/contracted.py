"""The kernel of a contraction in register tiles: what is computed where, and what goes to sinks.

    a block     its share of the tiles of the space, one after the other
    a tile      folded (traverse/register_tiles.py), then what the body makes of its results

Where rows are the positions of a fold around the contraction, tiles lie along the lanes alone, and
each takes all rows, in order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from flatweave.base.dtypes import i64
from flatweave.kernel_ir.syntax import Lane, Load, Shared, Store
from flatweave.lower.kernel.elements import Elements
from flatweave.lower.schedule.contraction import Contraction
from flatweave.lower.sweep.contracted_in_place import InPlace
from flatweave.lower.sweep.contraction_cells import Cells
from flatweave.lower.sweep.share_tiles import for_each_tile
from flatweave.lower.sweep.sink import LoweredSink, SinkStep
from flatweave.lower.sweep.writer import KernelWriter
from flatweave.lower.traverse.register_tiles import Extent, RegisterTiles, in_lanes, loop
from flatweave.lower.traverse.steps import Position
from flatweave.ops.rows import scalar_type
from flatweave.terms.build import Builder, index
from flatweave.terms.control import NO_BODY, For, If
from flatweave.terms.syntax import Atom, Let
from flatweave.terms.traverse import free_vars, needed_for

TILES_WANTED = 16
"""So many tiles there are, where results are enough: threads share them out."""
Act = Callable[[Builder, Atom, Atom | None], None]


def write_contracted(writer: KernelWriter, sinks: Sequence[LoweredSink]) -> None:
    """Write the kernel of the tiled variant."""
    contraction = writer.facts.contraction
    assert contraction is not None
    if contraction.leading:
        InPlace(writer, contraction, sinks).write()
        return
    kind = _OfSpace if contraction.outer is None else _OfFold
    kind(writer, contraction, sinks).write()


class _Contracted:
    """A kernel under construction."""

    def __init__(
        self, writer: KernelWriter, contraction: Contraction, sinks: Sequence[LoweredSink]
    ) -> None:
        self.writer = writer
        self.contraction = contraction
        self.sinks = sinks
        self.tile = writer.register_tile
        steps = writer.kernel.scalar(contraction.op.extent)
        self.tiles = RegisterTiles(writer.b, self.tile, Cells(writer, contraction), steps)

    def write(self) -> None:
        """A loop over this block's share of the tiles."""
        raise NotImplementedError

    def panels(self, b: Builder, lanes: tuple[Atom, Atom], act: Act) -> None:
        """act for each panel of some lanes, inside of lanes: its first lane, and which are there;
        None where all are."""
        width, (lo, hi) = self.tile.lanes, lanes
        whole = b.mul(b.apply("floordiv", b.sub(hi, lo), index(width)), index(width))
        rest = b.add(lo, whole)
        loop(b, lo, rest, width, lambda c, base: act(c, base, None))
        some = b.inner()
        act(some, rest, some.apply("lt", some.emit(Lane(rest))[0], hi))
        b.emit(If(b.apply("lt", rest, hi), some.close([], []), NO_BODY))

    def panel(self, b: Builder, lanes: tuple[Atom, Atom], base: Atom) -> Atom:
        """The number of the panel that begins at a lane."""
        return b.apply("floordiv", b.sub(base, lanes[0]), index(self.tile.lanes))

    def feed(self, b: Builder, elements: Elements, position: Position, lets: Sequence[Let]) -> None:
        """Compute what is left of the body where there are lanes, and hand it to the sinks."""
        inside = b.inner() if position.active is not None else b
        elements.emit(inside, lets)
        fed = SinkStep(b, inside, elements, position, ())
        for sink in self.sinks:
            sink.step(self.writer, fed, ())
        if position.active is not None:
            b.emit(If(position.active, inside.close([], []), NO_BODY))

    def beside(self, lets: Sequence[Let], fold: Let) -> list[Let]:
        """The lets of a body but for a fold in it."""
        return [let for let in lets if let is not fold]


class _OfSpace(_Contracted):
    """Rows and lanes are the axes of the sweep's space."""

    def write(self) -> None:
        b, (rows, lanes), tile = self.writer.b, self.writer.shape, self.tile
        across = b.ceil_div(lanes, index(tile.most_lanes))
        height = _part(b, b.mul(rows, across), tile.rows, tile.most_rows)
        count = b.mul(across, b.ceil_div(rows, height))

        def one(c: Builder, number: Atom) -> None:
            columns = c.apply("maximum", across, index(1))
            x = c.mul(c.apply("mod", number, columns), index(tile.most_lanes))
            y = c.mul(c.apply("floordiv", number, columns), height)
            x_end = c.apply("minimum", c.add(x, index(tile.most_lanes)), lanes)
            extent = Extent((y, c.apply("minimum", c.add(y, height), rows)), (x, x_end))
            self.tiles.fold(c, extent)
            in_lanes(c, tile.lanes, lambda d: self._leave(d, extent))

        for_each_tile(self.writer, count, one)

    def _leave(self, b: Builder, extent: Extent) -> None:
        """The rest of the body, row by row."""
        writer, fold = self.writer, self.contraction.fold
        lets = self.beside(writer.op.body.lets, fold)

        def of_row(c: Builder, row: Atom) -> None:
            def step(d: Builder, base: Atom, active: Atom | None) -> None:
                lane = d.emit(Lane(base))[0]
                flat = d.add(d.mul(row, writer.shape[1]), lane)
                position = Position(flat, (row, lane), self.tile.lanes, active, aligned=False)
                elements = writer.elements(position)
                panel = self.panel(d, extent.lanes, base)
                results = self.tiles.load(d, panel, d.sub(row, extent.rows[0]))
                elements.env.update(zip(fold.vars, results, strict=True))
                self.feed(d, elements, position, lets)

            self.panels(c, extent.lanes, step)

        loop(b, extent.rows[0], extent.rows[1], 1, of_row)


class _OfFold(_Contracted):
    """Rows are the positions of a fold around the contraction."""

    def write(self) -> None:
        b, writer, tile, outer = self.writer.b, self.writer, self.tile, self.contraction.outer
        assert outer is not None
        self.outer = outer
        rows, lanes = writer.kernel.scalar(outer.extent), writer.shape[0]
        self.neutral = tuple(writer.kernel.scalar(atom) for atom in outer.neutral)
        self.rooms = [
            b.emit(Shared(scalar_type(atom), tile.most_lanes))[0] for atom in self.neutral
        ]

        width = _part(b, lanes, tile.lanes, tile.most_lanes)

        def one(c: Builder, number: Atom) -> None:
            x = c.mul(number, width)
            across = (x, c.apply("minimum", c.add(x, width), lanes))
            in_lanes(c, tile.lanes, lambda d: self._begin(d, across))

            def some_rows(d: Builder, y: Atom) -> None:
                end = d.apply("minimum", d.add(y, index(tile.most_rows)), rows)
                extent = Extent((y, end), across)
                self.tiles.fold(d, extent)
                in_lanes(d, tile.lanes, lambda e: self._fold_rows(e, extent))

            loop(c, index(0), rows, tile.most_rows, some_rows)
            in_lanes(c, tile.lanes, lambda d: self._leave(d, across))

        for_each_tile(writer, b.ceil_div(lanes, width), one)

    def _begin(self, b: Builder, lanes: tuple[Atom, Atom]) -> None:
        """The results of no row."""
        def step(c: Builder, base: Atom, active: Atom | None) -> None:
            self._store(c, lanes, base, self.neutral)

        self.panels(b, lanes, step)

    def _store(
        self, b: Builder, lanes: tuple[Atom, Atom], base: Atom, values: Sequence[Atom]
    ) -> None:
        place = b.emit(Lane(b.sub(base, lanes[0])))[0]
        for room, value in zip(self.rooms, values, strict=True):
            b.emit(Store(room, place, value))

    def _load(self, b: Builder, lanes: tuple[Atom, Atom], base: Atom) -> tuple[Atom, ...]:
        place = b.emit(Lane(b.sub(base, lanes[0])))[0]
        return tuple(b.emit(Load(room, place))[0] for room in self.rooms)

    def _fold_rows(self, b: Builder, extent: Extent) -> None:
        """The fold around goes on over the rows of a tile, in order."""
        def step(c: Builder, base: Atom, active: Atom | None) -> None:
            before = self._load(c, extent.lanes, base)
            inside = c.inner()
            row = inside.param("r", i64)
            known = [inside.param("s", atom.type) for atom in before]
            if active is None:
                after = self._joined(inside, extent, base, row, known)
            else:
                some, none = inside.inner(), inside.inner()
                made = some.close([], self._joined(some, extent, base, row, known))
                after = inside.emit(If(active, made, none.close([], known)))
            body = inside.close([row, *known], after)
            self._store(c, extent.lanes, base,
                        c.emit(For(*extent.rows, index(1), body, before)))  # fmt: skip

        self.panels(b, extent.lanes, step)

    def _joined(
        self, b: Builder, extent: Extent, base: Atom, row: Atom, known: Sequence[Atom]
    ) -> tuple[Atom, ...]:
        """What a row's lanes have behind it."""
        outer, fold = self.outer, self.contraction.fold
        lane = b.emit(Lane(base))[0]
        elements = self.writer.elements(Position(lane, (lane,), self.tile.lanes))
        elements.env[self.contraction.row] = row
        panel = self.panel(b, extent.lanes, base)
        results = self.tiles.load(b, panel, b.sub(row, extent.rows[0]))
        elements.env.update(zip(fold.vars, results, strict=True))
        body = self.beside(outer.body.lets, fold)
        read = [v for let in body for v in free_vars(let.op)]
        elements.emit(b, needed_for(self.writer.op.body.lets, [*read, *outer.body.results]))
        elements.emit(b, body)
        return elements.call(b, outer.fn, [*known, *elements.atoms(outer.body.results)])

    def _leave(self, b: Builder, lanes: tuple[Atom, Atom]) -> None:
        """The rest of the body."""
        around = self.contraction.around
        assert around is not None
        lets = self.beside(self.writer.op.body.lets, around)

        def step(c: Builder, base: Atom, active: Atom | None) -> None:
            lane = c.emit(Lane(base))[0]
            position = Position(lane, (lane,), self.tile.lanes, active, aligned=False)
            elements = self.writer.elements(position)
            elements.env.update(zip(around.vars, self._load(c, lanes, base), strict=True))
            self.feed(c, elements, position, lets)

        self.panels(b, lanes, step)


def _part(b: Builder, extent: Atom, size: int, most: int) -> Atom:
    """Rows or lanes of a tile, multiples of `size`: fewer where there would be too few tiles."""
    wanted = b.ceil_div(extent, index(TILES_WANTED * size))
    parts = b.apply("maximum", b.apply("minimum", wanted, index(most // size)), index(1))
    return b.mul(parts, index(size))
