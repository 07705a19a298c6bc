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

Where rows are the positions of a fold around the contraction, a tile takes all rows, in order.
Where floats are added, the steps of a part are a block, which is joined to those before it
(`algorithms/long_folds.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from flatweave.algorithms.long_folds import chunk
from flatweave.base.dtypes import i64
from flatweave.base.records import record
from flatweave.kernel_ir.syntax import Lane, Load, Store
from flatweave.lower.sweep.contraction_cells import Cells, PackedLanes, PackedRows, rooms
from flatweave.lower.sweep.sink import LoweredSink, SinkStep
from flatweave.lower.sweep.tiles import for_each_tile, in_lanes, loop
from flatweave.lower.sweep.writer import KernelWriter
from flatweave.lower.traverse.steps import Position
from flatweave.nest.schedule import Axis, Memory, Unroll
from flatweave.terms.build import Builder, index
from flatweave.terms.control import NO_BODY, For, If
from flatweave.terms.syntax import Atom, Lambda, Let
from flatweave.terms.traverse import free_vars, needed_for

TILES_WANTED = 16
"""So many tiles there are, where results are enough: threads share them out."""


@record
class Extent:
    """The first row and lane of a tile, and those after its last ones."""

    rows: tuple[Atom, Atom]
    lanes: tuple[Atom, Atom]


Act = Callable[[Builder, Atom, Atom, Atom | None], None]
"""The action at a lane and a row, for the lanes that exist, or for all."""


def write_contracted(writer: KernelWriter, sinks: Sequence[LoweredSink]) -> None:
    """Write the kernel of a version in register tiles."""
    found = writer.facts.contraction
    assert found is not None
    (_OfSpace if found.outer is None else _OfFold)(writer, sinks).write()


class _Contracted:
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
        self.results = rooms(b, cells.neutral, self.most_rows * self.most_lanes)

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
            loop(c, index(0), rows, height, lambda d, y: loop(
                d, index(0), lanes, width, lambda e, x: tile(e, y, x)))  # fmt: skip

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

        def panel(c: Builder, base: Atom, limit: Atom | None) -> None:
            def group(d: Builder, row: Atom) -> None:
                def lanes(e: Builder) -> None:
                    there = limit and e.apply("lt", e.emit(Lane(base))[0], limit)
                    act(e, base, row, there)

                in_lanes(d, self.lanes, lanes)

            if rows:
                loop(c, *extent.rows, rows, group)
            else:
                group(c, extent.rows[0])

        loop(b, lo, hi if padded else rest, self.lanes, lambda c, base: panel(c, base, None))
        if not padded:
            some = b.inner()
            panel(some, rest, hi)
            b.emit(If(b.apply("lt", rest, hi), some.close([], []), NO_BODY))

    # -- the fold ---------------------------------------------------------------------------------

    def fold(self, b: Builder, extent: Extent) -> None:
        """Fold the cells of a tile; the results are in memory afterwards."""

        def some_steps(c: Builder, k0: Atom) -> None:
            end = c.apply("minimum", c.add(k0, index(self.depth)), self.steps)
            self._fold_steps(c, extent, (k0, end))

        loop(b, index(0), b.apply("maximum", self.steps, index(1)), self.depth, some_steps)

    def _fold_steps(self, b: Builder, extent: Extent, steps: tuple[Atom, Atom]) -> None:
        """All register tiles of a tile take some steps."""
        if self.packed_lanes is not None:
            self.packed_lanes.pack(b, extent.lanes, steps)
        if self.packed_rows is not None:
            self.packed_rows.pack(b, extent.rows, steps)

        def take(c: Builder, base: Atom, row: Atom, active: Atom | None) -> None:
            inside = c.inner() if active is not None else c
            self._fold_registers(inside, extent, base, row, steps)
            if active is not None:
                c.emit(If(active, inside.close([], []), NO_BODY))

        self.in_panels(b, extent, take, self.rows, padded=self.packed_lanes is not None)

    def _fold_registers(
        self, b: Builder, extent: Extent, base: Atom, row: Atom, steps: tuple[Atom, Atom]
    ) -> None:
        """`rows` x `lanes` results, in registers while they are folded."""
        cells = self.cells
        neutral, body = cells.neutral * self.rows, self._step(b, extent, base, row, steps[0])

        def store(c: Builder, values: Sequence[Atom]) -> None:
            self._store(c, extent, base, row, values)

        chunk(
            b, steps, self.depth, body, neutral,
            lambda c: self._load(c, extent, base, row, self.rows), store, cells.fn, cells.join,
        )  # fmt: skip

    def _step(self, b: Builder, extent: Extent, base: Atom, row: Atom, k0: Atom) -> Lambda:
        """A step of the fold, from the results of a register tile to the next ones."""
        cells, lane = self.cells, b.emit(Lane(base))[0]
        rows = [b.add(row, index(r)) for r in range(self.rows)]
        if self.packed_rows is None:
            last = b.sub(extent.rows[1], index(1))
            rows = [b.apply("minimum", each, last) for each in rows]
        first, across = b.sub(row, extent.rows[0]), b.sub(base, extent.lanes[0])
        inside = b.inner()
        k = inside.param("k", i64)
        known = [inside.param("s", atom.type) for atom in cells.neutral * self.rows]
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
        writer, inside = self.writer, b.inner() if active is not None else b
        position = Position(b.ravel(at, writer.shape), at, self.lanes, active, aligned=False)
        elements = writer.elements(position)
        elements.env.update(zip(fold.vars, results(inside), strict=True))
        elements.emit(inside, _others(writer.op.body, fold))
        fed = SinkStep(b, inside, elements, position, ())
        for sink in self.sinks:
            sink.step(writer, fed, ())
        if active is not None:
            b.emit(If(active, inside.close([], []), NO_BODY))


class _OfSpace(_Contracted):
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


class _OfFold(_Contracted):
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

        def some_rows(c: Builder, y: Atom) -> None:
            some = Extent((y, c.apply("minimum", c.add(y, index(self.most_rows)), rows[1])), lanes)
            self.fold(c, some)
            self.in_panels(c, some, lambda d, base, row, active: self._fold_rows(
                d, some, base, active))  # fmt: skip

        def leave(c: Builder, base: Atom, row: Atom, active: Atom | None) -> None:
            at = (c.emit(Lane(base))[0],)
            self.feed(c, at, active, self.around, lambda d: self._totals(d, extent, base))

        self.in_panels(b, extent, begin)
        loop(b, *rows, self.most_rows, some_rows)
        self.in_panels(b, extent, leave)

    def _totals(self, b: Builder, extent: Extent, base: Atom) -> tuple[Atom, ...]:
        """The values of a panel's lanes after the rows so far."""
        place = b.emit(Lane(b.sub(base, extent.lanes[0])))[0]
        return tuple(b.emit(Load(room, place))[0] for room in self.totals)

    def _keep(self, b: Builder, extent: Extent, base: Atom, values: Sequence[Atom]) -> None:
        place = b.emit(Lane(b.sub(base, extent.lanes[0])))[0]
        for room, value in zip(self.totals, values, strict=True):
            b.emit(Store(room, place, value))

    def _fold_rows(self, b: Builder, extent: Extent, base: Atom, active: Atom | None) -> None:
        """The outer fold continues over the rows of a tile, in order."""
        before = self._totals(b, extent, base)
        inside = b.inner()
        row = inside.param("r", i64)
        known = [inside.param("s", atom.type) for atom in before]
        if active is None:
            after = self._joined(inside, extent, base, row, known)
        else:
            some, none = inside.inner(), inside.inner()
            joined = some.close([], self._joined(some, extent, base, row, known))
            after = inside.emit(If(active, joined, none.close([], known)))
        body = inside.close([row, *known], after)
        self._keep(b, extent, base, b.emit(For(*extent.rows, index(1), body, before)))

    def _joined(
        self, b: Builder, extent: Extent, base: Atom, row: Atom, known: Sequence[Atom]
    ) -> tuple[Atom, ...]:
        """The values of a row's lanes after the row."""
        outer, fold, lane = self.outer, self.found.fold, b.emit(Lane(base))[0]
        elements = self.writer.elements(Position(lane, (lane,), self.lanes))
        elements.env[self.found.row] = row
        elements.env.update(zip(fold.vars, self._load(b, extent, base, row), strict=True))
        body = _others(outer.body, fold)
        read = [v for let in body for v in free_vars(let.op)]
        elements.emit(b, needed_for(self.writer.op.body.lets, [*read, *outer.body.results]))
        elements.emit(b, body)
        return elements.call(b, outer.fn, [*known, *elements.atoms(outer.body.results)])


def _others(body: Lambda, fold: Let) -> list[Let]:
    """The lets of a body but for a fold in it."""
    return [let for let in body.lets if let is not fold]


def _part(b: Builder, extent: Atom, size: int, most: int) -> Atom:
    """Rows or lanes of a tile, multiples of `size`: fewer where there would be too few tiles."""
    wanted = b.ceil_div(extent, index(TILES_WANTED * size))
    parts = b.apply("maximum", b.apply("minimum", wanted, index(most // size)), index(1))
    return b.mul(parts, index(size))
