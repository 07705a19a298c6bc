"""What a program is tried for on all of its data: the switch `debug`, FLATWEAVE_DEBUG=1.

    reduce, scan, ..          (x op y) op z is x op (y op z), for neighbours x, y, z
    permute, ..               the same for what meets at one index, and x op y is y op x
    reduce_by_index, ..       ne op x and x op ne are x, for every x that is written or written to
    scatter, permute, ..      how many elements have an index outside, and the first of them

The program is interpreted before it runs on its target. Operators that are associative by law,
such as + and maximum, are not tried (`operator_checks/laws.py`).
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from flatweave.array_ir import operators
from flatweave.array_ir.interp import run
from flatweave.array_ir.syntax import Program
from flatweave.base.pretty import counted
from flatweave.base.source import Location
from flatweave.operator_checks.in_kernels import FirstBlocks
from flatweave.operator_checks.laws import Laws
from flatweave.ops import CallKernel, Permute, Reduce, ReduceSegments, Scan, Scatter
from flatweave.terms.batch import Env, Value, Values
from flatweave.terms.operators import is_lawful
from flatweave.terms.syntax import Lambda, Let, Op


def audit(program: Program, args: Sequence[Any]) -> None:
    """Interpret a program, try its operators, and report what is dropped; raises Fault for the
    first operator that fails."""
    auditor = _Auditor()
    run(program, args, auditor)
    for dropped in auditor.dropped.values():
        dropped.report()


class _Dropped:
    """The elements of one operation whose indices are outside."""

    def __init__(self, where: Location | None) -> None:
        self.where = where
        self.count = self.of = 0
        self.first = ""

    def add(self, indices: Value, extent: int) -> None:
        """Count the writes whose indices are outside `extent`."""
        outside = np.flatnonzero((indices < 0) | (indices >= extent))
        self.of += indices.size
        if outside.size and not self.count:
            k = int(outside[0])
            index = int(indices[k])  # -1 for each that is outside of one of several axes
            self.first = f"element {k}, with index {index}" + " or another one" * (index == -1)
        self.count += outside.size

    def report(self) -> None:
        """Say so, where there are any."""
        if self.count:
            elements = counted(self.of, "element")
            sys.stderr.write(
                f"{self.where}: {self.count} of {elements} dropped, the index is outside; the first"
                f" is {self.first}\n"
            )


class _Auditor(Laws):
    """An interpreter that tries the operators that it meets."""

    def __init__(self) -> None:
        super().__init__()
        self._where: Location | None = None
        self.dropped: dict[Op, _Dropped] = {}

    def _let(self, env: Env, let: Let) -> None:
        before, self._where = self._where, let.where
        super()._let(env, let)
        self._where = before

    def evaluate(self, env: Env, op: Op) -> Values:
        """What an op gives, after its operator was tried."""
        match op:
            case Reduce(fn=fn, xs=xs) | Scan(fn=fn, xs=xs, starts=()):
                columns = operators.elements(fn, self.atoms(env, xs))
                self._try(env, fn, columns, np.zeros(len(columns[0]), bool))
            case Scan(fn=fn, xs=xs, starts=(starts,)) | ReduceSegments(fn=fn, xs=xs, starts=starts):
                columns = operators.elements(fn, self.atoms(env, xs))
                self._try(env, fn, columns, self.atom(env, starts).reshape(-1))
            case Permute():
                self._try_writes(env, op)
            case CallKernel() if op.program.tried is not None:
                FirstBlocks(op.program.tried, 0).run(self.atoms(env, op.args))
            case Scatter(indices=indices, dest=dest):
                self._drop(op, self.atom(env, indices), len(self.atom(env, dest[0])))
        return super().evaluate(env, op)

    def _drop(self, op: Op, indices: Value, extent: int) -> None:
        self.dropped.setdefault(op, _Dropped(self._where)).add(indices, extent)

    @property
    def _is_trusted(self) -> bool:
        """Whether the operator of this line is not tried."""
        return self._where is not None and self._where.is_trusted

    def _try(
        self, env: Env, fn: Lambda, columns: Values, begins: Value, commutes: bool = False
    ) -> None:
        """Combine neighbours from the left and from the right."""
        if self._is_trusted or is_lawful(fn):
            return
        if self.is_batched(fn) and len(columns[0]) > 1:
            self.associates(env, fn, columns, begins, commutes=commutes)

    def _try_writes(self, env: Env, op: Permute) -> None:
        at, into = self.atom(env, op.indices), self.atoms(env, op.dest)
        self._drop(op, at, len(into[0]))
        columns, begins = operators.met(into, at, self.atoms(env, op.xs))
        if op.neutral and self.is_batched(op.fn) and not self._is_trusted:
            for written in (columns, into):
                self.is_neutral(env, op.fn, self.atoms(env, op.neutral), written)
        self._try(env, op.fn, columns, begins, commutes=True)
