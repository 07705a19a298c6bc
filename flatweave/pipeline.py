"""READ THIS FIRST: what happens to a program, in order.

    traced  --ARRAY_PASSES-->  swept  --lower-->  kernels and host  --emit-->  text  -->  runs

Every stage can be printed (`f.stages(..).text`), read back (`tools/opt`), interpreted and verified.
"""

from __future__ import annotations

import functools
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from flatweave.array_ir.forms import FLAT, SWEPT, TRACED, Form
from flatweave.array_ir.syntax import Program
from flatweave.array_ir.text import print_program
from flatweave.array_ir.verify import verify
from flatweave.base.config import config
from flatweave.base.errors import CompilerBug
from flatweave.base.pretty import duration
from flatweave.base.schedule import CHOSEN, Schedule
from flatweave.kernel_ir.host import Launch, Role
from flatweave.kernel_ir.syntax import Unit
from flatweave.kernel_ir.text import print_unit
from flatweave.lower.program import lower
from flatweave.lower.schedule.text import print_plans
from flatweave.passes.array_pass import ArrayPass, Explain, check_order, leading_to
from flatweave.passes.audit import audit
from flatweave.passes.cse import cse
from flatweave.passes.dce import dce
from flatweave.passes.flatten import flatten
from flatweave.passes.fuse import fuse
from flatweave.passes.fuse_siblings import fuse_siblings
from flatweave.passes.manifest import stored
from flatweave.passes.mask import mask
from flatweave.passes.reasons import reasons
from flatweave.passes.simplify import simplify
from flatweave.passes.sweep import sweep
from flatweave.runtime.deep import check_wanted, on_deep_stack
from flatweave.targets import TARGET_OF_TEXT, TARGETS, Interpreted, Runnable, Target, target_named
from flatweave.terms.traverse import walk_lets

ARRAY_PASSES: tuple[ArrayPass, ...] = (
    simplify,  # extents that were checked to be equal become one: fusion compares them
    sweep,  # every array operation in its normal form; the only pass that lowering needs
    cse,
    dce,  # before fusion, which counts who reads what
    fuse_siblings,  # one pass over each iteration space; producers that are read in place included
    fuse,  # what is read elsewhere, or from another space, is computed where it is read
    dce,  # stores that were taken apart stand in the way of the next one
    mask,  # what reads kept elements in place, by now with all that it does to them
    dce,  # kept elements that nobody reads any more
    fuse_siblings,  # consumers that meet only now
    cse,  # merged bodies read the same elements
    flatten,  # after fusion, which sees one sweep over the rows and puts all they need into it
    cse,  # sweeps over the elements of the same rows get one extent
    fuse_siblings,
    cse,
    dce,
)
check_order(ARRAY_PASSES, TRACED, FLAT)
PASSES = {made.__name__: made for made in ARRAY_PASSES}


@dataclass
class Executable:
    """A program ready to run, and all that is known of how it was made."""

    runnable: Runnable
    text: dict[str, str]
    program: Program | None
    unit: Unit | None
    target: Target
    seconds: dict[str, float] = field(default_factory=dict)
    decided: Sequence[tuple[Explain, Program]] = ()
    cpu: str = ""
    traced: Program | None = None

    def run(self, args: list[Any]) -> list[Any]:
        """The results for flat arguments; raises Fault."""
        if config.debug and self.traced is not None:
            audit(self.traced, args)
        return self.runnable.run(args)

    @property
    def kernels(self) -> int:
        """How many loops over data one run makes."""
        return 0 if self.unit is None else launches(self.unit)

    @property
    def manifest(self) -> list[str]:
        """The arrays that the program writes to memory, with their sizes; results are marked."""
        return [] if self.program is None else [str(array) for array in stored(self.program)]

    @property
    def notes(self) -> list[str]:
        """Why arrays that are no results are stored, and what is computed more than once."""
        again = [line for explain, program in self.decided for line in explain(program)]
        return [*again, *([] if self.program is None else reasons(self.program))]


def launches(unit: Unit) -> int:
    """How many different passes over data the host launches; what has another role belongs to
    one."""
    launched = [let.op for let in walk_lets(unit.host) if isinstance(let.op, Launch)]
    return len({launch.kernel for launch in launched if launch.role == Role.PASS})


def optimise(program: Program, passes: Sequence[ArrayPass] = ARRAY_PASSES) -> dict[str, Program]:
    """A traced program after each pass, by number and name; the last is what is lowered."""
    after: dict[str, Program] = {}
    form = TRACED
    for number, step in enumerate(passes):
        check_wanted()
        before, program = program, step(program)
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
    return on_deep_stack(lambda: _build(program, target, checks, schedule, passes))


def _build(
    program: Program, target: str, checks: bool, schedule: Schedule, passes: Sequence[ArrayPass]
) -> Executable:
    chosen = target_named(target)
    record = _Record(program.name)
    record.keep("array", print_program(program))
    machine = chosen.machine
    if machine is None:
        return Executable(Interpreted(program), record.text, None, None, chosen, traced=program)
    passes = leading_to(SWEPT if schedule.whole_rows else FLAT, passes)
    after = optimise(program, passes)
    swept = [program, *after.values()][-1]
    record.lap("passes")
    record.keep("fused", print_program(swept))
    if config.stop_after in PASSES:
        interpreted = Interpreted(swept)
        return Executable(
            interpreted, record.text, swept, None, chosen, record.seconds, traced=program
        )
    record.text["flat"] = record.text["fused"]
    lowered = lower(swept, machine, checks=checks, schedule=schedule)
    record.lap("lower")
    record.keep("plan", print_plans(lowered.sweeps))
    record.keep("kernel", print_unit(lowered.unit))
    emitted = chosen.emit(lowered.unit)
    record.lap("emit")
    for stage, text in emitted.items():
        record.keep(stage, text)
    runnable = chosen.load(emitted, lowered.plan, lowered.unit)
    record.lap("compile")
    record.text.write = functools.partial(
        _text_for, swept, checks, {chosen.name: schedule}, config.cpu
    )
    inputs = zip(passes, inputs_of(program, after), strict=False)
    decided = [(step.explain, before) for step, (before, _) in inputs if step.explain]
    return Executable(
        runnable, record.text, swept, lowered.unit, chosen, record.seconds, decided, chosen.cpu(),
        program,
    )  # fmt: skip


def inputs_of(program: Program, after: dict[str, Program]) -> Iterator[tuple[Program, str]]:
    """Each pass's input with the pass's number and name."""
    return zip([program, *after.values()], after, strict=False)


def _text_for(
    swept: Program, checks: bool, forced: Mapping[str, Schedule], cpu: str, stage: str
) -> str | None:
    """What a program becomes on a target, or in a form, that this run had no need of."""
    if stage not in TARGET_OF_TEXT:
        return None
    target = TARGETS[TARGET_OF_TEXT[stage]]
    schedule = forced.get(target.name, CHOSEN)  # other targets have other variants
    with config.scoped(cpu=cpu):
        machine = target.machine
        assert machine is not None
        emitted = target.emit(lower(swept, machine, checks=checks, schedule=schedule).unit)
        return emitted[stage] if stage in emitted else target.more(emitted)[stage]


class Texts(dict[str, str]):
    """The text of each stage; that of another target is written when somebody asks for it."""

    write: Callable[[str], str | None] | None = None

    def __missing__(self, stage: str) -> str:
        text = self.write(stage) if self.write is not None else None
        if text is None:
            raise KeyError(stage)
        self[stage] = text
        return text


EXTENSION = {
    "array": "air", "fused": "air", "plan": "plan", "kernel": "kir",
    **{stage: end for target in TARGETS.values() for stage, end in target.texts.items()},
}  # fmt: skip


class _Record:
    """What a compilation leaves for people: text and time of every stage."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.text = Texts()
        self.seconds: dict[str, float] = {}
        self._last = time.perf_counter()

    def keep(self, stage: str, text: str) -> None:
        """Keep the text of a stage, and write it out where that is asked for."""
        self.text[stage] = text
        if config.dumps(stage):
            dump(f"{self.name}.{stage}.{EXTENSION.get(stage, 'txt')}", text)

    def lap(self, name: str) -> None:
        """The time since the last lap belongs to `name`."""
        check_wanted()
        now = time.perf_counter()
        self.seconds[name] = now - self._last
        self._last = now
        if config.time:
            sys.stderr.write(f"{self.name}: {name} {duration(self.seconds[name])}\n")


def dump(name: str, text: str) -> None:
    """Write a text to the folder for dumps, or to standard error under its name."""
    name = "".join(c if c.isalnum() or c in "._-" else "_" for c in name)
    if config.dump_dir is None:
        sys.stderr.write(f"---- {name} ----\n{text}\n")
        return
    config.dump_dir.mkdir(parents=True, exist_ok=True)
    (config.dump_dir / name).write_text(text, encoding="utf-8")
