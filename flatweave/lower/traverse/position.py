"""One step of a traversal: where it is, and which of its lanes have an element."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from flatweave.base.dtypes import i64
from flatweave.base.records import record
from flatweave.kernel_ir.warp_ops import CountLanes
from flatweave.lower.traverse.row_of_position import RowOf
from flatweave.lower.traverse.tiles import Tile
from flatweave.terms.build import Builder
from flatweave.terms.syntax import Atom


@record
class Position:
    """Where a step is: its flat position, its indices, the lanes, and which of them count.

    `base` and `last` are the first and the last position of the step, `row` is the row of each
    position and where that begins, `is_head` whether it begins there; `aligned` says that steps
    begin on multiples of their width. Where a step is `alone`, no lanes are around it, and folds
    inside the element may use them. `turn` is the number of the step among those of its warp, where
    that is known. Where it `fetches`, reads of the furthest row ask for the row
    behind it. `in_row` is the body around the steps of a row that has elements: what a row's
    elements share is read there, once.
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
