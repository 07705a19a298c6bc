"""What there is to say of each pass over data: what it reads and writes, its plan, its kernels.

A pass is an operation of the lowered program that launches kernels. The bytes are those that it
cannot do without: each array that it reads, and each that it stores, once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Set

from flatweave.array_ir.interp import Extents
from flatweave.array_ir.syntax import Program
from flatweave.base.pretty import Note
from flatweave.base.records import record
from flatweave.base.source import Location
from flatweave.frontend.call.compiled import Stages
from flatweave.kernel_ir.host import Launch
from flatweave.kernel_ir.syntax import Unit
from flatweave.kernel_ir.units import print_kernel
from flatweave.profiler.facts import (
    Moved,
    belongs_to,
    kernel_of,
    launching,
    moved_by,
    notes_about,
    places_of,
    plans_of,
    title_of,
)
from flatweave.terms.syntax import Let
from flatweave.terms.traverse import walk_lets

LARGE = 1000
"""Of a program with more operations, kernels that no run has needed are not written, and none is
shown in assembly language: that takes as long as compiling all of it once more."""


@record
class KernelFacts:
    """A kernel: its role, whether a run has needed it, why, its text, and that of the machine."""

    name: str
    role: str
    made: bool
    why: str
    text: str
    code: str


@record
class Pass:
    """One pass over data, by its number; what is the work of no operation has no `let`."""

    number: int
    name: str
    title: str
    let: Let | None
    places: tuple[Location, ...]
    plan: str
    moved: tuple[Moved, ...]
    kernels: tuple[KernelFacts, ...]
    notes: tuple[Note, ...]

    @property
    def bytes(self) -> int:
        """All that is known to move."""
        return sum(each.bytes or 0 for each in self.moved)

    @property
    def is_bytes_known(self) -> bool:
        """Whether nothing else moves."""
        return all(each.bytes is not None for each in self.moved)


def passes_of(
    stages: Stages, program: Program, extents: Extents, target: str, has_texts: bool = True
) -> list[Pass]:
    """Every pass of a lowered program, in order; kernels with their texts, or without."""
    lets = list(launching(program.fn))
    called = [kernel_of(let) for let in lets]
    plans = plans_of(stages.text.get("plan", ""))
    kernels = kernels_of(stages, target, is_large(program), has_texts)
    stored = stages.manifest
    notes = stages.notes
    others = [kernel for kernel in kernels if not belongs_to(kernel.name, called)]
    found = []
    for number, let in enumerate(lets):
        name = kernel_of(let)
        places = tuple(places_of(let))
        own = [kernel for kernel in kernels if belongs_to(kernel.name, called) == name]
        found.append(
            Pass(
                number, name, title_of(let), let, places, plans.get(name, ""),
                tuple(moved_by(let, extents, stored)), tuple(own), tuple(notes_about(let, notes)),
            )
        )  # fmt: skip
    if others:
        names = {kernel.name for kernel in others}
        lines = dict.fromkeys(launch.where for launch in launches_of(stages, names) if launch.where)
        title = "copies, and what else belongs to no pass alone"
        found.append(
            Pass(len(lets), "others", title, None, tuple(lines), "", (), tuple(others), ())
        )
    return found


def is_large(program: Program) -> bool:
    """Whether some texts are left out."""
    return sum(1 for _ in walk_lets(program.fn)) > LARGE


def launches_of(stages: Stages, names: Set[str]) -> Iterator[Let]:
    """The launches of these kernels."""
    for let in walk_lets(stages.executable.whole.unit.host):
        if isinstance(let.op, Launch) and names & let.op.roles.keys():
            yield let


def written_kernels(stages: Stages, target: str, has_texts: bool = True) -> list[Pass]:
    """The kernels of a program that is written as such, each as a pass."""
    unit: Unit = stages.executable.whole.unit
    found = []
    for number, facts in enumerate(kernels_of(stages, target, False, has_texts)):
        lets = unit.kernel(facts.name).body.lets
        places = dict.fromkeys(place for let in lets for place in places_of(let))
        found.append(
            Pass(number, facts.name, "kernel", None, tuple(places), "", (), (facts,), ())
        )
    return found


def kernels_of(
    stages: Stages, target: str, is_large: bool, has_texts: bool = True
) -> list[KernelFacts]:
    """Every kernel that may be launched, with its texts, of a large program with few of them."""
    launched = stages.launched
    wanted = {name for name, _, made in launched if has_texts and (made or not is_large)}
    texts = texts_of(stages, wanted)
    has_code = target == "cpu" and has_texts and not is_large
    codes = codes_of(stages.text["asm"]) if has_code else {}
    why = {note.kernel: note.reason for note in stages.notes if note.kernel}
    return [
        KernelFacts(name, role, made, why.get(name, ""), texts.get(name, ""), codes.get(name, ""))
        for name, role, made in launched
    ]


def texts_of(stages: Stages, wanted: Set[str]) -> dict[str, str]:
    """The text of each wanted kernel, by name; the others need not be written."""
    unit: Unit = stages.executable.whole.unit
    names = [*(kernel.name for kernel in unit.kernels), *(later.name for later in unit.later)]
    return {name: print_kernel(unit.kernel(name)) for name in names if name in wanted}


def codes_of(code: str) -> Mapping[str, str]:
    """The machine code of each kernel in a text in assembly language."""
    found = {}
    for match in re.finditer(r"^k_([\w.$]+):\n(.*?)^\.Lfunc_end", code, re.M | re.S):
        lines = (line.rstrip() for line in match[2].splitlines())
        found[match[1]] = "\n".join(line for line in lines if not _is_directive(line))
    return found


def _is_directive(line: str) -> bool:
    word = line.strip()
    return word.startswith(".") and not word.endswith(":")
