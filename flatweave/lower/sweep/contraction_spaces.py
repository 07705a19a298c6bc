"""The spaces of contractions in register tiles: what rows are, and whether folds are in parts.

    sweep [.., n, m] (.., i, j => fold ..)      rows i, lanes j: in parts, or whole where folds are
                                                short and each register tile takes all steps
    sweep [m] (j => fold n (i => fold ..))      rows i in order, lanes j
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from flatweave.base.dtypes import i64
from flatweave.kernel_ir.syntax import Lane, Load, Store
from flatweave.lower.sweep.contracted import Contracted, Extent, others
from flatweave.lower.sweep.contraction_cells import for_each_tile, loop, rooms
from flatweave.lower.sweep.sink import LoweredSink
from flatweave.lower.sweep.writer import KernelWriter
from flatweave.lower.traverse.steps import Position
from flatweave.nest.schedule import Split
from flatweave.terms.build import Builder, index
from flatweave.terms.control import NO_BODY, For, If
from flatweave.terms.syntax import Atom
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
        inside, end = b if active is None else b.inner(), extent.rows[1]
        is_full = count == self.rows
        rows = [inside.add(row, index(r)) for r in range(count)]
        last = inside.sub(end, index(1))
        valid = rows if is_full else [inside.apply("minimum", each, last) for each in rows]
        body, neutral = self._step(inside, extent, base, valid, index(0)), self.cells.neutral
        fold = For(index(0), self.steps, index(1), body, tuple(neutral * count))
        found, each = inside.emit(fold), len(neutral)
        for r, y in enumerate(rows):
            some = inside if is_full else inside.inner()
            at = (*self.at, y, some.emit(Lane(base))[0])
            results = found[r * each : (r + 1) * each]
            self.feed(some, at, active, self.found.fold, partial(_are, results))
            if not is_full:
                inside.emit(If(inside.apply("lt", y, end), some.close([], []), NO_BODY))
        if active is not None:
            b.emit(If(active, inside.close([], []), NO_BODY))


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
