"""Square tiles of elements, one row for each lane: loaded along memory and turned (`load_tile`)."""

from __future__ import annotations

from typing import Protocol

from flatweave.base.records import record
from flatweave.kernel_ir.syntax import Lane, Load, Shared, Store
from flatweave.kernel_ir.warp_ops import LoadTile
from flatweave.terms.build import Builder, index
from flatweave.terms.syntax import Atom, BufferType, Var


class Tile(Protocol):
    """A square of elements, one row for each lane; a step stands in one of its columns."""

    def read(self, b: Builder, buffer: Var) -> Atom:
        """The element of each lane's run at this step."""


@record
class Square:
    """Where a tile begins, how far apart its rows are, and the lanes that share it."""

    base: Atom
    stride: Atom
    width: int

    def load(self, b: Builder, buffer: Var) -> tuple[Atom, ...]:
        return b.emit(LoadTile(buffer, self.base, self.stride, self.width))


@record
class InRegisters:
    """A tile whose columns stay in registers; the body is written out once for each."""

    square: Square
    column: int
    loaded: dict[Var, tuple[Atom, ...]]

    def read(self, b: Builder, buffer: Var) -> Atom:
        if buffer not in self.loaded:
            self.loaded[buffer] = self.square.load(b, buffer)
        return self.loaded[buffer][self.column]


@record
class InMemory:
    """A tile whose columns lie in shared memory, so that a loop can run over them."""

    square: Square
    column: Atom
    outside: Builder
    kernel: Builder
    stored: dict[Var, Var]

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
