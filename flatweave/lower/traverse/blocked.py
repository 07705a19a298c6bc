"""A block divided into one consecutive run for each lane: how operators that do not commute reduce.

    lane l takes lo + l q, lo + l q + 1, .. lo + (l + 1) q - 1; then the lanes combine in order

So each lane accumulates on its own, without touching its neighbours, and the order is kept. Arrays
read in place come in square tiles, loaded along memory and turned (`load_tile`).
"""

from __future__ import annotations

from collections.abc import Callable

from flatweave.base.dtypes import i64
from flatweave.base.records import record
from flatweave.kernel_ir.syntax import Lane, Lanes
from flatweave.lower.traverse.position import Position, State, Step
from flatweave.lower.traverse.tiles import InMemory, InRegisters, Square, Tile
from flatweave.lower.traverse.traversal import Traversal
from flatweave.terms.build import Builder, index
from flatweave.terms.control import For
from flatweave.terms.syntax import Atom, Var

TileStep = Callable[[Builder, Atom, Tile, State], State]


@record
class Blocked(Traversal):
    """One run for each lane, then the rest; the state is all accumulators.

    A `heavy` body is a loop over the columns of a tile, not written out for each.
    """

    heavy: bool

    def block(self, b: Builder, lo: Atom, hi: Atom, state: State, step: Step) -> State:
        """Steps over the positions lo to hi."""

        def tile_step(c: Builder, flat: Atom, tile: Tile, known: State) -> State:
            c.assume_space(self.space.shape)
            indices = c.unravel(flat, self.space.shape)
            return step(c, Position(flat, indices, self.width, None, tile), known)

        done, rest = self._tiles(b, lo, hi, self.neutral, tile_step)
        joined = self.joined(b, state, done)
        return self.region(b, 1, rest, hi, hi, joined, step, self.space.at)

    def _tiles(
        self, b: Builder, lo: Atom, hi: Atom, neutral: State, step: TileStep
    ) -> tuple[State, Atom]:
        """The whole tiles of lo to hi, reduced; and where the rest begins."""
        width = index(self.width)
        turns = b.apply("floordiv", b.sub(hi, lo), b.mul(width, width))
        stride = b.mul(turns, width)
        region = b.inner()
        lane = region.emit(Lane(index(0)))[0]
        inside = region.inner()
        at = inside.param("i", i64)
        params = tuple(inside.param("s", atom.type) for atom in neutral)
        square = Square(inside.add(lo, at), stride, self.width)
        first = inside.add(inside.mul(lane, stride), square.base)
        columns = self._loop if self.heavy else self._written_out
        state = columns(b, inside, square, first, params, step)
        body = inside.close([at, *params], state)
        out = region.emit(For(index(0), stride, width, body, neutral))
        reduced = region.close([], self.across_lanes(region, tuple(out)))
        done: State = b.emit(Lanes(self.width, reduced))
        return done, b.add(lo, b.mul(stride, width))

    def _written_out(
        self, kernel: Builder, b: Builder, square: Square, first: Atom, state: State, step: TileStep
    ) -> State:
        loaded: dict[Var, tuple[Atom, ...]] = {}
        for column in range(self.width):
            tile = InRegisters(square, column, loaded)
            state = step(b, b.add(first, index(column)), tile, state)
        return state

    def _loop(
        self, kernel: Builder, b: Builder, square: Square, first: Atom, state: State, step: TileStep
    ) -> State:
        inside = b.inner()
        column = inside.param("k", i64)
        params = tuple(inside.param("s", atom.type) for atom in state)
        tile = InMemory(square, column, b, kernel, {})
        body = inside.close(
            [column, *params], step(inside, inside.add(first, column), tile, params)
        )
        return b.emit(For(index(0), index(self.width), index(1), body, state))
