"""The versions of a program's nests, compiled and run in turn on some inputs.

    trial = Trial(compiled, inputs, only_exact)
    trial.run(budget, look)                what is left of the seconds of the budget
    trial.conclude()[0].seen               the seconds of both versions of a nest, for each input

Nests are measured one by one: all flat, then one of them by row. The fastest of several rounds
counts: what else the machine does makes a run slower, never faster. The budget is for measuring:
the round that compiles is not of it, and one more round is always measured.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from flatweave.array_ir.syntax import Program
from flatweave.base.records import record
from flatweave.base.thresholds import ALWAYS, NEVER, Sizes
from flatweave.ops import Suits
from flatweave.tuning.fit import Seen

ROUNDS = 15
SURE, HOPELESS = 3, 3.0
"""After so many rounds, a version that took so many times as long as the other is not run again."""
LONG = 10.0
"""Of a run that took so many seconds, what it compiled is little: it is not run again when the
budget has ended."""
UNKNOWN = Sizes(-1, -1, -1)
"""The sizes of a nest inside a branch or loop of the host, which differ from turn to turn."""

Compiled = Callable[..., Any]
"""`compiled(version="flat")`, `compiled(tuned=..)`: an executable that tells its sizes."""


@record(frozen=False)
class Nest:
    """A nest with versions: the user's line, what it gains by row, whether the versions give the
    same bits, and what was seen of them, in the order of the inputs."""

    where: str
    gain: str
    exact: bool
    seen: list[Seen]

    @property
    def has_sizes(self) -> bool:
        """Whether sizes are known by which a version could be chosen."""
        return all(each.sizes != UNKNOWN for each in self.seen)


class Trial:
    """The versions of one program, and how long they took on its inputs."""

    def __init__(self, compiled: Compiled, inputs: Sequence[list[Any]], only_exact: bool) -> None:
        self.compiled = compiled
        self.inputs = inputs
        self.flat = compiled(version="flat")
        self.nests, self.known = _nests(self.flat.program)
        # the nests that are tried, each with what does it by row and all others flat
        self.by_row: dict[int, Any] = {
            k: None for k, nest in enumerate(self.nests) if nest.exact or not only_exact
        }
        self.only_exact = only_exact
        self.seconds: dict[tuple[int | None, int], float] = {}
        self.first: dict[tuple[int | None, int], float] = {}  # with what they compiled
        self.sizes: dict[tuple[int, int], Sizes] = {}
        self.doing = "compiling"

    def said(self) -> str:
        """What is being done, for a terminal."""
        return f"tuning {self.flat.program.name}, {self.doing}"

    def run(self, budget: float, look: Callable[[], None]) -> float:
        """Run all versions in rounds for so many seconds; what is left of these."""
        if not self.by_row:
            return budget
        for k in range(len(self.inputs)):
            self.doing = f"compiling for input {k + 1} of {len(self.inputs)}"
            self._compile(k, look)
        begin = time.perf_counter()
        for turn in range(1, 1 + ROUNDS):
            for k in range(len(self.inputs)):
                self.doing = f"round {turn}, input {k + 1} of {len(self.inputs)}"
                self._round(k, turn, begin + budget, look)
            if time.perf_counter() > begin + budget:
                break
        return max(begin + budget - time.perf_counter(), 0.0)

    def _compile(self, k: int, look: Callable[[], None]) -> None:
        """Every version once on an input, which compiles its kernels; those of other bits go."""
        expected: list[Any] = []
        for version in (None, *self.by_row):
            look()
            executable = self._executable(version)
            begin = time.perf_counter()
            results = executable.run(self.inputs[k])
            self.first[version, k] = time.perf_counter() - begin
            if version is None:
                expected = results
                self._read_sizes(k, results)
            elif self.only_exact and not _same_bits(results, expected):
                self.nests[version].exact = False
        for version in [each for each in self.by_row if self.only_exact]:
            if not self.nests[version].exact:
                del self.by_row[version]

    def _round(self, k: int, turn: int, until: float, look: Callable[[], None]) -> None:
        """Every version once on an input, as far as there is time; in the first round always."""
        for version in (None, *self.by_row):
            if turn > SURE and self._is_hopeless(version, k):
                continue
            is_late = time.perf_counter() > until
            if is_late and turn > 1:
                return
            look()
            seconds = self.first[version, k]
            if not (is_late and seconds > LONG):
                executable = self._executable(version)
                begin = time.perf_counter()
                executable.run(self.inputs[k])
                seconds = time.perf_counter() - begin
            known = self.seconds.get((version, k), seconds)
            self.seconds[version, k] = min(known, seconds)

    def _is_hopeless(self, version: int | None, k: int) -> bool:
        """Whether more runs of a version would not make it the faster one."""
        flat = self.seconds.get((None, k))
        others = [self.seconds.get((nest, k)) for nest in self.by_row]
        if flat is None or None in others:
            return False
        if version is not None:
            return self.seconds[version, k] > HOPELESS * flat
        return flat > HOPELESS * max(each for each in others if each is not None)

    def _executable(self, version: int | None) -> Any:
        if version is None:
            return self.flat
        if self.by_row[version] is None:
            ways = [ALWAYS if k == version else NEVER for k in range(len(self.nests))]
            self.by_row[version] = self.compiled(tuned=tuple(ways))
        return self.by_row[version]

    def _read_sizes(self, k: int, results: Sequence[Any]) -> None:
        told = [int(np.asarray(value)) for value in results[len(results) - 3 * len(self.known) :]]
        for place, nest in enumerate(self.known):
            self.sizes[nest, k] = Sizes(*told[3 * place : 3 * place + 3])

    def conclude(self) -> list[Nest]:
        """The nests, with what was seen of both their versions."""
        for nest in self.by_row:
            for k in range(len(self.inputs)):
                flat, by_row = self.seconds.get((None, k)), self.seconds.get((nest, k))
                if flat is not None and by_row is not None:
                    sizes = self.sizes.get((nest, k), UNKNOWN)
                    self.nests[nest].seen.append(Seen(sizes, flat, by_row))
        return self.nests


def _nests(program: Program) -> tuple[list[Nest], list[int]]:
    """The nests with versions, and those of them that tell their sizes."""
    lets = Suits.all_in(program.fn)
    nests = []
    for let in lets:
        assert isinstance(let.op, Suits)
        where = f"{let.where.file}:{let.where.line}" if let.where else program.name
        nests.append(Nest(where, let.op.gain, let.op.exact, []))
    return nests, [k for k, let in enumerate(lets) if let in program.fn.lets]


def _same_bits(results: Sequence[Any], expected: Sequence[Any]) -> bool:
    pairs = zip(map(np.asarray, results), map(np.asarray, expected), strict=True)
    return all(a.shape == b.shape and a.tobytes() == b.tobytes() for a, b in pairs)
