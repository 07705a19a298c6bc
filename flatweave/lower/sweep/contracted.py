"""The kernel of a contraction in tiles, as the steps of its version say.

    split axis=row by=R         for each position t of the leading axes, tile of R x C results:
    split axis=last by=C
    split axis=fold by=K            for k0 = 0, K, ..:
    cache at=packed                     the rows and lanes read for K steps are packed
                                        for each panel of `lanes` lanes, each group of `rows` rows:
    vectorize axis=last                     neutral or results of rows x lanes -> registers
    unroll axis=row                         for k:  each result = fn(it, body(row, lane))
                                            registers -> results of the tile
                                    the sinks take the body's values of the results

Without the cache, values are read in place; lanes past the end are idle then. Packed lanes past the
end, and rows after the last one, are computed from valid values, and their results are unused.
Without splits, each register tile takes all steps, and the sinks take its results from registers.

Where rows are the positions of a fold around the contraction, a tile takes all rows, in order.
Where floats are added, the steps of a part are a block, which is joined to those before it
(`algorithms/loops.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from flatweave.algorithms.loops import chunk
from flatweave.base.records import record
from flatweave.kernel_ir.hierarchy import in_lanes
from flatweave.kernel_ir.syntax import Lane, Load, Store
from flatweave.lower.schedule.steps import Axis, Memory, Unroll
from flatweave.lower.sweep.contraction_cells import (
    Cells,
    PackedLanes,
    PackedRows,
    for_each_tile,
    rooms,
)
from flatweave.lower.sweep.writer import KernelWriter, LoweredSink, SinkStep
from flatweave.lower.traverse.steps import Position
from flatweave.terms.build import Builder, index
from flatweave.terms.syntax import Atom, Lambda, Let


@record
class Extent:
    """The first row and lane of a tile, and those after its last ones."""

    rows: tuple[Atom, Atom]
    lanes: tuple[Atom, Atom]


Act = Callable[[Builder, Atom, Atom, Atom | None], None]
"""The action at a lane and a row, for the lanes that exist, or for all."""


class Contracted:
    """A kernel under construction."""

    def __init__(self, writer: KernelWriter, sinks: Sequence[LoweredSink]) -> None:
        found, version, b = writer.facts.contraction, writer.version, writer.b
        unroll, cache = version.step(Unroll), version.caches(Memory.PACKED)
        assert found is not None and unroll is not None
        self.writer = writer
        self.found = found
        self.sinks = sinks
        self.rows, self.lanes, self.depth = unroll.by, version.lanes.width, version.part(Axis.FOLD)
        self.most_rows, self.most_lanes = version.part(Axis.ROW), version.part(Axis.LAST)
        self.cells = cells = Cells(writer, found)
        axes, size = (cache.axes, cache.square) if cache else ((), 0)
        self.packed_rows = self.packed_lanes = None
        if Axis.ROW in axes:
            part = self.most_rows, self.depth
            self.packed_rows = PackedRows(b, cells, part, unroll.by, self.lanes)
        if Axis.LAST in axes:
            part = self.most_lanes, self.depth
            self.packed_lanes = PackedLanes(b, cells, part, self.lanes, size)
        room = self.most_rows * self.most_lanes
        self.results = rooms(b, cells.neutral, room) if room else []

    def write(self) -> None:
        """A loop over this block's share of the leading axes, or of the tiles if there are none."""
        b, leading = self.writer.b, self.writer.shape[: len(self.found.leading)]
        rows, lanes = self.sides()
        height, width = self.sizes(b, rows, lanes)

        def tile(c: Builder, y: Atom, x: Atom) -> None:
            y_end = c.apply("minimum", c.add(y, height), rows)
            self.tile(c, Extent((y, y_end), (x, c.apply("minimum", c.add(x, width), lanes))))

        def position(c: Builder, number: Atom) -> None:
            self.at = c.unravel(number, leading)
            self.steps = self.cells.enter(c, self.at)
            with c.loop(index(0), rows, height) as (d, y), d.loop(index(0), lanes, width) as (e, x):
                tile(e, y, x)

        def share(c: Builder, number: Atom) -> None:
            self.at = ()
            self.steps = self.cells.enter(c, ())
            i, j = c.unravel(number, (rows, c.apply("maximum", across, index(1))))
            tile(c, c.mul(i, height), c.mul(j, width))

        across = b.ceil_div(lanes, width)
        if leading:
            for_each_tile(self.writer, b.product(leading), position)
        else:
            for_each_tile(self.writer, b.mul(b.ceil_div(rows, height), across), share)

    def sides(self) -> tuple[Atom, Atom]:
        """Rows and lanes of the contraction."""
        raise NotImplementedError

    def sizes(self, b: Builder, rows: Atom, lanes: Atom) -> tuple[Atom, Atom]:
        """Rows and lanes of a tile."""
        raise NotImplementedError

    def tile(self, b: Builder, extent: Extent) -> None:
        """All that becomes of a tile."""
        raise NotImplementedError

    def in_panels(
        self, b: Builder, extent: Extent, act: Act, rows: int = 0, *, padded: bool = False
    ) -> None:
        """act for each panel, and each group of `rows` rows if `rows` is not 0, inside of lanes.

        The last panel may not be full, except where it is `padded`.
        """
        (lo, hi), width = extent.lanes, index(self.lanes)
        rest = b.add(lo, b.round_down(b.sub(hi, lo), width))

        def group(c: Builder, base: Atom, limit: Atom | None, row: Atom) -> None:
            with in_lanes(c, self.lanes) as d:
                act(d, base, row, limit and d.apply("lt", d.emit(Lane(base))[0], limit))

        def panel(c: Builder, base: Atom, limit: Atom | None) -> None:
            if not rows:
                return group(c, base, limit, extent.rows[0])
            with c.loop(*extent.rows, rows) as (d, row):
                group(d, base, limit, row)

        with b.loop(lo, hi if padded else rest, self.lanes) as (c, base):
            panel(c, base, None)
        if not padded:
            with b.when(b.apply("lt", rest, hi)) as some:
                panel(some, rest, hi)

    # -- the fold ---------------------------------------------------------------------------------

    def fold(self, b: Builder, extent: Extent) -> None:
        """Fold the cells of a tile; the results are in memory afterwards."""

        with b.loop(index(0), b.apply("maximum", self.steps, index(1)), self.depth) as (c, k0):
            end = c.apply("minimum", c.add(k0, index(self.depth)), self.steps)
            self._fold_steps(c, extent, (k0, end))

    def _fold_steps(self, b: Builder, extent: Extent, steps: tuple[Atom, Atom]) -> None:
        """All register tiles of a tile take some steps."""
        if self.packed_lanes is not None:
            self.packed_lanes.pack(b, extent.lanes, steps)
        if self.packed_rows is not None:
            self.packed_rows.pack(b, extent.rows, steps)

        def take(c: Builder, base: Atom, row: Atom, active: Atom | None) -> None:
            with c.when(active) as inside:
                self._fold_registers(inside, extent, base, row, steps)

        self.in_panels(b, extent, take, self.rows, padded=self.packed_lanes is not None)

    def _fold_registers(
        self, b: Builder, extent: Extent, base: Atom, row: Atom, steps: tuple[Atom, Atom]
    ) -> None:
        """`rows` x `lanes` results, in registers while they are folded."""
        cells, last = self.cells, b.sub(extent.rows[1], index(1))
        rows = [b.add(row, index(r)) for r in range(self.rows)]
        if self.packed_rows is None:
            rows = [b.apply("minimum", each, last) for each in rows]
        neutral, body = cells.neutral * self.rows, self._step(b, extent, base, rows, steps[0])

        def store(c: Builder, values: Sequence[Atom]) -> None:
            self._store(c, extent, base, row, values)

        chunk(
            b, steps, self.depth, body, neutral,
            lambda c: self._load(c, extent, base, row, self.rows), store, cells.fn, cells.join,
        )  # fmt: skip

    def _step(
        self, b: Builder, extent: Extent, base: Atom, rows: Sequence[Atom], k0: Atom
    ) -> Lambda:
        """A step of the fold, from the results of a register tile to the next ones."""
        cells, lane = self.cells, b.emit(Lane(base))[0]
        first, across = b.sub(rows[0], extent.rows[0]), b.sub(base, extent.lanes[0])
        inside, k, known = b.iteration("k", cells.neutral * len(rows))
        if self.packed_lanes is None:
            of_lane = cells.lane_values(inside, lane, k)
        else:
            of_lane = self.packed_lanes.load(b, inside, across, k0, k)
        if self.packed_rows is None:
            of_rows: Sequence[Sequence[Atom]]
            of_rows = [cells.row_values(inside, each, k) for each in rows]
        else:
            of_rows = self.packed_rows.load(b, inside, first, k0, k)
        after = cells.fold(inside, lane, k, of_lane, rows, of_rows, known)
        return inside.close([k, *known], after)

    # -- the results of a tile --------------------------------------------------------------------

    def _place(self, b: Builder, extent: Extent, base: Atom, row: Atom) -> Atom:
        """Where the results of a row's lanes in a panel are, inside of lanes."""
        panel = b.mul(b.sub(base, extent.lanes[0]), index(self.most_rows))
        across = b.mul(b.sub(row, extent.rows[0]), index(self.lanes))
        return b.emit(Lane(b.add(panel, across)))[0]

    def _load(
        self, b: Builder, extent: Extent, base: Atom, row: Atom, count: int = 1
    ) -> list[Atom]:
        """The results of some rows' lanes."""
        places = [self._place(b, extent, base, b.add(row, index(r))) for r in range(count)]
        return [b.emit(Load(room, place))[0] for place in places for room in self.results]

    def _store(
        self, b: Builder, extent: Extent, base: Atom, row: Atom, values: Sequence[Atom]
    ) -> None:
        left = iter(values)
        for r in range(self.rows):
            place = self._place(b, extent, base, b.add(row, index(r)))
            for room in self.results:
                b.emit(Store(room, place, next(left)))

    # -- the rest of the body ---------------------------------------------------------------------

    def feed(
        self, b: Builder, at: tuple[Atom, ...], active: Atom | None, fold: Let,
        results: Callable[[Builder], Sequence[Atom]],
    ) -> None:  # fmt: skip
        """Compute the rest of the body from the results of a fold, and hand it to the sinks."""
        writer = self.writer
        position = Position(b.ravel(at, writer.shape), at, self.lanes, active, aligned=False)
        elements = writer.elements(position)
        with b.when(active) as inside:
            elements.env.update(zip(fold.vars, results(inside), strict=True))
            elements.emit(inside, others(writer.op.body, fold))
            fed = SinkStep(b, inside, elements, position, ())
            for sink in self.sinks:
                sink.step(writer, fed, ())


def others(body: Lambda, fold: Let) -> list[Let]:
    """The lets of a body but for a fold in it."""
    return [let for let in body.lets if let is not fold]
