"""Operators of the program inside a kernel."""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.algorithms.operator import Operator
from flatweave.kernel_ir.arrays import Values
from flatweave.lower.kernel.builder import KernelBuilder
from flatweave.lower.kernel.elements import Elements
from flatweave.terms.build import Builder, index
from flatweave.terms.syntax import Atom, Lambda


def operator_in(
    kernel: KernelBuilder, fn: Lambda, neutral: Sequence[Atom], checks: bool
) -> Operator:
    """An operator of the program and its neutral element; `checks` says whether what it reads is
    looked at first."""

    def elements() -> Elements:
        return Elements(kernel, index(0), checks)

    def combine(b: Builder, left: Values, right: Values) -> Values:
        return elements().call(b, fn, (*left, *right))

    scalars = tuple(kernel.scalar(atom) for atom in neutral)
    return Operator(combine, scalars, lambda b: elements().function(b, fn))
