"""Operators of the program inside a kernel: written out, or called where copies may differ."""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.algorithms.operator import Combine, Operator
from flatweave.base.dtypes import bool_, f32, f64, u64
from flatweave.kernel_ir.hierarchy import Values
from flatweave.kernel_ir.syntax import Call
from flatweave.lower.element_functions import Elements
from flatweave.lower.kernel_builder import KernelBuilder
from flatweave.passes.operators import makes_nan, reads_nan
from flatweave.terms.build import Builder, index
from flatweave.terms.operators import component_functions
from flatweave.terms.syntax import Atom, Const, Lambda, Type


def operator_in(
    kernel: KernelBuilder, fn: Lambda, neutral: Sequence[Atom], checks: bool
) -> Operator:
    """An operator of the program and its neutral element; `checks` says whether its reads are
    checked first."""

    def elements() -> Elements:
        return Elements(kernel, index(0), checks)

    def combine(b: Builder, left: Values, right: Values) -> Values:
        return elements().call(b, fn, (*left, *right))

    scalars = tuple(kernel.scalar(atom) for atom in neutral)
    return Operator(combine, scalars, lambda b: elements().function(b, fn))


# --------------------------------------------------------------------------------------------------
# An operator by a call, where timing or the number of threads says which copy of its code runs.
#
#     end = fn prefix aggregate        call (fn) prefix aggregate       one function, not two copies
#
# Two copies of one operator need not agree on the bits of a NaN: of two NaNs an addition gives its
# first operand, and LLVM may swap the operands in one copy and not in the other. One function
# always returns the same result for the same values.


def called(
    b: Builder, fns: Sequence[Lambda], types: Sequence[Type], combine: Combine
) -> Combine:
    """`combine`, which applies `fns` to values of `types`, as calls of one function for all uses in
    `b`; inlined if its copies agree."""
    if not any(makes_nan(part) for part in fns):
        return combine
    size = len(types)
    function = b.function(
        (*types, *types), lambda inside, *args: combine(inside, args[:size], args[size:])
    )
    return lambda c, left, right: c.emit(Call(function, (*left, *right)))


def called_for_nan(
    b: Builder, part: Lambda, combine: Combine, types: Sequence[Type]
) -> Combine:
    """`combine`, which applies `part` to values of `types`, written out; and by one function where
    a NaN comes of it."""
    call = called(b, [part], types, combine)
    if call is combine or reads_nan(part) or not any(type_ in (f32, f64) for type_ in types):
        return call

    def unless_nan(c: Builder, left: Values, right: Values) -> Values:
        found = combine(c, left, right)
        return c.choose(any_nan(c, found), lambda d: call(d, left, right), lambda _: found)

    return unless_nan


def agrees_without_nan(part: Lambda) -> bool:
    """Whether copies of an operator may differ, but not where no right operand is a NaN."""
    names = component_functions(part) or ()
    floats = [name for name, x in zip(names, part.results, strict=False) if x.type in (f32, f64)]
    return bool(floats) and set(floats) <= {"add", "mul"}


def any_nan(b: Builder, values: Sequence[Atom]) -> Atom:
    """Whether a value does not equal itself."""
    found: Atom = Const(False, bool_)
    for each in [b.apply("ne", x, x) for x in values if x.type in (f32, f64)]:
        found = b.apply("or", found, each)
    return found


# -- Multiples of the golden ratio spread adjacent numbers over all of a word ----------------------


GOLDEN = 0x9E3779B97F4A7C15
"""2^64 over the golden ratio: multiples of adjacent numbers are distant and evenly spread."""


def spread(b: Builder, number: Atom) -> Atom:
    """A u64 times the golden ratio; its upper bits are a hash (Knuth, volume 3, section 6.4)."""
    return b.mul(number, Const(GOLDEN, u64))
