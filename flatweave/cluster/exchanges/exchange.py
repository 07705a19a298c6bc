"""What an exchange says of its operation."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple, Protocol

from flatweave.array_ir.syntax import Program
from flatweave.cluster.place import Place
from flatweave.cluster.steps import Divided
from flatweave.frontend.values.chunked import Chunked, Held
from flatweave.terms.syntax import Atom, Let, Op, Var

Divide = Callable[[Program, Collection[int]], Divided]


class Made(NamedTuple):
    """What is known of an exchange before it runs: the results that are in chunks, why it cannot be
    done, and whatever its class wants to keep."""

    split: frozenset[Var]
    refused: str = ""
    kept: Any = None


def in_chunks(value: Any, cuts: Sequence[int] = ()) -> Any:
    """A value that must be in chunks: if it was whole, those between the cuts, or one."""
    if isinstance(value, Chunked):
        return value
    ends = pairwise(cuts or (0, len(value)))
    return Chunked.of([Held(value[a:b]) for a, b in ends], value.dtype, value.shape[1:])


class Client(Protocol):
    """The client, as exchanges see it."""

    place: Place

    def value(self, atom: Atom) -> Any:
        """A value that is whole, or a Chunked."""

    def entire(self, atom: Atom) -> Any:
        """The same, an array in chunks put together."""

    def shared(self, var: Var) -> Any:
        """What every task is given for a value that is whole, or an array that it needs all of."""

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
