"""The arrays that threads write to side by side, as the host holds them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from flatweave.base.records import record
from flatweave.lower.host.context import Lowering
from flatweave.lower.kernel.elements import Elements
from flatweave.terms.build import Builder
from flatweave.terms.syntax import Atom, Let, Var


class Updates(Protocol):
    """Arrays of `extent` elements into which blocks combine theirs side by side.

    `update` combines one element into a place that is there; `finish` is for when all have.
    """

    @property
    def dest(self) -> tuple[Var, ...]: ...

    @property
    def extent(self) -> Atom: ...

    def update(
        self, b: Builder, elements: Elements, place: Atom, values: Sequence[Atom]
    ) -> None: ...

    def finish(self, lowering: Lowering, let: Let) -> None: ...


@record
class Claims:
    """Which element came last at each place, and all elements in running order."""

    dest: tuple[Var, ...]
    winners: Var
    elements: tuple[Var, ...]
    extent: Atom
