"""Equal programs are compiled once in each process of tests.

Many cases of one test compile the same program: for each number of threads, for each length, in
each turn of a loop that writes `fw.jit(f)`. Where only values are tested, they share one
executable, if all of their operations come from the same lines, which messages of errors name.
"""

from collections.abc import Callable
from typing import Any

from flatweave.array_ir.syntax import Program
from flatweave.base.config import config
from flatweave.base.records import replace
from flatweave.base.schedule import Schedule
from flatweave.frontend.call.eager import COMPILER, fingerprint
from flatweave.terms.traverse import walk_lets

FOLDERS = frozenset(
    ["examples", "frontend", "language", "laws", "lower", "nests", "numerics", "oracle", "random"]
)
"""Of tests that look at values: those of other folders may look at how a program is compiled."""
MOST = 300  # executables that are held at a time

Build = Callable[[Program, str, bool, Schedule], Any]


class SharedBuild:
    """A compiler that remembers what it has compiled, while `is_on`."""

    def __init__(self, build: Build) -> None:
        self.build = build
        self.is_on = False
        self.known: dict[Any, Any] = {}

    def __call__(self, program: Program, target: str, checks: bool, schedule: Schedule) -> Any:
        if not self.is_on:
            return self.build(program, target, checks, schedule)
        switches = replace(config.current, threads=None)  # code does not depend on their number
        lines = tuple(str(let.where) for let in walk_lets(program.fn))
        key = (target, checks, schedule, switches, program.name, fingerprint(program.fn), lines)
        found = self.known.get(key)
        if found is None:
            found = self.known[key] = self.build(program, target, checks, schedule)
            if len(self.known) > MOST:
                del self.known[next(iter(self.known))]
        return found


shared_build = SharedBuild(COMPILER[0])
COMPILER[0] = shared_build
