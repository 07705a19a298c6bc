"""Programs for this CPU, but with blocks of one step: a hundred elements are several blocks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from flatweave import pipeline
from flatweave.array_ir.interp import Interp, run
from flatweave.array_ir.syntax import Program
from flatweave.base.recording import PhaseTimer
from flatweave.base.records import replace
from flatweave.lower.machine import WIDEST
from flatweave.lower.program import lower
from flatweave.ops import Sweep
from flatweave.passes.rewrite import ArrayPass
from flatweave.targets import TARGETS, Runnable
from flatweave.terms.batch import Env, Values
from flatweave.terms.syntax import Op


class Small:
    """A program as machine code with small blocks; with `streaming`, stores go around the caches
    from a thousand bytes on."""

    def __init__(
        self, program: Program, passes: Sequence[ArrayPass] = pipeline.ARRAY_PASSES, *,
        streaming: bool = False,
    ) -> None:  # fmt: skip
        self.swept = [program, *pipeline.optimise(program, passes).values()][-1]
        target = TARGETS["cpu"]
        assert target.machine is not None
        machine = replace(
            target.machine, block_bytes=1, block_work=1,
            streaming_from=1000 if streaming else None,
        )  # fmt: skip
        made = lower(self.swept, machine)
        self.runnable: Runnable = target.load({}, made.plan, made.unit, PhaseTimer("small blocks"))

    def run(self, args: list[Any]) -> list[Any]:
        """The results for flat arguments."""
        return self.runnable.run(args)


def blocks(swept: Program, args: list[Any]) -> Blocks:
    """How many sweeps a program runs, and how many of them have several small blocks."""
    found = Blocks()
    run(swept, args, found)
    return found


class Blocks(Interp):
    """An interpreter that counts the sweeps it meets: a block is one step of WIDEST or fewer."""

    def __init__(self) -> None:
        super().__init__()
        self.sweeps = 0
        self.several = 0

    def evaluate(self, env: Env, op: Op) -> Values:
        """What an op gives."""
        if isinstance(op, Sweep):
            self.sweeps += 1
            self.several += math.prod(self.shape(env, op.shape)) > WIDEST
        return super().evaluate(env, op)
