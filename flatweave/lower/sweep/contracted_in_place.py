"""The kernel of a contraction that is there for each position of leading axes: values in place.

    for each position t of the leading axes:
        for each tile of most_rows x most_lanes:
            results of the tile = neutral
            for k0 = 0, depth, ..:                           `depth` steps of the fold at once
                for each register tile of rows x lanes:
                    results -> registers
                    for k:  each result = fn(it, body(row value, lane value))
                    registers -> results
            what the body makes of the results goes to the sinks

What the register tiles of a tile read in some steps stays in the nearest cache. Where lanes are so
few that they fill half a register tile there are hardly more tiles than one: these are narrower,
and take all steps at once. Lanes that are not there are idle; rows behind the last one are computed
in vain, from the last row's values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from flatweave.algorithms.long_folds import chunk, long_fold
from flatweave.base.dtypes import i64
from flatweave.base.records import record
from flatweave.kernel_ir.syntax import Lane, Load, Shared, Store
from flatweave.lower.schedule.contraction import Contraction
from flatweave.lower.sweep.contraction_cells import Cells
from flatweave.lower.sweep.share_tiles import for_each_tile
from flatweave.lower.sweep.sink import LoweredSink, SinkStep
from flatweave.lower.sweep.writer import KernelWriter
from flatweave.lower.traverse.register_tiles import Extent, Row, in_lanes, loop
from flatweave.lower.traverse.steps import Position
from flatweave.ops.rows import scalar_type
from flatweave.terms.build import Builder, index
from flatweave.terms.control import NO_BODY, If
from flatweave.terms.syntax import Atom, Lambda
from flatweave.terms.traverse import needed_for


@record
class _Place:
    """A register tile, inside of its lanes: the position of the leading axes, its first row, its
    lanes and the first of them, and how many rows and lanes it has."""

    at: tuple[Atom, ...]
    row: Atom
    base: Atom
    lane: Atom
    rows: int
    width: int


Act = Callable[[Builder, _Place], None]


class InPlace:
    """A kernel under construction."""

    def __init__(
        self, writer: KernelWriter, contraction: Contraction, sinks: Sequence[LoweredSink]
    ) -> None:
        self.writer = writer
        self.contraction = contraction
        self.sinks = sinks
        self.tile = writer.register_tile
        self.cells = Cells(writer, contraction)
        *self.leading, self.rows, self.lanes = writer.shape
        count = self.tile.most_rows * self.tile.most_lanes
        dtypes = map(scalar_type, contraction.op.neutral)
        self.results = [writer.b.emit(Shared(dtype, count))[0] for dtype in dtypes]

    def write(self) -> None:
        """A loop over this block's share of the leading axes."""
        for_each_tile(self.writer, self.writer.b.product(self.leading), self._position)

    def _position(self, b: Builder, number: Atom) -> None:
        """All results of one position of the leading axes."""
        at = b.unravel(number, self.leading)
        steps = self._steps(b, number, at)
        if not self.tile.narrow:
            self._tiles(b, at, steps)
            return
        few, many = b.inner(), b.inner()
        self._at_once(few, at, steps)
        self._tiles(many, at, steps)
        fits = b.apply("le", self.lanes, index(self.tile.lanes // 2))
        b.emit(If(fits, few.close([], []), many.close([], [])))

    def _steps(self, b: Builder, number: Atom, at: tuple[Atom, ...]) -> Atom:
        """How many steps the folds of a position have; what they take of it is known then."""
        found = self.contraction
        elements = self.writer.elements(Position(number, (*at, index(0), index(0)), 1))
        elements.env = dict(zip(found.leading, at, strict=True))
        elements.emit(b, needed_for(found.before, [found.op.extent, *found.read_before]))
        self.cells.around = {
            var: elements.env[var] for var in (*found.leading, *found.read_before)
        }  # fmt: skip
        return elements.atom(found.op.extent)

    def _at_once(self, b: Builder, at: tuple[Atom, ...], steps: Atom) -> None:
        """Narrow tiles, each from the first step to the last one."""

        def act(c: Builder, place: _Place) -> None:
            neutral = self.cells.neutral * place.rows
            found = long_fold(
                c, index(0), steps, 1, self._step(c, place), neutral, self.cells.fn,
                partial(_join, self.cells),
            )  # fmt: skip
            self._leave(c, place, found)

        everything = Extent((index(0), self.rows), (index(0), self.lanes))
        self._panels(b, at, everything, (self.tile.narrow, self.tile.lanes // 2), act)

    def _tiles(self, b: Builder, at: tuple[Atom, ...], steps: Atom) -> None:
        """Tiles of many results, some steps at once."""
        tile, size = self.tile, (self.tile.rows, self.tile.lanes)

        def one(c: Builder, y: Atom, x: Atom) -> None:
            y_end = c.apply("minimum", c.add(y, index(tile.most_rows)), self.rows)
            x_end = c.apply("minimum", c.add(x, index(tile.most_lanes)), self.lanes)
            extent = Extent((y, y_end), (x, x_end))

            def begin(d: Builder, place: _Place) -> None:
                self._store(d, extent, place, self.cells.neutral * place.rows)

            def go_on(d: Builder, k0: Atom) -> None:
                end = d.apply("minimum", d.add(k0, index(tile.depth)), steps)

                def some(e: Builder, place: _Place) -> None:
                    chunk(
                        e, (k0, end), tile.depth, self._step(e, place),
                        self.cells.neutral * place.rows, lambda f: self._load(f, extent, place),
                        lambda f, values: self._store(f, extent, place, values),
                        self.cells.fn, self.cells.join,
                    )  # fmt: skip

                self._panels(d, at, extent, size, some)

            def leave(d: Builder, place: _Place) -> None:
                self._leave(d, place, self._load(d, extent, place))

            self._panels(c, at, extent, size, begin)
            loop(c, index(0), steps, tile.depth, go_on)
            self._panels(c, at, extent, size, leave)

        loop(b, index(0), self.rows, tile.most_rows, lambda c, y: loop(
            c, index(0), self.lanes, tile.most_lanes, lambda d, x: one(d, y, x)))  # fmt: skip

    def _panels(
        self, b: Builder, at: tuple[Atom, ...], extent: Extent, size: tuple[int, int], act: Act
    ) -> None:
        """act on all register tiles of an extent: in whole panels of lanes, and one that is not."""
        (rows, width), (lo, hi) = size, extent.lanes
        lanes = index(width)
        whole = b.mul(b.apply("floordiv", b.sub(hi, lo), lanes), lanes)
        rest = b.add(lo, whole)

        def groups(c: Builder, base: Atom, *, partial: bool) -> None:
            def group(d: Builder, row: Atom) -> None:
                lane = d.emit(Lane(base))[0]
                place = _Place(at, row, base, lane, rows, width)
                if not partial:
                    act(d, place)
                    return
                there = d.inner()
                act(there, place)
                d.emit(If(d.apply("lt", lane, hi), there.close([], []), NO_BODY))

            loop(c, *extent.rows, rows, lambda d, row: in_lanes(
                d, width, lambda e: group(e, row)))  # fmt: skip

        loop(b, lo, rest, width, lambda c, base: groups(c, base, partial=False))
        left = b.inner()
        groups(left, rest, partial=True)
        b.emit(If(b.apply("lt", rest, hi), left.close([], []), NO_BODY))

    def _step(self, b: Builder, place: _Place) -> Lambda:
        """A step of the fold, from the results of a register tile to the next ones."""
        cells, last = self.cells, b.sub(self.rows, index(1))
        each = len(self.results)
        inside = b.inner()
        k = inside.param("k", i64)
        neutral = cells.neutral * place.rows
        known = [inside.param("s", atom.type) for atom in neutral]
        values = cells.lane_values(inside, place.lane, k)
        rows = []
        for r in range(place.rows):
            number = b.apply("minimum", b.add(place.row, index(r)), last)
            mine = known[r * each : (r + 1) * each]
            rows.append(Row(number, cells.row_values(inside, number, k), mine))
        after = cells.fold(inside, place.lane, k, values, rows)
        return inside.close([k, *known], after)

    def _room(self, b: Builder, extent: Extent, place: _Place, row: int) -> Atom:
        """Where the results of a row of a register tile are, inside of lanes."""
        number = b.add(b.sub(place.row, extent.rows[0]), index(row))
        across = b.sub(place.base, extent.lanes[0])
        return b.emit(Lane(b.add(b.mul(number, index(self.tile.most_lanes)), across)))[0]

    def _load(self, b: Builder, extent: Extent, place: _Place) -> list[Atom]:
        rooms = [self._room(b, extent, place, row) for row in range(place.rows)]
        return [b.emit(Load(memory, room))[0] for room in rooms for memory in self.results]

    def _store(
        self, b: Builder, extent: Extent, place: _Place, values: Sequence[Atom]
    ) -> None:
        left = iter(values)
        for row in range(place.rows):
            room = self._room(b, extent, place, row)
            for memory in self.results:
                b.emit(Store(memory, room, next(left)))

    def _leave(self, b: Builder, place: _Place, results: Sequence[Atom]) -> None:
        """The rest of the body, for rows that are there."""
        each = len(self.results)
        for r in range(place.rows):
            row, there = b.add(place.row, index(r)), b.inner()
            self._feed(there, place, row, results[r * each : (r + 1) * each])
            b.emit(If(b.apply("lt", row, self.rows), there.close([], []), NO_BODY))

    def _feed(self, b: Builder, place: _Place, row: Atom, results: Sequence[Atom]) -> None:
        at = (*place.at, row, place.lane)
        position = Position(b.ravel(at, self.writer.shape), at, place.width, aligned=False)
        elements = self.writer.elements(position)
        fold = self.contraction.fold
        elements.env.update(zip(fold.vars, results, strict=True))
        lets = [let for let in self.writer.op.body.lets if let is not fold]
        elements.emit(b, needed_for(lets, self.writer.op.body.results))
        fed = SinkStep(b, b, elements, position, ())
        for sink in self.sinks:
            sink.step(self.writer, fed, ())


def _join(cells: Cells, b: Builder, operands: Sequence[Atom]) -> list[Atom]:
    """The operator on the results of all rows of a register tile."""
    each, half = len(cells.neutral), len(operands) // 2
    out: list[Atom] = []
    for k in range(0, half, each):
        out += cells.join(b, [*operands[k : k + each], *operands[half + k : half + k + each]])
    return out
