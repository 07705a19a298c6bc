"""Partial results of chunks: what a step gives for its folds, joined where it is large."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, Protocol, TypeVar

from flatweave.cluster.chunk_program import LocalProgram
from flatweave.cluster.executor import Chunk, Executor
from flatweave.cluster.rules import rule_of
from flatweave.cluster.steps import Joining, Local, Part, Parts, Rule
from flatweave.terms.syntax import Let

# Parts joined with their neighbours, by eight, as they come: the same groups wherever this is.


WIDTH = 8
"""Parts that are joined at once."""
T = TypeVar("T")


class Tree(Generic[T]):
    """What is there of a sequence of parts: on each level fewer than eight, the last ones below."""

    def __init__(self, join: Callable[[list[T]], T]) -> None:
        self._join = join
        self._levels: list[list[T]] = []

    def add(self, part: T, level: int = 0) -> None:
        """Append a part after all others."""
        if level == len(self._levels):
            self._levels.append([])
        group = self._levels[level]
        group.append(part)
        if len(group) == WIDTH:
            self._levels[level] = []
            self.add(self._join(group), level + 1)

    def whole(self) -> T | None:
        """All of them as one; None where there are none."""
        last: list[T] = []
        for level in self._levels:  # parts on a higher level came first
            group = [*level, *last]
            last = [self._join(group)] if len(group) > 1 else group
        return last[0] if last else None


# What the chunks of a step give for its folds, on its way to the client.
#
# Parts that are large, such as private copies of a histogram, are joined where they are, as they
# come; everything that the client needs is fetched at once.


AT_CLIENT = 1 << 20
"""Bytes of all parts up to which the client joins them."""


class Client(Parts, Protocol):
    """The client, as folds see it."""

    place: Executor


class Folding:
    """The folds of one step while its chunks are run."""

    def __init__(self, client: Client, step: Local, made: LocalProgram, chunks: int) -> None:
        self._start = len(step.stores)
        self._folds = [
            _Fold(client, let, count, joining, chunks)
            for let, count, joining in zip(step.folds, made.parts, made.joins, strict=True)
        ]
        self._place = client.place

    def add(self, chunk: Chunk, results: Sequence[Any]) -> None:
        """A chunk's results; none where it has no rows."""
        at = self._start
        for fold in self._folds:
            fold.add(chunk, results[at : at + fold.count] if results else ())
            at += fold.count

    def parts(self) -> list[list[Part]]:
        """For each fold its parts: values, then what stays where it is; all as one if joined."""
        asked = [result for fold in self._folds for result in fold.asked()]
        values = iter(self._place.gathered(asked) if asked else ())
        return [fold.given([next(values) for _ in fold.asked()]) for fold in self._folds]


class _Fold:
    """One fold: its parts so far."""

    def __init__(
        self, client: Client, let: Let, count: int, joining: Joining | None, chunks: int
    ) -> None:
        rule = rule_of(let.op)
        assert rule is not None
        self.rule: Rule = rule
        self.let = let
        self.count = count
        self._client = client
        self._joining = joining
        self._found: list[Part] = []
        self._tree: Tree[tuple[Chunk, Part]] | None = None
        if joining and rule.size(client, let) * chunks > AT_CLIENT:
            self._tree = Tree(self._joined_there)

    def add(self, chunk: Chunk, part: Part) -> None:
        if self._tree is None:
            self._found.append(part)
        elif part:
            self._tree.add((chunk, part))

    def asked(self) -> list[Any]:
        """The results of which the client wants the values."""
        if self._tree is not None:
            joined = self._tree.whole()
            self._tree, self._found = None, [joined[1]] if joined else []
        known = self.rule.asked(self.let, self.count)
        return [result for part in self._found for result in part[:known]]

    def given(self, values: Sequence[Any]) -> list[Part]:
        """The parts with these values."""
        left, known = iter(values), self.rule.asked(self.let, self.count)
        parts = [[*(next(left) for _ in part[:known]), *part[known:]] for part in self._found]
        if self._joining is None:
            return list(parts)
        tree: Tree[Part] = Tree(self._joined_here)
        for part in parts:
            if part:
                tree.add(part)
        whole = tree.whole()
        return [] if whole is None else [whole]

    def _head(self) -> list[Any]:
        assert self._joining is not None
        return [self._client.value(atom) for atom in self._joining.head]

    def _joined_here(self, parts: Sequence[Part]) -> Part:
        assert self._joining is not None
        head, (whole, *others) = self._head(), parts
        for part in others:
            whole = self._client.call("joined", self._joining.program.fn, [*head, *whole, *part])
        return whole

    def _joined_there(self, parts: Sequence[tuple[Chunk, Part]]) -> tuple[Chunk, Part]:
        assert self._joining is not None
        first, last = parts[0][0], parts[-1][0]
        chunk = Chunk(first.number, first.begin, last.end)
        groups = [part for _, part in parts]
        joined = self._client.place.joined(self._joining.program, self._head(), groups, chunk)
        return chunk, joined
