"""A block divided into one consecutive run for each lane: how operators that do not commute reduce.

    lane l takes lo + l q, lo + l q + 1, .. lo + (l + 1) q - 1; then the lanes combine in order

So each lane accumulates on its own, without touching its neighbours, and the order is kept. Arrays
read in place come in square tiles, loaded along memory and turned (`load_tile`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from flatweave.base.dtypes import i64
from flatweave.kernel_ir.load_tile import LoadTile
from flatweave.kernel_ir.syntax import Lane, Lanes, Load, Shared, Store
from flatweave.terms.build import Builder, index
from flatweave.terms.control import For
from flatweave.terms.syntax import Atom, BufferType, Var

State = tuple[Atom, ...]


class Tile(Protocol):
    """A square of elements, one row for each lane; a step stands in one of its columns."""

    def read(self, b: Builder, buffer: Var) -> Atom:
        """The element of each lane's run at this step."""


@dataclass(frozen=True, eq=False)
class Square:
    """Where a tile begins, how far apart its rows are, and the lanes that share it."""

    base: Atom
    stride: Atom
    width: int

    def load(self, b: Builder, buffer: Var) -> tuple[Atom, ...]:
        return b.emit(LoadTile(buffer, self.base, self.stride, self.width))


@dataclass(frozen=True, eq=False)
class InRegisters:
    """A tile whose columns stay in registers; the body is written out once for each."""

    square: Square
    column: int
    loaded: dict[Var, tuple[Atom, ...]]

    def read(self, b: Builder, buffer: Var) -> Atom:
        if buffer not in self.loaded:
            self.loaded[buffer] = self.square.load(b, buffer)
        return self.loaded[buffer][self.column]


@dataclass(frozen=True, eq=False)
class InMemory:
    """A tile whose columns lie in shared memory, so that a loop can run over them."""

    square: Square
    column: Atom
    outside: Builder
    kernel: Builder
    stored: dict[Var, Var] = field(default_factory=dict)

    def read(self, b: Builder, buffer: Var) -> Atom:
        width = self.square.width
        if buffer not in self.stored:
            assert isinstance(buffer.type, BufferType)
            room = self.kernel.emit(Shared(buffer.type.dtype, width * width))[0]
            for column, value in enumerate(self.square.load(self.outside, buffer)):
                at = self.outside.emit(Lane(index(column * width)))[0]
                self.outside.emit(Store(room, at, value))
            self.stored[buffer] = room
        at = b.emit(Lane(b.mul(self.column, index(width))))[0]
        return b.emit(Load(self.stored[buffer], at))[0]


TileStep = Callable[[Builder, Atom, Tile, State], State]


@dataclass(frozen=True, eq=False)
class BlockedLayout:
    """The division of a block into runs; a `heavy` body is a loop, not written out."""

    width: int
    heavy: bool

    def region(
        self, b: Builder, lo: Atom, hi: Atom, neutral: State, step: TileStep,
        across: Callable[[Builder, State], State],
    ) -> tuple[State, Atom]:  # fmt: skip
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
        done: State = b.emit(Lanes(self.width, region.close([], across(region, tuple(out)))))
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
        tile = InMemory(square, column, b, kernel)
        body = inside.close(
            [column, *params], step(inside, inside.add(first, column), tile, params)
        )
        return b.emit(For(index(0), index(self.width), index(1), body, state))
