"""The plan of a sweep: every choice about how it runs, made before anything is emitted.

    sweep n_7
        bind least=10912 most=15392
        level carry=look-back
            rfactor hows=counted
        version name=streaming
            guard elements=524288
            vectorize axis=space width=32
            cache at=scratch
            stream
        version name=plain
            vectorize axis=space width=32
            cache at=scratch

All versions of a sweep share its blocks, its scans and its memory. Each version is a guard and a
schedule: an ordered list of steps. A plan is data: `choose.py` makes it, `verify.py` checks it.
Emission obeys it and decides nothing. The text above is read back: a line for each record, its
fields as key=value, defaults left out; a record inside another has an indented line, which begins
with its kind.

A sort is divided here, too, where its blocks look back: how many elements a thread takes. A block
keeps its elements in registers, and passes them through its shared memory, which also holds its
warps' counts. Digits have as many values as a block has threads: one publishes each.
Shared memory limits a block: elements that fit there take 36 registers of a thread, their ranks up
to 16. NVRTC 13.5 takes 128 at most in all, so that 16 warps run at once, with 512 bytes of
elements each.

A variant of scattering has a name, and says which sweeps it can do and why it runs:

    Strided Private Partition Owner    blocks divide the elements or the destination    `scatter/`
    InShared SharedAtomic              blocks combine in copies of a small destination  `scatter/`
    Sorted                             elements are sorted by where they go             `scatter/`
    ByAtomics BySwaps                  all combine elements where they come to          `atomic.py`

`scatter/choose.py` lists these classes in the order in which they are tried.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from types import UnionType
from typing import Any, ClassVar, get_args, get_origin, get_type_hints

from flatweave.base.dtypes import DType
from flatweave.base.errors import CompilerBug
from flatweave.base.records import REQUIRED, fields, is_record, record
from flatweave.lower.machine import Machine
from flatweave.lower.schedule.facts import SweepFacts
from flatweave.lower.schedule.steps import Bind, RFactor, Version
from flatweave.ops import ScatterReduce, Sweep
from flatweave.passes.operators import known_neutral
from flatweave.terms.syntax import Atom


class Carry(Enum):
    """How a block learns what comes before it."""

    LOOK_BACK = "look-back"
    """one pass: publish the aggregate, walk back to the nearest prefix (Merrill, Garland 2016)"""
    WORDS = "look-back-at-words"
    """the same, where what is published fits into words that are stored and loaded at once"""
    ONE_BLOCK = "one-block"
    """there is no other block: nothing comes before it"""
    TWO_PASS = "two-pass"
    """aggregates by a separate launch, for machines where a block must not wait"""


class When(Enum):
    """The condition of a variant of scattering, found by the host."""

    ALWAYS = "always"
    FITS = "fits"
    """it has room for so large a destination"""
    PAYS = "pays"
    """it has room, and the sizes are those that it is faster for"""


@record(eq=True)
class Level:
    """The scans of one level: how they combine a block, and how blocks pass them on.

    Of the scans numbered in `from_heads` only what comes after the last segment head of a block is
    combined: by the factors after the first one, one for each flag that says heads.
    """

    carry: Carry
    factors: tuple[RFactor, ...]
    from_heads: tuple[int, ...] = ()


@record(eq=True)
class ScatterChoice:
    """A variant of scattering (`ScatterVariant`) by its name, and `when` it is taken."""

    name: str
    when: When


@record(eq=True)
class SweepPlan:
    """All decisions about one sweep.

    For a scatter, the first variant of `scatter` whose condition holds runs.
    """

    bind: Bind
    levels: tuple[Level, ...]
    versions: tuple[Version, ...]
    scatter: tuple[ScatterChoice, ...] = ()

    @property
    def plain(self) -> Version:
        """The version without a guard."""
        return self.versions[-1]


MOST_EACH = 24
"""Elements of a thread: what a block does once, and looking back, is divided among them."""
SPARE = 1024
"""Bytes of shared memory for what warps tell each other."""


def sorts_by_lane(machine: Machine) -> bool:
    """Runs that are counted before they move: one for each lane, where lanes are threads; else one
    for each block."""
    return machine.simt


def digit_bits(machine: Machine) -> int:
    """Bits of a digit of which each thread of a block has one value."""
    return (machine.lanes([]) * machine.warps).bit_length() - 1


def elements_each(machine: Machine, dtypes: Sequence[DType]) -> int:
    """How many elements a thread keeps; 0 where blocks do not look back for a sort, or one element
    is too wide."""
    threads = machine.lanes([]) * machine.warps
    waits = machine.forward_progress and machine.warps_meet_alone
    if not waits or not machine.thread_registers or threads & (threads - 1):
        return 0
    tallies = threads * (4 * machine.warps + 8) + SPARE
    wide = sum(d.bytes for d in dtypes) + 1 + (threads > 256)  # and its digit
    by_memory = (machine.shared_bytes - tallies) // (threads * wide)
    return max(0, min(machine.most_each, MOST_EACH, by_memory))


NOT_COMBINED = "scatter combines nothing"


class ScatterVariant:
    """One way to scatter."""

    name: ClassVar[str]
    """As in printed plans, and in `fw.schedule(permute=..)` if it is one of `PERMUTES`."""
    reason: ClassVar[str] = ""
    """Why it runs, in the user's words."""
    chosen: ClassVar[When] = When.PAYS
    """When it is selected if the user asks for no variant."""
    wished: ClassVar[When] = When.ALWAYS
    """When it is selected if the user asks for it; owners do the rest."""

    @classmethod
    def obstacle(cls, machine: Machine, facts: SweepFacts) -> str:
        """Why it cannot do a sweep; "" where it can."""
        return ""

    @classmethod
    def suits(cls, machine: Machine, facts: SweepFacts) -> bool:
        """Whether it is tried if the user asks for no variant."""
        return not cls.obstacle(machine, facts)

    @classmethod
    def keeps_bits(cls, facts: SweepFacts) -> bool:
        """Whether its results have the same bits in each run, whatever comes first."""
        return True


def combining(op: Sweep) -> ScatterReduce | None:
    """The only sink of a scattering sweep, where it combines elements that meet; None where the
    last one stays."""
    (sink,) = op.sinks
    return sink if isinstance(sink, ScatterReduce) else None


def neutral_of(sink: ScatterReduce) -> tuple[Atom, ...]:
    """The neutral element of an operator, as the user says or as the table of scalar functions
    knows; empty where none is known."""
    return sink.neutral or known_neutral(sink.fn)


INDENT = "    "


def print_plans(plans: Mapping[str, SweepPlan]) -> str:
    """The plans of a program, by the name of what each sweep computes first."""
    lines: list[str] = []
    for name, plan in plans.items():
        _print(f"sweep {name}", plan, "", lines)
    return "\n".join(lines) + "\n" if lines else ""


def _print(head: str, record: Any, margin: str, lines: list[str]) -> None:
    words, inner = [head], []
    for field in fields(record):
        value = getattr(record, field.name)
        if value in (field.default, ()):
            continue
        if is_record(value):
            inner.append(value)
        elif isinstance(value, tuple) and is_record(value[0]):
            inner += value
        else:
            words.append(f"{field.name}={_word(value)}")
    lines.append(margin + " ".join(words))
    for value in inner:
        _print(_keyword(type(value)), value, margin + INDENT, lines)


def _keyword(kind: type) -> str:
    """The word that a record's line begins with."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "-", kind.__name__).lower()


def _word(value: Any) -> str:
    if isinstance(value, tuple):
        return ",".join(_word(each) for each in value)
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value.value if isinstance(value, Enum) else value)


def parse_plans(text: str) -> dict[str, SweepPlan]:
    """The plans that a text holds; CompilerBug where it is not one of plans."""
    lines = [line for line in text.splitlines() if line.strip()]
    plans: dict[str, SweepPlan] = {}
    while lines:
        keyword, name, *_ = [*lines[0].split(), ""]
        if keyword != "sweep" or not name:
            raise CompilerBug(f"a plan begins with `sweep`, not with {lines[0]!r}.")
        plans[name] = _parse(SweepPlan, lines, 0, skip=2)
    return plans


def _parse(kind: Any, lines: list[str], depth: int, skip: int = 1) -> Any:
    """The record that begins on the first line, whose lines are taken away."""
    words = lines.pop(0).split()[skip:]
    hints = get_type_hints(kind)
    given = dict(word.split("=", 1) for word in words)
    unknown = given.keys() - hints.keys()
    if unknown:
        raise CompilerBug(f"{_keyword(kind)} has no {', '.join(sorted(unknown))}.")
    values: dict[str, Any] = {name: _read(hints[name], text) for name, text in given.items()}
    inner = {_keyword(each): (name, each) for name, hint in hints.items() for each in _kinds(hint)}
    while lines and lines[0].startswith(INDENT * (depth + 1)):
        keyword = lines[0].split()[0]
        if keyword not in inner:
            raise CompilerBug(f"{_keyword(kind)} has no {keyword!r}.")
        name, each = inner[keyword]
        made = _parse(each, lines, depth + 1)
        values[name] = (*values.get(name, ()), made) if _is_tuple(hints[name]) else made
    for field in fields(kind):  # an empty tuple is left out
        if field.name not in values and field.default is REQUIRED:
            values[field.name] = ()
    return kind(**values)


def _is_tuple(hint: Any) -> bool:
    return get_origin(hint) is tuple


def _kinds(hint: Any) -> Iterator[type]:
    """The kinds of records that a field holds."""
    if _is_tuple(hint) or isinstance(hint, UnionType):
        for each in get_args(hint):
            yield from _kinds(each)
    elif hasattr(hint, "__fields__"):
        yield hint


def _read(hint: Any, text: str) -> Any:
    if _is_tuple(hint):
        return tuple(_read(get_args(hint)[0], part) for part in text.split(",") if part)
    return text == "true" if hint is bool else hint(text)
