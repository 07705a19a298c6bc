"""Refuses a program that breaks the rules of its form; the message shows the guilty let.

Scope and types are those of all terms (`terms/verify.py`). Besides, every operation stands where
its form allows it, and a prefix stands directly in the body of a sweep.
"""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.array_ir.forms import FORMS, HOST_BODIES, Form
from flatweave.array_ir.syntax import Program
from flatweave.base.errors import CompilerBug
from flatweave.terms.syntax import BufferType, Lambda, Let, Type
from flatweave.terms.verify import Verifier, scalars_only


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
            self.fail(f"{name} cannot stand {place} in {self.form.name} form")
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
