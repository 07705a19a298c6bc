"""Chunks one after the other in this process: for data larger than memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from flatweave.array_ir.fault import Fault
from flatweave.base.recording import run
from flatweave.base.schedule import CHOSEN
from flatweave.cluster.local import LocalProgram
from flatweave.cluster.place import Chunk, ChunkFailed, Rows
from flatweave.frontend.call.eager import compile_program
from flatweave.frontend.values.chunked import Held, Piece


class Here:
    """This process; every core works on the chunk at hand."""

    def __init__(self, target: str = "cpu") -> None:
        self._target = target
        self._made: dict[LocalProgram, Any] = {}

    def share(self, value: Any) -> Any:
        return value

    def run(self, step: LocalProgram, args: Sequence[Any], chunk: Chunk) -> list[Any]:
        made = self._made.get(step)
        if made is None:
            made = self._made[step] = compile_program(step.program, self._target, True, CHOSEN)
        given = [each.loaded() if isinstance(each, Rows) else each for each in args]
        try:
            return list(run(step.program.name, made, given))
        except Fault as fault:
            raise ChunkFailed(fault, chunk) from None

    def fetched(self, result: Any) -> Any:
        return result

    def piece(self, result: Any, rows: int) -> Piece:
        return Held(np.asarray(result))

    def finish(self, pieces: Sequence[Piece]) -> None:
        """Everything is there as soon as it has been asked for."""
