"""Along a contraction in tiles: many results in registers, the values they are made of in caches.

    for each tile of most_rows x most_lanes results:
        results of the tile = neutral
        for k0 = 0, depth, ..:                                   `depth` steps of the fold at once
            lane_values[panel, k, lane] = ..                     packed: read once, then in order
            row_values[row, k]          = ..
            for each panel of `lanes`, for each group of `rows`:
                results of rows x lanes -> registers             a register tile
                for k:  each result = fn(it, body(row value, lane value))
                registers -> results of the tile

Where floats are added, the steps of each depth are a block, which is joined to those before it
(`algorithms/long_folds.py`). What lies behind the last row and lane is computed in vain, from
values that are there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from flatweave.algorithms.long_folds import chunk
from flatweave.base.dtypes import DType, i64
from flatweave.base.records import record
from flatweave.kernel_ir.syntax import Lane, Lanes, Load, Shared, Store
from flatweave.nest.schedule import RegisterTile
from flatweave.terms.build import Builder, index
from flatweave.terms.control import NO_BODY, For, If
from flatweave.terms.syntax import Atom, Lambda, Var

Loop = Callable[[Builder, Atom], None]


@record
class Row:
    """A row of a register tile at one step: its number, its values, its lanes' results so far."""

    number: Atom
    values: Sequence[Atom]
    known: Sequence[Atom]


class Work(Protocol):
    """What is computed at the points of a contraction; each writes into the body it is given."""

    fn: Lambda
    neutral: tuple[Atom, ...]
    row_dtypes: Sequence[DType]
    lane_dtypes: Sequence[DType]

    def row_values(self, b: Builder, row: Atom, k: Atom) -> Sequence[Atom]:
        """What cells take of a row at a step of the fold."""

    def lane_values(self, b: Builder, lane: Atom, k: Atom) -> Sequence[Atom]:
        """What cells take of a lane at a step of the fold."""

    def turned(
        self, b: Builder, lane: Atom, k: Atom, width: int
    ) -> Iterable[Sequence[Atom]]:
        """The same of lanes that lie along the fold: from a lane and a step on, of `width` lanes,
        one step after the other."""

    def fold(
        self, b: Builder, lane: Atom, k: Atom, values: Sequence[Atom], rows: Sequence[Row]
    ) -> Sequence[Atom]:
        """The results of some rows behind one more step, at a lane that has these values."""

    def join(self, b: Builder, operands: Sequence[Atom]) -> Sequence[Atom]:
        """The operator of the fold."""


@record
class Extent:
    """Rows and lanes from first to behind."""

    rows: tuple[Atom, Atom]
    lanes: tuple[Atom, Atom]


def loop(b: Builder, lo: Atom, hi: Atom, step: int, act: Loop) -> None:
    """act at lo, lo + step, .. below hi."""
    inside = b.inner()
    i = inside.param("i", i64)
    act(inside, i)
    b.emit(For(lo, hi, index(step), inside.close([i], []), ()))


def in_lanes(b: Builder, width: int, act: Callable[[Builder], None]) -> None:
    """act on the lanes of a warp."""
    region = b.inner()
    act(region)
    b.emit(Lanes(width, region.close([], [])))


class RegisterTiles:
    """The memory of one block, and what is done to a tile."""

    def __init__(self, b: Builder, tile: RegisterTile, work: Work, steps: Atom) -> None:
        self.tile = tile
        self.work = work
        self.steps = steps
        lanes, depth = tile.most_lanes, tile.depth
        self.rows = _rooms(b, work.row_dtypes, tile.most_rows * depth)
        self.lanes = _rooms(b, work.lane_dtypes, lanes * depth)
        dtypes = [atom.type for atom in work.neutral if isinstance(atom.type, DType)]
        self.results = _rooms(b, dtypes, tile.most_rows * lanes)

    def fold(self, b: Builder, extent: Extent) -> None:
        """Fold the cells of a tile; the results are in memory behind it."""
        tile = self.tile
        panels = _parts(b, *extent.lanes, tile.lanes)
        groups = _parts(b, *extent.rows, tile.rows)
        self._begin(b, panels, groups)

        def some_steps(c: Builder, k0: Atom) -> None:
            count = c.apply("minimum", index(tile.depth), c.sub(self.steps, k0))
            self._pack_lanes(c, extent.lanes, k0, count)
            self._pack_rows(c, extent.rows, groups, k0, count)

            def of_panel(d: Builder, panel: Atom) -> None:
                loop(d, index(0), groups, 1, lambda e, group: of_group(e, panel, group))

            def of_group(d: Builder, panel: Atom, group: Atom) -> None:
                in_lanes(d, tile.lanes, lambda e: self._fold_registers(
                    e, extent, panel, group, k0, count))  # fmt: skip

            loop(c, index(0), panels, 1, of_panel)

        loop(b, index(0), self.steps, tile.depth, some_steps)

    def place(self, b: Builder, panel: Atom, row: Atom) -> Atom:
        """Where the results of a row's lanes in a panel begin."""
        at = b.add(b.mul(panel, index(self.tile.most_rows)), row)
        return b.mul(at, index(self.tile.lanes))

    def load(self, b: Builder, panel: Atom, row: Atom) -> list[Atom]:
        """The results of a row's lanes, inside of lanes."""
        at = b.emit(Lane(self.place(b, panel, row)))[0]
        return [b.emit(Load(room, at))[0] for room in self.results]

    def store(self, b: Builder, panel: Atom, row: Atom, values: Sequence[Atom]) -> None:
        """Write the results of a row's lanes."""
        at = b.emit(Lane(self.place(b, panel, row)))[0]
        for room, value in zip(self.results, values, strict=True):
            b.emit(Store(room, at, value))

    def _begin(self, b: Builder, panels: Atom, groups: Atom) -> None:
        """The results of no step."""
        rows = b.mul(groups, index(self.tile.rows))

        def begin(c: Builder, panel: Atom) -> None:
            loop(c, index(0), rows, 1, lambda d, row: self.store(d, panel, row, self.work.neutral))

        in_lanes(b, self.tile.lanes, lambda c: loop(c, index(0), panels, 1, begin))

    # -- packing ----------------------------------------------------------------------------------

    def _pack_lanes(self, b: Builder, lanes: tuple[Atom, Atom], k0: Atom, count: Atom) -> None:
        """The values of each lane, a panel after the other; the last one may not be full."""
        tile, (lo, hi) = self.tile, lanes
        whole = b.apply("floordiv", b.sub(hi, lo), index(tile.lanes))
        rest = b.add(lo, b.mul(whole, index(tile.lanes)))

        def full(c: Builder, panel: Atom, k: Atom) -> None:
            lane = c.emit(Lane(c.add(lo, c.mul(panel, index(tile.lanes)))))[0]
            self._put(c, self.place_of(c, panel, k), self.work.lane_values(c, lane, c.add(k0, k)))

        def partial(c: Builder, k: Atom) -> None:
            lane = c.emit(Lane(rest))[0]
            values = _where(c, c.apply("lt", lane, hi), self.work.lane_dtypes,
                            lambda d: self.work.lane_values(d, lane, d.add(k0, k)))  # fmt: skip
            self._put(c, self.place_of(c, whole, k), values)

        def of_step(c: Builder, k: Atom) -> None:
            loop(c, index(0), whole, 1, lambda d, panel: full(d, panel, k))

        first = self._turn_lanes(b, lo, whole, k0, count) if tile.square else index(0)
        in_lanes(b, tile.lanes, lambda c: loop(c, first, count, 1, of_step))
        some = b.inner()
        in_lanes(some, tile.lanes, lambda c: loop(c, index(0), count, 1, partial))
        b.emit(If(b.apply("lt", rest, hi), some.close([], []), NO_BODY))

    def _turn_lanes(self, b: Builder, lo: Atom, panels: Atom, k0: Atom, count: Atom) -> Atom:
        """The values of whole panels in squares; the first step behind these."""
        tile = self.tile
        width = tile.square
        end = b.mul(b.apply("floordiv", count, index(width)), index(width))
        squares = b.mul(panels, index(tile.lanes // width))

        def turn(c: Builder, square: Atom, k: Atom) -> None:
            across = c.mul(square, index(width))
            panel = c.apply("floordiv", across, index(tile.lanes))
            column = c.apply("mod", across, index(tile.lanes))
            first = c.add(self.place_of(c, panel, k), column)
            steps = self.work.turned(c, c.add(lo, across), c.add(k0, k), width)
            for number, values in enumerate(steps):
                self._put(c, c.add(first, index(number * tile.lanes)), values)

        def of_square(c: Builder, square: Atom) -> None:
            loop(c, index(0), end, width, lambda d, k: turn(d, square, k))

        in_lanes(b, width, lambda c: loop(c, index(0), squares, 1, of_square))
        return end

    def place_of(self, b: Builder, panel: Atom, k: Atom) -> Atom:
        """Where the values of a panel's lanes begin at a step."""
        at = b.add(b.mul(panel, index(self.tile.depth)), k)
        return b.mul(at, index(self.tile.lanes))

    def _put(self, b: Builder, first: Atom, values: Sequence[Atom]) -> None:
        place = b.emit(Lane(first))[0]
        for room, value in zip(self.lanes, values, strict=True):
            b.emit(Store(room, place, value))

    def _pack_rows(
        self, b: Builder, rows: tuple[Atom, Atom], groups: Atom, k0: Atom, count: Atom
    ) -> None:
        """The values of each row, steps of the fold side by side; the last row again behind it."""
        tile, (lo, hi) = self.tile, rows
        width = tile.lanes
        whole = b.mul(b.apply("floordiv", count, index(width)), index(width))
        last = b.sub(hi, index(1))

        def of_row(c: Builder, row: Atom) -> None:
            number = c.apply("minimum", c.add(lo, row), last)
            start = c.mul(row, index(tile.depth))

            def put(d: Builder, k: Atom) -> None:
                step = d.emit(Lane(d.add(k0, k)))[0]
                place = d.emit(Lane(d.add(start, k)))[0]
                values = self.work.row_values(d, number, step)
                for room, value in zip(self.rows, values, strict=True):
                    d.emit(Store(room, place, value))

            loop(c, index(0), whole, width, put)
            inside = c.inner()
            put(inside, whole)
            there = c.apply("lt", c.emit(Lane(whole))[0], count)
            c.emit(If(there, inside.close([], []), NO_BODY))

        total = b.mul(groups, index(tile.rows))
        in_lanes(b, width, lambda c: loop(c, index(0), total, 1, of_row))

    # -- a register tile --------------------------------------------------------------------------

    def _fold_registers(
        self, b: Builder, extent: Extent, panel: Atom, group: Atom, k0: Atom, count: Atom
    ) -> None:
        """`rows` x `lanes` results, in registers while they are folded."""
        tile, each = self.tile, len(self.results)
        first = b.mul(group, index(tile.rows))
        rows = [b.add(first, index(r)) for r in range(tile.rows)]
        lane = b.emit(Lane(b.add(extent.lanes[0], b.mul(panel, index(tile.lanes)))))[0]
        inside = b.inner()
        k = inside.param("k", i64)
        neutral = self.work.neutral * tile.rows
        known = [inside.param("s", atom.type) for atom in neutral]
        place = inside.emit(Lane(self.place_of(inside, panel, k)))[0]
        of_lane = [inside.emit(Load(room, place))[0] for room in self.lanes]
        start = inside.add(inside.mul(first, index(tile.depth)), k)
        of_rows = []
        for r, row in enumerate(rows):
            there = inside.add(start, index(r * tile.depth))
            values = [inside.emit(Load(room, there))[0] for room in self.rows]
            mine = known[r * each : (r + 1) * each]
            of_rows.append(Row(inside.add(extent.rows[0], row), values, mine))
        after = self.work.fold(inside, lane, inside.add(k0, k), of_lane, of_rows)
        body = inside.close([k, *known], after)

        def load(c: Builder) -> list[Atom]:
            return [value for row in rows for value in self.load(c, panel, row)]

        def store(c: Builder, values: Sequence[Atom]) -> None:
            for r, row in enumerate(rows):
                self.store(c, panel, row, values[r * each : (r + 1) * each])

        chunk(
            b, (index(0), count), tile.depth, body, neutral, load, store, self.work.fn,
            self.work.join,
        )  # fmt: skip


def _rooms(b: Builder, dtypes: Sequence[DType], count: int) -> list[Var]:
    return [b.emit(Shared(dtype, count))[0] for dtype in dtypes]


def _parts(b: Builder, lo: Atom, hi: Atom, size: int) -> Atom:
    """How many parts of `size` lie between lo and hi, the last of them perhaps in part."""
    return b.apply("floordiv", b.add(b.sub(hi, lo), index(size - 1)), index(size))


def _where(
    b: Builder, there: Atom, dtypes: Sequence[DType], values: Callable[[Builder], Sequence[Atom]]
) -> Sequence[Atom]:
    """The values in the lanes that are there, 0 in the others."""
    some, none = b.inner(), b.inner()
    found = some.close([], values(some))
    zeros = [none.cast(index(0), dtype) for dtype in dtypes]
    return b.emit(If(there, found, none.close([], zeros)))
