"""What a worker of a cluster does: a local program, from its text, on arguments that have come.

    run(text, [("rows", [(values, None, 0, 100)], None), ("value", 7)], asked)      some results

The program is compiled here, for this machine, once in each process, and kept on disk as ever; the
lines of its lets are numbers, which the client knows.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

import flatweave.ops  # noqa: F401  the operations that texts may name
from flatweave.array_ir.fault import Fault
from flatweave.array_ir.syntax import Program
from flatweave.array_ir.text import parse_program
from flatweave.base.config import config
from flatweave.base.schedule import CHOSEN
from flatweave.base.version import FORMAT, VERSION
from flatweave.cluster.sources.memory import one
from flatweave.cluster.sources.stored import extremes, read
from flatweave.frontend.call.eager import compile_program
from flatweave.terms.syntax import Lambda, Let
from flatweave.terms.traverse import map_field

ROWS = "rows"
VALUE = "value"
RESULT = "result"
Argument = tuple[Any, ...]


class Asked(NamedTuple):
    """What goes with every program: the name of the task, how many threads it has, and the versions
    of Flatweave and of the text at the client."""

    key: str
    threads: int | None
    versions: tuple[str, int]


VERSIONS = VERSION, FORMAT


class Failed(Exception):
    """A fault of a local program, on its way to the client: of which task, and at which let."""

    def __init__(self, key: str, line: int, *facts: Any) -> None:
        super().__init__(key, line, *facts)
        self.key = key
        self.line = line
        self.facts = facts


class OtherVersions(Exception):
    """The worker has other versions than the client."""

    def __init__(self, versions: tuple[str, int]) -> None:
        super().__init__(versions)
        self.versions = versions


class Numbered:
    """Stands for the line of a let, in a program that was read from its text."""

    is_known = False

    def __init__(self, number: int) -> None:
        self.number = number

    def __str__(self) -> str:
        return f"let {self.number}"


def run(text: str, arguments: Sequence[Argument], asked: Asked) -> tuple[Any, ...]:
    """The results of a program for one chunk; raises Failed, OtherVersions."""
    return _run(text, _taken(arguments), asked)


def _run(text: str, given: list[Any], asked: Asked) -> tuple[Any, ...]:
    if asked.versions != VERSIONS:
        raise OtherVersions(VERSIONS)
    with config.scoped(threads=asked.threads):
        try:
            return tuple(_compiled(text).run(given))
        except Fault as fault:
            line = fault.where.number if isinstance(fault.where, Numbered) else -1
            facts = (
                fault.code, fault.index, fault.value, fault.extent, fault.axis, fault.values,
                fault.message,
            )  # fmt: skip
            raise Failed(asked.key, line, *facts) from None


def kept(value: Any) -> Any:
    """An array of the client."""
    return value


def some(results: Sequence[Any], numbers: Sequence[int]) -> list[Any]:
    """Those results for which the client asks."""
    return [np.asarray(results[number])[()] for number in numbers]


def joined(
    text: str, head: Sequence[Any], parts: Sequence[tuple[Any, Sequence[int]]], asked: Asked
) -> tuple[Any, ...]:
    """Parts joined from left to right: each is some results of a task; raises as `run` does."""
    whole, *others = ([results[number] for number in numbers] for results, numbers in parts)
    for part in others:
        whole = list(_run(text, [*head, *whole, *part], asked))
    return tuple(whole)


def together(argument: Argument) -> Any:
    """An argument as one array, which many tasks take."""
    return _taken([argument])[0]


def of_results(
    function: Callable[..., Any], results: Sequence[Any], numbers: Sequence[int], *args: Any
) -> Any:
    """A function of ours of some results of a task."""
    return function([results[number] for number in numbers], *args)


def extremes_of(argument: Argument) -> tuple[int, int]:
    """The least and the greatest integer of an argument."""
    return extremes(together(argument))


def called(function: Callable[..., None], arguments: Sequence[Argument]) -> None:
    """A function of ours with these arguments, for what it does."""
    function(*_taken(arguments))


def part(source: Any, number: int | None, begin: int, end: int) -> Any:
    """Some rows of a task's result, or of an array; of a part nothing else is sent."""
    return np.array(*read([_source((source, number, begin, end))]))


def parts(results: Sequence[Any], numbers: Sequence[int], begin: int, end: int) -> list[Any]:
    """Some rows of some results of a task."""
    return [np.array(results[number][begin:end]) for number in numbers]


def _taken(arguments: Sequence[Argument]) -> list[Any]:
    """Arguments as the program takes them."""
    parts = [part for kind, *what in arguments if kind == ROWS for part in what[0]]
    found = iter(read(map(_source, parts)))
    return [_one(found, *each) for each in arguments]


def _source(part: tuple[Any, int | None, int, int]) -> tuple[Any, int, int]:
    """Rows of a task's result, of an array, or of files."""
    source, number, begin, end = part
    return source if number is None else source[number], begin, end


def _one(rows: Iterator[Any], kind: str, *what: Any) -> Any:
    """An argument; the rows that it takes are the next ones."""
    if kind == VALUE:
        return what[0]
    if kind == RESULT:
        results, number = what
        return results[number]
    parts, empty = what
    return np.ascontiguousarray(one([next(rows) for _ in parts])) if parts else empty


@functools.lru_cache(maxsize=1024)
def _compiled(text: str) -> Any:
    """The program of a text, compiled."""
    read = parse_program(text)
    return compile_program(Program(read.name, _numbered(read.fn, [0])), "cpu", True, CHOSEN)


def _numbered(fn: Lambda, count: list[int]) -> Lambda:
    """A function whose lets have numbers for lines, in the order in which they are read."""
    lets = []
    for let in fn.lets:
        number, count[0] = count[0], count[0] + 1
        op = map_field(let.op, lambda atom: atom, lambda inner: _numbered(inner, count))
        lets.append(Let(let.vars, op, Numbered(number)))  # type: ignore[arg-type]
    return Lambda(fn.params, tuple(lets), fn.results)
