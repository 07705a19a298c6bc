"""A program of the array language: its text, its rules, and what a run of it found wrong."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Protocol

from flatweave.base.dtypes import DTYPES, DType
from flatweave.base.errors import CompilerBug
from flatweave.base.plan import OUT_OF_MEMORY, Plan
from flatweave.base.records import record
from flatweave.base.source import Location
from flatweave.terms.parse import parse_function
from flatweave.terms.print import print_function, print_name
from flatweave.terms.syntax import BufferType, Lambda, Let, Op, Type
from flatweave.terms.traverse import Verifier, scalars_only

# -- syntax ---------------------------------------------------------------------------------------
#
# A program of the array language, and its text.


# A program of the array language: a named lambda over arrays, extents and scalars.
#
#     program ::= name lambda
#
# The parameters of an array argument are its extents (i64), then the array itself. What the ops
# are is listed in `ops/`; lets, lambdas, scalar work and control are in `terms/`. The forms:
#
#     TRACED   what the user wrote: map, reduce, scan, ..
#     SWEPT    every array operation is a sweep (or empty, reshape, order)
#     FLAT     sweeps may combine rows of varying length, too: what `lower/` takes


@record
class Program:
    """What one traced function became.

    `unproven` are the calls whose operators are tried on the data of the first call. They belong to
    the program as traced: passes drop them.
    """

    name: str
    fn: Lambda
    unproven: tuple[Location, ...] = ()


# Programs as text and back:   total(n: i64, xs: f32[n]) =>  ..  in s


@lru_cache(maxsize=4)  # several callers need the text of one program, to find it on disk
def print_program(program: Program) -> str:
    """The text of a program."""
    return print_function(print_name(program.name), program.fn)


def parse_program(text: str) -> Program:
    """The program that a text stands for; `flatweave.ops` must have been imported."""
    return Program(*parse_function(text))


def same(a: Program, b: Program) -> bool:
    """Whether two programs differ only in the names of their variables."""
    texts = [print_function("", program.fn, canonical=True) for program in (a, b)]
    return a.name == b.name and texts[0] == texts[1]


# -- verify ---------------------------------------------------------------------------------------
#
# Which operations may be where at each stage, and a program's rules, verified.


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
# Scope and types are those of all terms (`terms/traverse.py`). Besides, every operation stands
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


# -- fault ----------------------------------------------------------------------------------------
#
# What a running program found wrong: the record that becomes the user's error.


INDEX = "index"  # a read outside an array
NEGATIVE = "negative_extent"  # an array of fewer than no elements
NOT_ASSOCIATIVE = "not_associative"  # an operator that groups elements in more than one way
NOT_COMMUTATIVE = "not_commutative"  # one that combines elements in any order
NOT_NEUTRAL = "not_neutral"  # a neutral element that changes what it meets
OVERFLOW = "overflow"  # more elements than an i64 can count
SAME = "same"  # extents that differ: a call is tried again with those of 1 broadcast
MEMORY = "memory"  # an array that does not fit: its values are how many elements, and their dtype

PARTS = " | "  # between the parts of a check's message: what is wrong, origins, what to do


def sizes_overflow(who: str) -> str:
    """What a check of a running sum of sizes says; its value is the element where it fails."""
    return PARTS.join([
        f"the sizes of {who} add up to more than an i64 can count at element {{0}}.",
        "Check the sizes: one of them is far too large.",
    ])  # fmt: skip


@record(frozen=False)
class Fault(Exception):
    """A bad index (`code` is INDEX) or a failed check (`code` is its kind).

    `index` is the smallest element of the batch where it happened, -1 outside of element functions;
    `value` is the index as the user wrote it, `extent` what it had to stay below. A failed check
    brings its `values` and `message` instead.
    """

    code: str
    index: int = -1
    value: int = 0
    extent: int = 0
    axis: int = 0
    values: tuple[int | float | bool | str, ...] = ()
    message: str = ""
    where: Location | None = None

    def __str__(self) -> str:
        place = f" at {self.where}" if self.where else ""
        if self.code == INDEX:
            return f"index {self.value} is outside extent {self.extent}{place}"
        return f"{self.code}: {self.message or self.value} {self.values}{place}"


def memory_fault(count: int, dtype: DType, where: Location | None = None) -> Fault:
    """The fault of an array for which there is no memory."""
    return Fault(MEMORY, values=(count, dtype.name), where=where)


def index_fault(index: int, i: int, extent: int, axis: int) -> Fault:
    """The fault of a read at i; a negative index was wrapped before it came here: i + extent."""
    return Fault(INDEX, index, i if i >= 0 else i - extent, extent, axis)


class Status(Protocol):
    """What a run reports that failed, on a machine or in the simulator."""

    @property
    def code(self) -> int:
        """What went wrong (`base/plan.py`)."""

    @property
    def site(self) -> int:
        """Where in the program."""

    @property
    def index(self) -> int:
        """At which element."""

    @property
    def value(self) -> int:
        """With which value."""

    @property
    def extent(self) -> int:
        """What it had to stay below, or a second value."""


def fault_of(status: Status, plan: Plan) -> Fault:
    """The report of a failed run, with its location in the user's program."""
    site = plan.sites[status.site]
    if status.code == OUT_OF_MEMORY and status.value < 0:
        return Fault(NEGATIVE, value=status.value, where=site.where)
    if status.code == OUT_OF_MEMORY:
        return memory_fault(status.value, DTYPES[status.extent], site.where)
    if site.kind == INDEX:
        axis = site.axis or int(site.message or 0)
        fault = index_fault(status.index, status.value, status.extent, axis)
        fault.where = site.where
        return fault
    values = (status.value, status.extent)[: site.count]
    return Fault(site.kind, status.index, values=values, message=site.message, where=site.where)
