"""Tiles of arrays in a block's shared memory: put there by all of its threads, read by each.

    tile[t] = xs[base + t]        t below `slots`, what lies outside of xs left at its edge
    barrier
    xs[i] ==> tile[i - base]      where i is known to be in the tile; else that is tested first
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from flatweave.access.analyse import Span
from flatweave.base.dtypes import i64, u32, u64
from flatweave.base.records import record
from flatweave.kernel_ir.syntax import Load, Store
from flatweave.lower.machine.machine import Machine
from flatweave.lower.traverse.steps import Position, State
from flatweave.lower.traverse.traversal import flat
from flatweave.terms.build import TRUE, Builder, index
from flatweave.terms.control import NO_BODY, If
from flatweave.terms.syntax import Atom, Const, Var, constant


@record
class TileOf:
    """A tile of an array: its memory, its extents, the indices of the element that it begins at,
    which may be before the array's first."""

    memory: Var
    slots: tuple[int, ...]
    base: tuple[Atom, ...]

    def fill(
        self, b: Builder, machine: Machine, xs: Var, shape: Sequence[Atom], width: int
    ) -> None:
        """Copy it from the array, lanes side by side along rows of it."""
        count = index(prod(self.slots))

        def put(c: Builder, position: Position, state: State) -> State:
            places = unravelled(c, position.flat, self.slots)
            indices = [
                clipped(c, c.add(base, place), extent)
                for base, place, extent in zip(self.base, places, shape, strict=True)
            ]
            value = c.emit(Load(xs, c.ravel(indices, shape)))[0]
            inside = c.inner()
            inside.emit(Store(self.memory, position.flat, value))
            assert position.active is not None
            c.emit(If(position.active, inside.close([], []), NO_BODY))
            return state

        flat(machine, count, width).block(b, index(0), count, (), put)


@record
class InShared:
    """A read at positions around the element at `own`, within `spans`."""

    tile: TileOf
    spans: tuple[Span, ...]
    own: tuple[Atom, ...]

    def read(
        self, b: Builder, indices: Sequence[Atom], given: Sequence[Atom],
        atom: Callable[[Atom], Atom], load: Callable[[Builder], Atom],
    ) -> Atom:  # fmt: skip
        """The element at some indices, which equal those `given` unless a check has failed. If it
        is not in the tile, `load` reads it from the array. `atom` maps an end to the kernel."""
        extents = [index(n) for n in self.tile.slots]
        places = [b.sub(i, base) for i, base in zip(indices, self.tile.base, strict=True)]
        there: Atom = TRUE
        for k, span in enumerate(self.spans):
            if indices[k] != given[k] or not self._is_sure(b, span, self.own[k], atom):
                below = b.apply("lt", b.cast(places[k], u64), b.cast(extents[k], u64))
                there = b.apply("and", there, below)
        if there == TRUE:
            return b.emit(Load(self.tile.memory, b.ravel(places, extents)))[0]
        near, far = b.inner(), b.inner()
        value = near.emit(Load(self.tile.memory, near.ravel(places, extents)))[0]
        ways = near.close([], [value]), far.close([], [load(far)])
        return b.emit(If(there, *ways))[0]

    def _is_sure(self, b: Builder, span: Span, own: Atom, atom: Callable[[Atom], Atom]) -> bool:
        """Whether an index is within its span for every element."""
        ends = [b.apply("ge", atom(end), own) for end in span.ends]
        return span.sure and all(isinstance(end, Const) and end.value for end in ends)


def unravelled(b: Builder, flat_: Atom, shape: Sequence[int]) -> tuple[Atom, ...]:
    """The indices of a position in a tile, divided as unsigned 32-bit numbers."""
    rest, indices = b.cast(flat_, u32), list[Atom]()
    for extent in reversed(shape[1:]):
        by = constant(extent, u32)
        indices.insert(0, b.cast(b.apply("mod", rest, by), i64))
        rest = b.apply("floordiv", rest, by)
    return b.cast(rest, i64), *indices


def clipped(b: Builder, i: Atom, extent: Atom) -> Atom:
    """An index that is left at the edges of its axis."""
    last = b.sub(extent, index(1))
    return b.apply("maximum", b.apply("minimum", i, last), index(0))
