"""Kernels as C at the level of one thread: what CUDA C and OpenCL C have in common.

    kernel scale(n: i64, xs: global f32) warps 8 =>      void scale(int64_t n, float *xs, ..) {
        lanes 32 (() =>                                      {
            j: i64 = lane i                                      const int64_t j = i + fw_lane;
            x: f32 = load xs j                                   const float x = xs[j];
            y: f32 = apply mul x 2.0f32                          const float y = (x * 2.0f);
            store ys j y))                                       ys[j] = y; }

Uniform code is run by every thread of a warp alike; what it stores, one lane stores. Structured
control is C's own. What each op becomes is said in the files around this one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from flatweave.base.dtypes import DType
from flatweave.base.errors import CompilerBug
from flatweave.codegen.c.dialect import Dialect
from flatweave.codegen.c.values import VariableNames, literal, scalar_type, stored
from flatweave.scalar.c_text import CText
from flatweave.terms.syntax import Atom, Const, Lambda, Let, Op, Var

Handler = Callable[["CEmitter", Let], None]
Handlers = Mapping[type[Op], Handler]
ALIGNED = "__attribute__((aligned(4)))"


class CEmitter:
    """One kernel under emission: its lines, what it needs declared before them, where it stands."""

    def __init__(
        self, dialect: Dialect, handlers: Handlers, helpers: dict[str, None],
        threads: int, width: int,
    ) -> None:  # fmt: skip
        self.dialect = dialect
        self.handlers = handlers
        self.helpers = helpers
        self.threads = threads
        self.width = width
        self.names = VariableNames()
        self.lines: list[str] = []
        self.shared: dict[str, str] = {}
        self.by_words: frozenset[Var] = frozenset()  # shared memory that is used so
        self.in_lanes = False
        self.depth = 1

    # -- lines ------------------------------------------------------------------------------------

    def line(self, text: str) -> None:
        """Append a statement, or several lines of them."""
        for part in text.splitlines():
            self.lines.append("    " * self.depth + part)

    def open(self, text: str) -> None:
        """Begin a compound statement."""
        self.line(text)
        self.depth += 1

    def close(self, text: str = "}") -> None:
        """End it."""
        self.depth -= 1
        self.line(text)

    def state_position(self) -> None:
        """Define the number of the thread, of its lane and of its warp, at a function's head."""
        self.line(f"const int fw_thread = {self.dialect.thread};")
        lane = f"fw_lane = fw_thread % {self.width}, fw_warp = fw_thread / {self.width}"
        self.line(f"const int {lane};")

    def declare_shared(
        self, name: str, dtype: DType, count: int, *, by_words: bool = False
    ) -> str:
        """Memory of the block, stated once at the kernel's head; it begins a word if it is used
        `by_words`."""
        aligned = f"{ALIGNED} " if by_words else ""
        self.shared[name] = f"{self.dialect.shared} {aligned}{stored(dtype).c} {name}[{count}];"
        return name

    # -- values -----------------------------------------------------------------------------------

    def atom(self, atom: Atom) -> str:
        """An atom as an expression."""
        return literal(atom) if isinstance(atom, Const) else self.names.of(atom)

    def define(self, var: Var, expression: str) -> None:
        """Bind a variable to the value of an expression."""
        dtype = scalar_type(var.type)
        self.line(f"const {dtype.c} {self.names.of(var)} = {expression};")

    def declare(self, variables: Sequence[Var]) -> None:
        """State variables that are assigned later."""
        for var in variables:
            self.line(f"{scalar_type(var.type).c} {self.names.of(var)};")

    def temporary(self, dtype: DType, expression: str, hint: str = "fw_t") -> str:
        """A value with a name of its own."""
        name = self.names.fresh(hint)
        self.line(f"{dtype.c} {name} = {expression};")
        return name

    def spell(self, text: CText, operands: Sequence[str]) -> str:
        """A spelling from the scalar table on operands; its helpers are kept for the head."""
        for helper in text.helpers:
            self.helpers.setdefault(helper)
        return text.template.format(*operands)

    # -- bodies -----------------------------------------------------------------------------------

    def run(self, fn: Lambda, args: Sequence[str] = ()) -> list[str]:
        """Emit a body whose parameters are the values of these expressions; its results."""
        for param, arg in zip(fn.params, args, strict=True):
            self.define(param, arg)
        return self.body(fn)

    def body(self, fn: Lambda) -> list[str]:
        """Emit a body whose parameters are bound already; its results."""
        for let in fn.lets:
            handler = self.handlers.get(type(let.op))
            if handler is None:
                raise CompilerBug(
                    f"{let.op.name} cannot stand in a kernel for {self.dialect.name}",
                    where=let.where,
                )
            handler(self, let)
        return [self.atom(atom) for atom in fn.results]

    def assign(
        self, targets: Sequence[str], values: Sequence[str], dtypes: Sequence[DType]
    ) -> None:
        """Assign all at once: a value that is itself assigned here is read first."""
        changed = [n for n in range(len(targets)) if targets[n] != values[n]]
        early = {n for n in changed if values[n] in targets and len(changed) > 1}
        read = {n: self.temporary(dtypes[n], values[n]) for n in sorted(early)}
        for n in changed:
            self.line(f"{targets[n]} = {read.get(n, values[n])};")

    def one_lane(self, statement: str) -> None:
        """A statement that in uniform code one lane of each warp runs."""
        self.line(statement if self.in_lanes else f"if (fw_lane == 0) {{ {statement} }}")
