"""Which operations may be where at each stage, and a program's rules, verified."""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.array_ir.syntax import Program
from flatweave.base.errors import CompilerBug
from flatweave.base.records import record
from flatweave.terms.syntax import BufferType, Lambda, Let, Op, Type
from flatweave.terms.verify import Verifier, scalars_only

# Which operations may stand where, at each stage of a program.
#
# TRACED   what the user wrote: array operations anywhere, nested in element functions too
# SWEPT    sweeps on the host only; element functions are scalar work with reads and folds, and
#          the host may call one
# FLAT     as SWEPT, and rows may be combined by a sweep over their elements; what is lowered


CONTROL = frozenset({"apply", "cast", "if", "while", "for"})
HOST_BODIES = CONTROL | {"by_row"}
"""Operations of the host whose bodies are of the host, too."""
READS = frozenset({"check", "index", "locate"})


@record(eq=True)
class Form:
    """The ops allowed on the host (in the program's body and its loops) and in element functions.

    With `arrays`, operations on arrays as users write them may stand anywhere (`Op.traced`); with
    `scalar`, an element function binds scalars only; with `rows`, sweeps combine rows.
    """

    name: str
    host: frozenset[str]
    element: frozenset[str]
    arrays: bool = False
    scalar: bool = False
    rows: bool = False

    def allows(self, op: Op, *, on_host: bool) -> bool:
        """Whether an operation is allowed on the host, or in an element function."""
        named = self.host if on_host else self.element
        return op.name in named or (self.arrays and op.traced)

    def is_within(self, other: Form) -> bool:
        """Whether every program of this form is one of the other form, too."""
        return (
            self.host <= other.host
            and self.element <= other.element
            and self.arrays <= other.arrays
            and self.rows <= other.rows
            and (self.scalar or not other.scalar)
        )


TRACED = Form("traced", host=CONTROL | READS, element=CONTROL | READS, arrays=True)
SWEPT = Form(
    "swept",
    host=HOST_BODIES
    | READS
    | {"suits", "sweep", "empty", "reshape", "fold", "radix_sort", "sort_row", "sort_rows",
       "call_kernel", "callback"},
    element=CONTROL | READS | {"fold", "prefix"},
    scalar=True,
)
FLAT = Form("flat", SWEPT.host, SWEPT.element, scalar=True, rows=True)
FORMS = (TRACED, SWEPT, FLAT)


# Refuses a program that breaks the rules of its form; the message shows the guilty let.
#
# Scope and types are those of all terms (`terms/verify.py`). Besides, every operation stands
# where its form allows it, and a prefix stands directly in the body of a sweep.


def verify(program: Program, form: Form) -> None:
    """Raise CompilerBug unless the program is well-formed and of this form."""
    ProgramVerifier(form).function(program.fn)


def form_of_text(program: Program, forms: Sequence[Form] = FORMS) -> Form:
    """The first of some forms that a program is of: its text does not say which.

    If it is of none, raises what is wrong with it in the last one.
    """
    for form in forms[:-1]:
        try:
            verify(program, form)
        except CompilerBug:
            continue
        return form
    verify(program, forms[-1])
    return forms[-1]


class ProgramVerifier(Verifier):
    """Knows whether it is on the host, directly in a sweep's body, or deeper in an element."""

    def __init__(self, form: Form) -> None:
        super().__init__()
        self.form = form
        self.on_host = True
        self.body: Lambda | None = None

    def function(self, fn: Lambda) -> None:
        if not self.on_host and self.form.scalar and not scalars_only(fn.params):
            self.fail("an element function takes an array")
        super().function(fn)

    def visit(self, let: Let) -> None:
        name = let.op.name
        if not self.form.allows(let.op, on_host=self.on_host):
            place = "on the host" if self.on_host else "in an element function"
            self.fail(f"{name} is not allowed {place} in {self.form.name} form")
        if not self.on_host and self.form.scalar and not scalars_only(let.vars):
            self.fail("an element function makes an array")
        for sink in getattr(let.op, "sinks", ()):
            if sink.by_row and not self.form.rows:
                self.fail(f"a sweep has no sink {sink.name} in {self.form.name} form")
        if name == "prefix" and (self.body is None or let not in self.body.lets):
            self.fail("prefix stands elsewhere than directly in the body of a sweep")
        around = self.on_host, self.body
        self.on_host = self.on_host and name in HOST_BODIES
        self.body = getattr(let.op, "body", None) if name == "sweep" else self.body
        super().visit(let)
        self.on_host, self.body = around

    def type(self, type_: Type) -> None:
        if isinstance(type_, BufferType):
            self.fail("a program has no buffers")
        super().type(type_)
