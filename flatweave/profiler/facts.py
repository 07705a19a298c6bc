"""The passes over data of a lowered program, and what is known of its kernels."""

from __future__ import annotations

import re
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from flatweave.array_ir.interp import Extents, bytes_of, extents_of
from flatweave.array_ir.syntax import Program
from flatweave.base.dtypes import i64
from flatweave.base.pretty import Note, StoredArray
from flatweave.base.recording import unseen
from flatweave.base.records import record
from flatweave.base.source import Location
from flatweave.kernel_ir.host import Launch
from flatweave.ops import ByRow, Callback, CallKernel, Index, RadixSort, SortRow, SortRows, Sweep
from flatweave.profiler.profile import Group
from flatweave.terms.syntax import ArrayType, Lambda, Let, Var
from flatweave.terms.traverse import free_vars, lambdas_in, walk_lets

# The passes over data of a lowered program: what each is called, reads, writes, and comes from.
#
# A pass is an operation of the lowered program that launches kernels. The bytes are those that it
# cannot do without: each array that it reads, and each that it stores, once. What a loop runs for
# a few elements of a large array moves these alone.


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
    """The arrays that a pass reads, then those that it stores. Of an array that it writes into, and
    of one that its elements read one by one, it moves no more elements than it has."""
    op = let.op
    space = ArrayType(i64, op.shape) if isinstance(op, Sweep) else None
    for var in free_vars(op.body if isinstance(op, Sweep) else op):
        if isinstance(var.type, ArrayType):
            reads = _element_reads(op, var) if isinstance(op, Sweep) else 0
            yield Moved(var.name, _bytes_of_few(var.type, space, reads, extents), False)
    names = {array.name: array for array in stored}
    updated = _updated(let)
    for var in let.vars:
        if isinstance(var.type, ArrayType) and var in updated:
            yield Moved(var.name, _bytes_of_few(var.type, space, 1, extents), True)
        elif isinstance(var.type, ArrayType) and var.name in names:
            yield Moved(var.name, names[var.name].bytes, True)


def _updated(let: Let) -> set[Var]:
    """The results that are arrays from before with elements written into them."""
    if not isinstance(let.op, Sweep):
        return set()
    pairs = zip(let.op.sinks, let.op.binders_by_sink(let.vars), strict=True)
    return {var for sink, vars_ in pairs if sink.updated for var in vars_}


def _element_reads(op: Sweep, xs: Var) -> int:
    """How many elements of an array each element of a sweep reads; 0 where that is not known."""
    reads = [each.op for each in op.body.lets if xs in free_vars(each.op)]
    few = all(isinstance(each, Index) and each.xs is xs for each in reads)
    return len(reads) if few else 0


def _bytes_of_few(
    type_: ArrayType, space: ArrayType | None, often: int, extents: Extents
) -> int | None:
    """The size of an array, or of the elements that a sweep of `space` uses: `often` for each of
    its own."""
    whole = bytes_of(type_, extents)
    many = bytes_of(space, extents) if space and often else None
    if whole is None or many is None:
        return whole
    return min(whole, many // i64.bytes * often * type_.dtype.bytes)


def notes_about(let: Let, notes: Sequence[Note]) -> list[Note]:
    """What was decided about the arrays that a pass makes, or about its lines."""
    made, places = {var.name for var in let.vars}, list(places_of(let))
    return [
        note for note in notes
        if not note.kernel and (note.name in made if note.name else note.where in places)
    ]  # fmt: skip


def lines_of(places: Iterable[Location]) -> list[str]:
    """The lines of locations, each once."""
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
    """The locations in the user's program of an operation's sources, each once, its own first."""
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


# The compiler's facts about the kernels of a group of calls, in addition to their times.
#
#     facts_of(group).kernels["t_12_s"]      its pass, role, line, and why it ran
#     facts_of(group).passes["t_12"]         the bytes that one run of the pass moves
#
# A program that an earlier process compiled is compiled once more for this: what was kept of it
# are its kernels, not what is known of them.


Runs = tuple[frozenset[str], ...]


class Launched(NamedTuple):
    """A launch, and the line that it comes from."""

    op: Launch
    where: Location | None


@record
class KernelFacts:
    """A kernel: the pass that it belongs to, what it is for there, and why it ran."""

    of: str
    role: str
    why: str
    where: Location | None


@record
class PassFacts:
    """A pass: what it does, the bytes that one run moves (None: not known), and whether each call
    runs it once. `launches` are the kernels of each launch, of which one runs."""

    name: str
    title: str
    bytes: int | None
    is_once: bool
    launches: Runs
    where: Location | None


@record
class Facts:
    """What is known of the kernels of a program, for the sizes of a group of calls."""

    target: str
    kernels: Mapping[str, KernelFacts]
    passes: Mapping[str, PassFacts]


def facts_of(group: Group) -> Facts:
    """The facts for a group of calls."""
    with unseen():
        whole = group.program.whole
        unit = whole.unit
        launches = [] if unit is None else [
            Launched(let.op, let.where) for let in walk_lets(unit.host)
            if isinstance(let.op, Launch)
        ]  # fmt: skip
        passes = (
            _written(group, launches) if whole.program is None
            else _passes(group, whole, launches)
        )  # fmt: skip
        why = {note.kernel: str(note.reason) for note in whole.notes if note.kernel}
    kernels = {}
    for each in launches:
        for name, role in each.op.roles.items():
            of = belongs_to(name, list(passes)) or name
            where = (passes[of].where if of in passes else None) or each.where
            kernels[name] = KernelFacts(of, str(role), why.get(name, ""), where)
    return Facts(whole.target.name, kernels, passes)


def _passes(group: Group, whole: Any, launches: Sequence[Launched]) -> dict[str, PassFacts]:
    """The passes of a program of the array language."""
    program: Program = whole.program
    extents = extents_for(group, program)
    stored = whole.stored(extents)
    lets = list(launching(program.fn))
    names, top = [kernel_of(let) for let in lets], set(map(id, program.fn.lets))
    found = {}
    for let, name in zip(lets, names, strict=True):
        sizes = [each.bytes for each in moved_by(let, extents, stored)]
        known = [size for size in sizes if size is not None]
        found[name] = PassFacts(
            name, title_of(let), sum(known) if len(known) == len(sizes) else None,
            id(let) in top,
            tuple(
                frozenset(each.op.roles) for each in launches
                if any(belongs_to(kernel, names) == name for kernel in each.op.roles)
            ),
            next(places_of(let), None),
        )  # fmt: skip
    return found


def _written(group: Group, launches: Sequence[Launched]) -> dict[str, PassFacts]:
    """The launches of a kernel that was written as such: where there is one alone, it reads what
    is given and writes the results."""
    moved = group.moved_bytes if len(launches) == 1 else None
    return {
        op.kernel: PassFacts(
            op.kernel, "kernel", moved, len(launches) == 1, (frozenset(op.roles),), where
        )
        for op, where in launches
    }  # fmt: skip


def extents_for(group: Group, program: Program) -> Extents:
    """The extents for the sizes of a group: by its arguments, and by what results turned out."""
    if group.args is None:
        return {}
    args = [arg() if isinstance(arg, weakref.ref) else arg for arg in group.args]
    found = dict(extents_of(program, args))
    for result, shape in zip(program.fn.results, group.results, strict=False):
        for extent, size in zip(getattr(result.type, "shape", ()), shape, strict=False):
            if isinstance(extent, Var):
                found[extent] = size
    return found
