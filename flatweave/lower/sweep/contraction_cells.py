"""The points of a contraction inside its kernel, and its operands, packed by rows and lanes.

    lanes[panel, k, lane] = ..          read once, then in order
    rows[row, k]          = ..

Operands are packed for some steps of the fold. Lanes after the last one are 0; rows after the last
one repeat it.

Loops over the tiles of a sweep's space, which are shared out among the blocks of its launch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import prod

from flatweave.base.records import replace
from flatweave.kernel_ir.hierarchy import in_lanes, store_each
from flatweave.kernel_ir.syntax import Lane, Load, Shared
from flatweave.kernel_ir.warp_ops import LoadTile
from flatweave.lower.element_functions import Elements
from flatweave.lower.schedule.contraction import Contraction
from flatweave.lower.sweep.writer import KernelWriter
from flatweave.ops import Index
from flatweave.terms.build import Builder, index
from flatweave.terms.syntax import Atom, Let, Var, constant, scalar_type
from flatweave.terms.traverse import free_vars, needed_for


def for_each_tile(
    writer: KernelWriter, count: Atom, act: Callable[[Builder, Atom], None]
) -> None:
    """act for each of this block's tiles, of `count` in all."""
    b = writer.b
    block, _, _ = writer.block()
    blocks = b.apply("maximum", b.ceil_div(writer.total, writer.size), index(1))
    first = b.apply("floordiv", b.mul(block, count), blocks)
    behind = b.apply("floordiv", b.mul(b.add(block, index(1)), count), blocks)

    with b.loop(first, behind) as (c, number):
        c.assume_space(writer.shape)
        act(c, number)


class Cells:
    """The parts of the fold's body that depend on rows, on lanes, and on both."""

    def __init__(self, writer: KernelWriter, found: Contraction) -> None:
        self.writer = writer
        self.found = found
        self.around: dict[Var, Atom] = {}
        self.fn = found.op.fn
        self.neutral = writer.scalars(found.op.neutral)
        self.common, self.of_row, self.of_lane, self.of_cell = (
            tuple(map(_inside, lets))
            for lets in (found.common, found.of_row, found.of_lane, found.of_cell)
        )

    def enter(self, b: Builder, at: Sequence[Atom]) -> Atom:
        """Compute the values that depend only on the position of leading axes: the number of steps
        of the fold there, and such inputs of its body."""
        found = self.found
        elements = self._elements(dict(zip(found.leading, at, strict=True)))
        elements.emit(b, list(map(_inside, found.before)))
        self.around = dict(elements.env)
        return elements.atom(found.op.extent)

    def row_values(self, b: Builder, row: Atom, k: Atom) -> Sequence[Atom]:
        """The values of a row that cells use at a step of the fold."""
        found = self.found
        return self._values(b, {found.row: row, found.step: k}, self.of_row, found.row_values)

    def lane_values(self, b: Builder, lane: Atom, k: Atom) -> Sequence[Atom]:
        """The values of a lane that cells use at a step of the fold."""
        found = self.found
        return self._values(b, {found.lane: lane, found.step: k}, self.of_lane, found.lane_values)

    def transposed(
        self, b: Builder, lane: Atom, k: Atom, width: int
    ) -> Iterator[Sequence[Atom]]:
        """The same of lanes that are adjacent along the fold: from a lane and a step on, of `width`
        lanes, one step after the other."""
        found, squares = self.found, {}
        for let in self.of_lane:
            if isinstance(let.op, Index):
                buffer, shape = self.writer.kernel.array(let.op.xs)
                base = b.ravel((lane, k), shape)
                squares[let] = b.emit(LoadTile(buffer, base, shape[1], width))
        lets = needed_for((*self.common, *self.of_lane), found.lane_values)
        lanes = b.emit(Lane(lane))[0]
        for column in range(width):
            elements = self._elements({found.lane: lanes, found.step: b.add(k, index(column))})
            elements.env.update((let.vars[0], each[column]) for let, each in squares.items())
            elements.emit(b, [let for let in lets if let not in squares])
            yield elements.atoms(found.lane_values)

    def _values(
        self, b: Builder, known: dict[Var, Atom], lets: Sequence[Let], wanted: Sequence[Var]
    ) -> Sequence[Atom]:
        elements = self._elements(known)
        elements.emit(b, needed_for((*self.common, *lets), wanted))
        return elements.atoms(wanted)

    def fold(
        self, b: Builder, lane: Atom, k: Atom, of_lane: Sequence[Atom], rows: Sequence[Atom],
        of_rows: Sequence[Sequence[Atom]], known: Sequence[Atom],
    ) -> Sequence[Atom]:  # fmt: skip
        """The results of some rows after one more step, from those `known`, by the values of a lane
        and of the rows."""
        found, fold, each = self.found, self.found.op, len(self.neutral)
        needed = {v for let in self.of_cell for v in free_vars(let.op)} | set(fold.body.results)
        shared = self._elements({found.lane: lane, found.step: k})
        shared.emit(b, needed_for(self.common, tuple(needed)))
        shared.env.update(zip(found.lane_values, of_lane, strict=True))
        out: list[Atom] = []
        for number, (row, values) in enumerate(zip(rows, of_rows, strict=True)):
            elements = self._elements({**shared.env, found.row: row})
            elements.env.update(zip(found.row_values, values, strict=True))
            elements.emit(b, self.of_cell)
            computed = elements.atoms(fold.body.results)
            before = known[number * each : (number + 1) * each]
            out.extend(elements.call(b, fold.fn, [*before, *computed]))
        return out

    def join(self, b: Builder, operands: Sequence[Atom]) -> Sequence[Atom]:
        """The operator of the fold."""
        return self._elements({}).call(b, self.fn, operands)

    def _elements(self, known: dict[Var, Atom]) -> Elements:
        elements = Elements(self.writer.kernel, index(0), self.writer.lowering.checks)
        elements.env.update({**self.around, **known})
        return elements


def _inside(let: Let) -> Let:
    """A let whose reads are known to be in bounds: the host checked them."""
    op = let.op
    return Let(let.vars, replace(op, checked=False), let.where) if isinstance(op, Index) else let


def rooms(b: Builder, like: Sequence[Atom], count: int) -> list[Var]:
    """Memory of the block for `count` of each value."""
    return [b.emit(Shared(scalar_type(atom), count))[0] for atom in like]


class PackedLanes:
    """The values of a part of lanes for a part of the steps, in panels of `width` lanes; those
    that are adjacent along the fold are transposed in squares of `square`, if there are any."""

    def __init__(
        self, b: Builder, cells: Cells, part: tuple[int, int], width: int, square: int
    ) -> None:
        self.cells, self.depth, self.width, self.square = cells, part[1], width, square
        self.rooms = rooms(b, cells.found.lane_values, prod(part))

    def load(
        self, outside: Builder, b: Builder, lane: Atom, k0: Atom, k: Atom
    ) -> Sequence[Atom]:
        """The values at a step of the panel that begins at a lane of these."""
        width = index(self.width)
        start = outside.sub(outside.mul(lane, index(self.depth)), outside.mul(k0, width))
        place = b.emit(Lane(b.add(start, b.mul(k, width))))[0]
        return [b.emit(Load(room, place))[0] for room in self.rooms]

    def pack(self, b: Builder, lanes: tuple[Atom, Atom], steps: tuple[Atom, Atom]) -> None:
        """The values of each lane, a panel after the other; the last one may not be full."""
        (lo, hi), (k0, end), width = lanes, steps, self.width
        whole = b.round_down(b.sub(hi, lo), index(width))
        rest = b.add(lo, whole)

        first = self._transpose(b, lo, whole, steps) if self.square else k0
        with in_lanes(b, width) as region, region.loop(first, end) as (of_step, k):
            step = of_step.sub(k, k0)
            with of_step.loop(index(0), whole, width) as (c, lane):
                at = c.emit(Lane(c.add(lo, lane)))[0]
                self._put(c, self._place(c, lane, step), self.cells.lane_values(c, at, k))
        with b.when(b.apply("lt", rest, hi)) as some, in_lanes(some, width) as region:
            at = region.emit(Lane(rest))[0]
            there = region.apply("lt", at, hi)
            with region.loop(k0, end) as (c, k):
                values = self._where_there(c, there, at, k)
                self._put(c, self._place(c, whole, c.sub(k, k0)), values)

    def _where_there(self, b: Builder, there: Atom, lane: Atom, k: Atom) -> Sequence[Atom]:
        """The values of the lanes that are there, 0 of the others."""
        zeros = [constant(0, scalar_type(var)) for var in self.cells.found.lane_values]
        return b.choose(there, lambda c: self.cells.lane_values(c, lane, k), lambda _: zeros)

    def _transpose(self, b: Builder, lo: Atom, whole: Atom, steps: tuple[Atom, Atom]) -> Atom:
        """The values of whole panels in squares; the first step after these."""
        width, (k0, end) = self.square, steps
        count = b.round_down(b.sub(end, k0), index(width))
        behind = b.add(k0, count)

        with in_lanes(b, width) as region, region.loop(index(0), whole, width) as (of_lane, lane):
            column = of_lane.apply("mod", lane, index(self.width))
            with of_lane.loop(k0, behind, width) as (c, k):
                first = c.add(self._place(c, c.sub(lane, column), c.sub(k, k0)), column)
                columns = self.cells.transposed(c, c.add(lo, lane), k, width)
                for number, values in enumerate(columns):
                    self._put(c, c.add(first, index(number * self.width)), values)
        return behind

    def _place(self, b: Builder, lane: Atom, k: Atom) -> Atom:
        """Where the values of a panel are at a step."""
        return b.add(b.mul(lane, index(self.depth)), b.mul(k, index(self.width)))

    def _put(self, b: Builder, first: Atom, values: Sequence[Atom]) -> None:
        store_each(b, self.rooms, b.emit(Lane(first))[0], values)


class PackedRows:
    """The values of a part of rows for a part of the steps, `group` rows at once; written by
    `width` lanes along the fold."""

    def __init__(
        self, b: Builder, cells: Cells, part: tuple[int, int], group: int, width: int
    ) -> None:
        self.cells, self.depth, self.group, self.width = cells, part[1], group, width
        self.rooms = rooms(b, cells.found.row_values, prod(part))

    def load(
        self, outside: Builder, b: Builder, row: Atom, k0: Atom, k: Atom
    ) -> Sequence[Sequence[Atom]]:
        """The values at a step of the rows that begin at one of these."""
        first = b.add(outside.sub(outside.mul(row, index(self.depth)), k0), k)
        places = [b.add(first, index(r * self.depth)) for r in range(self.group)]
        return [[b.emit(Load(room, place))[0] for room in self.rooms] for place in places]

    def pack(self, b: Builder, rows: tuple[Atom, Atom], steps: tuple[Atom, Atom]) -> None:
        """The values of each row, steps of the fold adjacent."""
        (lo, hi), (k0, end), width = rows, steps, self.width
        last, group = b.sub(hi, index(1)), index(self.group)
        total = b.mul(b.ceil_div(b.sub(hi, lo), group), group)
        count = b.sub(end, k0)
        whole = b.round_down(count, index(width))

        def put(c: Builder, number: Atom, start: Atom, k: Atom) -> None:
            values = self.cells.row_values(c, number, c.emit(Lane(c.add(k0, k)))[0])
            store_each(c, self.rooms, c.emit(Lane(c.add(start, k)))[0], values)

        with in_lanes(b, width) as region, region.loop(index(0), total) as (c, row):
            number = c.apply("minimum", c.add(lo, row), last)
            start = c.mul(row, index(self.depth))
            with c.loop(index(0), whole, width) as (d, k):
                put(d, number, start, k)
            with c.when(c.apply("lt", c.emit(Lane(whole))[0], count)) as inside:
                put(inside, number, start, whole)
