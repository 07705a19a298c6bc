"""How a pass declares the form it takes, and the form it gives.

    @array_pass(takes=(SWEPT,), gives=FLAT)      SWEPT in, FLAT out
    @array_pass(takes=(TRACED, FLAT))            whatever form of these it takes, it gives

These two determine the possible orders of passes, and which passes are optional: those that give a
form that includes every program they take.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable

from flatweave.array_ir.syntax import Program
from flatweave.array_ir.verify import Form
from flatweave.base.diagnostics import Note
from flatweave.base.errors import CompilerBug
from flatweave.base.pretty import listed
from flatweave.terms.syntax import Op
from flatweave.terms.traverse import walk_lets

Rewrite = Callable[[Program], Program]
Explain = Callable[[Program], list[Note]]
About = Callable[[Op], bool]


class ArrayPass:
    """A pure function from program to program, with its forms.

    `explain` tells users what the pass decides about a program. A program without an operation that
    the pass is `about` is returned unchanged, at the price of a look at each let.
    """

    __name__: str

    def __init__(
        self, rewrite: Rewrite, takes: tuple[Form, ...], gives: Form | None,
        explain: Explain | None, about: About | None,
    ) -> None:  # fmt: skip
        functools.update_wrapper(self, rewrite)
        self.rewrite = rewrite
        self.takes = takes
        self.gives = gives
        self.explain = explain
        self.about = about

    def __call__(self, program: Program) -> Program:
        if self.about is not None and not any(self.about(let.op) for let in walk_lets(program.fn)):
            return program
        return self.rewrite(program)

    def accepts(self, form: Form) -> bool:
        """Whether every program of a form is one that the pass takes."""
        return any(form.is_within(taken) for taken in self.takes)

    def form_after(self, form: Form) -> Form:
        """The form of its result for a program of this form, which it accepts."""
        return self.gives or form

    @property
    def is_optional(self) -> bool:
        """Whether a program that the pass takes can go on without it."""
        return self.gives is None or all(form.is_within(self.gives) for form in self.takes)

    def keeps_within(self, form: Form) -> bool:
        """Whether its result is of this form whenever its argument is."""
        return self.gives is None or self.gives.is_within(form)


def array_pass(
    *, takes: tuple[Form, ...], gives: Form | None = None, explain: Explain | None = None,
    about: About | None = None,
) -> Callable[[Rewrite], ArrayPass]:  # fmt: skip
    """Declare a pass; without `gives` it gives the form that it took, and without `about` it may
    change any program."""
    return lambda rewrite: ArrayPass(rewrite, takes, gives, explain, about)


def check_order(passes: Iterable[ArrayPass], first: Form, last: Form | None = None) -> None:
    """Raise CompilerBug unless passes can follow one another, from one form to another."""
    form, giver = first, "The program has"
    for step in passes:
        if not step.accepts(form):
            taken = listed([each.name for each in step.takes], "or")
            raise CompilerBug(f"{giver} {form.name} form, but {step.__name__} takes {taken} form.")
        if step.gives is not None:
            form, giver = step.gives, f"{step.__name__} gives"
    if last is not None and not form.is_within(last):
        raise CompilerBug(f"{giver} {form.name} form, but {last.name} form is lowered.")


def leading_to(last: Form, passes: Iterable[ArrayPass]) -> tuple[ArrayPass, ...]:
    """The passes without the optional ones whose result is not of this form."""
    return tuple(step for step in passes if step.keeps_within(last) or not step.is_optional)
