"""The sentences of `fw.explain`, and what `fw.profile` and `fw.explain` are asked to show."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from flatweave.array_ir.interp import Extents, extents_of
from flatweave.base.pretty import Note, counted, duration, indent, listed, size
from flatweave.base.records import replace
from flatweave.frontend.call.compiled import Stages
from flatweave.ops import (
    Combine,
    CombineRows,
    CombineSegments,
    Compact,
    Insert,
    InTurn,
    ScatterReduce,
    ScatterStore,
    Sink,
    Store,
    StoreBits,
    Sweep,
)
from flatweave.profiler.facts import (
    Moved,
    extents_for,
    kernel_of,
    launching,
    lines_of,
    moved_by,
    notes_about,
    places_of,
    title_of,
)
from flatweave.profiler.profile import Explanation, Profile
from flatweave.profiler.tables import (
    Row,
    call_rows,
    kernel_rows,
    memory_rate,
    on_workers,
    table,
    write_trace,
)
from flatweave.terms.syntax import Let

# The sentences of fw.explain, from the facts that stages, their page and profiles have.


DOES: dict[type[Sink], str] = {
    Store: "computes an array",
    Compact: "keeps some elements",
    Combine: "reduces to a value",
    CombineSegments: "reduces segments",
    CombineRows: "reduces rows",
    ScatterStore: "writes at computed indices",
    ScatterReduce: "updates computed indices",
    Insert: "fills a part of an array",
    InTurn: "writes interleaved arrays",
    StoreBits: "stores flags as bits",
}


def explanation(stages: Stages, profile: Profile) -> Explanation:
    """What became of a call that a profile has seen."""
    profile.sums.settle()
    if stages.steps:
        return _in_steps(stages, profile)
    groups = profile.sums.groups.values()
    ran = [group.program for group in groups if group.calls > group.failed]
    if ran:  # another program where axes of extent 1 are broadcast
        stages = replace(stages, executable=ran[-1])
    return _explained(stages, profile, kernel_rows(profile))


def _in_steps(stages: Stages, profile: Profile) -> Explanation:
    """The passes of each step of a function of arrays in chunks, and what else ran."""
    rows, sent = kernel_rows(profile), profile.sums.sent
    names = [step.name for step in stages.steps]
    passes: list[str] = []
    for number, step in enumerate(stages.steps, 1):
        own = [row for row in rows if row["function"] == step.name]
        found = _explained(step, profile, own, is_here=step.name not in sent)
        where = on_workers(sent[step.name]) if step.name in sent else _chunks(step, profile)
        passes += [f"Step {number}, {step.name}: {where}.", *found.passes, found.others]
    others = [row for row in rows if row["function"] not in names]
    head = f"{stages.name}: {counted(len(names), 'step')}. {_cost(rows) if rows else ''}"
    return Explanation(head.rstrip(), tuple(filter(None, passes)), _ran(others))


def _chunks(step: Stages, profile: Profile) -> str:
    groups = [group for group in profile.sums.groups.values() if group.name == step.name]
    return f"on {counted(sum(group.calls for group in groups), 'chunk')}, in order"


def _explained(
    stages: Stages, profile: Profile, rows: Sequence[Row], is_here: bool = True
) -> Explanation:
    """The passes of a program, of which some kernels ran, if it is this process that runs it."""
    whole = stages.executable.whole
    if whole.unit is None:
        said = "the interpreter runs the program as it was written, one operation at a time."
        return Explanation(f"{stages.name}: {said}", (), "")
    if whole.program is None:
        kernels = tuple(_ran([row]) for row in rows)
        head = f"{stages.name}: {counted(len(rows), 'kernel')}, as written. {_cost(rows)}"
        return Explanation(head.rstrip(), kernels, "")
    extents, notes = _extents(stages, whole.program, profile), stages.notes
    stored = whole.stored(extents)
    lets = list(launching(whole.program.fn))
    of_passes = [notes_about(let, notes) for let in lets]
    passes = tuple(
        _pass(number, let, list(moved_by(let, extents, stored)), about, rows, is_here)
        for number, (let, about) in enumerate(zip(lets, of_passes, strict=True), 1)
    )
    of_a_pass = {id(note) for about in of_passes for note in about}
    others = [note for note in notes if not note.kernel and id(note) not in of_a_pass]
    head = f"{stages.name}: {counted(len(lets), 'pass', 'passes')} over memory. {_cost(rows)}"
    names = list(map(kernel_of, lets))
    left = _ran([row for row in rows if row["pass"] not in names])
    return Explanation(head.rstrip(), passes, "\n".join(filter(None, (*_noted(others), left))))


def _extents(stages: Stages, program: Any, profile: Profile) -> Extents:
    """The extents of the call; those that only a run tells, too, where it was seen."""
    groups = list(profile.sums.groups.values())
    group = next((each for each in groups if each.program is stages.executable), None)
    return extents_of(program, stages.args) if group is None else extents_for(group, program)


def _cost(rows: Sequence[Row]) -> str:
    """What all passes move, the time that takes, and the time of their kernels."""
    if not rows:
        return "No kernel ran."
    moved, target = sum(row["bytes"] or 0 for row in rows), rows[0]["target"]
    took = f"kernels took {duration(sum(row['seconds'] for row in rows))}"
    rate = memory_rate(target)
    if not moved or not rate:
        return f"The {took}."
    floor = f"which takes {duration(moved / rate)} at {size(int(rate))}/s"
    return f"{size(moved)} are moved, {floor}; the {took}."


def _pass(
    number: int, let: Let, moved: Sequence[Moved], notes: Sequence[Note], rows: Sequence[Row],
    is_here: bool,
) -> str:  # fmt: skip
    """The paragraph of a pass."""
    lines = listed(lines_of(places_of(let))) or "no line known"
    read = [_sized(each) for each in moved if not each.writes]
    written = [_sized(each) for each in moved if each.writes]
    parts = [f"reads {listed(read)}" if read else "reads no array"]
    if written:
        parts.append(f"writes {listed(written)}")
    own = [row for row in rows if row["pass"] == kernel_of(let)]
    body = [", ".join(parts), *_noted(notes)]
    if own or is_here:
        body.append(_ran(own) or "did not run for these arguments")
    return f"Pass {number}, {lines}: {_does(let)}\n" + indent("\n".join(body), 4)


def _does(let: Let) -> str:
    """What a pass does with elements."""
    if not isinstance(let.op, Sweep):
        return title_of(let)
    return listed(dict.fromkeys(DOES.get(type(sink), sink.name) for sink in let.op.sinks))


def _sized(each: Moved) -> str:
    return each.name if each.bytes is None else f"{each.name} ({size(each.bytes)})"


def _noted(notes: Iterable[Note]) -> Iterator[str]:
    """What was decided, and what would help."""
    for note in notes:
        yield str(note)
        if note.remedy:
            yield indent(f"would help: {note.remedy}")


def _ran(rows: Sequence[Row]) -> str:
    """Which kernels ran, how often, and why these."""
    said = []
    for row in rows:
        times = "" if row["launches"] == 1 else f" {row['launches']} times"
        why = f": {row['why']}" if row["why"] else ""
        said.append(f"{row['kernel']} ran{times}, {duration(row['seconds'])}{why}")
    return "\n".join(said)


# The output of `fw.profile` and `fw.explain`, imported lazily: it needs the compiler.


__all__ = ["call_rows", "explanation", "kernel_rows", "table", "write_trace"]
