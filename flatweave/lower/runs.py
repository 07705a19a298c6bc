"""A block divided into one consecutive run for each lane: how operators that do not commute reduce.

    lane l takes lo + l q, lo + l q + 1, .. lo + (l + 1) q - 1        then the lanes combine in order

So each lane accumulates on its own, without touching its neighbours, and the order is kept. Arrays
read in place come in square tiles, loaded along memory and turned (`load_tile`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from flatweave.base.dtypes import i64
from flatweave.kernel_ir.syntax import Lane, Lanes, LoadTile
from flatweave.terms.build import Builder, index
from flatweave.terms.control import For
from flatweave.terms.syntax import Atom, Lambda, Var

State = tuple[Atom, ...]


@dataclass(frozen=True, eq=False)
class Tile:
    """A square of elements, one row for each lane; `column` says where in it a step is."""

    base: Atom
    stride: Atom
    count: int
    column: int
    loaded: dict[Var, tuple[Atom, ...]] = field(default_factory=dict)

    def read(self, b: Builder, buffer: Var) -> Atom:
        """The element of each lane's run at this step."""
        if buffer not in self.loaded:
            tile = LoadTile(buffer, self.base, self.stride, self.count)
            self.loaded[buffer] = b.emit(tile)
        return self.loaded[buffer][self.column]


TileStep = Callable[[Builder, Atom, Tile, State], State]


def region_of_runs(
    b: Builder, width: int, lo: Atom, hi: Atom, neutral: State, step: TileStep,
    across: Callable[[Builder, State], State],
) -> tuple[State, Atom]:  # fmt: skip
    """The whole tiles of lo to hi, reduced; and where the rest begins."""
    area = index(width * width)
    turns = b.apply("floordiv", b.sub(hi, lo), area)
    stride = b.mul(turns, index(width))
    region = b.inner()
    lane = region.emit(Lane(index(0)))[0]
    inside = region.inner()
    at = inside.param("i", i64)
    state: State = tuple(inside.param("s", atom.type) for atom in neutral)
    params = state
    base = inside.add(lo, at)
    first = inside.add(inside.mul(lane, stride), base)
    loaded: dict[Var, tuple[Atom, ...]] = {}
    for column in range(width):
        tile = Tile(base, stride, width, column, loaded)
        state = step(inside, inside.add(first, index(column)), tile, state)
    body: Lambda = inside.close([at, *params], state)
    out = region.emit(For(index(0), stride, index(width), body, neutral))
    done: State = b.emit(Lanes(width, region.close([], across(region, tuple(out)))))
    return done, b.add(lo, b.mul(stride, index(width)))
