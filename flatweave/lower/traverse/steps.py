"""One step of a traversal: its position, its lanes, and how the steps of a span end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from flatweave.base.dtypes import i64
from flatweave.base.records import record
from flatweave.kernel_ir.syntax import Lane, Load, Shared, Store, Sync, WarpIndex
from flatweave.kernel_ir.warp_ops import CountLanes, LoadTile
from flatweave.lower.machine import NARROWEST, Machine
from flatweave.terms.build import TRUE, Builder, index
from flatweave.terms.syntax import Atom, BufferType, Var

if TYPE_CHECKING:
    from flatweave.lower.traverse.row_lookup import RowOf

# --------------------------------------------------------------------------------------------------
# Square tiles of elements, one row for each lane: loaded along memory and turned (`load_tile`).


class Tile(Protocol):
    """A square of elements, one row for each lane; a step is one of its columns."""

    def read(self, b: Builder, buffer: Var) -> Atom:
        """The element of each lane's run at this step."""


@record
class Square:
    """Where a tile begins, the stride of its rows, and the lanes that share it."""

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
    """A tile whose columns are in shared memory, so that a loop can iterate over them."""

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


# -- One step of a traversal: where it is, and which of its lanes have an element ------------------


@record
class Position:
    """Where a step is: its flat position, its indices, the lanes, and which of them count.

    `base` and `last` are the first and the last position of the step, `row` is the row of each
    position and where that begins, `is_head` whether it begins there; `aligned` says that steps
    begin on multiples of their width. Where a step is `alone`, no lanes are around it, and folds
    inside the element may use them. `turn` is the number of the step among those of its warp, where
    that is known. Where it `fetches`, reads of the furthest row prefetch the next
    row. `in_row` is the body around the steps of a row that has elements: values that a row's
    elements share are read there, once.
    """

    flat: Atom
    indices: tuple[Atom, ...]
    width: int
    active: Atom | None = None
    tile: Tile | None = None
    base: Atom | None = None
    last: Atom | None = None
    row: RowOf | None = None
    is_head: Atom | None = None
    aligned: bool = True
    alone: bool = False
    fetches: bool = False
    turn: Atom | None = None
    in_row: Builder | None = None

    def row_with(self, atom: Atom) -> Builder | None:
        """The row's body, where all elements of the row have this atom."""
        row = self.in_row
        return row if row is not None and row.scope_of(atom) is not None else None


State = tuple[Atom, ...]
Step = Callable[[Builder, Position, State], State]


def while_active(
    b: Builder, values: Sequence[Atom], idle: Sequence[Atom], position: Position
) -> tuple[Atom, ...]:
    """The values, with the neutral ones in lanes that have no element."""
    if position.active is None:
        return tuple(values)
    pairs = zip(values, idle, strict=True)
    return tuple(b.apply("select", position.active, v, n) for v, n in pairs)


def count_lanes(b: Builder, flag: Atom, width: int) -> Atom:
    """In how many lanes of a step a flag holds."""
    return b.emit(CountLanes(flag))[0] if width > 1 else b.cast(flag, i64)


# -- Warps by their number, and which part of a block each of them walks over ----------------------


def warp_index(b: Builder, machine: Machine) -> Atom:
    """The warp's number in its block; 0 where a block has one warp."""
    return index(0) if machine.warps == 1 else b.emit(WarpIndex())[0]


def slot_of_warp(b: Builder, machine: Machine, block: Atom) -> Atom:
    """The number of this warp among all warps of the grid."""
    return b.add(b.mul(block, index(machine.warps)), warp_index(b, machine))


def warp_share(
    b: Builder, machine: Machine, lo: Atom, hi: Atom, width: int
) -> tuple[Atom, Atom, Atom]:
    """Where this warp starts and stops walking, and where its part of lo to hi ends.

    All warps of a block take the same number of steps, so a step may contain a barrier. The parts
    are contiguous, in the order of the warps. A warp whose part is short idles.
    """
    step = width * machine.warps
    length = b.apply("maximum", b.sub(hi, lo), index(0))
    steps = b.apply("floordiv", b.add(length, index(step - 1)), index(step))
    part = b.mul(steps, index(width))
    ahead = b.mul(warp_index(b, machine), part)
    first = b.apply("minimum", b.add(lo, ahead), hi)
    end = b.add(first, part)
    return first, end, b.apply("minimum", end, hi)


# -- How the steps of a span end: lane by lane, or with lanes that idle ----------------------------
#
# a CPU     lo .. in whole steps .. mid, then one by one to hi threads   each warp in whole steps;
# lanes from the end of its share on have no element


class Steps(Protocol):
    """The regions of a span, and the lanes of a step."""

    def short(self, width: int) -> int:
        """The lanes of one register, where a step takes four; 0 where shorter steps do not pay."""

    def share(self, b: Builder, lo: Atom, hi: Atom, width: int) -> tuple[Atom, Atom, Atom]:
        """Where this warp starts and stops walking, and where its part of lo to hi ends."""

    def regions(
        self, b: Builder, lo: Atom, hi: Atom, width: int
    ) -> list[tuple[int, Atom, Atom, Atom]]:
        """Lanes, begin and end of each loop over steps, and where elements end."""

    def lanes(self, b: Builder, base: Atom, width: int, limit: Atom) -> tuple[Atom, Atom | None]:
        """The position of each lane of a step, and which lanes have one; None if all have."""

    def lanes_back(
        self, b: Builder, last: Atom, base: Atom, width: int, limit: Atom
    ) -> tuple[Atom, Atom | None]:
        """The same, counted from the last position back."""

    def wait_for_lanes(self, b: Builder) -> None:
        """From here on any lane may overwrite what the lanes of the warp stored before."""

    def once(self, b: Builder, position: Position, act: Callable[[Builder], None]) -> None:
        """What a step with an element does once for all of its lanes."""


class WholeSteps:
    """Whole steps on all lanes, then the rest one by one."""

    def short(self, width: int) -> int:
        return width // 4 if width // 4 >= NARROWEST else 0

    def share(self, b: Builder, lo: Atom, hi: Atom, width: int) -> tuple[Atom, Atom, Atom]:
        return lo, hi, hi

    def regions(
        self, b: Builder, lo: Atom, hi: Atom, width: int
    ) -> list[tuple[int, Atom, Atom, Atom]]:
        if width == 1:
            return [(1, lo, hi, hi)]
        length = b.sub(hi, lo)
        whole = b.round_down(length, index(width))
        mid = b.add(lo, whole)
        return [(width, lo, mid, hi), (1, mid, hi, hi)]

    def lanes(self, b: Builder, base: Atom, width: int, limit: Atom) -> tuple[Atom, Atom | None]:
        return (b.emit(Lane(base))[0] if width > 1 else base), None

    def lanes_back(
        self, b: Builder, last: Atom, base: Atom, width: int, limit: Atom
    ) -> tuple[Atom, Atom | None]:
        start = b.sub(last, base)
        return (b.emit(Lane(start, True))[0] if width > 1 else start), None

    def wait_for_lanes(self, b: Builder) -> None:
        """Nothing: a warp is one thread."""

    def once(self, b: Builder, position: Position, act: Callable[[Builder], None]) -> None:
        act(b)


class ShorterSteps(WholeSteps):
    """Whole steps, then shorter ones, then the rest one by one."""

    def regions(
        self, b: Builder, lo: Atom, hi: Atom, width: int
    ) -> list[tuple[int, Atom, Atom, Atom]]:
        found = []
        for lanes in dict.fromkeys((width, min(width, NARROWEST))):
            whole, *_ = super().regions(b, lo, hi, lanes)
            found.append(whole)
            lo = whole[2]
        return [*found, (1, lo, hi, hi)] if width > 1 else found


class MaskedSteps:
    """Every step on all lanes; those past the end of the warp's share stay at its last element.

    All warps of a block take the same number of steps, so a step may contain a barrier.
    """

    def __init__(self, machine: Machine) -> None:
        self.machine = machine

    def short(self, width: int) -> int:
        return 0

    def share(self, b: Builder, lo: Atom, hi: Atom, width: int) -> tuple[Atom, Atom, Atom]:
        return warp_share(b, self.machine, lo, hi, width)

    def regions(
        self, b: Builder, lo: Atom, hi: Atom, width: int
    ) -> list[tuple[int, Atom, Atom, Atom]]:
        first, end, limit = self.share(b, lo, hi, width)
        return [(width, first, end, limit)]

    def lanes(self, b: Builder, base: Atom, width: int, limit: Atom) -> tuple[Atom, Atom | None]:
        i: Atom = b.emit(Lane(base))[0] if width > 1 else base
        last = b.apply("maximum", b.sub(limit, index(1)), index(0))
        return b.apply("minimum", i, last), b.apply("lt", i, limit)

    def lanes_back(
        self, b: Builder, last: Atom, base: Atom, width: int, limit: Atom
    ) -> tuple[Atom, Atom | None]:
        running, active = self.lanes(b, base, width, limit)
        return b.sub(last, running), active

    def wait_for_lanes(self, b: Builder) -> None:
        b.emit(Sync("warp"))

    def once(self, b: Builder, position: Position, act: Callable[[Builder], None]) -> None:
        leads, there = b.apply("eq", b.emit(Lane(index(0)))[0], index(0)), position.active or TRUE
        with b.when(b.apply("and", leads, there)) as inside:
            act(inside)


def steps_of(machine: Machine) -> Steps:
    """The one that a machine takes."""
    if machine.one_block:
        return ShorterSteps()
    return MaskedSteps(machine) if machine.simt else WholeSteps()
