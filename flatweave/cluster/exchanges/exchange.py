"""What an exchange says of its operation."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, Protocol

from flatweave.array_ir.syntax import Program
from flatweave.cluster.place import Place
from flatweave.cluster.steps import Divided
from flatweave.frontend.values.chunked import Chunked
from flatweave.terms.syntax import Atom, Let, Op, Var

Divide = Callable[[Program, Collection[int]], Divided]


class Made(NamedTuple):
    """What is known of an exchange before it runs: the results that are in chunks, why it cannot be
    done, and whatever its class wants to keep."""

    split: frozenset[Var]
    refused: str = ""
    kept: Any = None


def in_chunks(value: Any) -> Any:
    """A value that must be in chunks: one chunk, where it was whole."""
    return value if isinstance(value, Chunked) else Chunked([value])


class Client(Protocol):
    """The client, as exchanges see it."""

    place: Place

    def value(self, atom: Atom) -> Any:
        """A value that is whole, or a Chunked."""

    def run(self, divided: Divided, args: Sequence[Any]) -> list[Any]:
        """The results of a program that was divided."""

    def call(self, name: str, fn: Any, args: Sequence[Any]) -> list[Any]:
        """A function of the program on values of the client."""


class Exchange:
    """One operation on arrays in chunks that the client has done."""

    op: ClassVar[type[Op]]

    def made(self, let: Let, split: Collection[Var], divide: Divide) -> Made:
        """What is known before anything runs; raises Unsupported."""
        return Made(frozenset())

    def run(self, client: Client, let: Let, made: Made) -> Mapping[Var, Any]:
        """The let's results."""
        raise NotImplementedError
