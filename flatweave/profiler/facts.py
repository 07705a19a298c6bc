"""What is known of the kernels of a group of calls, beside their times: asked of the compiler.

    facts_of(group).kernels["t_12_s"]      its pass, role, line, and why it ran
    facts_of(group).passes["t_12"]         the bytes that one run of the pass moves

A program that an earlier process compiled is compiled once more for this: what was kept of it are
its kernels, not what is known of them.
"""

from __future__ import annotations

import weakref
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from flatweave.array_ir.extents import Extents, extents_of
from flatweave.array_ir.syntax import Program
from flatweave.base.recording import unseen
from flatweave.base.records import record
from flatweave.base.source import Location
from flatweave.kernel_ir.host import Launch
from flatweave.profiler.passes import (
    belongs_to,
    kernel_of,
    launching,
    moved_by,
    places_of,
    title_of,
)
from flatweave.profiler.sums import Group
from flatweave.terms.syntax import Var
from flatweave.terms.traverse import walk_lets

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
