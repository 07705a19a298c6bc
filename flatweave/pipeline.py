"""READ THIS FIRST: what happens to a program, in order.

    traced  --ARRAY_PASSES-->  swept  --lower-->  kernels and host  --emit-->  text  -->  runs

Every stage can be printed (`f.stages(..).text`), read back (`tools/opt`), interpreted and verified.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from flatweave.array_ir import interp
from flatweave.array_ir.syntax import FLAT, SWEPT, TRACED, Form, Program, print_program, verify
from flatweave.base.config import config
from flatweave.base.errors import CompilerBug
from flatweave.base.pretty import Note, StoredArray
from flatweave.base.recording import PhaseTimer, shown
from flatweave.base.records import record
from flatweave.base.schedule import CHOSEN, Schedule
from flatweave.kernel_ir import units as kernel_text
from flatweave.kernel_ir.host import Launch, Role
from flatweave.kernel_ir.syntax import Unit
from flatweave.lower.program import lower
from flatweave.lower.schedule.plan import print_plans
from flatweave.passes import audit, reasons
from flatweave.passes.axes import axes
from flatweave.passes.cse import cse
from flatweave.passes.dce import dce
from flatweave.passes.flatten import flatten
from flatweave.passes.fuse import fuse
from flatweave.passes.fuse_siblings import fuse_siblings
from flatweave.passes.hoist_tests import hoist_tests
from flatweave.passes.into_branches import into_branches
from flatweave.passes.mask import mask
from flatweave.passes.nests.hoist_rows import hoist_rows
from flatweave.passes.nests.lift import lift, sizes
from flatweave.passes.nests.select import select
from flatweave.passes.rewrite import ArrayPass, Explain, check_order, leading_to
from flatweave.passes.simplify import simplify
from flatweave.passes.strips import strips
from flatweave.passes.sweep import sweep
from flatweave.passes.telescope import telescope
from flatweave.passes.unpermute import unpermute
from flatweave.runtime.lazy_import import check_wanted, on_deep_stack
from flatweave.targets import TARGET_OF_TEXT, TARGETS, Interpreted, Runnable, Target, target_named
from flatweave.terms.traverse import walk_lets

ARRAY_PASSES: tuple[ArrayPass, ...] = (
    simplify,  # extents that were checked to be equal become one: fusion compares them
    lift,  # nested operations that need memory become flat ones; the rest of a nest stays nested
    select,  # while sorts are seen as such, in the programs of rows, too
    unpermute,
    sweep,  # every array operation in its normal form; the only pass that lowering needs
    cse,
    hoist_rows,  # before fusion, which sees sweeps over the rows and over the elements
    dce,  # before fusion, which counts who reads what
    into_branches,  # before fusion, which fuses within a body
    fuse_siblings,  # one pass over each iteration space; producers that are read in place included
    fuse,  # values read at other positions or in another space are computed where they are read
    dce,  # decomposed stores would prevent the next pass
    mask,  # readers of kept elements in place, by now with their whole work
    dce,  # kept elements without readers
    fuse_siblings,  # consumers that meet only now
    cse,  # merged bodies read the same elements
    flatten,  # after fusion, which sees one sweep over the rows and puts all they need into it
    telescope,  # the ends of rows, which flatten adds up, are differences of offsets
    cse,  # sweeps over the elements of the same rows get one extent
    fuse_siblings,
    cse,
    dce,
    strips,  # after fusion, as its loop is a boundary
    dce,
    axes,  # after fusion, which compares spaces and reads
    hoist_tests,  # last: what moves into a branch would move out of it again
    dce,
)
MEASURED = (*ARRAY_PASSES, sizes)
"""Programs that tell the sizes by which they choose versions of nests: `fw.tune` measures these."""
check_order(MEASURED, TRACED, FLAT)
PASSES = {made.__name__: made for made in ARRAY_PASSES}


@record(frozen=False)
class Executable:
    """A program ready to run, with all information about its compilation."""

    runnable: Runnable
    text: Mapping[str, str]
    program: Program | None
    unit: Unit | None
    target: Target
    seconds: dict[str, float]
    decided: Sequence[tuple[Explain, Program]] = ()
    cpu: str = ""
    traced: Program | None = None
    earlier_notes: Sequence[Note] = ()

    def run(self, args: list[Any]) -> list[Any]:
        """The results for flat arguments; raises Fault."""
        if config.debug and self.traced is not None:
            audit.audit(self.traced, args[: len(self.traced.fn.params)])
        return self.runnable.run(args)

    @property
    def kernels(self) -> int:
        """How many different passes over data the host launches; what has another role belongs to
        one."""
        launches = launches_of(self.unit)
        roles = [item for launch in launches for item in launch.roles.items()]
        return len({name for name, role in roles if role == Role.PASS})

    @property
    def launched(self) -> list[tuple[str, str, bool]]:
        """Each kernel that the host may launch, its role, and whether it has been made: for the
        cpu target that is when a run first needs it."""
        launches, made = launches_of(self.unit), self.runnable.made
        roles = {name: role for launch in launches for name, role in launch.roles.items()}
        return [(name, role, made is None or name in made) for name, role in roles.items()]

    @property
    def whole(self) -> Executable:
        """All that the compiler knows of it."""
        return self

    @property
    def is_whole(self) -> bool:
        """It is known."""
        return True

    def manifest(self, args: Sequence[Any] | None) -> list[StoredArray]:
        """The arrays that the program writes to memory for these arguments; results are marked."""
        return [] if self.program is None else self.stored(interp.extents_of(self.program, args))

    def stored(self, extents: interp.Extents) -> list[StoredArray]:
        """The same for extents that are known."""
        return [] if self.program is None else [
            array.sized(extents) for array in reasons.stored(self.program)
        ]  # fmt: skip

    @property
    def notes(self) -> list[Note]:
        """Why arrays that are no results are stored, what is computed more than once, and of the
        kernels that sizes choose among, by what, and why each ran that did."""
        again = [line for explain, program in self.decided for line in explain(program)]
        again.sort(key=lambda note: -note.cost)
        stored = [] if self.program is None else [
            *reasons.calls(self.program), *reasons.reasons(self.program)
        ]  # fmt: skip
        made, later = self.runnable.made or frozenset(), self.unit.later if self.unit else ()
        ran = [
            Note(each.why, each.why.where, reason=each.why.reason, kernel=each.name)
            for each in later
            if each.why and each.name in made
        ]
        return [*again, *stored, *self.earlier_notes, *dict.fromkeys(ran)]


def launches_of(unit: Unit | None) -> list[Launch]:
    """All launches of a host program, those that may not happen among them."""
    lets = () if unit is None else walk_lets(unit.host)
    return [let.op for let in lets if isinstance(let.op, Launch)]


def optimise(program: Program, passes: Sequence[ArrayPass] = ARRAY_PASSES) -> dict[str, Program]:
    """A traced program after each pass, by number and name; the last is what is lowered."""
    after: dict[str, Program] = {}
    form = TRACED
    given: dict[ArrayPass, Program] = {}  # by each pass, the last time
    for number, step in enumerate(passes):
        check_wanted()
        before = program
        if given.get(step) is not program:  # a pass gives its own result back
            given[step] = program = step(program)
        form = step.form_after(form)
        if config.verify:
            _verify(step.__name__, form, before, program)
        if config.dumps(step.__name__):
            dump(f"{program.name}.{number}.{step.__name__}.air", print_program(program))
        after[f"{number} {step.__name__}"] = program
        if config.stop_after == step.__name__:
            break
    return after


def _verify(name: str, form: Form, before: Program, after: Program) -> None:
    """Refuse what a pass gave that is not of the form it promised; the message shows its input."""
    try:
        verify(after, form)
    except CompilerBug as bug:
        bug.pass_name = name
        bug.program += f"\n\nbefore the pass:\n{print_program(before)}"
        bug.replay = f"python -m flatweave.tools.opt --pass {name} {before.name}.air"
        raise


def build(
    program: Program, target: str, checks: bool = True, schedule: Schedule = CHOSEN,
    passes: Sequence[ArrayPass] = ARRAY_PASSES,
) -> Executable:  # fmt: skip
    """Compile a traced program for a target; stopped after a pass, it is interpreted from there."""
    record = _Record(program)
    with shown(record.timer) as look:
        return on_deep_stack(
            lambda: _build(program, record, target, checks, schedule, passes), look
        )


def _build(
    program: Program, record: _Record, target: str, checks: bool, schedule: Schedule,
    passes: Sequence[ArrayPass],
) -> Executable:  # fmt: skip
    chosen = target_named(target)
    record.promise("array", functools.partial(print_program, program))
    machine = chosen.machine
    if machine is None:
        return Executable(Interpreted(program), record.text, None, None, chosen, {}, traced=program)
    passes = leading_to(SWEPT if schedule.whole_rows else FLAT, passes)
    with record.timer.stage("passes"):
        after = optimise(program, passes)
    swept = [program, *after.values()][-1]
    if config.stop_after in PASSES:
        record.promise("fused", functools.partial(print_program, swept))
        record.timer.report()
        interpreted = Interpreted(swept)
        return Executable(
            interpreted, record.text, swept, None, chosen, record.timer.seconds, traced=program
        )
    check_wanted()
    with record.timer.stage("lower"):
        lowered = lower(swept, machine, checks=checks, schedule=schedule)
    check_wanted()
    record.promise("fused", functools.partial(print_program, lowered.program))
    record.text["flat"] = functools.partial(record.text.__getitem__, "fused")
    record.keep("plan", print_plans(lowered.sweeps))
    own = {chosen.name: lowered.unit}
    record.text.write = functools.partial(_text_for, swept, checks, own, config.cpu)
    for stage in ("kernel", *list(chosen.texts)[:1]):
        record.promise(stage, functools.partial(record.text.write, stage))
    runnable = chosen.load(record.text, lowered.plan, lowered.unit, record.timer)
    record.timer.report()
    check_wanted()
    inputs = zip(passes, inputs_of(program, after), strict=False)
    decided = [(step.explain, before) for step, (before, _) in inputs if step.explain]
    return Executable(
        runnable, record.text, lowered.program, lowered.unit, chosen, record.timer.seconds, decided,
        chosen.cpu(), program, lowered.notes,
    )  # fmt: skip


def inputs_of(program: Program, after: dict[str, Program]) -> Iterator[tuple[Program, str]]:
    """Each pass's input with the pass's number and name."""
    return zip([program, *after.values()], after, strict=False)


def _text_for(
    swept: Program, checks: bool, lowered: Mapping[str, Unit], cpu: str, stage: str
) -> str:
    """What a program becomes on a target, or in a form, that this run had no need of."""
    if stage == "kernel":
        return "\n".join(map(kernel_text.print_unit, lowered.values()))
    target = TARGETS[TARGET_OF_TEXT[stage]]
    with config.scoped(cpu=cpu):
        machine = target.machine
        assert machine is not None
        unit = lowered.get(target.name)  # other targets have other variants
        emitted = target.emit(unit or lower(swept, machine, checks=checks).unit)
        return emitted[stage] if stage in emitted else target.more(emitted)[stage]


class Texts(Mapping[str, str]):
    """The text of each stage; what running does not need is written when somebody asks for it."""

    def __init__(self) -> None:
        self._texts: dict[str, str | Callable[[], str]] = {}
        self.write: Callable[[str], str] | None = None

    def __setitem__(self, stage: str, text: str | Callable[[], str]) -> None:
        self._texts[stage] = text

    def __getitem__(self, stage: str) -> str:
        text = self._texts.get(stage)
        if text is None and self.write is not None and stage in TARGET_OF_TEXT:
            text = self.write(stage)
        if text is None:
            raise KeyError(stage)
        self._texts[stage] = made = text if isinstance(text, str) else text()
        return made

    def __contains__(self, stage: object) -> bool:
        return stage in self._texts

    def __iter__(self) -> Iterator[str]:
        return iter(self._texts)

    def __len__(self) -> int:
        return len(self._texts)


EXTENSION = {
    "array": "air", "fused": "air", "plan": "plan", "kernel": "kir",
    **{stage: end for target in TARGETS.values() for stage, end in target.texts.items()},
}  # fmt: skip


class _Record:
    """What a compilation leaves for people: text and time of every stage."""

    def __init__(self, program: Program) -> None:
        self.name = program.name
        self.text = Texts()
        places = (let.where for let in walk_lets(program.fn) if let.where)
        self.timer = PhaseTimer(program.name, next(places, None))

    def keep(self, stage: str, text: str) -> None:
        """Keep the text of a stage, and write it out where that is asked for."""
        self.promise(stage, lambda: text)

    def promise(self, stage: str, write: Callable[[], str]) -> None:
        """The text of a stage, written when somebody asks for it, or now where it is written
        out."""
        self.text[stage] = write
        if config.dumps(stage):
            dump(f"{self.name}.{stage}.{EXTENSION.get(stage, 'txt')}", self.text[stage])


def dump(name: str, text: str) -> None:
    """Write a text to the folder for dumps, or to standard error under its name."""
    name = "".join(c if c.isalnum() or c in "._-" else "_" for c in name)
    if config.dump_dir is None:
        sys.stderr.write(f"---- {name} ----\n{text}\n")
        return
    config.dump_dir.mkdir(parents=True, exist_ok=True)
    (config.dump_dir / name).write_text(text, encoding="utf-8")
