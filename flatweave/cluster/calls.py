"""A function that is given arrays in chunks: divided for each signature, run, shown in stages."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from flatweave.array_ir.syntax import Fault, Program, print_program
from flatweave.base.config import config
from flatweave.base.errors import Unsupported, UserError
from flatweave.base.pretty import Note, StoredArray
from flatweave.base.records import record
from flatweave.base.source import user_location
from flatweave.cluster.chunk_program import LocalProgram
from flatweave.cluster.divide import divide
from flatweave.cluster.drive import results_of
from flatweave.cluster.executor import ChunkFailed, Executor
from flatweave.cluster.in_process import in_process
from flatweave.cluster.steps import Divided, print_divided
from flatweave.frontend.call.compiled import Stages, owned
from flatweave.frontend.call.direct import keep
from flatweave.frontend.call.options import PLACE
from flatweave.frontend.call.signature import Specialisation, Specialised, arrays_of, fingerprint
from flatweave.frontend.ragged.chunked import chunked_tree
from flatweave.frontend.trace.run_time_checks import user_error
from flatweave.frontend.trace.trace import Traced
from flatweave.frontend.values.chunked import Chunked
from flatweave.frontend.values.elsewhere import Piece, memory_behind
from flatweave.frontend.values.tree import unflatten
from flatweave.operator_checks.first_calls import FirstCalls
from flatweave.runtime.cpu import is_frozen, owner_of
from flatweave.terms.syntax import ArrayType, Var
from flatweave.terms.traverse import walk_lets

# What becomes of a function of arrays in chunks, to be looked at: `f.stages(chunked)`.
#
# stages.text["steps"]      its steps, and what is exchanged between them
# stages.text["kernel"]     the kernels of each step, one step after the other
# stages.steps[0]           the stages of the program that runs on each chunk in the first step


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
        raise Unsupported.here(
            "a page of a function of arrays in chunks: each step is a separate program.",
            "Write that of a step: stages.steps[0].page(run=False).",
        )

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


def stages_of(name: str, program: Program, divided: Divided, place: Executor) -> Stages:
    """The stages of a function, whose steps an executor has compiled or compiles now."""
    steps = [
        Stages(made.program.name, place.compiled(made.program))
        for made in divided.programs if isinstance(made, LocalProgram)
    ]  # fmt: skip
    return Stages(name, InSteps(program, divided, tuple(steps)), steps=tuple(steps))


# A function that is given arrays in chunks: divided once for each signature, then driven.


Values = np.ndarray[Any, np.dtype[Any]]
FIRST = 1 << 13
"""Elements of an array in chunks on which operators are tried."""
_DIVIDED: dict[Any, Divided] = {}


class Steps:
    """A trace that is divided: `split` are the numbers of its parameters that are in chunks.

    Other arguments in chunks have one row, which is broadcast: the client has it. Operators are
    tried on the first chunk.
    """

    def __init__(self, traced: Traced, split: Sequence[int], checks: bool) -> None:
        self.traced = traced
        self.checks = FirstCalls(traced.program) if checks and traced.program.unproven else None
        self.split = frozenset(split)
        self.divided = _divided(traced.program, self.split)
        self._tree = chunked_tree(traced.tree)

    def __call__(self, flat: Sequence[Any]) -> Any:
        """The results, what goes row by row in chunks; raises Fault or ChunkFailed."""
        place = PLACE.get() or in_process()
        args = [
            x.load(0, 1) if type(x) is Chunked and k not in self.split else x
            for k, x in enumerate([*flat, *self.traced.hidden])
        ]
        if self.checks is not None and not self.checks.is_done and not config.debug:
            self.checks(of_first_chunks(self.traced.program, args))
        results = results_of(self.divided, place, args)
        place.finish([p for x in results if isinstance(x, Chunked) for p in x.pieces])
        written = _writable(args)
        leaves = [
            _kept(x, written, place) if isinstance(x, Chunked) else owned(x, args, self)
            for x in results
        ]
        return unflatten(self._tree, leaves)

    def stages(self, name: str) -> Stages:
        """What became of the function, step by step."""
        place = PLACE.get() or in_process()
        return stages_of(name, self.traced.program, self.divided, place)

    @property
    def tree(self) -> Any:
        """The tree of the results."""
        return self.traced.tree

    def user_error_of(self, fault: Fault) -> UserError:
        """The user's error for a fault."""
        return user_error(fault)


class InChunks(Specialised[Steps]):
    """One signature of a function some of whose arguments are in chunks, as some of `flat` are."""

    def __init__(
        self, make: Callable[[Specialisation], Traced], flat: Sequence[Any], checks: bool = True
    ) -> None:
        split = {n for n, value in enumerate(arrays_of(flat)) if type(value) is Chunked}

        def made(special: Specialisation) -> Steps:
            traced = make(special._replace(in_chunks=True))
            params = enumerate(traced.program.fn.params)
            arrays = [k for k, var in params if isinstance(var.type, ArrayType)]
            chunks = [arrays[n] for n in split if (n, 0) not in special.unit_axes]
            return Steps(traced, chunks, checks)

        super().__init__(made)

    def __call__(self, flat: list[Any]) -> Any:
        """The function's result for flat arguments."""
        steps, args = self.chosen(flat)
        while True:
            try:
                return steps(args)
            except (Fault, ChunkFailed) as failure:
                fault = failure.fault if isinstance(failure, ChunkFailed) else failure
                found = self.after(steps, fault, flat)
                if found is None:
                    raise _told(failure) from None
                steps, args = found
            except UserError as error:
                error.where = error.where or user_location()  # files are read by other threads
                raise


def _writable(args: Sequence[Any]) -> set[int]:
    """Whose memory some arguments are to which their owner may write after the call."""
    arrays = [x for x in args if isinstance(x, np.ndarray)]
    chunked = [x for x in args if isinstance(x, Chunked)]
    arrays += [values for x in chunked for piece in x.pieces for values in memory_behind(piece)]
    return {owner_of(values) for values in arrays if not is_frozen(values)}


def _kept(xs: Chunked, written: set[int], place: Executor) -> Chunked:
    """A result to which nobody writes: what is an argument's memory is copied, if its owner may."""
    pieces: list[Piece] = []
    for piece in xs.pieces:
        memory = memory_behind(piece)
        if any(owner_of(values) in written for values in memory):
            piece = place.kept(np.array(piece.load(0, piece.rows)))
            memory = memory_behind(piece)
        for values in memory:
            values.setflags(write=False)
        pieces.append(piece)
    xs.pieces = tuple(pieces)
    return xs


def of_first_chunks(program: Program, args: Sequence[Any]) -> list[Any]:
    """The arguments of a call, with each array in chunks cut to its first rows."""
    params, found = program.fn.params, list(args)
    chunked = [(k, x) for k, x in enumerate(args) if type(x) is Chunked]
    for k, array in chunked:
        alike = [x for _, x in chunked if x.shape[0] == array.shape[0]]
        rows = min(next((end for end in x.bounds if end), 0) for x in alike)
        rows = min(rows, max(1, FIRST // max(1, math.prod(array.shape[1:]))))
        found[k] = np.asarray(array.load(0, rows))
        extent = params[k].type.shape[0]  # type: ignore[union-attr]
        if isinstance(extent, Var):
            found[params.index(extent)] = rows
    return found


def _divided(program: Program, split: frozenset[int]) -> Divided:
    """The steps of a program; the same ones for an equal program from the same lines, such as that
    of a lambda that is written anew for each call, so that its steps are compiled once."""
    lines = tuple(let.where for let in walk_lets(program.fn))
    key = program.name, fingerprint(program.fn), lines, split
    found = _DIVIDED.get(key)
    if found is None:
        found = divide(program, split)
        keep(_DIVIDED, key, found)
    return found


def _told(failed: Fault | ChunkFailed) -> UserError:
    """The error of the whole call: elements are counted from its first row."""
    if isinstance(failed, Fault):
        return user_error(failed)
    fault = failed.fault
    if fault.index >= 0:
        fault.index += failed.chunk.begin
    error = user_error(fault)
    return type(error)(
        error.message, where=error.where, origins=[*error.origins, str(failed.chunk)],
        remedy=error.remedy,
    )  # fmt: skip
