"""How tests compile: equal programs once in each process, and most of them without LLVM's passes.

Many cases of one test compile the same program: for each number of threads, for each length, in
each iteration of a loop that writes `fw.jit(f)`. Where only values are tested, they share one
executable, if all of their operations come from the same lines, which messages of errors name.

What LLVM's passes do to kernels is a matter of other folders (codegen, lower, laws, oracle, nests,
examples) and of `make test-all`, which sets TEST_LLVM=optimised for the language's tests. The same
folders verify a program after every pass; these verify the last one only.
"""

import os
from collections.abc import Callable
from typing import Any

from flatweave import pipeline
from flatweave.array_ir.syntax import Form, Program
from flatweave.base.config import config
from flatweave.base.records import replace
from flatweave.base.schedule import Schedule
from flatweave.codegen.llvm import unit
from flatweave.frontend.call.eager import COMPILER
from flatweave.frontend.call.signature import fingerprint
from flatweave.runtime import native
from flatweave.runtime.processor import LIGHT, RAW
from flatweave.terms.traverse import walk_lets

SHARING = frozenset(
    ["examples", "frontend", "gradients", "language", "laws", "lower", "nests", "numerics",
     "oracle", "random", "strings", "surface", "tables"]
)  # fmt: skip
"""Folders of tests that look at values: others may look at how a program is compiled."""
PLAIN = frozenset(
    ["frontend", "gradients", "language", "numerics", "random", "strings", "surface", "tables"]
)
"""Folders of tests whose kernels skip LLVM's passes, and whose programs are verified once."""
OPTIMISED = os.environ.get("TEST_LLVM") == "optimised"
MOST = 300  # executables that are held at a time

Build = Callable[[Program, str, bool, Schedule], Any]
Verify = Callable[[str, Form, Program, Program], None]


def compares_outside_of_jit() -> bool:
    """Whether calls outside of jit are compared on this target.

    Outside of jit, each operation is a separate program, which takes as long to compile as the
    whole: `make test` interprets these, `make test-all` compiles them, too.
    """
    return config.target == "interp" or OPTIMISED


class TestCompiler:
    """A compiler that remembers what it has compiled while `is_sharing`, and optimises unless
    `is_plain`."""

    __test__ = False

    def __init__(self, build: Build, verify: Verify) -> None:
        self.build = build
        self.verify = verify
        self.last_pass: tuple[str, Form, Program, Program] | None = None
        self.is_sharing = self.is_plain = False
        self.known: dict[Any, Any] = {}

    def enter(self, folder: str) -> None:
        """A test of this folder begins."""
        self.is_sharing = folder in SHARING
        self.is_plain = folder in PLAIN and not OPTIMISED

    def __call__(self, program: Program, target: str, checks: bool, schedule: Schedule) -> Any:
        if not self.is_sharing:
            return self.build_verified(program, target, checks, schedule)
        switches = replace(config.current, threads=None)  # code does not depend on their number
        lines = tuple(str(let.where) for let in walk_lets(program.fn))
        key = (
            target, checks, schedule, switches, self.is_plain, program.name,
            fingerprint(program.fn), lines,
        )  # fmt: skip
        found = self.known.get(key)
        if found is None:
            found = self.known[key] = self.build_verified(program, target, checks, schedule)
            if len(self.known) > MOST:
                del self.known[next(iter(self.known))]
        return found

    def build_verified(self, *what: Any) -> Any:
        """The executable; what its last pass gave is well-formed."""
        self.last_pass = None
        executable, last = self.build(*what), self.last_pass
        if last is not None:
            self.verify(*last)
        return executable

    def verify_pass(self, *step: Any) -> None:
        """As of `pipeline`; of tests of values, `build_verified` verifies the last pass."""
        if self.is_plain:
            self.last_pass = step
        else:
            self.verify(*step)

    def level(self, asked: int) -> int:
        """The optimisation of some text."""
        return RAW if self.is_plain else asked

    def compile_text(self, text: str, *, level: int = LIGHT) -> native.NativeCode:
        """As of `native`."""
        return native.compile_text(text, level=self.level(level))

    def begin(self, text: str) -> Callable[[], native.NativeCode]:
        """As of `native`."""
        return native.begin(text, level=self.level(LIGHT))


test_compiler = TestCompiler(COMPILER[0], pipeline._verify)
pipeline._verify = test_compiler.verify_pass
COMPILER[0] = test_compiler
unit.begin, unit.compile_text = test_compiler.begin, test_compiler.compile_text
