"""The passes over data of a lowered program: what each is called, reads, writes, and comes from.

A pass is an operation of the lowered program that launches kernels. The bytes are those that it
cannot do without: each array that it reads, and each that it stores, once.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from flatweave.array_ir.extents import Extents, bytes_of
from flatweave.base.records import record
from flatweave.base.source import Location
from flatweave.base.told import Note, StoredArray
from flatweave.ops import ByRow, Callback, CallKernel, RadixSort, SortRow, SortRows, Sweep
from flatweave.terms.syntax import ArrayType, Lambda, Let
from flatweave.terms.traverse import free_vars, lambdas_in

LAUNCHING = (Sweep, RadixSort, SortRow, SortRows, ByRow, Callback, CallKernel)


@record
class Moved:
    """An array that a pass reads or writes; its size is None where only a run tells it."""

    name: str
    bytes: int | None
    writes: bool


def launching(fn: Lambda) -> Iterator[Let]:
    """The operations that launch kernels, in the bodies of loops and branches, too."""
    for let in fn.lets:
        if isinstance(let.op, LAUNCHING):
            yield let
        else:
            for inner in lambdas_in(let.op):
                yield from launching(inner)


def kernel_of(let: Let) -> str:
    """What the kernels of an operation are called after."""
    if isinstance(let.op, CallKernel):
        return str(let.op.program.name)
    if isinstance(let.op, Callback):
        return let.op.called
    return let.vars[0].name if let.vars else "sweep"


def belongs_to(kernel: str, names: Sequence[str]) -> str:
    """What a kernel is called after: the longest of the names that it begins with, or none."""
    found = (each for each in names if re.match(rf"{re.escape(each)}(?![0-9])", kernel))
    return max(found, key=len, default="")


def moved_by(let: Let, extents: Extents, stored: Sequence[StoredArray]) -> Iterator[Moved]:
    """The arrays that a pass reads, then those that it stores."""
    for var in free_vars(let.op):
        if isinstance(var.type, ArrayType):
            yield Moved(var.name, bytes_of(var.type, extents), False)
    names = {array.name: array for array in stored}
    for var in let.vars:
        if isinstance(var.type, ArrayType) and var.name in names:
            yield Moved(var.name, names[var.name].bytes, True)


def notes_about(let: Let, notes: Sequence[Note]) -> list[Note]:
    """What was decided about the arrays that a pass makes, or about its lines."""
    made, places = {var.name for var in let.vars}, list(places_of(let))
    return [
        note for note in notes
        if not note.kernel and (note.name in made if note.name else note.where in places)
    ]  # fmt: skip


def lines_of(places: Iterable[Location]) -> list[str]:
    """The lines of places, each once."""
    lines = sorted({(place.file, place.line) for place in places})
    return [f"{file}:{line}" for file, line in lines]


def plans_of(text: str) -> dict[str, str]:
    """The plan of each sweep, by its name."""
    parts = re.split(r"^sweep (\S+)", text, flags=re.M)
    return {
        name: f"sweep {name}{rest}".rstrip()
        for name, rest in zip(parts[1::2], parts[2::2], strict=True)
    }


def places_of(let: Let) -> Iterator[Location]:
    """The places of the user's program that an operation comes from, each once, its own first."""
    yield from dict.fromkeys(place for place in _places(let) if place.is_known)


def _places(let: Let) -> Iterator[Location]:
    if let.where is not None:
        yield let.where
    for fn in lambdas_in(let.op):
        for inner in fn.lets:
            yield from _places(inner)


def title_of(let: Let) -> str:
    """What an operation is called: of a sweep, what it does with the elements."""
    if isinstance(let.op, Sweep):
        sinks = list(dict.fromkeys(sink.name.replace("_", " ") for sink in let.op.sinks))
        return f"sweep: {', '.join(sinks) or 'nothing'}"
    return let.op.name.replace("_", " ")
