"""Specialisations of a signature: traces that broadcast extents of 1.

A trace knows no sizes, so it takes axes that meet for equally long. Where a call brings an axis of
extent 1 to be broadcast, that check fails; then the function is traced once more, those extents
constants, and such calls take that specialisation from then on. Where an extent that the program
computes is 1, a specialisation that compares such extents with 1 runs instead.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from flatweave.array_ir.fault import SAME, Fault
from flatweave.base.errors import UserError
from flatweave.base.locks import Lock
from flatweave.frontend.values.chunked import Chunked
from flatweave.frontend.values.tree import Tree
from flatweave.runtime.devices.arrays import ARRAYS

UnitAxes = frozenset[tuple[int, int]]  # of extent 1: (number of the array argument, axis)
TAKEN = (*ARRAYS, Chunked)
"""What a program takes as an array."""


class Specialisation(NamedTuple):
    """What a trace takes for granted: which extents are 1, whether computed ones may be, and
    whether the program is for arrays in chunks."""

    unit_axes: UnitAxes = frozenset()
    stretches: bool = False
    in_chunks: bool = False


class Made(Protocol):
    """What is made of a trace."""

    @property
    def tree(self) -> Tree:
        """The tree of the results."""


T = TypeVar("T", bound=Made)


class Specialised(Generic[T]):
    """What is made of one signature of a function: of its trace, and of specialisations."""

    __slots__ = ("_lock", "_make", "plain", "specialisations")

    def __init__(self, make: Callable[[Specialisation], T]) -> None:
        self._make = make
        self._lock = Lock()
        self.plain = make(Specialisation())
        self.specialisations: dict[Specialisation, T] = {}

    def chosen(self, flat: list[Any]) -> tuple[T, list[Any]]:
        """What is made for these extents, and the arguments it takes."""
        unit_axes = unit_axes_of(flat)
        found = self.specialisations.get(Specialisation(unit_axes))
        if found is None:
            return self.plain, flat
        return found, without_unit_extents(flat, unit_axes)

    def after(self, tried: T, fault: Fault, flat: list[Any]) -> tuple[T, list[Any]] | None:
        """What may broadcast where the one that was tried met an extent of 1, and the arguments it
        takes; None where that is not what went wrong, or none is left."""
        unit_axes = unit_axes_of(flat)
        specials = [Specialisation(unit_axes), Specialisation(unit_axes, True)]
        known = [self.specialisations.get(special) for special in specials]
        left = specials[known.index(tried) + 1 :] if tried in known else specials
        for special in left:
            if fault.code != SAME or (special.stretches and 1 not in fault.values):
                return None
            made = self._specialised(special)
            if made is not None:
                return made, without_unit_extents(flat, unit_axes)
        return None

    def _specialised(self, special: Specialisation) -> T | None:
        """A specialisation, made when first needed; None if the function has no such one."""
        found = self.specialisations.get(special)
        if found is not None or special == Specialisation():
            return found
        try:
            found = self._make(special)
        except UserError:
            return None
        if found.tree != self.plain.tree:
            return None  # rows repeated to one length are an array, where others are a Ragged
        with self._lock:
            self.specialisations = {**self.specialisations, special: found}
        return found


def arrays_of(flat: Sequence[Any]) -> list[Any]:
    """The arrays among flat arguments."""
    return [value for value in flat if isinstance(value, TAKEN) and value.ndim]


def unit_axes_of(flat: Sequence[Any]) -> UnitAxes:
    """Every axis of extent 1 among the arguments."""
    return frozenset(
        (number, axis)
        for number, values in enumerate(arrays_of(flat))
        for axis, extent in enumerate(values.shape)
        if extent == 1
    )


def without_unit_extents(flat: Sequence[Any], unit_axes: UnitAxes) -> list[Any]:
    """The flat arguments without the extents of unit axes, which are constants of the trace."""
    kept: list[Any] = []
    number = -1
    for value in flat:
        if isinstance(value, TAKEN) and value.ndim:
            number += 1
            del kept[len(kept) - value.ndim :]
            kept.extend(e for a, e in enumerate(value.shape) if (number, a) not in unit_axes)
        kept.append(value)
    return kept
