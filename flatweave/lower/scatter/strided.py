"""Scattering an expansion whose indices advance evenly along each row: a tile at a time.

    sieve:  row s writes q^2, q^2 + q, q^2 + 2 q, ..   with its own q

    for each tile of the destination (a block; it fits the second-level cache):
        for each row:    the first and the last step that fall into the tile, by division
            for those:   dest[j] = value, or dest[j] fn value

The block that owns its destination computes each element once, and combines the elements of one
index in the order of the sweep: the same bits as by any other division. This pays if rows are long
relative to the number of tiles, which the host checks.
"""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.base.dtypes import DType, i64, u64
from flatweave.base.records import record
from flatweave.kernel_ir.hierarchy import in_lanes, store_each
from flatweave.kernel_ir.host import Role
from flatweave.kernel_ir.syntax import BlockIndex, Load
from flatweave.lower.context import Own
from flatweave.lower.element_functions import Elements, rows_of
from flatweave.lower.kernel_builder import KernelBuilder
from flatweave.lower.machine import Machine
from flatweave.lower.scatter.scattering import UNROLLED, Division, Scattering, cast_like
from flatweave.lower.schedule.division import along_rows
from flatweave.lower.schedule.facts import SweepFacts
from flatweave.lower.schedule.plan import When
from flatweave.lower.sweep.writer import KernelWriter
from flatweave.lower.traverse.row_lookup import RowOf
from flatweave.ops import Prefix
from flatweave.terms.build import Builder, index
from flatweave.terms.syntax import Atom, BufferType, Var
from flatweave.terms.traverse import needed_for, walk_lets

TILE_BYTES = 512 * 1024
VISIT = 8
"""What finding a row's steps in a tile costs, in elements written."""
FAR = 1 << 61
LONG_STEP = 1 << 30
UNROLL = index(UNROLLED)
UNEVEN = "rows do not write in even steps"


def tile_of(dtypes: Sequence[DType]) -> int:
    """Elements of the destination that a block writes."""
    return TILE_BYTES // sum(dtype.bytes for dtype in dtypes)


class Strided(Division):
    """The kernel that writes a tile, and its launch."""

    name = "strided"
    writes_destination = True
    reason = (
        "tiles of the destination look for the elements of each row, since rows write in"
        " even steps and are long"
    )

    def __init__(self, scattering: Scattering, when: When) -> None:
        super().__init__(scattering, when)
        own: Own = [*(("dest", BufferType(dtype)) for dtype in scattering.held), ("extent", i64)]
        self.kernel = scattering.later("_strided", self._write, own, self.why)

    @classmethod
    def obstacle(cls, machine: Machine, facts: SweepFacts) -> str:
        return super().obstacle(machine, facts) or ("" if _is_strided(facts) else UNEVEN)

    def _write(self, kernel: KernelBuilder, own: Sequence[Var]) -> None:
        b, (*dest, extent) = kernel.body, own
        size = index(tile_of(self.scattering.held))
        lo = b.mul(b.emit(BlockIndex())[0], size)
        hi = b.apply("minimum", b.add(lo, size), extent)
        writer = self.scattering.writer(kernel, width=1)
        _Tile(writer, self.scattering, dest, lo, hi).write(b)

    def _tiles(self, host: Builder) -> Atom:
        """How many tiles the destination has."""
        return host.ceil_div(self.scattering.extent, index(tile_of(self.scattering.held)))

    def pays(self, host: Builder) -> Atom:
        """Whether rows are long enough to be looked up in every tile."""
        s, located = self.scattering, self.scattering.facts.located
        assert located is not None
        tiles = self._tiles(host)
        ends = s.lowering.scope.array(located.ends).shape[0]
        rows = host.sub(ends, index(located.skip))
        visits = host.mul(host.mul(rows, tiles), index(VISIT))
        return host.apply("le", visits, s.total)

    def launch(self, host: Builder) -> None:
        """One block for each tile."""
        s, own = self.scattering, (*self.scattering.dest, self.scattering.extent)
        s.lowering.launch(self.kernel, self._tiles(host), Role.VARIANT, host, own)


def _is_strided(facts: SweepFacts) -> bool:
    """Whether a sweep writes along each row in even steps, and fails nowhere."""
    op, located = facts.op, facts.located
    if located is None or facts.can_fail:
        return False
    if any(isinstance(let.op, Prefix) for let in walk_lets(op.body)):
        return False
    return along_rows(op, located).is_linear(op.body.results[0], op.body.params[0])


class _Tile:
    """One tile of the destination, [lo, hi)."""

    def __init__(
        self, writer: KernelWriter, scattering: Scattering, dest: Sequence[Var], lo: Atom, hi: Atom
    ) -> None:
        assert writer.located is not None
        self.writer = writer
        self.scattering = scattering
        self.dest = dest
        self.lo = lo
        self.hi = hi
        self.rows = rows_of(writer.kernel, writer.located)
        self.known = along_rows(writer.op, writer.located)

    def write(self, b: Builder) -> None:
        """Emits the loop over all rows; what a row's elements share is computed once."""
        with b.loop(index(0), self.rows.count, hint="r") as (outer, row):
            start, stop = self.rows.start(outer, row), self.rows.end(outer, row)
            fixed = self._fixed(outer, row, start)
            at = self._place(outer, fixed, start)
            stride = outer.sub(self._place(outer, fixed, outer.add(start, index(1))), at)
            size = outer.sub(stop, start)
            first, behind = self._steps(outer, at, stride, size)
            row_of_tile = _Row(start, at, stride, fixed)
            moderate = _moderate(outer, at, stride, size)
            with outer.branches(moderate) as (known, unknown):
                self._run(known, row_of_tile, first, behind, tested=False)
                self._run(unknown, row_of_tile, index(0), size, tested=True)

    def _run(self, b: Builder, row: _Row, lo: Atom, hi: Atom, *, tested: bool) -> None:
        """The steps lo to hi of a row; `tested` where some may lie outside the tile."""
        with in_lanes(b, 1) as region:
            whole = region.round_down(region.sub(hi, lo), UNROLL)
            mid = region.add(lo, whole)
            self._steps_written(region, row, lo, mid, UNROLLED, tested=tested)
            self._steps_written(region, row, mid, hi, 1, tested=tested)

    def _steps_written(
        self, b: Builder, row: _Row, lo: Atom, hi: Atom, turns: int, *, tested: bool
    ) -> None:
        """Emits an unrolled loop over the steps."""
        begin = b.add(row.at, b.mul(lo, row.stride))
        inner, k, (place,) = b.iteration("k", [begin])
        at: Atom = place
        for turn in range(turns):
            p = inner.add(inner.add(row.start, k), index(turn))
            self._write(inner, row.fixed, p, at, tested=tested)
            at = inner.add(at, row.stride)
        inner.close_loop(lo, hi, [begin], [at], turns)

    def _steps(self, b: Builder, at: Atom, stride: Atom, size: Atom) -> tuple[Atom, Atom]:
        """The first step of a row that falls into the tile, and the one after the last."""
        falls = b.apply("lt", stride, index(0))
        length = b.apply("maximum", b.apply("abs", stride), index(1))
        # measured along the row's direction: the tile begins `near` ahead, and ends `far` ahead
        near = b.apply("select", falls, b.add(b.sub(at, self.hi), index(1)), b.sub(self.lo, at))
        far = b.apply("select", falls, b.add(b.sub(at, self.lo), index(1)), b.sub(self.hi, at))
        first = self._steps_to(b, near, length)
        behind = self._steps_to(b, far, length)
        first = b.apply("minimum", b.apply("maximum", first, index(0)), size)
        behind = b.apply("minimum", b.apply("maximum", behind, first), size)
        return first, behind

    def _steps_to(self, b: Builder, distance: Atom, length: Atom) -> Atom:
        """How many steps of a length are needed to go a distance."""
        return b.ceil_div(distance, length)

    def _fixed(self, b: Builder, row: Atom, start: Atom) -> dict[Var, Atom]:
        """What is the same for all elements of a row."""
        elements = self._elements(start, {})
        elements.located, elements.row = self.writer.located, RowOf(row, start)
        lets = self.writer.op.body.lets
        elements.emit(b, [let for let in lets if not self.known.along(let.vars[0])])
        return elements.env

    def _elements(self, p: Atom, known: dict[Var, Atom]) -> Elements:
        writer = self.writer
        elements = Elements(writer.kernel, p, writer.lowering.checks)
        elements.env.update({**known, writer.op.body.params[0]: p})
        return elements

    def _place(self, b: Builder, fixed: dict[Var, Atom], p: Atom) -> Atom:
        """The index that the element at p writes to."""
        elements, body = self._elements(p, fixed), self.writer.op.body
        lets = needed_for(body.lets, body.results[:1])
        elements.emit(b, [let for let in lets if let.vars[0] not in fixed])
        return elements.atom(body.results[0])

    def _write(
        self, b: Builder, fixed: dict[Var, Atom], p: Atom, place: Atom, *, tested: bool
    ) -> None:
        """Writes the element at p to its index if that falls into the tile."""
        elements, body = self._elements(p, fixed), self.writer.op.body
        lets = needed_for(body.lets, body.results[1:])
        elements.emit(b, [let for let in lets if let.vars[0] not in fixed])
        values = list(elements.atoms(body.results[1:]))
        mine = None
        if tested:
            above = b.cast(b.sub(place, self.lo), u64)
            mine = b.apply("lt", above, b.cast(b.sub(self.hi, self.lo), u64))
        with b.when(mine) as inside:
            if self.scattering.sink is not None:
                old = [inside.emit(Load(buffer, place))[0] for buffer in self.dest]
                new = cast_like(inside, self.dest, values)
                values = list(self.scattering.combine(self.writer.kernel, inside, old, new))
            store_each(inside, self.dest, place, values)


@record
class _Row:
    """One row: its first position, where that writes to, the way to the next, what all share."""

    start: Atom
    at: Atom
    stride: Atom
    fixed: dict[Var, Atom]


def _moderate(b: Builder, at: Atom, stride: Atom, size: Atom) -> Atom:
    """Whether a row moves at all, and no index of it can overflow."""
    moves = b.apply("ne", stride, index(0))
    for value, bound in ((at, FAR), (stride, LONG_STEP), (size, LONG_STEP)):
        moves = b.apply("and", moves, b.apply("lt", value, index(bound)))
        moves = b.apply("and", moves, b.apply("gt", value, index(-bound)))
    return moves
