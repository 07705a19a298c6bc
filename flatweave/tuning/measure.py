"""The versions of nests, measured alternately; thresholds that select the faster one."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from flatweave.array_ir.syntax import Program
from flatweave.base.records import fields, record, replace
from flatweave.base.schedule import ALWAYS, NEVER, Sizes, Thresholds
from flatweave.ops import Suits

# Thresholds that choose what was measured to be faster, as near to the machine's as can be.
#
#     fitted(machine's, [Seen(Sizes(40, 4000, 100), flat=2.0, by_row=1.0)])  from 40 rows, not 64
#
# Inputs are few, and thresholds many that choose rightly for all of them: nearest to those that
# are the nearest to the machine's. Distance is the number of times that a threshold doubles or
# halves.


NOISE = 1.05
"""Times nearer to each other than this are equal."""
GREATEST = 1 << 20
"""The greatest ratio that is a threshold: products of it and of sizes stay below 2^63."""


@record(eq=True)
class Seen:
    """The seconds that both versions took at some sizes."""

    sizes: Sizes
    flat: float
    by_row: float

    def loss(self, by_row: bool) -> float:
        """How many times slower a version is than the other one, as a logarithm; 0 if faster."""
        taken, other = (self.by_row, self.flat) if by_row else (self.flat, self.by_row)
        return math.log(taken / other) if taken > other * NOISE else 0.0


def fitted(given: Thresholds, seen: Sequence[Seen]) -> Thresholds:
    """The thresholds that lose least on what was seen; of several, the nearest to those given."""
    chosen = {(True,) * len(seen): (0.0, given)}
    for field in fields(given):
        chosen = _narrowed(chosen, field.name, [each.sizes for each in seen])

    def lost(ways: tuple[bool, ...]) -> float:
        return sum(each.loss(way) for each, way in zip(seen, ways, strict=True))

    ways = min(chosen, key=lambda ways: (lost(ways), chosen[ways][0]))
    return chosen[ways][1]


Chosen = dict[tuple[bool, ...], tuple[float, Thresholds]]
"""For each choice among inputs that some thresholds make, the nearest ones that make it."""


def _narrowed(chosen: Chosen, name: str, sizes: Sequence[Sizes]) -> Chosen:
    """The choices that are left after one threshold more, for every value it can have."""
    found: Chosen = {}
    for ways, (distance, thresholds) in chosen.items():
        own: int = getattr(thresholds, name)
        for value in sorted({own, *_values(name, sizes)}):
            changed = replace(thresholds, **{name: value})
            far = distance + abs(math.log2((value + 1) / (own + 1)))
            one = replace(ALWAYS, **{name: value})
            left = tuple(way and one.admits(s) for way, s in zip(ways, sizes, strict=True))
            if left not in found or far < found[left][0]:
                found[left] = (far, changed)
    return found


def _values(name: str, sizes: Sequence[Sizes]) -> Iterator[int]:
    """The values of a threshold that just admit, or just do not, the sizes that were seen."""
    for each in sizes:
        match name:
            case "rows":
                yield from (each.rows, each.rows + 1)
            case "longest":
                yield from (each.longest, max(0, each.longest - 1))
            case "least":
                yield from (each.longest, each.longest + 1)
            case "share" if each.longest:
                yield from _ratios(each.values // each.longest)
            case "mean" if each.rows:
                yield from _ratios(each.values // each.rows)


def _ratios(admits: int) -> Iterator[int]:
    return (min(ratio, GREATEST) for ratio in (admits, admits + 1))


# The versions of a program's nests, compiled and run alternately on some inputs.
#
#     trial = Trial(compiled, inputs, only_exact)
#     trial.run(budget, look)                what is left of the seconds of the budget
#     trial.conclude()[0].seen               the seconds of both versions of a nest, for each input
#
# Nests are measured one by one: all flat, then one of them by row. The fastest of several rounds
# counts: what else the machine does makes a run slower, never faster. The budget is for
# measuring: the round that compiles is not of it, and one more round is always measured.


ROUNDS = 15
SURE, HOPELESS = 3, 3.0
"""After SURE rounds, a version that took HOPELESS times as long as the other is not run again."""
LONG = 10.0
"""The compilation is a small part of a run of this many seconds: it is not run again when the
budget has ended."""
UNKNOWN = Sizes(-1, -1, -1)
"""The sizes of a nest inside a branch or loop of the host, which differ between iterations."""

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
        """Run all versions in rounds for `budget` seconds; the remaining time."""
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
            elif self.only_exact and not same_bits(results, expected):
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
        values = [int(np.asarray(value)) for value in results[len(results) - 3 * len(self.known) :]]
        for place, nest in enumerate(self.known):
            self.sizes[nest, k] = Sizes(*values[3 * place : 3 * place + 3])

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


def same_bits(results: Sequence[Any], expected: Sequence[Any]) -> bool:
    """Whether two runs gave the same."""
    pairs = zip(map(np.asarray, results), map(np.asarray, expected), strict=True)
    return all(a.shape == b.shape and a.tobytes() == b.tobytes() for a, b in pairs)
