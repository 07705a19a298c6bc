"""What a worker of a cluster does: a local program, from its text, on arguments that have come.

    run(work, [values])      work.chunks: [[("rows", [(0, None, 0, 100)], None), ("value", 7)]]

Results of other tasks are in a separate list, in which Dask finds them at once; arguments have
their numbers. The program is compiled here, for this machine, once in each process, and kept on
disk as ever; the lines of its lets are numbers, which the client knows. Python functions that it
calls come with it, pickled, and their names are digests of that.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import cloudpickle
import numpy as np
from distributed import get_worker

import flatweave.ops  # noqa: F401  the operations that texts may name
from flatweave.array_ir.syntax import Fault, Program, parse_program
from flatweave.base import FORMAT, VERSION
from flatweave.base.config import Overrides, config
from flatweave.base.errors import UserError
from flatweave.base.plan import FUNCTIONS
from flatweave.base.records import record
from flatweave.base.schedule import OF_CHUNKS
from flatweave.base.source import Location
from flatweave.cluster.files import extremes, one, picked, read
from flatweave.frontend.call.eager import compile_program
from flatweave.runtime.support import buffer_pool
from flatweave.runtime.systems import system
from flatweave.terms.syntax import Lambda, Let
from flatweave.terms.traverse import map_field

IDLE_SHARE = 8
"""This part of a worker's memory may be freed results that are kept for reuse."""
ROWS = "rows"
VALUE = "value"
RESULT = "result"
Argument = tuple[Any, ...]


class Called(NamedTuple):
    """A Python function that the let with this number calls: its name in the text, the function
    itself unless each process has it, and the user's line, which its errors name."""

    let: int
    name: str
    pickled: bytes
    where: Location | None


@record
class Work:
    """A program's text, the numbers of its lets whose operators are not tried, the functions that
    it calls, and what it takes for each chunk; the name of the task, the switches under which it
    runs, and the versions of Flatweave and of the text at the client."""

    text: str
    trusted: tuple[int, ...]
    called: tuple[Called, ...]
    chunks: Sequence[Sequence[Argument]]
    key: str
    switches: Overrides
    versions: tuple[str, int]


VERSIONS = VERSION, FORMAT


class Failed(Exception):
    """A fault of a local program, on its way to the client: of which task, on which of its chunks,
    and at which let."""

    def __init__(self, key: str, chunk: int, line: int, *facts: Any) -> None:
        super().__init__(key, chunk, line, *facts)
        self.key = key
        self.chunk = chunk
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
    instruction = None  # of the client's program

    def __init__(self, number: int, is_trusted: bool) -> None:
        self.number = number
        self.is_trusted = is_trusted

    def __str__(self) -> str:
        return f"let {self.number}"


def run(work: Work, results: Sequence[Any]) -> tuple[Any, ...]:
    """The results of a program for some chunks, in order; raises Failed,
    OtherVersions."""
    _keep_idle_memory()
    found: list[Any] = []
    for chunk, arguments in enumerate(work.chunks):
        found += _run(work, _taken(arguments, results), chunk)
    return tuple(found)


@functools.cache
def _keep_idle_memory() -> None:
    """Keep freed results for the next ones, but no more of them than leaves a worker the memory
    that Dask lets it have: it counts them, and pauses a worker that has too much."""
    try:
        worker = get_worker()
    except ValueError:  # a plan that is recorded, in a separate process
        return
    memory = worker.memory_manager.memory_limit or system().memory()
    buffer_pool().keep(memory // IDLE_SHARE)


def _run(work: Work, given: list[Any], chunk: int = 0) -> Sequence[Any]:
    if work.versions != VERSIONS:
        raise OtherVersions(VERSIONS)
    with config.scoped(**work.switches):
        try:
            return _compiled(work.text, work.trusted, work.called).run(given)  # type: ignore[no-any-return]
        except Fault as fault:
            where: Any = fault.where
            line, where = (where.number, None) if isinstance(where, Numbered) else (-1, where)
            facts = (
                fault.code, fault.index, fault.value, fault.extent, fault.axis, fault.values,
                fault.message, where,
            )  # fmt: skip
            raise Failed(work.key, chunk, line, *facts) from None


def kept(value: Any) -> Any:
    """An array of the client."""
    return value


def some(results: Sequence[Any], numbers: Sequence[int]) -> list[Any]:
    """Those results for which the client asks."""
    return [np.asarray(results[number])[()] for number in numbers]


def joined(
    work: Work, groups: Sequence[Sequence[Any]], numbers: Sequence[Sequence[int]]
) -> tuple[Any, ...]:
    """Parts joined from left to right: each is some results of a task; raises as `run` does. The
    work has what goes in front of two parts."""
    (head,) = work.chunks
    whole, *others = (
        [results[k] for k in mine] for results, mine in zip(groups, numbers, strict=True)
    )
    for part in others:
        whole = list(_run(work, [*head, *whole, *part]))
    return tuple(whole)


def together(argument: Argument, results: Sequence[Any]) -> Any:
    """An argument as one array, which many tasks take."""
    return _taken([argument], results)[0]


def of_results(
    function: Callable[..., Any], results: Sequence[Any], numbers: Sequence[int], *args: Any
) -> Any:
    """A function of ours of some results of a task."""
    return function([results[number] for number in numbers], *args)


def picked_of(argument: Argument, results: Sequence[Any], at: Any) -> Any:
    """Rows of an argument at some indices."""
    _, parts, _ = argument
    pieces = ((_result(results, source, number), *ends) for source, number, *ends in parts)
    return picked(pieces, at)


def extremes_of(argument: Argument, results: Sequence[Any]) -> tuple[int, int]:
    """The least and the greatest integer of an argument."""
    return extremes(together(argument, results))


def called(
    function: Callable[..., None], arguments: Sequence[Argument], results: Sequence[Any]
) -> None:
    """A function of ours with these arguments, for what it does."""
    function(*_taken(arguments, results))


def part(source: Any, number: int | None, begin: int, end: int) -> Any:
    """Some rows of a task's result, or of an array; of a part nothing else is sent."""
    found = source if number is None else source[number]
    if isinstance(found, np.ndarray) and (begin, end) == (0, len(found)):
        return found
    return np.array(*read([(found, begin, end)]))


def parts(results: Sequence[Any], numbers: Sequence[int], begin: int, end: int) -> list[Any]:
    """Some rows of some results of a task."""
    return [np.array(results[number][begin:end]) for number in numbers]


def _taken(arguments: Sequence[Argument], results: Sequence[Any]) -> list[Any]:
    """Arguments as the program takes them."""
    parts = [part for kind, *what in arguments if kind == ROWS for part in what[0]]
    pieces = ((_result(results, source, number), *ends) for source, number, *ends in parts)
    try:
        found = iter(read(pieces))
    except UserError as error:
        error.where = None  # the user's line is at the client
        raise
    return [_one(found, results, *each) for each in arguments]


def _result(results: Sequence[Any], source: Any, number: int | None) -> Any:
    """One of a task's results, or all of them; or rows of files."""
    if not isinstance(source, int):
        return source
    return results[source] if number is None else results[source][number]


def _one(rows: Iterator[Any], results: Sequence[Any], kind: str, *what: Any) -> Any:
    """An argument; the rows that it takes are the next ones."""
    if kind == VALUE:
        return what[0]
    if kind == RESULT:
        return _result(results, *what)
    parts, empty = what
    return np.ascontiguousarray(one([next(rows) for _ in parts])) if parts else empty


@functools.lru_cache(maxsize=1024)
def _compiled(text: str, trusted: tuple[int, ...], called: tuple[Called, ...]) -> Any:
    """The program of a text, compiled."""
    for each in called:
        if each.pickled and each.name not in FUNCTIONS:
            FUNCTIONS[each.name] = cloudpickle.loads(each.pickled)
    read = parse_program(text)
    lines = {each.let: each.where for each in called if each.where is not None}
    fn = _numbered(read.fn, [0], trusted, lines)
    return compile_program(Program(read.name, fn), "cpu", True, OF_CHUNKS)


def _numbered(
    fn: Lambda, count: list[int], trusted: tuple[int, ...], lines: Mapping[int, Location]
) -> Lambda:
    """A function whose lets have numbers for lines, in the order in which they are read; those that
    call functions have their lines."""
    lets = []
    for let in fn.lets:
        number, count[0] = count[0], count[0] + 1
        op = map_field(
            let.op, lambda atom: atom, lambda inner: _numbered(inner, count, trusted, lines)
        )
        where: Any = lines.get(number) or Numbered(number, number in trusted)
        lets.append(Let(let.vars, op, where))
    return Lambda(fn.params, tuple(lets), fn.results)
