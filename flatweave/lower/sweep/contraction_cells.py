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
from flatweave.kernel_ir.syntax import Lane, Lanes, Load, Shared, Store
from flatweave.kernel_ir.warp_ops import LoadTile
from flatweave.lower.kernel.elements import Elements
from flatweave.lower.schedule.contraction import Contraction
from flatweave.lower.sweep.writer import KernelWriter
from flatweave.ops import Index
from flatweave.terms.build import Builder, index
from flatweave.terms.control import NO_BODY, For, If
from flatweave.terms.rules import scalar_type
from flatweave.terms.syntax import Atom, Let, Var
from flatweave.terms.traverse import free_vars, needed_for


def loop(
    b: Builder, lo: Atom, hi: Atom, step: int | Atom, act: Callable[[Builder, Atom], None]
) -> None:
    """act at lo, lo + step, .. below hi."""
    inside, i, _ = b.iteration("i")
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

        def full(c: Builder, lane: Atom, k: Atom) -> None:
            at = c.emit(Lane(c.add(lo, lane)))[0]
            self._put(c, self._place(c, lane, c.sub(k, k0)), self.cells.lane_values(c, at, k))

        def partial(c: Builder, k: Atom) -> None:
            at = c.emit(Lane(rest))[0]
            there = c.apply("lt", at, hi)
            values = _where(c, there, lambda d: self.cells.lane_values(d, at, k))
            self._put(c, self._place(c, whole, c.sub(k, k0)), values)

        def of_step(c: Builder, k: Atom) -> None:
            loop(c, index(0), whole, width, lambda d, lane: full(d, lane, k))

        first = self._transpose(b, lo, whole, steps) if self.square else k0
        in_lanes(b, width, lambda c: loop(c, first, end, 1, of_step))
        some = b.inner()
        in_lanes(some, width, lambda c: loop(c, k0, end, 1, partial))
        b.emit(If(b.apply("lt", rest, hi), some.close([], []), NO_BODY))

    def _transpose(self, b: Builder, lo: Atom, whole: Atom, steps: tuple[Atom, Atom]) -> Atom:
        """The values of whole panels in squares; the first step after these."""
        width, (k0, end) = self.square, steps
        count = b.round_down(b.sub(end, k0), index(width))
        behind = b.add(k0, count)

        def square(c: Builder, lane: Atom, k: Atom) -> None:
            column = c.apply("mod", lane, index(self.width))
            first = c.add(self._place(c, c.sub(lane, column), c.sub(k, k0)), column)
            columns = self.cells.transposed(c, c.add(lo, lane), k, width)
            for number, values in enumerate(columns):
                self._put(c, c.add(first, index(number * self.width)), values)

        def of_lane(c: Builder, lane: Atom) -> None:
            loop(c, k0, behind, width, lambda d, k: square(d, lane, k))

        in_lanes(b, width, lambda c: loop(c, index(0), whole, width, of_lane))
        return behind

    def _place(self, b: Builder, lane: Atom, k: Atom) -> Atom:
        """Where the values of a panel are at a step."""
        return b.add(b.mul(lane, index(self.depth)), b.mul(k, index(self.width)))

    def _put(self, b: Builder, first: Atom, values: Sequence[Atom]) -> None:
        _store(b, self.rooms, b.emit(Lane(first))[0], values)


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

        def of_row(c: Builder, row: Atom) -> None:
            number = c.apply("minimum", c.add(lo, row), last)
            start = c.mul(row, index(self.depth))

            def put(d: Builder, k: Atom) -> None:
                values = self.cells.row_values(d, number, d.emit(Lane(d.add(k0, k)))[0])
                _store(d, self.rooms, d.emit(Lane(d.add(start, k)))[0], values)

            loop(c, index(0), whole, width, put)
            inside = c.inner()
            put(inside, whole)
            there = c.apply("lt", c.emit(Lane(whole))[0], count)
            c.emit(If(there, inside.close([], []), NO_BODY))

        in_lanes(b, width, lambda c: loop(c, index(0), total, 1, of_row))


def _store(b: Builder, memory: Sequence[Var], place: Atom, values: Sequence[Atom]) -> None:
    for room, value in zip(memory, values, strict=True):
        b.emit(Store(room, place, value))


def _where(
    b: Builder, there: Atom, values: Callable[[Builder], Sequence[Atom]]
) -> Sequence[Atom]:
    """The values in the lanes that are there, 0 in the others."""
    some, none = b.inner(), b.inner()
    found = some.close([], values(some))
    zeros = [none.cast(index(0), scalar_type(value)) for value in found.results]
    return b.emit(If(there, found, none.close([], zeros)))
