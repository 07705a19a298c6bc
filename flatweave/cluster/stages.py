"""What becomes of a function of arrays in chunks, to be looked at: `f.stages(chunked)`.

    stages.text["steps"]      its steps, and what is exchanged between them
    stages.text["kernel"]     the kernels of each step, one step after the other
    stages.steps[0]           the stages of the program that runs on each chunk in the first step
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from flatweave.array_ir.syntax import Program
from flatweave.array_ir.text import print_program
from flatweave.base.errors import Unsupported
from flatweave.base.records import record
from flatweave.base.source import user_location
from flatweave.base.told import Note, StoredArray
from flatweave.cluster.local import LocalProgram
from flatweave.cluster.place import Place
from flatweave.cluster.steps import Divided, print_divided
from flatweave.frontend.call.compiled import Stages

ARRAY = "array"
"""The stage that shows the function as it was traced; of a step, `steps` shows it."""


@record
class InSteps:
    """The steps of a function as `Stages` asks one program."""

    program: Program
    divided: Divided
    steps: tuple[Stages, ...]

    @property
    def text(self) -> Mapping[str, str]:
        """The whole function, its steps, and the text of each stage, step by step."""
        found = {ARRAY: print_program(self.program), "steps": print_divided(self.divided)}
        for step in self.steps:
            for stage, text in step.text.items():
                if stage != ARRAY:
                    before = found.get(stage, "")
                    found[stage] = f"{before}; step {step.name}\n{text.rstrip()}\n"
        return found

    @property
    def kernels(self) -> int:
        """How many passes over data are made of a chunk, in all steps."""
        return sum(step.kernels for step in self.steps)

    @property
    def launched(self) -> list[tuple[str, str, bool]]:
        """Each kernel that a step may launch, its role, and whether it has been made."""
        return [each for step in self.steps for each in step.launched]

    @property
    def cpu(self) -> str:
        """The CPU of this process, for which its machine code is made."""
        return next((step.cpu for step in self.steps), "")

    @property
    def whole(self) -> Any:
        """There is none: Unsupported."""
        raise Unsupported(
            "a page of a function of arrays in chunks: each step is a program of its own.",
            where=user_location(), remedy="Write that of a step: stages.steps[0].page(run=False).",
        )  # fmt: skip

    @property
    def is_whole(self) -> bool:
        """It never is."""
        return False

    def manifest(self, args: Sequence[Any] | None) -> list[StoredArray]:
        """The arrays that a chunk writes to memory, of unknown sizes."""
        return [each for step in self.steps for each in step.executable.manifest(None)]

    @property
    def seconds(self) -> dict[str, float]:
        """How long each stage took, of all steps."""
        found: dict[str, float] = {}
        for step in self.steps:
            for stage, seconds in step.seconds.items():
                found[stage] = found.get(stage, 0.0) + seconds
        return found

    @property
    def notes(self) -> list[Note]:
        """What was decided in each step."""
        return [note for step in self.steps for note in step.notes]

    def run(self, args: list[Any]) -> list[Any]:
        """Nobody runs it so: Unsupported."""
        return self.whole  # type: ignore[no-any-return]


def stages_of(name: str, program: Program, divided: Divided, place: Place) -> Stages:
    """The stages of a function, whose steps a place has compiled or compiles now."""
    steps = [
        Stages(made.program.name, place.compiled(made.program))
        for made in divided.programs if isinstance(made, LocalProgram)
    ]  # fmt: skip
    return Stages(name, InSteps(program, divided, tuple(steps)), steps=tuple(steps))
