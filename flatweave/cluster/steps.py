"""What a divided program is: steps, one after the other, each on every chunk of one space.

    space n_1: rows of xs                step 0 on n_1: t_6 = map ..; t_10 = reduce ..  folds t_10
    client: t_11 = truediv t_10 2        step 1 on n_1: t_12 = map ..                   stores t_12

A *space* is an extent along which arrays are in chunks; arrays of one space are cut at the same
places. A *step* is one local program, run once for each chunk, which ends where something is needed
that another chunk has. Between steps the client computes what is whole: scalars and small arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

from flatweave.base.records import record, replace
from flatweave.terms.print import print_let
from flatweave.terms.syntax import Atom, Let, Var


@record
class Local:
    """One step: the chunks' lets in order, what of them is stored, and what is exchanged behind it.

    `folds` are lets whose results the parts of all chunks make together (`rules/`); `goes_on` are
    such lets of an earlier step, of which each chunk now has what it was missing.
    """

    space: Atom
    lets: tuple[Let, ...]
    stores: tuple[Var, ...]
    folds: tuple[Let, ...]
    goes_on: tuple[Let, ...]


@record
class Whole:
    """Lets over scalars and arrays that are whole, which the client computes."""

    lets: tuple[Let, ...]


@record
class Exchanged:
    """A let that takes arrays in chunks as a whole (`exchanges/`), and what was made of it."""

    let: Let
    made: Any


Step = Local | Whole | Exchanged


@record
class Divided:
    """A function's steps, and its parameters and results that are in chunks."""

    name: str
    params: tuple[Var, ...]
    results: tuple[Atom, ...]
    split: frozenset[Var]
    steps: tuple[Step, ...]
    programs: tuple[Any, ...]
    """For each step its `local.LocalProgram`; None for what the client does."""
    rises: frozenset[Var]
    """Arrays whose elements do not decrease, as rows of varying lengths are cut by them."""
    read_anywhere: frozenset[Var]
    """Arrays in chunks that are read at computed places by rows that are: of which the chunks that
    have them could be asked."""
    again: Callable[[frozenset[Var]], Divided]
    """The program divided so that these are."""
    large: set[Var]
    """Of these, the ones that are computed and were found to be too large to be everywhere."""

    def by_owner(self, arrays: Collection[Var]) -> Divided:
        """What is run where some arrays are too large: with the steps that it takes to ask for
        their rows."""
        large = self.read_anywhere & {*arrays, *self.large}
        return replace(self.again(large), params=self.params) if large else self


def print_divided(divided: Divided) -> str:
    """The steps as text, for people and for tests."""
    lines = []
    for step in divided.steps:
        if not isinstance(step, Local):
            lines.append("client")
            lines += _lines(step.lets if isinstance(step, Whole) else [step.let])
            continue
        lines.append(f"chunks of {step.space!r}")
        lines += [f"  goes on with {_names(let.vars)}" for let in step.goes_on]
        lines += _lines(step.lets)
        lines += [f"  folds {_names(let.vars)} = {print_let(let).strip()}" for let in step.folds]
        if step.stores:
            lines.append(f"  stores {_names(step.stores)}")
    lines.append(f"in {', '.join(map(repr, divided.results))}")
    return "\n".join(lines) + "\n"


def _lines(lets: Sequence[Let]) -> list[str]:
    return [f"  {line}" for let in lets for line in print_let(let).rstrip().splitlines()]


def _names(variables: Sequence[Var]) -> str:
    return ", ".join(map(repr, variables))
