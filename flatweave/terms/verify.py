"""What must hold of every term in both IRs: scope and types, and the fields of an op."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

from flatweave.base.dtypes import DType, i64
from flatweave.base.errors import CompilerBug, DTypeError
from flatweave.terms.print import Printer, print_let, print_type
from flatweave.terms.syntax import ArrayType, Atom, Const, Lambda, Let, Op, Type, Var, constant
from flatweave.terms.traverse import Substitution, atoms_in, lambdas_in


class Verifier:
    """Walks a term with the variables in scope; subclasses add the rules of their IR."""

    def __init__(self) -> None:
        self.scope: set[Var] = set()
        self.entered: list[Var] = []  # the variables in scope, the innermost last
        self.bound: dict[Var, Op | str] = {}
        self.let: Let | None = None

    def fail(self, message: str) -> NoReturn:
        """Refuse the term, showing the let that is to blame."""
        text = print_let(self.let) if self.let is not None else ""
        where = self.let.where if self.let is not None else None
        raise CompilerBug(f"verify: {message}.", where=where, program=text)

    def function(self, fn: Lambda) -> None:
        """A lambda: its parameters, lets and results; what it binds is out of scope afterwards."""
        around_it = len(self.entered)
        for param in fn.params:
            self.bind(param, "")
        for let in fn.lets:
            around, self.let = self.let, let
            self.visit(let)
            self.let = around
        for result in fn.results:
            self.atom(result)
        self.scope.difference_update(self.entered[around_it:])
        del self.entered[around_it:]

    def visit(self, let: Let) -> None:
        """A let: what it reads, the lambdas in it, its types, then its variables."""
        for atom in atoms_in(let.op):
            self.atom(atom)
        for fn in lambdas_in(let.op):
            self.function(fn)
        self._types(let)
        for var in let.vars:
            self.bind(var, let.op)

    def bind(self, var: Var, meaning: Op | str) -> None:
        """A variable comes into scope; `meaning` is the op that binds it, "" for a parameter."""
        if var in self.scope:
            self.fail(f"{var} is bound again while it is in scope")
        first = self.bound.setdefault(var, meaning)
        if first is not meaning and _text(first) != _text(meaning):
            self.fail(f"{var} is bound twice, to different things")
        self.type(var.type)
        self.scope.add(var)
        self.entered.append(var)

    def atom(self, atom: Atom) -> None:
        """A variable in scope, or a constant that is a value of its dtype."""
        if isinstance(atom, Const):
            if constant(atom.value, atom.dtype) != atom:
                self.fail(f"{atom!r} is not a value of {atom.dtype}")
        elif atom not in self.scope:
            self.fail(f"{atom} is read where it is not in scope")

    def type(self, type_: Type) -> None:
        """Extents are i64 in scope."""
        if isinstance(type_, ArrayType):
            for extent in type_.shape:
                self.atom(extent)
                if extent.type is not i64:
                    self.fail(f"the extent {extent!r} is no i64")

    def _types(self, let: Let) -> None:
        """The variables are what the op binds, up to their names."""
        try:
            binders = let.op.binders()
            misfits = list(let.op.misfits())
        except (TypeError, DTypeError, AssertionError, ValueError) as error:
            self.fail(f"{let.op.name} does not fit its operands: {error}")
        if misfits:
            self.fail(f"{let.op.name}: {misfits[0]}")
        if len(binders) != len(let.vars):
            self.fail(f"{let.op.name} binds {len(binders)} variables, not {len(let.vars)}")
        renaming = Substitution()
        for var, binder in zip(let.vars, binders, strict=True):
            expected = renaming.type(binder.type)
            if expected != var.type:
                self.fail(f"{var} is {print_type(var.type)}, not {print_type(expected)}")
            renaming.mapping[binder] = var


def _text(meaning: Op | str) -> str:
    """What is compared where a variable is bound twice."""
    return meaning if isinstance(meaning, str) else Printer(canonical=True).op(meaning, "")


def scalars_only(vars_: Sequence[Var]) -> bool:
    """Whether no variable is an array or a buffer."""
    return all(isinstance(var.type, DType) for var in vars_)
