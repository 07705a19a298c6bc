"""What a rule says of its operation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Protocol

from flatweave.array_ir.syntax import Program
from flatweave.base.records import record
from flatweave.ops.rows import array_type
from flatweave.terms.build import Builder
from flatweave.terms.syntax import Atom, Lambda, Let, Op, Type, Var

Part = Sequence[Any]
"""What one chunk gave for the atoms of `Rule.parts`, as far as the client asks for it as values;
nothing, where it has no rows."""


@record
class Joining:
    """How parts of neighbours become one: a program of values of the client, which are the same for
    all, of a part, and of the part behind it."""

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
        """For each chunk, of arrays in chunks, the rows at places, which are its first part, sorted
        and each once: how many they are, its second part, and these rows of each array."""

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
    """Whether the chunks keep results of their own, which are there when all chunks are."""

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
