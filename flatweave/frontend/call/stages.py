"""What became of a call of a jitted function, to be looked at: `total.stages(xs)`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from flatweave.base import pretty
from flatweave.base.records import record
from flatweave.base.told import Note, StoredArray
from flatweave.frontend.call.compiled import Executable
from flatweave.runtime.door import opened


@record(eq=True)
class Stages:
    """What became of one call: `.text[stage]`, `.kernels`, `.manifest`, `.notes`, `.seconds`.

        >>> fw.jit(lambda x: fw.sum(x * x), target="cpu").stages(np.zeros(9)).kernels
        1
    """

    name: str
    executable: Executable
    args: Sequence[Any] | None = None
    """The flat arguments of the call: sizes follow from them."""
    call: Callable[[], Stages] | None = None
    """Calls the function, which may compile it for extents of 1, and gives the stages of that."""
    watch: Callable[[], Any] | None = None
    """Runs a kernel in the simulator, and tells who reads and writes what."""
    chosen: tuple[Note, ...] = ()
    """What functions chose while they were traced."""
    steps: tuple[Stages, ...] = ()
    """Of a function of arrays in chunks, the stages of the program of each step."""

    @property
    def text(self) -> Mapping[str, str]:
        """The text of each stage: array, fused, flat, plan, kernel, and the target's own; of a
        function of arrays in chunks also its steps."""
        return self.executable.text

    @property
    def kernels(self) -> int:
        """How many passes over data a call makes, of those that may run."""
        return self.executable.kernels

    @property
    def launched(self) -> list[tuple[str, str, bool]]:
        """Each kernel that a call may launch, its role, and whether a call needed it so far."""
        return self.executable.launched

    @property
    def manifest(self) -> list[StoredArray]:
        """The arrays that a call writes to memory, with their sizes."""
        return self.executable.manifest(self.args)

    @property
    def cpu(self) -> str:
        """The CPU that the machine code of the cpu target is made for, as LLVM names it."""
        return self.executable.cpu

    @property
    def seconds(self) -> dict[str, float]:
        """The time that each stage of the compilation took, in seconds."""
        return self.executable.seconds

    @property
    def notes(self) -> list[Note]:
        """Why arrays that are no results are stored, and what is computed more than once."""
        return [*self.chosen, *self.executable.notes]

    def page(self, path: str | Path | None = None, *, run: bool = True) -> Path:
        """Write what became of the call as one HTML file, by default `NAME.html`; its path.

        The program is run, for its time and for the kernels that these sizes need, unless `run`
        is False.
        """
        ran = self.call() if run and self.call else self
        written: Path = opened("page").write(ran, path, run=run)
        return written

    def _repr_html_(self) -> str | None:
        """What a notebook shows: the page in small."""
        made: str | None = None if self.steps else opened("small").small(self)
        return made

    def __repr__(self) -> str:
        return f"<stages of {self.name}: {pretty.counted(self.kernels, 'kernel')}>"

    def __str__(self) -> str:
        made_for = f" for {self.cpu}" if self.cpu else ""
        parts = [f"{self.name}: {pretty.counted(self.kernels, 'kernel')}{made_for}"]
        if self.manifest:
            parts += ["", "in memory:", *(f"  {line}" for line in self.manifest)]
        if self.notes:
            parts += ["", "fusion:", *(f"  {line}" for line in self.notes)]
        kernels = [[name, role, "yes" if made else "not yet"] for name, role, made in self.launched]
        if kernels:
            parts += ["", pretty.table(["kernel", "role", "made"], kernels)]
        times = [[name, pretty.duration(s)] for name, s in self.seconds.items()]
        if times:
            parts += ["", pretty.table(["stage", "time"], times, right={1})]
        for stage in ("array", "steps", "fused", "kernel"):
            if stage in self.text:
                parts += ["", f"---- {stage} ----", self.text[stage].rstrip()]
        return "\n".join(parts)
