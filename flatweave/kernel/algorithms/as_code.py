"""Functions of users on elements as code of threads, for algorithms that are written on atoms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flatweave.algorithms.operator import Combine, Operator
from flatweave.frontend.values.scope import entered
from flatweave.kernel.arrays.pulls import Pull, any_index
from flatweave.kernel.writing.code import here, numbers, trace
from flatweave.kernel.writing.elements import Kind, kind_of_leaves, leaves_of
from flatweave.kernel_ir import arrays
from flatweave.kernel_ir.arrays import UnitCode, Values
from flatweave.kernel_ir.hierarchy import THREAD
from flatweave.terms.build import Builder
from flatweave.terms.syntax import Atom, Lambda, Var

Op = Callable[[Any, Any], Any]


def operator_on(kind: Kind, op: Op, ne: Any) -> Operator:
    """A function of two elements as an operator on their atoms."""
    return Operator(combine_on(kind, op), tuple(kind.atoms(ne, "the neutral element")))


def function_on(kind: Kind, op: Op) -> Lambda:
    """A function of two elements as a lambda over the atoms of both."""
    combine, size = combine_on(kind, op), len(kind.dtypes)
    return here().builder.function(
        [*kind.dtypes, *kind.dtypes], lambda b, *atoms: combine(b, atoms[:size], atoms[size:])
    )


def combine_on(kind: Kind, op: Op) -> Combine:
    """A function of two elements as one of their atoms."""

    def combine(b: Builder, left: Values, right: Values) -> Values:
        with entered(trace().scope_of(b)):
            return tuple(kind.atoms(op(kind.value(left), kind.value(right)), "a combination"))

    return combine


def elements_of(kind: Kind, array: Pull) -> arrays.At:
    """What writes an element's atoms."""
    def at(b: Builder, i: Atom) -> Values:
        found: Values = as_thread(b, (i,), lambda at: tuple(kind.atoms(array.at(at))))
        return found

    return at


def as_thread(b: Builder, atoms: Values, write: Callable[..., Any]) -> Any:
    """What `write` gives for atoms as numbers, which writes code of a thread; that of its lane goes
    on with it."""
    code = UnitCode(b, THREAD)
    made = trace()
    scope, around = made.scope_of(code), made.scope_of(b)
    for atom in atoms:
        if isinstance(atom, Var):
            made.homes[atom] = made.scope_of(_owner(b, atom))
    with entered(scope):
        found = write(*numbers(atoms))
    scope.closed = True
    for let in code.lets:
        b.lets.append(let)
        b.adopt(let)
        made.homes.update((var, around) for var in let.vars)
    return found


def _owner(b: Builder, var: Var) -> Builder:
    """The body in which a variable is bound, which may be one around `b`."""
    while var not in b.own and b.outer is not None:
        b = b.outer
    return b


def kind_of_elements(array: Pull) -> Kind:
    """The kind of an array's elements, seen in one that nobody keeps."""
    code = UnitCode(here().builder, THREAD)
    code.hoists = False
    with entered(trace().scope_of(code)):
        return kind_of_leaves(*leaves_of(array.at(any_index(code, array))))


