"""call_kernel name args:   a kernel of the kernel tier on arrays, run as it was written

    (n: i64) (ys: f32[n]) = call_kernel sums_3f2a [m, xs]

The arguments are the parameters of the kernel's host: the extents of each array, then the array.
It binds for each array that the kernel gives the extents that are known at run time only, then the
array. What the name stands for is in KERNELS; the name has a digest of the kernel's text in it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from flatweave.array_ir.interp import Interp
from flatweave.base.dtypes import i64
from flatweave.base.plan import Plan
from flatweave.base.records import record
from flatweave.terms.batch import Env, Values
from flatweave.terms.build import index
from flatweave.terms.syntax import ArrayType, Atom, Op, Type, Var, op


@record
class KernelProgram:
    """A kernel as it was traced for a machine: host code and what it launches.

    `unit` is a Unit of the kernel IR, which a process that only runs programs need not import.
    `threads` is how many a block has on machines whose threads are lanes; `simulate(program, args)`
    gives the results for flat arguments, and raises Fault. `again(machine)` traces it for another
    one: what warps do together is written for the lanes of each. `tried` is the unit with the
    operators that a first call tries, if there are any.
    """

    name: str
    unit: Any
    plan: Plan
    threads: int
    simulate: Callable[[KernelProgram, Sequence[Any]], list[Any]]
    machine: Any
    again: Callable[[Any], KernelProgram]
    tried: Any = None

    def on(self, machine: Any) -> KernelProgram:
        """The kernel as it is written for a machine."""
        return self if machine == self.machine else self.again(machine)


KERNELS: dict[str, KernelProgram] = {}
"""What names of kernels in programs stand for."""


@op
class CallKernel(Op):
    """Runs a kernel; it stands on the host alone."""

    kernel: str
    args: tuple[Atom, ...]
    traced = True

    @property
    def program(self) -> KernelProgram:
        """What the name stands for."""
        return KERNELS[self.kernel]

    def binders(self) -> tuple[Var, ...]:
        made: list[Var] = []
        for result in self.program.plan.results:
            if result.extents is None:
                made.append(Var("t", result.dtype))
                continue
            shape: list[Atom] = []
            for extent in result.extents:
                if extent is None:
                    made.append(Var("n", i64))
                shape.append(made[-1] if extent is None else index(extent))
            made.append(Var("t", ArrayType(result.dtype, tuple(shape))))
        return tuple(made)

    def result_types(self) -> tuple[Type, ...]:
        return tuple(var.type for var in self.binders())

    def evaluate(self, interp: Interp, env: Env) -> Values:
        values = [np.asarray(value) for value in interp.atoms(env, self.args)]
        program = self.program
        found: list[Any] = []
        results = program.simulate(program, values)
        for result, value in zip(program.plan.results, results, strict=True):
            for extent, size in zip(result.extents or (), np.shape(value), strict=True):
                if extent is None:
                    found.append(np.asarray(size))
            found.append(np.asarray(value))
        return tuple(found)
