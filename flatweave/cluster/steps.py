"""A divided program: steps in order, each on every chunk of one space.

A rule says what a step computes of an operation, and what follows from the parts of all chunks.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, ClassVar, Protocol

from flatweave.array_ir.syntax import Program
from flatweave.base.records import record, replace
from flatweave.terms.build import Builder
from flatweave.terms.print import print_let
from flatweave.terms.syntax import Atom, Lambda, Let, Op, Type, Var, array_type

# A divided program:
#
#     space n_1: rows of xs            step 0 on n_1: t_6 = map ..; t_10 = reduce ..  folds t_10
#     client: t_11 = truediv t_10 2    step 1 on n_1: t_12 = map ..                   stores t_12
#
# A *space* is an extent along which arrays are in chunks; arrays of one space are cut at the same
# rows. A *step* is one local program, run once for each chunk, which ends where something is
# needed that another chunk has. Between steps the client computes what is whole: scalars and
# small arrays.


@record
class Local:
    """One step: the chunks' lets in order, their stored results, and the exchange after it.

    `folds` are lets whose results the parts of all chunks make together (`rules.py`); `goes_on` are
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
    """A let that takes arrays in chunks as a whole (`exchange.py`), and what was made of it."""

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
    """Arrays in chunks that computed rows read at computed indices: the chunks with these rows
    could be asked for them."""
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


# What a rule says of its operation.


Part = Sequence[Any]
"""What one chunk gave for the atoms of `Rule.parts`, as far as the client asks for it as values;
nothing, where it has no rows."""


@record
class Joining:
    """How parts of neighbours become one: a program of values of the client, which are the same for
    all, of a part, and of the next part."""

    program: Program
    head: tuple[Atom, ...]


class Chunk(Protocol):
    """The local program that is being written, as rules see it."""

    b: Builder
    count: Var
    """How many rows the chunk has."""

    def atom(self, atom: Atom) -> Atom:
        """What an atom of the program is on one chunk."""

    def operation(self, op: Op) -> Any:
        """The operation with all its atoms and functions as they are on one chunk."""

    def by_row(self, fn: Lambda) -> Lambda:
        """A function of a row's number for the chunk's own rows, counted from 0."""

    def given(self, let: Let, types: Sequence[Type], first: int = 0) -> tuple[Var, ...]:
        """What the chunk is given to go on with, from the one with this number on; later ones may
        have earlier ones for extents."""

    def bind(self, let: Let, op: Op) -> None:
        """Let `op` be what the chunk has of a let's results."""

    def know(self, let: Let, atoms: Sequence[Atom]) -> None:
        """The same of what has been emitted."""


class Parts(Protocol):
    """What the client has of a let, as rules see it."""

    def value(self, atom: Atom) -> Any:
        """The value of a scalar or of an array that is whole."""

    def entire(self, atom: Atom) -> Any:
        """The same, an array in chunks put together."""

    def brought(self, arrays: Sequence[Any], parts: Sequence[Part]) -> list[list[Any]]:
        """For each chunk, the rows of arrays in chunks at indices, which are its first part, sorted
        and unique: their number is its second part; and these rows of each array."""

    def call(self, name: str, fn: Any, args: Sequence[Any]) -> list[Any]:
        """A function of the program on values of the client."""


class Rule:
    """One operation: its space, what it takes row by row, its parts, and what they make."""

    op: ClassVar[type[Op]]
    stays: ClassVar[bool] = False
    """Whether its results are in the chunks that it goes over."""
    again: ClassVar[bool] = True
    """Whether a chunk that goes on takes the arrays that it went over once more."""
    stored: ClassVar[bool] = False
    """Whether the chunks store separate results, which exist when all chunks are done."""

    def space(self, op: Any) -> Atom:
        """The extent that it goes over."""
        return array_type(self.fed(op)[0]).shape[0]

    def fed(self, op: Any) -> tuple[Atom, ...]:
        """The arrays that are taken row by row."""
        raise NotImplementedError

    def into(self, op: Any) -> tuple[Atom, ...]:
        """The arrays that are written; the rule is for those that are whole."""
        return ()

    def refused(self, op: Any) -> str:
        """Why this one has no rule; empty where it has."""
        return ""

    def parts(self, chunk: Chunk, let: Let) -> tuple[Atom, ...]:
        """The results of a chunk's program from which the whole is made."""
        raise NotImplementedError

    def asked(self, let: Let, count: int) -> int:
        """How many of a chunk's results for a let, the first ones, the client has the values of;
        the others stay where they are."""
        return count

    def joining(self, let: Let) -> Joining | None:
        """How parts are joined before the client sees them; None where it takes each."""
        return None

    def size(self, client: Parts, let: Let) -> int:
        """The bytes of a part that is joined."""
        return 0

    def goes_on(self, chunk: Chunk, let: Let) -> None:
        """What a chunk computes when it is given what it was missing."""
        raise NotImplementedError

    def whole(self, client: Parts, let: Let, parts: Sequence[Part]) -> Mapping[Var, Any]:
        """The let's results that are whole, from all parts in order, or from one where these are
        joined."""
        return {}

    def keeps(self, let: Let) -> list[tuple[Var, int, int | None]]:
        """Of results that the chunks keep: which part each is, and which one is the number of its
        rows; none where these are the chunk's own."""
        return []

    def missing(self, client: Parts, let: Let, parts: Sequence[Part]) -> list[list[Any]]:
        """What each chunk is given to go on with."""
        return []
