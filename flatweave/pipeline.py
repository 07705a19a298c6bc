"""READ THIS FIRST: what happens to a program, in order.

    traced  --ARRAY_PASSES-->  swept  --lower-->  kernels and host  --emit-->  text  -->  runs

Every stage can be printed (`f.stages(..).text`), read back (`tools/opt`), interpreted and verified.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from flatweave.array_ir.syntax import Program
from flatweave.array_ir.text import print_program
from flatweave.kernel_ir.syntax import Alloc, Launch, Unit
from flatweave.kernel_ir.text import print_unit
from flatweave.lower.program import lower
from flatweave.passes.cse import cse
from flatweave.passes.dce import dce
from flatweave.passes.fuse import fuse
from flatweave.passes.fuse_siblings import fuse_siblings
from flatweave.passes.simplify import simplify
from flatweave.passes.sweep import sweep
from flatweave.targets import Interpreted, Runnable, Target, target_named
from flatweave.terms.traverse import walk_lets

Pass = Callable[[Program], Program]

ARRAY_PASSES: tuple[Pass, ...] = (
    simplify,  # extents that were checked to be equal become one: fusion compares them
    sweep,  # every array operation in its normal form; the only pass that lowering needs
    cse,
    dce,  # before fusion, which counts who reads what
    fuse_siblings,  # one pass over each iteration space; producers that are read in place included
    fuse,  # what is read elsewhere, or from another space, is computed where it is read
    fuse_siblings,  # consumers that meet only now
    cse,  # merged bodies read the same elements
    dce,
)
PASSES = {made.__name__: made for made in ARRAY_PASSES}
NEEDED = frozenset({"sweep"})


@dataclass
class Executable:
    """A program ready to run, and all that is known of how it was made."""

    runnable: Runnable
    text: dict[str, str]
    unit: Unit | None
    target: Target
    seconds: dict[str, float] = field(default_factory=dict)

    def run(self, args: list[Any]) -> list[Any]:
        """The results for flat arguments; raises Fault."""
        return self.runnable.run(args)

    @property
    def kernels(self) -> int:
        """How many loops over data one run makes."""
        return 0 if self.unit is None else launches(self.unit)

    @property
    def manifest(self) -> list[str]:
        """The arrays written to memory: dtype and number of elements, as the host allocates them."""
        if self.unit is None:
            return []
        allocs = [let for let in walk_lets(self.unit.host) if isinstance(let.op, Alloc)]
        return [f"{let.vars[0].name}: {let.op.dtype.name}[{let.op.count!r}]" for let in allocs]  # type: ignore[attr-defined]


def launches(unit: Unit) -> int:
    """How many different kernels the host launches; variants of one count once."""
    stems = set()
    for let in walk_lets(unit.host):
        if isinstance(let.op, Launch):
            stems.add(let.op.kernel.removesuffix("_s"))
    return len(stems)


def optimise(program: Program, passes: Sequence[Pass] = ARRAY_PASSES) -> dict[str, Program]:
    """The program after each pass, by number and name; the last is what is lowered."""
    after: dict[str, Program] = {}
    for number, step in enumerate(passes):
        program = step(program)
        after[f"{number} {step.__name__}"] = program
    return after


def build(
    program: Program, target: str, checks: bool = True, passes: Sequence[Pass] = ARRAY_PASSES
) -> Executable:
    """Compile a traced program for a target."""
    chosen = target_named(target)
    text = {"array": print_program(program)}
    if chosen.machine is None:
        return Executable(Interpreted(program), text, None, chosen)
    clock = _Clock()
    swept = list(optimise(program, passes).values())[-1]
    text["fused"] = text["flat"] = print_program(swept)
    clock.lap("passes")
    lowered = lower(swept, chosen.machine, checks=checks)
    text["kernel"] = print_unit(lowered.unit)
    clock.lap("lower")
    emitted = chosen.emit(lowered.unit)
    text.update(emitted)
    clock.lap("emit")
    runnable = chosen.load(emitted, lowered.plan)
    clock.lap("compile")
    return Executable(runnable, text, lowered.unit, chosen, clock.seconds)


class _Clock:
    """Seconds between laps, by name."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._last = time.perf_counter()

    def lap(self, name: str) -> None:
        now = time.perf_counter()
        self.seconds[name] = now - self._last
        self._last = now
